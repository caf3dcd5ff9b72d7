"""Adapts parts to the destination. Our text goes to user messages: models imitate their own."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from ..canon import (
    OFFLINE,
    Blob,
    Image,
    Message,
    Part,
    ReplayRules,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from .destination import Destination, OwnershipRules, is_named, is_rejected, name_of
from .manifest import ChangeLog, Place
from .surrogates import has_no_surrogates, replace_surrogates, replace_surrogates_in_json

INTERRUPTED = "the call was interrupted"
OPENING = Text("[The conversation begins with the answer that follows.]")
BLANK = Text("[This message is blank.]")


def is_sendable(part: Text, takes: ReplayRules) -> bool:
    """Return whether there is something in a text that the destination can read."""
    return bool(part.text) and (takes.blank_text or not part.text.isspace())


def is_plain(part: Text) -> bool:
    """Return whether every destination takes this text unchanged; most do."""
    return part.signature is None and not part.citations and has_no_surrogates(part.text)


def are_same(parts: Sequence[object], old: Sequence[object]) -> bool:
    """Return whether these are the very same objects as before."""
    if len(parts) != len(old):
        return False
    for one, other in zip(parts, old, strict=True):  # noqa: SIM110 - all() costs more than the look
        if one is not other:
            return False
    return True


def quote_thinking(text: str, name: str) -> Text:
    """Return another model's thinking as a note before its answer."""
    return Text(f"[A note: what {name} thought before it gave the answer that follows]\n{text}")


def unseen(medium: Image | Blob) -> Text:
    """Return a text in place of a medium that cannot be shown."""
    return Text(f"[{_describe(medium)}, which this model cannot be shown]")


def unseen_in_answer(medium: Image | Blob) -> Text:
    """Return a text before an answer that held a medium which cannot be shown."""
    return Text(f"[The answer that follows held {_describe(medium)}, which is not shown here]")


def from_answer(medium: Image | Blob) -> Text:
    """Return a text before a medium that was moved out of the following answer."""
    return Text(f"[{_describe(medium)}, from the answer that follows:]")


def moved_out(medium: Image | Blob) -> Text:
    """Return a text in place of a medium that follows the results."""
    return Text(f"[{_describe(medium)}, which follows]")


def unread() -> Text:
    """Return a text in place of a part that only another service can read."""
    return Text("[a part that only another service can read]")


def make_interrupted_result(call_id: str) -> ToolResult:
    """Return the result of a call that never came back."""
    return ToolResult(call_id, (Text(INTERRUPTED),), error=True)


def answer_interrupted(calls: Iterable[ToolCall]) -> Message:
    """Return a message that says of each call that it was interrupted."""
    results = (replace(make_interrupted_result(call.id), name=call.name) for call in calls)
    return Message("user", tuple(results))


def _describe(medium: Image | Blob) -> str:
    kind = medium.media_type or "image"
    return kind if medium.data is None else f"{kind}, {len(medium.data):,} bytes"


REFUSED = "the destination did not take it back before"
EMULATED_ELSEWHERE = "an emulator made it, and the destination is not that emulator"
NOT_EMULATED = "a service made it, and the destination is the emulator"
BOUND_ELSEWHERE = "another account made it, and only that account can use it"
_FOREIGN_SIGNATURE = "another model or route made it"
_NOTHING = "there is nothing in it"
_BLANK = "the destination takes no text of blanks alone"
_FOREIGN = "another model or route thought it"
_UNNAMED = "nothing says which model thought it"
_QUOTABLE = (_FOREIGN, _UNNAMED, EMULATED_ELSEWHERE, NOT_EMULATED, BOUND_ELSEWHERE)
_HALVES = "half a character cannot be sent"
_ALPHABET = "the destination takes other ids, or this one was used before"
MOVED_OUT = "an error holds text alone here: it goes after the results"
UNSEEN = "the destination does not take this kind of medium here"
_TOLD = "the destination takes no text files: its words go as a text"
_SPELLING = "this is the registered spelling of the same type"
UNREADABLE = "only the service that made it can read it"
RETOLD = "only the service that made it can read it; it is sent as text"
HISTORY_LOST = "what was said before it is in it, and only the service that made it can read that"

UNCITED = "the destination cites no documents"
UNTOLD = "the destination's documents have no context"

MEDIA_TYPES: Mapping[str, str] = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    **{usual: usual for usual in ("image/gif", "image/jpeg", "image/png", "image/webp")},
}
"""Spellings of media types, in small letters -> the registered one."""

Inner = Text | Image | Blob | UnknownPart
Signed = TypeVar("Signed", bound=Image | Blob | UnknownPart)


class PartAdapter:
    """Adapts the parts of one thread; ``notes`` go into a user message before the current turn."""

    def __init__(self, destination: Destination, changes: ChangeLog) -> None:
        self._to = destination
        self._changes = changes
        self._makers = OwnershipRules(destination)
        self.notes: list[Part] = []
        self._kinds: Mapping[type, Callable[[Any, Place, Message], Part | None]] = {
            Text: self._text,
            Thinking: self._thinking,
            Image: self._medium,
            Blob: self._medium,
        }

    def part(self, part: Part, at: Place, message: Message) -> Part | None:
        """Return words, thinking or a medium as they may be sent; None to leave them out."""
        return self._kinds[type(part)](part, at, message)

    # -- words and thinking ----------------------------------------------------------------------

    def _text(self, part: Text, at: Place, message: Message) -> Text | None:
        sendable = is_sendable(part, self._to.takes)
        if sendable and is_plain(part):
            return part
        if part.text and not sendable:
            return self._blank(part, at, message)
        signature = self._sendable(part.signature, message)
        if not part.text and signature is None:
            if part.signature is None:
                self._changes.withhold(at, "text", _NOTHING)
            else:
                self._changes.withhold(at, "seal", self._why(part.signature, message))
            return None
        return self._words(part, signature, at, message)

    def _blank(self, part: Text, at: Place, message: Message) -> Text | None:
        """Return what stands for a blank text: without it, a user's turn would lose its place."""
        if not all(isinstance(each, Text) and not each.text.strip() for each in message.parts):
            return part  # blanks beside other parts may matter: they are between cited texts
        if message.role == "user" and at[1] == 0:
            self._changes.rewrite(at, "text", _BLANK)
            return BLANK
        self._changes.withhold(at, "text", _BLANK)
        return None

    def _words(self, part: Text, signature: Signature | None, at: Place, message: Message) -> Text:
        text = replace_surrogates(part.text)
        cites = part.citations and self._makers.is_author(message)
        if (
            text is part.text
            and signature is part.signature
            and bool(cites) == bool(part.citations)
        ):
            return part
        if text is not part.text:
            self._changes.rewrite(at, "text", _HALVES)
        if part.signature is not None and signature is None:
            self._changes.rewrite(at, "seal", self._why(part.signature, message))
        if part.citations and not cites:
            self._changes.rewrite(at, "citations", "the destination did not make them")
        return Text(text, signature, part.citations if cites else (), part.cache)

    def _thinking(self, part: Thinking, at: Place, message: Message) -> Thinking | None:
        why = self._reason_to_withhold(part, message)
        if why is None:
            text = replace_surrogates(part.text)
            if text is part.text:
                return part
            self._changes.rewrite(at, "thinking", _HALVES)
            return replace(part, text=text)
        foreign = why in _QUOTABLE and part.text and not part.redacted
        if foreign and self._to.foreign == "note":
            name = name_of(part.signature, message.origin)
            self.notes.append(quote_thinking(replace_surrogates(part.text), name))
            told = f"{name} thought it: a note of the user's now"
            self._changes.rewrite(at, "thinking", self._other_kind(None, message) or told)
        else:
            self._changes.withhold(at, "thinking", why)
        return None

    def _reason_to_withhold(self, part: Thinking, message: Message) -> str | None:
        if message.role != "assistant":
            return "only the assistant's turns have thinking"
        if part.signature is not None:
            if not self._makers.reads(part.signature, message):
                return self._other_maker(part.signature, message) or _FOREIGN
            return REFUSED if is_rejected(part.signature, self._to.refused) else None
        if not part.text or part.redacted:
            return _NOTHING
        if not self._makers.is_author(message):
            foreign = self._other_kind(None, message) or _FOREIGN
            return foreign if is_named(message) else _UNNAMED
        return (
            None
            if self._to.takes.allows_unsigned
            else "there is no signature on it, and the destination wants one"
        )

    # -- media and what we do not know -----------------------------------------------------------

    def _medium(self, part: Image | Blob, at: Place, message: Message) -> Part | None:
        spoken = message.role == "assistant"
        part = self._spell_type(part, at)
        if self._takes(self._to.takes.spoken_media if spoken else self._to.takes.media, part):
            part = self._drop_settings(self._replace_surrogates(part, at), at)
            return self._drop_signature(part, at, message)
        kind = str(part.__struct_config__.tag)
        if not spoken:
            return self._describe(part, at)
        if self._takes(self._to.takes.media, part):
            self._changes.rewrite(at, kind, "only the user may show this here: it goes before")
            self._changes.add(at[0], "note", f"it says where the {kind} is from")
            self.notes += (
                from_answer(part),
                replace(self._replace_surrogates(part, at), signature=None),
            )
        else:
            self._changes.rewrite(at, kind, UNSEEN)
            self.notes.append(unseen_in_answer(part))
        return None

    def _drop_settings(self, part: Image | Blob, at: Place) -> Image | Blob:
        """Return a document without the settings that the destination does not have."""
        if self._to.takes.cites or not isinstance(part, Blob) or not (part.context or part.cited):
            return part
        if part.context:
            self._changes.rewrite(at, "blob", UNTOLD)
        if part.cited:
            self._changes.rewrite(at, "blob", UNCITED)
        return replace(part, context=None, cited=False)

    def _spell_type(self, part: Image | Blob, at: Place) -> Image | Blob:
        """Return a medium with the registered spelling of its type, which services compare."""
        usual = _spell(part.media_type)
        if usual is None or usual == part.media_type:
            return part
        self._changes.rewrite(at, "media_type", _SPELLING, before=part.media_type, after=usual)
        return replace(part, media_type=usual)

    def _replace_surrogates(self, part: Image | Blob, at: Place) -> Image | Blob:
        named = part.name if isinstance(part, Blob) else None
        if has_no_surrogates(part.url or "") and has_no_surrogates(named or ""):
            return part
        self._changes.rewrite(at, str(part.__struct_config__.tag), _HALVES)
        fixed = replace(part, url=None if part.url is None else replace_surrogates(part.url))
        return fixed if named is None else replace(fixed, name=replace_surrogates(named))

    def _takes(self, media: tuple[str, ...], part: Image | Blob) -> bool:
        return accepts_media(self._to.takes, media, part)

    def other(self, part: UnknownPart, at: Place, message: Message) -> tuple[Part, ...]:
        """Return a service's own part for its maker; for others, what it says."""
        if self._makers.holds(part, message):
            return (self._drop_signature(part, at, message),)
        told = self._to.retell(part) if self._to.retell is not None else None
        if not told:
            if told is None:
                self._changes.withhold(at, "other", self._why_unreadable(part, message))
            else:
                self._changes.withhold(at, "other", _NOTHING)
            return ()
        if any(isinstance(each, Text) and not each.text for each in told):
            self._changes.withhold(at, "other", HISTORY_LOST)
            return ()
        self._changes.rewrite(at, "other", RETOLD)
        shown = tuple(self._show(each, at) for each in told)
        if message.role == "user":
            return shown
        self.notes += shown
        return ()

    def _why_unreadable(self, part: UnknownPart, message: Message) -> str:
        alike = part.dialect == self._to.dialect and message.role == "assistant"
        is_of_other = alike and not self._makers.is_of_this_account(message)
        return BOUND_ELSEWHERE if is_of_other else UNREADABLE

    def _show(self, part: Text | Image | Blob, at: Place) -> Part:
        if isinstance(part, Text):
            return Text(replace_surrogates(part.text))
        return part if self._takes(self._to.takes.media, part) else self._describe(part, at)

    def _drop_signature(self, part: Signed, at: Place, message: Message) -> Signed:
        if part.signature is None or self._sendable(part.signature, message) is not None:
            return part
        self._changes.rewrite(at, "seal", self._why(part.signature, message))
        return replace(part, signature=None)

    def _sendable(self, signature: Signature | None, message: Message) -> Signature | None:
        if signature is None or not self._makers.reads(signature, message):
            return None
        return None if is_rejected(signature, self._to.refused) else signature

    def _why(self, signature: Signature, message: Message) -> str:
        if is_rejected(signature, self._to.refused):
            return REFUSED
        return self._other_maker(signature, message) or _FOREIGN_SIGNATURE

    def _other_maker(self, signature: Signature, message: Message) -> str | None:
        """Return why the same model did not make it after all: an emulator or another account."""
        if (why := self._other_kind(signature, message)) is not None:
            return why
        is_of_other_account = (
            signature.dialect == self._to.dialect and not self._makers.is_of_this_account(message)
        )
        return BOUND_ELSEWHERE if is_of_other_account else None

    def _other_kind(self, signature: Signature | None, message: Message) -> str | None:
        """Return why a part goes neither from the emulator to a service nor back, if so."""
        if self._makers.is_of_this_kind(signature, message.origin):
            return None
        return NOT_EMULATED if self._to.emulator == OFFLINE else EMULATED_ELSEWHERE

    # -- calls and results -----------------------------------------------------------------------

    def call(self, call: ToolCall, id: str, at: Place, message: Message) -> ToolCall:
        """Return a call under its new id."""
        signature = self._sendable(call.signature, message)
        name, arguments = replace_surrogates(call.name), replace_surrogates_in_json(call.arguments)
        spelt = name is call.name and arguments is call.arguments
        if spelt and id == call.id and signature is call.signature:
            return call
        if id != call.id:
            self._changes.rewrite(at, "id", _ALPHABET, before=call.id, after=id)
        if call.signature is not None and signature is None:
            self._changes.rewrite(at, "seal", self._why(call.signature, message))
        if not spelt:
            self._changes.rewrite(at, "call", _HALVES)
        minted = call.minted or (id != call.id and not self._to.takes.minted)
        return ToolCall(id, name, arguments, signature, minted, call.cache)

    def result(self, result: ToolResult, id: str, at: Place) -> ToolResult:
        """Return a result under the new id of its call."""
        content = [self._inner(part, at) for part in result.content]
        name = result.name if result.name is None else replace_surrogates(result.name)
        if id != result.call_id:
            self._changes.rewrite(at, "id", _ALPHABET, before=result.call_id, after=id)
        if name is not result.name:
            self._changes.rewrite(at, "result", _HALVES)
        if are_same(content, result.content) and id == result.call_id and name is result.name:
            return result
        return replace(result, call_id=id, content=tuple(content), name=name)

    def move_media_out(self, result: ToolResult, at: Place) -> tuple[ToolResult, list[Part]]:
        """Return a result without its media, and these, if it is an error that may hold none."""
        media = [part for part in result.content if isinstance(part, Image | Blob)]
        if not media or not result.error or self._to.takes.error_media:
            return result, []
        for part in media:
            self._changes.rewrite(at, str(part.__struct_config__.tag), MOVED_OUT)
        content = tuple(
            moved_out(part) if isinstance(part, Image | Blob) else part for part in result.content
        )
        return replace(result, content=content), list(media)

    def _inner(self, part: Inner, at: Place) -> Inner:
        if isinstance(part, Text):
            if is_plain(part):
                return part
            return self._words(part, self._sendable(part.signature, _A_USER), at, _A_USER)
        if isinstance(part, UnknownPart):
            if self._makers.holds(part, _A_USER):
                return self._drop_signature(part, at, _A_USER)
            self._changes.rewrite(at, "other", UNREADABLE)
            return unread()
        part = self._spell_type(part, at)
        if self._takes(self._to.takes.result_media, part):
            part = self._drop_settings(self._replace_surrogates(part, at), at)
            return self._drop_signature(part, at, _A_USER)
        return self._describe(part, at)

    def _describe(self, part: Image | Blob, at: Place) -> Text:
        """Return a text in place of a medium: its own, if it is one."""
        kind = str(part.__struct_config__.tag)
        text = _text_of(part)
        self._changes.rewrite(at, kind, UNSEEN if text is None else _TOLD)
        if isinstance(part, Blob) and part.cited:
            self._changes.rewrite(at, kind, UNCITED)
        return unseen(part) if text is None else Text(text, cache=part.cache)


# Tool results come from no model, so they are judged like a user's message.
_A_USER = Message("user", ())


def _spell(media_type: str | None) -> str | None:
    return None if media_type is None else MEDIA_TYPES.get(media_type.lower(), media_type)


def _text_of(part: Image | Blob) -> str | None:
    """Return the text of a plain text file under its name; None for other media."""
    if not isinstance(part, Blob) or part.data is None or not part.media_type.startswith("text/"):
        return None
    try:
        text = part.data.decode()
    except UnicodeDecodeError:
        return None
    if not text.strip():
        return None
    return "\n".join([*(f"[{each}]" for each in (part.name, part.context) if each), text])


def accepts_media(takes: ReplayRules, media: tuple[str, ...], part: Image | Blob) -> bool:
    """Return whether a medium is accepted; ``media`` are prefixes of accepted types."""
    if not is_reachable(takes, part):
        return False
    if (kind := _spell(part.media_type)) is not None:
        return kind.startswith(media)
    return any(each.startswith("image/") or not each for each in media)  # a picture of some kind


def is_reachable(takes: ReplayRules, part: Image | Blob) -> bool:
    """Return whether a medium's bytes are in the request, or at an address that is fetched."""
    address = part.url or ""
    if part.data is not None or address.startswith("data:"):
        return True
    return any(re.match(form, address) for form in takes.addresses)

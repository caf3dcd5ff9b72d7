"""Adapts parts to the destination. Our text goes to user messages: models imitate their own."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from ..canon import (
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


def unread() -> Text:
    """Return a text in place of a part that only another service can read."""
    return Text("[a part that only another service can read]")


def make_interrupted_result(call_id: str) -> ToolResult:
    """Return the result of a call that never came back."""
    return ToolResult(call_id, (Text(INTERRUPTED),), error=True)


def _describe(medium: Image | Blob) -> str:
    kind = medium.media_type or "image"
    return kind if medium.data is None else f"{kind}, {len(medium.data):,} bytes"


REFUSED = "the destination did not take it back before"
_FOREIGN_SIGNATURE = "another model or route made it"
_NOTHING = "there is nothing in it"
_FOREIGN = "another model or route thought it"
_UNNAMED = "nothing says which model thought it"
_HALVES = "half a character cannot be sent"
_ALPHABET = "the destination takes other ids, or this one was used before"
UNSEEN = "the destination does not take this kind of medium here"
_UNREADABLE = "only the service that made it can read it"

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
            UnknownPart: self._other,
        }

    def part(self, part: Part, at: Place, message: Message) -> Part | None:
        """Return a part (no call, no result) as it may be sent; None to leave it out."""
        return self._kinds[type(part)](part, at, message)

    # -- words and thinking ----------------------------------------------------------------------

    def _text(self, part: Text, at: Place, message: Message) -> Text | None:
        if part.text and is_plain(part):
            return part
        signature = self._sendable(part.signature, message)
        if not part.text and signature is None:
            why = _NOTHING if part.signature is None else self._why(part.signature)
            self._changes.withhold(at, "text", why)
            return None
        return self._words(part, signature, at, message)

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
            self._changes.rewrite(at, "seal", self._why(part.signature))
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
        foreign = why in (_FOREIGN, _UNNAMED) and part.text and not part.redacted
        if foreign and self._to.foreign == "note":
            name = name_of(part.signature, message.origin)
            self.notes.append(quote_thinking(replace_surrogates(part.text), name))
            self._changes.rewrite(at, "thinking", f"{name} thought it: a note of the user's now")
        else:
            self._changes.withhold(at, "thinking", why)
        return None

    def _reason_to_withhold(self, part: Thinking, message: Message) -> str | None:
        if message.role != "assistant":
            return "only the assistant's turns have thinking"
        if part.signature is not None:
            if not self._makers.reads(part.signature, message):
                return _FOREIGN
            return REFUSED if is_rejected(part.signature, self._to.refused) else None
        if not part.text or part.redacted:
            return _NOTHING
        if not self._makers.is_author(message):
            return _FOREIGN if is_named(message) else _UNNAMED
        return (
            None
            if self._to.takes.allows_unsigned
            else "there is no signature on it, and the destination wants one"
        )

    # -- media and what we do not know -----------------------------------------------------------

    def _medium(self, part: Image | Blob, at: Place, message: Message) -> Part | None:
        spoken = message.role == "assistant"
        if self._takes(self._to.takes.spoken_media if spoken else self._to.takes.media, part):
            return self._drop_signature(self._replace_surrogates(part, at), at, message)
        kind = str(part.__struct_config__.tag)
        if not spoken:
            self._changes.rewrite(at, kind, UNSEEN)
            return unseen(part)
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

    def _replace_surrogates(self, part: Image | Blob, at: Place) -> Image | Blob:
        named = part.name if isinstance(part, Blob) else None
        if has_no_surrogates(part.url or "") and has_no_surrogates(named or ""):
            return part
        self._changes.rewrite(at, str(part.__struct_config__.tag), _HALVES)
        fixed = replace(part, url=None if part.url is None else replace_surrogates(part.url))
        return fixed if named is None else replace(fixed, name=replace_surrogates(named))

    def _takes(self, media: tuple[str, ...], part: Image | Blob) -> bool:
        return accepts_media(self._to.takes, media, part)

    def _other(self, part: UnknownPart, at: Place, message: Message) -> UnknownPart | None:
        if not self._makers.holds(part, message):
            self._changes.withhold(at, "other", _UNREADABLE)
            return None
        return self._drop_signature(part, at, message)

    def _drop_signature(self, part: Signed, at: Place, message: Message) -> Signed:
        if part.signature is None or self._sendable(part.signature, message) is not None:
            return part
        self._changes.rewrite(at, "seal", self._why(part.signature))
        return replace(part, signature=None)

    def _sendable(self, signature: Signature | None, message: Message) -> Signature | None:
        if signature is None or not self._makers.reads(signature, message):
            return None
        return None if is_rejected(signature, self._to.refused) else signature

    def _why(self, signature: Signature) -> str:
        return REFUSED if is_rejected(signature, self._to.refused) else _FOREIGN_SIGNATURE

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
            self._changes.rewrite(at, "seal", self._why(call.signature))
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

    def _inner(self, part: Inner, at: Place) -> Inner:
        if isinstance(part, Text):
            if is_plain(part):
                return part
            return self._words(part, self._sendable(part.signature, _A_USER), at, _A_USER)
        if isinstance(part, UnknownPart):
            if self._makers.holds(part, _A_USER):
                return self._drop_signature(part, at, _A_USER)
            self._changes.rewrite(at, "other", _UNREADABLE)
            return unread()
        if self._takes(self._to.takes.result_media, part):
            return self._drop_signature(self._replace_surrogates(part, at), at, _A_USER)
        self._changes.rewrite(at, str(part.__struct_config__.tag), UNSEEN)
        return unseen(part)


# Tool results come from no model, so they are judged like a user's message.
_A_USER = Message("user", ())


def accepts_media(takes: ReplayRules, media: tuple[str, ...], part: Image | Blob) -> bool:
    """Return whether a medium is accepted; ``media`` are prefixes of accepted types."""
    if not is_reachable(takes, part):
        return False
    if part.media_type is not None:
        return part.media_type.startswith(media)
    return any(each.startswith("image/") or not each for each in media)  # a picture of some kind


def is_reachable(takes: ReplayRules, part: Image | Blob) -> bool:
    """Return whether a medium's bytes are in the request, or at an address that is fetched."""
    address = part.url or ""
    if part.data is not None or address.startswith("data:"):
        return True
    return any(re.match(form, address) for form in takes.addresses)

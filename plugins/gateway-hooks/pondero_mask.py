"""Hides e-mail addresses and keys from models: a placeholder is sent, and restored in the answer.

A placeholder depends on the hidden value alone, so a conversation reads the same at every turn:
its prompt cache and its signatures stay valid. Other processes with the same secret write the same
placeholders.
"""

import hmac
import os
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, UnsetType, json
from msgspec.structs import asdict, replace

from pondero.canon import (
    Blob,
    Event,
    Finished,
    PartEnd,
    PartStart,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolDelta,
)
from pondero.gateway import Hook, HookCall

PATTERNS: Mapping[str, str] = {
    "email": r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,24}",
    "key": (
        r"\b(?:sk-[A-Za-z0-9_-]{16,200}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}"
        r"|gh[pousr]_[A-Za-z0-9]{36,200}|xox[abprs]-[A-Za-z0-9-]{10,200})"
    ),
}
"""What is hidden unless the settings say otherwise, by the name that its placeholders have."""
_DIGITS = 16  # of a placeholder: two values with the same one are not to be expected
_PLACEHOLDER = re.compile(r"\[[a-z_]{1,32}#[0-9a-f]{16}\]")
_BEGINNING = re.compile(r"\[(?:[a-z_]{0,32}|[a-z_]{1,32}#[0-9a-f]{0,16})\Z")
_LONGEST = 32 + 3 + _DIGITS  # characters of a placeholder
_LEAST_SECRET = 16
_AWS_LABELS = "requestMetadata"
_NO_BRACKETS = str.maketrans("", "", "[]")  # AWS takes none in labels; they are in no answer
_NUMBERED = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[1-9]|\(\?\([0-9])")


class _Settings(Struct, forbid_unknown_fields=True):
    secret: str
    patterns: dict[str, str] = {}


class Mask(Hook):
    """``secret``: ``env:NAME``; ``patterns``: regular expressions in place of the usual ones."""

    changes_answers = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        said = msgspec.convert(settings, _Settings)
        self._secret = _read_secret(said.secret)
        patterns = said.patterns or PATTERNS
        if not all(re.fullmatch("[a-z_]{1,32}", name) for name in patterns):
            message = "name patterns with small letters and _, at most 32"
            raise ValueError(message)
        for name, pattern in patterns.items():
            _check_pattern(name, pattern)
        groups = (f"(?P<{name}>{pattern})" for name, pattern in patterns.items())
        self._pattern = re.compile("|".join(groups))

    def on_request(self, call: HookCall, /) -> Request:
        """Return the request with placeholders, in all texts that a model or its service reads."""
        hidden: dict[str, str] = {}

        def hide(text: str) -> str:
            return self._pattern.sub(lambda found: self._hide(found, hidden), text)

        request = call.request
        names = ("messages", "system", "tools", "output", "stop", "extras")
        fields = {n: _apply(hide, getattr(request, n)) for n in names}
        if request.extras is not None and (labels := fields["extras"].get(_AWS_LABELS)):
            plain = _apply(lambda text: text.translate(_NO_BRACKETS), labels)
            fields["extras"] = {**fields["extras"], _AWS_LABELS: plain}
        call.notes["hidden"] = hidden
        return replace(request, **fields)

    def _hide(self, found: re.Match[str], hidden: dict[str, str]) -> str:
        value = found[0]
        digest = hmac.new(self._secret, value.encode("utf-8", "surrogatepass"), sha256).hexdigest()
        placeholder = f"[{found.lastgroup}#{digest[:_DIGITS]}]"
        hidden[placeholder] = value
        return placeholder

    def on_event(self, call: HookCall, event: Event, /) -> list[Event]:
        """Return an event with the values back in their places, also across several deltas."""
        hidden: Mapping[str, str] = call.notes.get("hidden", {})
        if not hidden:
            return [event]
        waiting: dict[int, tuple[type, str]] = call.notes.setdefault("waiting", {})
        written: set[int] = call.notes.setdefault("written", set())  # calls of tools without JSON
        match event:
            case PartStart(index, name=name):
                if any(tool.name == name and tool.kind == "text" for tool in call.request.tools):
                    written.add(index)
                # A text may be open until the calls behind it have ended.
                words = [each for each, (kind, _) in waiting.items() if kind is not ToolDelta]
                return [*[_show_rest(each, waiting) for each in words], event]
            case TextDelta(index, text) | ThinkingDelta(index, text) | ToolDelta(index, text):
                kind = type(event)
                text = waiting.pop(index, (kind, ""))[1] + text
                ready, rest = _split(text)
                if rest:
                    waiting[index] = (kind, rest)
                in_json = kind is ToolDelta and index not in written
                return [kind(index, _restore(ready, hidden, in_json=in_json))] if ready else []
            case PartEnd(index, part):
                kind, rest = waiting.pop(index, (TextDelta, ""))
                whole = PartEnd(index, _apply(lambda text: _put_back(text, hidden), part))
                in_json = kind is ToolDelta and index not in written
                shown = _restore(rest, hidden, in_json=in_json)
                return [kind(index, shown), whole] if rest else [whole]
            case Finished():  # its further fields name the stop sequence that was met
                return [_apply(lambda text: _put_back(text, hidden), event)]
            case _:
                return [event]


def _check_pattern(name: str, pattern: str) -> None:
    """Raise ValueError for a pattern that would hide nothing, or everything."""
    try:
        is_empty = re.compile(f"(?:{pattern})").search("") is not None
    except re.error as error:
        message = f"invalid pattern {name}: {error}"
        raise ValueError(message) from None
    if is_empty:
        message = f"the pattern {name} also matches no letters at all"
        raise ValueError(message)
    if _NUMBERED.search(pattern):  # all patterns are one, so it would be another group
        message = f"the pattern {name} has a group by its number; write (?P<a>...) and (?P=a)"
        raise ValueError(message)


def _read_secret(reference: str) -> bytes:
    kind, _, name = reference.partition(":")
    if kind != "env" or not name:
        message = 'invalid secret; write secret = "env:NAME", the name of a variable'
        raise ValueError(message)
    secret = os.environ.get(name, "")
    if not secret:
        message = f"{name} is not set; set that variable to {_LEAST_SECRET} characters or more"
        raise ValueError(message)
    if len(secret) < _LEAST_SECRET:
        message = f"{name} has {len(secret)} characters; use {_LEAST_SECRET} or more"
        raise ValueError(message)
    return secret.encode()


def _apply(change: Callable[[str], str], value: Any) -> Any:
    """Return a value with a change made in all its texts; signatures and bytes stay."""
    match value:
        case str():
            return change(value)
        case list():
            return [_apply(change, each) for each in value]
        case tuple():
            return tuple(_apply(change, each) for each in value)
        case dict():
            return {_apply(change, name): _apply(change, each) for name, each in value.items()}
        case Struct():
            kept = _KEPT - {"name"} if isinstance(value, Blob) else _KEPT
            fields = {
                name: _apply(change, each)
                for name, each in asdict(value).items()
                if name not in kept and each is not None and not isinstance(each, UnsetType)
            }
            if isinstance(value, Blob) and value.data is not None:
                fields["data"] = _change_written(change, value.media_type, value.data)
            return replace(value, **fields)
        case _:
            return value


def _change_written(change: Callable[[str], str], media_type: str, data: bytes) -> bytes:
    """Return a document with a change made in its text, whatever type it says it has."""
    kind = media_type.lower()
    if kind.startswith(_NOT_WRITTEN) or (not kind.startswith("text/") and not _is_utf8(data)):
        return data
    return change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_NOT_WRITTEN = ("application/pdf", "image/png", "image/jpeg", "audio/", "video/")
_KEPT = frozenset(("signature", "id", "call_id", "name", "origin", "role", "cache", "dialect"))
"""Fields that no text of a user is in, or that must be sent back unchanged."""


def _split(text: str) -> tuple[str, str]:
    """Return what can be shown now, and a rest that may be the beginning of a placeholder."""
    start = text.rfind("[", max(0, len(text) - _LONGEST))
    if start < 0 or not _BEGINNING.match(text, start):
        return text, ""
    return text[:start], text[start:]


def _show_rest(index: int, waiting: dict[int, tuple[type, str]]) -> Event:
    kind, rest = waiting.pop(index)
    shown: Event = kind(index, rest)
    return shown


def _put_back(text: str, hidden: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: hidden.get(found[0], found[0]), text)


def _restore(text: str, hidden: Mapping[str, str], *, in_json: bool) -> str:
    """Return a delta's text with its values; those inside of JSON are escaped."""
    if not in_json:
        return _put_back(text, hidden)
    return _PLACEHOLDER.sub(lambda found: _escape(hidden.get(found[0], found[0])), text)


def _escape(value: str) -> str:
    return json.encode(value).decode()[1:-1]

"""Writes thinking that is sent back: all of one turn in one field, as the wire has no order."""

from pondero.canon import Json, Thinking

from .parts import NAME
from .quirks import Quirks

_TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_TAGS = ("<think>\n", "\n</think>\n\n")
_ORIGINS = {"chunk": "content_chunks", "tags": "think_tags"}
_FIELDS = ("reasoning_details", *_TEXT_FIELDS, *_ORIGINS)


class Replay:
    """Puts the thinking of each turn into its message, if the deployment wants it there."""

    def __init__(self, quirks: Quirks, model: str) -> None:
        self._field = quirks.replay_field
        wants = model.startswith(quirks.replay_missing_of)
        self._missing = quirks.replay_missing if wants else None
        self.is_wanted: bool = quirks.replay_when == "always" and quirks.replay_field != "none"
        self._after_calls = quirks.replay_when == "tools" and quirks.replay_field != "none"

    def note_call(self) -> None:
        """Note a tool call: some services want thinking from this turn on."""
        self.is_wanted = self.is_wanted or self._after_calls

    def think(self, part: Thinking, message: dict[str, Json], content: list[Json]) -> None:
        """Put one thinking part into a message or its content, if this dialect signed it."""
        signature = part.signature
        if not self.is_wanted or signature is None or signature.dialect != NAME:
            return
        value = signature.value if isinstance(signature.value, dict) else {}
        message.update(value.get("message", {}))
        where = _origin(value) if self._field == "same" else self._field
        if where in _TEXT_FIELDS:
            _add_text(message, where, part.text)
        elif where == "reasoning_details":
            _add_details(message, value, part.text)
        elif where == "content_chunks":
            _add_chunk(content, part.text, value.get("chunk", {}))
        elif where == "think_tags":
            opened, closed = value.get("tags", _TAGS)
            content.append(f"{opened}{part.text}{closed}")

    def fill(self, message: dict[str, Json]) -> None:
        """Fill the field of a turn without thinking, if the deployment requires it."""
        if not self.is_wanted or self._missing is None:
            return
        if self._field in _TEXT_FIELDS:
            message.setdefault(self._field, self._missing)
        elif self._field == "reasoning_details" and self._field not in message:
            message.setdefault("reasoning", self._missing)


def is_replayed(message: dict[str, Json]) -> bool:
    """Return whether a message carries thinking in a field of its own."""
    return any(message.get(field) for field in (*_TEXT_FIELDS, "reasoning_details"))


def _origin(value: dict[str, Json]) -> str | None:
    return next((_ORIGINS.get(key, key) for key in _FIELDS if key in value), None)


def _add_text(message: dict[str, Json], field: str, text: str) -> None:
    if text:
        message[field] = message.get(field, "") + text


def _add_chunk(content: list[Json], text: str, rest: dict[str, Json]) -> None:
    # Mistral, hosted GLM reject several thinking chunks in a message (pi-ai 1.5.0, 2026-11-15).
    words = {"type": "text", "text": text}
    last = content[-1] if content and isinstance(content[-1], dict) else {}
    signed = "signature" in last or "signature" in rest
    if last.get("type") == "thinking" and not signed:
        last["thinking"].append(words)
    else:
        content.append({"type": "thinking", "thinking": [words], **rest})


def _add_details(message: dict[str, Json], value: dict[str, Json], text: str) -> None:
    details = value.get("reasoning_details")
    if not isinstance(details, list):
        _add_text(message, "reasoning", text)
        return
    if kept := [detail for detail in details if not _lacks_signature(detail)]:
        message["reasoning_details"] = message.get("reasoning_details", []) + kept


def _lacks_signature(detail: Json) -> bool:
    # Anthropic rejects unsigned thinking (@openrouter/ai-sdk-provider 3.1.0, 2026-11-15).
    return (
        isinstance(detail, dict)
        and detail.get("format") == "anthropic-claude-v1"
        and detail.get("type") == "reasoning.text"
        and not detail.get("signature")
    )

"""What is being asked: the question on the table, and what tools said since it was put."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.json import encode

from ..canon import Blob, Image, Message, Other, Text, ToolCall, ToolResult

_DIRECTIVE = re.compile(r"\[emulator: *([a-z-]+)(?: +([^\]]*))?\]", re.IGNORECASE)
_REDACT = "MAGIC_STRING_TRIGGER_REDACTED_THINKING"  # documented by the service that has it


class Asked(Struct, frozen=True):
    """The question, what was said before it, and the calls and results that came after.

    ``directives`` are what stood in it as ``[emulator: word argument]``; they are taken out.
    """

    question: str
    earlier: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    directives: tuple[tuple[str, str], ...] = ()

    def wants(self, word: str) -> bool:
        """Return whether the question gives this directive."""
        return self.directive(word) is not None

    def directive(self, word: str) -> str | None:
        """Return what follows a directive in the question; None where it is not given."""
        return next((rest for found, rest in self.directives if found == word), None)


def read(messages: Sequence[Message]) -> Asked:
    """Return what a conversation asks at its end."""
    put = [n for n, message in enumerate(messages) if _is_question(message)]
    last = put[-1] if put else 0
    raw = messages[last].text if messages else ""
    found = [(match[1].lower(), (match[2] or "").strip()) for match in _DIRECTIVE.finditer(raw)]
    if _REDACT in raw:
        found.append(("redacted", ""))
    since = [part for message in messages[last + 1 :] for part in message.parts]
    return Asked(
        _DIRECTIVE.sub("", raw).strip(),
        earlier=tuple(messages[n].text for n in put[:-1]),
        calls=tuple(part for part in since if isinstance(part, ToolCall)),
        results=tuple(part for part in since if isinstance(part, ToolResult)),
        directives=tuple(found),
    )


def said_by(result: ToolResult) -> str:
    """Return what a result says: its words, and JSON that is no words."""
    return "".join(map(_words, result.content)).strip()


def _words(part: Text | Image | Blob | Other) -> str:
    match part:
        case Text():
            return part.text
        case Other():
            return encode(part.raw).decode()
        case _:
            return f"[{part.media_type or 'a picture'}]"


def _is_question(message: Message) -> bool:
    results = any(isinstance(part, ToolResult) for part in message.parts)
    return message.role == "user" and bool(message.text.strip()) and not results

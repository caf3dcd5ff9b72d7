"""Parses the end of a conversation; removes the reminders and files that agent programs add."""

import re
from collections.abc import Iterator, Sequence
from json import JSONDecodeError, JSONDecoder

from msgspec import Struct

from ...canon import Json, Message, Text, ToolCall, ToolResult

_DIRECTIVE = re.compile(r"\[emulator: *([a-z-]+)(?: +([^\]]*))?\]", re.IGNORECASE)
_CALL = re.compile(r"\[emulator: *call +([^\s\]{}]+)\s*", re.IGNORECASE)
_REDACT = "MAGIC_STRING_TRIGGER_REDACTED_THINKING"  # Anthropic, extended thinking
# <system-reminder> of Claude Code, <environment_context> of Codex, <session_context> of Gemini CLI,
# and <system> with its introduction, where pondero moves a system turn into a user's.
_CONTEXT = re.compile(
    r"(?:A note from the application, to be followed like the system prompt:\s*)?"
    r"<(system-reminder|system|total_tokens|(?:local-)?command-[\w-]+|[\w-]+[-_](?:context|instructions))"
    r"\b[^>]*>.*?</\1>",
    re.DOTALL | re.IGNORECASE,
)
_END = re.compile(r"\s*\]")
_JSON = JSONDecoder()


class CallDirective(Struct, frozen=True):
    """A call ordered with ``[emulator: call NAME {json}]``."""

    name: str
    arguments: Json


class ParsedQuestion(Struct, frozen=True):
    """The question without its directives (``[emulator: word argument]``) and ``orders``."""

    question: str
    earlier: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    directives: tuple[tuple[str, str], ...] = ()
    orders: tuple[CallDirective, ...] = ()

    def wants(self, word: str) -> bool:
        """Return whether the question gives this directive."""
        return self.directive(word) is not None

    def directive(self, word: str) -> str | None:
        """Return the argument of a directive; None if it is not given."""
        return next((rest for found, rest in self.directives if found == word), None)


def parse_question(messages: Sequence[Message]) -> ParsedQuestion:
    """Parse the question at the end of a conversation."""
    put = [(n, texts) for n, message in enumerate(messages) if (texts := _question_texts(message))]
    last, texts = put[-1] if put else (0, [""])
    question, orders = _without_orders(_strip_quotes(texts[-1]))
    found = [(m[1].lower(), (m[2] or "").strip()) for m in _DIRECTIVE.finditer(question)]
    if messages and _REDACT in messages[last].text:
        found.append(("redacted", ""))
    since = [part for message in messages[last + 1 :] for part in message.parts]
    return ParsedQuestion(
        _DIRECTIVE.sub("", question).strip(),
        earlier=tuple("\n".join(texts) for _, texts in put[:-1]),
        calls=tuple(part for part in since if isinstance(part, ToolCall)),
        results=tuple(part for part in since if isinstance(part, ToolResult)),
        directives=tuple(found),
        orders=tuple(orders),
    )


def _question_texts(message: Message) -> list[str]:
    if message.role != "user" or any(isinstance(part, ToolResult) for part in message.parts):
        return []
    texts = (_CONTEXT.sub("", part.text) for part in message.parts if isinstance(part, Text))
    return [text.strip() for text in texts if text.strip()]


def _strip_quotes(text: str) -> str:
    if len(text) > 2 and text[0] == text[-1] == '"':
        inner = text[1:-1].replace('\\"', "\0")
        if '"' not in inner:
            return inner.replace("\0", '"')
    return text


def _without_orders(text: str) -> tuple[str, list[CallDirective]]:
    orders, rest, at = [], "", 0
    for begin, end, order in _orders(text):
        orders.append(order)
        rest += text[at:begin]
        at = end
    return rest + text[at:], orders


def _orders(text: str) -> Iterator[tuple[int, int, CallDirective]]:
    for match in _CALL.finditer(text):
        arguments: Json = {}
        end = match.end()
        if text[end : end + 1] == "{":
            try:
                arguments, end = _JSON.raw_decode(text, end)
            except (JSONDecodeError, RecursionError):
                continue
        if (closed := _END.match(text, end)) is not None:
            yield match.start(), closed.end(), CallDirective(match[1], arguments)

"""Answers for the emulator: ``ponder`` is the built-in one; equal requests, equal answers."""

import re
from typing import Protocol

import msgspec
from msgspec.json import encode

from ...canon import (
    Blob,
    Finish,
    Image,
    Json,
    Message,
    Part,
    Reply,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
)
from ...dialects import AcceptedRequest
from ..tokens import clip, count_call, count_tokens
from ..tokens import count_request as tokens_of
from .arithmetic import Calculation, find_calculation
from .dial_effect import DialDirective, bend_depth, find_dial, hide_counts
from .question import ParsedQuestion, parse_question
from .schema_values import FillMaterial, asks_for_json, fill, find_prompted_schema
from .showcase import find_showcase
from .thinking_text import depth, thoughts
from .tool_calls import Call, calls, explain_uncalled, unmet

NO_ANSWER = "I am an emulator; this is all I can say to it."
"""The end of the answer to a question that it cannot work out: it only does sums."""


def result_text(result: ToolResult) -> str:
    """Return the text of a tool result, JSON parts included."""
    return "".join(map(_words, result.content)).strip()


def _words(part: Text | Image | Blob | UnknownPart) -> str:
    match part:
        case Text():
            return part.text
        case UnknownPart():
            return encode(part.raw).decode()
        case _:
            return f"[{part.media_type or 'a picture'}]"


_TOLD = re.compile(r"\b(?:my|the) ([\w -]{2,30}?) is ([^.,;!?\n]{1,80})", re.IGNORECASE)
_RECALL = re.compile(r"\bwhat(?:'s|’s| is| was) (?:my|the) ([\w -]{2,30}?)\s*[?.!]", re.IGNORECASE)
_REPEAT = re.compile(r"(?is)^\s*(?:say|repeat|reply with|answer with)(?: exactly| only)?:? (.+)")
_REFUSAL = "I cannot help with that."


class Responder(Protocol):
    """A function that answers requests; its tool calls may leave their ids empty.

    >>> from pondero.emulator import Emulator
    >>> def parrot(accepted):
    ...     last = accepted.request.messages[-1]
    ...     return pondero.Reply(pondero.Message("assistant", (pondero.Text(last.text),)), "stop")
    >>> pondero.Client(transport=Emulator(responder=parrot)).ask("gpt-5.1", "Hello!").text
    'Hello!'
    """

    def __call__(self, accepted: AcceptedRequest[Json]) -> Reply:
        """Answer an accepted request."""
        ...


def ponder(accepted: AcceptedRequest[Json]) -> Reply:
    """Answer as the built-in responder.

    >>> from pondero.emulator import Emulator, ponder
    >>> def shouting(accepted):
    ...     words = pondero.Text(ponder(accepted).text.upper())
    ...     return pondero.Reply(pondero.Message("assistant", (words,)), "stop")
    >>> client = pondero.Client(transport=Emulator(responder=shouting))
    >>> client.ask("gpt-5.1", "My name is Ada.").text
    'NOTED: NAME IS ADA.'
    """
    return _ponder(accepted, None)


class DialResponder:
    """Answers as the built-in responder does, with a dial that is ``deaf``, ``half-deaf`` ...

    ``docs/emulator.md`` has the words. A question can give the same with ``[emulator: deaf]``.

    >>> from pondero.emulator import DialResponder, Emulator
    >>> client = pondero.Client(transport=Emulator(responder=DialResponder("deaf")))
    >>> replies = [client.ask("gpt-5.1", "What is 17 * 23?", each) for each in ("low", "high")]
    >>> [reply.usage.thinking for reply in replies]
    [114, 114]
    """

    def __init__(self, dial: str) -> None:
        self._dial = DialDirective.parse(dial)

    def __call__(self, accepted: AcceptedRequest[Json]) -> Reply:
        """Answer an accepted request."""
        return _ponder(accepted, self._dial)


def _ponder(accepted: AcceptedRequest[Json], dial: DialDirective | None) -> Reply:
    request = accepted.request
    asked = parse_question(request.messages)
    dial = find_dial(asked) or dial
    if asked.wants("refuse") or asked.wants("block"):
        return _refuse(accepted, "refusal" if asked.wants("refuse") else "content_filter")
    worked = find_calculation(asked.question)
    todo = calls(request.tools, request.tool_choice, asked=asked, worked=worked)
    return hide_counts(_Composer(accepted, asked, dial).reply(worked, todo), dial)


def count_usage(accepted: AcceptedRequest[Json], reply: Reply) -> Reply:
    """Count the usage of a reply that has none."""
    if reply.usage != Usage():
        return reply
    parts = reply.message.parts
    thinking = sum(count_tokens(part.text) for part in parts if isinstance(part, Thinking))
    spoken = sum(count_tokens(part.text) for part in parts if isinstance(part, Text))
    spoken += sum(count_call(part) for part in parts if isinstance(part, ToolCall))
    return msgspec.structs.replace(reply, usage=_usage(accepted, spoken, thinking))


class _Composer:
    """Composes one answer within the request's max_tokens."""

    def __init__(
        self,
        accepted: AcceptedRequest[Json],
        asked: ParsedQuestion,
        dial: DialDirective | None = None,
    ) -> None:
        self._accepted = accepted
        self._dial = dial
        self._asked = asked
        self._left = accepted.request.max_tokens
        self._parts: list[Part] = []
        self._thought = self._spoken = 0

    def reply(self, worked: Calculation | None, todo: list[Call]) -> Reply:
        self._think(worked, todo)
        if self._left == 0:
            return self._end("exhausted")
        if todo:
            return self._call(todo)
        return self._say(self._answer(worked))

    def _think(self, worked: Calculation | None, todo: list[Call]) -> None:
        key = f"{self._accepted.request.model}\0{self._asked.question}"
        tokens = bend_depth(depth(self._accepted), self._dial, key)
        if not tokens or self._left == 0:  # Anthropic: 0 fills the prompt cache and no more
            return
        if self._left is not None:
            tokens = min(tokens, self._left)
        tools = tuple(dict.fromkeys(name for name, _ in todo))
        text = thoughts(self._asked.question, worked=worked, tools=tools, tokens=tokens)
        # Thinking cut by the limit used all its tokens.
        self._thought = tokens if tokens == self._left else count_tokens(text)
        if self._left is not None:
            self._left -= self._thought
        hidden = self._asked.wants("redacted") or self._asked.wants("signature-only")
        self._parts.append(Thinking("" if hidden else text, redacted=self._asked.wants("redacted")))

    def _call(self, todo: list[Call]) -> Reply:
        made = [ToolCall("", name, arguments) for name, arguments in todo]
        self._spoken = sum(map(count_call, made))
        if self._left is not None and self._spoken > self._left:
            self._spoken = self._left
            return self._end("length")
        self._parts += made
        return self._end("tool_calls")

    def _say(self, answer: str) -> Reply:
        request = self._accepted.request
        found = [(answer.find(stop), stop) for stop in request.stop if stop in answer]
        stopped = min(found, default=None)
        text = answer if stopped is None else answer[: stopped[0]]
        cut = self._left is not None and count_tokens(text) > self._left
        if cut:
            text = clip(text, self._left or 0)
        self._spoken = count_tokens(text)
        if text:
            self._parts.append(Text(text))
        reply = self._end("length" if cut else "stop")
        if stopped is None or cut:
            return reply
        return msgspec.structs.replace(reply, extras={"stop_sequence": stopped[1]})

    def _end(self, finish: Finish) -> Reply:
        usage = _usage(self._accepted, self._spoken, self._thought)
        return Reply(Message("assistant", tuple(self._parts)), finish, usage)

    def _answer(self, worked: Calculation | None) -> str:
        plain = self._plain(worked)
        output = self._accepted.request.output
        schema = output.schema if output else None
        if schema is None:
            schema = find_prompted_schema(self._accepted.request)
        if schema is None and output is None and not asks_for_json(self._accepted.request):
            return plain
        if schema is None:
            return msgspec.json.encode({"answer": plain}).decode()
        result = worked.value if worked else None
        shaped = fill(schema, FillMaterial(self._asked.question, answer=plain, result=result))
        return msgspec.json.encode(shaped).decode()

    def _plain(self, worked: Calculation | None) -> str:
        asked = self._asked
        if asked.results:
            return _from_results(asked)
        if (missing := unmet(self._accepted.request.tools, asked)) is not None:
            return missing
        if worked is not None and worked.value is not None:
            return f"{worked.text} = {worked.value}"
        if worked is not None:
            return f"{worked.text} has no value I could give."
        uncalled = explain_uncalled(self._accepted.request.tools, asked)
        return uncalled or self._converse()

    def _converse(self) -> str:
        asked = self._asked
        if (known := _recall(asked, self._accepted.request)) is not None:
            return known
        if (words := _REPEAT.search(asked.question)) is not None:
            return words[1].strip().strip("\"'“”")
        if told := _TOLD.search(asked.question):
            return f"Noted: {told[1].strip()} is {told[2].strip()}."
        shown = find_showcase(asked.question)
        return shown or (f'You asked: "{asked.question}". {NO_ANSWER}')


def _from_results(asked: ParsedQuestion) -> str:
    named = {call.id: call for call in asked.calls}
    lines = []
    for result in asked.results:
        call = named.get(result.call_id)
        name = (call.name if call else None) or result.name or "the tool"
        values = call.arguments.values() if call and isinstance(call.arguments, dict) else ()
        about = ", ".join(value for value in values if isinstance(value, str))
        verb = "failed" if result.error else "says"
        where = f" ({about})" if about and len(about) <= 60 else ""
        lines.append(f"{name}{where} {verb}: {result_text(result)}")
    return "\n".join(lines)


def _recall(asked: ParsedQuestion, request: Request) -> str | None:
    wish = _RECALL.search(f"{asked.question}?")
    if wish is None:
        return None
    later = (each.text for each in request.messages if each.role == "system")
    told_before = (*(text.text for text in request.system), *later, *asked.earlier)
    for earlier in reversed(told_before):
        for told in _TOLD.finditer(earlier):
            if told[1].strip().lower() == wish[1].strip().lower():
                return f"{told[1].strip()} is {told[2].strip()}."
    return None


def _refuse(accepted: AcceptedRequest[Json], finish: Finish) -> Reply:
    parts = (Text(_REFUSAL),) if finish == "refusal" else ()
    usage = _usage(accepted, sum(count_tokens(part.text) for part in parts), 0)
    return Reply(Message("assistant", parts), finish, usage)


def _usage(accepted: AcceptedRequest[Json], spoken: int, thinking: int) -> Usage:
    given = tokens_of(accepted.request)
    return Usage(
        input=given, cache_read=0, output=spoken, thinking=thinking, total=given + spoken + thinking
    )

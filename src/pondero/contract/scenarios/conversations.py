"""Conversations: one question, several turns, roles, and thinking that goes back unchanged."""

from string import ascii_letters, digits

from ...canon import LevelUpdate, Message, Text, Thinking, ToolCall, ToolResult
from ...catalog import ModelEntry
from ...emulator import ScriptedTurn
from ..bench import ObservedExchange, Testbed
from ..scenario import Checks, optional, same, true
from ..wire import leaves, objects, says, strings
from .shared_checks import (
    ANSWER,
    CALL,
    COUNTS,
    QUESTION,
    RESULT,
    SPOKEN,
    SUM,
    THOUGHT,
    TOOL,
    WEATHER,
    check_answer,
    check_request,
    once,
    user,
)

_NAME = "My name is Ada."
_WHO = "What is my name?"
_SYSTEM = "Answer in one sentence."
_RULE = "The name of this service is Kumquat."
_WHICH = "What is the name of this service?"
_OPAQUE = 44  # characters without a space: not words
_PADDING = ascii_letters + digits  # OpenAI pads stream frames to one length (``obfuscation``)


def simple_text(bench: Testbed) -> Checks:
    """A plain question is answered: words, finish, counts and maker are as the wire has them."""
    bench.stage(SPOKEN)
    seen = bench.ask(QUESTION, stream=False)
    reply = seen.answer
    yield once(seen)
    yield from check_request(seen, ("user", QUESTION))
    yield same("status", 200, seen.exchange.head and seen.exchange.head.status)
    yield from check_answer(bench, seen, ANSWER)
    yield same("reply.finish", "stop", reply.finish)
    yield same("reply.message.role", "assistant", reply.message.role)
    yield same("reply.message.origin", bench.entry.id, _origin(reply.message))
    yield true("reply.usage.total", "a count", reply.usage.total, holds=bool(reply.usage.total))


def multi_turn(bench: Testbed) -> Checks:
    """The second turn brings the first along, in order, and is answered from it."""
    first = bench.ask(_NAME, stream=False)
    past = first.answer.message
    second = bench.ask([user(_NAME), past, user(_WHO)], stream=False)
    yield once(second)
    yield from check_request(second, ("user", _NAME), ("assistant", past.text), ("user", _WHO))
    yield from check_answer(bench, second)
    words = second.answer.text
    yield true("reply.text", "what was said in turn one", words, holds="Ada" in words)


def role_mapping(bench: Testbed) -> Checks:
    """System, user, assistant and tool result each arrive as what they are."""
    bench.stage(ScriptedTurn(tool_calls=(CALL,)), SPOKEN)
    question = user(WEATHER)
    first = bench.ask([question], "off", tools=[TOOL], system=_SYSTEM, stream=False)
    calls = first.answer.tool_calls
    yield true("reply.tool_calls", "a call", calls, holds=bool(calls))
    results = tuple(ToolResult(call.id, (Text(RESULT),), name=call.name) for call in calls)
    past = [question, first.answer.message, Message("user", results)]
    second = bench.ask(past, "off", tools=[TOOL], system=_SYSTEM, stream=False)
    yield once(second)
    for seen in (first, second):
        if seen.accepted is not None:
            system = "".join(text.text for text in seen.accepted.request.system)
            yield same("system prompt as the service reads it", _SYSTEM, system)
    if second.accepted is not None:
        read = second.accepted.request.messages
        yield same(
            "roles as the service reads them", ["user", "assistant", "user"], [m.role for m in read]
        )
        kinds = [type(part).__name__ for part in read[-1].parts]
        yield same("the last message as the service reads it", ["ToolResult"] * len(results), kinds)
        tool_results = [part for part in read[-1].parts if isinstance(part, ToolResult)]
        words = [
            "".join(t.text for t in each.content if isinstance(t, Text)) for each in tool_results
        ]
        yield same("results as the service reads them", [RESULT] * len(results), words)
    yield from check_answer(bench, second, ANSWER)


def system_prompt(bench: Testbed) -> Checks:
    """What a system prompt says is known to the model, whole and streamed."""
    for stream in (False, True):
        seen = bench.ask(_WHICH, "off", system=_RULE, stream=stream)
        yield once(seen)
        if seen.accepted is not None:
            read = [text.text for text in seen.accepted.request.system]
            yield same("system prompt as the service reads it", [_RULE], read)
        yield from check_answer(bench, seen)
        words = seen.answer.text
        yield true("reply.text", "what the system prompt says", words, holds="Kumquat" in words)


def model_echo(bench: Testbed) -> Checks:
    """The answer names the model that the wire names, else the one that was asked."""
    named = f"{bench.entry.model}-0815"
    bench.stage(ScriptedTurn(text=ANSWER, model=named))
    for stream in (False, True):
        seen = bench.ask(QUESTION, stream=stream)
        model = seen.answer.model
        if seen.accepted is not None:
            yield same(
                "model as the service reads it", bench.entry.model, seen.accepted.request.model
            )
        if model not in (None, bench.entry.model):
            yield true("reply.model", "as on the wire", model, holds=says(seen.body, model))
        if bench.is_staged and says(seen.body, named):
            yield same("reply.model", named, model)
        bench.stage(ScriptedTurn(text=ANSWER, model=named))


def thinking_replay(bench: Testbed) -> Checks:
    """What a service gave to be sent back goes back byte for byte, in a tool loop and after it."""
    for stream in (False, True):
        yield from _check_replay(bench, stream=stream)


def _check_replay(bench: Testbed, *, stream: bool) -> Checks:
    bench.stage(
        ScriptedTurn(thinking=THOUGHT, tool_calls=(CALL,), usage=COUNTS),
        ScriptedTurn(thinking=THOUGHT, text=ANSWER, usage=COUNTS),
        SPOKEN,
    )
    past: list[Message] = [user(WEATHER)]
    first = bench.ask(past, "medium", tools=[TOOL], stream=stream)
    calls = first.answer.tool_calls
    yield true("reply.tool_calls", "a call", calls, holds=bool(calls))
    past.append(first.answer.message)
    if bench.strict:
        yield from _check_stored(bench.entry, first)
    results = tuple(ToolResult(call.id, (Text(RESULT),), name=call.name) for call in calls)
    past.append(Message("user", results))
    second = bench.ask(past, "medium", tools=[TOOL], stream=stream)
    yield once(second)
    if bench.entry.capability.replay != "none":
        yield from _check_returned(bench.entry, past[1], second.sent)
    if second.accepted is not None:
        read = sum(_count_calls(message) for message in second.accepted.request.messages)
        yield same("calls as the service reads them", len(calls), read)
    if second.answer.tool_calls:
        return  # it calls again, so there is no next turn yet
    past += [second.answer.message, user(SUM)]
    third = bench.ask(past, "medium", tools=[TOOL], stream=stream)
    yield once(third)
    if bench.is_staged:
        yield from check_answer(bench, third, ANSWER)


def _check_stored(entry: ModelEntry, seen: ObservedExchange) -> Checks:
    """Check that every opaque value of the answer was stored, so that it can be sent back."""
    parts = seen.answer.message.parts
    signatures = [
        part.signature
        for part in parts
        if not isinstance(part, ToolResult | LevelUpdate) and part.signature
    ]
    stored = {text for signature in signatures for text in strings(signature.value)}
    for value in sorted(_opaque(seen.body)):
        holds = any(value in text for text in stored)
        yield true("seal", "what the service gave", value, holds=holds)
    if _must_go_back(entry):
        thought_of = any(isinstance(part, Thinking) for part in parts)
        yield true("parts", "what must go back", parts, holds=thought_of or bool(signatures))


def _opaque(body: bytes) -> set[str]:
    last = {path: text for each in objects(body) for path, text in leaves(each)}
    texts = (text for text in last.values() if isinstance(text, str))
    return {t for t in texts if len(t) >= _OPAQUE and " " not in t and t not in _PADDING}


def _check_returned(entry: ModelEntry, message: Message, sent: object) -> Checks:
    sent_texts = strings(sent)
    for part in message.parts:
        signature = getattr(part, "signature", None)
        values = sorted(strings(signature.value)) if signature is not None else []
        for value in values:
            sent_back = any(value in text for text in sent_texts)
            yield true("seal in the tool loop", "in the request", value, holds=sent_back)
        if not values and isinstance(part, Thinking) and _must_go_back(entry):
            sent_back = any(part.text in text for text in sent_texts)
            yield optional("thinking", "something to send it back by", part.text, holds=sent_back)


def _must_go_back(entry: ModelEntry) -> bool:
    facts = entry.capability
    return facts.shown != "never" and facts.replay in ("required", "tools")


def _count_calls(message: Message) -> int:
    return sum(isinstance(part, ToolCall) for part in message.parts)


def _origin(message: Message) -> str | None:
    origin = message.origin
    return f"{origin.provider}:{origin.model}" if origin else None

"""Tool calls: the declaration, the call, and its id."""

import re
from collections.abc import Sequence

from ...canon import Message, Text, ToolCall, ToolResult
from ...emulator import ScriptedTurn
from ..bench import ObservedExchange, Testbed
from ..scenario import Checks, note_unchecked, same, true
from ..wire import says
from .shared_checks import (
    ARGUMENTS,
    CALLED,
    RESULT,
    SPOKEN,
    TOOL,
    WEATHER,
    once,
    user,
)

_MINTED = re.compile(r"[A-Za-z0-9_-]{22}")
_UNNAMED = (
    ToolCall("", TOOL.name, ARGUMENTS, minted=True),
    ToolCall("", TOOL.name, {"city": "Rome"}, minted=True),
)


def tool_call(bench: Testbed) -> Checks:
    """A tool is offered as it was declared, and the call for it has its name and arguments."""
    bench.stage(CALLED)
    seen = bench.ask(WEATHER, "off", tools=[TOOL], stream=False)
    yield once(seen)
    yield from check_tool_declared(seen)
    yield from check_tool_call(seen)


def tool_call_id_generation(bench: Testbed) -> Checks:
    """A call keeps the id it came with. One without gets 22 characters."""
    needed = bench.wire.caller().replay_rules(bench.entry.quirks).minted
    for stream in (False, True):
        bench.stage(ScriptedTurn(parts=_UNNAMED), SPOKEN)
        first = bench.ask(WEATHER, "off", tools=[TOOL], stream=stream)
        calls = first.answer.tool_calls
        ids = [call.id for call in calls]
        yield true("reply.tool_calls", "a call", ids, holds=bool(ids))
        if not bench.stages and not any(call.minted for call in calls):
            yield note_unchecked("a call without an id, because this service gave one")
        if bench.is_staged:
            yield same("calls", [part.arguments for part in _UNNAMED], [c.arguments for c in calls])
        yield same("different ids", len(ids), len(set(ids)))
        yield from _check_ids(first, calls)
        results = tuple(ToolResult(id_, (Text(RESULT),), name=TOOL.name) for id_ in ids)
        past = [user(WEATHER), first.answer.message, Message("user", results)]
        second = bench.ask(past, "off", tools=[TOOL], stream=stream)
        yield once(second)
        for call in (each for each in calls if each.minted and not needed):
            sent = call.id.encode() in second.request.body
            yield true("minted id", "not sent", call.id, holds=not sent)
        if second.accepted is not None:
            has_ids = needed or not calls[0].minted
            yield from _check_pairs(second.accepted.request.messages, ids, has_ids=has_ids)


def _check_ids(seen: ObservedExchange, calls: Sequence[ToolCall]) -> Checks:
    for call in calls:
        if call.minted:
            good = _MINTED.fullmatch(call.id) is not None
            yield true("minted id", "22 characters of base64url", call.id, holds=good)
        known = bool(call.id) and says(seen.body, call.id) != call.minted
        yield true("id", "on the wire or minted", call.id, holds=known)


def _check_pairs(read: Sequence[Message], ids: list[str], *, has_ids: bool) -> Checks:
    parts = [part for message in read for part in message.parts]
    calls = [part.id for part in parts if isinstance(part, ToolCall)]
    results = [part.call_id for part in parts if isinstance(part, ToolResult)]
    yield same("calls as the service reads them", len(ids), len(calls))
    yield same("results as the service reads them", len(ids), len(results))
    if has_ids:
        yield same("the calls they are the results of", calls, results)
        # A service with its own alphabet gets changed ids: all of them or none.
        alike = calls == ids or not set(calls) & set(ids)
        yield true("ids as the service reads them", f"{ids}, or none of them", calls, holds=alike)


def check_tool_declared(seen: ObservedExchange) -> Checks:
    """Check that the service's side reads the tool as it was declared."""
    if seen.accepted is not None:
        tools = seen.accepted.request.tools
        yield same("tools as the service reads them", [TOOL.name], [tool.name for tool in tools])
        yield same("their parameters", [TOOL.parameters], [tool.parameters for tool in tools])


def check_tool_call(seen: ObservedExchange) -> Checks:
    """Check the one call of an answer: its name, its arguments, and how the answer ended."""
    reply = seen.answer
    calls = reply.tool_calls
    yield true("reply.tool_calls", "one call", calls, holds=len(calls) == 1)
    call = calls[0]
    yield same("call.name", TOOL.name, call.name)
    yield true("call.name", "as on the wire", call.name, holds=says(seen.body, call.name))
    yield true("call.arguments", f"{ARGUMENTS}", call.arguments, holds=call.arguments == ARGUMENTS)
    yield true("call.id", "an id", call.id, holds=bool(call.id))
    yield same("reply.finish", "tool_calls", reply.finish)

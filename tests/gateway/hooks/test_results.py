"""What hooks return for answers: a wrong result is the failure of the hook, whatever it is."""

import asyncio
import time
from typing import Any, NoReturn

import msgspec
import pytest
from msgspec.structs import replace
from tests.gateway.hooks.gates import FRONTS, Gate, Through

import pondero
from pondero.canon import (
    Finished,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Request,
    Text,
    TextDelta,
    ToolCall,
    ToolDelta,
    Usage,
    UsageUpdate,
)
from pondero.gateway import Hook, HookCall, Reject
from pondero.gateway.config.model import HookConfig
from pondero.gateway.hooks import results
from pondero.gateway.hooks.results import LONGEST_MESSAGE, MOST_EVENTS
from pondero.gateway.hooks.shown_parts import ShownParts

QUESTION = "What is 17 * 23?"
ANSWER = "17 * 23 = 391"


def _hook(name: str, **settings) -> HookConfig:
    return HookConfig(use=f"{__name__}:{name}", name=name.lower(), **settings)


def _ask(gate: Gate, **fields):
    said = [{"role": "user", "content": QUESTION}]
    body = {"model": "claude-opus-5", "max_tokens": 32_000, "messages": said, **fields}
    return gate.post("/v1/messages", body)


def _send(gate: Gate, front: str, *, stream: bool = False) -> Reply:
    async def ask() -> Reply:
        retry = pondero.Retry(attempts=1)
        async with pondero.AsyncClient(transport=Through(gate.app), retry=retry) as client:
            if not stream:
                return await client.ask(FRONTS[front], QUESTION)
            async with client.stream(FRONTS[front], QUESTION) as turn:
                async for _ in turn:
                    pass
            return turn.reply

    return asyncio.run(ask())


class Slow(list):
    def __iter__(self):
        time.sleep(2)
        return super().__iter__()


def _raise_exit(_: object) -> NoReturn:
    raise SystemExit


Hostile = type("Hostile", (), {"__class__": property(_raise_exit)})


def _yield(*events):
    time.sleep(0.5)
    yield from events


async def _yield_later(*events):
    for each in events:
        yield each


def _end(event, *more):
    return [*more, event] if isinstance(event, Finished) else [event]


EVENTS = {
    "a number": lambda event: 5,
    "a text": lambda event: "abc",
    "one event": lambda event: event,
    "objects": lambda event: [object()],
    "a generator": _yield,
    "an async generator": _yield_later,
    "a set": lambda event: {1},
    "a number as text": lambda event: [TextDelta(0, 5)],  # type: ignore[arg-type]  # a mistake
    "a half of a letter": lambda event: [
        TextDelta(event.index, "\ud800") if isinstance(event, TextDelta) else event
    ],
}
EVENTS |= {
    "too many": lambda event: [event] * (MOST_EVENTS + 1),
    "a list of another class": lambda event: Slow([event]),
}
CHANGED = {
    "no end": lambda event: [] if isinstance(event, Finished) else [event],
    "two ends": lambda event: [event, event] if isinstance(event, Finished) else [event],
    "an early end": lambda event: [Finished("stop"), event],
    "words after the end": lambda event: (
        [event, TextDelta(1, "b")] if isinstance(event, Finished) else [event]
    ),
    "a delta of no part": lambda event: _end(event, TextDelta(77, "b")),
}


class Returns(Hook):
    """Sees answers alone."""

    def __init__(self, settings) -> None:
        self._made = {**EVENTS, **CHANGED}[settings["name"]]

    def on_event(self, call: HookCall, event, /):
        return self._made(event)


class Changes(Returns):
    changes_answers = True


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("hook", ["Returns", "Changes"])
@pytest.mark.parametrize("name", EVENTS)
def test_a_wrong_result_for_an_event_is_a_failure(name, hook, stream, caplog):
    gate = Gate(_hook(hook, settings={"name": name}, seconds=10))
    begun = time.monotonic()

    answer = _ask(gate, stream=stream)

    assert time.monotonic() - begun < 5
    assert answer.status == 503 or b"event: error" in answer.body
    assert f"the hook '{hook.lower()}' returned".encode() in answer.body
    assert b"message_stop" not in answer.body
    assert f"the hook '{hook.lower()}' returned" in caplog.text
    assert [each.end for each in gate.receipts] == ["failed"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", CHANGED)
def test_an_answer_keeps_its_end_and_its_parts(name, stream):
    gate = Gate(_hook("Changes", settings={"name": name}))

    answer = _ask(gate, stream=stream)

    assert b"the hook 'changes' returned" in answer.body
    assert b"message_stop" not in answer.body
    assert [each.end for each in gate.receipts] == ["failed"]


REPLIES = {
    "a number": lambda reply: 5,
    "true": lambda reply: True,
    "a text": lambda reply: reply.text,
    "a message": lambda reply: reply.message,
    "a Reply of nothing": lambda reply: Reply(None, "stop"),  # type: ignore[arg-type]  # a mistake
    "a Reply without an end": lambda reply: replace(reply, finish="whenever"),
    "a Reply of bytes": lambda reply: replace(reply, message=Message("user", (Text(b"a"),))),  # type: ignore[arg-type]  # a mistake
    "no counts": lambda reply: replace(reply, usage=None),
}


class ReturnsReply(Hook):
    def __init__(self, settings) -> None:
        self._made = REPLIES[settings["name"]]

    def on_reply(self, call: HookCall, reply, /):
        return self._made(reply)


class ChangesReply(ReturnsReply):
    changes_answers = True


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("hook", ["ReturnsReply", "ChangesReply"])
@pytest.mark.parametrize("name", REPLIES)
def test_a_wrong_result_for_an_answer_is_a_failure(name, hook, stream):
    gate = Gate(_hook(hook, settings={"name": name}))

    answer = _ask(gate, stream=stream)

    assert f"the hook '{hook.lower()}' returned".encode() in answer.body
    assert b"message_stop" not in answer.body
    assert [each.end for each in gate.receipts] == ["failed"]


class ReturnsHostile(Hook):
    def on_reply(self, call: HookCall, reply, /):
        return Hostile()


@pytest.mark.parametrize("stream", [False, True])
def test_a_result_that_runs_code_is_a_failure(stream, caplog):
    gate = Gate(_hook("ReturnsHostile"))

    _ask(gate, stream=stream)

    assert "the hook 'returnshostile' failed: SystemExit" in caplog.text
    assert [each.end for each in gate.receipts] == ["failed"]


class Redact(Hook):
    """Changes the deltas, and forgets that the end of a part has its text too."""

    changes_answers = True

    def on_event(self, call: HookCall, event, /) -> list | None:
        if isinstance(event, TextDelta):
            return [replace(event, text="#" * len(event.text))]
        return None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("front", FRONTS)
def test_a_part_ends_as_its_deltas_were_shown(front, stream):
    gate = Gate(_hook("Redact"))

    reply = _send(gate, front, stream=stream)

    assert reply.text == "#" * len(ANSWER)


def test_a_stored_answer_is_the_one_that_was_shown():
    gate = Gate(_hook("Redact"), to="openai:gpt-5.5")
    body = {"model": "m", "input": QUESTION, "stream": True}
    answer = gate.post("/v1/responses", body)
    assert answer.status == 200
    assert ANSWER.encode() not in answer.body
    assert b"#" * len(ANSWER) in answer.body


def test_the_text_of_a_tool_call_stays_text_if_a_hook_changes_its_deltas():
    shown = ShownParts()
    call = ToolCall("1", "shell", '{"a": 1}')
    shown.feed(PartStart(0, "tool_call", "1", "shell"), None)
    shown.feed(ToolDelta(0, '{"a": 1}'), [ToolDelta(0, '{"a": 2}')])

    assert shown.feed(PartEnd(0, call), None) == [PartEnd(0, replace(call, arguments='{"a": 2}'))]


WRONG = Usage(input=-1, output=0, total=-1)


class Counts(Hook):
    """Writes counts of its own at every place for them, and more of them."""

    changes_answers = True

    def on_event(self, call: HookCall, event, /) -> list:
        if isinstance(event, Finished | UsageUpdate):
            event = replace(event, usage=WRONG)
        return [UsageUpdate(WRONG), event]


class CountsAtTheEnd(Hook):
    changes_answers = True

    def on_reply(self, call: HookCall, reply, /) -> Reply:
        return replace(reply, usage=WRONG)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("hook", ["Counts", "CountsAtTheEnd"])
@pytest.mark.parametrize("front", FRONTS)
def test_a_hook_changes_no_count_of_tokens(front, hook, stream):
    gate = Gate(_hook(hook))

    reply = _send(gate, front, stream=stream)

    assert reply.text == ANSWER
    assert reply.usage == _send(Gate(), front, stream=stream).usage
    assert [each.end for each in gate.receipts] == ["done"]


class Ends(Hook):
    """Changes what the end of an answer says besides its words."""

    changes_answers = True

    def on_event(self, call: HookCall, event, /) -> list | None:
        if isinstance(event, Finished):
            return [replace(event, raw_finish="stop_sequence", extras={"stop_sequence": "mine"})]
        return None


class EndsReply(Hook):
    changes_answers = True

    def on_reply(self, call: HookCall, reply, /) -> Reply:
        return replace(reply, raw_finish="stop_sequence", extras={"stop_sequence": "mine"})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("hook", ["Ends", "EndsReply"])
def test_the_end_of_an_answer_says_what_a_hook_makes_of_it(hook, stream):
    answer = _ask(Gate(_hook(hook)), stream=stream)
    assert b'"stop_sequence":"mine"' in answer.body


class Inserts(Hook):
    """Changes the end of a part as well: that is what it wants."""

    changes_answers = True

    def on_event(self, call: HookCall, event, /) -> list | None:
        match event:
            case TextDelta():
                return []
            case PartEnd(index, Text()):
                return [TextDelta(index, "my own"), PartEnd(index, Text("my own"))]
            case Finished():
                part = Text("more")
                return [PartStart(99, "text"), TextDelta(99, "more"), PartEnd(99, part), event]
        return None


@pytest.mark.parametrize("stream", [False, True])
def test_a_hook_writes_parts_of_its_own(stream):
    answer = _ask(Gate(_hook("Inserts")), stream=stream)
    assert b"my own" in answer.body
    assert b"more" in answer.body
    assert ANSWER.encode() not in answer.body


class Says(Hook):
    def __init__(self, settings) -> None:
        self._message = MESSAGES[settings["name"]]

    def on_request(self, call: HookCall, /) -> Reject:
        return Reject(self._message, 451)


MESSAGES: dict[str, Any] = {
    "half a letter": "no \ud800 here",
    "lines": "a\r\nset-cookie: x=1\r\n\u2028",
    "long": "x" * 5_000_000,
    "bytes": b"\xff\xfe",
    "nothing": None,
}


@pytest.mark.parametrize("name", MESSAGES)
def test_any_rejection_is_written(name):
    gate = Gate(_hook("Says", settings={"name": name}))

    answer = _ask(gate)

    is_text = isinstance(MESSAGES[name], str)
    assert answer.status == (451 if is_text else 503)
    assert len(answer.body) < 2 * LONGEST_MESSAGE
    assert "set-cookie" not in answer.headers
    assert [each.status for each in gate.receipts] == [answer.status]


class Large(Hook):
    """Returns texts of more than a mebibyte, in a place."""

    changes_answers = True

    def __init__(self, settings) -> None:
        self._place = settings["place"]
        self._text = "long " * (1 << 18)

    def on_request(self, call: HookCall, /) -> Request | Reply | None:
        if self._place == "answer":
            return Reply(Message("assistant", (Text(self._text),)), "stop")
        if self._place == "request":
            said = Message("user", (Text(self._text),))
            return replace(call.request, messages=(*call.request.messages, said))
        return None

    def on_event(self, call: HookCall, event, /) -> list | None:
        if self._place == "events" and isinstance(event, TextDelta):
            return [replace(event, text=self._text[: 1 << 19])] * 3
        return None


@pytest.mark.parametrize("place", ["answer", "request", "events"])
def test_a_result_that_is_too_large_is_a_failure(place, monkeypatch, caplog):
    gate = Gate(_hook("Large", settings={"place": place}, seconds=10))
    assert _ask(gate, stream=place == "events").status == 200

    monkeypatch.setattr(results, "LARGEST_RESULT", 1 << 20)
    answer = _ask(gate)

    assert answer.status == 503
    assert len(answer.body) < 1_000
    assert "returned more than 1 MiB" in caplog.text


WORDS_OF_THE_GATEWAY = {
    "verdict": object(),
    "plan": object(),
    "bill": object(),
    "cap": object(),
    "request_id": object(),
    "kind": object(),
}


class Answers(Hook):
    def on_request(self, call: HookCall, /) -> Reply | None:
        said = Reply(Message("assistant", (Text("cached"),)), "stop")
        return replace(said, **WORDS_OF_THE_GATEWAY) if "cached" in repr(call.request) else None


def test_an_answer_of_a_hook_says_nothing_in_the_gateways_name():
    gate = Gate(_hook("Answers"))
    said = [{"role": "user", "content": "cached?"}]

    answer = _ask(gate, messages=said)

    assert answer.status == 200
    assert b"cached" in answer.body
    assert [each.verdict for each in gate.receipts] == ["unknown"]
    assert msgspec.json.encode(gate.receipts)

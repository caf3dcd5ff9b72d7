"""Hooks in order, what each may change, and what a slow or failing one does."""

import asyncio
import json
import logging
import threading
import time
from typing import ClassVar

import pytest
from msgspec.structs import replace
from tests.gateway.hooks.gates import FRONTS, Gate, Through
from tests.gateway.recorder import Recorder
from tests.gateway.upstream import BACKS

import pondero
from pondero.canon import Finished, HttpRequest, Message, Reply, Request, Text, TextDelta, Thinking
from pondero.gateway import Hook, HookCall, Reject
from pondero.gateway.config.model import HookConfig

HERE = __name__
QUESTION = "What is 17 * 23?"


def _hook(name: str, **settings) -> HookConfig:
    return HookConfig(use=f"{HERE}:{name}", name=name.lower(), **settings)


def _ask(gate: Gate, text: str = QUESTION, **fields):
    body = {
        "model": "claude-opus-5",
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": text}],
        **fields,
    }
    sent = {"content-type": "application/json", "host": "127.0.0.1"}
    url = "http://127.0.0.1/v1/messages"
    return gate.ask(HttpRequest("POST", url, sent, json.dumps(body).encode()))


def _message(answer) -> str:
    return json.loads(answer.body)["error"]["message"]


SEEN: list[str] = []


@pytest.fixture(autouse=True)
def _empty():
    SEEN.clear()
    _LET_GO.clear()


class Outer(Hook):
    changes_answers = True
    mark: ClassVar[str] = "outer"

    def on_request(self, call: HookCall, /) -> Request:
        SEEN.append(f"{self.mark} asks {call.request.messages[-1].text}")
        (*before, last) = call.request.messages
        told = Message("user", (Text(f"{last.text} {self.mark}"),))
        return replace(call.request, messages=(*before, told))

    async def on_reply(self, call: HookCall, reply: Reply, /) -> Reply:
        SEEN.append(f"{self.mark} answers")
        parts = (*reply.message.parts, Text(f"({self.mark})"))
        return replace(reply, message=replace(reply.message, parts=parts))


class Inner(Outer):
    mark = "inner"


@pytest.mark.parametrize("stream", [False, True])
def test_requests_pass_in_order_and_answers_in_reverse_order(stream):
    gate = Gate(_hook("Outer"), _hook("Inner"))

    answer = _ask(gate, "a", stream=stream)

    assert SEEN == ["outer asks a", "inner asks a outer", "inner answers", "outer answers"]
    assert b"a outer inner" in gate.upstream.requests[0]
    assert answer.body.index(b"(inner)") < answer.body.index(b"(outer)")


class Refuser(Hook):
    def on_request(self, call: HookCall, /) -> Reject:
        return Reject("not today", 451)


class Censor(Hook):
    def on_event(self, call: HookCall, event, /) -> Reject | None:
        return Reject("that is secret", 422) if isinstance(event, Finished) else None


@pytest.mark.parametrize("front", FRONTS)
def test_a_rejection_is_written_in_the_format_of_every_api(front):
    gate = Gate(_hook("Refuser"))

    with pytest.raises(pondero.ServiceError) as told:
        asyncio.run(_send(gate, front))

    assert told.value.status == 451
    assert "not today" in str(told.value)
    assert not gate.upstream.requests
    (receipt,) = gate.receipts
    assert (receipt.end, receipt.reason) == ("refused", "rejected by the hook refuser: not today")


def test_a_rejection_names_its_hook_in_a_header():
    answer = _ask(Gate(_hook("Refuser")))

    assert (answer.status, answer.headers["x-pondero-hook"]) == (451, "refuser")


async def _send(gate: Gate, front: str) -> Reply:
    client = pondero.AsyncClient(transport=Through(gate.app), retry=pondero.Retry(attempts=1))
    async with client:
        return await client.ask(FRONTS[front], QUESTION)


def test_an_answer_can_be_rejected_at_its_end_and_is_counted():
    gate = Gate(_hook("Censor"))

    whole, stream = _ask(gate), _ask(gate, stream=True)

    assert whole.status == 422
    assert _message(whole) == "that is secret"
    assert stream.status == 200
    assert b"event: error" in stream.body
    assert b"that is secret" in stream.body
    assert b"message_stop" not in stream.body
    assert all(each.usage.output and each.end == "failed" for each in gate.receipts)
    assert len(gate.upstream.requests) == 2  # no other model is asked


class Own(Hook):
    def on_request(self, call: HookCall, /) -> Reply:
        signature = pondero.Signature("anthropic", "forged")
        return Reply(Message("assistant", (Thinking("hm", signature), Text("my own"))), "stop")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("front", FRONTS)
def test_a_hook_answers_every_api_itself_without_thinking_that_nobody_signed(front, stream):
    gate = Gate(_hook("Own"), to=BACKS["deepseek"])

    async def ask() -> Reply:
        async with pondero.AsyncClient(transport=Through(gate.app)) as client:
            if not stream:
                return await client.ask(FRONTS[front], QUESTION)
            async with client.stream(FRONTS[front], QUESTION) as turn:
                async for _ in turn:
                    pass
            return turn.reply

    reply = asyncio.run(ask())

    assert (reply.text, reply.thinking, reply.finish) == ("my own", "", "stop")
    assert not gate.upstream.requests
    (receipt,) = gate.receipts
    assert (receipt.status, receipt.road, receipt.tries) == (200, "hook", 0)
    assert receipt.reason == "answered by the hook own"


class Model(Hook):
    def on_request(self, call: HookCall, /) -> Request:
        return replace(call.request, model="claude-haiku-4-5")


class Odd(Hook):
    def on_request(self, call: HookCall, /) -> str:  # type: ignore[override]  # a mistake of the operator
        return "no"


class Broken(Hook):
    def on_request(self, call: HookCall, /) -> None:
        message = f"cannot read {call.request.messages[0].text}"
        raise KeyError(message)


class Hanging(Hook):
    async def on_request(self, call: HookCall, /) -> None:
        await asyncio.Event().wait()


_LET_GO = threading.Event()


class Stuck(Hook):
    def on_request(self, call: HookCall, /) -> None:
        _LET_GO.wait(60)


class Blocking(Hook):
    async def on_request(self, call: HookCall, /) -> None:
        time.sleep(0.2)  # noqa: ASYNC251 - what the gateway cannot interrupt


FAILING = {
    "Model": "changed model, which no hook may",
    "Odd": "returned a str",
    "Broken": "failed: KeyError in line",
    "Hanging": "took longer than 0.1 s",
    "Stuck": "took longer than 0.1 s",
    "Blocking": "held up all other requests",
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failing_or_slow_hook_rejects_the_request_and_says_so(name, caplog):
    gate = Gate(_hook(name, seconds=0.1))
    with caplog.at_level(logging.ERROR):
        answer = _ask(gate, "my secret")
    _LET_GO.set()

    assert answer.status == 503
    assert FAILING[name] in _message(answer)
    assert FAILING[name] in caplog.text
    assert "my secret" not in caplog.text + _message(answer)
    assert FAILING[name] in (gate.receipts[0].reason or "")
    assert not gate.upstream.requests


FIXED = {
    "model": "claude-haiku-4-5",
    "tool_choice": pondero.ToolChoice("none"),
    "max_tokens": 64_000,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "stream": True,
}
"""The fields of a request that no hook may change, each with another value."""


class Changer(Hook):
    def __init__(self, settings) -> None:
        self._name = settings["name"]

    def on_request(self, call: HookCall, /) -> Request:
        return replace(call.request, **{self._name: FIXED[self._name]})


@pytest.mark.parametrize("name", FIXED)
def test_a_hook_changes_neither_the_model_nor_a_limit(name):
    gate = Gate(_hook("Changer", settings={"name": name}))

    answer = _ask(gate)

    assert answer.status == 503
    assert f"changed {name}, which no hook may" in _message(answer)
    assert not gate.upstream.requests


class Deep(Hook):
    def on_request(self, call: HookCall, /) -> Request:
        told = {"metadata": {"user_id": "u"}, "output_config": {"effort": "max"}}
        return replace(call.request, extras=told)


def test_a_level_that_a_hook_writes_into_further_fields_is_not_sent():
    gate = Gate(_hook("Deep"))

    _ask(gate, thinking={"type": "adaptive"}, output_config={"effort": "low"})

    sent = json.loads(gate.upstream.requests[0])
    assert sent["metadata"] == {"user_id": "u"}
    assert sent["output_config"] == {"effort": "low"}


@pytest.mark.parametrize("name", FAILING)
def test_a_hook_that_may_be_skipped_is_and_the_answer_says_so(name):
    gate = Gate(_hook(name, seconds=0.1, on_failure="skip"))
    answer = _ask(gate)
    _LET_GO.set()

    assert answer.status == 200
    assert answer.headers["x-pondero-adjustments"] == f"hook_failed:{name.lower()}"
    assert gate.receipts[0].adjustments == ("hook_failed",)


def test_a_hook_that_keeps_failing_is_paused_so_that_no_request_waits():
    gate = Gate(_hook("Hanging", seconds=0.01))

    answers = [_ask(gate) for _ in range(6)]

    assert "took longer" in _message(answers[4])
    assert "is paused after failures" in _message(answers[5])


class Half(Hook):
    """Holds text back and then fails."""

    changes_answers = True

    def on_event(self, call: HookCall, event, /) -> list:
        if isinstance(event, TextDelta):
            return []
        if isinstance(event, Finished):
            message = "its end"
            raise TypeError(message)
        return [event]


def test_an_answer_that_a_hook_changes_is_never_shown_without_it():
    gate = Gate(_hook("Half", on_failure="skip"))

    assert _ask(gate).status == 503
    assert b"event: error" in _ask(gate, stream=True).body


class Watcher(Hook):
    """Sees answers, and fails at their end."""

    def on_event(self, call: HookCall, event, /) -> list:
        SEEN.append(type(event).__name__)
        return []  # not used, because it changes nothing

    def on_reply(self, call: HookCall, reply: Reply, /) -> None:
        SEEN.append(reply.text)
        raise RuntimeError


@pytest.mark.parametrize("stream", [False, True])
def test_a_hook_that_only_looks_leaves_the_bytes_of_the_answer_alone(stream):
    gate, plain = Gate(_hook("Watcher", on_failure="skip")), Gate()

    answer, same = _ask(gate, stream=stream), _ask(plain, stream=stream)

    assert answer.status == 200
    assert gate.receipts[0].road == plain.receipts[0].road == "passed"
    assert len(answer.body) == len(same.body)
    assert "17 * 23 = 391" in SEEN
    assert gate.receipts[0].adjustments == ("hook_failed",)


def test_several_answers_and_log_probabilities_do_not_pass_a_hook_unseen():
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "a"}]}
    sent = {"content-type": "application/json", "host": "127.0.0.1"}
    url = "http://127.0.0.1/v1/chat/completions"
    told = {
        "Watcher": ({"n": 2}, "one answer at a time"),
        "Outer": ({"logprobs": True}, "without log probabilities"),
    }
    for name, (fields, words) in told.items():
        gate = Gate(_hook(name), to="openai-chat:gpt-4.1")
        answer = gate.ask(HttpRequest("POST", url, sent, json.dumps({**body, **fields}).encode()))
        assert answer.status == 400
        assert words in _message(answer)
        assert not gate.upstream.requests


def test_a_hook_is_for_its_routes_and_keys_alone():
    gate = Gate(_hook("Refuser", routes=("opus",)), _hook("Own", keys=("ci-*",)))

    assert _ask(gate).status == 200
    assert len(gate.upstream.requests) == 1
    assert Gate(_hook("Refuser", routes=("[*]",), keys=("local*",))).context.hooks


class Notes(Hook):
    changes_answers = True

    def on_request(self, call: HookCall, /) -> None:
        call.notes["seen"] = ["asked"]

    def on_event(self, call: HookCall, event, /) -> list:
        call.notes["seen"] = [*call.notes["seen"], type(event).__name__]
        if isinstance(event, Finished):
            SEEN.append(call.notes["seen"][0])
            assert call.notes["seen"].count("Finished") == 1
        return [event]


def test_every_attempt_begins_with_the_notes_of_the_request():
    gate = Gate(_hook("Notes"))

    assert _ask(gate, stream=True).status == 200
    assert _ask(gate).status == 200
    assert SEEN == ["asked", "asked"]


def test_a_prompt_that_is_counted_passes_the_hooks_too():
    gate, service = Gate(_hook("Outer")), Recorder()
    gate.context.transport = service
    body = {"model": "claude-opus-5", "messages": [{"role": "user", "content": "a"}]}
    sent = {"content-type": "application/json", "host": "127.0.0.1"}
    url = "http://127.0.0.1/v1/messages/count_tokens"

    answer = gate.ask(HttpRequest("POST", url, sent, json.dumps(body).encode()))

    assert answer.status == 200
    assert b"a outer" in service.bodies[0]


def test_without_hooks_nothing_of_them_is_run(monkeypatch):
    monkeypatch.setattr("pondero.gateway.requests.lookup.show_to_hooks", None)
    assert _ask(Gate()).status == 200

"""A level that a stored conversation set for itself does not cross the rules of a later request."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.quotas.quota import find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MODEL = "openai:gpt-6-astra"
CLAUDE = "anthropic:claude-opus-5"
USER = {"role": "user", "content": "Hi"}
ANSWER = {
    "id": "resp_1",
    "object": "response",
    "model": "gpt-6-astra",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [{"type": "text", "text": "Hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-providers-key-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-providers-key-0123456789")


def update(effort: str) -> dict[str, Any]:
    return {"type": "configuration_update", "reasoning": {"effort": effort}}


class World:
    """A gateway with a free route and one with a cap, to the same model."""

    def __init__(
        self, *keys: GatewayKey, model: str = MODEL, rules: LevelRules | None = None
    ) -> None:
        answer = MESSAGE if model == CLAUDE else ANSWER
        self.service = Canned([json.dumps(answer).encode()], content_type="application/json")
        self._path = "/v1/messages" if model == CLAUDE else "/v1/responses"
        routes = (
            GatewayRoute(match="free", to=(model,), retries=0),
            GatewayRoute(
                match="capped", to=(model,), thinking=rules or LevelRules(cap="low"), retries=0
            ),
        )
        self.context = GatewayContext(GatewayConfig(routes=routes, keys=keys), self.service)
        self.app = App(self.context)

    async def ask(self, model: str, *, level: str | None = None, **fields: Any) -> Came:
        body = {"model": model, **fields}
        headers = {"content-type": "application/json", "authorization": "Bearer kk"}
        headers |= {"x-pondero-thinking": level} if level else {}
        url = f"http://gate{self._path}"
        return await came(self.app, HttpRequest("POST", url, headers, json.dumps(body).encode()))


KEYS = {
    "none": (),
    "key": (GatewayKey("k", hash_key("kk")),),
    "account": (GatewayKey("k", hash_key("kk"), account_state=True),),
}


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("between", [False, True], ids=["next", "later"])
def test_a_higher_level_is_refused_until_a_turn_replaces_it(keys, between):
    async def run() -> None:
        world = World(*KEYS[keys])
        await world.ask("free", input=[USER, update("max"), USER])
        if between:  # the level stays until it is replaced
            await world.ask("free", previous_response_id="resp_1", input="Go on.")
        before = len(world.service.requests)
        answer = await world.ask("capped", previous_response_id="resp_1", input="Go on.")
        assert answer.status == 403, answer.body
        assert b"max" in answer.body
        assert len(world.service.requests) == before
        more = [update("max"), USER]
        answer = await world.ask("capped", previous_response_id="resp_1", input=more)
        assert answer.status == 200, answer.body
        assert json.loads(world.service.requests[-1])["input"][0] == update("low")

    anyio.run(run)


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("first", [[USER], [USER, update("low"), USER]], ids=["unset", "low"])
def test_what_the_rules_allow_goes_on(keys, first):
    async def run() -> None:
        world = World(*KEYS[keys])
        await world.ask("free", input=first)
        answer = await world.ask("capped", previous_response_id="resp_1", input="Go on.")
        assert answer.status == 200, answer.body
        assert "sent=low" in answer.headers["x-pondero-thinking"]

    anyio.run(run)


def test_a_lower_level_does_not_evade_a_floor():
    async def run() -> None:
        world = World(rules=LevelRules(floor="high"))
        await world.ask("free", input=[USER, update("low"), USER])
        answer = await world.ask("capped", previous_response_id="resp_1", input="Go on.")
        assert answer.status == 403, answer.body

    anyio.run(run)


@pytest.mark.parametrize("keys", ["none", "account"])
@pytest.mark.parametrize(
    "named",
    [
        {"previous_response_id": "resp_unseen", "input": "Go on."},
        {"conversation": "conv_1", "input": "Go on."},
        {"input": [{"type": "item_reference", "id": "cu_1"}, USER]},
        {"prompt": {"id": "pmpt_1"}},
    ],
    ids=["response", "conversation", "item", "prompt"],
)
def test_a_conversation_that_nobody_saw_is_refused_under_rules_alone(keys, named):
    async def run() -> None:
        world = World(*KEYS[keys])
        answer = await world.ask("capped", **named)
        assert answer.status == 403, answer.body
        assert world.service.requests == []
        answer = await world.ask("free", **named)
        assert answer.status == 200, answer.body

    anyio.run(run)


@pytest.mark.parametrize("keys", ["none", "account"])
@pytest.mark.parametrize(
    "named", [{"previous_response_id": "resp_unseen"}, {"conversation": "conv_1"}]
)
def test_an_answer_to_a_conversation_that_nobody_saw_is_not_better_known(keys, named):
    async def run() -> None:
        world = World(*KEYS[keys])
        await world.ask("free", input="Go on.", **named)
        before = len(world.service.requests)
        answer = await world.ask("capped", previous_response_id="resp_1", input="Go on.")
        assert answer.status == 403, answer.body
        assert len(world.service.requests) == before
        await world.ask("free", previous_response_id="resp_1", input=[update("low"), USER])
        answer = await world.ask("capped", previous_response_id="resp_1", input="Go on.")
        assert answer.status == 200, answer.body

    anyio.run(run)


def test_an_item_of_an_answer_sets_no_level():
    async def run() -> None:
        world = World(*KEYS["account"])
        await world.ask("free", input=[USER, update("max"), USER])
        items = [{"type": "item_reference", "id": "msg_1"}, USER]
        answer = await world.ask("capped", input=items)
        assert answer.status == 200, answer.body

    anyio.run(run)


def test_a_thread_of_messages_keeps_its_level():
    async def run() -> None:
        world = World(*KEYS["key"], model=CLAUDE)
        turn = {"role": "system", "content": [], "output_config": {"effort": "max"}}
        usual: dict[str, Any] = {"max_tokens": 9000, "thinking": {"type": "adaptive"}}
        thread: dict[str, Any] = {"thread": {"type": "create"}}
        first = await world.ask("free", messages=[USER, turn], **thread, **usual)
        assert first.status == 200, first.body
        later: dict[str, Any] = {"thread": {"type": "continue", "previous_message_id": "msg_1"}}
        answer = await world.ask("capped", messages=[USER], **later, **usual)
        assert answer.status == 403, answer.body
        answer = await world.ask("free", messages=[USER], **later, **usual)
        assert answer.status == 200, answer.body

    anyio.run(run)


# -- levels that the gateway itself put into a conversation ----------------------------------------

SAID = {"role": "assistant", "content": "Hi"}


def read_last_update(body: bytes) -> str | None:
    """Return the level that the last turn of a request sets; None if no turn sets one."""
    turns = json.loads(body)["input"]
    said = [turn["reasoning"]["effort"] for turn in turns if "reasoning" in turn]
    return said[-1] if said else None


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("turns", ["Go on.", [USER]], ids=["text", "turns"])
@pytest.mark.parametrize(("level", "sent"), [("low", "low"), (None, "medium"), ("none", "none")])
def test_a_level_of_ours_ends_when_the_client_asks_for_another(keys, turns, level, sent):
    async def run() -> None:
        world = World(*KEYS[keys], model="openai:gpt-6-sol")
        await world.ask("free", input=[USER], reasoning={"effort": "low"})
        await world.ask("free", input=[USER, SAID, USER], reasoning={"effort": "high"})
        assert read_last_update(world.service.requests[-1]) == "high"
        asked: dict[str, Any] = {"reasoning": {"effort": level}} if level else {}
        before: dict[str, Any] = {"previous_response_id": "resp_1"}
        answer = await world.ask("free", input=turns, **before, **asked)
        assert answer.status == 200, answer.body
        assert read_last_update(world.service.requests[-1]) == sent
        assert "why=in_band" in answer.headers["x-pondero-thinking"]
        # The same level again: the stored conversation has it already.
        await world.ask("free", input=[USER], **before, **asked)
        assert read_last_update(world.service.requests[-1]) is None

    anyio.run(run)


def test_a_level_that_the_client_set_inside_stays_its_own_affair():
    async def run() -> None:
        world = World(*KEYS["key"])
        low: dict[str, Any] = {"reasoning": {"effort": "low"}}
        await world.ask("free", input=[USER, update("high")], **low)
        await world.ask("free", input=[USER], previous_response_id="resp_1", **low)
        assert json.loads(world.service.requests[-1])["input"] == [USER]

    anyio.run(run)


@pytest.mark.parametrize("known", [True, False])
def test_a_level_in_a_stored_conversation_reserves_thinking_although_the_request_says_off(known):
    """The service thinks as the conversation says, whatever the request asks for."""
    most = 6000
    off: dict[str, Any] = {"reasoning": {"effort": "none"}, "max_output_tokens": most}
    key = GatewayKey(
        "k", hash_key("kk"), budget=SpendBudget(thinking_tokens=4 * most), account_state=True
    )
    reserved: list[int] = []

    async def run() -> None:
        world = World(key, model="openai:gpt-6-sol")

        async def note_reserved() -> None:
            reserved.extend(await world.context.state.current_use(find_quotas(key, None)))

        world.service.before = note_reserved
        if known:
            await world.ask("free", input=[USER, update("high")], max_output_tokens=most)
        before: dict[str, Any] = {"previous_response_id": "resp_1"}
        await world.ask("free", input=[USER], **before, **off)
        await world.ask("free", input=[USER, update("none")], **before, **off)
        # The turn goes, because a header holds for the whole request.
        more: dict[str, Any] = {"input": [USER, update("none")], "max_output_tokens": most}
        await world.ask("free", level="off", **more, **before)
        await world.ask("free", input=[USER], **off)

    anyio.run(run)
    assert reserved[-4:] == [most, most, most, 0]

"""A client that changes its level at the top of its requests keeps the prompt cache.

The strict emulator judges every request. What arrived is read from its JSON, not by our parser.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.asgi import Came, came
from tests.gateway.upstream import Upstream
from tests.laws.conversations import without_breakpoints

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    PurposeRule,
    RuleMatch,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.levels.sent_turns import REACH
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.answer_cache import LocalAnswerCache

BACKS = {
    "claude": ("anthropic:claude-opus-5", "high"),
    "gpt": ("openai:gpt-6-sol", "medium"),
    "router": ("openrouter:anthropic/claude-opus-5", None),
    "routed gpt": ("openrouter:openai/gpt-6-sol", None),
    "bound": ("anthropic:claude-sonnet-5-5", "high"),
}
WORDS = ("low", "medium", "high", "xhigh", "max")
LOOK = {"type": "object", "properties": {}}


# -- clients ---------------------------------------------------------------------------------------


class MessagesClient:
    """A client of the Messages API, which moves its cache breakpoint to the newest turn."""

    path = "/v1/messages"
    headers: Mapping[str, str] = {"anthropic-beta": "mid-conversation-output-config-2026-07-01"}

    def ask(self, text):
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def body(self, turns, level):
        marked = json.loads(json.dumps(turns))
        marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        body: dict[str, Any] = {"max_tokens": 64_000, "messages": marked}
        if level == "off":
            return {**body, "thinking": {"type": "disabled"}}
        if level is not None:
            body |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
        return body

    def read(self, answer):
        return [{"role": "assistant", "content": answer["content"]}]


class ChatClient:
    path = "/v1/chat/completions"
    headers: Mapping[str, str] = {}

    def ask(self, text):
        return {"role": "user", "content": text}

    def body(self, turns, level):
        words = {} if level is None else {"reasoning_effort": "none" if level == "off" else level}
        return {"messages": turns, **words}

    def read(self, answer):
        return [answer["choices"][0]["message"]]


class ResponsesClient:
    path = "/v1/responses"
    headers: Mapping[str, str] = {}

    def ask(self, text):
        return {"role": "user", "content": text}

    def body(self, turns, level):
        words = {} if level is None else {"effort": "none" if level == "off" else level}
        include = ["reasoning.encrypted_content"]
        return {"input": turns, "store": False, "include": include, "reasoning": words}

    def read(self, answer):
        return answer["output"]


CLIENTS = {"messages": MessagesClient(), "chat": ChatClient(), "responses": ResponsesClient()}


class Talk:
    """One conversation of a client with a route of a gateway, whose upstream is the referee."""

    def __init__(self, client, *, app, upstream, route, key="kk"):
        self.client, self.app, self.upstream, self.route, self.key = (
            client, app, upstream, route, key,
        )  # fmt: skip
        self.turns: list[Any] = []

    async def say(self, text, level) -> Came:
        self.turns.append(self.client.ask(text))
        body = {"model": self.route, **self.client.body(self.turns, level)}
        headers = {
            "content-type": "application/json",
            "authorization": f"Bearer {self.key}",
            **self.client.headers,
        }
        url = f"http://gate{self.client.path}"
        request = HttpRequest("POST", url, headers, json.dumps(body).encode())
        answer = await came(self.app, request)
        assert answer.status == 200, answer.body
        self.turns += self.client.read(json.loads(answer.body))
        return answer

    @property
    def level(self) -> str | None:
        """Return the level in effect, as the service reads the last request."""
        accepted = self.upstream.emulator.read()
        assert accepted is not None
        return "off" if accepted.intent.kind == "off" else accepted.intent.level

    @property
    def sent(self) -> "Sent":
        return Sent(json.loads(self.upstream.requests[-1]))


class Sent:
    """What arrived at the service."""

    def __init__(self, body):
        turns = body.get("messages", body.get("input"))
        self.turns = [json.dumps(without_breakpoints(turn)) for turn in turns]
        self.top = (body.get("output_config") or body.get("reasoning") or {}).get("effort")
        self.switch = (body.get("thinking") or {}).get("type")
        self.marks = [word for turn in turns if (word := _read_mark(turn)) is not None]


def _read_mark(turn):
    if turn.get("type") == "configuration_update":
        return turn["reasoning"]["effort"]
    if "configuration_update" in turn:
        return turn["configuration_update"]["reasoning"]["effort"]
    return (turn.get("output_config") or {}).get("effort")


def make_talk(client, back, *, rules=None, keys=(), upstream=None, app=None, key="kk", purposes=()):
    upstream = upstream or Upstream()
    route = GatewayRoute(
        match="it", to=(BACKS[back][0],), retries=0, thinking=rules or LevelRules()
    )
    config = GatewayConfig(routes=(route,), keys=keys, rules=purposes)
    app = app or App(GatewayContext(config, upstream))
    return Talk(CLIENTS[client], app=app, upstream=upstream, route="it", key=key)


PAIRS = [(client, back) for client in CLIENTS for back in ("claude", "gpt", "router", "bound")]


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("client", "back"), PAIRS)
@settings(max_examples=min(15, settings().max_examples))
@given(levels=st.lists(st.sampled_from(WORDS), min_size=2, max_size=5))
def test_a_changed_level_keeps_the_bytes_before_it(client, back, levels):
    async def run():
        talk = make_talk(client, back)
        before: list[str] = []
        for number, level in enumerate(levels):
            came_back = await talk.say(f"Question {number}: what is 17 * 23?", level)
            sent = talk.sent
            assert sent.turns[: len(before)] == before
            assert sent.top == levels[0]
            assert (sent.marks or [sent.top])[-1] == level
            changed = level != levels[0] or any(each != levels[0] for each in levels[:number])
            assert ("why=in_band" in came_back.headers["x-pondero-thinking"]) == changed
            before = sent.turns
        assert talk.upstream.refusals() == []

    asyncio.run(run())


@pytest.mark.parametrize(("client", "back"), PAIRS)
@settings(max_examples=min(15, settings().max_examples))
@given(levels=st.lists(st.sampled_from((None, "off", *WORDS)), min_size=2, max_size=5))
def test_any_order_of_levels_is_accepted_and_the_last_one_counts(client, back, levels):
    async def run():
        talk = make_talk(client, back)
        for number, level in enumerate(levels):
            await talk.say(f"Question {number}: what is 17 * 23?", level)
            sent = talk.sent
            if level == "off":
                assert sent.switch in ("disabled", "between_tools") or sent.top == "none"
                assert sent.marks == []
            elif level is not None:
                assert talk.level == level
            elif sent.marks:
                assert sent.marks[-1] == BACKS[back][1]
        assert talk.upstream.refusals() == []

    asyncio.run(run())


@pytest.mark.parametrize("client", CLIENTS)
@settings(max_examples=min(15, settings().max_examples))
@given(
    asked=st.lists(st.sampled_from(WORDS), min_size=2, max_size=4),
    cap=st.sampled_from(WORDS),
    floor=st.sampled_from(WORDS),
)
def test_rules_hold_for_every_level_that_a_request_has(client, asked, cap, floor):
    low, high = sorted((cap, floor), key=WORDS.index)

    async def run():
        talk = make_talk(client, "claude", rules=LevelRules(cap=high, floor=low))
        for number, level in enumerate(asked):
            await talk.say(f"Question {number}: what is 17 * 23?", level)
            sent = talk.sent
            allowed = WORDS[WORDS.index(low) : WORDS.index(high) + 1]
            assert {sent.top, *sent.marks} <= set(allowed)

    asyncio.run(run())


# -- the prompt cache, as the service counts it ---------------------------------------------------

RULES = "Answer in one line, and name the rule that you used. " * 400
PROOFS = [("messages", "claude"), ("responses", "gpt"), ("chat", "routed gpt")]


def _read_usage(answer: Came) -> tuple[int, int]:
    """Return the tokens of a prompt, and how many of them were read from the cache."""
    usage = json.loads(answer.body)["usage"]
    if "cache_read_input_tokens" in usage:
        read = usage["cache_read_input_tokens"]
        return usage["input_tokens"] + usage["cache_creation_input_tokens"] + read, read
    inner = usage.get("input_tokens_details") or usage.get("prompt_tokens_details") or {}
    whole = usage.get("input_tokens", usage.get("prompt_tokens", 0))
    return whole, inner.get("cached_tokens", 0)


async def _find_cached_share(client: str, back: str, *, forgets: bool) -> float:
    """Return which share of each turn's earlier prompt was cached, over thirty turns."""
    talk = make_talk(client, back)
    words = [WORDS[number // 3 % len(WORDS)] for number in range(30)]
    shares: list[float] = []
    before = 0
    for number, level in enumerate(words):
        if forgets:  # the gateway does not know the conversation, so the level changes at the top
            talk.app.gateway.memory = LocalAnswerCache()
        answer = await talk.say(f"{RULES if not number else ''}Question {number}: 17 * 23?", level)
        whole, read = _read_usage(answer)
        if before:
            shares.append(min(1.0, read / before))
        before = whole
    return sum(shares) / len(shares)


@pytest.mark.parametrize(("client", "back"), PROOFS)
def test_ten_changes_in_thirty_turns_keep_nearly_all_of_the_prompt_cached(client, back):
    assert asyncio.run(_find_cached_share(client, back, forgets=False)) >= 0.95


@pytest.mark.parametrize(("client", "back"), PROOFS)
def test_ten_changes_at_the_top_lose_the_cache(client, back):
    assert asyncio.run(_find_cached_share(client, back, forgets=True)) < 0.95


# -- cases -----------------------------------------------------------------------------------------


def test_a_rule_that_comes_later_begins_another_window():
    async def run():
        upstream = Upstream()
        free = make_talk("messages", "claude", upstream=upstream)
        await free.say("What is 17 * 23?", "max")
        await free.say("What is 17 * 24?", "low")
        assert (free.sent.top, free.sent.marks) == ("max", ["low"])
        route = GatewayRoute(
            match="it", to=(BACKS["claude"][0],), retries=0, thinking=LevelRules(cap="medium")
        )
        free.app.gateway.reconfigure(GatewayConfig(routes=(route,)))
        await free.say("What is 17 * 25?", "low")
        assert (free.sent.top, free.sent.marks) == ("low", [])

    asyncio.run(run())


COMPACT = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."


class ClaudeCode(MessagesClient):
    headers: Mapping[str, str] = {**MessagesClient.headers, "user-agent": "claude-cli/2.1.197"}


def make_compaction_talk(**rules: str):
    """Return a conversation of a client whose compactions have a rule of their own."""
    rule = PurposeRule(RuleMatch("compact"), LevelRules(**rules), name="compact")
    talk = make_talk("messages", "claude", purposes=(rule,))
    talk.client = ClaudeCode()
    return talk


@pytest.mark.parametrize("rules", [{"force": "low"}, {"cap": "low"}, {"cap": "medium"}])
def test_the_rule_of_a_purpose_keeps_the_cache_of_the_conversation(rules):
    """A compaction comes when the prompt is longest, so it is dear to write it again."""
    (word,) = rules.values()

    async def run():
        talk = make_compaction_talk(**rules)
        await talk.say(f"{RULES}What is 17 * 23?", "high")
        whole, _ = _read_usage(await talk.say("What is 17 * 24?", "high"))
        before = talk.sent.turns
        answer = await talk.say(COMPACT, "high")
        assert answer.headers["x-pondero-thinking"] == (
            f"asked=high; sent={word}; why=rule:compact"
        )
        assert "cache_kept" in answer.headers["x-pondero-adjustments"]
        assert (talk.sent.top, talk.sent.marks) == ("high", [word])
        assert talk.sent.turns[: len(before)] == before
        assert _read_usage(answer)[1] >= 0.95 * whole
        assert talk.upstream.refusals() == []

    asyncio.run(run())


def test_after_a_compaction_the_conversation_has_the_level_that_its_client_says():
    async def run():
        talk = make_compaction_talk(force="low")
        await talk.say("What is 17 * 23?", "high")
        before = list(talk.turns)
        await talk.say(COMPACT, "high")
        talk.turns = before
        await talk.say("What is 17 * 24?", "high")
        assert (talk.sent.top, talk.sent.marks) == ("high", [])

    asyncio.run(run())


def test_a_purpose_without_thinking_begins_at_the_top():
    async def run():
        talk = make_compaction_talk(force="off")
        await talk.say("What is 17 * 23?", "high")
        await talk.say(COMPACT, "high")
        assert (talk.sent.switch, talk.sent.marks) == ("disabled", [])
        assert talk.upstream.refusals() == []

    asyncio.run(run())


def test_another_key_does_not_continue_a_window():
    keys = tuple(
        GatewayKey(name=name, hash=hash_key(f"key-of-{name}-0123456789")) for name in ("ann", "ben")
    )

    async def run():
        talk = make_talk("messages", "claude", keys=keys, key="key-of-ann-0123456789")
        await talk.say("What is 17 * 23?", "max")
        talk.key = "key-of-ben-0123456789"
        await talk.say("What is 17 * 24?", "low")
        assert (talk.sent.top, talk.sent.marks) == ("low", [])

    asyncio.run(run())


def test_the_same_question_at_another_level_is_another_conversation():
    async def run():
        talk = make_talk("messages", "claude")
        for level in ("high", "low"):
            talk.turns.clear()
            await talk.say("What is 17 * 23?", level)
            assert (talk.sent.top, talk.sent.marks) == (level, [])

    asyncio.run(run())


def test_a_branch_has_the_levels_before_it_and_none_after():
    async def run():
        talk = make_talk("responses", "gpt")
        for number, level in enumerate(("high", "low", "max")):
            await talk.say(f"What is 17 * {number}?", level)
            if number == 1:
                fork = list(talk.turns)
        assert talk.sent.marks == ["low", "max"]
        talk.turns = fork
        await talk.say("Another question: what is 3 * 4?", "low")
        assert (talk.sent.top, talk.sent.marks) == ("high", ["low"])

    asyncio.run(run())


def test_a_request_sent_again_has_its_level_once():
    async def run():
        talk = make_talk("messages", "claude")
        await talk.say("What is 17 * 23?", "high")
        before = list(talk.turns)
        for level in ("low", "low", "max"):
            talk.turns = list(before)
            await talk.say("What is 17 * 24?", level)
            assert (talk.sent.top, talk.sent.marks) == ("high", [level])

    asyncio.run(run())


def test_a_client_that_sets_levels_inside_its_conversation_does_it_alone():
    async def run():
        talk = make_talk("messages", "claude")
        await talk.say("What is 17 * 23?", "high")
        talk.turns.append({"role": "system", "content": [], "output_config": {"effort": "low"}})
        await talk.say("What is 17 * 24?", "high")
        assert (talk.sent.top, talk.sent.marks) == ("high", ["low"])

    asyncio.run(run())


class LoopClient(MessagesClient):
    """A client with a tool: ``result`` is what it answers to the last call, if one is open."""

    tools = ({"name": "look", "description": "Looks.", "input_schema": LOOK},)
    result: dict[str, Any] | None = None

    def ask(self, text):
        result, self.result = self.result, None
        return {"role": "user", "content": [result]} if result else super().ask(text)

    def body(self, turns, level):
        return {**super().body(turns, level), "tools": self.tools}

    def read(self, answer):
        for each in answer["content"]:
            if each["type"] == "tool_use":
                self.result = {
                    "type": "tool_result", "tool_use_id": each["id"], "content": "an owl",
                }  # fmt: skip
        return super().read(answer)


def make_loop(back: str) -> Talk:
    talk = make_talk("messages", back)
    talk.client = LoopClient()
    return talk


@pytest.mark.parametrize("back", BACKS)
@settings(max_examples=min(15, settings().max_examples))
@given(
    steps=st.lists(st.tuples(st.booleans(), st.sampled_from(WORDS)), min_size=2, max_size=6),
)
def test_a_level_that_changes_in_a_tool_loop_is_in_effect_at_once(back, steps):
    async def run():
        talk = make_loop(back)
        for number, (calls, level) in enumerate(steps):
            text = "Look. [emulator: call look {}]" if calls else "What is 17 * 23?"
            await talk.say(f"{number}: {text}", level)
            assert talk.level == level
        assert talk.upstream.refusals() == []

    asyncio.run(run())


def test_a_level_that_would_wait_for_the_user_is_stated_at_the_top():
    async def run():
        talk = make_loop("claude")
        await talk.say("Look. [emulator: call look {}]", "high")
        await talk.say("", "low")
        assert (talk.sent.top, talk.sent.marks) == ("low", [])
        await talk.say("What is 17 * 23?", "low")
        assert (talk.sent.top, talk.sent.marks) == ("low", [])
        await talk.say("What is 17 * 24?", "max")
        assert (talk.sent.top, talk.sent.marks) == ("low", ["max"])
        assert talk.upstream.refusals() == []

    asyncio.run(run())


def test_thinking_that_is_bound_to_levels_no_longer_sent_is_left_out_from_then_on():
    async def run():
        talk = make_talk("messages", "bound")
        for number, level in enumerate(("high", "low", "off", "max", "low")):
            answer = await talk.say(f"What is 17 * {number}?", level)
            assert len(talk.upstream.requests) == number + 1  # none was rejected and repaired
            withheld = "signature_withheld" in answer.headers.get("x-pondero-adjustments", "")
            assert withheld is (number >= 2)
        assert talk.upstream.refusals() == []
        assert (talk.sent.top, talk.sent.marks) == ("max", ["low"])

    asyncio.run(run())


def test_a_client_that_begins_to_set_levels_itself_keeps_what_was_said_before():
    async def run():
        talk = make_talk("messages", "bound")
        await talk.say("What is 17 * 23?", "high")
        await talk.say("What is 17 * 24?", "low")
        before = talk.sent.turns
        for number, level in enumerate(("max", "medium"), 3):
            own = {"role": "system", "content": [], "output_config": {"effort": level}}
            talk.turns.append(own)
            await talk.say(f"What is 17 * {number}?", "xhigh")
            assert talk.level == level
            assert talk.sent.turns[: len(before)] == before
            assert len(talk.upstream.requests) == number  # none was rejected and repaired
            before = talk.sent.turns
        assert talk.sent.marks == ["low", "max", "medium"]

    asyncio.run(run())


def test_a_tool_that_takes_an_output_config_sets_no_level():
    async def run():
        talk = make_loop("claude")
        await talk.say("What is 17 * 23?", "high")
        await talk.say('Look. [emulator: call look {"output_config": {"effort": "max"}}]', "low")
        await talk.say("", "low")
        assert (talk.sent.top, talk.sent.marks) == ("high", ["low"])
        await talk.say("What is 17 * 24?", "medium")
        assert (talk.sent.top, talk.sent.marks) == ("high", ["low", "medium"])
        assert talk.level == "medium"

    asyncio.run(run())


@pytest.mark.parametrize("back", ["claude", "bound", "gpt"])
def test_a_lower_retry_of_an_answer_that_was_all_thinking_keeps_the_window(back):
    secret = "key-of-ann-0123456789"
    key = GatewayKey("ann", hash_key(secret), budget=SpendBudget(tokens=10_000_000))
    route = GatewayRoute("it", (BACKS[back][0],), retries=0, on_exhausted="retry")
    upstream = Upstream()
    app = App(GatewayContext(GatewayConfig(routes=(route,), keys=(key,)), upstream))

    async def run():
        talk = Talk(MessagesClient(), app=app, upstream=upstream, route="it", key=secret)
        for number, level in enumerate(("high", "low")):
            await talk.say(f"What is 17 * {number}?", level)
        before, plain = talk.sent.turns, talk.client.body
        talk.client.body = lambda turns, level: {**plain(turns, level), "max_tokens": 60}
        await talk.say("What is 17 * 25?", "high")
        assert len(upstream.requests) == 4
        assert upstream.emulator.read(2).intent.level == "high"
        assert talk.level == "medium"
        assert (talk.sent.top, talk.sent.marks) == ("high", ["low", "medium"])
        assert talk.sent.turns[: len(before)] == before

    asyncio.run(run())


def test_a_conversation_that_jumped_too_far_begins_another_window():
    async def run():
        talk = make_talk("messages", "claude")
        await talk.say("What is 17 * 23?", "high")
        for number in range(REACH):
            talk.turns.append(talk.client.ask(f"What is 17 * {number}?"))
            talk.turns.append({"role": "assistant", "content": [{"type": "text", "text": "391"}]})
        await talk.say("What is 17 * 24?", "low")
        assert (talk.sent.top, talk.sent.marks) == ("low", [])

    asyncio.run(run())

"""A gateway that knows the frame of a question does what one does that reads all of it."""

import asyncio
import json
from collections.abc import Hashable
from itertools import count
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.test_conversation_memo import BACKS, Services, untime

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    ProviderOverride,
    PurposeRule,
    RateLimitRule,
    RuleMatch,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.requests import known_frames, lookup
from pondero.gateway.server import app as app_module
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.signatures.envelope import _OPENINGS as OPENINGS
from pondero.gateway.state.frame_memo import FrameMemo
from pondero.gateway.state.kept_store import LocalKeptStore

KEYS = tuple(
    GatewayKey(name, hash_key(f"sk-{name}"), **more)
    for name, more in (
        ("one", {}),
        ("two", {}),
        ("capped", {"thinking": LevelRules(cap="low")}),
        ("forced", {"thinking": LevelRules(force="high")}),
        (
            "budget",
            {"budget": SpendBudget(cost=100, tokens=10**9), "limit": RateLimitRule(99, 10**9)},
        ),
        ("spent", {"budget": SpendBudget(tokens=3_000)}),
    )
)
# Texts that some part of the gateway searches bodies for, or that may be read as another field.
TEXTS = (
    *("Why?", "Why not?", "user", "thing", "high", "text", "tools", "definition", "compact", "n"),
    *(
        "cache_control",
        "level_update",
        "mode",
        "store",
        "stream_options include_usage",
        "compaction",
    ),
    *("resp_0123456789abcdef0123456789abcdef0123456789abcdef01", "msg_01", "file-abc", "rs_1 fc_2"),
    *(
        "cachedContent",
        "file_id",
        "previous_response_id",
        "caf\u00e9 \u2192 \U0001f600",
        "a \u2028 b",
    ),
    *('say "hi"', "back\\slash", "two\nlines", "tab\there", " ", " led and followed ", "\u00a0"),
    *("You are a title generator", "Please write a 5-10 word title", "Sunny, 21 degrees."),
    *(f"{opening}AAAA" for opening in OPENINGS),
)
FIELDS: dict[str, tuple[dict[str, Any], ...]] = {
    "anthropic": (
        {"max_tokens": 900},
        {"max_tokens": 9000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"max_tokens": 5000, "system": "Why?", "metadata": {"user_id": "Why?"}, "temperature": 1},
        {"max_tokens": 900, "tools": [{"name": "look", "input_schema": {"type": "object"}}]},
        {"max_tokens": 900, "tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {
            "max_tokens": 900,
            "context_management": {
                "edits": [
                    {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 20}}
                ]
            },
        },
    ),
    "openai_chat": (
        {},
        {"reasoning_effort": "high", "max_completion_tokens": 900, "n": 1},
        {"user": "Why?", "metadata": {"a": "text"}, "stop": ["user"]},
        {"response_format": {"type": "json_object"}, "seed": 3},
        {"web_search_options": {}, "n": 2},
        {"metadata": {"file_id": "file-1"}},
    ),
    "openai_responses": (
        {"store": False},
        {"reasoning": {"effort": "high"}, "instructions": "Why?"},
        {"max_output_tokens": 900, "metadata": {"a": "text"}, "user": "Why?"},
        {"truncation": "auto", "store": True},
        {"tools": [{"type": "web_search"}]},
        {"metadata": {"file_id": "file-1"}},
    ),
    "gemini": (
        {},
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}, "maxOutputTokens": 900}},
        {"systemInstruction": {"parts": [{"text": "Why?"}]}, "labels": {"a": "text"}},
        {"safetySettings": [], "generationConfig": {"stopSequences": ["user"]}},
        {"tools": [{"googleSearch": {}}]},
        {"labels": {"fileUri": "files/1"}},
    ),
}
PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/thing:generateContent",
}


def write_question(front: str, fields: int, text: str, form: int, *, spaced: bool) -> HttpRequest:
    """Return a request that differs from others of its frame in this text alone."""
    name = {"openai_responses": "input", "gemini": "contents"}.get(front, "messages")
    content: Any = text
    if form == 1 and front != "gemini":
        kind = "input_text" if front == "openai_responses" else "text"
        content = [{"type": kind, "text": text}]
        if front == "anthropic":
            content[0]["cache_control"] = {"type": "ephemeral"}
    turn = {"role": "user", "content": content}
    turns: Any = [{"role": "user", "parts": [{"text": text}]}] if front == "gemini" else [turn]
    if form == 2 and front == "openai_responses":
        turns = text
    body = {**FIELDS[front][fields], name: turns}
    if front != "gemini":
        body = {"model": "thing", **body}
    if form == 3:
        body = dict(reversed(body.items()))
    separators = (", ", ": ") if spaced else (",", ":")
    data = json.dumps(body, ensure_ascii=spaced, separators=separators).encode()
    return HttpRequest("POST", f"http://gateway{PATHS[front]}", {}, data)


class NoFrames(FrameMemo[Any]):
    """A memo that knows nothing."""

    def note(self, frame: Hashable) -> bool:
        return False


class HeadedServices(Services):
    """Services that see the headers of requests too."""

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        self.seen.append((repr(sorted(request.headers.items())), b""))
        return await super().send(request, timeouts)


def _config(back: str) -> GatewayConfig:
    names = {to.partition(":")[0] for to in BACKS.values()}
    summary = PurposeRule(RuleMatch(purpose="summary"), LevelRules(force="low"))
    return GatewayConfig(
        server=ServerConfig(ledger="off", log="off"),
        routes=(GatewayRoute(match="*", to=(BACKS[back],), retries=0),),
        providers={name: ProviderOverride(key="env:FRAME_KEY") for name in names},
        keys=KEYS,
        rules=(summary,),
    )


class World:
    """One gateway with its services; ``records``: what it records."""

    def __init__(self, back: str, *, knows: bool) -> None:
        self.services, self.records = HeadedServices(), list[Receipt]()
        self._knows = knows
        self.gateway = GatewayContext(
            _config(back), self.services, observers=(self._note,), save_begun=self._note
        )
        self._app, self._ids = App(self.gateway), count(1)
        self._forget()

    def _note(self, receipt: Receipt) -> None:
        untimed = replace(receipt, at=0.0, seconds=0.0, first=None, first_try=None, last_try=None)
        self.records.append(untimed)

    def _forget(self) -> None:
        if not self._knows:
            self.gateway.frames = NoFrames()

    async def ask(self, http: HttpRequest, key: str, headers: dict[str, str]) -> Came:
        vars(app_module)["make_id"] = lambda _now: f"{next(self._ids):024x}"
        sent = {"authorization": f"Bearer sk-{key}", "content-type": "application/json", **headers}
        sent["content-length"] = str(len(http.body))
        answer = await came(self._app, HttpRequest(http.method, http.url, sent, http.body))
        return answer._replace(body=untime(answer.body))

    def list_kept(self) -> list[tuple[str, bytes]]:
        """Return the answers that it keeps for later requests."""
        store = self.gateway.kept
        assert isinstance(store, LocalKeptStore)
        store.make_waiting()
        return [(name, untime(value)) for name, (_, value) in store._items.items()]

    def reroute(self, back: str) -> None:
        self.gateway.reconfigure(_config(back))
        self._forget()


HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"x-pondero-thinking": "low"},
    {"anthropic-beta": "context-1m-2025-08-07"},
    {"x-pondero-show": "none"},
    {"user-agent": "claude-cli/2.1.0 (external, cli)"},
)
CLAUDE_CODE = len(HEADERS) - 1
FIRST = ("Is it so, or is it not?", "And why is that?", "How so?")
ASKS = st.tuples(
    st.just("ask"),
    st.integers(0, 1),  # the fields
    st.sampled_from(TEXTS) | st.text(max_size=20),
    st.integers(0, 1),  # the form
    st.booleans(),
    st.sampled_from([key.name for key in KEYS]),
    st.integers(0, len(HEADERS) - 1),
)
STEPS = st.one_of(
    ASKS,
    ASKS,
    ASKS,
    st.tuples(st.just("route"), st.sampled_from(list(BACKS))),
    st.tuples(st.just("provider key"), st.sampled_from(["sk-a", "sk-b"])),
)


async def _compare(front: str, back: str, steps: list[tuple[Any, ...]]) -> None:
    """Take steps through two gateways, of which one knows frames."""
    one, other = (World(back, knows=knows) for knows in (True, False))
    for step in steps:
        if step[0] == "route":
            for world in (one, other):
                world.reroute(step[1])
        elif step[0] == "provider key":
            PATCH.setenv("FRAME_KEY", step[1])
        else:
            fields, text, form, spaced, key, headers = step[1:]
            http = write_question(front, fields, text, form, spaced=spaced)
            answers = [await world.ask(http, key, HEADERS[headers]) for world in (one, other)]
            assert answers[0] == answers[1]
            assert one.services.seen == other.services.seen
            assert one.records == other.records
            assert one.list_kept() == other.list_kept()


def _ask(
    text: str, *, fields: int = 0, form: int = 0, key: str = "one", headers: int = 0
) -> tuple[Any, ...]:
    return ("ask", fields, text, form, False, key, headers)


PATCH = pytest.MonkeyPatch()


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> Any:
    PATCH.setenv("FRAME_KEY", "sk-provider")
    monkeypatch.setitem(vars(app_module), "make_id", vars(app_module)["make_id"])  # put back
    monkeypatch.setattr(GatewayContext, "now", staticmethod(lambda: 1_790_000_000.0))
    yield
    PATCH.undo()


@pytest.mark.parametrize("front", BACKS)
@given(back=st.sampled_from(list(BACKS)), steps=st.lists(STEPS, min_size=2, max_size=6))
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_a_known_frame_changes_no_request_no_answer_and_no_record(front, back, steps):
    asks = [step for step in steps if step[0] == "ask"]
    begun = [("ask", ask[1], text, *ask[3:]) for ask in asks for text in FIRST]
    anyio.run(_compare, front, back, [*begun, *steps])


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", BACKS)
def test_whatever_else_changes_is_read_though_the_frame_is_known(front, back):
    ask = _ask("What else?")
    changes = (
        *([_ask("What else?", headers=number)] for number in range(len(HEADERS))),
        *([_ask("What else?", key=key.name)] for key in KEYS),
        *([_ask("What else?", fields=number)] for number in range(len(FIELDS[front]))),
        *([_ask("What else?", form=number)] for number in range(4)),
        *([("route", name), ask] for name in BACKS),
        [("provider key", "sk-other"), ask],
    )
    for change in changes:
        steps = [*map(_ask, FIRST), *change, ask]
        anyio.run(_compare, front, back, steps)


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", BACKS)
def test_whatever_a_frame_asks_for_its_questions_are_recorded_as_without_it(front, back):
    texts = (*FIRST, "What else?", "A longer question, " * 20, "caf\u00e9 \u2192 \U0001f600")
    for fields in range(len(FIELDS[front])):
        anyio.run(_compare, front, back, [_ask(text, fields=fields) for text in texts])


@pytest.mark.parametrize("back", BACKS)
def test_the_purpose_of_a_question_is_looked_for_in_each(back):
    summary = "The user stepped away and is coming back. Sum it up."
    texts = (*FIRST, summary, "What else?", summary)
    anyio.run(_compare, "anthropic", back, [_ask(text, headers=CLAUDE_CODE) for text in texts])


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", BACKS)
def test_a_budget_that_runs_out_lowers_questions_in_a_known_frame(front, back):
    texts = [f"Is it so, or is it not, {number}?" for number in range(12)]
    anyio.run(_compare, front, back, [_ask(text, key="spent") for text in texts])


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", BACKS)
def test_every_text_that_is_searched_for_is_sent_as_without_a_frame(front, back):
    steps = [_ask(each) for text in TEXTS for each in (*FIRST, text, text * 2)]
    anyio.run(_compare, front, back, steps)


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("key", ["one", "capped", "budget"])
def test_the_third_question_in_a_frame_is_not_read_as_a_whole(front, back, key, monkeypatch):
    whole: list[str] = []
    for name in ("parse_locally", "make_attempt_in_steps"):
        used = getattr(lookup, name)
        monkeypatch.setattr(lookup, name, lambda *a, n=name, u=used: (whole.append(n), u(*a))[1])

    async def run() -> None:
        world = World(back, knows=True)
        for number, text in enumerate(("Why?", "Why not?", "How?", "Where from?", "What else?")):
            http = write_question(front, 0, text, 0, spaced=False)
            assert (await world.ask(http, key, {})).status == 200
            if number == 1:
                assert whole
                whole.clear()

    asyncio.run(run())
    assert whole == []


@pytest.mark.parametrize("form", [0, 1])
def test_a_level_that_changes_after_a_question_in_a_known_frame_is_set_inside(form):
    async def run(*, knows: bool) -> list[tuple[str, bytes]]:
        world = World("anthropic", knows=knows)
        for text in FIRST:
            question = write_question("anthropic", 1, text, form, spaced=False)
            answer = json.loads((await world.ask(question, "one", {})).body)
            said = [part for part in answer["content"] if part["type"] == "text"]
            body = json.loads(question.body)
            body["messages"].append({"role": "assistant", "content": said})
            body["messages"].append({"role": "user", "content": "Go on."})
            body["output_config"] = {"effort": "high"}
            data = json.dumps(body, separators=(",", ":")).encode()
            more = HttpRequest("POST", question.url, {}, data)
            assert (await world.ask(more, "one", {})).status == 200
        return world.services.seen

    seen = asyncio.run(run(knows=True))
    assert seen == asyncio.run(run(knows=False))
    assert b"system" in seen[-1][1]  # the turn that sets it


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", BACKS)
def test_the_rules_of_a_key_that_change_hold_for_the_next_question(front, back):
    async def run(*, knows: bool) -> list[tuple[str, bytes]]:
        world = World(back, knows=knows)
        secret = (await world.gateway.keys.make("made")).removeprefix("sk-")
        for text in (*FIRST, "What else?"):
            if text == "What else?":
                await world.gateway.keys.change("made", {"thinking": {"force": "low"}})
            http = write_question(front, 1, text, 0, spaced=False)
            headers = {"x-api-key": secret}
            assert (await world.ask(http, "none", headers)).status == 200
        return world.services.seen

    assert asyncio.run(run(knows=True)) == asyncio.run(run(knows=False))


def test_frames_are_bounded():
    memo: FrameMemo[int] = FrameMemo()
    assert not memo.note("a frame")
    assert memo.note("a frame")
    for number in range(5_000):
        memo.note(number)
        memo.add(number // 10, number)
    assert not memo.note("a frame")
    assert memo.find(0) == ()
    assert memo.find(499) == (4_999, 4_998, 4_997, 4_996)
    assert len(memo._frames) <= 128
    assert len(memo._seen) <= 1_024


def test_a_frame_that_is_read_otherwise_with_another_text_is_not_kept(monkeypatch):
    async def run() -> int:
        world = World("anthropic", knows=True)
        for text in ("Why?", "How?", "Where?"):
            http = write_question("anthropic", 0, text, 0, spaced=False)
            assert (await world.ask(http, "one", {})).status == 200
        return len(world.gateway.frames._frames)

    assert asyncio.run(run()) == 1
    monkeypatch.setattr(known_frames, "_TRIED", 'a "quoted" text')  # which is no JSON
    assert asyncio.run(run()) == 0

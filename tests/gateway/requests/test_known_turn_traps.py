"""Requests that a gateway which remembers conversations may read differently from one that does not."""

import json
import re
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.test_conversation_memo import MODELS, Services

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ProviderOverride,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.requests import split_body
from pondero.gateway.server import app as app_module
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.conversation_memo import ConversationMemo

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
GEMINI = "/v1beta/models/gemini:generateContent"
KEYS = (
    GatewayKey("small", hash_key("sk-small"), budget=SpendBudget(tokens=200_000)),
    GatewayKey("large", hash_key("sk-large"), budget=SpendBudget(tokens=10**9)),
)
_ENDED = re.compile(rb'"completed_at":\d+')
LOOK = {"name": "look", "description": "Looks. " * 700, "parameters": {"type": "object"}}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


TURNS = [_user("q1"), _says("a1"), _user("q2"), _says("a2"), _user("q3")]


class _World:
    def __init__(self, size: int) -> None:
        names = {to.partition(":")[0] for to in MODELS.values()}
        config = GatewayConfig(
            server=ServerConfig(ledger="off", log="off"),
            routes=tuple(GatewayRoute(match=f"{n}*", to=(to,)) for n, to in MODELS.items()),
            providers={name: ProviderOverride(key="env:MEMO_KEY") for name in names},
            keys=KEYS,
        )
        self.services = Services()
        gateway = GatewayContext(config, self.services)
        gateway.conversations = ConversationMemo(size)
        self._app = App(gateway)

    async def ask(self, path: str, body: Any, key: str = "large") -> Came:
        vars(app_module)["make_id"] = lambda _now: f"{len(self.services.seen):024x}"
        headers = {"authorization": f"Bearer sk-{key}", "content-type": "application/json"}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = HttpRequest("POST", f"http://gateway{path}", headers, data)
        answer = await came(self._app, asked)
        # A second may end between the answers of two gateways.
        return answer._replace(body=_ENDED.sub(b'"completed_at":0', answer.body))


def _compare(*requests: tuple[Any, ...]) -> tuple[bytes, Came]:
    """Send requests to a gateway that remembers and one that does not; return what both sent."""

    async def compare() -> tuple[bytes, Came]:
        worlds = [_World(size) for size in (0, 8 << 20)]
        answers: list[Came] = []
        for request in requests:
            answers = [await world.ask(*request) for world in worlds]
        assert worlds[1].services.seen == worlds[0].services.seen
        assert answers[1] == answers[0]
        return worlds[0].services.seen[-1][1], answers[0]

    return anyio.run(compare)


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMO_KEY", "sk-provider")
    monkeypatch.setattr(split_body, "SHORT_BODY", 0)
    monkeypatch.setitem(vars(app_module), "make_id", vars(app_module)["make_id"])
    monkeypatch.setattr(GatewayContext, "now", staticmethod(lambda: 1_790_000_000.0))


@pytest.mark.parametrize("model", MODELS)
def test_no_question_is_lost_after_an_empty_answer(model):
    empty = {"type": "message", "role": "assistant", "content": []}
    more = [*TURNS, empty, _user("SECRET NEW WORDS"), _says("a4"), _user("q5")]
    first, second = ({"model": model, "input": turns, "store": False} for turns in (TURNS, more))
    sent, _ = _compare((RESPONSES, first), (RESPONSES, second))
    assert b"SECRET NEW WORDS" in sent


TEXT = "Be very brief, please, always."
ODD = (
    {"misfit": "an object, not a text"},
    ["a list, not a text at all"],
    12345678901234567890.5,
    " " * 40,
    "\n" * 40,
)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12])
@pytest.mark.parametrize("is_odd_first", [True, False])
def test_an_instruction_is_sent_once_whatever_another_field_was_before(odd, is_odd_first):
    turns = [{"role": "developer", "content": "NEVER SAY BANANA"}, *TURNS]
    said = (odd, TEXT) if is_odd_first else (TEXT, odd)
    requests = [
        (RESPONSES, {"model": "anthropic", "instructions": each, "input": sent, "store": False})
        for each, sent in zip(said, (turns, [*turns, _says("a3"), _user("q4")]), strict=True)
    ]
    sent, _ = _compare(*requests)
    assert sent.count(b"BANANA") == 1


def _call(number: int) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    signed = {"google": {"thought_signature": "c2lnbmVk" * 12}}
    call = {"id": f"c{number}", "type": "function", "function": function, "extra_content": signed}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _result(number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": "seen"}


CALLS = [_user("q1"), _call(1), _result(1), _call(2), _result(2)]
MORE_CALLS = [*CALLS, _call(3), _result(3)]
MOST_CALLS = [*MORE_CALLS, _call(4), _result(4)]


def test_functions_beside_tools_do_not_make_new_calls_older_ones():
    tools = {"tools": [{"type": "function", "function": LOOK}], "functions": [LOOK]}
    _compare(
        *(
            (CHAT, {"model": "deepseek", "messages": turns, **tools})
            for turns in (CALLS, MORE_CALLS, MOST_CALLS)
        )
    )


@pytest.mark.parametrize("empty", [b"[" + b" " * 40 + b"]", b"{" + b" " * 90 + b"}"])
def test_an_empty_list_with_blanks_is_no_list_of_tools(empty):
    functions = json.dumps([LOOK]).encode()
    filled = json.dumps([{"type": "function", "function": LOOK}]).encode()

    def body(turns: list[Any], tools: bytes) -> bytes:
        parts = (json.dumps(turns).encode(), tools, functions)
        return b'{"model":"deepseek","messages":%b,"tools":%b,"functions":%b}' % parts

    for first, second in ((empty, filled), (filled, empty)):
        _compare((CHAT, body(CALLS, first)), (CHAT, body(MORE_CALLS, second)))


def test_what_chat_calls_no_hosted_tool_is_one_of_gemini_for_every_client():
    tools = [{"googleSearch": {}}, {"functionDeclarations": [LOOK]}]
    roles = {"user": "user", "assistant": "model"}
    contents = [{"role": roles[t["role"]], "parts": [{"text": t["content"]}]} for t in TURNS]
    limit = {"maxOutputTokens": 1000}
    sent, answer = _compare(
        (CHAT, {"model": "openai_chat", "messages": TURNS, "tools": tools}, "large"),
        (GEMINI, {"contents": contents, "tools": tools, "generationConfig": limit}, "small"),
    )
    assert b"googleSearch" not in sent
    assert "budget_tools" in answer.headers["x-pondero-adjustments"]


@pytest.mark.parametrize("paths", [(CHAT, RESPONSES), (RESPONSES, CHAT)])
def test_tools_that_the_client_runs_are_those_of_its_own_api(paths):
    tools = [{"type": "local_shell"}, {"type": "function", **LOOK}]
    bodies = {
        CHAT: {"model": "openai_chat", "messages": TURNS, "max_completion_tokens": 2000},
        RESPONSES: {
            "model": "openai_responses",
            "input": TURNS,
            "store": False,
            "max_output_tokens": 2000,
        },
    }
    _compare(*((path, {**bodies[path], "tools": tools}, "small") for path in paths))


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"openai_responses","store":true,"input":"q"}x',
        b'\xef\xbb\xbf{"model":"openai_responses","store":true,"input":"q"}',
        b'{"model":"openai_responses","store":true,"input":"\\ud800"',
        b'"store"',
    ],
)
def test_a_body_that_is_no_json_is_rejected_whatever_it_names(body):
    answer = anyio.run(_World(0).ask, RESPONSES, body)
    assert answer.status == 400

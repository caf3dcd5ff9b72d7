"""What a client says to a model that speaks its own wire arrives there, on both roads."""

import json
from collections.abc import Iterator

import anyio
import pytest
from tests.gateway.asgi import Came, came

from pondero import models
from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.answers.model_name import ModelRenamer
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, LevelRules
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

OPUS, GPT = "anthropic:claude-opus-5", "openai:gpt-5.5"
BETAS = "context-management-2025-06-27,interleaved-thinking-2025-05-14"
STAND_IN = "skip_thought_signature_validator"
MESSAGES = {
    "max_tokens": 9000,
    "thinking": {"type": "adaptive", "display": "summarized"},
    "output_config": {"effort": "high"},
    "metadata": {"user_id": "somebody"},
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
}
RESPONSES = {
    "reasoning": {"effort": "high", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "store": False,
    "text": {"verbosity": "low"},
    "prompt_cache_key": "a-thread",
}


SONNET = {
    "messages": "anthropic:claude-sonnet-4-5",
    "converse": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
CALLS = 'What is in it? [emulator: call look {"name": "owl"}]'


def _ask_sonnet(app: App, api: str, messages: list) -> Came:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 4000}}
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    if api == "messages":
        path, tools = "/v1/messages", [{"name": "look", "input_schema": schema}]
        body = {"model": "m", "max_tokens": 9000, "tools": tools, **thinking}
    else:
        path, tools = "/model/m/converse", [{"name": "look", "inputSchema": {"json": schema}}]
        body = {
            "toolConfig": {"tools": [{"toolSpec": tool} for tool in tools]},
            "inferenceConfig": {"maxTokens": 9000},
            "additionalModelRequestFields": thinking,
        }
    sent = json.dumps({**body, "messages": messages}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    return anyio.run(came, app, HttpRequest("POST", f"http://gate{path}", headers, sent))


@pytest.mark.parametrize("api", SONNET)
def test_thinking_that_a_client_lost_in_a_tool_loop_is_put_back(api):
    """LangChain leaves it out on Converse if a model's name is not one of Amazon's."""
    emulator = Emulator()
    routes = (GatewayRoute(match="m", to=(SONNET[api],), retries=0),)
    app = App(GatewayContext(GatewayConfig(routes=routes), emulator))
    text = {"type": "text", "text": CALLS} if api == "messages" else {"text": CALLS}
    asked = {"role": "user", "content": [text]}
    first = json.loads(_ask_sonnet(app, api, [asked]).body)
    said = first["content"] if api == "messages" else first["output"]["message"]["content"]
    call = said[-1]
    if api == "messages":
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "an owl"}
    else:
        id = call["toolUse"]["toolUseId"]
        result = {"toolResult": {"toolUseId": id, "content": [{"text": "an owl"}]}}
    done = {"role": "user", "content": [result]}

    whole = _ask_sonnet(app, api, [asked, {"role": "assistant", "content": said}, done])
    assert whole.status == 200, whole.body
    kept = emulator.log.entries[-1].body["messages"][1]["content"]
    lost = _ask_sonnet(app, api, [asked, {"role": "assistant", "content": [call]}, done])
    assert lost.status == 200, lost.body
    assert emulator.log.entries[-1].body["messages"][1]["content"] == kept


class _Talk:
    """A conversation of one client with a gateway, and what the models behind it got."""

    def __init__(
        self, path: str, fields: dict, thinking: LevelRules | None = None, app: App | None = None
    ) -> None:
        self.emulator = Emulator()
        thinking = thinking or LevelRules()
        routes = (
            GatewayRoute(match="claude-opus-5", to=(OPUS,), thinking=thinking),
            GatewayRoute(match="gpt-5.5", to=(GPT,), thinking=thinking),
            GatewayRoute(match="claude-sonnet-4-5", to=("anthropic:claude-sonnet-4-5",)),
        )
        self.app = app or App(GatewayContext(GatewayConfig(routes=routes), self.emulator))
        self._path = path
        self._fields = fields
        self.said: list = []

    def ask(self, model: str, text: str, **more: object) -> Came:
        slot = "input" if "responses" in self._path else "messages"
        self.said.append({"role": "user", "content": text})
        body = {"model": model, slot: self.said, **self._fields, **more}
        headers = {"content-type": "application/json", "x-api-key": "k", "anthropic-beta": BETAS}
        http = HttpRequest("POST", f"http://gate{self._path}", headers, json.dumps(body).encode())
        answer = anyio.run(came, self.app, http)
        assert answer.status == 200, answer.body
        said = json.loads(answer.body)
        if slot == "input":
            self.said += said["output"]
        else:
            self.said.append({"role": "assistant", "content": said["content"]})
        return answer

    @property
    def got(self) -> dict:
        entry = self.emulator.log.entries[-1]
        assert entry.status == 200, entry.refusal
        return entry.body


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_under_another_name_keeps_the_ends_of_its_lines(end, size):
    lines = [b": hi", b"event: x", b'data: {"model":"a","b":[1]}', b"", b'data:{"c":2}', b"", b""]
    stream = end.join(lines)
    renaming = ModelRenamer((("model",),), "other", "text/event-stream; charset=utf-8")
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    told = b"".join([*map(renaming.feed, pieces), renaming.eof()])
    assert told == stream.replace(b'"a"', b'"other"')


@pytest.mark.parametrize("level", ["low", "high"])
def test_a_request_that_passes_untouched_says_which_level_was_sent(level):
    talk = _Talk("/v1/messages", MESSAGES)
    answer = talk.ask("claude-opus-5", "What is 2 + 2?", output_config={"effort": level})
    assert talk.got["output_config"] == {"effort": level}
    assert answer.headers["x-pondero-thinking"] == f"asked={level}; sent={level}; why=body"


def test_a_number_that_the_service_accepts_passes_unchanged():
    thinking = {"type": "enabled", "budget_tokens": 16_000}
    talk = _Talk("/v1/messages", {"max_tokens": 20_000, "thinking": thinking})
    talk.ask("claude-sonnet-4-5", "What is 2 + 2?")
    assert talk.got["thinking"] == thinking
    assert talk.got["max_tokens"] == 20_000


@pytest.mark.parametrize("level", ["low", "medium", "high", "max"])
def test_a_level_for_a_model_that_takes_tokens_alone_is_sent_as_tokens(level):
    fields = {"max_tokens": 32_000, "thinking": {"type": "adaptive"}}
    talk = _Talk("/v1/messages", fields)
    answer = talk.ask("claude-sonnet-4-5", "What is 2 + 2?", output_config={"effort": level})
    assert answer.status == 200
    assert talk.got["thinking"]["type"] == "enabled"
    assert "output_config" not in talk.got


@pytest.mark.parametrize(
    ("path", "fields", "home", "away"),
    [
        ("/v1/messages?beta=true", MESSAGES, "claude-opus-5", "gpt-5.5"),
        ("/v1/responses", RESPONSES, "gpt-5.5", "claude-opus-5"),
    ],
)
def test_fields_of_the_clients_wire_arrive_after_another_maker_answered(path, fields, home, away):
    talk = _Talk(path, fields)
    talk.ask(away, "What is 2 + 2?")
    talk.ask(home, "What is 3 + 3?")
    first = talk.got
    answer = talk.ask(home, "What is 4 + 4?")
    for got in (first, talk.got):
        assert {name: got.get(name) for name in fields} == fields
    assert "dropped_parameter" not in answer.headers.get("x-pondero-adjustments", "")


def test_betas_of_the_client_arrive_after_another_maker_answered():
    talk = _Talk("/v1/messages?beta=true", MESSAGES)
    talk.ask("gpt-5.5", "What is 2 + 2?")
    talk.ask("claude-opus-5", "What is 3 + 3?")
    entry = talk.emulator.log.entries[-1]
    assert set(BETAS.split(",")) <= set(entry.headers["anthropic-beta"].split(","))
    assert entry.path.endswith("?beta=true")


def test_a_cap_holds_after_another_maker_answered():
    talk = _Talk("/v1/messages", MESSAGES, thinking=LevelRules(cap="low"))
    talk.ask("gpt-5.5", "What is 2 + 2?")
    assert talk.got["reasoning"]["effort"] == "low"
    talk.ask("claude-opus-5", "What is 3 + 3?")
    assert talk.got["output_config"] == {"effort": "low"}


@pytest.mark.parametrize(
    ("path", "fields", "home", "away"),
    [
        ("/v1/messages", MESSAGES, "claude-opus-5", "gpt-5.5"),
        ("/v1/responses", RESPONSES, "gpt-5.5", "claude-opus-5"),
    ],
)
def test_a_seal_that_the_client_kept_wins_over_the_same_words_of_another(path, fields, home, away):
    talk = _Talk(path, fields)
    talk.ask(home, "What is 2 + 2?")
    seal = next(_seals(talk.said))
    other = _Talk(path, fields, app=talk.app)
    other.ask(away, "What is 2 + 2?")
    talk.ask(home, "What is 3 + 3?")
    assert list(_seals(talk.got)) == [seal]
    talk.ask(away, "What is 4 + 4?")
    talk.ask(home, "What is 5 + 5?")
    assert next(_seals(talk.got)) == seal


def _seals(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _seals(inner)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name in ("signature", "encrypted_content"):
                yield inner
            else:
                yield from _seals(inner)


def test_the_seal_of_a_call_comes_back_where_the_client_has_a_stand_in():
    """Gemini CLI does this to every call of a session that it resumes."""
    emulator = Emulator()
    route = GatewayRoute(match="*", to=("google:gemini-3-flash-preview",))
    app = App(GatewayContext(GatewayConfig(routes=(route,)), emulator))
    ask = {"role": "user", "parts": [{"text": "[emulator: call look {}] What is there?"}]}
    body: dict = {
        "contents": [ask],
        "tools": [{"functionDeclarations": [{"name": "look", "description": "Look."}]}],
    }

    def asked() -> dict:
        url = "http://gate/v1beta/models/gemini-3-flash-preview:generateContent"
        http = HttpRequest("POST", url, {"x-goog-api-key": "k"}, json.dumps(body).encode())
        answer = anyio.run(came, app, http)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)["candidates"][0]["content"]

    said = asked()
    call = next(part for part in said["parts"] if "functionCall" in part)
    own = call["thoughtSignature"]
    given = {"name": "look", "response": {"output": "an owl"}, "id": call["functionCall"]["id"]}
    body["contents"] += [
        {"role": "model", "parts": [{**call, "thoughtSignature": STAND_IN}]},
        {"role": "user", "parts": [{"functionResponse": given}]},
    ]
    asked()
    sent = json.dumps(emulator.log.entries[-1].body)
    assert own in sent
    assert STAND_IN not in sent


WORDS = {
    "anthropic": ("off", 8_000, "low", "medium", "high", "xhigh", "max"),
    "openai_responses": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "openai_chat": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "gemini": (0, -1, 8_000, "MINIMAL", "LOW", "MEDIUM", "HIGH"),
}


def _messages_words(word: str | int) -> dict:
    if word == "off":
        return {"thinking": {"type": "disabled"}}
    if isinstance(word, int):
        return {"thinking": {"type": "enabled", "budget_tokens": word}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}}


def _worded(front: str, model: str, word: str | int) -> tuple[str, dict]:
    """Return address and body of a request that says a level in the words of its wire."""
    said = [{"role": "user", "content": "What is 2 + 2?"}]
    if front == "anthropic":
        words = _messages_words(word)
        return "/v1/messages", {"model": model, "max_tokens": 32_000, "messages": said, **words}
    if front == "openai_responses":
        return "/v1/responses", {"model": model, "input": said, "reasoning": {"effort": word}}
    if front == "openai_chat":
        body = {"model": model, "messages": said, "reasoning_effort": word}
        return "/v1/chat/completions", body
    knob = "thinkingBudget" if isinstance(word, int) else "thinkingLevel"
    config = {"thinkingConfig": {knob: word}}
    contents = [{"role": "user", "parts": [{"text": "What is 2 + 2?"}]}]
    path = f"/v1beta/models/{model}:generateContent"
    return path, {"contents": contents, "generationConfig": config}


@pytest.mark.parametrize("front", WORDS)
def test_every_word_of_a_wire_reaches_every_model_on_it(front):
    """A model is asked under its own name; what it would refuse is said in its own way."""
    own = {
        entry.family: entry
        for entry in models()
        if entry.provider.dialect == front and entry.provider.exact
    }
    refused = []
    for entry in own.values():
        app = App(
            GatewayContext(
                GatewayConfig(routes=(GatewayRoute(match=entry.model, to=(entry.id,)),)), Emulator()
            )
        )
        for word in WORDS[front]:
            path, body = _worded(front, entry.model, word)
            headers = {"content-type": "application/json", "x-api-key": "k"}
            http = HttpRequest("POST", f"http://gate{path}", headers, json.dumps(body).encode())
            answer = anyio.run(came, app, http)
            if answer.status != 200:
                refused.append((entry.id, word, answer.body))
    assert own
    assert not refused


UNREAD = {
    "openai-chat:gpt-5.5": ("chat/completions", {"reasoning_effort": "huge"}, "reasoning_effort"),
    GPT: ("responses", {"reasoning": {"effort": "huge"}}, "reasoning.effort"),
    OPUS: ("messages", {"output_config": {"effort": "huge"}}, "output_config.effort"),
}


@pytest.mark.parametrize("cap", [None, "low"])
@pytest.mark.parametrize("model", UNREAD)
def test_a_level_that_nobody_knows_is_never_dropped_without_a_word(model, cap):
    path, said, name = UNREAD[model]
    thinking = LevelRules(cap=cap) if cap else LevelRules()
    routes = (GatewayRoute(match="m", to=(model,), retries=0, thinking=thinking),)
    app = App(GatewayContext(GatewayConfig(routes=routes), Emulator()))
    texts = {"input": "hi"} if path == "responses" else {"messages": [USER]}
    limit = {"max_tokens": 9000} if path == "messages" else {}
    body = {"model": "m", **limit, **texts, **said}
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    request = HttpRequest("POST", f"http://gate/v1/{path}", headers, json.dumps(body).encode())
    answer = anyio.run(came, app, request)
    dropped = f"dropped_parameter:{name}" in answer.headers.get("x-pondero-adjustments", "")
    assert answer.status == 200
    assert dropped or "asked=huge" in answer.headers["x-pondero-thinking"]


USER = {"role": "user", "content": "hi"}

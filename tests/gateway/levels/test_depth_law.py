"""The law of depth: whatever a client sends, what arrives asks for at most the cap.

The adversary takes the places from the vendors' own request types, and those that only servers of
other makers read from their pages. It writes them in every spelling, twice, and inside turns. The
judge reads the bytes that arrived with a parser of its own and knows nothing of ours.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.asgi import came
from tests.gateway.recorder import Recorder
from typing_extensions import TypeAliasType, get_type_hints, is_typeddict

from pondero import plan
from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, LevelRules
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.thinking import parse_intent

Pairs = list[tuple[str, Any]]
"""An object whose names may occur twice."""

USER = [("role", "user"), ("content", "Hi")]
PARTS = [("role", "user"), ("parts", [[("text", "Hi")]])]
BLOCKS = [("role", "user"), ("content", [[("text", "Hi")]])]
STEP = [("type", "user_input"), ("content", [[("type", "text"), ("text", "Hi")]])]
CLIENTS: dict[str, tuple[str, str, list[Any]]] = {
    "anthropic": ("/v1/messages", "messages", [USER]),
    "openai_responses": ("/v1/responses", "input", [USER]),
    "openai_chat": ("/v1/chat/completions", "messages", [USER]),
    "gemini": ("/v1beta/models/m:generateContent", "contents", [PARTS]),
    "interactions": ("/v1beta/interactions", "input", [STEP]),
    "ollama": ("/api/chat", "messages", [USER]),
    "cohere": ("/v2/chat", "messages", [USER]),
    "bedrock": ("/model/m/converse", "messages", [BLOCKS]),
}
HOMES = {
    "anthropic": [
        "anthropic:claude-opus-5",
        "anthropic:claude-sonnet-4-5",
        "anthropic:claude-opus-4-5",
    ],
    "openai_responses": ["openai:gpt-5.5", "openai:gpt-6-sol", "openai:somebodys-own"],
    "openai_chat": ["openai-chat:gpt-5.5", "openai-chat:gpt-5", "openai-chat:somebodys-own"],
    "gemini": ["google:gemini-2.5-flash", "google:gemini-3-flash-preview"],
    "interactions": [
        "google-interactions:gemini-2.5-flash",
        "google-interactions:gemini-3-flash-preview",
    ],
    "ollama": ["ollama:gpt-oss:20b", "ollama:qwen3", "ollama:somebodys-own"],
    "cohere": ["cohere:command-a-reasoning-08-2025"],
    "bedrock": ["bedrock:anthropic.claude-opus-5", "bedrock:openai.gpt-oss-20b"],
}
AWAY = [
    *("deepseek:deepseek-v4-flash", "openrouter:openai/gpt-5.6-sol", "dashscope:qwen3.8"),
    "openrouter:anthropic/claude-opus-5",
]
UPSTREAMS = [*(model for models in HOMES.values() for model in models), *AWAY]

# -- the adversary's places ------------------------------------------------------------------

DEPTH_NAME = re.compile(r"effort|budget|think|reasoning", re.IGNORECASE)
OTHER = {"svg_usage", "task_budget", "thinking_tokens", "reasoning_content", "budget_exceeded"}
CLOSED = {"content", "tools", "tool_choice", "metadata", "text", "response_format", "summary"}
# What servers of some maker read from the top of a body, whatever API it is written in.
FOREIGN = [
    *("reasoning_effort", "effort", "reasoning.effort", "reasoning.max_tokens", "thinking.effort"),
    *("thinking.budget_tokens", "output_config.effort", "thinking_budget", "reasoning_budget"),
    *("thinking_token_budget", "thinking_budget_tokens", "reasoning_budget_tokens"),
]
# What other makers' servers read from a Chat request (their pages and sources, 2026-11-15).
CHAT = [
    *("reasoning.effort", "reasoning.max_tokens", "reasoning.enabled", "thinking.type"),
    *("thinking.budget_tokens", "enable_thinking", "thinking_budget", "thinking_token_budget"),
    *("reasoning_budget", "reasoning_budget_tokens", "thinking_budget_tokens"),
    *("chat_template_kwargs.enable_thinking", "chat_template_kwargs.thinking_budget"),
    *("chat_template_kwargs.reasoning_effort", "extra_body.google.thinking_config.thinking_level"),
    *("extra_body.reasoning_effort", "google.thinking_config.thinking_budget"),
    *("messages[].configuration_update.reasoning.effort", "messages[].output_config.effort"),
    "verbosity",  # OpenRouter: Claude's effort; elsewhere the length of the answer
]
# The budget is in no type of Interactions, and generateContent's names are not either.
INTERACTIONS = [
    *("generation_config.thinking_budget", "generation_config.thinking_config.thinking_level"),
    *("generation_config.thinking_config.thinking_budget", "thinking_config.thinking_level"),
]
ADDED = "additionalModelRequestFields"
BEDROCK = [
    *(f"{ADDED}.thinking.budget_tokens", f"{ADDED}.output_config.effort", "outputConfig.effort"),
    *(f"{ADDED}.reasoning_config", f"{ADDED}.reasoning_config.budget_tokens"),
    *(f"{ADDED}.reasoningConfig.maxReasoningEffort", f"{ADDED}.reasoning_effort"),
    f"{ADDED}.inferenceConfig.reasoningConfig.maxReasoningEffort",
    *(f"{ADDED}.reasoning.effort", f"{ADDED}.thinking.type"),
]


def walk(kind: Any, at: str = "", seen: tuple[Any, ...] = ()) -> Iterator[str]:
    """Yield the paths of a vendor's request type that name depth, as a.b[].c."""
    kind = kind.__value__ if isinstance(kind, TypeAliasType) else kind
    origin, inside = get_origin(kind), get_args(kind)
    if kind in seen or origin in (dict, Literal):
        inside = ()
    if origin in (Union, UnionType):
        for member in inside:
            yield from walk(member, at, seen)
    elif is_typeddict(kind) or hasattr(kind, "model_fields"):
        if kind not in seen:
            for name, inner in _hints(kind).items():
                yield from walk(inner, f"{at}.{name}" if at else name, (*seen, kind))
    elif isinstance(origin, type) and issubclass(origin, Iterable) and inside:
        yield from walk(inside[0], f"{at}[]", seen)
    else:
        *above, name = at.split(".")
        names_depth = DEPTH_NAME.search(name)
        if name in ("type", "mode") and above:
            names_depth = DEPTH_NAME.search(above[-1])
        if names_depth and "[]" not in name:
            yield at


def _hints(kind: Any) -> dict[str, Any]:
    if is_typeddict(kind):
        hints = get_type_hints(kind)
    else:
        hints = {name: field.annotation for name, field in kind.model_fields.items()}
    return {name: inner for name, inner in hints.items() if name not in CLOSED | OTHER}


@cache
def places_of(client: str) -> list[str]:
    """Return every place in which a request of this API can name depth."""
    from anthropic.types.beta.message_create_params import MessageCreateParamsBase
    from cohere.types.thinking import Thinking
    from google.genai.interactions import CreateModelInteractionParam
    from google.genai.types import ThinkingConfig
    from ollama._types import ChatRequest
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

    found = {
        "anthropic": lambda: walk(MessageCreateParamsBase),
        "openai_responses": lambda: walk(ResponseCreateParamsBase),
        "openai_chat": lambda: [*walk(CompletionCreateParamsBase), *CHAT],
        "gemini": lambda: walk(ThinkingConfig, "generationConfig.thinkingConfig"),
        "interactions": lambda: [*walk(CreateModelInteractionParam), *INTERACTIONS],
        "ollama": lambda: walk(ChatRequest),
        "cohere": lambda: walk(Thinking, "thinking"),
        "bedrock": lambda: BEDROCK,
    }[client]()
    thoughts = {"messages[].thinking"}  # what a model thought, and no depth
    foreign = FOREIGN if client != "bedrock" else []
    return sorted({*found, *foreign} - thoughts)


def test_the_vendors_types_name_the_places_that_we_know():
    assert {
        "thinking.budget_tokens",
        "output_config.effort",
        "messages[].output_config.effort",
    } <= {*places_of("anthropic")}
    assert {"reasoning.effort", "reasoning.mode", "input[].reasoning.effort"} <= {
        *places_of("openai_responses")
    }
    assert "reasoning_effort" in places_of("openai_chat")
    assert "generationConfig.thinkingConfig.thinking_budget" in places_of("gemini")
    assert "generation_config.thinking_level" in places_of("interactions")
    assert {*places_of("ollama")} - {*FOREIGN} == {"think"}
    assert {*places_of("cohere")} - {*FOREIGN} == {"thinking.token_budget", "thinking.type"}


# -- the adversary's writing ------------------------------------------------------------------


def dump(value: Any, *, escape: bool = False) -> str:
    """Write JSON whose names may occur twice; ``escape`` writes names with escapes."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        pairs = (
            f"{_name(name, escape=escape)}:{dump(inner, escape=escape)}" for name, inner in value
        )
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(dump(each, escape=escape) for each in value)}]"
    return json.dumps(value)


def _name(name: str, *, escape: bool) -> str:
    if escape and DEPTH_NAME.search(name):
        return f'"\\u{ord(name[0]):04x}{name[1:]}"'
    return json.dumps(name)


def respell(path: str, style: str) -> str:
    """Return a path in another spelling."""
    if style == "camel":
        return re.sub(r"_([a-z])", lambda found: found[1].upper(), path)
    if style == "snake":
        return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", path)
    return path.upper() if style == "upper" else path


def inject(body: Pairs, path: str, value: Any, *, twice: bool) -> None:
    """Put a value at a path; ``twice`` writes objects that are there a second time."""
    name, _, rest = path.partition(".")
    if name.endswith("[]"):
        turns = next((inner for key, inner in body if key == name[:-2]), None)
        if turns is None:
            turns = []
            body.append((name[:-2], turns))
        turn: Pairs = [("role", "system"), ("content", [])]
        if name == "fallbacks[]":
            turn = [("model", "claude-opus-5")]
        if "reasoning" in rest and "configuration" not in rest:
            turn = [("type", "configuration_update")]
        inject(turn, rest, value, twice=twice)
        turns.append(turn)
        return
    if not rest:
        body.append((name, value))
        return
    held = next((inner for key, inner in body if key == name and isinstance(inner, list)), None)
    if held is None or twice:
        held = []
        body.append((name, held))
    inject(held, rest, value, twice=twice)


def fill(path: str, word: str, number: int) -> Any:
    """Return a value that fits a place."""
    name = re.split(r"[.\[\]]+", path)[-1].lower().replace("_", "")
    if "budget" in name or name == "maxtokens":
        return number
    if name in ("enablethinking", "enabled", "thinking", "includethoughts"):
        return True
    if name == "type":
        return "enabled"
    return "pro" if name == "mode" else word


# -- the judge ----------------------------------------------------------------------------------

ORDER = {
    "none": 0,
    "off": 0,
    "disabled": 0,
    "false": 0,
    "minimal": 1_024,
    "low": 4_096,
    "medium": 8_192,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 64_000,
    "ultra": 128_000,
}
SPOKEN = {"effort", "reasoningeffort", "thinkinglevel", "maxreasoningeffort", "think"}
COUNTED = {
    *("budgettokens", "thinkingbudget", "tokenbudget", "thinkingtokenbudget", "reasoningbudget"),
    *("reasoningbudgettokens", "thinkingbudgettokens"),
}
HOLDERS = {"reasoning", "thinking", "outputconfig", "thinkingconfig", "reasoningconfig"}


def fold(name: str) -> str:
    return name.replace("_", "").casefold()


def read(data: bytes) -> Any:
    return json.loads(data, object_pairs_hook=lambda pairs: [("{}", True), *pairs])


def judge(value: Any, inside: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (place, value) for every depth of a body, and a place "twice" for a repeated one."""
    if isinstance(value, list) and value and value[0] == ("{}", True):
        names = [fold(name) for name, _ in value]
        for name in {each for each in names if names.count(each) > 1}:
            if name in SPOKEN | COUNTED | HOLDERS | {"generationconfig", "model"}:
                yield "twice", name
        for name, inner in value[1:]:
            folded = fold(name)
            if (
                (folded in SPOKEN | COUNTED and not isinstance(inner, list))
                or (inside == "reasoning" and folded in ("maxtokens", "mode"))
                or (folded in HOLDERS and isinstance(inner, str))
            ):
                yield name, inner
            elif folded not in ("parameters", "inputschema"):
                yield from judge(inner, folded)
    elif isinstance(value, list):
        for each in value:
            yield from judge(each, inside)


def find_excess(body: bytes, upstream: str, cap: str) -> list[tuple[str, Any]]:
    """Return what asks for more than the cap, in this model's own tokens or words."""
    capped = plan(upstream, parse_intent(cap))
    least = plan(upstream, "off")
    tokens = int(cap) if cap.isdigit() else (capped.budget or ORDER[cap])
    figure = int(cap) if cap.isdigit() else ORDER[cap]
    excess = []
    said = [*judge(read(body))]
    if "claude" in upstream:
        said += [(name, json.loads(body)[name]) for name in json.loads(body) if name == "verbosity"]
    for name, value in said:
        if isinstance(value, bool) or value is None or value == "standard":
            continue
        if isinstance(value, int):
            above = value < 0 or value > max(tokens, least.budget or 0)
        else:
            lowest = 0 if least.level in (None, "off", "on") else ORDER[least.level]
            above = name in ("twice", "mode") or ORDER.get(value.lower(), 10**9) > max(
                figure, lowest
            )
            above = above and value.lower() not in ("enabled", "adaptive", "default")
        if above:
            excess.append((name, value))
    return excess


# -- the law ---------------------------------------------------------------------------------


def arrived(client: str, upstream: str, text: str, rules: LevelRules) -> list[bytes]:
    """Return the bodies that reach the service for one request to the gateway."""
    recorder = Recorder()
    route = GatewayRoute(match="*", to=(upstream,), thinking=rules, retries=0)
    app = App(GatewayContext(GatewayConfig(routes=(route,)), recorder))
    headers = {"content-type": "application/json", "x-api-key": "k"}
    path = CLIENTS[client][0].replace("m:", f"{upstream.split(':', 1)[1]}:").replace(":20b:", ":")
    http = HttpRequest("POST", f"http://gate{path}", headers, text.encode())
    answer = anyio.run(came, app, http)
    assert answer.status != 500, (text, answer.body)
    return recorder.bodies


def start(client: str, upstream: str) -> Pairs:
    """Return the shortest request of an API."""
    _, turns, said = CLIENTS[client]
    body: Pairs = [(turns, [list(each) for each in said])]
    if client not in ("gemini", "bedrock"):
        body.insert(0, ("model", upstream.split(":", 1)[1]))
    if client == "anthropic":
        body.append(("max_tokens", 60_000))
    if client == "cohere":
        body.append(("thinking", [("type", "enabled")]))
    return body


@pytest.mark.parametrize("client", CLIENTS)
def test_no_single_place_passes_the_cap(client):
    seen = 0
    for upstream in [*HOMES[client], AWAY[0], AWAY[-1]]:
        for path in places_of(client):
            body = start(client, upstream)
            inject(body, path, fill(path, "max", 60_000), twice=False)
            for data in arrived(client, upstream, dump(body), LevelRules(cap="low")):
                seen += 1
                assert not find_excess(data, upstream, "low"), (upstream, path, data)
    assert seen > len(places_of(client)), seen


@st.composite
def attacks(draw: st.DrawFn) -> tuple[str, str, str, str]:
    """A client API, an upstream, a cap, and a body that tries to pass it."""
    client = draw(st.sampled_from(sorted(CLIENTS)))
    upstream = draw(st.sampled_from([*HOMES[client] * 3, *UPSTREAMS]))
    body = start(client, upstream)
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(places_of(client)))
        style = draw(st.sampled_from(["plain", "plain", "camel", "snake", "upper"]))
        path = path if "[]" in path else respell(path, style)
        word = draw(st.sampled_from(["low", "medium", "high", "xhigh", "max", "ultra"]))
        value = fill(path, word, draw(st.integers(1_024, 59_000)))
        inject(body, path, value, twice=draw(st.booleans()))
    cap = draw(st.sampled_from(["minimal", "low", "medium", "high", "2000", "9000"]))
    return client, upstream, cap, dump(body, escape=draw(st.booleans()))


@given(attacks())
def test_whatever_a_client_sends_at_most_the_cap_arrives(attack):
    client, upstream, cap, text = attack
    for data in arrived(client, upstream, text, LevelRules(cap=cap)):
        assert not find_excess(data, upstream, cap), data


@given(attacks())
def test_whatever_a_client_sends_force_arrives(attack):
    client, upstream, _, text = attack
    for data in arrived(client, upstream, text, LevelRules(force="low")):
        assert not find_excess(data, upstream, "low"), data


@given(attacks())
def test_whatever_a_client_sends_at_least_the_floor_arrives(attack):
    client, upstream, _, text = attack
    floor = plan(upstream, "low")
    for data in arrived(client, upstream, text, LevelRules(floor="low")):
        stated = [value for name, value in judge(read(data)) if name not in ("twice", "mode")]
        for value in stated:
            if isinstance(value, str) and value.lower() in ORDER:
                assert ORDER[value.lower()] >= ORDER["low"], data
            elif isinstance(value, int) and not isinstance(value, bool):
                assert value >= (floor.budget or 0), data

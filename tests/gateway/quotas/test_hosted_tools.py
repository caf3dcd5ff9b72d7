"""The law of reservations for tools that services run: no request uses more than its budget.

The adversary draws every type of tool from the vendors' own request types; the service
(``generous_service``) serves as much as each request allows.
"""

import asyncio
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, get_args, get_origin

import pytest
from anthropic.types.beta import BetaToolUnionParam
from google.genai.types import ToolDict
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ToolParam
from tests.gateway.asgi import Came, came
from tests.gateway.generous_service import GenerousService, Served
from typing_extensions import get_type_hints

from pondero.canon import HttpRequest, Usage
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.store import price_usage

MODELS = {
    "messages": "anthropic:claude-opus-5",
    "responses": "openai:gpt-5.6",
    "chat": "openai-chat:gpt-5.5",
    "gemini": "google:gemini-3-flash-preview",
}
PATHS = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/m:generateContent",
}
FUNCTION: dict[str, dict[str, Any]] = {
    "messages": {"name": "look", "input_schema": {"type": "object"}},
    "responses": {"type": "function", "name": "look", "parameters": {"type": "object"}},
    "chat": {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
    "gemini": {"functionDeclarations": [{"name": "look"}]},
}
LIMITS: dict[str, str] = {
    "messages": "max_tokens",
    "responses": "max_output_tokens",
    "chat": "max_tokens",
}


def _words(kind: Any) -> list[str]:
    """Return the values of a type that may be ``Required``, optional or a union."""
    if get_origin(kind) is Literal:
        return [each for each in get_args(kind) if isinstance(each, str)]
    return [word for each in get_args(kind) for word in _words(each)]


def _types(union: Any) -> list[tuple[str, bool]]:
    """Return the types of tools, and whether each takes ``max_uses``."""
    found = []
    for each in get_args(union):
        hints = get_type_hints(each, include_extras=True)
        found += [(word, "max_uses" in hints) for word in _words(hints["type"])]
    return found


ANTHROPIC, OPENAI = _types(BetaToolUnionParam), _types(ToolParam)
GEMINI = sorted({*get_type_hints(ToolDict)} - {"function_declarations", "mcp_servers"})


@st.composite
def _anthropic_tools(draw: st.DrawFn) -> dict[str, Any]:
    kind, is_limited = draw(st.sampled_from(ANTHROPIC))
    if kind == "custom":
        return FUNCTION["messages"]
    name = kind.rpartition("_2")[0] or kind
    tool: dict[str, Any] = {"type": kind, "name": name}
    if is_limited and (uses := draw(st.sampled_from([None, None, 1, 2, 8]))):
        tool["max_uses"] = uses
    if name == "advisor":
        tool["model"] = draw(st.sampled_from(["claude-opus-5", "claude-haiku-4-5"]))
        if most := draw(st.sampled_from([None, 1024, 50_000])):
            tool["max_tokens"] = most
    return tool


@st.composite
def _openai_tools(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from([kind for kind, _ in OPENAI]))
    tool: dict[str, Any] = {"type": kind}
    if kind in ("function", "custom", "namespace"):
        tool["name"] = draw(st.sampled_from(["look", "web_search"]))
    if kind == "namespace":
        tool |= {"description": "Some.", "tools": [draw(_openai_tools())]}
    if kind == "tool_search" and draw(st.booleans()):
        tool["execution"] = draw(st.sampled_from(["server", "client"]))
    if kind == "shell" and draw(st.booleans()):
        tool["environment"] = {"type": draw(st.sampled_from(["local", "container_auto"]))}
    return tool


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.title() for each in rest)


TOOLS = {
    "messages": _anthropic_tools(),
    "responses": _openai_tools(),
    "gemini": st.sampled_from([{_camel(name): {}} for name in GEMINI]),
    "chat": st.just(FUNCTION["chat"]),
}


PDF = "https://example.com/report.pdf"
BY_URL = {"type": "document", "source": {"type": "url", "url": PDF}}
FILES: dict[str, list[dict[str, Any]]] = {
    "messages": [
        BY_URL,
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "tool_result", "tool_use_id": "t", "content": [BY_URL]},
    ],
    "responses": [
        {"type": "input_file", "file_url": PDF},
        {"type": "input_file", "file_id": "file-1"},
    ],
    "chat": [
        {"type": "file", "file": {"file_data": PDF, "filename": "report.pdf"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "video_url", "video_url": {"url": "https://example.com/film.mp4"}},
    ],
    "gemini": [{"fileData": {"fileUri": PDF, "mimeType": "application/pdf"}}],
}
"""Files that are not in the request (types of the vendors' SDKs; OpenRouter, PDF and video)."""


def write_file(api: str, part: dict[str, Any]) -> dict[str, Any]:
    """Return a conversation with a file."""
    if api == "gemini":
        return {"contents": [{"role": "user", "parts": [part, {"text": "What is in it?"}]}]}
    turns: list[dict[str, Any]] = [{"role": "user", "content": [part]}]
    if part["type"] == "tool_result":
        call = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
        asked = {"role": "user", "content": "Look."}
        turns = [asked, {"role": "assistant", "content": [call]}, *turns]
    return {"input" if api == "responses" else "messages": turns}


@st.composite
def bodies(draw: st.DrawFn, api: str) -> dict[str, Any]:
    tools = draw(st.lists(TOOLS[api], max_size=3))
    if draw(st.booleans()):
        tools = [FUNCTION[api], *tools]
    body: dict[str, Any] = {"tools": tools} if tools else {}
    if draw(st.integers(0, 3)) == 0:
        body |= write_file(api, draw(st.sampled_from(FILES[api])))
    most = draw(st.sampled_from([None, 2000, 100_000]))
    if api == "messages":
        body["thinking"] = draw(st.sampled_from([{"type": "disabled"}, {"type": "adaptive"}]))
        most = most or 4000
    if api == "responses":
        modes = [{}, {"effort": "none"}, {"mode": "pro"}, {"mode": "pro", "effort": "none"}]
        body["reasoning"] = draw(st.sampled_from(modes))
        if draw(st.integers(0, 4)) == 0:  # tools that come with a turn
            later = {"type": "additional_tools", "role": "developer", "tools": tools}
            said = body.get("input") or [{"role": "user", "content": "Hi"}]
            body = {**body, "tools": [], "input": [*said, later]}
    if api == "chat" and draw(st.booleans()):
        body["web_search_options"] = draw(st.sampled_from([{}, {"search_context_size": "low"}]))
    if api == "gemini":
        return {**body, "generationConfig": {"maxOutputTokens": most}} if most else body
    return {**body, LIMITS[api]: most} if most else body


def ask(
    api: str, several: Sequence[dict[str, Any] | str], budget: SpendBudget, model: str | None = None
) -> tuple[GenerousService, list[Came], list[Receipt]]:
    """Send requests at once; return the service, the answers and the records."""
    receipts: list[Receipt] = []
    service = GenerousService()
    key = GatewayKey("ci", hash_key("the-key"), budget=budget)
    routes = (GatewayRoute(match="*", to=(model or MODELS[api],)),)
    gate = GatewayContext(
        GatewayConfig(routes=routes, keys=(key,)), service, observers=[receipts.append]
    )
    app = App(gate)
    headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
    user = [{"role": "user", "content": "What is 17 * 23?"}]
    said: dict[str, dict[str, Any]] = {
        "responses": {"input": user},
        "gemini": {"contents": [{"parts": [{"text": "Hi"}]}]},
    }

    def write(body: dict[str, Any] | str) -> HttpRequest:
        if isinstance(body, str):  # of a client that writes what no encoder does
            return HttpRequest("POST", f"http://gateway{PATHS[api]}", headers, body.encode())
        # A request that names its model reaches the service as it is, whatever the model takes.
        name = "m" if model else MODELS[api]
        whole = {"model": name, **said.get(api, {"messages": user}), **body}
        if api in ("gemini", "converse"):
            del whole["model"]
        path = PATHS.get(api, "/model/m/converse")
        return HttpRequest("POST", f"http://gateway{path}", headers, json.dumps(whole).encode())

    async def ask_all() -> list[Came]:
        return await asyncio.gather(*(came(app, write(body)) for body in several))

    return service, asyncio.run(ask_all()), receipts


ROOMS = [6_000, 60_000, 1_200_000, 2_500_000, 12_000_000, 40_000_000]
COSTS = [None, 0.05, 1, 6, 30, 300]


def _price(served: Served) -> Decimal:
    """Return what the services charge."""
    provider = {model.partition(":")[2]: model.partition(":")[0] for model in MODELS.values()}
    usages = [(served.model, served.input, served.output), *served.advice]
    prices = [
        price_usage(provider.get(model, "anthropic"), model, Usage(size, output=most))
        for model, size, most in usages
    ]
    return sum((price for price in prices if price is not None), Decimal(0))


@pytest.mark.parametrize("api", PATHS)
@given(data=st.data())
def test_no_request_uses_more_than_its_budget(api, data):
    several = data.draw(st.lists(bodies(api), min_size=1, max_size=3))
    tokens, thinking = data.draw(st.sampled_from(ROOMS)), data.draw(st.sampled_from(ROOMS))
    cost = data.draw(st.sampled_from(COSTS))
    model = data.draw(st.sampled_from([MODELS[api], *MODELS.values()]))
    budget = SpendBudget(tokens=tokens, thinking_tokens=thinking, cost=cost, per="month")
    service, answers, receipts = ask(api, several, budget, model)

    told = (service.bodies, service.served)
    assert service.total <= tokens, told
    assert service.thinking <= thinking, told
    charged = sum(map(_price, service.served), Decimal(0))
    assert cost is None or charged <= cost, told
    assert sum(each.usage.known_total for each in receipts) == service.total
    assert sum((each.cost or Decimal(0) for each in receipts), Decimal(0)) == charged
    for answer in answers:
        assert answer.status in (200, 400, 429), answer


@pytest.mark.parametrize("api", PATHS)
@given(data=st.data())
def test_a_budget_one_token_below_what_a_request_takes_holds(api, data):
    body = data.draw(bodies(api))
    model = data.draw(st.sampled_from([MODELS[api], *MODELS.values()]))
    free, _, _ = ask(api, [body], SpendBudget(tokens=10**12), model)
    if not free.served:
        return  # the model cannot be asked so

    service, _, _ = ask(api, [body], SpendBudget(tokens=free.total - 1), model)
    assert service.total < free.total, (service.bodies, free.served)
    if free.thinking:
        service, _, _ = ask(api, [body], SpendBudget(thinking_tokens=free.thinking - 1), model)
        assert service.thinking < free.thinking, (service.bodies, free.served)
    charged = sum(map(_price, free.served), Decimal(0))
    cost = float(charged * Decimal("0.999"))
    service, _, _ = ask(api, [body], SpendBudget(cost=cost), model)
    assert sum(map(_price, service.served), Decimal(0)) <= cost, (service.bodies, free.served)


# -- each promise by itself ----------------------------------------------------------------------

SEARCH: dict[str, dict[str, Any]] = {
    "messages": {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
    "responses": {"type": "web_search"},
    "gemini": {"googleSearch": {}},
}


@pytest.mark.parametrize("api", SEARCH)
def test_a_search_that_no_budget_covers_is_rejected_by_name(api):
    body = {"tools": [SEARCH[api]], "max_tokens": 2000}
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=100_000))

    assert (answer.status, service.served) == (429, [])
    name = "googleSearch" if api == "gemini" else "web_search"
    assert f"{name}: the service runs it itself" in answer.body.decode()


@pytest.mark.parametrize(
    ("api", "tool"),
    [
        ("gemini", {"url_context": {}}),
        ("gemini", {"urlContext": {}}),
        ("messages", {"type": "mcp_toolset", "mcp_server_name": "files"}),
        ("messages", {"type": "web_fetch_20250910", "name": "web_fetch"}),
        ("responses", {"type": "mcp", "server_label": "x", "server_url": "https://example.com"}),
    ],
)
def test_a_tool_that_is_the_only_one_is_not_left_out(api, tool):
    """Whatever the client calls it: without the tool the answer would be another one."""
    body: dict[str, Any] = {"tools": [tool]}
    body |= {"max_tokens": 2000} if api == "messages" else {}
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=100_000))

    assert (answer.status, service.bodies) == (429, [])


@pytest.mark.parametrize("api", SEARCH)
def test_among_other_tools_it_is_left_out(api):
    """As agents send it: the search is one tool of many, and a small budget blocks no agent."""
    body = {"tools": [FUNCTION[api], SEARCH[api]]}
    if api == "messages":
        body["max_tokens"] = 2000
    service, (answer,), (receipt,) = ask(api, [body], SpendBudget(tokens=100_000))

    assert answer.status == 200
    assert service.bodies[0]["tools"] == [FUNCTION[api]]
    assert "budget_tools" in answer.headers["x-pondero-adjustments"]
    assert "budget_tools" in receipt.adjustments


def test_a_search_of_converse_is_reserved():
    tools = {"tools": [{"systemTool": {"name": "nova_grounding"}}]}
    user = [{"role": "user", "content": [{"text": "Hi"}]}]
    body = {"messages": user, "toolConfig": tools, "inferenceConfig": {"maxTokens": 2000}}
    budget = SpendBudget(tokens=100_000)
    service, (answer,), _ = ask("converse", [body], budget, "bedrock:amazon.nova-2-lite-v1:0")

    assert (answer.status, service.bodies) == (429, [])
    assert b"systemTool: the service runs it itself" in answer.body


@pytest.mark.parametrize("choice", [{"type": "web_search"}, {"type": "tool", "name": "web_search"}])
def test_a_search_that_is_forced_is_not_left_out(choice):
    api = "responses" if "name" not in choice else "messages"
    body = {"tools": [FUNCTION[api], SEARCH[api]], "tool_choice": choice, LIMITS[api]: 2000}
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=100_000))

    assert (answer.status, service.served) == (429, [])


@pytest.mark.parametrize("api", ["messages", "responses"])
def test_a_budget_lowers_the_uses_of_a_search(api):
    """Eight searches of Anthropic are eight windows; a budget for two and a half covers two."""
    body = {"tools": [SEARCH[api]], "max_tokens": 2000}
    budget = SpendBudget(tokens=2_500_000)
    service, (answer,), _ = ask(api, [body], budget, MODELS["messages"])

    assert answer.status == 200
    assert service.bodies[0]["tools"][0]["max_uses"] == 2
    assert "budget_tools" in answer.headers["x-pondero-adjustments"]


@pytest.mark.parametrize("api", PATHS)
def test_tools_of_the_client_reserve_nothing(api):
    body = {"tools": [FUNCTION[api]]}
    body |= {"max_tokens": 2000} if api == "messages" else {}
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=6000))

    assert answer.status == 200
    assert service.total <= 6000


def test_thinking_above_every_level_is_reserved():
    body = {"reasoning": {"effort": "none", "mode": "pro"}, "max_output_tokens": 50_000}
    service, (answer,), _ = ask("responses", [body], SpendBudget(thinking_tokens=20_000))

    assert answer.status == 200
    assert 10_000 < service.thinking <= 20_000


def test_a_summary_of_a_long_prompt_is_reserved():
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    body = {"max_tokens": 2000, "context_management": {"edits": [edit]}}
    budget = SpendBudget(tokens=200_000)
    assert ask("messages", [body], budget)[1][0].status == 200
    long = {**body, "system": "word " * 60_000}
    assert ask("messages", [long], budget)[1][0].status == 429


# -- tools in other places -----------------------------------------------------------------------

USER = {"role": "user", "content": "Hi"}


def _add_tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool}}


@pytest.mark.parametrize(
    "tool",
    [
        SEARCH["messages"],
        {"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-5"},
    ],
)
def test_a_tool_that_a_compaction_adds_is_reserved(tool):
    summary = {"type": "compaction", "content": "sum", "tool_changes": [_add_tool(tool)]}
    turns = [{"role": "assistant", "content": [summary]}, USER]
    body = {"max_tokens": 2000, "messages": turns}
    service, (answer,), _ = ask("messages", [body], SpendBudget(tokens=20_000))
    assert (answer.status, service.bodies) == (429, [])


def test_a_lone_tool_without_a_list_is_reserved():
    service, (answer,), _ = ask(
        "gemini", [{"tools": {"googleSearch": {}}}], SpendBudget(tokens=150_000)
    )
    assert (answer.status, service.bodies) == (429, [])


_TWICE = {"type": "custom", "typ_": "web_search_20250305", "name": "web_search"}


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (
            "messages",
            {
                "max_tokens": 9,
                "messages": [USER, {"role": "system", "content": [_add_tool(_TWICE)]}],
            },
        ),
        (
            "responses",
            {
                "input": [
                    USER,
                    {"type": "additional_tools", "role": "developer", "tools": [_TWICE]},
                ]
            },
        ),
        ("responses", {"input": "Hi", "tools": [_TWICE]}),
    ],
)
@pytest.mark.parametrize("name", ["type", "\\u0074ype"])
def test_a_tool_with_two_types_is_rejected_in_every_place(api, body, name):
    text = json.dumps({"model": MODELS[api], **body}).replace('"typ_"', f'"{name}"')
    service, (answer,), _ = ask(api, [text], SpendBudget(tokens=20_000_000))
    assert (answer.status, service.bodies) == (400, []), answer.body
    assert b"twice" in answer.body


def test_research_that_reads_more_than_a_window_is_reserved():
    """Perplexity's own example of the usage of sonar-deep-research has 221,046 tokens."""
    body = {"max_tokens": 2000}
    model = "perplexity:sonar-deep-research"
    service, (answer,), _ = ask("chat", [body], SpendBudget(tokens=221_046), model)
    assert (answer.status, service.bodies) == (429, [])
    assert ask("chat", [body], SpendBudget(tokens=1_000_000), model)[1][0].status != 429

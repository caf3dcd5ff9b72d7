"""Completions under a budget: however a request says how much may be written, that is counted."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.gateway.endpoint_gateway import make_gateway_key, secret, serving
from tests.gateway.endpoint_service import Asked, Served, serving_endpoints, until

from pondero.gateway.config.model import GatewayRoute, SpendBudget

BUDGET = 40_000
KEYS = (
    make_gateway_key("few", budget=SpendBudget(tokens=BUDGET), endpoints=("completions",)),
    make_gateway_key("free"),
)
ROUTES = (
    GatewayRoute(match="lax", to=("mistral:codestral-latest",)),
    GatewayRoute(match="instruct", to=("openai:gpt-3.5-turbo-instruct",)),
    GatewayRoute(match="either", to=("openai:gpt-3.5-turbo-instruct", "mistral:codestral-latest")),
    GatewayRoute(match="old", to=("anthropic:claude-2.1",)),
    GatewayRoute(match="local", to=("llamacpp:qwen3",)),
    GatewayRoute(match="v1", to=("cohere:command-r",)),
)
OPENAI, FIM = "/v1/completions", "/v1/fim/completions"


class Writer:
    """A service that takes numbers as pydantic does, and writes as much as it may."""

    def __init__(self) -> None:
        self.billed = 0
        self.default = 3_000
        self.names: tuple[str, ...] = ("max_tokens",)

    def __call__(self, asked: Asked) -> Served:
        body = json.loads(asked.body)
        times = max(self._read(body.get(name), 1) for name in ("n", "best_of"))
        times *= len(body["prompt"]) if isinstance(body["prompt"], list) else 1
        limit = next((body[name] for name in self.names if body.get(name) is not None), None)
        wrote = self._read(limit, self.default) * times
        self.billed += wrote
        place = {"delta": {"content": "word " * wrote}} if "fim" in asked.path else {}
        choice = {"index": 0, "text": "word " * wrote, "finish_reason": "length", **place}
        if place:
            del choice["text"]
        event = {"id": "c", "object": "text_completion", "choices": [choice]}
        text = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n"
        return Served(200, "text/event-stream", text.encode())

    def _read(self, value: Any, default: int) -> int:
        return default if value is None else int(float(value))


@pytest.fixture
def gateway() -> Iterator[Any]:
    with serving_endpoints() as service, serving(service, keys=KEYS, routes=ROUTES) as found:
        service.answer = found.writer = Writer()
        with httpx.Client(base_url=found.url, timeout=60) as http:
            found.http = http
            yield found


def ask(gateway: Any, path: str = OPENAI, key: str = "few", **body: Any) -> httpx.Response:
    whole = {"model": "lax", "prompt": "x", "stream": True, **body}
    headers = {"authorization": f"Bearer {secret(key)}"}
    return gateway.http.post(path, json=whole, headers=headers)


def count(gateway: Any, requests: int) -> int:
    until(lambda: len(gateway.seen) == requests)
    return sum(each.usage.known_total for each in gateway.seen)


SPELLINGS: list[dict[str, Any]] = [
    {"max_tokens": 15_000},
    {"max_tokens": 15_000.0},
    {"max_tokens": 14_999.5},
    {"max_tokens": 1.5e4},
    {"max_tokens": "15000"},
    {"max_tokens": " 15000 "},
    {"max_tokens": "15_000"},
    {"max_tokens": "15000.0"},
    {"max_tokens": 3, "n": 5_000},
    {"max_tokens": 3, "n": "5000"},
    {"max_tokens": "3", "best_of": 5_000.0},
    {"max_tokens": 3.0, "prompt": ["x"] * 3_000},
    {"max_tokens": True, "n": "15000"},
]


@pytest.mark.parametrize("path", [OPENAI, FIM])
@pytest.mark.parametrize("body", SPELLINGS, ids=lambda body: json.dumps(body)[:40])
def test_however_a_number_is_written_the_budget_counts_what_is_served(gateway, path, body):
    answers = [ask(gateway, path, **body) for _ in range(4)]
    assert [each.status_code for each in answers][:1] == [200]
    assert answers[-1].status_code == 429
    assert gateway.writer.billed <= count(gateway, len(answers))
    assert gateway.writer.billed <= BUDGET


@pytest.mark.parametrize("path", [OPENAI, FIM])
@pytest.mark.parametrize(
    "body",
    [{}, {"max_tokens": None}, {"max_tokens": -1}, {"max_tokens": "inf"}, {"max_tokens": []}],
)
def test_a_request_without_a_limit_does_not_leave_under_a_budget(gateway, path, body):
    answer = ask(gateway, path, **body)
    assert answer.status_code == 400
    assert "max_tokens" in answer.text
    assert gateway.service.asked == []


def test_the_default_of_openai_is_that_of_openai_alone(gateway):
    gateway.writer.default = 16
    assert ask(gateway, model="instruct").status_code == 200
    assert gateway.writer.billed <= count(gateway, 1) < 200
    assert ask(gateway, model="either").status_code == 400


def test_a_factor_that_is_no_number_counts_as_the_most(gateway):
    assert ask(gateway, max_tokens=1, n="many").status_code == 429
    assert gateway.service.asked == []


OTHER_NAMES = ["n_predict", "max_completion_tokens", "max_new_tokens", "max_length", "num_predict"]


@pytest.mark.parametrize("model", ["local", "lax", "instruct"])
@pytest.mark.parametrize("name", OTHER_NAMES)
def test_the_largest_of_all_names_for_the_limit_counts(gateway, model, name):
    gateway.writer.names = (name, "max_tokens")  # which one an engine reads
    answers = [ask(gateway, model=model, max_tokens=5, **{name: 15_000}) for _ in range(4)]
    assert [each.status_code for each in answers] == [200, 200, 429, 429]
    assert gateway.writer.billed <= count(gateway, 4) <= BUDGET
    assert ask(gateway, model=model, **{name: 9}).status_code == (
        200 if model == "instruct" else 400
    )


@pytest.mark.parametrize("body", [{"n_predict": -1}, {"n_predict": "x"}, {"n_cmpl": 90_000}])
def test_another_name_for_no_limit_does_not_leave_under_a_budget(gateway, body):
    assert ask(gateway, model="local", max_tokens=5, **body).status_code in (400, 429)
    assert gateway.service.asked == []


def test_a_limit_that_the_engine_ignores_is_none(gateway):
    assert ask(gateway, model="local", max_tokens="5").status_code == 400
    assert ask(gateway, model="local", max_tokens=5, n_predict="5").status_code == 400
    assert gateway.service.asked == []
    assert ask(gateway, model="local", max_tokens=5).status_code == 200


@pytest.mark.parametrize(
    "more",
    [
        {"conversation_id": "team-chat"},
        {"connectors": [{"id": "web-search"}]},
        {"Connectors": [{"id": "web-search"}]},
        {"preset": "long"},
    ],
)
def test_text_that_the_body_does_not_have_does_not_leave_under_a_budget(more):
    few = SpendBudget(tokens=BUDGET)
    keys = (
        make_gateway_key("few", budget=few, endpoints=("completions",), account_state=True),
        make_gateway_key("free", account_state=True),
    )
    with (
        serving_endpoints() as service,
        serving(service, keys=keys, routes=ROUTES) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as gateway.http,
    ):
        service.answer = lambda _: Served(200, "application/json", b'{"text": "hi"}')
        body = {"model": "v1", "message": "hi", "max_tokens": 5, "stream": False, **more}
        answer = ask(gateway, "/v1/chat", **body)
        assert (answer.status_code, service.asked) == (400, [])
        assert "an unknown number of tokens" in answer.text
        assert ask(gateway, "/v1/chat", key="free", **body).status_code == 200


def test_a_limit_that_is_there_twice_does_not_leave(gateway):
    headers = {"authorization": f"Bearer {secret('few')}"}
    for twice in (
        '"max_tokens": 9, "max_tokens": 90000',
        '"max_tokens": 9, "n": 90000, "n": 1',
        '"max_tokens": 9, "prompt": ["x"]',
    ):
        content = f'{{"model": "lax", "prompt": "x", {twice}}}'
        assert gateway.http.post(OPENAI, content=content, headers=headers).status_code == 400
    assert gateway.service.asked == []


class GoWriter(Writer):
    """A service that reads names as Go does: in any case, the last one of them; and 0 as no limit."""

    def __call__(self, asked: Asked) -> Served:
        pairs = json.loads(asked.body, object_pairs_hook=list)
        body = {name.casefold(): value for name, value in pairs}
        if not self._read(body.get("max_tokens"), 1):
            body["max_tokens"] = 80_000
        return super().__call__(asked._replace(body=json.dumps(body).encode()))


IN_ANY_CASE = [
    '"max_tokens": 16, "MAX_TOKENS": 30000',
    '"max_tokens": 16, "max_token\N{LATIN SMALL LETTER LONG S}": 30000',
    '"max_tokens": 16, "max_to\N{KELVIN SIGN}ens": 30000',
    '"max_tokens": 16, "N": 2000',
    '"max_tokens": 16, "Best_Of": "2000"',
    '"max_tokens": 16, "n": 1, "N": 2000',
    '"max_tokens": 16, "Prompt": ["x", "x"], "n": 1000',
    '"Max_Tokens": 30000',
]


@pytest.mark.parametrize("fields", IN_ANY_CASE)
def test_in_whatever_case_a_name_is_written_the_budget_counts_what_is_served(gateway, fields):
    gateway.service.answer = gateway.writer = GoWriter()
    headers = {"authorization": f"Bearer {secret('few')}"}
    content = f'{{"model": "lax", "prompt": "x", "stream": true, {fields}}}'.encode()
    answers = [gateway.http.post(OPENAI, content=content, headers=headers) for _ in range(3)]
    assert answers[-1].status_code in (400, 429)
    assert gateway.writer.billed <= count(gateway, 3)
    assert gateway.writer.billed <= BUDGET


@pytest.mark.parametrize("limit", [0, 0.4, -0.0, False])
def test_a_limit_of_nothing_is_none_for_some_services(gateway, limit):
    assert ask(gateway, max_tokens=limit).status_code == 400
    assert gateway.service.asked == []
    assert ask(gateway, model="instruct", max_tokens=limit).status_code == 200


@pytest.mark.parametrize("path", [OPENAI, FIM])
def test_a_service_that_writes_more_than_it_may_is_counted_by_its_text(gateway, path):
    gateway.writer.default = 80_000
    assert ask(gateway, path, key="free").status_code == 200
    (found,) = gateway.seen
    assert found.usage.output >= 80_000 * len("word ") // 8
    assert found.estimated


def test_a_number_beyond_any_model_is_counted_and_does_no_harm(gateway):
    gateway.service.answer = lambda _: Served(200, "application/json", b"{}")
    assert ask(gateway, key="free", max_tokens=10**40, n=10**40).status_code == 200
    assert ask(gateway, max_tokens="9" * 5_000).status_code in (400, 429)
    assert 0 < count(gateway, 2) <= 2**54


def _embed(gateway: Any, key: str, part: dict[str, Any]) -> httpx.Response:
    body = {"content": {"parts": [part]}}
    headers = {"x-goog-api-key": secret(key)}
    return gateway.http.post(
        "/v1beta/models/gemini-embedding-001:embedContent", json=body, headers=headers
    )


@pytest.mark.parametrize("field", ["fileUri", "file_uri"])
def test_a_file_of_unknown_length_does_not_leave_under_a_budget(field):
    named = {"fileData": {field: "https://generativelanguage.googleapis.com/v1beta/files/long"}}
    few = SpendBudget(tokens=BUDGET)
    keys = (
        make_gateway_key("few", budget=few, endpoints=("embeddings",), account_state=True),
        make_gateway_key("free", account_state=True),
    )
    with (
        serving_endpoints() as service,
        serving(service, keys=keys) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as gateway.http,
    ):
        answer = _embed(gateway, "few", named)
        assert (answer.status_code, service.asked) == (400, [])
        assert "a file of an unknown number of tokens" in answer.text
        assert _embed(gateway, "few", {"text": "Hello"}).status_code == 200
        assert _embed(gateway, "free", named).status_code == 200

"""Laws of endpoints: what rules close does not leave, and what is served is what is counted."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.gateway.endpoint_gateway import (
    KEYS,
    ROUTES,
    both,
    make_gateway_key,
    secret,
    serving,
)
from tests.gateway.endpoint_service import KEY, Asked, Served, until

from pondero.dialects import Endpoint, list_endpoints
from pondero.gateway.config.model import EndpointRoute, GatewayGroup, GatewayRoute, SpendBudget

EVERYTHING = tuple(
    EndpointRoute("*", name) for name in ("openai", "anthropic", "google", "cohere", "ollama")
)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both(endpoints=EVERYTHING) as found, httpx.Client(base_url=found.url, timeout=60) as http:
        found.http = http
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    gateway.service.reset()
    gateway.seen.clear()


def ask(gateway: Any, method: str, path: str, key: str = "plain", **more: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret(key)}", **more.pop("headers", {})}
    return gateway.http.request(method, path, headers=headers, **more)


HINTS = {"anthropic": {"anthropic-version": "2023-06-01"}, "gemini": {"x-goog-api-key": "x"}}
CALLS = [
    (row, call) for row in list_endpoints() for call in row.calls if not call.startswith("SOCKET")
]


def make_call(row: Endpoint, call: str) -> tuple[str, str, dict[str, Any]]:
    """Return method, path and content of a valid request."""
    method, _, path = call.partition(" ")
    version = {"openai": "/v1", "gemini": "/v1beta"}.get(row.api, "")
    path = f"{row.before}{version}{path}"
    for blank, value in (("{id}", "id-1"), ("{name}", "n1"), ("{model}", "text-embedding-x")):
        path = path.replace(blank, value)
    more: dict[str, Any] = {"headers": HINTS.get(row.api, {})}
    if row.model == "form":
        more |= {"data": {"model": "text-embedding-x"}, "files": {"file": ("a", b"abc")}}
    elif row.purpose is not None and row.purpose.call == call and row.name == "files":
        more |= {"data": {"purpose": "batch"}, "files": {"file": ("a", b"abc")}}
    elif method in ("POST", "PATCH", "PUT"):
        body: dict[str, Any] = {"model": "text-embedding-x"} if row.model == "json" else {}
        if row.lines is not None:
            params = {
                "model": "claude-opus-5",
                "max_tokens": 2000,
                "messages": [{"role": "user", "content": "hi"}],
            }
            body = {"requests": [{"custom_id": "a", "params": params}]}
        more["json"] = body
    return method, path, more


@pytest.mark.parametrize("below", ["", "the name of the API"])
@pytest.mark.parametrize(("row", "call"), CALLS, ids=lambda each: getattr(each, "name", each))
def test_what_the_rules_of_a_key_close_does_not_leave(gateway, row, call, below):
    method, path, more = make_call(row, call)
    path = f"/{row.api}{path}" if below else path
    expected = {"none", *(() if row.name == "embeddings" else ("embeds",))}
    makes_requests = row.purpose is not None and row.purpose.call == call
    if (row.carries and row.lines is None) or makes_requests:
        expected |= {"capped", "in-capped", "budget", "in-budget", "money", "limited"}
    if row.lines is not None:
        expected |= {"budget", "in-budget", "money", "limited"}
    if row.counts == "answer":
        expected |= {"budget", "in-budget", "money"}
    if row.carries and not row.model and row.lines is None:
        expected |= {"models"}
    for key in sorted(expected):
        answer = ask(gateway, method, path, key, **more)
        assert (key, answer.status_code) == (key, 403), answer.text
        assert row.name in answer.text
    assert gateway.service.asked == []
    until(lambda: len(gateway.seen) == len(expected))
    assert {each.endpoint for each in gateway.seen} == {row.name}


@pytest.mark.parametrize("below", ["", "the name of the API"])
@pytest.mark.parametrize(("row", "call"), CALLS, ids=lambda each: getattr(each, "name", each))
def test_every_call_of_the_table_reaches_its_service_at_the_same_path(gateway, row, call, below):
    gateway.service.answer = lambda _: Served(200, "application/json", b'{"id": "x"}')
    method, path, more = make_call(row, call)
    answer = ask(gateway, method, f"/{row.api}{path}" if below else path, "account", **more)
    assert answer.status_code == 200, answer.text
    (asked,) = gateway.service.asked
    assert asked.method == method
    assert asked.path.partition("/")[2].partition("/")[2] == path.removeprefix("/")
    assert KEY in " ".join(asked.headers.values()) or row.api == "ollama"
    until(lambda: gateway.seen)
    (found,) = gateway.seen
    assert (found.endpoint, found.status, found.tries) == (row.name, 200, 1)


@pytest.mark.parametrize("path", ["/v1/moderations", "/v1/rerank", "/v1/classify"])
def test_leaving_the_model_out_is_no_way_around_models_and_budgets_of_routes(gateway, path):
    answer = ask(gateway, "POST", path, "models", json={"input": "hi"})
    assert (answer.status_code, "model" in answer.text) == (400, True)
    dear = GatewayRoute(match="x", to=("openai:gpt-5.5",), budget=SpendBudget(tokens=10))
    with serving(gateway.service, routes=(dear,), endpoints=EVERYTHING) as routed:
        headers = {"authorization": f"Bearer {secret('plain')}"}
        answer = httpx.post(f"{routed.url}{path}", headers=headers, json={"input": "hi"})
    assert answer.status_code == 403
    assert gateway.service.asked == []


def test_a_run_of_an_eval_does_not_read_what_others_have_stored(gateway):
    gateway.service.answer = lambda _: Served(200, "application/json", b'{"id": "eval_mine"}')
    assert ask(gateway, "POST", "/v1/evals", "second", json={}).status_code == 200
    gateway.service.asked.clear()
    for source in ({"type": "file_id", "id": "file-1"}, {"type": "stored_completions"}):
        run = {"data_source": {"type": "jsonl", "source": source}}
        answer = ask(gateway, "POST", "/v1/evals/eval_mine/runs", "second", json=run)
        assert answer.status_code == 403
    assert gateway.service.asked == []


# -- other spellings -------------------------------------------------------------------------------

SPELLINGS = [
    "/v1/embeddings/",
    "/v1//embeddings",
    "//v1/embeddings",
    "/v1/./embeddings",
    "/v1/x/../embeddings",
    "/v1/%65mbeddings",
    "/v1/embeddings%2F",
    "/v1/embeddings;x=1",
    "/V1/embeddings",
    "/v1/Embeddings",
    "/v1/embeddings%00",
    "/v2/embeddings",
    "/v1/files/..",
    "/v1/files/../batches",
    "/v1/files/%2e%2e/batches",
    "/v1/files/a%2Fcontent",
    "/v1/files/a/../../batches",
    "/v1/vector_stores/../files",
    "/v1/organization/admin_api_keys",
    "/v1/assistants",
    "/v1/threads",
    "/v1/batches/x/results",
    "/v1beta/models/../files:embedContent",
    "/v1beta/models/a%2Fb:embedContent",
    "/v1beta/models/.:embedContent",
    "/upload/v1beta/../v1beta/files",
    "/upload/files",
    "/v1/realtime/client_secrets",
    "/v1/realtime/calls",
    "/v1beta/auth_tokens",
    "/v1/responses/compact",
    "/openai/openai/v1/embeddings",
    "/mistral/v1/embeddings",
    "/openai/../v1/embeddings",
    "/openai%2Fv1/embeddings",
    "/openai/v1/realtime/client_secrets",
    "/cohere/v1/files",
]


CLOSED = (
    *("/v1/realtime/client_secrets", "/v1/realtime/calls", "/v1beta/auth_tokens"),
    "/openai/v1/realtime/client_secrets",
)


@pytest.mark.parametrize("path", SPELLINGS)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_another_spelling_or_an_unknown_path_does_not_leave(gateway, path, method):
    status = ask_raw(gateway, method, path)
    assert gateway.service.asked == []
    if path in CLOSED:
        assert status == 403
    elif path.endswith("compact") and method in ("POST", "PUT", "PATCH"):
        assert status == 501
    elif (method, path[:14]) != ("GET", "/v1beta/models"):  # that is a list
        assert status == 404


def ask_raw(gateway: Any, method: str, path: str) -> int:
    """Ask for a path as it is: most clients resolve dots before they send."""
    connection = HTTPConnection(gateway.url.partition("://")[2], timeout=60)
    headers = {"authorization": f"Bearer {secret('plain')}", "content-type": "application/json"}
    connection.request(method, path, b'{"model": "text-embedding-x"}', headers)
    status = connection.getresponse().status
    connection.close()
    return status


steps = st.text(alphabet="abcv1./%:~;\\?#-", min_size=1, max_size=8)


@given(st.lists(steps, min_size=1, max_size=5), st.sampled_from(["GET", "POST", "DELETE"]))
def test_whatever_the_path_nothing_leaves_to_another_place(gateway, parts, method):
    gateway.service.reset()
    path = "/" + "/".join(parts)
    status = ask_raw(gateway, method, path)
    assert gateway.service.asked == []
    assert status >= 400 or path.startswith(("/?", "//", "/#")) or path == "/"


def make_batch(config: str, model: str) -> dict[str, Any]:
    requests = [{"request": {"model": model, "contents": []}}]
    return {"batch": {config: {"requests": {"requests": requests}}}}


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/v1/embeddings?model=other", {"json": {"model": "m"}}),
        ("/v1/embeddings?key=a&x=1", {"json": {"model": "m"}}),
        ("/v1/embeddings", {"content": b'{"model": "a", "Model": "b"}'}),
        ("/api/embed", {"content": b'{"MODEL": "a", "model": "b"}'}),
        ("/v1/embeddings", {"content": b'{"model": "a", "model": "b"}'}),
        ("/v1/embeddings", {"content": b'{"model": "a", "mod\\u0065l": "b"}'}),
        ("/v1/embeddings", {"content": b'{"model": ["a"]}'}),
        ("/v1/embeddings", {"content": b'["model"]'}),
        ("/v1/embeddings", {"content": b"not json"}),
        ("/v1/embeddings", {"content": b""}),
        ("/v1/embeddings", {"content": b'{"input": "x"}'}),
        ("/v1/audio/transcriptions?model=x", {"data": {"model": "m"}, "files": {"file": b"a"}}),
        ("/v1/audio/transcriptions", {"data": {"model": ["a", "b"]}, "files": {"file": b"a"}}),
        ("/v1/audio/transcriptions", {"files": {"file": b"a"}}),
        (
            "/v1/audio/transcriptions",
            {
                "content": b"model=m",
                "headers": {"content-type": "application/x-www-form-urlencoded"},
            },
        ),
        ("/v1beta/models/a:batchEmbedContents", {"json": {"requests": [{"model": "models/b"}]}}),
        ("/v1beta/models/a:embedContent", {"json": {"model": "models/b"}}),
        ("/v1beta/models/a:batchGenerateContent", {"json": {"batch": {"model": "models/b"}}}),
        ("/v1beta/models/a:batchGenerateContent", {"json": make_batch("inputConfig", "models/b")}),
        ("/v1beta/models/a:asyncBatchEmbedContent", {"json": make_batch("input_config", "b")}),
        (
            "/v1beta/models/a:batchGenerateContent",
            {"content": b'{"batch": {"model": "models/b"}, "batch": {}}'},
        ),
        ("/v1/vector_stores", {"content": b"{}", "headers": {"content-type": "text/plain"}}),
    ],
)
def test_a_model_that_two_readers_may_find_in_two_ways_does_not_leave(gateway, path, more):
    answer = ask(gateway, "POST", path, **more)
    assert answer.status_code in (400, 415), answer.text
    assert gateway.service.asked == []


# -- counts ----------------------------------------------------------------------------------------


@settings(max_examples=10)
@example([(55, 200)] * 12)
@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([200, 200, 400, 500])), max_size=12))
def test_what_is_served_is_what_is_counted_and_no_more_than_the_budget(gateway, answers):
    service = gateway.service
    service.reset()
    service.asked.clear()
    served = 0
    waiting = list(answers)

    def answer(asked: Asked) -> Served:
        nonlocal served
        tokens, status = waiting[0]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        if status == 200:
            served += tokens
        return Served(status, "application/json", json.dumps({"usage": usage}).encode())

    keys = tuple(make_gateway_key(name, group="both") for name in ("one", "two"))
    groups = (GatewayGroup("both", budget=SpendBudget(tokens=300)),)
    with serving(service, keys=keys, groups=groups) as own:
        service.answer = answer
        statuses = []
        while waiting:
            headers = {"authorization": f"Bearer {secret('one' if len(waiting) % 2 else 'two')}"}
            body = {"model": "text-embedding-x", "input": "a" * 30}
            said = httpx.post(f"{own.url}/v1/embeddings", headers=headers, json=body)
            statuses.append(said.status_code)
            waiting.pop(0)
        until(lambda: len(own.seen) == len(answers))
        counted = sum(each.usage.known_total for each in own.seen)
    assert counted == served <= 300
    assert all(status in (200, 400, 429, 500) for status in statuses)


def test_an_answer_without_counts_counts_the_most_that_its_body_allows(gateway):
    gateway.service.answer = lambda _: Served(200, "application/json", b"{}")
    body = b'{"model": "text-embedding-x", "input": "hello"}'
    ask(gateway, "POST", "/v1/embeddings", content=body)
    until(lambda: gateway.seen)
    (found,) = gateway.seen
    assert (found.usage.input, found.estimated) == (len(body), True)


def test_a_cost_budget_needs_a_price_and_is_charged_with_it(gateway):
    ok = ask(gateway, "POST", "/v1/embeddings", "money", json={"model": "text-embedding-3-small"})
    assert ok.status_code == 200, ok.text
    no = ask(gateway, "POST", "/v1/embeddings", "money", json={"model": "text-embedding-new"})
    assert no.status_code == 403
    assert "no price" in no.text
    assert len(gateway.service.asked) == 1


def test_a_rate_limit_of_requests_holds_for_endpoints(gateway):
    for expected in (200, 200, 429):
        answer = ask(gateway, "POST", "/v1/embeddings", "limited", json={"model": "m"})
        assert answer.status_code == expected
    assert len(gateway.service.asked) == 2


def test_the_models_of_a_key_are_checked(gateway):
    for model, status in (("text-embedding-3-small", 200), ("gpt-image-1", 403)):
        answer = ask(gateway, "POST", "/v1/embeddings", "models", json={"model": model})
        assert answer.status_code == status


# -- routes ----------------------------------------------------------------------------------------


def test_a_route_gives_the_provider_and_its_name_for_the_model(gateway):
    with serving(gateway.service, routes=ROUTES) as own:
        headers = {"authorization": f"Bearer {secret('plain')}"}
        post = lambda path, **more: httpx.post(own.url + path, headers=headers, **more)  # noqa: E731
        raw = b'{"input": 1.50, "model" : "alias", "x": [1e2]}'
        assert post("/v1/embeddings", content=raw).status_code == 200
        sound = {"file": ("a.wav", b"\r\n--not the boundary\r\n" * 9)}
        assert (
            post("/v1/audio/transcriptions", data={"model": "whisper"}, files=sound).status_code
            == 200
        )
        body = {"requests": [{"model": "models/g-embed", "content": {}}]}
        assert post("/v1beta/models/g-embed:batchEmbedContents", json=body).status_code == 200
        batch = make_batch("inputConfig", "models/g-embed")
        post("/v1beta/models/g-embed:asyncBatchEmbedContent", json=batch)
        assert post("/v1/embeddings", json={"model": "unknown"}).status_code == 404
        assert post("/v1/embeddings", json={"model": "opus"}).status_code == 404
        assert post("/v1/completions", json={"model": "capped"}).status_code == 403
    first, second, third, fourth = gateway.service.asked
    assert json.loads(fourth.body) == make_batch("inputConfig", "models/gemini-embedding-001")
    assert first.body == b'{"input":1.50,"model":"text-embedding-3-small","x":[1e2]}'
    assert b'name="model"\r\n\r\nwhisper-1\r\n' in second.body
    assert b"\r\n--not the boundary\r\n" * 9 in second.body
    assert third.path == "/google/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert json.loads(third.body)["requests"][0]["model"] == "models/gemini-embedding-001"


def test_another_provider_of_the_route_answers_if_the_first_fails(gateway):
    route = GatewayRoute(match="e", to=("openai:text-embedding-3-small", "mistral:mistral-embed"))

    def answer(asked: Asked) -> Served:
        status = 503 if asked.path.startswith("/openai") else 200
        return Served(status, "application/json", b'{"usage": {"prompt_tokens": 4}}')

    with serving(gateway.service, routes=(route,)) as own:
        gateway.service.answer = answer
        headers = {"authorization": f"Bearer {secret('plain')}"}
        assert httpx.post(f"{own.url}/v1/embeddings", headers=headers, json={"model": "e"}).json()
        until(lambda: own.seen)
    (found,) = own.seen
    assert (found.answered_by, found.usage.input, found.tries) == ("mistral:mistral-embed", 4, 2)
    assert [json.loads(each.body)["model"] for each in gateway.service.asked] == [
        "text-embedding-3-small",
        "mistral-embed",
    ]


def test_several_providers_of_a_path_are_an_error_until_one_is_chosen(gateway):
    with serving(gateway.service, providers=("openai", "mistral")) as own:
        headers = {"authorization": f"Bearer {secret('account')}"}
        said = httpx.get(f"{own.url}/v1/files", headers=headers)
        assert said.status_code == 400
        assert "[[endpoint]]" in said.text
    with serving(gateway.service, providers=("anthropic",)) as own:
        assert httpx.get(f"{own.url}/v1/files", headers=headers).status_code == 404


def test_of_several_providers_the_one_that_sells_the_model_is_asked(gateway):
    with serving(gateway.service, providers=("openai", "mistral")) as own:
        headers = {"authorization": f"Bearer {secret('plain')}"}
        for model in ("text-embedding-3-small", "mistral-embed"):
            body = {"model": model}
            assert httpx.post(f"{own.url}/v1/embeddings", headers=headers, json=body).json()
    assert [each.path.split("/")[1] for each in gateway.service.asked] == ["openai", "mistral"]


def test_a_path_that_the_operator_opens_passes_under_the_name_other(gateway):
    opened = (EndpointRoute("/v1/assistants*", "openai"),)
    with serving(gateway.service, endpoints=opened) as own:
        gateway.service.answer = lambda _: Served(200, "application/json", b"{}")
        for key, status in (("account", 200), ("plain", 403), ("capped", 403), ("embeds", 403)):
            headers = {"authorization": f"Bearer {secret(key)}"}
            said = httpx.post(f"{own.url}/v1/assistants/a", headers=headers, json={"model": "m"})
            assert (key, said.status_code) == (key, status), said.text
        assert httpx.get(f"{own.url}/v1/other", headers=headers).status_code == 404
    (asked,) = gateway.service.asked
    assert asked.path == "/openai/v1/assistants/a"


def test_without_keys_the_rules_of_routes_still_close(gateway):
    rules = (GatewayRoute(match="x", to=("openai:gpt-5.5",), budget=SpendBudget(tokens=9)),)
    with serving(gateway.service, keys=(), routes=rules) as own:
        assert httpx.post(f"{own.url}/v1/batches", json={}).status_code == 403
        assert httpx.get(f"{own.url}/v1/files").status_code == 200


assert {key.name for key in KEYS} >= {"none", "embeds", "capped", "budget", "money", "limited"}

"""Files, batches and uploads: whose they are, and what passes of them."""

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.gateway.endpoint_gateway import KEYS, ROUTES, both, make_gateway_key, secret, serving
from tests.gateway.endpoint_service import KEY, Asked, Served, until

from pondero.gateway.config.model import LevelRules


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both() as found, httpx.Client(base_url=found.url, timeout=60) as http:
        found.http = http
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    gateway.service.reset()
    gateway.seen.clear()


def ask(gateway: Any, method: str, path: str, key: str = "plain", **more: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret(key)}", **more.pop("headers", {})}
    return gateway.http.request(method, path, headers=headers, **more)


def make_file(gateway: Any, id: str, key: str = "plain") -> None:
    body = json.dumps({"id": id, "object": "file"}).encode()
    gateway.service.answer = lambda _: Served(200, "application/json", body)
    more: Any = {"data": {"purpose": "user_data"}, "files": {"file": ("a", b"abc")}}
    assert ask(gateway, "POST", "/v1/files", key, **more).status_code == 200


# -- whose it is -----------------------------------------------------------------------------------


def test_a_file_is_of_the_key_that_made_it(gateway):
    make_file(gateway, "file-own")
    gateway.service.asked.clear()
    for path in ("/v1/files/file-own", "/v1/files/file-own/content"):
        assert ask(gateway, "GET", path, "second").status_code == 404
    assert ask(gateway, "DELETE", "/v1/files/file-own", "second").status_code == 404
    assert ask(gateway, "GET", "/v1/files/file-unknown", "second").status_code == 404
    assert gateway.service.asked == []
    for key in ("plain", "account"):
        assert ask(gateway, "GET", "/v1/files/file-own", key).status_code == 200


def test_an_id_whose_key_is_not_known_is_for_keys_with_account_state_alone(gateway):
    assert ask(gateway, "GET", "/v1/files/file-old", "plain").status_code == 404
    assert gateway.service.asked == []
    assert ask(gateway, "GET", "/v1/files/file-old", "account").status_code == 200


REFERENCES = [
    ("/v1/vector_stores", {"file_ids": ["file-ref"]}),
    ("/v1/vector_stores", {"a": [{"b": {"file_id": "file-ref"}}]}),
    ("/v1/batches", {"input_file_id": "file-ref"}),
    ("/v1/fine_tuning/jobs", {"model": "m", "training_file": "file-ref"}),
    ("/v1/containers", {"file_ids": ["file-ref"]}),
]


@pytest.mark.parametrize(("path", "body"), REFERENCES)
def test_a_body_names_only_things_of_its_key(gateway, path, body):
    make_file(gateway, "file-ref")
    gateway.service.asked.clear()
    assert ask(gateway, "POST", path, "second", json=body).status_code == 404
    assert gateway.service.asked == []
    assert ask(gateway, "POST", path, "plain", json=body).status_code == 200
    assert json.loads(gateway.service.asked[0].body) == body


def test_an_id_that_is_written_twice_is_rejected(gateway):
    make_file(gateway, "file-twice")
    gateway.service.asked.clear()
    body = b'{"file_ids": ["file-twice"], "file_\\u0069ds": ["file-other"]}'
    answer = ask(
        gateway,
        "POST",
        "/v1/vector_stores",
        content=body,
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 400
    assert gateway.service.asked == []


def test_a_conversation_cannot_name_a_file_of_another_key(gateway):
    make_file(gateway, "file-talk")
    gateway.service.asked.clear()
    content = [{"type": "input_file", "file_id": "file-talk"}]
    body = {"model": "gpt-5.5", "input": [{"role": "user", "content": content}]}
    assert ask(gateway, "POST", "/v1/responses", "second", json=body).status_code >= 400
    assert gateway.service.asked == []
    ask(gateway, "POST", "/v1/responses", "plain", json=body)
    assert gateway.service.asked


def test_lists_show_nothing_to_a_key_without_account_state(gateway):
    for path in ("/v1/files", "/v1/batches", "/v1/vector_stores"):
        assert ask(gateway, "GET", path).status_code == 403
        assert ask(gateway, "GET", path, "account").status_code == 200
    assert {each.path for each in gateway.service.asked} == {
        "/openai/v1/files",
        "/openai/v1/batches",
        "/openai/v1/vector_stores",
    }


def test_what_a_batch_makes_is_of_its_key_too(gateway):
    make_file(gateway, "file-abc")
    gateway.service.answer = None
    assert (
        ask(gateway, "POST", "/v1/batches", json={"input_file_id": "file-abc"}).status_code == 200
    )
    assert ask(gateway, "GET", "/v1/batches/batch_1").json()["output_file_id"] == "file-out"
    assert ask(gateway, "GET", "/v1/files/file-out/content").status_code == 200
    assert ask(gateway, "GET", "/v1/files/file-out/content", "second").status_code == 404
    assert ask(gateway, "GET", "/v1/batches/batch_1", "second").status_code == 404


def test_an_id_stays_with_the_provider_that_gave_it(gateway):
    make_file(gateway, "file-home")
    answer = ask(gateway, "GET", "/v1/files/file-home", headers={"anthropic-version": "1"})
    assert answer.status_code == 404
    assert {each.path.split("/")[1] for each in gateway.service.asked} == {"openai"}


def test_a_file_of_requests_is_closed_to_a_key_with_a_rule(gateway):
    for purpose, status in (("batch", 403), ("fine-tune", 403), ("user_data", 200), ("new", 403)):
        more: Any = {"data": {"purpose": purpose}, "files": {"file": ("a", b"abc")}}
        assert ask(gateway, "POST", "/v1/files", "capped", **more).status_code == status
    more = {"files": {"file": ("a", b"abc")}}
    assert ask(gateway, "POST", "/v1/files", "capped", **more).status_code == 403
    assert len(gateway.service.asked) == 1


# -- bytes -----------------------------------------------------------------------------------------


def test_a_large_file_passes_in_pieces_and_unchanged(gateway):
    data = bytes(range(256)) * (4 << 12) * 2  # 8 MiB
    before = gateway.service.pieces
    more: Any = {"data": {"purpose": "user_data"}, "files": {"file": ("a", data)}}
    request = gateway.http.build_request(
        "POST", "/v1/files", headers={"authorization": f"Bearer {secret('plain')}"}, **more
    )
    sent = request.read()
    assert gateway.http.send(request).status_code == 200
    assert gateway.service.asked[0].body == sent
    assert gateway.service.pieces - before > 4
    assert gateway.service.asked[0].headers["transfer-encoding"] == "chunked"


def test_an_upload_beyond_the_limit_never_ends_at_the_service(gateway):
    with serving(gateway.service, max_upload=1 << 20) as own:
        more: Any = {"data": {"purpose": "user_data"}, "files": {"file": ("a", b"x" * (3 << 20))}}
        headers = {"authorization": f"Bearer {secret('plain')}"}
        try:
            status = httpx.post(f"{own.url}/v1/files", headers=headers, **more).status_code
        except httpx.TransportError:
            status = 413
        until(lambda: own.seen)
    assert status == 413
    assert own.seen[0].status == 413
    assert gateway.service.asked == []


def test_a_form_that_turns_out_to_name_two_models_never_ends_at_the_service(gateway):
    boundary = "b" * 20
    first = f'--{boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n'
    file = f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n'
    body = (
        first
        + file
        + "x" * (2 << 20)
        + "\r\n"
        + first.replace("whisper-1", "gpt-5.5")
        + f"--{boundary}--\r\n"
    )
    kind = {"content-type": f"multipart/form-data; boundary={boundary}"}
    try:
        status = ask(
            gateway, "POST", "/v1/audio/transcriptions", content=body.encode(), headers=kind
        ).status_code
    except httpx.TransportError:
        status = 400
    assert status == 400
    until(lambda: gateway.seen)
    assert gateway.seen[0].status == 400
    assert gateway.service.asked == []


def test_a_client_that_leaves_in_the_middle_of_an_upload_is_a_row(gateway):
    host, _, port = gateway.url.partition("://")[2].partition(":")
    with socket.create_connection((host, int(port))) as raw:
        head = (
            f"POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret('plain')}\r\n"
            "content-type: multipart/form-data; boundary=b\r\ncontent-length: 100000\r\n\r\n"
            '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n'
            '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nabc'
        )
        raw.sendall(head.encode())
    until(lambda: gateway.seen)
    assert (gateway.seen[0].end, gateway.seen[0].status) == ("left", 499)
    assert gateway.service.asked == []


def test_only_known_headers_pass_in_either_direction(gateway):
    def answer(asked: Asked) -> Served:
        more = {
            "set-cookie": "a=b",
            "x-secret": "1",
            "location": "http://x",
            "openai-version": "2",
            "retry-after": "3",
            "server": "s",
            "content-disposition": f"x; {KEY}",
        }
        return Served(200, "application/json", f'{{"said": "{KEY}"}}'.encode(), more)

    gateway.service.answer = answer
    sent = {
        "cookie": "a=b",
        "x-forwarded-for": "1.2.3.4",
        "openai-organization": "org",
        "x-api-key": "k",
        "proxy-authorization": "p",
        "te": "trailers",
        "openai-beta": "yes",
        "x-http-method-override": "DELETE",
    }
    answered = ask(gateway, "POST", "/v1/embeddings?key=abc", json={"model": "m"}, headers=sent)
    (asked,) = gateway.service.asked
    assert asked.headers["openai-beta"] == "yes"
    allowed = {
        "host",
        "accept",
        "accept-encoding",
        "user-agent",
        "content-type",
        "content-length",
        "authorization",
        "openai-beta",
    }
    assert set(asked.headers) <= allowed
    assert asked.query == ""
    assert KEY not in answered.text
    assert KEY not in str(answered.headers)
    assert {"set-cookie", "x-secret", "location", "server"}.isdisjoint(answered.headers)
    assert answered.headers["openai-version"] == "2"


def test_redirects_are_not_followed_and_a_rejected_key_is_not_the_clients(gateway):
    gateway.service.answer = lambda _: Served(
        307, "text/plain", b"", {"location": gateway.service.url}
    )
    assert ask(gateway, "POST", "/v1/embeddings", json={"model": "m"}).status_code == 502
    assert len(gateway.service.asked) == 1
    gateway.service.answer = lambda _: Served(401, "application/json", b'{"error": "no"}')
    rejected = ask(gateway, "POST", "/v1/embeddings", json={"model": "m"})
    assert rejected.status_code == 502
    assert rejected.headers["x-request-id"] == rejected.headers["x-pondero-id"]
    error = json.dumps({"error": {"message": f"no {KEY}"}}).encode()
    gateway.service.answer = lambda _: Served(422, "application/json", error)
    said = ask(gateway, "POST", "/v1/embeddings", json={"model": "m"})
    assert said.status_code == 422
    assert KEY not in said.text
    until(lambda: len(gateway.seen) == 3)
    assert {each.end for each in gateway.seen} == {"failed"}
    assert {each.usage.known_total for each in gateway.seen} == {0}


# -- batches of messages ---------------------------------------------------------------------------


def batch(*models: str, **more: Any) -> dict[str, Any]:
    params = [
        {
            "model": model,
            "max_tokens": 40_000,
            "messages": [{"role": "user", "content": "hi"}],
            **more,
        }
        for model in models
    ]
    return {"requests": [{"custom_id": str(n), "params": each} for n, each in enumerate(params)]}


HIGH: Any = {"thinking": {"type": "enabled", "budget_tokens": 30_000}}


def test_each_line_of_a_batch_goes_through_the_rules(gateway):
    sent = batch("claude-opus-4-5", "claude-opus-4-5", **HIGH)
    assert ask(gateway, "POST", "/v1/messages/batches", json=sent).status_code == 200
    assert json.loads(gateway.service.asked[0].body) == sent
    assert ask(gateway, "POST", "/v1/messages/batches", "capped", json=sent).status_code == 200
    lines = json.loads(gateway.service.asked[1].body)["requests"]
    assert [line["custom_id"] for line in lines] == ["0", "1"]
    for line in lines:
        effort = json.dumps(line["params"])
        assert "30000" not in effort
        assert line["params"]["messages"] == sent["requests"][0]["params"]["messages"]


def test_a_line_with_a_model_that_is_not_allowed_rejects_the_batch(gateway):
    with serving(
        gateway.service, routes=ROUTES, keys=(*KEYS, make_gateway_key("opus", models=("opus",)))
    ) as own:
        post = lambda key, body: httpx.post(  # noqa: E731
            f"{own.url}/v1/messages/batches",
            headers={"x-api-key": secret(key), "anthropic-version": "1"},
            json=body,
        )
        assert post("plain", batch("opus", "opus-low")).status_code == 200
        assert post("opus", batch("opus")).status_code == 200
        denied = post("opus", batch("opus", "opus-low"))
        assert denied.status_code == 403
        assert "requests.1" in denied.text
        assert post("plain", batch("opus", "g-embed")).status_code == 400
        assert post("plain", batch("nothing")).status_code == 400
        assert post("plain", {"requests": []}).status_code == 400
        assert post("plain", {"requests": [{"custom_id": "a"}]}).status_code == 400
    bodies = [json.loads(each.body)["requests"] for each in gateway.service.asked]
    assert [[line["params"]["model"] for line in body] for body in bodies] == [
        ["claude-opus-5", "claude-opus-5"],
        ["claude-opus-5"],
    ]


def test_a_route_with_a_cap_caps_the_lines_of_a_batch(gateway):
    key = make_gateway_key("capless", thinking=LevelRules())
    with serving(gateway.service, routes=ROUTES, keys=(key,)) as own:
        effort = {"output_config": {"effort": "max"}}
        answer = httpx.post(
            f"{own.url}/v1/messages/batches",
            headers={"x-api-key": secret("capless")},
            json=batch("opus", "opus-low", **effort),
        )
        assert answer.status_code == 200, answer.text
    first, second = json.loads(gateway.service.asked[0].body)["requests"]
    assert first["params"]["output_config"]["effort"] == "max"
    assert second["params"]["output_config"]["effort"] == "low"


# -- uploads without a key -------------------------------------------------------------------------


def test_an_upload_is_continued_with_its_pass_alone_and_with_nothing_else(gateway):
    start = ask(
        gateway,
        "POST",
        "/upload/v1beta/files",
        json={"file": {}},
        headers={"x-goog-upload-command": "start", "x-goog-upload-protocol": "resumable"},
    )
    at = start.headers["x-goog-upload-url"]
    assert urlsplit(at).netloc == urlsplit(gateway.url).netloc
    path = at.partition(urlsplit(gateway.url).netloc)[2]
    more: Any = {"content": b"abc", "headers": {"x-goog-upload-command": "upload, finalize"}}
    post = lambda where: gateway.http.post(where, **more).status_code  # noqa: E731
    assert post(path.replace("upload_id=up-1", "upload_id=up-2")) == 401
    assert post(path.rpartition("&")[0]) == 401
    assert post(path + "x") == 401
    assert post(path.replace("/upload/v1beta/files", "/v1/files")) == 401
    assert ask(gateway, "POST", path.rpartition("&")[0], "second", **more).status_code == 404
    assert len(gateway.service.asked) == 1
    assert post(path) == 200
    assert gateway.service.asked[1].body == b"abc"
    assert "pondero" not in gateway.service.asked[1].query
    until(lambda: any(each.status == 200 and each.tries for each in gateway.seen[1:]))
    assert gateway.seen[-1].key == "plain"

"""One clear error for everything that goes wrong behind the gateway, in the client API's own shape.

The services behind are raw sockets that misbehave; the judge reads the bytes that the client gets.
"""

import asyncio
import json
from base64 import b64encode
from contextlib import asynccontextmanager

import pytest
from tests.gateway.asgi import came

import pondero
from pondero.canon import HttpRequest
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator
from pondero.errors import MissingExtra
from pondero.exchange import Timeouts
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ProviderOverride,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.requests.errors import describe_reason, write_error
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.transport import FastTransport

# A model of each client API; the same API behind is passed through, any other translated.
FRONTS = {
    "anthropic": "anthropic:claude-opus-5",
    "openai_responses": "openai:gpt-5.5",
    "openai_chat": "deepseek:deepseek-v4-flash",
    "gemini": "google:gemini-3-flash-preview",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
RAW = "RAW-BYTES-OF-THE-SERVICE"
HOST = "127.0.0.1"
# Words that are not the client's business: libraries, addresses, bytes, constant ids.
PRIVATE = (
    *(HOST, "localhost", "no-such-host", "aiohttp", "httpx", "Errno", "SSL", "ssl", "Traceback"),
    *(
        "recursion depth",
        "TransferEncodingError",
        "ClientPayloadError",
        "Cannot connect",
        "<html",
        " b'",  # without the blank, a checksum of a binary stream has it now and then
        RAW,
    ),
    *("req_emulated", "0123456789abcdef0123456789abcdef", "00000000-0000-4000-8000-000000000000"),
)


def test_every_client_api_is_here():
    assert set(FRONTS) == set(NAMES)


# -- services that misbehave ----------------------------------------------------------------------


async def _reset(_request, writer):
    writer.transport.abort()


async def _write(writer, status, headers, body):
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)
    await writer.drain()


def _answer(status, kind, body, **headers):
    async def answer(_request, writer):
        told = {"content-type": kind, "content-length": len(body), **headers}
        await _write(writer, status, told, body)

    return answer


async def _bad_chunk(_request, writer):
    told = {"content-type": "application/json", "transfer-encoding": "chunked"}
    await _write(writer, "200 OK", told, f"{RAW}\r\nnot a chunk".encode())


async def _silent(_request, writer):
    await writer.wait_closed()


async def _oversized(_request, writer):
    told = {"content-type": "application/json", "content-length": 70 * 2**20}
    await _write(writer, "200 OK", told, b"[" * (66 * 2**20))


def _midway(broken):
    """Answer as the service does, up to the middle, and then break."""

    async def answer(request, writer):
        response = await Emulator(any_model=True).send(request, Timeouts())
        body = b"".join([piece async for piece in response])
        told = {
            "content-type": response.head.headers["content-type"],
            "transfer-encoding": "chunked",
        }
        half = body[: len(body) // 2]
        await _write(writer, "200 OK", told, b"%x\r\n%s\r\n" % (len(half), half))
        await asyncio.sleep(0.05)
        await broken(request, writer)

    return answer


async def _chunk_garbage(_request, writer):
    writer.write(RAW.encode() + b"\r\n")
    await writer.drain()


_HTML = f"<html><body><h1>502 {RAW}</h1>nginx at {HOST}</body></html>".encode()
SERVICES = {
    "reset": _reset,
    "bad_chunk": _bad_chunk,
    "invalid_json": _answer("200 OK", "application/json", b'{"a": ' + RAW.encode()),
    "html": _answer("200 OK", "text/html", _HTML),
    "html_error": _answer("502 Bad Gateway", "text/html", _HTML),
    "text_error": _answer("500 Oops", "text/plain", f"at {HOST}: {RAW}".encode()),
    "empty": _answer("200 OK", "application/json", b""),
    "silent": _silent,
    "redirect": _answer("307 Moved", "text/html", _HTML, location=f"http://{HOST}/else"),
    "deep": _answer("200 OK", "application/json", b"[" * 100_000),
    "cut_midway": _midway(_reset),
    "garbage_midway": _midway(_chunk_garbage),
}
ADDRESSES = {
    "down": f"http://{HOST}:1",
    "dns": "http://no-such-host.invalid",
}
STATUSES = {"silent": {504}}
USUAL = Timeouts(connect=30, first_byte=30, between_bytes=30)
LIMITS = {"silent": Timeouts(connect=30, first_byte=0.2, between_bytes=0.2)}


@asynccontextmanager
async def service(name):
    """Yield the address of a service that misbehaves."""
    if name in ADDRESSES:
        yield ADDRESSES[name]
        return

    async def handle(reader, writer):
        try:
            if name == "tls":  # a TLS client at a plain port: its handshake fails
                await _write(writer, "400 Bad Request", {}, b"")
                return
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {k.lower(): v.strip() for k, _, v in (each.partition(":") for each in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = first.split(" ")
            url = f"http://service{path}"
            await SERVICES[name](HttpRequest(method, url, headers, body), writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, HOST, 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"{'https' if name == 'tls' else 'http'}://{host}:{port}"
    finally:
        server.close()


SERVICES["tls"] = _reset


def make_request(front: str, *, stream: bool) -> HttpRequest:
    client = pondero.Client(keys={FRONTS[front].partition(":")[0]: "a-clients-key"})
    return client.prepare(FRONTS[front], "Hello?", stream=stream).request


async def ask(front: str, back: str, name: str, *, stream: bool):
    provider = FRONTS[back].partition(":")[0]
    async with service(name) as url:
        config = GatewayConfig(
            routes=(GatewayRoute(match="*", to=(FRONTS[back],), retries=0),),
            providers={provider: ProviderOverride(url=url, key="env:A_PROVIDERS_KEY")},
        )
        transport = FastTransport()
        try:
            context = GatewayContext(config, transport, timeouts=LIMITS.get(name, USUAL))
            return await came(App(context), make_request(front, stream=stream))
        finally:
            await transport.aclose()


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("A_PROVIDERS_KEY", "a-providers-key-0123456789")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-clients-key-0123456789")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


# -- the judge ------------------------------------------------------------------------------------


def read_shape(front: str, body: bytes) -> tuple[str, str | None]:
    """Return the message and the id of an error, read as the vendor's SDK reads it."""
    told = json.loads(body)
    match front:
        case "anthropic":
            assert told["type"] == "error"
            assert told["error"]["type"].endswith("_error")
            return told["error"]["message"], told["request_id"]
        case "openai_responses" | "openai_chat":
            assert told["error"]["type"]
            return told["error"]["message"], None
        case "gemini":
            error = told[0]["error"] if isinstance(told, list) else told["error"]
            assert isinstance(error["code"], int)
            assert error["status"].isupper()
            return error["message"], None
        case "interactions":
            error = told["error"]
            assert isinstance(error["code"], str) or error["status"].isupper()
            return error["message"], None
        case "bedrock":
            return told["message"], None
        case "cohere":
            return told["message"], told["id"]
        case "ollama":
            return told["error"], None
    raise AssertionError(front)


ID_HEADERS = {
    "anthropic": "request-id",
    "openai_responses": "x-request-id",
    "openai_chat": "x-request-id",
    "bedrock": "x-amzn-requestid",
}


def check_whole(front: str, response, statuses=frozenset({502, 504})) -> str:
    assert response.status in statuses
    id = response.headers["x-pondero-id"]
    assert len(id) == 24
    message, named = read_shape(front, response.body)
    assert named in (None, id)
    if front in ID_HEADERS:
        assert response.headers[ID_HEADERS[front]] == id
    assert 10 < len(message) < 200
    check_private(response.body, response.headers)
    return message


def check_private(body: bytes, headers) -> None:
    text = body.decode("utf-8", "replace") + json.dumps(dict(headers))
    assert [word for word in PRIVATE if word in text] == []


OTHER = dict(zip(FRONTS, [*list(FRONTS)[1:], next(iter(FRONTS))], strict=True))
FAULTS = [*SERVICES, *ADDRESSES]


async def ask_all(front: str, way: str, *, stream: bool):
    """Return the client's response to each fault; all are asked at the same time."""
    back = front if way == "passed" else OTHER[front]
    asked = (ask(front, back, fault, stream=stream) for fault in FAULTS)
    return dict(zip(FAULTS, await asyncio.gather(*asked), strict=True))


@pytest.mark.parametrize("way", ["passed", "translated"])
@pytest.mark.parametrize("front", FRONTS)
def test_a_whole_answer_that_fails_is_one_clear_error(front, way):
    for fault, response in asyncio.run(ask_all(front, way, stream=False)).items():
        check_whole(front, response, STATUSES.get(fault, {502}))


@pytest.mark.parametrize("way", ["passed", "translated"])
@pytest.mark.parametrize("front", FRONTS)
def test_a_stream_that_fails_is_one_clear_error(front, way):
    for fault, response in asyncio.run(ask_all(front, way, stream=True)).items():
        if not fault.endswith("midway"):
            check_whole(front, response, STATUSES.get(fault, {502}))
            continue
        # The answer has begun: its error is an event.
        assert response.status == 200
        check_private(response.body, response.headers)
        assert b"broke off its answer" in response.body


def test_an_oversized_answer_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(SERVICES, "oversized", _oversized)
    response = asyncio.run(ask("anthropic", "anthropic", "oversized", stream=False))
    assert "not valid" in check_whole("anthropic", response, {502})


def test_the_log_has_the_details_and_the_id(caplog):
    response = asyncio.run(ask("anthropic", "openai_responses", "down", stream=False))
    line = caplog.records[-1].getMessage()
    assert response.headers["x-pondero-id"] in line
    assert HOST in line


def test_ids_differ_between_requests():
    first, second = (
        asyncio.run(ask("openai_chat", "openai_chat", "empty", stream=False)) for _ in range(2)
    )
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


# -- requests that are wrong ----------------------------------------------------------------------

_DEEP = 100_000


def _nest(text: str) -> str:
    return "[" * _DEEP + text + "]" * _DEEP


def _plant(request: HttpRequest, place: str) -> HttpRequest:
    """Return a request with JSON that is nested too deeply, somewhere."""
    body = json.loads(request.body)
    if place == "body":
        return HttpRequest(request.method, request.url, request.headers, _nest("1").encode())
    mark = '"HERE"'
    match place:
        case "schema":
            body["tools"] = [{"name": "a", "function": {"name": "a", "parameters": "HERE"}}]
            body["tools"][0] |= {"input_schema": "HERE", "type": "function"}
        case "unknown":
            body["x_unknown"] = "HERE"
        case "model":
            body["model"] = "HERE"
        case "messages":
            for name in ("messages", "contents", "input"):
                if name in body:
                    body[name] = "HERE"
    text = json.dumps(body).replace(mark, _nest("1"))
    return HttpRequest(request.method, request.url, request.headers, text.encode())


async def ask_emulator(request: HttpRequest, keys=()):
    config = GatewayConfig(
        routes=(GatewayRoute(match="*", to=(FRONTS["anthropic"],), retries=0),), keys=keys
    )
    return await came(App(GatewayContext(config, Emulator(any_model=True))), request)


@pytest.mark.parametrize("place", ["body", "schema", "unknown", "model", "messages"])
@pytest.mark.parametrize("front", FRONTS)
def test_json_that_is_nested_too_deeply_is_the_clients_error(front, place, caplog):
    request = _plant(make_request(front, stream=False), place)
    response = asyncio.run(ask_emulator(request))
    check_whole(front, response, {400})
    assert "Traceback" not in caplog.text


_ARGUMENTS = {
    "openai_chat": lambda deep: {
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "a", "arguments": deep},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "1"},
        ]
    },
    "openai_responses": lambda deep: {
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "function_call", "call_id": "a", "name": "a", "arguments": deep},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ]
    },
}


@pytest.mark.parametrize("front", _ARGUMENTS)
def test_deep_arguments_in_a_history_are_no_failure_of_the_gateway(front, caplog):
    request = make_request(front, stream=False)
    body = json.loads(request.body) | _ARGUMENTS[front]('{"a":' * _DEEP + "1" + "}" * _DEEP)
    response = asyncio.run(
        ask_emulator(
            HttpRequest(request.method, request.url, request.headers, json.dumps(body).encode())
        )
    )
    assert response.status in (200, 400)
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("front", FRONTS)
def test_the_emulator_rejects_deep_json_too(front):
    async def run() -> int:
        request = _plant(make_request(front, stream=False), "unknown")
        response = await Emulator(any_model=True).send(request, Timeouts())
        await response.aclose()
        return response.head.status

    assert asyncio.run(run()) == 400


def test_the_admin_api_and_token_counts_reject_deep_json(caplog):
    for path in ("/admin/keys", "/v1/messages/count_tokens"):
        headers = {"content-type": "application/json", "host": "localhost:8787"}
        request = HttpRequest("POST", f"http://gateway{path}", headers, _nest("1").encode())
        response = asyncio.run(ask_emulator(request))
        assert response.status == 400, response.body
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("front", FRONTS)
def test_the_gateways_own_rejections_have_an_id(front):
    request = make_request(front, stream=False)
    key = GatewayKey(name="ci", hash=hash_key("another"))
    check_whole(front, asyncio.run(ask_emulator(request, (key,))), {401})
    garbage = HttpRequest(request.method, request.url, request.headers, b"\xff{")
    check_whole(front, asyncio.run(ask_emulator(garbage)), {400})
    packed = {**request.headers, "content-encoding": "gzip"}
    broken = HttpRequest(request.method, request.url, packed, b64encode(b"no gzip"))
    check_whole(front, asyncio.run(ask_emulator(broken)), {400})


@pytest.mark.parametrize("reference", ["file:/etc/private/anthropic.key", "env:PRIVATE_NAME"])
@pytest.mark.parametrize("front", ["anthropic", "openai_chat"])
def test_a_missing_key_of_a_provider_is_told_without_its_place(front, reference, caplog):
    config = GatewayConfig(
        routes=(GatewayRoute("opus", ("anthropic:claude-opus-5",), retries=0),),
        providers={"anthropic": ProviderOverride(key=reference)},
    )
    path = "/v1/messages" if front == "anthropic" else "/v1/chat/completions"
    body = {"model": "opus", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    http = HttpRequest("POST", f"http://gateway{path}", {}, json.dumps(body).encode())

    async def run() -> bytes:
        app = App(GatewayContext(config, FastTransport()))
        answers = [await came(app, http)]
        if front == "anthropic":
            count = "http://gateway/v1/messages/count_tokens"
            answers.append(await came(app, HttpRequest("POST", count, {}, http.body)))
        return b"".join(each.body for each in answers)

    told = asyncio.run(run()).decode()
    place = reference.partition(":")[2]
    assert place not in told
    assert "the gateway has no key for Anthropic" in told
    assert place in caplog.text, "the operator needs it"


@pytest.mark.parametrize("front", ["anthropic", "openai_chat"])
def test_a_package_that_the_gateway_lacks_is_no_fault_of_the_client(front):
    """The client was once told 400, with the command that installs it and a path of the server."""
    error = MissingExtra("pip install 'pondero[bedrock] @ file:///home/ada/pondero'")
    response = write_error(error, front, get_dialect(front).service())

    assert response.status == 503
    assert b"lacks a package" in response.body
    assert b"ada" not in response.body
    assert "ada" not in describe_reason(error)

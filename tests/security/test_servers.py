"""A server that lies costs an error of ours, at once, and never the key or all the memory."""

import asyncio
import gzip
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from queue import SimpleQueue
from urllib.request import urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.transport.loopback import Peer, answering, chunked, serving

import pondero
from pondero import AsyncClient, Client
from pondero.errors import BadRequest, Malformed, PonderoError, ServiceError, Unreachable
from pondero.exchange import Retry, Timeouts
from pondero.framing import MAX_FRAME
from pondero.transport import FastTransport

KEY = "sk-planted-0123456789abcdef"
ONCE = Retry(attempts=1)
SOON = Timeouts(connect=5.0, first_byte=5.0, between_bytes=5.0)
# One model of every wire.
MODELS = {
    "anthropic": "claude-opus-5",
    "openai": "gpt-5.1",
    "openai-chat": "openai-chat:gpt-5.1",
    "google": "google:gemini-2.5-flash",
    "ollama": "ollama:qwen3:8b",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "bedrock": "bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0",
    "google-interactions": "google-interactions:gemini-3-flash-preview",
}
JSON, STREAM = b"application/json", b"text/event-stream"
PAGE = b"<!doctype html><html><title>Log in</title><p>Please log in.</p></html>"


def head(kind: bytes = JSON, status: int = 200, *more: bytes) -> bytes:
    lines = (b"HTTP/1.1 %d Odd" % status, b"content-type: " + kind, *more)
    return b"\r\n".join((*lines, b"", b""))


def whole(body: bytes, kind: bytes = JSON, status: int = 200, *more: bytes) -> bytes:
    return head(kind, status, b"content-length: %d" % len(body), *more) + body


def endless(first: bytes, again: bytes) -> Callable[[Peer], None]:
    """A script that begins an answer and never ends it, as long as anybody reads."""

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(first)
        while True:
            peer.say(again)

    return script


def asked(script: Callable[[Peer], None], provider: str = "anthropic", *, stream: bool) -> object:
    """Ask a server, and return its answer or the error."""
    with serving(script) as server:
        keys, urls = {provider: KEY}, {provider: server.url}
        with Client(timeouts=SOON, keys=keys, urls=urls, retry=ONCE) as client:
            try:
                with client.stream(MODELS[provider], "hello", stream=stream) as answer:
                    list(answer)
                return answer.reply
            except PonderoError as error:
                return error


# -- answers without an end -----------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("kind", [JSON, STREAM], ids=["json", "sse"])
def test_an_answer_without_an_end_is_given_up_at_a_limit(kind, stream):
    error = asked(endless(head(kind), b"x" * 65536), stream=stream)
    assert isinstance(error, Malformed)
    assert f"more than {MAX_FRAME:,} bytes" in str(error)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_small_answer_that_unpacks_to_a_large_one_is_given_up_too(stream):
    packed = gzip.compress(b" " * (MAX_FRAME * 2))
    assert len(packed) < 200_000
    error = asked(answering(whole(packed, JSON, 200, b"content-encoding: gzip")), stream=stream)
    assert isinstance(error, Malformed)
    assert f"more than {MAX_FRAME:,} bytes" in str(error)


def test_a_refusal_without_an_end_is_that_refusal():
    error = asked(endless(head(status=400), b'{"error": "' + b"no " * 20_000), stream=True)
    assert isinstance(error, BadRequest)
    assert len(str(error)) < 10_000


@pytest.mark.parametrize("begun", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 "], ids=["lines", "line"])
def test_a_head_without_an_end_is_given_up(begun):
    error = asked(endless(begun, b"x-filler: " + b"y" * 1000 + b"\r\n"), stream=True)
    assert isinstance(error, Unreachable)


def test_a_stream_without_an_end_can_be_left_and_its_connection_is_closed():
    word = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"and "}}\n\n'
    begin = (
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    )
    left: SimpleQueue[bool] = SimpleQueue()

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(head(STREAM) + begin + word)
        left.put(peer.gone())

    with serving(script) as server:
        client = Client(keys={"anthropic": KEY}, urls={"anthropic": server.url}, retry=ONCE)
        with client, client.stream("claude-opus-5", "hello") as answer:
            for event in answer:
                if isinstance(event, pondero.canon.TextDelta):
                    break
    assert left.get(timeout=20)


# -- answers that are something else --------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize(
    "said",
    [
        whole(PAGE, b"text/html"),
        whole(PAGE, STREAM),
        whole(b"", JSON),
        whole(b"\x0b\x02\x80{}\x03" * 5, JSON, 200, b"content-encoding: br"),
        whole(b"(\xb5/\xfd\x04\x00abc", STREAM, 200, b"content-encoding: zstd"),
        whole(b'{"a": 1}', JSON, 200, b"content-encoding: gzip"),
        whole(b'{"a": ' * 5000, JSON),
        chunked(b"data: " + b"[" * 5000 + b"\n\n"),
        b"\x00\xff" * 100,
    ],
    ids=["page", "page-sse", "empty", "br", "zstd", "not-gzip", "deep", "deep-sse", "noise"],
)
def test_what_is_no_answer_is_an_error_of_ours(said, provider, stream):
    error = asked(answering(said), provider, stream=stream)
    assert isinstance(error, PonderoError), error
    assert KEY not in f"{error} {error!r}"


# -- addresses a server names ---------------------------------------------------------------------


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_so_that_the_key_stays_with_its_service(provider, status):
    with serving(answering(whole(b"{}"))) as thief:
        moved = whole(b"{}", JSON, status, b"location: " + thief.url.encode() + b"/v1/messages")
        error = asked(answering(moved), provider, stream=True)
        assert thief.connections == 0
    assert isinstance(error, ServiceError)
    assert error.status == status


def test_no_redirect_is_followed_by_the_async_client_either():
    async def ask(url: str) -> None:
        async with AsyncClient(
            keys={"anthropic": KEY}, urls={"anthropic": url}, retry=ONCE
        ) as client:
            await client.ask("claude-opus-5", "hello")

    with serving(answering(whole(b"{}"))) as thief:
        moved = whole(b"{}", JSON, 307, b"location: " + thief.url.encode())
        with serving(answering(moved)) as server, pytest.raises(ServiceError):
            asyncio.run(ask(server.url))
        assert thief.connections == 0


# -- certificates ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate for this machine that nobody vouches for, with its private key."""
    made = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, made.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(made, hashes.SHA256())
    )
    secret = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    path.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
    return path


def waiting(url: str) -> None:
    keys, urls = {"anthropic": KEY}, {"anthropic": url}
    with Client(keys=keys, urls=urls, retry=ONCE, timeouts=SOON) as client:
        client.ask("claude-opus-5", "hello")


def awaiting(transport: FastTransport | None) -> Callable[[str], None]:
    async def ask(url: str) -> None:
        keys, urls = {"anthropic": KEY}, {"anthropic": url}
        async with AsyncClient(
            keys=keys, urls=urls, retry=ONCE, timeouts=SOON, transport=transport
        ) as client:
            await client.ask("claude-opus-5", "hello")

    return lambda url: asyncio.run(ask(url))


@pytest.mark.parametrize(
    "ask", [waiting, awaiting(None), awaiting(FastTransport())], ids=["sync", "async", "fast"]
)
def test_nothing_is_said_to_a_server_whose_certificate_nobody_vouches_for(ask, own_certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own_certificate)
    with serving(answering(whole(b"{}")), context) as server:
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            ask(server.url)
        assert server.connections >= 1
        assert server.requests == []
        trusting = ssl.create_default_context(cafile=own_certificate)
        with urlopen(server.url, context=trusting) as answer:  # the server itself is fine
            assert answer.status == 200

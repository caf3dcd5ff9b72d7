"""The arguments of the HTTP transports, against real proxies, certificates and HTTP/2."""

import asyncio
import gc
import math
import re
import ssl
import subprocess
import sys
import threading
import warnings

import pytest
from tests.transport.loopback import Peer, answering, chunked, serving
from tests.transport.proxy_server import proxying
from tests.transport.tls_files import TlsFiles
from tests.transport.transports import ByLibrary

import pondero
from pondero.canon import HttpRequest
from pondero.errors import BadConfig, BadParameter, MissingExtra, PonderoError, Unreachable
from pondero.exchange import Timeouts
from pondero.extras import install_hint
from pondero.transport import AsyncHttpTransport, ConnectionLimits, FastTransport, HttpTransport

MAKERS = [HttpTransport, AsyncHttpTransport, FastTransport, ByLibrary]
HTTPX = [HttpTransport, AsyncHttpTransport]
HELLO = answering(chunked(b"hello"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return TlsFiles(tmp_path_factory.mktemp("tls"))


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def fetch(transport, url: str, times: int = 1) -> bytes:
    """Return the bodies of so many answers, one after the other."""
    asked = HttpRequest("POST", f"{url}/v1/x", {"x-own": "request"}, b"{}")
    limits = Timeouts(connect=20, first_byte=20, between_bytes=20)

    async def awaited() -> bytes:
        body = b""
        try:
            for _ in range(times):
                answer = await transport.send(asked, limits)
                body += b"".join([piece async for piece in answer])
                await answer.aclose()
        finally:
            await transport.aclose()
        return body

    if not isinstance(transport, HttpTransport):
        return asyncio.run(awaited())
    body = b""
    try:
        for _ in range(times):
            answer = transport.send(asked, limits)
            body += b"".join(answer)
            answer.close()
    finally:
        transport.close()
    return body


# -- proxies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("login", ["", "ada:lovelace"])
@pytest.mark.parametrize("make", MAKERS)
def test_an_http_proxy_is_an_argument(make, login):
    with serving(HELLO) as server, proxying("http", server.url, login=login) as proxy:
        assert fetch(make(proxy=proxy.url), "http://service.invalid") == b"hello"
    assert proxy.asked == ["http://service.invalid/v1/x"]


@pytest.mark.parametrize("make", MAKERS)
def test_https_goes_through_a_proxy_as_a_tunnel(make, files):
    with serving(HELLO, files.server_context()) as server, proxying("http", server.url) as proxy:
        made = make(proxy=proxy.url, verify=files.authority)
        assert fetch(made, "https://service.invalid") == b"hello"
    assert proxy.asked == ["service.invalid:443"]


@pytest.mark.parametrize("make", MAKERS)
def test_a_proxy_may_itself_speak_tls(make, files):
    with (
        serving(HELLO) as server,
        proxying("https", server.url, tls=files.server_context()) as proxy,
    ):
        made = make(proxy=proxy.url, verify=str(files.authority))
        assert fetch(made, "http://service.invalid") == b"hello"
    assert proxy.asked == ["http://service.invalid/v1/x"]


@pytest.mark.parametrize("login", ["", "ada:lovelace"])
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("make", HTTPX)
def test_a_socks_proxy_is_an_argument(make, scheme, login, files):
    tls = files.server_context() if scheme == "https" else None
    with serving(HELLO, tls) as server, proxying("socks5", server.url, login=login) as proxy:
        made = make(proxy=proxy.url, verify=files.authority)
        assert fetch(made, f"{scheme}://service.invalid") == b"hello"
    assert proxy.asked == [f"service.invalid:{443 if tls else 80}"]


@pytest.mark.parametrize(
    ("variable", "scheme", "written"),
    [
        ("ALL_PROXY", "http", "socks5"),
        ("HTTPS_PROXY", "https", "socks5h"),
        ("all_proxy", "https", "socks"),
    ],
)
@pytest.mark.parametrize("make", HTTPX)
def test_a_socks_proxy_is_a_variable(make, variable, scheme, written, files, monkeypatch):
    tls = files.server_context() if scheme == "https" else None
    with serving(HELLO, tls) as server, proxying("socks5", server.url) as proxy:
        monkeypatch.setenv(variable, proxy.url.replace("socks5", written))
        assert fetch(make(verify=files.authority), f"{scheme}://service.invalid") == b"hello"
    assert len(proxy.asked) == 1


@pytest.mark.parametrize("make", MAKERS)
def test_an_empty_proxy_ignores_the_variables(make, monkeypatch):
    with serving(HELLO) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        assert fetch(make(proxy=""), server.url) == b"hello"


@pytest.mark.parametrize("make", HTTPX)
def test_socks_without_its_package_says_what_to_install(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(MissingExtra, match=re.escape(install_hint("socks"))) as caught:
        make(proxy="socks5://ada:lovelace@127.0.0.1:1")
    assert "lovelace" not in str(caught.value)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(MissingExtra, match=re.escape(install_hint("socks"))):
        fetch(make(), "http://service.invalid")


def test_the_fast_transport_names_the_one_that_has_socks(monkeypatch):
    words = re.escape(f"aiohttp cannot; use AsyncHttpTransport: {install_hint('socks')}")
    with pytest.raises(BadParameter, match=words):
        FastTransport(proxy="socks5://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1")
    with pytest.raises(BadParameter, match=words):
        fetch(FastTransport(), "http://service.invalid")


@pytest.mark.parametrize(
    "proxy",
    [
        "ftp://127.0.0.1:1",
        "http://",
        "http://127.0.0.1:99999",
        "socks4://h:1",
        "http://[::1",
        "http://a b",
        8080,
    ],
)
@pytest.mark.parametrize("make", MAKERS)
def test_an_invalid_proxy_is_one_clear_error(make, proxy, monkeypatch):
    with pytest.raises(BadParameter, match=r"invalid proxy.*http://localhost:8080"):
        make(proxy=proxy)
    if isinstance(proxy, str):
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        monkeypatch.setenv("https_proxy", proxy)
        with pytest.raises(BadConfig, match="invalid HTTPS_PROXY or ALL_PROXY"):
            fetch(make(), "https://service.invalid")


@pytest.mark.parametrize(
    ("make", "kind"),
    [*((make, "http") for make in MAKERS), *((make, "socks5") for make in HTTPX)],
)
def test_a_proxy_that_refuses_is_named_without_its_password(make, kind, files):
    with (
        serving(HELLO, files.server_context()) as server,
        proxying(kind, server.url, login="ada:lovelace") as proxy,
    ):
        wrong = proxy.url.replace("lovelace", "byron")
        with pytest.raises(Unreachable, match=f"the proxy {kind}://127.0.0.1:") as caught:
            fetch(make(proxy=wrong), "https://service.invalid")
    assert "byron" not in str(caught.value)
    with warnings.catch_warnings():
        # httpcore2 leaves the socket of a SOCKS proxy that refused to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        del caught
        gc.collect()


@pytest.mark.parametrize("make", MAKERS)
def test_a_proxy_that_is_not_there_is_named(make):
    with pytest.raises(Unreachable, match=r"the proxy http://127\.0\.0\.1:1.*(refused|failed)"):
        fetch(make(proxy="http://ada:lovelace@127.0.0.1:1"), "https://service.invalid")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:1"])
def test_an_error_says_that_the_service_cannot_have_had_the_request(make, proxy):
    with pytest.raises(Unreachable) as caught:
        fetch(make(proxy=proxy), "http://127.0.0.1:1")
    assert not caught.value.connected


@pytest.mark.parametrize("make", MAKERS)
def test_no_error_shows_an_object_of_python(make, files):
    with serving(HELLO, files.server_context()) as server:
        for proxy, url in (
            ("http://127.0.0.1:1", "https://service.invalid"),
            ("", server.url),
            ("", "https://127.0.0.1:1"),
            ("", "https://service.invalid"),
        ):
            with pytest.raises(Unreachable) as caught:
                fetch(make(proxy=proxy), url)
            assert " object at 0x" not in str(caught.value)


@pytest.mark.parametrize("make", MAKERS)
def test_a_port_that_does_not_exist_is_one_clear_error(make):
    with pytest.raises(BadParameter, match=r"127\.0\.0\.1:99999"):
        fetch(make(), "http://127.0.0.1:99999")


def test_no_running_loop_is_one_clear_error():
    for make in (AsyncHttpTransport, FastTransport):
        sending = make().send(HttpRequest("POST", "http://127.0.0.1:1", {}, b""), Timeouts())
        with pytest.raises(pondero.UsageError, match="no event loop is running"):
            sending.send(None)


# -- certificates ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["file", "path", "folder", "context", "nothing"])
@pytest.mark.parametrize("make", MAKERS)
def test_a_private_authority_is_an_argument(make, given, files, tmp_path):
    if given == "folder":
        made = ["openssl", "x509", "-hash", "-noout", "-in", str(files.authority)]
        name = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / f"{name}.0").write_bytes(files.authority.read_bytes())
    verify = {
        "file": str(files.authority),
        "path": files.authority,
        "folder": tmp_path,
        "context": ssl.create_default_context(cafile=files.authority),
        "nothing": False,
    }[given]
    with serving(HELLO, files.server_context()) as server:
        assert fetch(make(verify=verify), server.url) == b"hello"


@pytest.mark.parametrize("make", MAKERS)
def test_an_unknown_authority_is_rejected_and_the_fix_is_named(make, files):
    with (
        serving(HELLO, files.server_context()) as server,
        pytest.raises(Unreachable, match="SSL_CERT_FILE, or verify= of the transport"),
    ):
        fetch(make(), server.url)


@pytest.mark.parametrize("make", MAKERS)
def test_the_variables_name_authorities_too(make, files, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(files.authority))
    with serving(HELLO, files.server_context()) as server:
        assert fetch(make(), server.url) == b"hello"


@pytest.mark.parametrize("shape", ["pair", "one file", "password"])
@pytest.mark.parametrize("make", MAKERS)
def test_a_client_shows_its_certificate(make, shape, files):
    cert = {
        "pair": (files.client, str(files.client_key)),
        "one file": files.both,
        "password": (files.client, files.locked_key, "sesame"),
    }[shape]
    with serving(HELLO, files.server_context(ask_client=True)) as server:
        assert fetch(make(verify=files.authority, cert=cert), server.url) == b"hello"
        with pytest.raises(PonderoError):
            fetch(make(verify=files.authority), server.url)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"verify": "/nope/ca.pem"}, r"verify='/nope/ca.pem': cannot read.*no such file"),
        ({"verify": __file__}, "this file has no certificates in PEM form"),
        ({"verify": ""}, "this is not a path"),
        ({"proxy": " "}, "no host"),
        ({"verify": 3}, "invalid verify=3; use True, False, a file"),
        ({"cert": "/nope/me.pem"}, r"cert='/nope/me.pem': cannot read.*no such file"),
        ({"cert": __file__}, "cannot use this certificate"),
        ({"cert": 3}, r"\(certificate, key\)"),
        ({"cert": ()}, r"\(certificate, key\)"),
        ({"verify": ssl.create_default_context(), "cert": __file__}, "load_cert_chain"),
        ({"limits": 3}, r"pondero\.ConnectionLimits"),
        ({"http2": "yes"}, "use True or False"),
        ({"headers": [("a", "b")]}, "a mapping"),
        ({"headers": {"a b": "c"}}, "names and text"),
        ({"headers": {"a": "b\r\nc: d"}}, "no header can carry"),
        ({"headers": {"content-length": "3"}}, "belongs to the transport"),
    ],
)
@pytest.mark.parametrize("make", MAKERS)
def test_each_invalid_argument_is_one_clear_error_at_once(make, wrong, words):
    with pytest.raises(BadParameter, match=words):
        make(**wrong)


@pytest.mark.parametrize("make", MAKERS)
def test_an_encrypted_key_never_asks_on_the_terminal(make, files):
    with pytest.raises(BadParameter, match="is encrypted"):
        make(cert=(files.client, files.locked_key))
    with pytest.raises(BadParameter, match="is the password right"):
        make(cert=(files.client, files.locked_key, "wrong"))
    with pytest.raises(BadParameter, match="both belong together"):
        make(cert=(files.client, files.server_key))


@pytest.mark.parametrize(
    ("name", "path", "words"),
    [
        ("SSL_CERT_FILE", "/nope", "SSL_CERT_FILE=/nope: cannot read.*no such file"),
        ("SSL_CERT_FILE", __file__, "no certificates in PEM form"),
        ("SSL_CERT_DIR", "/nope", "SSL_CERT_DIR=/nope: no such folder"),
    ],
)
@pytest.mark.parametrize("make", MAKERS)
def test_a_wrong_certificate_variable_is_one_clear_error(make, name, path, words, monkeypatch):
    monkeypatch.setenv(name, path)
    with pytest.raises(BadConfig, match=words):
        fetch(make(), "https://service.invalid")
    with serving(HELLO) as server:  # plain HTTP needs no certificate
        assert fetch(make(), server.url) == b"hello"


# -- the rest --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_headers_go_with_every_request_and_the_requests_own_win(make):
    headers = {"X-Team": "search", "X-Own": "transport", "User-Agent": "mine"}
    with serving(HELLO) as server:
        fetch(make(headers=headers), server.url)
    head = server.requests[0].lower()
    assert b"x-team: search" in head
    assert b"user-agent: mine" in head
    assert head.count(b"x-own:") == 1
    assert b"x-own: request" in head


@pytest.mark.parametrize("make", HTTPX)
@pytest.mark.parametrize("idle", [0, 1])
def test_limits_say_how_many_idle_connections_are_kept(make, idle):
    with serving(HELLO) as server:
        made = make(limits=ConnectionLimits(max_keepalive_connections=idle))
        assert fetch(made, server.url, 2) == b"hellohello"
    assert server.connections == (1 if idle else 2)


@pytest.mark.parametrize("make", [AsyncHttpTransport, FastTransport, ByLibrary])
def test_limits_say_how_many_connections_are_open_at_once(make):
    lock, now, most = threading.Lock(), 0, 0

    def script(peer: Peer) -> None:
        nonlocal now, most
        while peer.read():
            with lock:
                now += 1
                most = max(most, now)
            threading.Event().wait(0.02)
            with lock:
                now -= 1
            peer.say(chunked(b"hello"))

    async def main(url: str) -> None:
        transport = make(limits=ConnectionLimits(max_connections=2))

        async def one() -> None:
            answer = await transport.send(HttpRequest("POST", url, {}, b"{}"), Timeouts())
            assert b"".join([piece async for piece in answer]) == b"hello"
            await answer.aclose()

        await asyncio.gather(*(one() for _ in range(6)))
        await transport.aclose()

    with serving(script) as server:
        asyncio.run(main(server.url))
    assert most == 2


@pytest.mark.parametrize(
    "wrong", [{"max_connections": 0}, {"keepalive_expiry": "x"}, {"keepalive_expiry": math.nan}]
)
def test_limits_are_numbers(wrong):
    with pytest.raises(BadParameter, match=f"invalid {next(iter(wrong))}="):
        ConnectionLimits(**wrong)


def test_the_fast_transport_says_what_it_cannot_do():
    with pytest.raises(BadParameter, match=r"no HTTP/2.*use AsyncHttpTransport"):
        FastTransport(http2=True)
    with pytest.raises(BadParameter, match=r"idle connections.*use AsyncHttpTransport"):
        FastTransport(limits=ConnectionLimits(max_keepalive_connections=3))


def test_the_limits_of_httpx_are_limits_too():
    import httpx2

    with serving(HELLO) as server:
        made = HttpTransport(limits=httpx2.Limits(max_keepalive_connections=0))
        assert fetch(made, server.url, 2) == b"hellohello"
    assert server.connections == 2


@pytest.mark.parametrize("make", HTTPX)
def test_http2_without_its_package_says_what_to_install(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "h2", None)
    with pytest.raises(MissingExtra, match=re.escape(install_hint("http2"))):
        make(http2=True)


@pytest.mark.parametrize("offers", [["h2", "http/1.1"], ["http/1.1"]])
@pytest.mark.parametrize("make", HTTPX)
def test_http2_is_used_where_the_service_has_it(make, offers, files):
    tls = files.server_context()
    tls.set_alpn_protocols(offers)
    spoken: list[str | None] = []

    def script(peer: Peer) -> None:
        spoken.append(peer.protocol)
        if peer.protocol != "h2":
            return HELLO(peer)
        return _speak_http2(peer)

    with serving(script, tls) as server:
        made = make(http2=True, verify=files.authority, headers={"x-team": "search"})
        assert fetch(made, server.url, 2) == b"hellohello"
        assert fetch(make(verify=files.authority), server.url) == b"hello"
    assert spoken == [offers[0], "http/1.1"]


def _speak_http2(peer: Peer) -> None:
    from h2.config import H2Configuration
    from h2.connection import H2Connection
    from h2.events import StreamEnded

    connection = H2Connection(H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.say(connection.data_to_send())
    while data := peer.hear():
        for event in connection.receive_data(data):
            if isinstance(event, StreamEnded):
                connection.send_headers(event.stream_id, [(":status", "200")])
                connection.send_data(event.stream_id, b"hello", end_stream=True)
        peer.say(connection.data_to_send())


def test_a_client_takes_a_transport_with_arguments():
    with serving(answering(chunked(b"data: [DONE]\n\n"))) as server:
        transport = HttpTransport(headers={"x-team": "search"})
        with (
            pondero.Client(
                transport=transport,
                keys={"anthropic": "k"},
                urls={"anthropic": server.url},
                retry=pondero.Retry(attempts=1),
            ) as client,
            pytest.raises(PonderoError),
        ):
            client.ask("claude-opus-5", "hello")
    assert b"x-team: search" in server.requests[0].lower()

"""Alarms reach the operator's address, late if need be, and no request waits for them."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Event, Thread
from typing import Any

import pytest

from pondero.errors import BadConfig
from pondero.gateway.config.checks import check_start
from pondero.gateway.config.model import AlertsConfig, GatewayConfig
from pondero.gateway.config.reader import load
from pondero.gateway.config.routing import Routing
from pondero.gateway.observability.dial_watch import Alarm
from pondero.gateway.observability.webhook import TRIES, Webhook
from pondero.store import load_catalog, redact_secrets, register_secret

ALARM = Alarm(
    kind="dial_deaf", route="opus", model="north:m1", text="low and high", at=1.0, requests=100
)


class Receiver:
    """A canned receiver: ``statuses`` are its answers, then 200; it waits for ``open``."""

    def __init__(self) -> None:
        self.got: Queue[tuple[str, dict[str, Any]]] = Queue()
        self.statuses: list[int] = []
        self.open = Event()
        self.open.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.open.wait(30)
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.put((self.path, json.loads(body)))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook/very-secret-path?a=1"

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def test_an_alarm_arrives_as_json_with_a_text_that_chats_show(receiver):
    webhook = Webhook(receiver.url)
    webhook.send(ALARM)
    path, body = receiver.got.get(timeout=60)
    webhook.close()
    assert path == "/hook/very-secret-path?a=1"
    assert body == {
        "kind": "dial_deaf",
        "state": "raised",
        "route": "opus",
        "model": "north:m1",
        "text": "pondero: dial_deaf raised: low and high",
        "at": 1.0,
        "requests": 100,
        "wasted": 0,
    }
    assert webhook.lost == 0


def test_an_alarm_that_is_not_taken_is_sent_again(receiver):
    receiver.statuses = [503, 500]
    webhook = Webhook(receiver.url, pause=0)
    webhook.send(ALARM)
    bodies = [receiver.got.get(timeout=60)[1] for _ in range(3)]
    webhook.close()
    assert bodies[0] == bodies[1] == bodies[2]
    assert receiver.got.empty()
    assert webhook.lost == 0


def test_an_alarm_that_nobody_takes_is_dropped_and_the_next_one_is_sent(receiver):
    receiver.statuses = [500] * TRIES
    webhook = Webhook(receiver.url, pause=0)
    webhook.send(ALARM)
    for _ in range(TRIES):
        receiver.got.get(timeout=60)
    webhook.send(ALARM)
    receiver.got.get(timeout=60)
    webhook.close()
    assert webhook.lost == 1


def test_alarms_wait_in_a_bounded_queue_while_the_receiver_hangs(receiver, monkeypatch, caplog):
    monkeypatch.setattr("pondero.gateway.observability.webhook.KEPT", 20)
    receiver.open.clear()
    webhook = Webhook(receiver.url)
    for _ in range(30):
        webhook.send(ALARM)  # returns at once: the receiver answers nothing
    assert webhook.lost >= 9  # one may be on its way
    assert caplog.text.count("more than 20 alerts wait for the webhook") == 1
    receiver.open.set()
    webhook.close()


def test_all_alarms_of_a_bad_day_arrive(receiver):
    webhook = Webhook(receiver.url)
    for _ in range(150):
        webhook.send(ALARM)
    for _ in range(150):
        receiver.got.get(timeout=60)
    webhook.close()
    assert webhook.lost == 0


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> Receiver:
    """Return the receiver as the proxy of this machine, for all addresses but those left out."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTP_PROXY", receiver.url.removesuffix("/hook/very-secret-path?a=1"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return receiver


def test_an_alarm_goes_by_the_proxy_of_the_environment(proxied):
    webhook = Webhook("http://chat.invalid/hook?a=1")
    webhook.send(ALARM)
    path, body = proxied.got.get(timeout=60)
    webhook.close()
    assert path == "http://chat.invalid/hook?a=1"  # whole, as a proxy is asked
    assert body["kind"] == "dial_deaf"
    assert webhook.lost == 0


def test_an_alarm_for_an_address_that_needs_no_proxy_goes_there(proxied):
    webhook = Webhook(proxied.url)
    webhook.send(ALARM)
    path, _ = proxied.got.get(timeout=60)
    webhook.close()
    assert path == "/hook/very-secret-path?a=1"


def test_a_secret_is_neither_sent_nor_is_the_address_shown(receiver):
    secret = "sk-ant-" + "b2" * 12
    register_secret(secret)
    webhook = Webhook(receiver.url)
    webhook.send(Alarm(kind="exhausted", route=secret, model="m", text=secret, at=1.0, requests=50))
    _, body = receiver.got.get(timeout=60)
    webhook.close()
    assert secret not in json.dumps(body)
    assert receiver.url not in redact_secrets(f"cannot reach {receiver.url}")


# -- gateway.toml ---------------------------------------------------------------------------------


def test_the_address_is_read_from_the_file_or_a_reference(tmp_path, monkeypatch):
    file = tmp_path / "gateway.toml"
    file.write_text('[alerts]\nwebhook = "env:HOOK"\n')
    config = load(file, load_catalog())
    assert config.alerts == AlertsConfig("env:HOOK")
    monkeypatch.delenv("HOOK", raising=False)
    routing = Routing(config, load_catalog())
    with pytest.raises(BadConfig, match=r"gateway.toml:2: webhook: .*HOOK"):
        check_start(config, routing, offline=True)
    monkeypatch.setenv("HOOK", "very-secret")
    with pytest.raises(BadConfig, match="begins with http") as raised:
        check_start(config, routing, offline=True)
    assert "very-secret" not in str(raised.value)
    monkeypatch.setenv("HOOK", "https://127.0.0.1/hook")
    check_start(config, routing, offline=True)


@pytest.mark.parametrize("wrong", ["127.0.0.1", "ftp://host/x", "https://u:p@host/x", "http://h:x"])
def test_a_wrong_address_is_rejected_with_its_line(tmp_path, wrong):
    file = tmp_path / "gateway.toml"
    file.write_text(f'[alerts]\nwebhook = "{wrong}"\n')
    with pytest.raises(BadConfig, match=r"gateway.toml:2: "):
        check_start(load(file, load_catalog()), Routing(GatewayConfig(), load_catalog()))

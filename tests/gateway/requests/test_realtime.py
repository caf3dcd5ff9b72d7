"""Sockets of models that speak, through the gateway: both directions, one record, all rules."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from google import genai
from google.genai import live, types
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.endpoint_gateway import ROUTES, both, secret, serving
from tests.gateway.endpoint_service import KEY, WAIT, auntil, until
from websockets.asyncio.client import connect as async_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pondero.gateway.config.model import HookConfig
from pondero.gateway.observability.request_record import RequestRecord
from pondero.gateway.requests import realtime

LIVE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both() as found:
        yield found


@pytest.fixture(scope="module")
def routed(gateway) -> Iterator[Any]:
    with serving(gateway.service, routes=ROUTES) as found:
        yield found


open_sockets: set[int] = set()


@pytest.fixture(scope="module", autouse=True)
def _counted() -> Iterator[None]:
    """Know which sockets have no record yet: one may come after the test that opened it."""
    begin, finish = realtime.SocketExchange.__init__, RequestRecord.finish

    def begin_counted(self: Any, *args: Any) -> None:
        begin(self, *args)
        open_sockets.add(id(self.record))

    def finish_counted(self: RequestRecord) -> None:
        finish(self)
        open_sockets.discard(id(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(realtime.SocketExchange, "__init__", begin_counted)
        patch.setattr(RequestRecord, "finish", finish_counted)
        yield


@pytest.fixture(autouse=True)
def _fresh(gateway, routed) -> None:
    until(lambda: not open_sockets)
    gateway.service.reset()
    gateway.seen.clear()
    routed.seen.clear()


def opened(gateway: Any, path: str = "/v1/realtime?model=gpt-realtime", **more: Any) -> Any:
    more.setdefault("additional_headers", {"authorization": f"Bearer {secret('plain')}"})
    url = f"ws{gateway.url.removeprefix('http')}{path}"
    return connect(url, proxy=None, open_timeout=WAIT, **more)


def as_key(name: str) -> dict[str, Any]:
    return {"additional_headers": {"authorization": f"Bearer {secret(name)}"}}


def row(gateway: Any) -> Any:
    until(lambda: gateway.seen)
    (found,) = gateway.seen
    return found


@pytest.mark.filterwarnings("ignore:connect.. must be used:DeprecationWarning")  # by the SDK
def test_the_openai_sdk_speaks_over_the_socket_and_it_is_one_row(gateway):
    with (
        openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=secret("plain")) as client,
        client.realtime.connect(model="gpt-realtime") as connection,
    ):
        for _ in range(2):
            connection.response.create()
            event = connection.recv()
            assert event.type == "response.done"
            assert event.response.usage is not None
            assert event.response.usage.input_tokens == 10
    found = row(gateway)
    assert (found.endpoint, found.status, found.end) == ("realtime", 101, "done")
    usage = found.usage
    assert (usage.input, usage.cache_read, usage.output) == (16, 4, 14)
    assert found.answered_by == "openai:gpt-realtime"
    (asked,) = gateway.service.opened
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert (asked.path, asked.query) == ("/openai/v1/realtime", "model=gpt-realtime")
    assert secret("plain") not in str(asked)


def test_google_genai_speaks_over_the_live_socket(gateway, monkeypatch):
    def connect_plainly(uri: str, **more: Any) -> Any:
        del more["ssl"]  # the SDK insists on TLS, which a proxy before the gateway would end
        return async_connect(uri.replace("wss:", "ws:"), proxy=None, **more)

    monkeypatch.setattr(live, "ws_connect", connect_plainly)
    asyncio.run(_speak_live(gateway))


async def _speak_live(gateway: Any) -> None:
    options = types.HttpOptions(base_url=gateway.url, api_version="v1beta")
    client = genai.Client(api_key=secret("plain"), http_options=options)
    async with client.aio.live.connect(model="gemini-live-x", config={}) as session:
        turn = types.Content(role="user", parts=[types.Part(text="hi")])
        await session.send_client_content(turns=turn, turn_complete=True)
        texts = [each.text async for each in session.receive()]
    assert "hi" in texts
    await auntil(lambda: gateway.seen)
    found = gateway.seen[0]
    assert (found.usage.input, found.usage.output, found.provider) == (5, 3, "google")
    assert gateway.service.opened[0].path == f"/google{LIVE}"
    assert gateway.service.opened[0].headers["x-goog-api-key"] == KEY
    assert secret("plain") not in str(gateway.service.opened[0])


messages = st.lists(st.text(max_size=40) | st.binary(max_size=40), max_size=6)


@given(messages)
def test_messages_pass_unchanged(gateway, sent):
    gateway.service.reset()
    with opened(gateway) as client:
        for each in sent:
            client.send(each)
        until(lambda: gateway.service.sockets and len(gateway.service.sockets[0]) == len(sent))
    assert gateway.service.sockets[0] == sent


@given(st.lists(st.text(alphabet='abc\n\u00e9{}"', max_size=40), min_size=1, max_size=6))
def test_what_the_service_says_passes_unchanged(gateway, said):
    gateway.service.reset()
    gateway.service.say[:] = said
    with opened(gateway) as client:
        assert [client.recv(WAIT) for _ in said] == said


def test_a_browser_shows_its_key_in_a_subprotocol_which_does_not_leave(gateway):
    offered: Any = [
        "realtime",
        f"openai-insecure-api-key.{secret('plain')}",
        "openai-organization.org",
    ]
    with opened(gateway, subprotocols=offered, additional_headers={}) as client:
        assert client.subprotocol == "realtime"
    until(lambda: gateway.service.opened)
    (asked,) = gateway.service.opened
    assert asked.headers["sec-websocket-protocol"] == "realtime"
    assert secret("plain") not in str(asked)
    with (
        pytest.raises(InvalidStatus) as wrong,
        opened(gateway, subprotocols=["openai-insecure-api-key.pnd_no"], additional_headers={}),
    ):
        pass
    assert wrong.value.response.status_code == 401


CLOSED = {
    "a cap": "capped",
    "a budget": "budget",
    "a cost budget": "money",
    "a rate limit": "limited",
    "another list": "embeds",
    "an empty list": "none",
}


@pytest.mark.parametrize("rule", CLOSED)
@pytest.mark.parametrize("path", ["/v1/realtime?model=gpt-realtime", LIVE])
def test_a_key_with_a_rule_opens_no_socket_unless_it_is_named(gateway, rule, path):
    with pytest.raises(InvalidStatus) as closed, opened(gateway, path, **as_key(CLOSED[rule])):
        pass
    assert closed.value.response.status_code == 403
    assert b"realtime" in closed.value.response.body
    assert b"endpoints = " in closed.value.response.body
    assert row(gateway).status == 403
    assert gateway.service.opened == []


def _set_up_live(gateway: Any) -> None:
    with opened(gateway, LIVE) as client:
        client.send(json.dumps({"setup": {"model": "models/gemini-live-x"}}))
        client.recv(WAIT)


@pytest.mark.parametrize("routes", [(), ("gpt-*", "gemini-*")])
def test_a_hook_closes_sockets_whose_texts_it_would_not_see(gateway, routes):
    guard = HookConfig(use="tests.gateway.hooks.test_endpoints:Guard", name="guard", routes=routes)
    with serving(gateway.service, hooks=(guard,)) as guarded:
        with pytest.raises(InvalidStatus, match="403"), opened(guarded):
            pass
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            _set_up_live(guarded)
        with opened(guarded, **as_key("named")) as client:
            client.send(json.dumps({"type": "response.create"}))
            client.recv(WAIT)
        until(lambda: len(guarded.seen) == 3)
    assert [each.status for each in guarded.seen][:2] == [403, 403]
    assert len(gateway.service.sockets) == 1


def test_a_model_that_a_key_may_not_use_is_rejected_on_both_apis(gateway):
    with opened(gateway, **as_key("models")):
        pass
    other = "/v1/realtime?model=gpt-other"
    with pytest.raises(InvalidStatus) as closed, opened(gateway, other, **as_key("models")):
        pass
    assert closed.value.response.status_code == 403
    with opened(gateway, LIVE, **as_key("models")) as client:
        client.send(json.dumps({"setup": {"model": "models/gemini-live-x"}}))
        with pytest.raises(ConnectionClosed) as ended:
            client.recv(WAIT)
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 1008
    assert len(gateway.service.opened) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/v1/realtime",
        "/v1/realtime?model=a&model=gpt-realtime",
        "/v1/realtime?call_id=rtc_1",
        "/v1/realtime?model=gpt-realtime&x=1",
    ],
)
def test_a_socket_without_one_model_is_rejected(gateway, path):
    with pytest.raises(InvalidStatus) as closed, opened(gateway, path):
        pass
    assert closed.value.response.status_code == 400
    assert gateway.service.opened == []


@pytest.mark.parametrize(
    "first",
    [
        "no json",
        "[]",
        '{"setup": {}}',
        '{"setup": {"model": "models/a", "model": "models/b"}}',
        '{"setup": {"model": "models/a"}, "setup": {"model": "models/b"}}',
        '{"setup": {"model": "models/a", "mod\\u0065l": "models/b"}}',
        b"\xff",
    ],
)
def test_a_live_socket_names_its_model_once_in_its_first_message(gateway, first):
    with opened(gateway, LIVE) as client:
        client.send(first)
        with pytest.raises(ConnectionClosed) as ended:
            client.recv(WAIT)
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 1008
    assert gateway.service.opened == []


def test_routes_give_sockets_their_provider_and_model(routed):
    with opened(routed, "/v1/realtime?model=rt"):
        pass
    with opened(routed, LIVE) as client:
        client.send('{"setup": {"model": "models/live", "generationConfig": {"a": 1.5}}}')
        assert client.recv(WAIT)
    service = routed.service
    assert service.opened[0].query == "model=gpt-realtime"
    sent = json.loads(service.sockets[1][0])
    assert sent == {"setup": {"model": "models/gemini-live-x", "generationConfig": {"a": 1.5}}}
    with pytest.raises(InvalidStatus) as unknown, opened(routed, "/v1/realtime?model=other"):
        pass
    assert unknown.value.response.status_code == 404
    with pytest.raises(InvalidStatus) as capped, opened(routed, "/v1/realtime?model=capped"):
        pass
    assert capped.value.response.status_code == 403


def _ask_on(client: Any, answers: list[Any]) -> None:
    for _ in range(200):
        client.send('{"type": "response.create"}')
        answers.append(client.recv(WAIT))


def test_a_budget_ends_a_socket_that_was_opened_by_name(gateway):
    with opened(gateway, **as_key("named")) as client:
        answers: list[Any] = []
        with pytest.raises(ConnectionClosed) as ended:
            _ask_on(client, answers)
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 1008
    assert "budget" in ended.value.rcvd.reason
    assert len(answers) == 1000 // 17 + 1
    found = row(gateway)
    assert found.usage.known_total == len(answers) * 17  # what was served is what is counted
    with pytest.raises(InvalidStatus) as spent, opened(gateway, **as_key("named")):
        pass
    assert spent.value.response.status_code == 429


def test_close_codes_pass_in_both_directions(gateway):
    gateway.service.close_with = (4123, "enough")
    with opened(gateway) as client:
        client.send("x")
        with pytest.raises(ConnectionClosed) as ended:
            client.recv(WAIT)
    assert ended.value.rcvd is not None
    assert (ended.value.rcvd.code, ended.value.rcvd.reason) == (4123, "enough")
    gateway.service.close_with = None
    with opened(gateway) as client:
        client.close(4200, "bye")
    until(lambda: gateway.service.ended)
    assert gateway.service.ended == [(4200, "bye")]


def test_a_client_that_is_lost_ends_the_services_side(gateway):
    with opened(gateway) as client:
        client.send("x")
        until(lambda: gateway.service.sockets and gateway.service.sockets[0])
        client.socket.close()
        until(lambda: gateway.service.ended)
    assert row(gateway).end == "left"


def test_a_service_that_opens_no_socket_is_reported(gateway):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_PROVIDER_KEY", "sk-another-key-0123456789")
        with pytest.raises(InvalidStatus) as rejected, opened(gateway):
            pass
    assert rejected.value.response.status_code == 403
    assert row(gateway).end == "failed"
    assert b"sk-another" not in rejected.value.response.body


def test_a_gateway_that_stops_closes_both_sides(gateway):
    with serving(gateway.service) as other:
        client = opened(other).__enter__()
        client.send("x")
        until(lambda: gateway.service.sockets and gateway.service.sockets[0])
    with pytest.raises(ConnectionClosed) as ended:
        client.recv(WAIT)
    client.close()
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 1012
    until(lambda: gateway.service.ended)
    assert gateway.service.ended[0][0] in (1001, 1012)


def test_a_key_that_the_service_quotes_does_not_reach_the_client(gateway):
    gateway.service.say[:] = [f"your key is {KEY}"]
    with opened(gateway) as client:
        said = client.recv(WAIT)
    assert KEY not in said


def test_secrets_for_clients_are_not_handed_out(gateway):
    with (
        openai.OpenAI(
            base_url=f"{gateway.url}/v1", api_key=secret("plain"), max_retries=0
        ) as client,
        pytest.raises(openai.PermissionDeniedError, match="hands out a key"),
    ):
        client.realtime.client_secrets.create()
    assert gateway.service.asked == []

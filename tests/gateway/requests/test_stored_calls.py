"""Stored interactions through the gateway: fetched, cancelled and deleted by their own client."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.dialects import StoredCall, get_dialect
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MINE, THEIRS = "pk-mine", "pk-theirs"
KEYS = (GatewayKey("mine", hash_key(MINE)), GatewayKey("theirs", hash_key(THEIRS)))
MODEL = "google-interactions:gemini-3-flash-preview"
SUM = "What is 17 * 23?"
VERBS = {"fetch": ("GET", ""), "cancel": ("POST", "/cancel"), "delete": ("DELETE", "")}


class Gate:
    """A gateway before the emulator, with what arrives there."""

    def __init__(self, *, to: str = MODEL, keys=KEYS, show: Any = None) -> None:
        self.emulator = Emulator()
        self.urls: list[str] = []
        routes = (GatewayRoute("fast", (to,), retries=0, show=show),)
        config = GatewayConfig(routes=routes, keys=keys)
        self.app = App(GatewayContext(config, self))

    needs_key = False

    async def send(self, request: HttpRequest, timeouts: Any) -> Any:
        """Be the transport to the emulator."""
        self.urls.append(request.url)
        return await self.emulator.send(request, timeouts)

    async def aclose(self) -> None:
        pass

    @property
    def arrived(self) -> int:
        return len(self.urls)

    def call(self, method: str, path: str, body: Any = None, *, key: str = MINE) -> Came:
        headers = {"x-goog-api-key": key, "content-type": "application/json"}
        data = b"" if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1/v1beta/interactions{path}"
        return anyio.run(came, self.app, HttpRequest(method, url, headers, data))

    def ask(self, *, key: str = MINE, **fields: Any) -> Any:
        answer = self.call("POST", "", {"model": "fast", "input": SUM, **fields}, key=key)
        assert answer.status == 200, answer.body
        return json.loads(answer.body) if not fields.get("stream") else answer.body

    def do(self, verb: str, id: str, *, key: str = MINE, query: str = "") -> Came:
        method, rest = VERBS[verb]
        return self.call(method, f"/{id}{rest}{query}", key=key)


def test_an_answer_is_fetched_streamed_again_and_deleted_under_the_clients_name():
    gate = Gate()
    made = gate.ask()
    assert made["model"] == "fast"
    fetched = gate.do("fetch", made["id"])
    assert fetched.status == 200
    told = json.loads(fetched.body)
    assert (told["id"], told["model"], told["status"]) == (made["id"], "fast", "completed")
    assert told["steps"][1:] == made["steps"]
    again = gate.do("fetch", made["id"], query="?stream=true")
    assert again.headers["content-type"] == "text/event-stream"
    assert again.body.endswith(b"data: [DONE]\n\n")
    assert b'"model":"fast"' in again.body
    assert b"gemini" not in again.body
    rest = gate.do("fetch", made["id"], query="?stream=true&last_event_id=4")
    assert again.body.endswith(rest.body)
    assert len(rest.body) < len(again.body)
    assert gate.do("delete", made["id"]).status == 200
    gone = gate.do("fetch", made["id"])
    assert (gone.status, json.loads(gone.body)["error"]["code"]) == (404, "not_found")


def test_an_answer_in_the_background_is_polled_and_cancelled():
    gate = Gate()
    made = gate.ask(background=True)
    assert made["status"] == "in_progress"
    assert json.loads(gate.do("fetch", made["id"]).body)["status"] == "in_progress"
    assert json.loads(gate.do("cancel", made["id"]).body)["status"] == "cancelled"
    assert json.loads(gate.do("fetch", made["id"]).body)["status"] == "cancelled"


def test_the_id_of_a_stream_is_known_too():
    gate = Gate()
    events = [line for line in gate.ask(stream=True).split(b"\n") if line.startswith(b"data: {")]
    id = json.loads(events[0][6:])["interaction"]["id"]
    assert gate.do("fetch", id).status == 200


def test_a_conversation_goes_on_by_its_id_and_for_nobody_else():
    gate = Gate()
    made = gate.ask()
    assert gate.ask(previous_interaction_id=made["id"])["id"] != made["id"]
    before = gate.arrived
    body = {"model": "fast", "input": SUM, "previous_interaction_id": made["id"]}
    assert gate.call("POST", "", body, key=THEIRS).status == 404
    assert gate.arrived == before


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("verb", VERBS)
def test_no_key_reaches_what_another_key_stored(verb, background):
    gate = Gate()
    made = gate.ask(background=background)
    before = gate.arrived
    stolen = gate.do(verb, made["id"], key=THEIRS)
    unknown = gate.do(verb, "v1_nobodys", key=THEIRS)
    assert gate.arrived == before
    assert stolen.status == unknown.status == 404
    # What is another's cannot be told from what does not exist.
    assert stolen.body.replace(made["id"].encode(), b"v1_nobodys") == unknown.body
    assert json.loads(stolen.body)["error"]["code"] == "not_found"
    assert gate.do("fetch", made["id"]).status == 200


def test_a_gateway_without_keys_fetches_what_it_gave():
    gate = Gate(keys=())
    made = gate.ask()
    assert gate.do("fetch", made["id"]).status == 200
    before = gate.arrived
    assert gate.do("fetch", "v1_nobodys").status == 404
    assert gate.arrived == before


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "gate",
    [
        {"to": "anthropic:claude-opus-5"},
        {"to": "google:gemini-3-flash-preview"},
        {"show": "none"},
    ],
    ids=["claude", "generateContent", "hidden"],
)
def test_an_answer_that_no_service_has_is_said_to_be_kept_by_nobody(gate, verb):
    made = Gate(**gate)
    id = made.ask()["id"]
    before = made.arrived
    answer = made.do(verb, id)
    assert (answer.status, made.arrived) == (404, before)
    message = json.loads(answer.body)["error"]["message"]
    assert id in message
    assert "keeps no answers" in message


def test_neither_the_clients_key_nor_any_other_parameter_goes_to_the_service():
    gate = Gate()
    made = gate.ask()
    query = f"?key={MINE}&include_input=true&alt=sse&access_token=x"
    assert gate.do("fetch", made["id"], query=query).status == 200
    sent = gate.urls[-1]
    assert MINE not in sent
    assert sent.endswith(f"/v1beta/interactions/{made['id']}?include_input=true")


@pytest.mark.parametrize("id", ["..", "%2e%2e%2fmodels", "a?b", "a%23b"])
def test_an_id_stays_in_its_place_of_the_path(id):
    gate = Gate()
    before = gate.arrived
    assert gate.do("fetch", id).status in (400, 404)
    assert gate.arrived == before


@pytest.mark.parametrize("to", ["anthropic:claude-opus-5", "google:gemini-3-flash-preview"])
@pytest.mark.parametrize(
    "field",
    [{"background": True}, {"previous_interaction_id": "v1_a"}, {"continuation_token": "t"}],
)
def test_what_another_api_cannot_store_is_rejected_by_the_name_of_the_field(to, field):
    gate = Gate(to=to)
    answer = gate.call("POST", "", {"model": "fast", "input": SUM, **field})
    told = json.loads(answer.body)["error"]
    assert (answer.status, told["code"], gate.arrived) == (400, "invalid_request", 0)
    assert next(iter(field)) in told["message"]


def test_an_id_of_a_service_cannot_leave_its_place_in_the_address():
    service = get_dialect("interactions").service()
    home = HttpRequest("POST", "https://g/v1beta/interactions", {"x-goog-api-key": "own"})
    call = StoredCall("response", "../models?x=#", "cancel")
    asked = HttpRequest("POST", "http://gate/v1/interactions/x/cancel?key=a", {"cookie": "c"})
    sent = service.stored_ids.forward(asked, call, home)
    assert sent.url == "https://g/v1beta/interactions/..%2Fmodels%3Fx%3D%23/cancel"
    assert sent.headers == {"x-goog-api-key": "own"}

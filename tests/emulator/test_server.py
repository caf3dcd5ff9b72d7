"""The emulator over real HTTP on the loopback."""

import builtins
import json
import re

import httpx2
import pytest

import pondero
from pondero.emulator import (
    Emulator,
    Fault,
    ScriptedTurn,
    address,
    bind,
    run_emulator_in_thread,
)
from pondero.errors import BadParameter, MissingExtra
from pondero.extras import install_hint

KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
BODY = {
    "model": "claude-opus-5",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "What is 17 * 23?"}],
}


@pytest.fixture(scope="module")
def emulator():
    return Emulator()


@pytest.fixture(scope="module")
def http(emulator):
    with run_emulator_in_thread(emulator) as url, httpx2.Client(base_url=url, timeout=20) as client:
        yield client


@pytest.fixture(autouse=True)
def _fresh(emulator):
    emulator.reset()


def ask(http, **more):
    return http.post("/v1/messages", headers=KEY, json={**BODY, **more})


def test_it_answers(http):
    answer = ask(http)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["content"][-1]["text"] == "17 * 23 = 391"


def test_every_answer_says_that_it_is_the_emulators(http):
    for answer in (ask(http), ask(http, stream=True), http.get("/nowhere")):
        assert answer.headers.get_list("server") == ["pondero-emulator"]


def test_it_streams(http):
    with http.stream("POST", "/v1/messages", headers=KEY, json={**BODY, "stream": True}) as answer:
        pieces = list(answer.iter_bytes())
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert b"event: message_stop" in b"".join(pieces)


def test_turns_can_be_expected_over_http(http):
    told = http.post("/_emulator/expect", json=[{"text": "one"}, {"text": "two"}])
    assert told.json() == {"waiting": 2}
    texts = [ask(http).json()["content"][-1]["text"] for _ in range(3)]
    assert texts == ["one", "two", "17 * 23 = 391"]


def test_a_fault_can_be_expected_over_http(http):
    fault = {"kind": "status", "status": 429, "retry_after": 3}
    http.post("/_emulator/expect", json={"fault": fault, "when": {"model": "claude-opus-5"}})
    answer = ask(http)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "3"
    assert answer.json()["error"]["type"] == "rate_limit_error"
    assert ask(http).status_code == 200


@pytest.mark.parametrize("turns", ["ok", ["ok"], [{"text": "ok"}]])
def test_words_alone_are_a_turn(http, turns):
    assert http.post("/_emulator/expect", json=turns).json() == {"waiting": 1}
    assert ask(http).json()["content"][-1]["text"] == "ok"


FOREIGN = (
    {"host": "evil.example.com"},
    {"host": "evil.example.com:80"},
    {"origin": "https://evil.example.com"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"content-type": "text/plain;charset=UTF-8"},
)


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(
    ("method", "verb"), [("POST", "expect"), ("POST", "reset"), ("GET", "log")]
)
def test_a_page_of_another_origin_cannot_steer_it(http, emulator, method, verb, headers):
    emulator.expect("waiting")
    answer = http.request(method, f"/_emulator/{verb}", content=b'{"text": "x"}', headers=headers)
    assert answer.status_code == 403
    assert answer.json()["error"]
    assert len(emulator.script) == 1


@pytest.mark.parametrize(
    "host", ["localhost:9100", "127.0.0.1", "[::1]:80", "emulator", "a.localhost"]
)
def test_it_is_steered_from_here_under_any_local_name(http, host):
    form = {"host": host, "content-type": "application/x-www-form-urlencoded"}  # curl -d
    answer = http.post("/_emulator/expect", content=b'{"text": "x"}', headers=form)
    assert answer.status_code == 200
    own = {"host": host, "origin": f"http://{host}"}
    assert http.get("/_emulator/log", headers=own).status_code == 200


def test_what_agents_send_before_their_first_request_is_answered(http):
    for path in ("/", "/api/hello"):
        assert http.head(path).status_code == 200
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
               "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    assert http.get("/v1/responses", headers=upgrade).status_code == 426


def test_a_turn_that_is_none_is_refused_with_a_reason(http):
    answer = http.post("/_emulator/expect", json={"txet": "one"})
    assert answer.status_code == 400
    assert "txet" in answer.json()["error"]
    assert http.post("/_emulator/expect", content=b"\xff").status_code == 400


def test_the_log_can_be_read_and_forgotten_over_http(http):
    ask(http)
    http.post("/v1/messages", json=BODY)
    good, bad = http.get("/_emulator/log").json()["exchanges"]
    assert (good["status"], good["end"], good["headers"]["x-api-key"]) == (200, "complete", "***")
    assert (bad["status"], bad["refusal"]["error"]["type"]) == (401, "authentication_error")
    http.post("/_emulator/reset")
    assert http.get("/_emulator/log").json() == {"exchanges": []}


def test_another_provider_is_the_first_part_of_the_path(http, emulator):
    body = {"model": "llama-3.1-8b-instant", "messages": BODY["messages"]}
    auth = {"authorization": "Bearer k"}
    assert http.post("/groq/v1/chat/completions", headers=auth, json=body).status_code == 200
    assert http.post("/v1/chat/completions", headers=auth, json=body).status_code == 404
    assert [entry.service for entry in emulator.log.entries] == ["groq", "openai-chat"]


def test_a_broken_connection_is_broken(http, emulator):
    for kind in ("broken", "refused"):
        emulator.faults.append(Fault(kind=kind, at=30))
        with pytest.raises(httpx2.RemoteProtocolError):
            ask(http, stream=True)
    assert ask(http).status_code == 200


def test_a_cut_answer_ends_in_good_order(http, emulator):
    emulator.faults.append(Fault(kind="cut", at=30))
    assert len(ask(http, stream=True).content) == 30


@pytest.mark.parametrize("at", [None, 30])
def test_a_silent_server_ends_in_the_clients_timeout_and_is_free_again(http, emulator, at):
    emulator.faults.append(Fault(kind="hang", at=at))
    with pytest.raises(httpx2.ReadTimeout):
        http.post("/v1/messages", headers=KEY, json={**BODY, "stream": True}, timeout=0.1)
    assert ask(http).status_code == 200


def test_a_page_instead_of_an_answer(http, emulator):
    emulator.faults.append(Fault(kind="html"))
    answer = ask(http)
    assert (answer.status_code, answer.headers["content-type"]) == (502, "text/html; charset=utf-8")


def test_an_unknown_address_names_itself(http):
    answer = http.get("/v1/nothing")
    assert answer.status_code == 404
    assert "/v1/nothing" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/v1/nothing", KEY), ("/v1/messages/nothing", {"x-api-key": "k"}), ("/anthropic/v1/no", {})],
)
def test_an_unknown_address_is_refused_in_the_shape_of_who_is_meant(http, path, headers):
    answer = http.get(path, headers=headers)
    assert answer.status_code == 404
    assert answer.json()["type"] == "error"
    assert answer.json()["error"]["type"] == "not_found_error"


def test_a_port_in_use_is_one_clear_line():
    taken = bind("127.0.0.1", 0)
    port = taken.getsockname()[1]
    with pytest.raises(BadParameter, match=rf"port {port}: address already in use; .*--port"):
        bind("127.0.0.1", port)
    taken.close()


def test_an_address_that_is_not_ours_is_one_clear_line():
    with pytest.raises(BadParameter, match=r"cannot listen on 192\.0\.2\.1 port 0"):
        bind("192.0.2.1", 0)


def test_the_address_is_where_it_listens():
    with bind("127.0.0.1", 0) as bound:
        assert address(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.partition(".")[0] == "uvicorn":
            raise ImportError(name="uvicorn")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtra, match=re.escape(f"uvicorn; {install_hint('server')}")):
        bind("127.0.0.1", 0)


def test_the_log_is_plain_json(http):
    ask(http, stream=True)
    (entry,) = json.loads(http.get("/_emulator/log").content)["exchanges"]
    assert entry["body"]["model"] == "claude-opus-5"


@pytest.mark.parametrize("fault", [529, "529", {"kind": "status", "status": 529}])
def test_a_fault_of_a_turn_has_the_words_of_the_list(http, emulator, fault):
    assert http.post("/_emulator/expect", json={"fault": fault}).json() == {"waiting": 1}
    assert ask(http).status_code == 529
    assert emulator.log.entries[-1].fault == "status"


def test_the_words_take_their_number(http):
    for fault in ("429 2.5", "cut 12"):
        assert http.post("/_emulator/expect", json={"fault": fault}).status_code == 200
    assert ask(http).headers["retry-after"] == "2.5"
    assert len(ask(http, stream=True).content) == 12


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"fault": "breakdown"}, "unknown fault 'breakdown'; use a status such as 529, or"),
        (
            {"fault": {"kind": "cut", "after": 120}},
            "its fields are kind status message code retry_after at seconds",
        ),
        ({"when": {"prompt": "x"}}, "its fields are dialect service model contains"),
        ({"tool_calls": [{"tool": "x"}]}, "its fields are name arguments id"),
        ([{"answer": "x"}], "its fields are text thinking redacted tool_calls"),
    ],
)
def test_what_is_no_turn_says_what_one_has(http, turn, said):
    answer = http.post("/_emulator/expect", json=turn)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_a_turn_in_python_takes_the_words_too():
    emulator = Emulator(script=[ScriptedTurn(fault="503")])
    with (
        pondero.Client(transport=emulator, retry=pondero.Retry(attempts=1)) as client,
        pytest.raises(pondero.Overloaded),
    ):
        client.ask("claude-opus-5", "hi")
    with pytest.raises(BadParameter, match="unknown fault 'brokn'"):
        ScriptedTurn(fault="brokn")


@pytest.mark.parametrize(
    ("method", "path", "use"),
    [("GET", "expect", "POST"), ("GET", "reset", "POST"), ("POST", "log", "GET")],
)
def test_a_wrong_method_of_a_control_endpoint_names_the_right_one(http, method, path, use):
    answer = http.request(method, f"/_emulator/{path}")
    assert answer.status_code == 405
    assert answer.headers["allow"] == use
    assert answer.json() == {"error": f"use {use} /_emulator/{path}"}


def test_an_unknown_control_endpoint_lists_the_ones_there_are(http):
    answer = http.get("/_emulator/waiting")
    assert answer.status_code == 404
    assert answer.json()["error"] == (
        "there is no /_emulator/waiting; use POST /_emulator/expect, POST /_emulator/reset "
        "or GET /_emulator/log"
    )

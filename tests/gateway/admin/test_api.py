"""The admin API: who may use it, and what it says."""

import asyncio
import csv
import io
import json
from datetime import UTC, datetime

import pytest
from tests.gateway.asgi import Came, came

from pondero import plan
from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.admin import long_answer
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.feed import KEPT, Feed
from pondero.gateway.observability.ledger_database import PostgresDatabase
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.server.run import _make_server

HERE = {"host": "127.0.0.1:8787"}
ADMIN, PLAIN = "pnd_admin", "pnd_plain"
KEYS = (GatewayKey("boss", hash_key(ADMIN), admin=True), GatewayKey("ci", hash_key(PLAIN)))
ROUTE = GatewayRoute(
    match="opus", to=("anthropic:claude-opus-5",), thinking=LevelRules(cap="medium")
)


def gate_of(*, host: str = "127.0.0.1", keys: tuple[GatewayKey, ...] = ()) -> GatewayContext:
    config = GatewayConfig(ServerConfig(host=host), (ROUTE,), keys=keys)
    return GatewayContext(config, Emulator(any_model=True))


def said(
    gate: GatewayContext, method: str, place: str, body: object = None, **headers: str
) -> Came:
    sent = {**HERE, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body is not None:
        sent["content-type"] = "application/json"
    data = b"" if body is None else json.dumps(body).encode()
    return asyncio.run(came(App(gate), HttpRequest(method, f"http://g{place}", sent, data)))


def asked(gate: GatewayContext, key: str) -> int:
    """Return the status of a conversation under a key."""
    body = {"model": "opus", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 9000}
    headers = {"x-api-key": key}
    http = HttpRequest("POST", "http://g/v1/messages", headers, json.dumps(body).encode())
    return asyncio.run(came(App(gate), http)).status


# -- who may ---------------------------------------------------------------------------------------


def test_on_this_machine_nobody_needs_a_key():
    assert said(gate_of(), "GET", "/admin/keys").status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.7", ""])
@pytest.mark.parametrize("place", ["/admin/keys", "/console/"])
def test_a_name_of_somebody_else_is_refused(host, place):
    assert said(gate_of(), "GET", place, host=host).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"x_forwarded_for": "10.0.0.7"},
    ],
)
def test_a_page_of_another_site_and_a_proxy_are_refused(headers):
    gate = gate_of()

    assert said(gate, "POST", "/admin/keys", {"name": "mine"}, **headers).status == 403
    assert asyncio.run(gate.keys.all()) == ()


def test_a_form_of_another_site_cannot_make_a_key():
    gate = gate_of()
    http = HttpRequest("POST", "http://g/admin/keys", HERE, b'{"name": "mine"}')

    assert asyncio.run(came(App(gate), http)).status == 400
    assert asyncio.run(gate.keys.all()) == ()


def test_beyond_this_machine_there_is_no_console_without_an_admins_key():
    answer = said(gate_of(host="0.0.0.0", keys=KEYS[1:]), "GET", "/admin/keys")

    assert answer.status == 403
    assert b"--admin" in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize(
    ("shown", "status"),
    [({}, 401), ({"authorization": f"Bearer {PLAIN}"}, 403), ({"authorization": "Bearer no"}, 401)],
)
def test_with_an_admins_key_in_use_only_it_opens(host, shown, status):
    gate = gate_of(host=host, keys=KEYS)

    assert said(gate, "GET", "/admin/keys", **shown).status == status
    assert said(gate, "GET", "/admin/keys", authorization=f"Bearer {ADMIN}").status == 200


def test_a_key_in_the_address_opens_nothing():
    assert said(gate_of(keys=KEYS), "GET", f"/admin/keys?key={ADMIN}").status == 401


def test_a_blocked_admin_opens_nothing_and_locks_nothing_open():
    gate = gate_of(keys=(GatewayKey("boss", hash_key(ADMIN), admin=True, blocked=True),))

    assert said(gate, "GET", "/admin/keys", authorization=f"Bearer {ADMIN}").status == 401
    assert said(gate, "GET", "/admin/keys").status == 401


# -- keys ------------------------------------------------------------------------------------------


def test_a_key_is_shown_once_and_then_nowhere():
    gate = gate_of()

    made = json.loads(said(gate, "POST", "/admin/keys", {"name": "ci"}).body)["key"]

    assert made.startswith("pnd_")
    assert len(made) >= 36
    for place in ("keys", "requests", "models", "figures", "plan?model=opus&key=ci"):
        answer = said(gate, "GET", f"/admin/{place}")
        assert answer.status == 200
        assert made.encode() not in answer.body
        assert hash_key(made).encode() not in answer.body


def test_no_view_has_a_word_of_a_conversation():
    gate = gate_of()
    body = {"model": "opus", "messages": [{"role": "user", "content": "Say zanzibar."}]}
    answer = said(gate, "POST", "/v1/messages", {**body, "max_tokens": 9000})
    assert answer.status == 200
    assert b"zanzibar" in answer.body

    (row,) = json.loads(said(gate, "GET", "/admin/requests").body)["requests"]
    for place in ("requests", f"requests/{row['id']}", "keys", "models", "figures", "alerts"):
        shown = said(gate, "GET", f"/admin/{place}")
        assert shown.status == 200, place
        assert b"zanzibar" not in shown.body


def test_a_made_key_works_until_it_is_blocked_and_again_after():
    gate = gate_of()
    made = json.loads(said(gate, "POST", "/admin/keys", {"name": "a/b ü"}).body)["key"]
    place = "/admin/keys/a%2Fb%20%C3%BC"

    assert asked(gate, made) == 200
    assert said(gate, "PATCH", place, {"blocked": True}).status == 200
    assert asked(gate, made) == 401
    assert said(gate, "PATCH", place, {"blocked": False}).status == 200
    assert asked(gate, made) == 200
    assert said(gate, "DELETE", place).status == 200
    assert asyncio.run(gate.keys.all()) == ()


def test_a_made_key_has_the_rules_it_was_made_with():
    gate = gate_of()
    rules = {"models": ["opus"], "thinking": {"cap": "low"}, "limit": {"requests": 5}}

    said(gate, "POST", "/admin/keys", {"name": "ci", **rules})

    (key,) = json.loads(said(gate, "GET", "/admin/keys").body)["keys"]
    assert key["models"] == ["opus"]
    assert key["thinking"]["cap"] == "low"
    assert key["limit"]["requests"] == 5
    assert key["made_here"]


def test_an_empty_list_of_models_allows_no_model_and_null_allows_all():
    gate = gate_of(keys=KEYS)
    admin = {"authorization": f"Bearer {ADMIN}"}
    rules = {"name": "prometheus", "models": [], "endpoints": [], "metrics": True}
    made = json.loads(said(gate, "POST", "/admin/keys", rules, **admin).body)["key"]
    listed = json.loads(said(gate, "GET", "/admin/keys", **admin).body)["keys"]
    assert [key["models"] for key in listed] == [None, None, []]

    assert asked(gate, made) == 403
    assert json.loads(said(gate, "GET", "/v1/models", x_api_key=made).body)["data"] == []
    body = {"model": "opus", "input": "hello"}
    assert said(gate, "POST", "/v1/embeddings", body, x_api_key=made).status == 403
    count = {"model": "opus", "messages": [{"role": "user", "content": "hello"}]}
    assert said(gate, "POST", "/v1/messages/count_tokens", count, x_api_key=made).status == 403

    said(gate, "PATCH", "/admin/keys/prometheus", {"models": None}, **admin)
    assert asked(gate, made) == 200
    said(gate, "PATCH", "/admin/keys/prometheus", {"models": []}, **admin)
    assert asked(gate, made) == 403


def test_a_key_has_no_room_when_what_is_left_covers_no_answer():
    gate = gate_of()
    budget = {"tokens": 2_500, "per": "day"}
    made = json.loads(said(gate, "POST", "/admin/keys", {"name": "ci", "budget": budget}).body)

    (key,) = json.loads(said(gate, "GET", "/admin/keys").body)["keys"]
    assert (key["has_room"], key["without_room"]) == (True, [])
    opus = {"model": "anthropic:claude-opus-5", "holder": "key ci"}
    assert key["lowered"] == [{**opus, "max_tokens": 2_500}]

    while asked(gate, made["key"]) == 200:
        pass
    (key,) = json.loads(said(gate, "GET", "/admin/keys").body)["keys"]
    assert (key["has_room"], key["lowered"]) == (False, [])
    (full,) = key["without_room"]
    assert opus.items() < full.items()


def test_a_key_without_room_names_the_group_whose_budget_is_full():
    group = GatewayGroup("research", budget=SpendBudget(tokens=500))
    keys = (GatewayKey("ci", hash_key(PLAIN), group="research", budget=SpendBudget(tokens=9_000)),)
    config = GatewayConfig(ServerConfig(), (ROUTE,), keys=keys, groups=(group,))
    gate = GatewayContext(config, Emulator(any_model=True))

    (key,) = json.loads(said(gate, "GET", "/admin/keys").body)["keys"]

    assert key["has_room"] is False
    assert [each["holder"] for each in key["without_room"]] == ["group research"]


def test_what_a_key_has_taken_of_its_bounds_is_shown():
    gate = gate_of()
    bounds = {
        "limit": {"requests": 5},
        "budget": {"cost": 2.5, "thinking_tokens": 9_000_000, "per": "day"},
    }
    made = json.loads(said(gate, "POST", "/admin/keys", {"name": "ci", **bounds}).body)["key"]
    assert asked(gate, made) == 200

    (key,) = json.loads(said(gate, "GET", "/admin/keys").body)["keys"]

    requests, money, thinking = key["bounds"]
    assert requests == {"unit": "requests", "most": 5, "taken": 1, "per": "minute", "rolling": True}
    assert (money["unit"], money["most"], money["per"]) == ("money", 2.5, "day")
    assert 0 < money["taken"] < 2.5
    assert 0 < thinking["taken"] < 9_000_000


def listed(gate: GatewayContext) -> dict:
    (key,) = json.loads(said(gate, "GET", "/admin/keys").body)["keys"]
    return key


def test_a_made_key_can_be_changed_and_keeps_its_text():
    gate = gate_of()
    rules = {"thinking": {"cap": "low"}, "limit": {"requests": 1}, "expires": "2099-12-31"}
    made = json.loads(said(gate, "POST", "/admin/keys", {"name": "ci", **rules}).body)["key"]
    before = listed(gate)

    change = {"thinking": {"floor": "high"}, "limit": None, "budget": {"cost": 3}, "blocked": False}
    answer = said(gate, "PATCH", "/admin/keys/ci", change)

    assert answer.status == 200
    assert made.encode() not in answer.body
    after = listed(gate)
    assert (after["thinking"]["floor"], after["thinking"]["cap"]) == ("high", None)
    assert (after["limit"], after["budget"]["cost"]) == (None, 3)
    assert after["expires"] == before["expires"]
    assert [asked(gate, made) for _ in range(2)] == [200, 200]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"blocked": "yes"},
        {"name": "other"},
        {"hash": hash_key("mine")},
        {"thinking": {"cap": "hihg"}},
        {"limit": {"requests": 0}},
        {"budget": {}},
        {"colour": "red"},
        {"colour": None},
        {"colour": None, "blocked": True},
        {"admin": "yes"},
        {"admin": True, "revision": 7},
        {"revision": "0"},
    ],
)
def test_a_wrong_change_of_a_key_changes_nothing(change):
    gate = gate_of()
    said(gate, "POST", "/admin/keys", {"name": "ci", "limit": {"requests": 5}})
    before = listed(gate)

    answer = said(gate, "PATCH", "/admin/keys/ci", change)

    assert answer.status == 400
    assert json.loads(answer.body)["error"]["message"]
    assert listed(gate) == before


def test_a_change_of_a_key_that_was_changed_meanwhile_is_rejected():
    gate, place = gate_of(), "/admin/keys/ci"
    said(gate, "POST", "/admin/keys", {"name": "ci", "budget": {"cost": 5}})
    seen = listed(gate)["revision"]

    first = said(gate, "PATCH", place, {"budget": {"cost": 10}, "revision": seen})
    late = said(gate, "PATCH", place, {"budget": {"tokens": 9}, "revision": seen})

    assert (first.status, late.status) == (200, 409)
    assert "'ci' was changed meanwhile" in json.loads(late.body)["error"]["message"]
    after = listed(gate)
    assert (after["budget"]["cost"], after["budget"]["tokens"]) == (10, None)
    assert after["revision"] == json.loads(first.body)["revision"] != seen

    again = {"budget": {"tokens": 9}, "revision": after["revision"]}
    assert said(gate, "PATCH", place, again).status == 200
    assert listed(gate)["budget"]["tokens"] == 9


def test_a_revision_is_needed_for_no_change_and_holds_for_a_block_too():
    gate, place = gate_of(keys=(GatewayKey("ci", hash_key(PLAIN)),)), "/admin/keys/ci"
    seen = listed(gate)["revision"]

    assert said(gate, "PATCH", place, {"blocked": True}).status == 200
    assert said(gate, "PATCH", place, {"blocked": False, "revision": seen}).status == 409
    assert listed(gate)["blocked"]
    assert said(gate, "PATCH", place, {"blocked": False, "revision": None}).status == 200
    assert listed(gate)["revision"] == seen


def test_a_key_of_the_file_can_be_blocked_here_and_not_changed():
    gate = gate_of(keys=(GatewayKey("ci", hash_key(PLAIN)),))

    assert said(gate, "PATCH", "/admin/keys/ci", {"limit": {"requests": 5}}).status == 409
    assert said(gate, "PATCH", "/admin/keys/ci", {"blocked": True}).status == 200
    assert listed(gate)["blocked"]


def test_a_page_of_another_site_changes_no_key():
    gate = gate_of()
    said(gate, "POST", "/admin/keys", {"name": "ci"})
    place, change = "/admin/keys/ci", {"admin": True}

    assert said(gate, "PATCH", place, change, origin="http://evil.example").status == 403
    assert said(gate, "PATCH", place, change, sec_fetch_site="cross-site").status == 403
    form = HttpRequest("PATCH", f"http://g{place}", HERE, json.dumps(change).encode())
    assert asyncio.run(came(App(gate), form)).status == 400
    assert not listed(gate)["admin"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": " "},
        {"name": 3},
        {"name": "x", "thinking": {"cap": "hihg"}},
        {"name": "x", "thinking": {"floor": "high", "cap": "low"}},
        {"name": "."},
        {"name": ".."},
        {"name": "x", "limit": {"requests": 0}},
        {"name": "x", "colour": "red"},
        {"name": "x", "colour": None},
        {"name": "x", "": None},
        {"name": "x", "hash": hash_key("mine")},
        {"name": "x", "revision": None},
        [],
    ],
)
def test_a_wrong_key_is_refused_with_a_sentence(body):
    gate = gate_of()
    answer = said(gate, "POST", "/admin/keys", body)

    assert answer.status == 400
    assert json.loads(answer.body)["error"]["message"]
    assert asyncio.run(gate.keys.all()) == ()


@pytest.mark.parametrize("settings", [{"name": "TEXT"}, {"name": "x", "models": ["TEXT/high"]}])
def test_no_view_shows_a_key_that_was_taken_for_a_name_or_a_setting(settings):
    gate = gate_of()
    key = json.loads(said(gate, "POST", "/admin/keys", {"name": "ci"}).body)["key"]
    body = json.loads(json.dumps(settings).replace("TEXT", key))

    answers = [
        said(gate, "POST", "/admin/keys", body),
        said(gate, "PATCH", "/admin/keys/ci", {"models": [key]}),
    ]

    assert [each.status for each in answers] == [400, 400]
    for answer in (*answers, said(gate, "GET", "/admin/keys"), said(gate, "GET", "/admin/audit")):
        assert key.encode() not in answer.body


# -- the dial --------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["off", "low", "high", "max"])
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5.1", "gemini-2.5-flash"])
def test_the_dial_shows_the_plan_and_a_body_with_its_fields(model, level):
    answer = json.loads(said(gate_of(), "GET", f"/admin/plan?model={model}&thinking={level}").body)

    made = plan(model, level)
    assert answer["plan"] == made.to_json()
    assert not answer["served"]
    assert made.fields.items() <= answer["body"].items() or within(made.fields, answer["body"])


def test_a_plan_for_a_name_that_is_unknown_says_what_the_gateway_serves():
    answer = said(gate_of(), "GET", "/admin/plan?model=nope")

    assert answer.status == 400
    assert "this gateway serves opus" in json.loads(answer.body)["error"]["message"]


def within(fields, body) -> bool:
    """Return whether all fields are in a body, at any depth."""
    if isinstance(fields, dict) and isinstance(body, dict):
        return all(name in body and within(value, body[name]) for name, value in fields.items())
    return bool(fields == body)


def test_the_rules_of_the_route_and_of_the_key_hold_on_the_dial():
    gate = gate_of(keys=(GatewayKey("ci", hash_key(PLAIN), thinking=LevelRules(cap="low")),))

    free = json.loads(said(gate, "GET", "/admin/plan?model=opus&thinking=max").body)
    bound = json.loads(said(gate, "GET", "/admin/plan?model=opus&thinking=max&key=ci").body)

    assert (free["plan"]["level"], free["rule"], free["served"]) == ("medium", "cap", True)
    assert (bound["plan"]["level"], bound["rule"]) == ("low", "cap")


def test_a_level_in_the_name_goes_before_the_dial_as_in_a_request():
    answer = json.loads(said(gate_of(), "GET", "/admin/plan?model=opus/low&thinking=high").body)

    assert (answer["requested"], answer["plan"]["level"]) == ("low", "low")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"models": ("gpt-*",)}, "the key 'ci' may not use 'opus'"),
        ({"blocked": True}, "the gateway key 'ci' is blocked, so its requests are rejected"),
        ({"expires": datetime(2020, 1, 31, tzinfo=UTC)}, "expired at 2020-01-31 00:00 UTC"),
    ],
)
def test_the_dial_says_that_a_key_may_not_use_a_model(settings, why):
    gate = gate_of(keys=(GatewayKey("ci", hash_key(PLAIN), **settings),))

    answer = said(gate, "GET", "/admin/plan?model=opus&thinking=max&key=ci")

    assert answer.status == 400
    assert why in json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize(
    "place", ["plan?model=no-such-model", "plan?model=opus&thinking=hihg", "figures?span=eon"]
)
def test_a_wrong_question_is_refused_with_a_sentence(place):
    answer = said(gate_of(), "GET", f"/admin/{place}")

    assert answer.status == 400
    assert json.loads(answer.body)["error"]["message"]


def test_an_unknown_place_is_not_found():
    assert said(gate_of(), "GET", "/admin/nowhere").status == 404
    wrong = said(gate_of(), "PUT", "/admin/keys")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, POST")
    assert said(gate_of(), "GET", "/console/../admin.py").status == 404


# -- what goes on ----------------------------------------------------------------------------------


def test_a_request_is_listed_with_what_was_asked_and_what_was_sent():
    gate = gate_of()
    body = {"model": "opus/max", "messages": [{"role": "user", "content": "hello"}]}
    http = HttpRequest("POST", "http://g/v1/messages", {}, json.dumps(body).encode())
    asyncio.run(came(App(gate), http))

    (row,) = json.loads(said(gate, "GET", "/admin/requests").body)["requests"]

    assert (row["asked"], row["sent"], row["why"]) == ("max", "medium", "cap")
    assert row["model"] == "anthropic:claude-opus-5"
    assert row["end"] == "done"
    assert (row["client_api"], row["requested_model"]) == ("anthropic", "opus/max")
    assert row["path"] == "passed"


def conversation(gate: GatewayContext, model: str, **more: object) -> str:
    """Ask for a conversation and return its id."""
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}], **more}
    http = HttpRequest("POST", "http://g/v1/messages", {}, json.dumps(body).encode())
    return asyncio.run(came(App(gate), http)).headers["x-pondero-id"]


def test_live_requests_are_filtered_like_all_others():
    gate = gate_of()
    conversation(gate, "opus/max")
    conversation(gate, "opus/low")

    for query, count in {"": 2, "?level=low": 1, "?search=OPUS": 2, "?end=failed": 0}.items():
        found = json.loads(said(gate, "GET", f"/admin/requests{query}").body)
        assert len(found["requests"]) == count


def test_a_streamed_request_says_where_its_time_went_and_what_was_adjusted():
    gate = gate_of()
    id = conversation(gate, "opus/max", stream=True, max_tokens=9000)

    found = json.loads(said(gate, "GET", f"/admin/requests/{id}").body)

    row = found["request"]
    assert (row["asked"], row["sent"], row["why"], row["tries"]) == ("max", "medium", "cap", 1)
    names = [phase["name"] for phase in found["phases"]]
    assert names == ["gateway", "wait", "thinking", "answer"]
    assert sum(phase["seconds"] for phase in found["phases"]) == pytest.approx(row["seconds"])
    assert set(found["adjustments"]) == set(row["adjustments"])
    assert "hello" not in json.dumps(found)


def test_a_page_without_the_ledger_says_what_is_missing():
    gate = gate_of()
    conversation(gate, "opus/max")
    gate.ledger = PostgresDatabase("postgresql://nobody:secret@127.0.0.1:1/none")

    found = json.loads(said(gate, "GET", "/admin/requests").body)

    assert len(found["requests"]) == 1
    assert "PostgreSQL" in found["problem"]
    assert "secret" not in found["problem"]
    assert said(gate, "GET", "/admin/requests?before=1_x").status == 503


def test_an_unknown_request_is_said_to_be_unknown():
    answer = said(gate_of(), "GET", "/admin/requests/nobody")

    assert answer.status == 404
    assert b"nobody" in answer.body


def test_csv_is_a_file_with_a_line_for_each_request():
    gate = gate_of()
    conversation(gate, "opus/max")

    answer = said(gate, "GET", "/admin/requests.csv?level=medium")

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    names, row = csv.reader(io.StringIO(answer.body.decode()))
    assert dict(zip(names, row, strict=True))["sent"] == "medium"
    assert said(gate, "GET", "/admin/requests.csv?level=hihg").status == 400


@pytest.mark.parametrize("place", ["requests", "requests.csv", "live", "figures"])
def test_a_wrong_filter_is_rejected_everywhere(place):
    answer = said(gate_of(), "GET", f"/admin/{place}?status=many")

    assert answer.status == 400
    assert b"status" in answer.body


@pytest.mark.parametrize("query", ["count=0", "count=201", "count=x", "before=x"])
def test_a_wrong_page_is_rejected(query):
    assert said(gate_of(), "GET", f"/admin/requests?{query}").status == 400


def test_the_page_is_guarded_by_its_headers():
    page = said(gate_of(), "GET", "/console/")

    policy = page.headers["content-security-policy"]
    assert page.status == 200
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"


def test_live_requests_come_as_events_until_the_server_ends():
    gate = gate_of()

    async def watched() -> Came:
        body = {"model": "opus", "messages": [{"role": "user", "content": "hello"}]}
        http = HttpRequest("POST", "http://g/v1/messages", {}, json.dumps(body).encode())
        live = HttpRequest("GET", "http://g/admin/live", HERE)
        viewer = asyncio.create_task(came(App(gate), live))
        while not gate.feed.viewers:  # noqa: ASYNC110 - nothing tells of a viewer
            await asyncio.sleep(0)
        await came(App(gate), http)
        gate.feed.is_over = lambda: bool(gate.feed.latest())
        return await viewer

    answer = asyncio.run(watched())

    assert answer.headers["content-type"] == "text/event-stream"
    (event,) = [line for line in answer.body.split(b"\n") if line.startswith(b"data: ")]
    assert json.loads(event[6:])["requests"][0]["requested_model"] == "opus"


async def make_admin(gate: GatewayContext) -> None:
    await gate.keys.make("other", {"admin": True})


@pytest.mark.parametrize(
    ("key", "end"),
    [
        (ADMIN, lambda gate: gate.keys.block("boss")),
        (None, make_admin),  # until then, this machine needed none
    ],
)
def test_live_requests_end_when_their_viewer_has_no_access_any_more(monkeypatch, key, end):
    monkeypatch.setattr(long_answer, "LOOK", 0.01)
    gate = gate_of(keys=KEYS if key else ())

    async def watched() -> Came:
        headers = {**HERE, **({"authorization": f"Bearer {key}"} if key else {})}
        live = HttpRequest("GET", "http://g/admin/live", headers)
        viewer = asyncio.create_task(came(App(gate), live))
        while not gate.feed.viewers:  # noqa: ASYNC110 - nothing tells of a viewer
            await asyncio.sleep(0)
        await end(gate)
        async with asyncio.timeout(30):
            return await viewer

    assert asyncio.run(watched()).status == 200
    assert gate.feed.viewers == 0


def test_live_requests_end_with_the_server_they_come_from():
    gate = gate_of()
    server = _make_server(gate)

    assert not gate.feed.is_over()
    server.should_exit = True
    assert gate.feed.is_over()


def test_a_viewer_who_reads_slowly_misses_the_oldest():
    feed = Feed()

    async def watched() -> list[str]:
        with feed.watch() as queue:
            for number in range(KEPT + 5):
                feed.note(Receipt(id=f"{number}", at=number, key="x", front="y"))
            return [queue.get_nowait().id for _ in range(queue.qsize())]

    assert asyncio.run(watched()) == [f"{number}" for number in range(5, KEPT + 5)]
    assert len(feed.latest()) == KEPT
    assert feed.viewers == 0

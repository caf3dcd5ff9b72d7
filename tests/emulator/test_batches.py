"""The batch services of the emulator: every shape, its limits, and what goes wrong on demand."""

import asyncio
import json
import tomllib
from contextlib import suppress
from importlib.resources import files

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.emulator.batching import (
    SERVICES,
    Files,
    Groq,
    Inline,
    Jobs,
    Messages,
    Operations,
    Requests,
    Responses,
    Service,
)

from pondero.canon import HttpRequest
from pondero.emulator import BatchSettings, Emulator, Fault, ScriptedTurn
from pondero.errors import Timeout, Unreachable
from pondero.store import load_catalog

each_service = pytest.mark.parametrize("kind", SERVICES, ids=lambda kind: kind.__name__)


def asked(service: Service, number: int, bad: frozenset[int] = frozenset()) -> dict:
    return {
        f"q{at}": service.question(f"What is {at} + 1?", **(service.bad if at in bad else {}))
        for at in range(number)
    }


@each_service
def test_a_batch_is_on_its_way_at_first_and_ends_at_the_second_look(kind):
    service = kind(Emulator())
    id = service.create(asked(service, 3))
    assert service.state(service.look(id)) in service.going
    assert service.state(service.look(id)) == service.done
    assert service.state(service.look(id)) == service.done
    assert service.listed() == [id]


@each_service
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), number=st.integers(1, 9))
def test_every_request_comes_back_once_and_the_bad_ones_as_errors(kind, data, number):
    bad = data.draw(st.frozensets(st.integers(0, number - 1)))
    service = kind(Emulator())
    id = service.create(asked(service, number, bad))
    service.finished(id)
    ends = [(row.id, row.end) for row in service.results(id)]
    wanted = [(f"q{at}", "errored" if at in bad else "succeeded") for at in range(number)]
    assert sorted(ends) == sorted(wanted)


NAMES = {
    Messages: st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
    Operations: st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200),
}
ANY_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=64)


@each_service
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_name_that_is_taken_comes_back_as_it_was(kind, data):
    names = data.draw(st.sets(NAMES.get(kind, ANY_NAME), min_size=1, max_size=5))
    service = kind(Emulator())
    id = service.create({name: service.question("hi") for name in names})
    service.finished(id)
    assert sorted(row.id for row in service.results(id)) == sorted(names)


@each_service
def test_results_come_in_another_order_and_always_the_same(kind):
    orders = []
    for _ in range(2):
        service = kind(Emulator())
        id = service.create(asked(service, 8))
        service.finished(id)
        orders.append([row.id for row in service.results(id)])
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == [f"q{at}" for at in range(8)]
    turned = [sorted(orders[0])[at:] + sorted(orders[0])[:at] for at in range(8)]
    assert orders[0] not in turned


LIVE = {
    Messages: "/messages",
    Files: "/chat/completions",
    Responses: "/responses",
    Groq: "/chat/completions",
    Operations: "/models/gemini-3-flash-preview:generateContent",
    Jobs: "/chat/completions",
    Requests: "/chat/completions",
    Inline: "/chat/completions",
}
THINKING = {
    Messages: {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
    Files: {"reasoning_effort": "low"},
    Responses: {"reasoning": {"effort": "low"}},
    Groq: {"reasoning_effort": "low"},
    Operations: {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}},
    Jobs: {"reasoning_effort": "high"},
    Requests: {"reasoning_effort": "low"},
    Inline: {"reasoning": {"effort": "low"}},
}


@each_service
def test_an_answer_is_what_the_same_request_gets_alone(kind):
    service = kind(Emulator())
    good = service.question("What is 17 * 23?", **THINKING[kind])
    bad = service.question("What is 17 * 23?", **service.bad)
    unasked = service.question("What is 19 * 23?")  # at the model's own default
    id = service.create({"good": good, "unasked": unasked, "bad": bad})
    service.finished(id)
    rows = {row.id: row for row in service.results(id)}
    alone = kind(Emulator())
    assert rows["good"].body == alone.ask("POST", LIVE[kind], good)
    assert rows["unasked"].body == alone.ask("POST", LIVE[kind], unasked)
    assert "391" in str(rows["good"].body)
    status, refused = alone.send("POST", LIVE[kind], bad)
    assert 400 <= status < 500
    assert _message(refused) == _message(rows["bad"].body)


def _message(refused) -> str:
    if "detail" in refused:  # of a field, as Mistral's validator says it
        return refused["detail"][0]["msg"]
    error = refused.get("error", refused)
    return error["message"] if isinstance(error, dict) else error


@each_service
def test_a_request_that_asks_for_a_stream_is_an_error(kind):
    service = kind(Emulator())
    id = service.create({"a": service.question("hi", stream=True)})
    service.finished(id)
    assert [(row.id, row.end) for row in service.results(id)] == [("a", "errored")]
    assert "stream" in str(service.results(id)[0].body)


# -- who may see what ------------------------------------------------------------------------------


@each_service
def test_without_a_key_it_is_the_services_own_refusal(kind):
    service = kind(Emulator())
    service.headers = {name: "" for name in service.headers if name != "anthropic-version"}
    status, alone = service.send("POST", LIVE[kind], service.question("hi"))
    assert status in (401, 403)
    for method, path in (("GET", _collection(kind)), ("POST", _create(service))):
        refused, said = service.send(method, path, {} if method == "POST" else None)
        assert (refused, said.keys()) == (status, alone.keys())
        # The two wires of one home word it at different lengths.
        assert str(said)[:60] == str(alone)[:60]


def _create(service) -> str:
    makes = f"/models/{service.model}:batchGenerateContent"
    return makes if isinstance(service, Operations) else _collection(type(service))


def _collection(kind) -> str:
    return {Messages: "/messages/batches", Jobs: "/batch/jobs"}.get(kind, "/batches")


@each_service
def test_the_batch_of_another_key_is_not_there(kind):
    emulator = Emulator()
    mine, other = kind(emulator), kind(emulator, key="sk-two")
    id = mine.create(asked(mine, 2))
    status, _ = other.send("GET", f"{_collection(kind)}/{id}")
    assert status == 404
    assert other.listed() == []
    assert mine.listed() == [id]


# -- faults ----------------------------------------------------------------------------------------

ENDS = {
    # the shape: expired, failed, cancelled
    Messages: ("ended", "ended", "ended"),
    Files: ("expired", "failed", "cancelled"),
    Responses: ("expired", "failed", "cancelled"),
    Groq: ("expired", "failed", "cancelled"),
    Operations: ("BATCH_STATE_EXPIRED", "BATCH_STATE_FAILED", "BATCH_STATE_CANCELLED"),
    Jobs: ("TIMEOUT_EXCEEDED", "FAILED", "CANCELLED"),
    Requests: ("expired", "failed", "cancelled"),
    Inline: ("expired", "failed", "cancelled"),
}


def batch_with(kind, word, number=6):
    service = kind(Emulator(faults=[word]))
    id = service.create(asked(service, number))
    return service, id


@each_service
@pytest.mark.parametrize("at", [0, 1, 2], ids=["expired", "failed", "cancelled"])
def test_a_batch_that_comes_to_a_bad_end(kind, at):
    word = ("expired", "failed", "cancelled")[at]
    service, id = batch_with(kind, word)
    assert service.state(service.finished(id)) == ENDS[kind][at]
    ends = {row.end for row in service.results(id)}
    if word == "expired":
        assert ends <= {"expired"}
    elif word == "failed":
        assert ends <= {"errored"}
    else:
        assert ends in ({"succeeded", "cancelled"}, set())


@each_service
def test_a_batch_that_is_done_in_part(kind):
    service, id = batch_with(kind, "partial")
    service.finished(id)
    rows = service.results(id)
    assert {"succeeded", "errored"} <= {row.end for row in rows}
    names = [row.id for row in rows]
    assert len(names) == len(set(names))
    if kind is Requests:  # what expired stays pending
        assert len(rows) == 4
        assert service.look(id)["state"]["num_pending"] == 2
    else:
        assert sorted(names) == [f"q{at}" for at in range(6)]
        assert sum(row.end == "expired" for row in rows) == 2


@each_service
def test_a_batch_that_is_stuck_for_three_looks(kind):
    service, id = batch_with(kind, "stuck 3")
    states = [service.state(service.look(id)) for _ in range(5)]
    assert all(state in service.going for state in states[:4])
    assert states[4] == service.done


def test_a_batch_that_is_stuck_for_ever():
    service, id = batch_with(Files, "stuck")
    assert {service.state(service.look(id)) for _ in range(50)} == {"in_progress"}


@each_service
@pytest.mark.parametrize("word", ["lost", "lost 500", "hang", "broken 3"])
def test_a_create_whose_answer_is_lost_has_made_the_batch_once(kind, word):
    emulator = Emulator()
    service = kind(emulator)
    if kind in (Files, Responses, Groq):
        file = service.upload(service.lines(asked(service, 3)))
        emulator.faults.append(Fault.parse(word))
        made = lambda: service.submit_file(file)  # noqa: E731
    else:
        emulator.faults.append(Fault.parse(word))
        made = lambda: service.submit(asked(service, 3))  # noqa: E731
    if word == "lost 500" and kind is not Requests:
        assert made()[0] == 500
    else:
        with pytest.raises((Unreachable, Timeout, AssertionError)):
            made()
    assert len(service.listed()) == 1
    assert not emulator.faults


def test_a_fault_before_anything_is_done_makes_no_batch():
    for word in ("429 2", "refused", "html", "empty"):
        service = Messages(Emulator(faults=[word]))
        with pytest.raises((Unreachable, AssertionError, TypeError)):
            service.create(asked(service, 1))
        assert service.listed() == []


def test_the_log_says_what_happened_to_a_batch():
    for word in ("lost", "expired", "429"):
        emulator = Emulator(faults=[word])
        service = Messages(emulator)
        with suppress(Unreachable):
            service.submit(asked(service, 1))
        (entry,) = emulator.log.entries
        assert entry.fault == Fault.parse(word).kind
        assert entry.service == "anthropic"


def test_a_fault_of_batches_waits_for_the_next_batch():
    emulator = Emulator(faults=["expired"])
    service = Files(emulator)
    assert "4" in str(service.ask("POST", "/chat/completions", service.question("What is 2+2?")))
    id = service.create(asked(service, 2))  # the file is handed in before
    assert service.state(service.finished(id)) == "expired"
    id = service.create(asked(service, 2))
    assert service.state(service.finished(id)) == "completed"


def test_a_refused_request_uses_up_no_fault():
    service = Messages(Emulator(faults=["expired"]))
    assert service.submit({})[0] == 400
    id = service.create(asked(service, 2))
    service.finished(id)
    assert {row.end for row in service.results(id)} == {"expired"}


def test_a_turn_of_the_script_has_a_fault_for_a_batch_or_answers_one_request():
    emulator = Emulator(script=[ScriptedTurn(fault=Fault(kind="partial")), "scripted words"])
    service = Messages(emulator)
    id = service.create(asked(service, 3))
    service.finished(id)
    rows = service.results(id)
    assert {row.end for row in rows} == {"succeeded", "errored", "expired"}
    assert sum("scripted words" in str(row.body) for row in rows) == 1
    assert len(emulator.script) == 0


@each_service
def test_a_question_may_ask_for_its_own_end(kind):
    service = kind(Emulator())
    asks = {
        "late": service.question("hi [emulator: fault expired]"),
        "busy": service.question("hi [emulator: fault 529]"),
        "good": service.question("hi"),
    }
    id = service.create(asks)
    service.finished(id)
    ends = {row.id: row.end for row in service.results(id)}
    late = {} if kind is Requests else {"late": "expired"}
    assert ends == {**late, "busy": "errored", "good": "succeeded"}


@each_service
def test_a_cancelled_batch_has_what_was_done_before(kind):
    service = kind(Emulator(batches=BatchSettings(looks=9)))
    id = service.create(asked(service, 4))
    service.look(id)
    service.cancel(id)
    service.finished(id)
    ends = sorted(row.end for row in service.results(id))
    assert ends == ([] if kind is Operations else ["cancelled"] * 2 + ["succeeded"] * 2)


# -- strictness ------------------------------------------------------------------------------------

IN_THE_BODY = pytest.mark.parametrize(
    "kind", [Messages, Jobs, Requests, Inline], ids=lambda kind: kind.__name__
)


@IN_THE_BODY
@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_name_that_is_too_long_or_empty_is_refused(kind, name):
    service = kind(Emulator())
    status, _ = service.submit({name or "": service.question("hi")})
    assert status == 400 or (kind is Jobs and not name)  # there a name may be missing


def test_message_batches_have_names_of_letters_digits_and_two_signs():
    service = Messages(Emulator())
    for name in ("a b", "ü", "a.b", "a\n"):
        status, said = service.submit({name: service.question("hi")})
        assert status == 400, name
        assert "custom_id" in said["error"]["message"]


def twice(service: Service) -> tuple[int, dict]:
    body = service.question("hi")
    row = {"custom_id": "a"}
    match service:
        case Messages():
            rows = [{**row, "params": body}] * 2
            return service.send("POST", "/messages/batches", {"requests": rows})
        case Jobs():
            rows = [{**row, "body": body}] * 2
            more = {"endpoint": "/v1/chat/completions", "model": service.model, "requests": rows}
            return service.send("POST", "/batch/jobs", more)
        case Inline():
            rows = [{**row, "body": body}] * 2
            more = {"endpoint": "/v1/chat/completions", "model": service.model, "requests": rows}
            return service.send("POST", "/batches", more)
        case Operations():
            rows = [{"request": body, "metadata": {"key": "a"}}] * 2
            batch = {"inputConfig": {"requests": {"requests": rows}}}
            path = f"/models/{service.model}:batchGenerateContent"
            return service.send("POST", path, {"batch": batch})
        case _:
            id = service.ask("POST", "/batches", {"name": "x"})["batch_id"]
            one = {"batch_request_id": "a", "batch_request": {"chat_get_completion": body}}
            service.ask("POST", f"/batches/{id}/requests", {"batch_requests": [one]})
            return service.send("POST", f"/batches/{id}/requests", {"batch_requests": [one]})


@pytest.mark.parametrize(
    "kind", [Messages, Jobs, Requests, Inline, Operations], ids=lambda kind: kind.__name__
)
def test_a_name_that_is_used_twice_is_refused(kind):
    status, said = twice(kind(Emulator()))
    assert status == 400
    assert "twice" in str(said)


BAD_FILES = {
    "no JSON": (b"{", "invalid_json_line"),
    "no name": (b'{"body": {}}', "missing_required_parameter"),
    "a long name": (b'{"custom_id": "%s", "body": {}}' % (b"x" * 65), "invalid_custom_id"),
    "one name twice": (b'{"custom_id": "a", "body": {}}\n' * 2, "duplicate_custom_id"),
    "another address": (
        b'{"custom_id": "a", "url": "/v1/embeddings", "body": {}}',
        "mismatched_url",
    ),
    "another method": (b'{"custom_id": "a", "method": "GET", "body": {}}', "invalid_method"),
    "two models": (
        b'{"custom_id": "a", "body": {"model": "x"}}\n{"custom_id": "b", "body": {"model": "y"}}',
        "mismatched_model",
    ),
    "nothing": (b"\n\n", "empty_file"),
    "an unknown field": (b'{"custom_id": "a", "body": {}, "x": 1}', "invalid_json_line"),
}


@pytest.mark.parametrize("why", BAD_FILES)
def test_a_bad_file_makes_a_batch_that_fails_when_it_is_validated(why):
    data, code = BAD_FILES[why]
    service = Files(Emulator())
    status, made = service.submit_file(service.upload(data))
    assert (status, made["status"], made["errors"]) == (200, "validating", None)
    told = service.look(made["id"])
    assert told["status"] == "failed"
    assert code in {each["code"] for each in told["errors"]["data"]}
    assert told["output_file_id"] is told["error_file_id"] is None


def test_a_batch_of_files_is_refused_for_what_its_fields_say():
    service = Files(Emulator())
    file = service.upload(service.lines(asked(service, 1)))
    assert service.submit_file("file-none")[0] == 400
    assert service.submit_file(file, endpoint="/v1/embeddings")[0] == 400
    assert service.submit_file(file, completion_window="7d")[0] == 400
    assert service.submit_file(file, no_such_field=1)[0] == 400
    groq = Groq(Emulator())
    file = groq.upload(groq.lines(asked(groq, 1)))
    assert groq.submit_file(file, endpoint="/v1/responses")[0] == 400
    assert groq.submit_file(file, completion_window="12h")[0] == 400
    assert groq.submit_file(file, completion_window="24h")[0] == 200


@pytest.mark.parametrize("kind", [Jobs, Inline], ids=lambda kind: kind.__name__)
def test_one_model_a_batch(kind):
    service = kind(Emulator())
    assert service.submit({"a": {**service.question("hi"), "model": "another"}})[0] == 400
    without = {k: v for k, v in service.question("hi").items() if k != "model"}
    id = service.create({"a": without})
    service.finished(id)
    assert [row.end for row in service.results(id)] == ["succeeded"]


def test_a_batch_in_one_body_has_its_endpoint_and_model_first():
    service = Inline(Emulator())
    rows = [{"custom_id": "a", "body": service.question("hi")}]
    told = {"requests": rows, "endpoint": "/v1/chat/completions", "model": service.model}
    status, said = service.send("POST", "/batches", told)
    assert status == 400
    assert "before requests" in str(said)
    told = {"endpoint": "/v1/chat/completions", "model": f"{service.model}:batch", "requests": rows}
    assert service.send("POST", "/batches", told)[0] == 202


def test_configuration_beside_a_request_is_refused_where_it_belongs_inside():
    service = Operations(Emulator())
    row = {"request": service.question("hi"), "generationConfig": {"temperature": 1}}
    batch = {"inputConfig": {"requests": {"requests": [row]}}}
    path = f"/models/{service.model}:batchGenerateContent"
    status, said = service.send("POST", path, {"batch": batch})
    assert status == 400
    assert "generationConfig" in said["error"]["message"]


def test_operations_without_keys_are_answered_in_order():
    service = Operations(Emulator())
    rows = [{"request": service.question(f"What is {at} + 1?")} for at in range(6)]
    batch = {"inputConfig": {"requests": {"requests": rows}}}
    path = f"/models/{service.model}:batchGenerateContent"
    id = service.ask("POST", path, {"batch": batch})["name"].removeprefix("batches/")
    response = service.finished(id)["response"]["inlinedResponses"]["inlinedResponses"]
    for at, row in enumerate(response):
        assert f"{at} + 1 = {at + 1}" in str(row["response"])


def test_operations_may_say_their_states_in_the_other_words():
    service = Operations(Emulator(batches=BatchSettings(states="JOB_STATE")))
    id = service.create(asked(service, 1))
    assert [service.state(service.look(id)) for _ in range(2)] == [
        "JOB_STATE_RUNNING",
        "JOB_STATE_SUCCEEDED",
    ]


def test_requests_are_put_in_by_and_by_and_an_empty_batch_never_ends():
    service = Requests(Emulator())
    id = service.ask("POST", "/batches", {"name": "two steps"})["batch_id"]
    for _ in range(5):
        assert set(service.look(id)["state"].values()) == {0}
    for name in ("a", "b"):
        one = {
            "batch_request_id": name,
            "batch_request": {"chat_get_completion": service.question("hi")},
        }
        service.ask("POST", f"/batches/{id}/requests", {"batch_requests": [one]})
    assert service.look(id)["state"]["num_pending"] == 2
    assert service.look(id)["state"]["num_success"] == 2
    status, _ = service.send("POST", f"/batches/{id}/requests", {"batch_requests": [one]})
    assert status == 400
    listed = service.ask("GET", f"/batches/{id}/requests")["batch_request_metadata"]
    assert {each["state"] for each in listed} == {"succeeded"}


def test_too_many_requests_and_too_many_bytes_are_refused():
    service = Inline(Emulator())
    assert service.submit({f"q{at}": {} for at in range(5_001)})[0] == 400
    service = Requests(Emulator())
    assert service.submit({"a": service.question("x" * 26_300_000)})[0] == 413


def test_a_model_that_takes_no_batches_is_refused():
    service = Requests(Emulator())
    status, said = service.submit({"a": {**service.question("hi"), "model": "grok-4.5"}})
    assert status == 400
    assert "grok-4.5" in str(said)


def test_the_last_look_before_the_end_finds_a_batch_of_files_finalizing():
    service = Files(Emulator(batches=BatchSettings(looks=4)))
    id = service.create(asked(service, 1))
    states = [service.state(service.look(id)) for _ in range(4)]
    assert states == ["in_progress", "in_progress", "finalizing", "completed"]


def test_old_things_are_forgotten_where_they_are_too_many_bytes(monkeypatch):
    monkeypatch.setattr("pondero.emulator.batches.store._MOST_BYTES", 100_000)
    service = Messages(Emulator())
    ids = [service.create({"a": service.question("x" * 30_000)}) for _ in range(5)]
    assert service.listed() == ids[:1:-1]


def test_a_page_of_message_batches_goes_on_either_way():
    service = Messages(Emulator())
    ids = [service.create(asked(service, 1)) for _ in range(5)][::-1]
    first = service.ask("GET", "/messages/batches?limit=2")
    assert ([each["id"] for each in first["data"]], first["has_more"]) == (ids[:2], True)
    rest = service.ask("GET", f"/messages/batches?limit=9&after_id={first['last_id']}")
    assert ([each["id"] for each in rest["data"]], rest["has_more"]) == (ids[2:], False)
    back = service.ask("GET", f"/messages/batches?limit=1&before_id={rest['first_id']}")
    assert ([each["id"] for each in back["data"]], back["has_more"]) == (ids[1:2], True)


def test_every_provider_with_batches_has_limits_of_its_own():
    """Written on both sides: the catalog's are the caller's, limits.toml has the service's."""
    table = files("pondero.emulator.batches").joinpath("limits.toml").read_text("utf-8")
    providers = load_catalog().catalog.providers.values()
    assert tomllib.loads(table).keys() == {each.name for each in providers if each.batch}


def test_a_provider_without_batches_has_none():
    service = Files(Emulator())
    service.base = "https://api.deepseek.com/v1"
    assert service.send("GET", "/batches")[0] == 404


def test_reset_forgets_batches_and_files():
    emulator = Emulator()
    service = Files(emulator)
    id = service.create(asked(service, 1))
    emulator.reset()
    assert service.listed() == []
    assert service.send("GET", f"/batches/{id}")[0] == 404
    assert service.ask("GET", "/files")["data"] == []


def test_old_batches_are_forgotten_where_there_are_too_many():
    service = Messages(Emulator())
    first = service.create(asked(service, 1))
    for _ in range(1_000):
        service.create(asked(service, 1))
    assert service.send("GET", f"/messages/batches/{first}")[0] == 404


def test_the_same_for_asyncio():
    service = Messages(Emulator())
    id = service.create(asked(service, 2))
    url = f"{service.base}/messages/batches/{id}"

    async def looked() -> str:
        answer = await service.emulator.send(HttpRequest("GET", url, service.headers))
        return json.loads(b"".join([piece async for piece in answer]))["processing_status"]

    async def both() -> list[str]:
        return [await looked(), await looked()]

    assert asyncio.run(both()) == ["in_progress", "ended"]

"""The record of a request gives copies of its receipt away: what was recorded stays as it was."""

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig
from pondero.gateway.observability.receipt import KILLED, Receipt
from pondero.gateway.observability.request_record import RequestRecord
from pondero.gateway.requests.routed_request import ClientRequest
from pondero.gateway.server.context import GatewayContext, Requester


def make_record(told: list[Receipt], begun: list[Receipt]) -> RequestRecord:
    gateway = GatewayContext(
        GatewayConfig(), Emulator(), observers=(told.append,), save_begun=begun.append
    )
    http = HttpRequest("POST", "http://x/v1/chat/completions", {}, b"{}")
    call = ClientRequest(
        id="0" * 24, client_dialect="openai_chat", http=http, requester=Requester()
    )
    return RequestRecord(gateway, call)


def test_what_is_noted_later_changes_no_receipt_that_somebody_has():
    told, begun = list[Receipt](), list[Receipt]()
    record = make_record(told, begun)
    record.receipt.model = "first"
    record.save_progress()
    record.receipt.model = "second"
    record.finish()
    record.note(model="third", status=500)
    assert [each.model for each in (*begun, *told)] == ["first", "second"]
    assert told[0].status == 200


def test_a_saved_beginning_says_that_the_worker_was_killed_and_the_end_does_not():
    told, begun = list[Receipt](), list[Receipt]()
    record = make_record(told, begun)
    record.save_progress()
    record.finish()
    (saved,), (ended,) = begun, told
    assert (saved.status, saved.end, saved.reason) == (500, "failed", KILLED)
    assert (ended.status, ended.end, ended.reason) == (200, "done", None)
    assert (saved.estimated, ended.estimated) == (True, False)


def test_a_client_that_leaves_after_a_failure_changes_nothing_of_it():
    for end in ("failed", "left"):
        told = list[Receipt]()
        record = make_record(told, [])
        if end == "failed":
            record.note(end=end)
        record.note_left()
        record.finish()
        assert [each.end for each in told] == [end]

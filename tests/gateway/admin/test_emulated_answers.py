"""What the emulator answered is not counted among the answers of services, nor the other way."""

import asyncio
import csv
import io
import json
from pathlib import Path
from time import time

import pytest
from msgspec.structs import replace
from tests.gateway.admin.test_api import HERE
from tests.gateway.asgi import came
from tests.gateway.crowd import crowd

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import SqliteDatabase
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MODEL = "anthropic:claude-opus-5"
ROUTE = GatewayRoute(match="opus", to=(MODEL,))


class Services(Emulator):
    """An emulator that the gateway takes for the services themselves."""

    needs_key = True


class Gate:
    """A gateway whose ledger has 30 answers of services and 20 of the emulator."""

    def __init__(
        self, folder: Path, emulator: Emulator, receipts: list[Receipt] | None = None
    ) -> None:
        self.every = receipts if receipts is not None else make_receipts()
        database = SqliteDatabase(folder / "gateway.db")
        ledger = Ledger(database, folder / "aside")
        for each in self.every:
            ledger.note(each)
        ledger.close()
        database = SqliteDatabase(folder / "gateway.db")
        self.context = GatewayContext(GatewayConfig(routes=(ROUTE,)), emulator, ledger=database)

    def read(self, place: str) -> str:
        http = HttpRequest("GET", f"http://g/admin/{place}", HERE, b"")
        answer = asyncio.run(came(App(self.context), http))
        assert answer.status == 200, answer.body
        return answer.body.decode()

    def load(self, place: str) -> dict:
        return json.loads(self.read(place))


def make_receipts() -> list[Receipt]:
    every = list(crowd(50, until=time(), hours=0.5))
    return [
        replace(each, offline=number >= 30, key="toy" if number >= 30 else each.key)
        for number, each in enumerate(every)
    ]


@pytest.fixture(params=[True, False], ids=["offline", "real"])
def gate(request, tmp_path) -> Gate:
    return Gate(tmp_path, (Emulator if request.param else Services)(any_model=True))


@pytest.mark.parametrize("answers", ["", "real", "emulator", "all"])
def test_every_view_of_requests_has_the_same_answers(gate, answers):
    is_offline = gate.context.is_offline
    wanted = {"": [is_offline], "real": [False], "emulator": [True], "all": [True, False]}[answers]
    ids = {each.id for each in gate.every if each.offline in wanted}
    query = f"span=day&answers={answers}" if answers else "span=day"

    page = gate.load(f"requests?{query}&count=200")["requests"]
    assert {row["id"] for row in page} == ids
    assert {row["offline"] for row in page} == set(wanted)
    lines = list(csv.DictReader(io.StringIO(gate.read(f"requests.csv?{query}"))))
    assert {line["id"] for line in lines} == ids
    figures = gate.load(f"figures?{query}")["figures"]
    assert sum(figures["ends"].values()) == len(ids)
    assert sum(each["requests"] for each in figures["keys"]) == len(ids)
    assert ("toy" in {each["key"] for each in figures["keys"]}) == (True in wanted)
    choices = gate.load(f"choices?{query}")["choices"]
    assert ("toy" in choices["keys"]) == (True in wanted)


def test_the_session_says_who_answers_here(gate):
    assert gate.load("session")["offline"] == gate.context.is_offline


def test_failures_of_the_emulator_are_no_alert_of_a_real_gateway(tmp_path):
    failed = Receipt(
        id="", at=time(), key="ci", front="chat", provider="anthropic", model="claude-opus-5",
        end="failed", status=502, offline=True,
    )  # fmt: skip
    every = [replace(failed, id=f"{number}") for number in range(20)]
    real = Gate(tmp_path, Services(any_model=True), every)
    assert real.load("alerts")["alerts"] == []
    offline = Gate(tmp_path, Emulator(any_model=True), [])
    assert [each["kind"] for each in offline.load("alerts")["alerts"]] == ["upstream_failing"]

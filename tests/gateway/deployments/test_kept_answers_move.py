"""An answer that the gateway keeps is continued on its account, or another if that is gone."""

import json
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.gateway.deployments.test_accounts import ask, start
from tests.gateway.four_accounts import Account, make_gateway, make_state

from pondero.canon import HttpRequest
from pondero.gateway.server.app import App


def test_a_stored_answer_stays_on_its_account_and_moves_whole_if_that_dies(monkeypatch):
    app, _, service = start(monkeypatch, Account("north"), Account("south"))

    async def run() -> tuple[str, list]:
        first = await ask(app, "What is 17 * 23?")
        home = first.headers["x-pondero-deployment"]
        second = await ask(app, "And plus 1?", previous_response_id=json.loads(first.body)["id"])
        assert second.headers["x-pondero-deployment"] == home
        service.accounts[home].is_dead = True
        third = await ask(app, "And plus 2?", previous_response_id=json.loads(second.body)["id"])
        return home, [first, second, third]

    home, answers = anyio.run(run)
    other = {"north": "south", "south": "north"}[home]
    assert [each.status for each in answers] == [200, 200, 200]
    assert answers[-1].headers["x-pondero-deployment"] == other
    moved = json.loads(service.accounts[other].bodies[-1])
    assert "previous_response_id" not in moved  # the other account does not know it
    assert "17 * 23" in json.dumps(moved["input"])


@pytest.mark.parametrize("names", [("north",), ("north", "south")])
@pytest.mark.parametrize("way", ["previous", "reference", "conversation"])
def test_another_process_knows_the_account_of_a_stored_answer(monkeypatch, names, way):
    """It has neither an envelope nor an entry of the answer cache."""
    accounts = [Account(name) for name in names]
    one, gateway, service = start(monkeypatch, *accounts)
    state = make_state(gateway.config.server, service.clock)
    shared = replace(state, owners=gateway.shared.owners)
    deployments = gateway.config.deployments
    other, later = make_gateway(
        service, deployments, "gpt-5.5", monkeypatch=monkeypatch, shared=shared
    )
    later.kept = gateway.kept

    async def run() -> None:
        made = await post(one, "/v1/conversations", {})
        held = {"conversation": made["id"]} if way == "conversation" else {}
        first = await ask(one, "What is 17 * 23?", **held)
        home, answer = first.headers["x-pondero-deployment"], json.loads(first.body)
        thought = answer["output"][0]
        assert thought["type"] == "reasoning"
        references = [{"type": "item_reference", "id": each["id"]} for each in answer["output"]]
        fields = {
            "previous": {"previous_response_id": answer["id"]},
            "reference": {"input": [*references, {"role": "user", "content": "And plus 1?"}]},
            "conversation": held,
        }[way]
        second = await ask(other, "And plus 1?", **fields)
        assert second.status == 200, second.body
        assert second.headers["x-pondero-deployment"] == home
        assert "x-pondero-adjustments" not in second.headers
        sent = json.loads(service.accounts[home].bodies[-1])
        if way == "conversation":  # which the gateway keeps itself
            assert thought["id"] in [each.get("id") for each in sent["input"]]
        else:
            assert {name: sent[name] for name in fields} == fields

    anyio.run(run)


async def post(app: App, path: str, body: Any) -> Any:
    headers = {"content-type": "application/json"}
    data = json.dumps(body).encode()
    answer = await came(app, HttpRequest("POST", f"http://gateway{path}", headers, data))
    return json.loads(answer.body)

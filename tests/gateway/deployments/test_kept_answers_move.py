"""An answer that the gateway keeps is continued on another account, if its own is gone."""

import json

import anyio
from tests.gateway.deployments.test_accounts import ask, start
from tests.gateway.four_accounts import Account


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

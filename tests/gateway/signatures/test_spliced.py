"""Envelopes of several answers in one: each belongs to the answer that it was made in."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import came
from tests.gateway.test_identity import World, leaves
from tests.gateway.upstream import seals_of

from pondero.canon import HttpRequest
from pondero.emulator import ScriptedTurn
from pondero.gateway.state.answer_cache import LocalAnswerCache


class _Forgetful(LocalAnswerCache):
    """An answer cache that has forgotten all."""

    def find_known(self, keys: Any) -> dict[str, bytes]:
        return {}


async def _splice(order: tuple[int, ...]) -> tuple[list[list[str]], list[str], Any]:
    """Return the signatures of two answers, what arrived, and the answer to the spliced history."""
    world = World()
    world.gate.memory = _Forgetful()
    world.serve("opus", thief=False)

    async def ask(messages: list[Any]) -> Any:
        body = {"model": "m", "messages": messages, "reasoning_effort": "high"}
        headers = {"x-api-key": "key-a", "content-type": "application/json"}
        url = "http://g/v1/chat/completions"
        return await came(world.app, HttpRequest("POST", url, headers, json.dumps(body).encode()))

    said = []
    for number in (0, 1):
        turn = ScriptedTurn(thinking=(f"Thought {number}.",), text=f"Answer {number}.")
        world.upstream.emulator.expect(turn)
        answer = await ask([{"role": "user", "content": f"Question {number}"}])
        said.append(json.loads(answer.body)["choices"][0]["message"])
    signed = [list(seals_of(world.upstream.said(number))) for number in (0, 1)]
    details = [detail for at in order for detail in said[at]["reasoning_details"]]
    spliced = {**said[order[0]], "reasoning_details": details}
    world.upstream.emulator.expect(ScriptedTurn(text="Done."))
    question = {"role": "user", "content": f"Question {order[0]}"}
    answer = await ask([question, spliced, {"role": "user", "content": "Go on."}])
    arrived = list(leaves(json.loads(world.upstream.requests[-1])["messages"]))
    return signed, arrived, answer


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_spliced_envelope_of_another_answer_is_withheld_and_reported(order):
    """Before, the thinking of both was joined under the last signature, which no service made."""
    signed, arrived, answer = anyio.run(_splice, order)
    assert answer.status == 200, answer.body
    assert set(signed[order[0]]) <= set(arrived)
    assert f"Thought {order[0]}." in arrived
    assert not set(signed[order[1]]) & set(arrived)
    assert not any(f"Thought {order[1]}." in text for text in arrived)
    assert "signature_withheld:history" in answer.headers["x-pondero-adjustments"]


def test_an_envelope_that_came_twice_is_no_splice():
    signed, arrived, answer = anyio.run(_splice, (0, 0))
    assert answer.status == 200
    assert set(signed[0]) <= set(arrived)
    assert "x-pondero-adjustments" not in answer.headers

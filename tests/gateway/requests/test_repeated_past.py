"""An answer says what it continues, also if its service was sent the history and not told."""

import asyncio
import json
from typing import Any

import pytest
from tests.gateway.stored_world import BACKS, World, read_stream

from pondero.dialects import Continuation, get_dialect

REPEATED = ("previous_response_id", "conversation")
RULES = get_dialect("openai_responses").service().kept_responses


async def _ask(world: World, body: Any) -> list[Any]:
    """Return the answer in every form that a client can get: in each event, and when fetched."""
    status, answer = await world.call("POST", "/responses", body)
    assert status == 200, answer
    shown = [answer]
    if body["stream"]:
        shown = [event["response"] for event in read_stream(answer) if "response" in event]
        assert len(shown) > 2
    _, fetched = await world.call("GET", f"/responses/{shown[-1]['id']}")
    return [*shown, fetched]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("back", BACKS)
def test_every_answer_says_what_it_continues(back, stream):
    async def body() -> None:
        world = World()
        more: Any = {"model": back, "stream": stream}
        # The service of OpenAI has the first of these itself; it is sent the texts of the others.
        for earlier in ("openai", "chat", "claude"):
            first = await world.ask(earlier, "My name is Ann.")
            named = {"previous_response_id": first["id"]}
            for answer in await _ask(world, {"input": "Who am I?", **named, **more}):
                assert answer["previous_response_id"] == first["id"]
                assert answer.get("conversation") is None
        _, made = await world.call("POST", "/conversations", {})
        for text in ("My name is Ann.", "Who am I?"):
            for answer in await _ask(world, {"input": text, "conversation": made["id"], **more}):
                assert answer["conversation"] == {"id": made["id"]}
                assert answer["previous_response_id"] is None
        await world.aclose()

    asyncio.run(body())


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"response.output_text.delta","delta":"a \\"response\\" of mine"}',
        b'{"type":"response.failed","response":{"object":"response","previous_response_id":null}}',
        b'{"type":"error","response":7}',
        b'{"type":"error","response":null}',
        b'{"error":{"message":"no","code":"response"}}',
        b'{"broken":"response"',
        b"[DONE]",
        b"",
    ],
)
def test_what_has_no_answer_stays_as_it_is(data):
    assert RULES is not None
    assert RULES.repeat(data, Continuation(previous="resp_1", conversation="conv_1")) is data


def test_all_other_values_stay_as_their_service_wrote_them():
    assert RULES is not None
    answer = b'{"id":"resp_2","object":"response","n":1.0,"previous_response_id":null,"x":[ 1]}'
    event = b'{"type": "response.created", "response": %b, "sequence_number": 0}' % answer
    for said, named in (
        (Continuation(previous="resp_1"), {"previous_response_id": "resp_1"}),
        (Continuation(conversation="c"), {"conversation": {"id": "c"}}),
    ):
        whole = RULES.repeat(answer, said)
        assert json.loads(whole) == {**json.loads(answer), **named}
        assert b'"n":1.0' in whole
        assert b'"x":[ 1]' in whole
        assert json.loads(RULES.repeat(event, said))["response"] == json.loads(whole)

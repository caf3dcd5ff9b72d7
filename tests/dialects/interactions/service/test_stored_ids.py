"""Ids and tokens that answers give: all that a client may later name."""

import json

import pytest

from pondero.canon import HttpRequest
from pondero.dialects.interactions.service import SERVICE

ENDED = {"id": "v1_a", "status": "requires_continuation", "continuation_token": "t1"}
EVENTS = {
    "created": ({"interaction": {"id": "v1_a"}}, "interaction.created", ["v1_a"]),
    "checkpoint": ({"continuation_token": "t0"}, "interaction.status_update", ["t0"]),
    "completed": ({"interaction": ENDED}, "interaction.completed", ["v1_a", "t1"]),
    "delta": ({"index": 0, "delta": {"type": "text", "text": "v1_b"}}, "step.delta", []),
}


def find(data, *, stream):
    return list(SERVICE.stored_ids.find_given(json.dumps(data).encode(), stream=stream))


@pytest.mark.parametrize(("fields", "kind", "given"), EVENTS.values(), ids=EVENTS)
def test_an_event_gives_its_id_and_its_token(fields, kind, given):
    event = {**fields, "event_type": kind}
    line = b"data: " + json.dumps(event, separators=(",", ":")).encode()
    assert find(event, stream=True) == given
    assert any(mark in line for mark in SERVICE.stored_ids.marks) == bool(given)


def test_a_whole_answer_gives_its_id_and_its_token():
    assert find(ENDED, stream=False) == ["v1_a", "t1"]
    assert find({"status": "requires_continuation", "continuation_token": "t"}, stream=False) == [
        "t"
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("previous_interaction_id", "previousInteractionId", "Previous_Interaction_Id"),
        *("previous\\u005finteraction_id", "\\u0070reviousInteractionId"),
    ],
)
def test_an_id_is_found_in_any_spelling_of_its_field(name):
    body = f'{{"model": "m", "input": "hi", "{name}": "v1_a"}}'.encode()
    found = SERVICE.stored_ids.find(HttpRequest("POST", "http://g/v1beta/interactions", {}, body))
    assert [(each.field, each.id) for each in found] == [("previous_interaction_id", "v1_a")]

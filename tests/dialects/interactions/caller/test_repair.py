"""What is sent again after a rejection that names its own fix."""

import json

import pytest

from pondero.canon import HttpRequest, SavedRepair
from pondero.dialects import get_dialect
from pondero.dialects.interactions.caller.input import UNSIGNED
from pondero.errors import BadRequest

CALLER = get_dialect("interactions").caller()
CALL = {"type": "function_call", "id": "c1", "name": "look", "arguments": {}}
USER = {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}
THOUGHT = {"type": "thought", "signature": "abc", "summary": []}
LOST = "Function call is missing a thought_signature."


def send(**body):
    return HttpRequest("POST", "https://x/v1/interactions", {}, json.dumps(body).encode())


def repair(message, **body):
    found = CALLER.repair(send(**body), BadRequest(message, status=400))
    return found if found is None else (json.loads(found.request.body), found)


def test_a_rejected_signature_gives_way_to_the_placeholder():
    body, found = repair(LOST, input=[USER, THOUGHT, {**CALL, "signature": "def"}, CALL, USER])
    placeholder = {"type": "thought", "signature": UNSIGNED}
    assert body["input"] == [USER, placeholder, CALL, CALL, USER]
    assert found.adjustment.code == "seal_refused"
    assert found.cure == SavedRepair("unseal")


def test_every_turn_with_calls_has_its_own_placeholder():
    body, _ = repair(LOST, input=[USER, CALL, USER, THOUGHT, CALL])
    assert [step["type"] for step in body["input"]] == [
        *("user_input", "thought", "function_call"),
        *("user_input", "thought", "function_call"),
    ]


def test_a_prompt_in_one_text_has_no_signature_to_remove():
    assert repair(LOST, input="Hi") is None


@pytest.mark.parametrize(("asked", "told"), [("auto", "summary"), ("none", "none")])
def test_a_model_without_summaries_is_not_asked_for_them(asked, told):
    message = "Unknown parameter 'thinking_summaries' at 'generation_config'."
    body, found = repair(
        message, input="Hi", generation_config={"thinking_summaries": asked, "seed": 1}
    )
    assert body["generation_config"] == {"seed": 1}
    assert (found.adjustment.code, found.adjustment.asked) == ("summary_refused", told)
    body, _ = repair(message, input="Hi", generation_config={"thinking_summaries": asked})
    assert "generation_config" not in body
    assert repair(message, input="Hi") is None


def test_a_level_that_the_model_lacks_becomes_the_nearest_that_is_offered():
    message = (
        "The value 'minimal' is not supported for 'generation_config.thinking_level'. "
        "Supported values: 'low', 'medium', 'high'."
    )
    body, found = repair(message, input="Hi", generation_config={"thinking_level": "minimal"})
    assert body["generation_config"] == {"thinking_level": "low"}
    assert (found.adjustment.asked, found.adjustment.got) == ("minimal", "low")
    again = CALLER.reapply_repair(
        send(input="Hi", generation_config={"thinking_level": "high"}), found.cure
    )
    assert again is None  # the model has it
    assert repair(message, input="Hi", generation_config={"thinking_level": "high"}) is None


def test_another_error_suggests_no_repair():
    assert repair("Request has empty input.", input=[]) is None
    assert CALLER.reapply_repair(send(input="Hi"), SavedRepair("of another time")) is None

"""A request goes on from a stored answer by its id, as the Responses API has it."""

import json

import pytest

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.emulator.stored_answers import _MOST

TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def ask(emulator, given, **fields):
    body = {"model": "gpt-5.5", "input": given, **fields}
    http = HttpRequest(
        "POST",
        "http://emulator/v1/responses",
        {"authorization": "Bearer k"},
        json.dumps(body).encode(),
    )
    answer = emulator.send(http)
    return answer.head.status, b"".join(answer)


def answered(emulator, given, **fields):
    status, body = ask(emulator, given, **fields)
    assert status == 200, body
    return json.loads(body)


def text_of(answer):
    return answer["output"][-1]["content"][0]["text"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_goes_on_from_an_answer_just_stored(stream):
    emulator = Emulator()
    _, first = ask(emulator, "My name is Ada.", stream=stream)
    if stream:
        frames = [line[6:] for line in first.splitlines() if line.startswith(b"data: {")]
        id = json.loads(frames[-1])["response"]["id"]
    else:
        id = json.loads(first)["id"]
    second = answered(emulator, "Hello.", previous_response_id=id)
    third = answered(emulator, "What is my name?", previous_response_id=second["id"])
    assert text_of(third) == "name is Ada."
    assert third["previous_response_id"] == second["id"]
    assert len({id, second["id"], third["id"]}) == 3


def test_only_the_result_of_a_call_is_sent():
    emulator = Emulator()
    tools = {"tools": [TOOL], "reasoning": {"effort": "high"}}
    first = answered(emulator, "What is the weather in Paris?", **tools)
    call = first["output"][-1]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
    second = answered(emulator, [result], previous_response_id=first["id"], **tools)
    assert text_of(second) == "get_weather (Paris) says: rain"


@pytest.mark.parametrize("how", ["not stored", "unknown", "reset"])
def test_what_is_not_stored_is_not_found(how):
    emulator = Emulator()
    first = answered(emulator, "Hello.", store=how != "not stored")
    if how == "reset":
        emulator.reset()
    id = "resp_nothing" if how == "unknown" else first["id"]
    status, body = ask(emulator, "And?", previous_response_id=id)
    assert status == 400
    assert json.loads(body)["error"]["code"] == "previous_response_not_found"


def test_instructions_are_not_carried_over():
    emulator = Emulator()
    first = answered(emulator, "Hello.", instructions="Be kind.")
    second = answered(emulator, "And?", previous_response_id=first["id"])
    assert (first["instructions"], second["instructions"]) == ("Be kind.", None)


def test_the_oldest_are_forgotten():
    emulator = Emulator()
    first = answered(emulator, "Hello.")
    for number in range(_MOST):
        ask(emulator, f"Hello {number}.")
    assert ask(emulator, "And?", previous_response_id=first["id"])[0] == 400

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


# -- items by id, answers in the background, conversations -----------------------------------------


def call(emulator, method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    url = f"http://emulator/v1/{path}"
    answer = emulator.send(HttpRequest(method, url, {"authorization": "Bearer k"}, data))
    return answer.head.status, json.loads(b"".join(answer))


def refer(item):
    return {"type": "item_reference", "id": item["id"]}


def test_a_reference_stands_for_an_item_just_stored():
    emulator = Emulator()
    tools = {"tools": [TOOL], "reasoning": {"effort": "high"}}
    first = answered(emulator, "What is the weather in Paris?", **tools)
    thought, asked = first["output"]
    result = {"type": "function_call_output", "call_id": asked["call_id"], "output": "rain"}
    question = {"role": "user", "content": "What is the weather in Paris?"}
    second = answered(emulator, [question, refer(thought), refer(asked), result], **tools)
    assert text_of(second) == "get_weather (Paris) says: rain"


def test_a_message_of_the_input_is_stored_with_an_id():
    emulator = Emulator()
    first = answered(emulator, "My name is Ada.")
    _, listed = call(emulator, "GET", f"responses/{first['id']}/input_items")
    (item,) = listed["data"]
    assert (item["type"], item["content"]) == ("message", "My name is Ada.")
    asked = [refer(item), {"role": "user", "content": "What is my name?"}]
    assert text_of(answered(emulator, asked)) == "name is Ada."


@pytest.mark.parametrize("store", [True, False])
def test_an_item_that_is_not_stored_cannot_be_named(store):
    emulator = Emulator()
    first = answered(emulator, "Hello.", store=False)
    question = {"role": "user", "content": "And?"}
    status, body = ask(emulator, [refer(first["output"][-1]), question], store=store)
    message = json.loads(body)["error"]["message"]
    assert status == 404
    assert message.startswith(f"Item with id '{first['output'][-1]['id']}' not found.")
    assert ("not persisted" in message) is not store


def test_a_stored_answer_is_fetched_and_deleted():
    emulator = Emulator()
    first = answered(emulator, "Hello.")
    path = f"responses/{first['id']}"
    assert call(emulator, "GET", path) == (200, first)
    assert call(emulator, "DELETE", path)[1]["deleted"] is True
    status, body = call(emulator, "GET", path)
    assert (status, body["error"]["message"]) == (
        404,
        f"Response with id '{first['id']}' not found.",
    )
    assert ask(emulator, "And?", previous_response_id=first["id"])[0] == 400


def test_an_answer_that_is_not_stored_is_not_found():
    emulator = Emulator()
    first = answered(emulator, "Hello.", store=False)
    assert call(emulator, "GET", f"responses/{first['id']}")[0] == 404


def test_an_answer_in_the_background_is_there_after_a_while():
    emulator = Emulator()
    first = answered(emulator, "Hello.", background=True)
    path = f"responses/{first['id']}"
    assert (first["status"], first["background"], first["output"]) == ("queued", True, [])
    seen = [call(emulator, "GET", path)[1] for _ in range(3)]
    assert [each["status"] for each in seen] == ["in_progress", "completed", "completed"]
    assert text_of(seen[-1])
    assert seen[-1]["usage"]["output_tokens"] > 0


def test_an_answer_in_the_background_is_cancelled():
    emulator = Emulator()
    path = f"responses/{answered(emulator, 'Hello.', background=True)['id']}"
    for _ in range(2):
        assert call(emulator, "POST", f"{path}/cancel")[1]["status"] == "cancelled"
    assert call(emulator, "GET", path)[1]["status"] == "cancelled"


def test_a_finished_one_stays_as_it_is():
    emulator = Emulator()
    path = f"responses/{answered(emulator, 'Hello.', background=True)['id']}"
    call(emulator, "GET", path)
    call(emulator, "GET", path)
    assert call(emulator, "POST", f"{path}/cancel")[1]["status"] == "completed"


def test_only_an_answer_in_the_background_is_cancelled():
    emulator = Emulator()
    path = f"responses/{answered(emulator, 'Hello.')['id']}"
    status, body = call(emulator, "POST", f"{path}/cancel")
    assert (status, body["error"]["message"]) == (400, "Cannot cancel a synchronous response.")


def test_a_request_about_stored_things_needs_a_key():
    answer = Emulator().send(HttpRequest("GET", "http://emulator/v1/responses/resp_1", {}))
    assert answer.head.status == 401


def test_a_conversation_remembers():
    emulator = Emulator()
    said = [{"role": "user", "content": "My name is Ada."}]
    _, made = call(emulator, "POST", "conversations", {"items": said, "metadata": {"a": "b"}})
    assert made["metadata"] == {"a": "b"}
    answered(emulator, "Hello.", conversation=made["id"])
    third = answered(emulator, "What is my name?", conversation={"id": made["id"]})
    assert text_of(third) == "name is Ada."
    assert third["conversation"] == {"id": made["id"]}
    _, listed = call(emulator, "GET", f"conversations/{made['id']}/items?order=asc&limit=3")
    assert [each["role"] for each in listed["data"] if "role" in each][:2] == ["user", "user"]
    assert listed["has_more"]


def test_a_conversation_is_deleted():
    emulator = Emulator()
    _, made = call(emulator, "POST", "conversations", {})
    assert call(emulator, "GET", f"conversations/{made['id']}")[0] == 200
    assert call(emulator, "DELETE", f"conversations/{made['id']}")[1]["deleted"] is True
    status, body = ask(emulator, "Hello.", conversation=made["id"])
    message = f"Conversation with id '{made['id']}' not found."
    assert (status, json.loads(body)["error"]["message"]) == (404, message)


def test_pages_of_items_follow_each_other():
    emulator = Emulator()
    said = [{"role": "user", "content": str(number)} for number in range(5)]
    first = answered(emulator, said)
    path, found, after = f"responses/{first['id']}/input_items?order=asc&limit=2", [], ""
    while True:
        _, page = call(emulator, "GET", path + after)
        found += [each["content"] for each in page["data"]]
        if not page["has_more"]:
            break
        after = f"&after={page['last_id']}"
    assert found == ["0", "1", "2", "3", "4"]

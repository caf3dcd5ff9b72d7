"""The emulated services give as many answers as they are asked for, and the tokens' chances."""

import json
from typing import Any

import pytest

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

HELLO = [{"role": "user", "content": "What is 17 * 23?"}]
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.0-flash:"
CHAT = "https://api.openai.com/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CONTENTS = [{"role": "user", "parts": [{"text": "What is 17 * 23?"}]}]


def ask(url: str, body: dict[str, Any]) -> tuple[int, bytes]:
    headers = {"authorization": "Bearer k", "x-goog-api-key": "k"}
    headers["content-type"] = "application/json"
    answer = Emulator().send(HttpRequest("POST", url, headers, json.dumps(body).encode()))
    return answer.head.status, b"".join(answer)


def ask_chat(**more: Any) -> Any:
    status, body = ask(CHAT, {"model": "gpt-4.1", "messages": HELLO, **more})
    assert status == 200, body
    return body


@pytest.mark.parametrize("count", [1, 2, 4])
def test_chat_gives_n_choices_and_counts_them_all(count):
    one, made = json.loads(ask_chat()), json.loads(ask_chat(n=count))
    assert [each["index"] for each in made["choices"]] == list(range(count))
    assert len({each["message"]["content"] for each in made["choices"]}) == count
    assert made["choices"][0] == one["choices"][0]
    wrote = one["usage"]["completion_tokens"] * count
    assert made["usage"]["completion_tokens"] == wrote
    assert made["usage"]["total_tokens"] == one["usage"]["prompt_tokens"] + wrote


def test_a_chat_stream_has_every_choice_and_one_end():
    body = ask_chat(n=3, stream=True, stream_options={"include_usage": True})
    chunks = [json.loads(each[6:]) for each in body.split(b"\n\n") if each.startswith(b"data: {")]
    finished = [c["index"] for each in chunks for c in each["choices"] if c["finish_reason"]]
    assert sorted(finished) == [0, 1, 2]
    assert [bool(each["usage"]) for each in chunks] == [False] * (len(chunks) - 1) + [True]
    assert body.count(b"[DONE]") == 1


def test_calls_of_several_answers_have_ids_of_their_own():
    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
    forced = {"type": "function", "function": {"name": "look"}}
    made = json.loads(ask_chat(n=2, tools=[tool], tool_choice=forced))
    ids = [each["message"]["tool_calls"][0]["id"] for each in made["choices"]]
    assert len(set(ids)) == 2
    assert all(each.startswith("call_") for each in ids)


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent"])
def test_gemini_gives_as_many_candidates(verb):
    body = {"contents": CONTENTS, "generationConfig": {"candidateCount": 2}}
    status, answer = ask(GOOGLE + verb, body)
    assert status == 200, answer
    chunks = json.loads(answer)
    candidates = [c for each in (chunks if isinstance(chunks, list) else [chunks])
                  for c in each["candidates"]]  # fmt: skip
    assert sorted(c["index"] for c in candidates if "finishReason" in c) == [0, 1]


def test_gemini_gives_log_probabilities_as_its_service_does():
    config = {"responseLogprobs": True, "logprobs": 3}
    status, body = ask(
        f"{GOOGLE}generateContent", {"contents": CONTENTS, "generationConfig": config}
    )
    assert status == 200, body
    (candidate,) = json.loads(body)["candidates"]
    result = candidate["logprobsResult"]
    text = "".join(part["text"] for part in candidate["content"]["parts"])
    assert "".join(each["token"] for each in result["chosenCandidates"]) == text
    assert all(each.keys() == {"token", "tokenId", "logProbability"}
               for each in result["chosenCandidates"])  # fmt: skip
    assert [len(each["candidates"]) for each in result["topCandidates"]] == [3] * len(
        result["chosenCandidates"]
    )
    assert candidate["avgLogprobs"] < 0


def test_no_log_probabilities_come_unasked():
    assert json.loads(ask_chat())["choices"][0]["logprobs"] is None
    assert b"logprobsResult" not in ask(f"{GOOGLE}generateContent", {"contents": CONTENTS})[1]

"""What the kit sends is what the vendors' SDKs send: the same JSON, path and key."""

import json

import pytest
from tests.gateway import sdks

from pondero.contract.through import BACKS, Referee
from pondero.contract.through.fronts import (
    FRONTS,
    ChatCompletions,
    GenerateContent,
    Interactions,
    Messages,
    Responses,
)
from pondero.emulator import ScriptedCall, ScriptedTurn, run_emulator_in_thread

PAIRS = {
    "messages": (Messages, sdks.Messages, "opus"),
    "responses": (Responses, sdks.Responses, "gpt"),
    "chat": (ChatCompletions, sdks.Chat, "deepseek"),
    "gemini": (GenerateContent, sdks.Gemini, "gemini"),
    "interactions": (Interactions, sdks.Interactions, "interactions"),
}
CALLED = ScriptedTurn(thinking="Hm.", tool_calls=(ScriptedCall("get_weather", {"city": "Paris"}),))
KEYS = ("x-api-key", "authorization", "x-goog-api-key", "anthropic-version", "content-type")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def served():
    referee = Referee()
    with run_emulator_in_thread(referee) as url:
        yield url, referee


def said(served, make, model: str, level: str | None, *, tools: bool, stream: bool):
    """The requests of a tool loop, and the last answer."""
    url, referee = served
    referee.reset()
    front = make(f"{url}/deepseek" if make.name in ("chat", "openai_chat") else url)
    referee.expect(*([CALLED] if tools else []), ScriptedTurn(thinking="Ah.", text="Sunny."))
    history = front.user("What is the weather in Paris?")
    answer = front.ask(model, history, level, tools=tools, stream=stream)
    if tools:
        history = [*history, *answer.keep, *front.results(answer.calls, ["24 degrees"])]
        answer = front.ask(model, history, level, tools=tools, stream=stream)
    front.close()
    assert referee.rejections() == []
    return list(referee.requests), answer


def comparable(request):
    body = json.loads(request.body)
    for name in ("max_tokens", "stream"):  # ours leave more room; the SDK's say stream: false
        body.pop(name, None)
    headers = {k: v for k, v in request.headers.items() if k in KEYS}
    url = request.url.replace("/v1/models", "/v1beta/models")  # see fronts/gemini.py
    return request.method, url, headers, _canonical(body)


def _canonical(value):
    """Without what differs from run to run (ids, signatures) and what says nothing (null)."""
    if isinstance(value, dict):
        kept = {k: _canonical(v) for k, v in value.items() if v not in (None, [], {})}
        random = ("id", "tool_use_id", "call_id", "tool_call_id", "signature", "thoughtSignature")
        return {k: "*" if k in (*random, "encrypted_content") else v for k, v in kept.items()}
    return [_canonical(each) for each in value] if isinstance(value, list) else value


def test_every_client_api_of_the_kit_is_held_to_an_sdk():
    assert list(PAIRS) == list(FRONTS)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("tools", [False, True], ids=["plain", "tools"])
@pytest.mark.parametrize("level", [None, "high", "off"])
@pytest.mark.parametrize("name", PAIRS)
def test_the_kit_sends_and_reads_what_the_sdk_does(served, name, level, tools, stream):
    ours, theirs, back = PAIRS[name]
    if name in ("chat", "gemini", "interactions") and level == "off":
        pytest.skip("this model rejects it in this form; a gateway translates it")
    model = BACKS[back].model.partition(":")[2]
    sent, answer = said(served, ours, model, level, tools=tools, stream=stream)
    wanted, read = said(served, theirs, model, level, tools=tools, stream=stream)
    assert list(map(comparable, sent)) == list(map(comparable, wanted))
    assert answer.text == read.text == "Sunny."
    assert answer.thinking == read.thinking
    assert answer.usage == read.usage

"""Texts in spans and events: only where the switch asks for them, and never a key."""

import json

import pytest
from tests.client.tracing.programs import (
    CAPTURE,
    DEEDS,
    EMIT,
    KEY,
    QUESTION,
    WEATHER,
    ask_with,
    chat,
    get_weather,
)

import pondero
from pondero.client.tracing import content
from pondero.emulator import Emulator

pytest.importorskip("opentelemetry.sdk")
from tests.client.tracing.judge import find_message_faults

pytestmark = pytest.mark.judge


_SECRETS = (QUESTION, WEATHER, "= 391", "sunny", "Bern", "Be brief")


def _everything(observed):
    spans = [(span.name, dict(span.attributes), span.status.description) for span in observed.spans]
    events = [(event.event_name, event.attributes, event.body) for event in observed.events]
    return repr((spans, events))


@pytest.mark.parametrize("switch", [None, "", "NO_CONTENT", "false", "yes please"])
def test_without_the_switch_no_text_is_recorded(switch, observed, monkeypatch):
    if switch is not None:
        monkeypatch.setenv(CAPTURE, switch)
    for deed in DEEDS.values():
        deed()
    told = _everything(observed)
    assert [secret for secret in _SECRETS if secret in told] == []
    assert observed.events == []


def test_an_unknown_switch_is_a_line_of_the_log(observed, monkeypatch, caplog):
    monkeypatch.setenv(CAPTURE, "yes please")
    with caplog.at_level("WARNING", logger="pondero"):
        ask_with("gpt-5.1/low")()
    assert f"{CAPTURE} has an unknown value" in caplog.text
    assert "yes please" not in caplog.text


@pytest.mark.parametrize(
    ("switch", "emit", "in_spans", "events", "in_events"),
    [
        ("SPAN_ONLY", None, True, 1 - 1, False),
        ("span_only", "true", True, 1, False),
        ("EVENT_ONLY", None, False, 1, True),
        ("EVENT_ONLY", "false", False, 0, False),
        ("SPAN_AND_EVENT", None, True, 1, True),
        ("true", None, True, 1, True),
        ("NO_CONTENT", "TRUE", False, 1, False),
    ],
)
def test_the_switches_say_where_texts_go(
    switch, emit, in_spans, events, in_events, observed, monkeypatch
):
    monkeypatch.setenv(CAPTURE, switch)
    if emit is not None:
        monkeypatch.setenv(EMIT, emit)
    ask_with("gpt-5.1/low", system="Be brief")()
    (span,) = observed.spans
    assert ("gen_ai.input.messages" in span.attributes) == in_spans
    assert len(observed.events) == events
    for event in observed.events:
        assert event.event_name == "gen_ai.client.inference.operation.details"
        assert event.span_id == span.context.span_id
        assert ("gen_ai.input.messages" in event.attributes) == in_events
        assert event.attributes["gen_ai.request.model"] == "gpt-5.1"


def test_texts_have_the_forms_of_the_conventions(observed, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    chat(get_weather)()
    first, tool, second, agent = observed.spans
    call_id = tool.attributes["gen_ai.tool.call.id"]
    call = {
        "type": "tool_call",
        "id": call_id,
        "name": "get_weather",
        "arguments": {"city": "Bern"},
    }
    (answer,) = json.loads(first.attributes["gen_ai.output.messages"])
    assert (answer["role"], answer["finish_reason"]) == ("assistant", "tool_call")
    assert [part["type"] for part in answer["parts"]] == ["reasoning", "tool_call"]
    assert answer["parts"][1] == call
    asked, answered, result = json.loads(second.attributes["gen_ai.input.messages"])
    assert asked == {"role": "user", "parts": [{"type": "text", "content": WEATHER}]}
    assert answered["parts"][-1] == call
    response = {"type": "tool_call_response", "id": call_id, "response": "Bern: sunny"}
    assert result == {"role": "tool", "parts": [response]}
    assert json.loads(tool.attributes["gen_ai.tool.call.arguments"]) == {"city": "Bern"}
    assert tool.attributes["gen_ai.tool.call.result"] == "Bern: sunny"
    (definition,) = json.loads(agent.attributes["gen_ai.tool.definitions"])
    assert (definition["type"], definition["name"]) == ("function", "get_weather")
    assert json.loads(agent.attributes["gen_ai.input.messages"]) == [asked]
    assert "sunny" in agent.attributes["gen_ai.output.messages"]
    event = observed.events[-1].attributes
    assert [dict(part) for part in event["gen_ai.input.messages"][0]["parts"]] == asked["parts"]


def test_media_are_blobs_and_addresses(observed, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    parts = (
        pondero.Image("image/png", data=b"\x89PNG\r\n\x1a\n" + bytes(40)),
        pondero.Image(url="https://example.com/chart.png"),
        pondero.Blob("application/pdf", data=b"%PDF-1.7", name="report.pdf"),
        pondero.Text("What does it show? \ud800"),
    )
    pondero.Client(transport=Emulator()).ask("claude-opus-5/low", [pondero.Message("user", parts)])
    (message,) = json.loads(observed.spans[0].attributes["gen_ai.input.messages"])
    assert find_message_faults([message]) == []
    told = [(part["type"], part.get("modality")) for part in message["parts"]]
    assert told == [("blob", "image"), ("uri", "image"), ("blob", "document"), ("text", None)]


def test_keys_are_never_recorded(observed, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    monkeypatch.setenv("OTHER_API_KEY", "0123456789abcdefghij")

    def get_weather_leaking(city: str) -> str:
        """Return the weather in a city."""
        return f"{city} {KEY} 0123456789abcdefghij"

    client = pondero.Client(transport=Emulator(), keys={"anthropic": KEY})
    prompt = f"{WEATHER} My key is {KEY}, the other 0123456789abcdefghij."
    pondero.Chat("claude-opus-5/low", tools=[get_weather_leaking], client=client).send(prompt)
    told = _everything(observed)
    assert "My key is REDACTED" in told
    assert KEY not in told
    assert "0123456789abcdefghij" not in told


def test_a_request_that_its_own_api_does_not_read_loses_no_answer(observed, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    monkeypatch.setattr(content, "get_dialect", {}.__getitem__)
    reply = pondero.Client(transport=Emulator()).ask("gpt-5.1/low", QUESTION)
    said = observed.spans[0].attributes
    assert json.loads(said["gen_ai.output.messages"])[0]["parts"][-1]["content"] == reply.text
    assert "gen_ai.input.messages" not in said

"""Refusals that name their own cure: cured once, recorded, never silent."""

import msgspec
import pytest

import pondero
from pondero.canon import HttpRequest, Message
from pondero.dialects import repair
from pondero.emulator import Emulator
from pondero.errors import BadRequest, PonderoWarning


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


class Unverified(Emulator):
    """The service as an organisation sees it that has not been verified."""

    def send(self, request, timeouts):
        headers = {**request.headers, "openai-organization": "org-unverified"}
        return super().send(msgspec.structs.replace(request, headers=headers), timeouts)


def codes(reply):
    return [note.code for note in reply.plan.adjustments]


def test_an_organisation_that_is_not_verified_gets_its_answer_without_summaries():
    client = pondero.Client(transport=Unverified())
    reply = client.ask("gpt-5.1/high", "What is 17 * 23?")
    assert "391" in reply.text
    assert codes(reply) == ["summary_refused"]


def test_a_repair_is_a_warning_under_the_policy_warn():
    client = pondero.Client(
        transport=Unverified(),
        policy={"unsupported": "warn"},
    )
    with pytest.warns(PonderoWarning, match="not verified"):
        client.ask("gpt-5.1/high", "What is 17 * 23?")


def test_nothing_is_repaired_under_the_policy_strict():
    client = pondero.Client(
        transport=Unverified(),
        policy={"unsupported": "strict"},
    )
    with pytest.raises(BadRequest, match="verified"):
        client.ask("gpt-5.1/high", "What is 17 * 23?")


@pytest.mark.parametrize("level", ["high", "off"])
def test_thinking_bound_to_another_beginning_is_dropped(level):
    client = pondero.Client(transport=Emulator())
    chat = pondero.Chat("claude-opus-5-5/high", client=client)
    chat.send("What is 17 * 23?")
    chat.thinking = level
    reply = chat.send("And 5 * 5?", system="Another beginning.")
    assert "25" in reply.text
    assert "seal_refused" in codes(reply)


def test_a_corrupted_signature_is_replaced_by_the_documented_word():
    emulator = Emulator()
    chat = pondero.Chat(
        "gemini-3-flash-preview/high",
        tools=[get_weather],
        client=pondero.Client(transport=emulator),
    )
    chat.send("What is the weather in Paris?")
    chat.messages = tuple(damaged(message) for message in chat.messages)
    reply = chat.send("What is 5 * 5?")
    assert "25" in reply.text
    assert codes(reply) == ["seal_refused"]


def damaged(message: Message) -> Message:
    parts = []
    for part in message.parts:
        seal = getattr(part, "seal", None)
        if seal is not None and isinstance(seal.value, str):
            broken = msgspec.structs.replace(seal, value="AAAA" + seal.value[4:])
            parts.append(msgspec.structs.replace(part, seal=broken))
        else:
            parts.append(part)
    return Message(message.role, tuple(parts), message.origin)


@pytest.mark.parametrize(
    ("dialect", "body", "message", "path", "got"),
    [
        ("openai_responses", {"reasoning": {"effort": "minimal"}}, "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.", ("reasoning", "effort"), "low"),
        ("openai_responses", {"reasoning": {"effort": "max"}}, "Unsupported value: 'max' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.", ("reasoning", "effort"), "high"),
        ("openai_chat", {"reasoning_effort": "none"}, "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.", ("reasoning_effort",), "minimal"),
        ("openai_chat", {"reasoning": {"effort": "xhigh"}}, "effort must be one of `low`, `medium`, `high`", ("reasoning", "effort"), "high"),
        ("anthropic", {"output_config": {"effort": "xhigh"}, "messages": []}, "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.", ("output_config", "effort"), "max"),
    ],
)  # fmt: skip
def test_of_the_levels_a_refusal_lists_the_nearest_is_taken(dialect, body, message, path, got):
    request = HttpRequest("POST", "https://host", {}, msgspec.json.encode(body))
    cured = repair(dialect, request, BadRequest(message, status=400))
    found = msgspec.json.decode(cured.request.body)
    for key in path:
        found = found[key]
    assert found == got
    assert cured.adjustment.code == "unsupported_level"


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses", "openai_chat", "gemini"])
def test_a_refusal_without_a_cure_is_left_alone(dialect):
    body = {
        "reasoning": {"effort": "low"},
        "output_config": {"effort": "low"},
        "messages": [],
        "contents": [],
    }
    request = HttpRequest("POST", "https://host", {}, msgspec.json.encode(body))
    for message in (
        "messages: text content blocks must be non-empty",
        "",
        "Supported values are: 1, 2",
    ):
        assert repair(dialect, request, BadRequest(message, status=400)) is None

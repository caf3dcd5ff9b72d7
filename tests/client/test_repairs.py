"""Refusals that name their own cure: cured once, recorded, never silent."""

import msgspec
import pytest
from tests.repairs import repair
from tests.shells import each_shell

import pondero
from pondero.canon import HttpRequest, Message
from pondero.emulator import Emulator, Fault
from pondero.errors import BadRequest, PonderoWarning
from pondero.handoff import REFUSED


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


@pytest.mark.parametrize("model", ["moonshot:kimi-k4"])
def test_a_model_nobody_has_met_that_takes_no_word_is_asked_once_without_and_remembered(model):
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    for tries in ([400, 200], [400, 200, 200]):
        reply = client.ask(f"{model}/high", "What is 17 * 23?")
        assert ("391" in reply.text, codes(reply)) == (True, ["unknown_model", "no_control"])
        assert [entry.status for entry in emulator.log.entries] == tries
    assert "reasoning_effort" not in emulator.log.entries[-1].body


@pytest.mark.parametrize(
    ("words", "cured"),
    [
        ("Unrecognized request argument supplied: reasoning_effort", True),
        ("Unsupported parameter: 'reasoning_effort' is not supported with this model.", True),
        ("Model grok-5 does not support parameter reasoningEffort.", True),
        ("body.reasoning_effort: Extra inputs are not permitted", True),
        ("Function tools with reasoning_effort are not supported for gpt-6-astra", False),
        ("Unsupported parameter: 'logprobs' is not supported with this model.", False),
        ("reasoning cannot be disabled for model gpt-oss-120b", False),
    ],
)
def test_a_word_is_left_out_only_where_the_refusal_is_about_its_field(words, cured):
    body = msgspec.json.encode({"model": "m", "messages": [], "reasoning_effort": "high"})
    made = repair("openai_chat", HttpRequest("POST", "https://x", {}, body), BadRequest(words))
    assert (made is not None) == cured
    assert made is None or "reasoning_effort" not in msgspec.json.decode(made.request.body)


def test_a_region_that_shows_no_thinking_is_asked_once_without_and_remembered():
    emulator = Emulator()
    url = "https://bedrock-runtime.us-gov-west-1.amazonaws.com"
    client = pondero.Client(transport=emulator, urls={"bedrock": url})
    for tries in ([400, 200], [400, 200, 200]):
        reply = client.ask("bedrock:anthropic.claude-opus-5/high", "What is 17 * 23?")
        assert ("391" in reply.text, codes(reply)) == (True, ["summary_refused"])
        assert [entry.status for entry in emulator.log.entries] == tries


@pytest.mark.parametrize("level", ["high", "off"])
def test_thinking_bound_to_another_beginning_is_dropped(level):
    client = pondero.Client(transport=Emulator())
    chat = pondero.Chat("claude-opus-5-5/high", client=client)
    chat.send("What is 17 * 23?")
    chat.thinking = level
    reply = chat.send("And 5 * 5?", system="Another beginning.")
    assert "25" in reply.text
    assert "seal_refused" in codes(reply)


# -- and remembered ------------------------------------------------------------------------------

SEALING = (
    "claude-opus-5-5/high",
    "claude-sonnet-4-5/high",
    "gpt-5.1/high",
    "gemini-3-flash-preview/high",
    "openrouter:anthropic/claude-opus-5/high",
    "bedrock:claude-opus-4/high",
)
WEATHER = "What is the weather in Paris?"


def requests(emulator):
    """Return how many requests there were since this was asked last."""
    count = len(emulator.log.entries)
    emulator.log.clear()
    return count


def damaged(messages):
    """Return messages whose seals nobody can read any more."""
    return tuple(
        Message(each.role, tuple(map(_damaged, each.parts)), each.origin) for each in messages
    )


def _damaged(part):
    seal = getattr(part, "signature", None)
    if seal is None:
        return part
    return msgspec.structs.replace(
        part, signature=msgspec.structs.replace(seal, value=_broken(seal.value))
    )


def _broken(value):
    if isinstance(value, dict):
        return {key: _broken(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_broken(each) for each in value]
    opaque = isinstance(value, str) and len(value) > 55 and " " not in value  # ids are shorter
    return "AAAA" + value[4:] if opaque else value


@each_shell
@pytest.mark.parametrize("model", SEALING)
def test_a_seal_that_was_refused_costs_one_request_and_never_another(shell, model):
    emulator = Emulator()
    client = shell.client(emulator)
    chat = shell.chat(model, client, tools=[get_weather])
    shell.send(chat, WEATHER)
    history = chat.messages = damaged(chat.messages)
    requests(emulator)
    for asked, words in ((2, "What is 5 * 5?"), (1, "What is 6 * 6?"), (2, WEATHER)):
        reply = shell.send(chat, words)
        assert "seal_refused" in codes(reply)
        assert requests(emulator) == asked  # the weather is asked in two
    assert chat.messages[: len(history)] == history
    assert REFUSED in {change.why for change in chat.handoff.changes}
    again = shell.restored(chat.to_json(), client, tools=[get_weather])
    assert "seal_refused" in codes(shell.send(again, "What is 7 * 7?"))
    assert requests(emulator) == 1


@pytest.mark.parametrize("model", SEALING)
def test_thinking_done_after_a_refusal_goes_back_as_ever(model):
    emulator = Emulator()
    chat = pondero.Chat(model, client=pondero.Client(transport=emulator), tools=[get_weather])
    chat.send(WEATHER)
    chat.messages = damaged(chat.messages)
    lost = len(chat.messages)
    chat.send(WEATHER)
    chat.send("What is 6 * 6?")
    withheld = {change.message for change in chat.handoff.changes if change.why == REFUSED}
    assert withheld
    assert max(withheld) < lost


@each_shell
@pytest.mark.parametrize("model", ["claude-opus-5-5/high", "claude-opus-5-5/off"])
def test_a_new_beginning_costs_one_request_and_never_another(shell, model):
    emulator = Emulator()
    client = shell.client(emulator)
    chat = shell.chat("claude-opus-5-5/high", client)
    shell.send(chat, "What is 17 * 23?")
    chat.model = model
    requests(emulator)
    for asked in (2, 1, 1):
        reply = shell.send(chat, "And 5 * 5?", system="Another beginning.")
        assert "seal_refused" in codes(reply)
        assert requests(emulator) == asked
    chat.thinking = "low"
    again = shell.restored(chat.to_json(), client)
    assert "25" in shell.send(again, "And 5 * 5?", system="Another beginning.").text
    assert requests(emulator) == 1


@each_shell
def test_what_a_model_refuses_is_asked_of_it_once_by_one_client(shell):
    emulator = Unverified()
    client = shell.client(emulator)
    for asked in (2, 1, 1):
        reply = shell.ask(client, "gpt-5.1/high", "What is 17 * 23?")
        assert codes(reply) == ["summary_refused"]
        assert requests(emulator) == asked
    shell.ask(client, "gpt-6-sol/high", "What is 17 * 23?")
    assert requests(emulator) == 2  # another model may be another matter
    shell.ask(shell.client(emulator), "gpt-5.1/high", "What is 17 * 23?")
    assert requests(emulator) == 2  # and so may another client, with another key


def test_a_level_that_was_refused_is_not_asked_for_again():
    words = (
        "Unsupported value: 'high' is not supported with the 'gpt-5.1' model. "
        "Supported values are: 'none', 'low', and 'medium'."
    )
    emulator = Emulator(faults=[Fault(kind="status", status=400, message=words)])
    client = pondero.Client(transport=emulator)
    for asked in (2, 1):
        reply = client.ask("gpt-5.1/high", "What is 17 * 23?")
        assert codes(reply) == ["unsupported_level"]
        assert emulator.log.entries[-1].body["reasoning"]["effort"] == "medium"
        assert requests(emulator) == asked
    assert codes(client.ask("gpt-5.1/low", "What is 17 * 23?")) == []


def test_what_is_remembered_is_warned_of_and_not_heeded_under_strict():
    client = pondero.Client(transport=Unverified())
    client.ask("gpt-5.1/high", "What is 17 * 23?")
    with pytest.warns(PonderoWarning, match="not verified"):
        client.ask("gpt-5.1/high", "What is 17 * 23?", policy={"unsupported": "warn"})
    with pytest.raises(BadRequest, match="verified"):
        client.ask("gpt-5.1/high", "What is 17 * 23?", policy={"unsupported": "strict"})


def test_a_repair_that_was_taken_is_remembered_though_the_answer_was_left_early():
    emulator = Unverified()
    client = pondero.Client(transport=emulator)
    with client.stream("gpt-5.1/high", "What is 17 * 23?") as stream:
        next(iter(stream))
    assert requests(emulator) == 2
    client.ask("gpt-5.1/high", "What is 17 * 23?")
    assert requests(emulator) == 1


def test_a_model_that_its_server_says_cannot_think_is_asked_without():
    client = pondero.Client(transport=Emulator())
    for stream in (True, False):
        reply = client.ask("ollama:llama3.2", "What is 17 * 23?", {"think": "high"}, stream=stream)
        assert reply.text == "17 * 23 = 391"
        assert codes(reply) == ["no_thinking"]


# -- levels --------------------------------------------------------------------------------------


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


# -- readable thinking on Gemini -----------------------------------------------------------------

NAMED = (
    'Invalid JSON payload received. Unknown name "includeThoughts": Cannot find field.',
    "Thinking_config.include_thoughts is only enabled when thinking is enabled.",
)


@pytest.mark.parametrize("message", NAMED)
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("rest", [{}, {"thinkingBudget": 0}])
def test_a_refusal_that_names_readable_thinking_is_cured_by_not_asking_for_it(
    message, wrapped, rest
):
    config = {"temperature": 1.0, "thinkingConfig": {"includeThoughts": True, **rest}}
    body = {"contents": [], "generationConfig": config}
    sent = msgspec.json.encode({"model": "m", "request": body} if wrapped else body)
    request = HttpRequest("POST", "https://host", {}, sent)
    cured = repair("gemini", request, BadRequest(message, status=400))
    left = msgspec.json.decode(cured.request.body)
    left = (left["request"] if wrapped else left)["generationConfig"]
    assert left == {"temperature": 1.0} | ({"thinkingConfig": rest} if rest else {})
    assert (cured.adjustment.code, cured.holds_for) == ("summary_refused", "model")
    assert repair("gemini", cured.request, BadRequest(message, status=400)) is None

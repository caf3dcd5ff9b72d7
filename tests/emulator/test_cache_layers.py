"""What a change in a request loses of its cached prompt: a layer and all after it, or nothing."""

import pytest
from tests.emulator.prompts import (
    ASK,
    SEARCH,
    TOOL,
    assistant,
    chat,
    claude,
    count_claude,
    mark,
    responses,
    text,
    user,
    words,
)

from pondero.emulator import Emulator

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


# -- layers ----------------------------------------------------------------------------------------

SYSTEM = text(words(600, "sys"), marked=True)
TALK = user(text(words(600, "use"), marked=True), ASK)
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
}
DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Bern is in Switzerland."},
    "citations": {"enabled": True},
}
BASE = {
    "tools": [{**TOOL, **mark()}],
    "system": [SYSTEM],
    "messages": [TALK],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "low"},
}


def lost_layers(**changed):
    """Return what a request with changes loses of what the request without them wrote."""
    emulator = Emulator()
    request = {"model": "claude-opus-5", **BASE}
    first = send(emulator, request)
    again = send(emulator, {**request, **changed})
    kept = again.read
    third = first.written / 3  # all three layers have about the same size
    return ("tools", "system", "messages")[round(kept / third) :]


def send(emulator, request):
    rest = {name: value for name, value in request.items() if name != "messages" and value}
    return count_claude(claude(emulator, *request["messages"], **rest))


OTHER = {**TOOL, "name": "other", "description": "Look elsewhere."}
EVERYTHING, NOTHING = ("tools", "system", "messages"), ()


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        ({}, NOTHING),
        ({"model": "claude-opus-5-5"}, EVERYTHING),
        ({"tools": [OTHER, {**TOOL, **mark()}]}, EVERYTHING),
        ({"tools": [{**TOOL, "description": words(600, "new"), **mark()}]}, EVERYTHING),
        ({"system": [text(words(600, "new"), marked=True)]}, ("system", "messages")),
        ({"speed": "fast"}, ("system", "messages")),
        ({"tools": [{**TOOL, **mark()}, SEARCH]}, ("system", "messages")),
        ({"messages": [TALK, assistant("Yes."), user(DOCUMENT, ASK)]}, ("system", "messages")),
        ({"tool_choice": {"type": "none"}}, ("messages",)),
        ({"messages": [TALK, assistant("Yes."), user(IMAGE, ASK)]}, ("messages",)),
        ({"output_config": {"effort": "high"}}, ("messages",)),
        ({"thinking": {"type": "disabled"}}, ("messages",)),
        ({"messages": [user(text(words(600, "new"), marked=True), ASK)]}, ("messages",)),
        ({"messages": [TALK, assistant("Yes."), user(ASK)]}, NOTHING),
        ({"max_tokens": 3_000}, NOTHING),
        ({"metadata": {"user_id": "somebody"}}, NOTHING),
    ],
)
def test_a_change_loses_its_layer_and_those_after_it(changed, lost):
    assert lost_layers(**changed) == lost


def test_tools_in_another_order_are_read_anew():
    emulator = Emulator()
    tools = [TOOL, {**OTHER, "description": words(600)}]
    for order, kept in ((tools, False), (tools, True), (tools[::-1], False)):
        marked = [order[0], {**order[1], **mark()}]
        counts = count_claude(claude(emulator, user(ASK), tools=marked))
        assert bool(counts.read) is kept


def test_the_default_effort_said_aloud_is_the_one_left_out():
    emulator = Emulator()
    for config in ({}, {"output_config": {"effort": "high"}}, {}):
        counts = count_claude(claude(emulator, TALK, **config))
    assert counts.written == 0
    assert counts.read > 600


@pytest.mark.parametrize("model", ["gpt-5", "gpt-6-astra"])
def test_openais_default_effort_said_aloud_is_the_one_left_out(model):
    emulator = Emulator()
    message = {"role": "user", "content": words(2_000)}
    responses(emulator, message, model=model)
    assert responses(emulator, message, model=model, reasoning={"effort": "medium"}).read
    assert not responses(emulator, message, model=model, reasoning={"effort": "low"}).read


# -- changes inside the conversation ---------------------------------------------------------------

QUIETER = {"role": "system", "content": [], "output_config": {"effort": "low"}}


@pytest.mark.parametrize(
    "entry", [QUIETER, {"role": "system", "content": [text("Be brief from now on.")]}]
)
def test_what_is_said_inside_the_conversation_keeps_everything_before_it(entry):
    emulator = Emulator()
    first = count_claude(claude(emulator, TALK))
    second = count_claude(claude(emulator, TALK, entry))
    third = count_claude(
        claude(emulator, TALK, entry, assistant("391"), user(text("Go.", marked=True)))
    )
    assert second.read == third.read == first.written


def test_a_marker_that_disappears_loses_what_came_after_it():
    emulator = Emulator()
    past = [TALK, QUIETER, assistant(words(600, "ans"))]
    newest = user(text("And 5 * 5?", marked=True))
    claude(emulator, *past, newest)
    kept = count_claude(claude(emulator, *past, newest))
    without = count_claude(claude(emulator, TALK, past[2], newest))
    assert kept.read > 1_200
    assert without.read == 603


def test_a_configuration_update_keeps_what_a_new_effort_would_lose():
    emulator = Emulator()
    past = {"role": "user", "content": words(2_000)}
    louder = {"type": "configuration_update", "reasoning": {"effort": "high"}}
    more = [{"role": "assistant", "content": "391"}, louder, {"role": "user", "content": "Go."}]
    responses(emulator, past, reasoning={"effort": "low"})
    assert responses(emulator, past, *more, reasoning={"effort": "low"}).read == 1_920
    assert responses(emulator, past, *more[:1], more[2], reasoning={"effort": "high"}).read == 0


def test_openrouters_update_keeps_what_is_before_it():
    emulator = Emulator()
    url = "https://openrouter.ai/api/v1/chat/completions"
    marked = {"type": "text", "text": words(2_000), **mark()}
    past = [{"role": "user", "content": [marked]}, {"role": "assistant", "content": "391"}]
    update = {
        "role": "system",
        "content": "",
        "configuration_update": {"reasoning": {"effort": "high"}},
    }
    named = {"model": "anthropic/claude-opus-5", "url": url, "reasoning": {"effort": "low"}}
    first = chat(emulator, past[0], **named)["prompt_tokens_details"]
    again = chat(emulator, *past, update, {"role": "user", "content": "Go."}, **named)
    assert first["cache_write_tokens"] == 2_003
    assert again["prompt_tokens_details"]["cached_tokens"] == 2_003


# -- earlier thinking ------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "kept"), [("claude-sonnet-4-5", False), ("claude-opus-5", True)])
def test_older_models_lose_the_loop_before_a_plain_users_turn(model, kept):
    emulator = Emulator()
    thinking = {"type": "enabled", "budget_tokens": 2_000}
    settings = {"thinking": {"type": "adaptive"}} if kept else {"thinking": thinking}
    named = {"model": model, "tools": [TOOL], "system": [SYSTEM], **settings}
    question = user(text("What is the weather in Bern? Use look."))
    called = claude(emulator, question, **named)
    content = called["content"]
    call = next(block for block in content if block["type"] == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": words(1_000)}
    loop = [question, {"role": "assistant", "content": content}]
    within = count_claude(claude(emulator, *loop, user({**result, **mark()}), **named))
    again = count_claude(
        claude(
            emulator,
            *loop,
            user(result),
            assistant("Sun."),
            user(text("Go.", marked=True)),
            **named,
        )
    )
    assert any(block["type"] == "thinking" for block in content)
    assert (again.read == within.prompt) is kept
    assert again.read >= 1_200  # tools and system


# -- why a prefix was not found --------------------------------------------------------------------


def diagnose(**changed):
    """Return what the service says of a request that is compared with an earlier one."""
    emulator = Emulator()
    request = {"model": "claude-opus-5", **BASE}
    first = claude(emulator, *request.pop("messages"), **request)
    assert first["diagnostics"] is None
    compared = {"diagnostics": {"previous_message_id": changed.pop("previous", first["id"])}}
    changed = {"messages": [TALK], **request, **compared, **changed}
    return claude(emulator, *changed.pop("messages"), **changed)["diagnostics"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"model": "claude-opus-5-5"}, "model_changed"),
        ({"speed": "fast"}, "model_changed"),
        ({"tools": [{**OTHER, **mark()}]}, "tools_changed"),
        ({"system": [text("Be brief.")]}, "system_changed"),
        ({"messages": [user(ASK)]}, "messages_changed"),
        ({"output_config": {"effort": "high"}}, "unavailable"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
        ({"previous": "msg_unknown"}, "previous_message_not_found"),
    ],
)
def test_the_service_says_why_a_prefix_was_not_found(changed, why):
    reason = diagnose(**changed)["cache_miss_reason"]
    assert reason["type"] == why
    missed = reason.get("cache_missed_input_tokens", 0)
    assert missed > 1_800 if why.endswith("_changed") else missed == 0


def test_nothing_is_explained_where_nothing_was_lost():
    grown = [TALK, assistant("391"), user(ASK)]
    assert diagnose(messages=grown) is None

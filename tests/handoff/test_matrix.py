"""Threads of every service handed to every other: accepted there, nothing foreign on the wire."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.handoff.services import (
    ALL,
    THOUGHT,
    TOOLS,
    USUAL,
    Service,
    conversation,
    results,
    script,
    service,
)
from tests.laws.strategies import answers, followups, questions

from pondero.canon import Message, Text, Thinking, ToolCall, ToolResult, UnknownPart
from pondero.dialects import Rejected
from pondero.handoff import handoff

pairs = pytest.mark.parametrize(
    ("maker", "reader"), [(one, other) for one in ALL for other in ALL], ids=repr
)
strangers = pytest.mark.parametrize(
    ("maker", "reader"),
    [(one, other) for one in ALL for other in ALL if one is not other],
    ids=repr,
)
usual_pairs = pytest.mark.parametrize(
    ("maker", "reader"), [(one, other) for one in USUAL for other in USUAL], ids=repr
)
foreign = pytest.mark.parametrize("foreign", ["drop", "note"])
_FEWER = settings().max_examples // 6  # there are sixteen pairs
STRICT = {"merges": True, "begins_with_user": True, "id_pattern": "[a-zA-Z0-9]{9}", "id_length": 9}


@pairs
@foreign
def test_a_thread_with_thinking_and_tools_is_accepted(maker, reader, foreign):
    view = handoff(conversation(maker), reader.destination(foreign=foreign))
    accepted = reader.accepted(view.messages)
    assert [call.name for m in accepted.request.messages for call in m.tool_calls] == [
        "weather"
    ] * 3
    assert accepted.request.messages[-1].text.endswith("And tomorrow?")


@usual_pairs
@foreign
def test_it_is_accepted_by_the_strictest_of_its_kind(maker, reader, foreign):
    view = handoff(conversation(maker), reader.destination(foreign=foreign, **STRICT))
    reader.accepted(view.messages)
    roles = [message.role for message in view.messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


@strangers
def test_nothing_of_the_makers_seals_is_on_the_wire(maker, reader):
    thread = conversation(maker)
    sent = strings(json.loads(reader.encoded(handoff(thread, reader.destination()).messages).body))
    assert secrets(thread).isdisjoint(sent)
    assert not any(THOUGHT in each for each in sent)


@strangers
def test_a_note_of_another_models_thinking_is_never_the_assistants(maker, reader):
    view = handoff(conversation(maker), reader.destination(foreign="note"))
    for message in reader.accepted(view.messages).request.messages:
        for part in message.parts:
            if message.role == "assistant" and isinstance(part, Text | Thinking):
                assert THOUGHT not in part.text
    shown = any(message.thinking for message in conversation(maker))
    noted = [message for message in view.messages if THOUGHT in message.text]
    assert {message.role for message in noted} == ({"user"} if shown else set())


@strangers
def test_every_loss_is_in_the_manifest(maker, reader):
    thread = conversation(maker)
    manifest = handoff(thread, reader.destination()).manifest
    thoughts = sum(isinstance(part, Thinking) for message in thread for part in message.parts)
    withheld = [change for change in manifest.changes if change.action == "withheld"]
    assert sum(change.what == "thinking" for change in withheld) == thoughts
    assert manifest.kept + manifest.withheld + manifest.rewritten == sum(
        len(m.parts) for m in thread
    )


@pytest.mark.parametrize("maker", ALL, ids=repr)
def test_coming_back_gives_the_maker_every_seal_again(maker):
    thread = conversation(maker)
    for other in ALL:
        handoff(thread, other.destination())
    view = handoff(thread, maker.destination(allows_unsigned=True))
    assert view.messages == thread
    sent = strings(json.loads(maker.encoded(view.messages).body))
    assert secrets(thread) <= sent


@usual_pairs
def test_a_stream_killed_at_any_moment_leaves_a_thread_that_goes_on(maker, reader):
    thread = conversation(maker)
    asked = [0, 2, 4]
    for begun, parts in zip(asked, script(maker), strict=True):
        before = thread[: begun + 1]
        events = maker.events(handoff(before, maker.destination()).messages, parts)
        for end in range(len(events)):
            cut = maker.message(events[:end])
            killed = (*before, cut, Message("user", (Text("Go on."),)))
            reader.accepted(handoff(killed, reader.destination()).messages)


@usual_pairs
def test_a_thread_that_went_through_both_is_accepted_by_both(maker, reader):
    """One turn here, the next there, and back: each reads its own thinking and no other's."""
    first = conversation(maker)
    view = handoff(first, reader.destination())
    answer = reader.message(reader.events(view.messages, script(reader)[0]))
    both = (*first, answer, results(answer))
    for home, away in ((maker, reader), (reader, maker)):
        home.accepted(handoff(both, home.destination()).messages)
        if home is not away:
            theirs = secrets(message for message in both if made_by(message, away))
            sent = home.encoded(handoff(both, home.destination()).messages).body
            assert theirs.isdisjoint(strings(json.loads(sent)))


@usual_pairs
@given(st.data())
@settings(max_examples=_FEWER)
def test_any_exchange_of_one_is_accepted_by_the_other(maker, reader, data):
    question = data.draw(questions(maker.wire))
    told = data.draw(answers(maker.wire, TOOLS, thinks=True)).message.parts
    message = maker.message(maker.events((question,), told))
    thread = (question, message, data.draw(followups(maker.wire, message)))
    facts = {"foreign": data.draw(st.sampled_from(["drop", "note"]))}
    view = handoff(thread, reader.destination(**facts))
    reader.accepted(view.messages)
    if maker is not reader:
        sent = strings(json.loads(reader.encoded(view.messages).body))
        assert secrets([message]).isdisjoint(sent)


def test_an_open_tool_loop_without_its_own_thinking_is_told():
    """A service that insists on thinking first refuses it; the view says so before it is sent."""
    reader = service(
        "anthropic",
        model="claude-sonnet-4-0",
        thinking={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    )
    for maker in ALL:
        if maker.name == "anthropic":
            continue
        view = handoff(conversation(maker)[:3], reader.destination())
        assert view.open_loop_without_thinking
        with pytest.raises(Rejected, match="Expected `thinking`"):
            reader.accepted(view.messages)
        off = service("anthropic", model="claude-sonnet-4-0", thinking={})
        off.accepted(view.messages)


@pytest.mark.parametrize("maker", USUAL, ids=repr)
def test_an_open_tool_loop_of_the_readers_own_begins_with_thinking(maker):
    view = handoff(conversation(maker)[:3], maker.destination(allows_unsigned=True))
    assert not view.open_loop_without_thinking
    maker.accepted(view.messages)


# -- looking into them -----------------------------------------------------------------------


def made_by(message: Message, maker: Service) -> bool:
    origin = message.origin
    return origin is not None and (origin.provider, origin.model) == (
        maker.target.route,
        maker.model,
    )


def secrets(thread: Any) -> set[str]:
    """Return what only the maker of a thread can read: the long strings of its seals."""
    sealed = (Text, Thinking, ToolCall, UnknownPart)
    parts = [part for message in thread for part in message.parts]
    assert all(isinstance(part, (*sealed, ToolResult)) for part in parts)
    seals = [
        part.signature for part in parts if isinstance(part, sealed) and part.signature is not None
    ]
    return {text for seal in seals for text in strings(seal.value) if len(text) > 15} - {THOUGHT}


def strings(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return {text for each in value for text in strings(each)}
    return set()

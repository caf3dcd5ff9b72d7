"""What a real engine answers, whole and as a stream, and how we judge it against the plan."""

import asyncio
from itertools import pairwise

import pytest
from tests.engine.scripted import ANSWER, CHAT, MESSAGES, RESPONSES, STEPS, WIRES

import pondero
from pondero.canon import (
    Finished,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
)
from pondero.transport import FastTransport

pytestmark = pytest.mark.engine

LADDER = {"off": 0, **STEPS}
DEFAULT = STEPS["medium"]  # of the chat template, for those who ask for nothing it knows
WAYS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
EVERY_WIRE = pytest.mark.parametrize("model", WIRES)


def thought(reply):
    """Return how many steps of thinking came."""
    return reply.thinking.count("step")


@EVERY_WIRE
@WAYS
def test_an_answer_is_thinking_and_then_words(client, model, stream):
    reply = client.ask(model, "How is the weather?", stream=stream)
    assert [type(part) for part in reply.message.parts] == [Thinking, Text]
    assert (reply.text, thought(reply), reply.finish) == (ANSWER, DEFAULT, "stop")


@EVERY_WIRE
def test_a_stream_says_what_the_whole_answer_says(client, model):
    whole = client.ask(model, "How is the weather?", "high", stream=False)
    streamed = client.ask(model, "How is the weather?", "high")
    assert (streamed.text, streamed.thinking) == (whole.text, whole.thinking)
    assert (streamed.finish, streamed.verdict) == (whole.finish, whole.verdict)
    assert streamed.usage.total == whole.usage.total


@EVERY_WIRE
def test_a_stream_arrives_token_by_token(client, model):
    with client.stream(model, "How is the weather?", "medium") as stream:
        events = list(stream)
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    assert sum(isinstance(event, ThinkingDelta) for event in events) == DEFAULT
    words = [event.text for event in events if isinstance(event, TextDelta)]
    assert (len(words), "".join(words)) == (len(ANSWER.split()), ANSWER)


@pytest.mark.parametrize("model", [RESPONSES, MESSAGES])
def test_thinking_that_ends_after_the_answer_began_stays_before_it(client, model):
    with client.stream(model, "How is the weather?", "medium") as stream:
        events = list(stream)
    outline = [
        (type(event), event.index) for event in events if isinstance(event, PartStart | PartEnd)
    ]
    assert outline == [(PartStart, 0), (PartStart, 1), (PartEnd, 0), (PartEnd, 1)]
    assert [type(part) for part in stream.reply.message.parts] == [Thinking, Text]


@pytest.mark.parametrize("model", [CHAT, RESPONSES])
@pytest.mark.parametrize(("level", "steps"), LADDER.items())
@WAYS
def test_a_level_is_what_the_engine_thinks(client, model, level, steps, stream):
    reply = client.ask(f"{model}/{level}", "How is the weather?", stream=stream)
    assert (thought(reply), reply.text) == (steps, ANSWER)
    assert (reply.plan.adjustments, reply.verdict) == ((), "as_planned")


@pytest.mark.parametrize("model", [CHAT, RESPONSES])
def test_more_is_asked_for_more(client, model):
    counts = [thought(client.ask(model, "Hi.", level)) for level in LADDER]
    assert all(less < more for less, more in pairwise(counts))


@WAYS
def test_thinking_though_off_is_said_where_the_engine_does_not_listen(client, wire, stream):
    reply = client.ask(MESSAGES, "How is the weather?", "off", stream=stream)
    assert wire.bodies[-1]["thinking"] == {"type": "disabled"}
    assert (thought(reply), reply.verdict) == (DEFAULT, "thought_though_off")


@pytest.mark.parametrize("level", STEPS)
def test_a_level_that_the_engine_does_not_read_is_sent_and_does_no_harm(client, wire, level):
    reply = client.ask(MESSAGES, "How is the weather?", level)
    assert wire.bodies[-1]["output_config"] == {"effort": level}
    assert (thought(reply), reply.text, reply.verdict) == (DEFAULT, ANSWER, "as_planned")


@pytest.mark.parametrize("model", [CHAT, MESSAGES])
@pytest.mark.parametrize("budget", [2, 5, 10])
@WAYS
def test_a_budget_is_kept_by_the_engine(client, model, budget, stream):
    reply = client.ask(model, "How is the weather?", budget, stream=stream, max_tokens=1000)
    assert reply.plan.budget == budget
    assert 0 < thought(reply) <= budget
    assert (reply.text, reply.verdict) == (ANSWER, "as_planned")


def test_a_budget_is_a_level_where_there_are_no_budgets(client):
    reply = client.ask(RESPONSES, "How is the weather?", 5)
    assert [note.code for note in reply.plan.adjustments] == ["budget_as_level"]
    assert thought(reply) == LADDER[reply.plan.level]


@pytest.mark.parametrize("model", [CHAT, MESSAGES])
@WAYS
def test_output_spent_on_thinking_is_exhausted(client, model, stream):
    reply = client.ask(model, "How is the weather?", "max", max_tokens=5, stream=stream)
    assert (reply.finish, reply.verdict) == ("exhausted", "exhausted")
    assert (thought(reply), reply.text) == (5, "")
    again = client.ask(model, "How is the weather?", "max", max_tokens=reply.cap, stream=stream)
    assert (again.text, again.finish) == (ANSWER, "stop")


@pytest.mark.parametrize("model", [CHAT, MESSAGES])
@WAYS
def test_an_answer_that_was_cut_keeps_its_beginning(client, model, stream):
    reply = client.ask(model, "How is the weather?", 2, max_tokens=6, stream=stream)
    assert reply.finish == "length"
    assert reply.text
    assert ANSWER.startswith(reply.text)
    assert reply.text != ANSWER


@WAYS
def test_a_cut_that_the_engine_calls_complete_is_reported_as_it_said(client, stream):
    reply = client.ask(RESPONSES, "How is the weather?", "max", max_tokens=5, stream=stream)
    assert (reply.finish, reply.raw_finish, reply.text) == ("stop", "completed", "")


@EVERY_WIRE
@WAYS
def test_tokens_add_up_and_thinking_is_unknown(client, model, stream):
    usage = client.ask(model, "How is the weather?", "low", stream=stream).usage
    assert usage.thinking is None  # the engine counts it as output
    assert usage.known_total == usage.total
    again = client.ask(model, "How is the weather?", "low", stream=stream).usage
    assert again.cache_read  # the same prompt a second time
    assert (again.input + again.cache_read, again.output) == (
        usage.input + (usage.cache_read or 0),
        usage.output,
    )


@pytest.mark.parametrize("transport", [None, FastTransport], ids=["default", "fast"])
@EVERY_WIRE
def test_awaiting_is_the_same_as_waiting(client, model, transport):
    async def asked():
        async with pondero.AsyncClient(transport=transport and transport()) as ours:
            return await asyncio.gather(*(ours.ask(model, "Hi.", level) for level in STEPS))

    replies = asyncio.run(asked())
    waited = [client.ask(model, "Hi.", level) for level in STEPS]
    assert [reply.thinking for reply in replies] == [reply.thinking for reply in waited]
    assert {reply.text for reply in replies} == {ANSWER}

"""An answer that was cut off costs at least what the service had reported of it."""

from decimal import Decimal

import pytest
from tests.tui.stage import stage

from pondero.canon import Message, Origin, Text, Usage
from pondero.store import StoredMessage, Threads

pytestmark = pytest.mark.anyio

LONG = "say one two three four five six seven eight"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


async def stop_an_answer(chat) -> None:
    await chat.say_until_held(LONG, pieces=3)
    await chat.press("escape")
    chat.gate.hold_at = None


async def test_its_prompt_is_counted_and_marked_in_the_status_line_and_by_cost(threads):
    async with stage("claude-opus-5/off", threads=threads, paid=True) as chat:
        await stop_an_answer(chat)
        tally = chat.app.state.tally
        assert tally.last_prompt
        assert "at least $0.0" in chat.text
        await chat.say("/cost")
        assert "nothing was used" not in chat.text
        assert "a cut-off answer counts as far as the service had reported it" in chat.text
    stored = threads.load_messages("last")[-1]
    assert stored.partial
    assert stored.usage.input == tally.last.input
    assert Decimal(stored.cost) == tally.cost > 0
    (total,) = threads.stats()
    assert (total.replies, total.priced, total.cost) == (1, 0, stored.cost)


async def test_a_whole_answer_after_it_does_not_make_the_sum_exact(threads):
    async with stage("claude-opus-5/off", threads=threads, paid=True) as chat:
        await stop_an_answer(chat)
        before = chat.app.state.tally.cost
        await chat.say("say nine")
        assert "at least $0.0" in chat.text
        assert chat.app.state.tally.cost > before
        id, tally = chat.app.state.thread.id, chat.app.state.tally
    async with stage(threads=threads, paid=True) as chat:
        await chat.say(f"/resume {id}")
        assert "at least $0.0" in chat.text
        assert chat.app.state.tally.cost == tally.cost


async def test_a_column_that_was_kept_has_the_same_cost_in_the_thread(threads):
    async with stage("claude-opus-5/off", threads=threads, paid=True) as chat:
        chat.gate.hold_at = 6
        await chat.paste(f"/compare low high {LONG}")
        await chat.press_without_waiting("enter")
        while not chat.gate.held.is_set():
            await chat.pilot.pause()
        await chat.press("escape")
        assert "stopped · at least $0.0" in chat.text
        await chat.press("enter")
        assert "at least $0.0" in chat.text.splitlines()[-1]


async def test_nothing_reported_is_unknown_and_not_free(threads):
    id = threads.start(model="claude-opus-5", thinking="low").id
    origin = Origin("anthropic", "claude-opus-5", "low")
    cut = StoredMessage(Message("assistant", (Text("one"),), origin), partial=True)
    threads.add(id, [StoredMessage(Message("user", (Text("say one two"),))), cut])
    async with stage(threads=threads, paid=True) as chat:
        await chat.say(f"/resume {id}")
        assert "cost unknown" in chat.text.splitlines()[-1]
        await chat.say("/cost")
        assert "a cut-off answer counts" in chat.text


async def test_the_emulator_costs_nothing_also_if_it_is_stopped(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await stop_an_answer(chat)
        assert chat.text.splitlines()[-1].endswith("offline")
    assert threads.load_messages("last")[-1].usage != Usage()

"""Talking, without a screen."""

import pytest
from tests.tui.stage import DIAL, Clock

from pondero.canon import Message, Text
from pondero.client import AsyncClient
from pondero.emulator import Emulator
from pondero.store import StoredMessage
from pondero.tui import Session, ThreadWriter, theme_of
from pondero.tui.state import actions, effects


class Service(Emulator):
    """An emulator that answers as a service does that is paid."""

    needs_key = True


def session(*, paid: bool = False, **how) -> Session:
    transport = Service() if paid else Emulator()
    client = AsyncClient(transport=transport, policy=DIAL.policy, keys={"anthropic": "sk-planted"})
    return Session(client, ThreadWriter(), DIAL, clock=Clock(), paid=paid, **how)


def ask(words: str, model: str = "anthropic:claude-sonnet-4-5") -> effects.AskModel:
    return effects.AskModel(words, model, "low", "")


def test_a_move_says_what_the_cache_was_worth():
    pytest.importorskip("genai_prices")
    model = "anthropic:claude-sonnet-4-5"
    move = effects.Handoff(model, "high", is_cache_lost=True, last_prompt=120_000)
    (said,) = session(paid=True).handoff(move).lines
    # the same sum as after another level: the prompt is written to a cache again
    assert said == "  Cache: lost, 120,000 tokens billed again (about $0.4500)"
    (said,) = session(paid=False).handoff(move).lines
    assert said == "  Cache: lost, 120,000 tokens billed again"


@pytest.mark.anyio
async def test_what_a_service_is_paid_is_counted_and_what_an_emulator_says_is_not():
    pytest.importorskip("genai_prices")
    paid = await session(paid=True).turn(ask("say hi"), lambda event: None)
    free = await session(paid=False).turn(ask("say hi"), lambda event: None)
    assert paid.exchanges[0].cost > 0
    assert free.exchanges[0].cost == 0  # nothing is paid, and that is known


def test_why_a_price_is_not_known_is_what_is_so_here(monkeypatch):
    assert "nothing is paid" in session(paid=False).why_unpriced
    monkeypatch.setattr("pondero.store.prices.find_spec", lambda name: object())
    assert "genai-prices lacks a model" in session(paid=True).why_unpriced
    monkeypatch.setattr("pondero.store.prices.find_spec", lambda name: None)
    assert "the extra prices" in session(paid=True).why_unpriced


@pytest.mark.anyio
async def test_the_system_prompt_and_the_past_go_along():
    seen = []

    def mind(accepted):
        from pondero.emulator import ponder

        seen.append(accepted.request)
        return ponder(accepted)

    client = AsyncClient(transport=Emulator(responder=mind), policy=DIAL.policy)
    talk = Session(client, ThreadWriter(), DIAL, clock=Clock(), paid=False)
    await talk.turn(ask("say one"), lambda event: None)
    second = effects.AskModel("say two", "anthropic:claude-sonnet-4-5", "low", "Be brief.")
    await talk.turn(second, lambda event: None)
    assert [text.text for text in seen[1].system] == ["Be brief."]
    assert [message.text for message in seen[1].messages] == ["say one", "one", "say two"]


def _session():
    client = AsyncClient(transport=Emulator())
    return Session(client, ThreadWriter(None), DIAL, clock=Clock(), paid=False)


def test_the_list_of_models_begins_with_the_newest_of_each_product_line():
    found = [each.value for each in _session().find_models("")]
    short = DIAL.entry("opus"), DIAL.entry("gpt"), DIAL.entry("flash")
    assert {each.model for each in short} <= set(found)
    assert len(found) == len(set(found)) < 40


def test_models_are_found_by_all_words():
    found = [each.value for each in _session().find_models("flash google")]
    assert found
    assert all("flash" in each for each in found)
    assert found[0] == DIAL.entry("flash").model


def test_a_price_is_that_of_a_short_prompt():
    pytest.importorskip("genai_prices")
    found = {each.value: each.detail for each in _session().find_models("claude-sonnet-4-5")}
    assert "$3.00 in, $15.00 out per M" in found["claude-sonnet-4-5"]


def test_an_unsaved_chat_still_has_its_pages():
    writer = ThreadWriter(unsaved="the disk is full")
    turn = [
        StoredMessage(Message("user", (Text("a"),))),
        StoredMessage(Message("assistant", (Text("b"),))),
    ]
    saved = writer.add(turn, model="gpt-5", level_text=None, system="")
    assert (saved.thread, saved.unsaved) == (None, "the disk is full")
    assert [(past.number, past.message.text) for past in writer.page(1, 2)] == [(1, "b")]


@pytest.mark.parametrize(
    ("environment", "theme"),
    [
        ({}, "dark"),
        ({"COLORFGBG": "0;15"}, "light"),
        ({"COLORFGBG": "15;0"}, "dark"),
        ({"PONDERO_THEME": "light", "COLORFGBG": "15;0"}, "light"),
        ({"PONDERO_THEME": "pink"}, "dark"),
    ],
)
def test_the_terminal_says_whether_it_is_light(environment, theme):
    assert theme_of(environment) == theme


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("model", "cache"),
    [
        ("anthropic:claude-opus-5", "cache kept"),
        ("anthropic:claude-opus-4-8", "cache lost, 41,200 tokens billed again"),
    ],
)
async def test_another_level_says_what_it_does_to_the_cache_before_it_is_asked(model, cache):
    talk = session()
    await talk.turn(ask("say hi", model), lambda event: None)
    move = effects.Handoff(model, "high", is_cache_lost=True, same=True, last_prompt=41_200)
    told = talk.handoff(move)
    assert told.cache == cache
    assert told.lines == (f"  Cache: {cache.removeprefix('cache ')}",)
    assert talk.handoff(effects.Handoff(model, "low", same=True)) == actions.HandedOff()

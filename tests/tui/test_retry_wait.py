"""A wait before a request is sent again says why and how long, and counts down."""

import pytest
from tests.tui.stage import stage
from tests.tui.terminal import running

from pondero.client import AsyncClient
from pondero.emulator import Emulator


@pytest.mark.anyio
async def test_the_wait_that_a_service_asks_for_is_shown_and_esc_ends_it():
    client = AsyncClient(transport=Emulator(faults=["429 12"]))
    async with stage("claude-opus-5/off", client=client, size=(40, 12)) as chat:
        await chat.paste("say one")
        await chat.press_without_waiting("enter")
        while "429: asks again in 12 s, Esc stops" not in chat.text:
            await chat.pilot.pause()
            chat.app.frame()
            assert chat.app.state.busy, chat.text
        chat.clock.now += 7
        chat.app.frame()
        await chat.drawn()
        assert "429: asks again in 5 s, Esc stops" in chat.text
        await chat.press("escape")
        assert not chat.app.state.busy
        assert chat.app.prompt.text == "say one"


@pytest.mark.anyio
async def test_each_column_of_a_comparison_says_its_own_wait():
    client = AsyncClient(transport=Emulator(faults=["429 12", "503 20"]))
    async with stage("claude-opus-5/off", client=client, size=(100, 24)) as chat:
        await chat.paste("/compare low,high say one")
        await chat.press_without_waiting("enter")
        while not all(f"{word}: asks again" in chat.text for word in ("429", "503")):
            await chat.pilot.pause()
            chat.app.frame()
            await chat.drawn()
            assert chat.app.state.active, chat.text
        await chat.press("escape")


def test_the_plain_chat_says_it_in_lines_and_goes_on(environment):
    plain = ("chat", "--plain", "--offline", "claude-opus-5/off")
    with running(*plain, environment=environment) as terminal:
        terminal.until("Markdown", ">")
        terminal.press("say one [emulator: fault 429 12]\n")
        terminal.until("429: asks again in 12 s, Ctrl+C stops", "in 10 s")
        terminal.press("\x03")
        terminal.until("your words are back")
        assert terminal.text.count("asks again") == 1
        terminal.press("/quit\n")
        assert terminal.ended() == 0

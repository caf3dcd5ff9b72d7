"""Words that leave the input line without being sent: they are on disk, and come back."""

import pytest
from tests.tui.stage import stage

from pondero.store import Drafts, Threads
from pondero.tui import ThreadWriter
from pondero.tui.state import actions


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def drafts(threads) -> str:
    """Return what is on disk at this moment, before any timer."""
    return str(threads._database.rows("SELECT body FROM drafts"))


@pytest.fixture(autouse=True)
def _never(monkeypatch):
    """Let no timer write: what is on disk was written at once."""
    monkeypatch.setattr("pondero.tui._screen.app._TYPED_EVERY", 3600)


@pytest.mark.anyio
async def test_a_queued_prompt_that_is_taken_back_is_on_disk_at_once(threads):
    async with stage(threads=threads) as chat:
        await chat.say_until_held("say hi", pieces=1)
        await chat.type("queued words")
        await chat.press_without_waiting("enter")
        await chat.press_without_waiting("up")
        assert chat.app.prompt.text == "queued words"
        assert "queued words" in drafts(threads)
        chat.gate.open()
        await chat.quiet()


async def recall_in_the_next_chat(tmp_path, words, *, presses=1):
    """Return whether ↑ brings these words back in another chat, after this one has ended."""
    with Threads.open(tmp_path / "threads.db") as again:
        async with stage(threads=again) as chat:
            for _ in range(presses):
                await chat.press("up")
            return chat.app.prompt.text == words and words in drafts(again)


async def clear(chat):
    await chat.press("ctrl+c")


async def choose_in_palette(chat):
    await chat.press("ctrl+p")
    await chat.type("title")
    await chat.pilot.pause(0.5)
    await chat.press("enter")
    assert chat.app.prompt.text == "/title "
    await chat.press("ctrl+u")


@pytest.mark.anyio
@pytest.mark.parametrize("replace", [clear, choose_in_palette])
async def test_words_that_were_replaced_come_back_with_up_here_and_in_the_next_chat(
    tmp_path, replace
):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.type("half a sent")
            await replace(chat)
            assert "half a sent" in drafts(threads)
            await chat.press("up")
            assert chat.app.prompt.text == "half a sent"
            await chat.press("down")
            chat.app.leave()
            await chat.quiet()
    assert await recall_in_the_next_chat(tmp_path, "half a sent")
    assert await recall_in_the_next_chat(tmp_path, "half a sent")


@pytest.mark.anyio
async def test_a_failed_question_comes_back_in_the_next_chat(tmp_path):
    question = "[emulator: fault 400] why?"
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say(question)
            await chat.type("other words")
            assert chat.app.prompt.text == "other words"
            await chat.press("ctrl+u")
            chat.app.leave()
            await chat.quiet()
    assert await recall_in_the_next_chat(tmp_path, question)


@pytest.mark.anyio
@pytest.mark.parametrize("send", [False, True])
async def test_a_draft_that_up_took_the_place_of_is_kept(tmp_path, send):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say hi")
            await chat.type("half a sent")
            await chat.press("up")
            assert chat.app.prompt.text == "say hi"
            if send:
                await chat.press("enter")
            await chat.press("ctrl+u")
            chat.app.leave()
            await chat.quiet()
    assert await recall_in_the_next_chat(tmp_path, "half a sent")


@pytest.mark.anyio
async def test_a_stored_draft_that_meets_other_words_is_kept(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say hi")
            id = chat.app.state.thread.id
        threads.save_drafts(id, Drafts(typed="half a sent"))
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.type("other words")
            chat.app.dispatch(actions.ThreadPickedInPane(id))
            await chat.quiet()
            assert chat.app.prompt.text == "other words"
            await chat.press("ctrl+u")
            chat.app.leave()
            await chat.quiet()
    assert await recall_in_the_next_chat(tmp_path, "half a sent")


@pytest.mark.anyio
async def test_words_that_are_asked_are_no_longer_set_aside(threads):
    async with stage(threads=threads) as chat:
        await chat.type("say hi")
        await chat.press("ctrl+c")
        await chat.press("up", "enter")
        assert chat.app.prompt.set_aside == ()


@pytest.mark.anyio
async def test_words_are_written_before_the_chat_is_suspended(threads, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "textual.app.App.action_suspend_process", lambda _: seen.append(drafts(threads))
    )
    async with stage(threads=threads) as chat:
        await chat.type("half a sent")
        await chat.press("ctrl+z")
    assert "half a sent" in seen[0]


@pytest.mark.anyio
async def test_edits_of_a_recalled_prompt_stay_with_it_until_something_is_sent(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await chat.say("say two")
        await chat.press("up", "up")
        await chat.type(" and more")
        await chat.press("down")
        assert chat.app.prompt.text == "say two"
        assert "say hi and more" in drafts(threads)
        await chat.press("up")
        assert chat.app.prompt.text == "say hi and more"
        await chat.press("down", "enter")
        await chat.press("up", "up")
        assert chat.app.prompt.text == "say hi and more"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "leave", [["up", "ctrl+u"], ["down", "ctrl+u"], ["ctrl+c"], ["up", "enter"]]
)
async def test_edits_of_a_recalled_prompt_come_back_in_the_next_chat(tmp_path, leave):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say hi")
            await chat.say("say two")
            await chat.press("up")
            await chat.type(" and more")
            await chat.press(*leave)
            assert "say two and more" in drafts(threads)
            chat.app.leave()
            await chat.quiet()
    assert await recall_in_the_next_chat(tmp_path, "say two and more")


@pytest.mark.anyio
async def test_words_that_were_set_aside_come_back_in_a_chat_that_resumes_a_thread(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say hi")
            await chat.type("half a sent")
            await chat.press("ctrl+c")
            chat.app.leave()
            await chat.quiet()
    for _ in range(2):  # it stays on disk
        with Threads.open(tmp_path / "threads.db") as again:
            writer = ThreadWriter(again)
            async with stage(writer=writer, first=(writer.open("last"),)) as chat:
                await chat.press("up")
                assert chat.app.prompt.text == "half a sent"
                assert drafts(again).count("half a sent") == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("/compare nonsense a long question", None),
        ("/foobar long words", None),
        ("/new long words", None),
        ("/quit long words", None),
        ("/title long words", None),
        ("/system long words", None),
        ("/model claud-opus-5 and words", None),
        ("/compare low,high [emulator: fault 400] why?", "[emulator: fault 400] why?"),
    ],
)
async def test_words_of_a_command_that_were_not_used_come_back_in_the_next_chat(
    tmp_path, line, kept
):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say(line)
            assert (kept or line) in drafts(threads)
            await chat.press("escape", "escape")
            chat.app.leave()
            await chat.quiet()
    assert await recall_in_the_next_chat(tmp_path, kept or line)

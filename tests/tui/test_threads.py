"""A chat and the threads on disk."""

import os
import re
from contextlib import suppress
from decimal import Decimal

import pytest
from tests.tui.stage import stage

from pondero.canon import Message, Role, Text, Usage
from pondero.emulator import Emulator, Fault
from pondero.errors import StoreError
from pondero.store import StoredMessage, Threads
from pondero.tui import ThreadWriter
from pondero.tui._screen.conversation import ConversationTab
from pondero.tui.state import AnswerCell, ModelCell, NoticeCell, UserCell

pytestmark = pytest.mark.anyio

KEY = "sk-" + "ant-planted-0123456789-abcdefghij"  # in two: nothing key-shaped stands in a file


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def long_thread(threads: Threads, messages: int) -> str:
    """A thread of so many messages, written as one turn."""
    id = threads.start(model="claude-opus-5", thinking="low").id
    roles: tuple[Role, Role] = ("user", "assistant")
    threads.add(
        id, [StoredMessage(Message(roles[n % 2], (Text(f"message {n}"),))) for n in range(messages)]
    )
    return id


def shown(chat):
    return [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell | AnswerCell)]


def last_told(chat):
    return next(c for c in reversed(chat.app.state.page) if isinstance(c, NoticeCell)).lines


async def test_every_turn_is_kept_with_its_plan_counts_and_time(threads):
    async with stage(threads=threads) as chat:
        await chat.say("What is 17 * 23?")
        thread = threads.get("last")
        question, answer = threads.load_messages(thread.id)
        assert (thread.title, thread.model, thread.thinking) == (
            "What is 17 * 23?",
            "anthropic:claude-opus-5",
            "medium",
        )
        assert question.message.text == "What is 17 * 23?"
        assert (answer.verdict, answer.finish, answer.partial) == ("as_planned", "stop", False)
        assert answer.plan["level"] == "medium"
        assert answer.usage.thinking == 114
        assert answer.seconds == 0.0
        assert answer.message.parts[0].signature is not None
        assert chat.app.state.thread.id == thread.id


async def test_a_stopped_answer_is_kept_and_marked(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say_until_held("say one two three four five six seven eight", pieces=3)
        await chat.press("escape")
        assert [stored.partial for stored in threads.load_messages("last")] == [False, True]


async def test_leaving_while_an_answer_comes_keeps_what_came(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say_until_held("say one two three four five six seven eight", pieces=3)
    assert [stored.partial for stored in threads.load_messages("last")] == [False, True]


async def test_a_thread_is_resumed_where_it_stopped_and_replays(threads):
    async with stage(threads=threads) as chat:
        await chat.say("My number is 17.")
        await chat.say("/new")
        assert shown(chat) == []
        await chat.say("/resume last")
        await chat.say("What is my number?")
        assert shown(chat)[-1] == "number is 17."
        assert threads.get("last").messages == 4
        assert len(threads.list()) == 1


async def test_what_was_asked_in_a_thread_that_the_chat_begins_with_is_at_up(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say first")
    writer = ThreadWriter(threads)
    async with stage(writer=writer, first=(writer.open("last"),)) as chat:
        assert shown(chat) == ["say first", "first"]
        await chat.press("up")
        assert chat.app.prompt.text == "say first"


async def test_a_thread_that_is_opened_says_no_time_of_thinking_that_was_the_answers(threads):
    async with stage(threads=threads) as chat:
        await chat.say_until_held("What is 17 * 23?", pieces=4)
        chat.clock.now += 90
        chat.gate.open()
        await chat.quiet()
        await chat.say("/new")
        await chat.say("/resume last")
        assert "▸ thought 114 tokens · medium" in chat.text


@pytest.mark.parametrize("way", ["/resume last", "/resume tax", "ctrl+l"])
async def test_every_answer_of_a_thread_that_is_opened_in_the_chat_is_drawn(threads, way):
    words = ["alpha tax", "beta tax", "gamma tax"]
    async with stage(threads=threads) as chat:
        for each in words:
            await chat.say(f"say {each}")
    async with stage(threads=threads) as chat:
        if way == "ctrl+l":
            await chat.press("ctrl+l")
            await chat.press("down", "enter")
        else:
            await chat.say(way)
        if way == "/resume tax":
            await chat.press("enter")
        assert re.findall(r"  (\w+ tax)$", chat.text, re.MULTILINE) == words


async def test_a_thread_is_picked_from_a_list(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say first")
        await chat.say("/new")
        await chat.say("say second")
        await chat.say("/resume")
        assert "say first" in chat.text
        await chat.press("enter")
        assert shown(chat) == ["say first", "first"]


async def test_a_switch_is_noted_in_the_thread_and_seen_when_it_is_resumed(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await chat.say("/model gemini-3-pro/high")
        await chat.say("/new")
        await chat.say("/model gpt-5/low")
        await chat.say("/resume last")
        assert (chat.app.state.model, chat.app.state.level_text) == ("google:gemini-3-pro", "high")


async def test_a_copy_goes_on_by_itself(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        first = chat.app.state.thread.id
        await chat.say("/fork gpt-5/low")
        assert "✓ Switched to OpenAI gpt-5" in chat.text
        assert "Handoff: 2 parts kept, 1 withheld" in chat.text
        await chat.say("say more")
        assert threads.get(first).messages == 2
        assert threads.get(chat.app.state.thread.id).messages == 4
        assert threads.get(chat.app.state.thread.id).parent == first
        assert chat.app.state.model == "openai:gpt-5"
        assert [threads.get(id).model for id in (first, "last")] == [
            "anthropic:claude-opus-5",
            "openai:gpt-5",
        ]


async def test_a_thread_is_renamed_and_written_to_a_file(threads, tmp_path):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await chat.say("/title Greetings")
        assert threads.get("last").title == "Greetings"
        for ending in ("md", "jsonl", "html"):
            await chat.say(f"/export {tmp_path}/talk.{ending}")
            assert "say hi" in (tmp_path / f"talk.{ending}").read_text("utf-8")
        (tmp_path / "mine.md").write_text("mine")
        await chat.say(f"/export {tmp_path}/mine.md")
        assert "is there already" in " ".join(chat.text.split())
        assert (tmp_path / "mine.md").read_text() == "mine"


async def test_an_export_says_that_it_made_a_folder(threads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await chat.say("/export there.md")
        assert "The thread is in there.md\n" in f"{chat.text}\n"
        await chat.say("/export new/talk.md")
        assert "The thread is in new/talk.md, in the new folder new" in chat.text


async def test_a_thread_that_is_opened_shows_what_it_has_taken_so_far(threads):
    async with stage(threads=threads) as chat:
        await chat.say("What is 17 * 23?")
        await chat.say("What is 5 * 5?")
        before = chat.app.state.tally
        await chat.say("/new")
        await chat.say("/resume last")
        assert chat.app.state.tally == before
        assert f"thinking {before.thinking:,} · answer {before.output:,}" in chat.text
        await chat.say("/fork")  # the same conversation; stats counts its answers once
        assert chat.app.state.tally == before


async def test_a_conversation_is_counted_alike_in_the_chat_and_when_it_is_opened(threads):
    async with stage("claude-opus-5/low", threads=threads) as chat:
        await chat.say("What is 17 * 23?")
        first = chat.app.state.tally
        await chat.say("What is 5 * 5?")
        await chat.say("/undo")
        assert summed(chat.app.state.tally) == summed(first)
        chat.app.prompt.put("")
        await chat.say("What is 6 * 7?")
        await chat.say("/retry high")
        await chat.press("enter")  # keeps the new answer in place of the old one
        after = chat.app.state.tally
        assert after.thinking > first.thinking
        id = chat.app.state.thread.id
        await chat.say("/new")
        await chat.say(f"/resume {id}")
        assert summed(chat.app.state.tally) == summed(after)


async def test_a_turn_that_is_taken_back_is_counted_no_more_in_a_chat_that_is_not_saved():
    async with stage("claude-opus-5/low") as chat:
        await chat.say("What is 17 * 23?")
        first = chat.app.state.tally
        await chat.say("What is 5 * 5?")
        await chat.say("/undo")
        assert summed(chat.app.state.tally) == summed(first)


def summed(tally):
    return (tally.input, tally.cached, tally.thinking, tally.output, tally.cost, tally.used)


async def test_copies_are_told_apart_by_their_last_question_and_level(threads):
    async with stage("claude-opus-5/low", threads=threads) as chat:
        await chat.say("What is 17 * 23?")
        await chat.say("What is 5 * 5?")
        await chat.say("/retry high")
        await chat.press("enter")
        await chat.say("/undo")
        chat.app.prompt.put("")
        await chat.say("What is 6 * 7?")
        labels = [choice.label for choice in ThreadWriter(threads).list()]
    assert labels == [
        "↳ What is 17 * 23? … What is 6 * 7? (low)",
        "↳ What is 17 * 23? … What is 5 * 5? (high)",
        "What is 17 * 23? … What is 5 * 5? (low)",
    ]


async def test_a_copy_that_is_called_by_model_and_level_says_its_level_once(threads):
    async with stage("claude-opus-5/high", threads=threads) as chat:
        await chat.say("What is 17 * 23?")
        await chat.say("/compare gpt-5.5/low")
        await chat.press("escape")
        labels = [choice.label for choice in ThreadWriter(threads).list()]
    assert labels == ["What is 17 * 23? (high)", "↳ What is 17 * 23? (gpt-5.5/low)"]


@pytest.mark.parametrize(("costs", "sum_"), [(("0.25", "0.5"), "0.75"), (("0.25", None), None)])
async def test_a_thread_that_is_opened_cost_what_its_answers_cost(threads, costs, sum_):
    id = threads.start(model="claude-opus-5").id
    answer = Message("assistant", (Text("yes"),))
    usage = Usage(input=10, output=5)
    threads.add(id, [StoredMessage(answer, usage=usage, cost=cost) for cost in costs])
    threads.add(id, [StoredMessage(answer, partial=True)])  # nobody counted it
    tally = ThreadWriter(threads).open(id).tally
    assert (tally.input, tally.output, tally.thinking) == (20, 10, None)
    assert tally.cost == (None if sum_ is None else Decimal(sum_))


async def test_what_was_refused_of_a_thread_is_not_sent_again_when_it_is_resumed(threads):
    emulators: list[Emulator] = []

    def emulator(**how):
        emulators.append(Emulator(**how))
        return emulators[-1]

    async with stage("claude-opus-5-5/high", threads=threads, emulator=emulator) as chat:
        await chat.say("What is 17 * 23?")
        await chat.say("/system Be brief.")
        await chat.say("What is 5 * 5?")
        await chat.say("What is 6 * 6?")
        await chat.say("/new")
        await chat.say("/resume last")
        await chat.say("What is 7 * 7?")
        assert shown(chat)[-1] == "7 * 7 = 49"
    async with stage(threads=threads, emulator=emulator) as chat:
        await chat.say("/resume last")
        await chat.say("What is 8 * 8?")
        assert shown(chat)[-1] == "8 * 8 = 64"
    tries = [[entry.status for entry in each.log.entries] for each in emulators]
    assert tries == [[200, 400, 200, 200, 200], [200]]


async def test_only_the_end_of_a_long_thread_is_drawn_and_the_rest_when_it_is_scrolled_to(threads):
    id = long_thread(threads, 100)
    async with stage(threads=threads) as chat:
        await chat.say(f"/resume {id}")
        assert shown(chat) == [f"message {n}" for n in range(80, 100)]
        assert "message 99" in chat.text
        await chat.press("ctrl+home")
        assert chat.app.state.first == 60
        assert "message 80" in chat.text
        while chat.app.state.first:
            await chat.press("ctrl+home")
            assert len(chat.app.page._views) <= 80
        await chat.press("ctrl+home")
        assert "message 0" in chat.text
        await chat.say("say hi")
        assert shown(chat)[-3:] == ["message 99", "say hi", "hi"]


async def test_a_thread_that_is_opened_at_once_shows_a_screenful_and_fetches_no_more(threads):
    id = threads.start(model="claude-opus-5", thinking="low").id
    question = StoredMessage(Message("user", (Text("And the next one?"),)))
    answer = StoredMessage(Message("assistant", (Text("# It\n\n" + "- goes on\n" * 40),)))
    threads.add(id, [question, answer] * 20)
    writer = ThreadWriter(threads)
    async with stage(writer=writer, first=(writer.open(id),)) as chat:
        await chat.quiet()
        assert (chat.app.state.first, chat.app.state.last) == (36, 40)
        await chat.press("ctrl+home", "ctrl+home")
        assert chat.app.state.first < 36


async def test_where_the_folder_is_read_only_the_chat_goes_on(tmp_path):
    class Full(Threads):
        def save_turn(self, *said, **how):
            raise StoreError("the disk is full: threads.db cannot grow; make room")

    with Full.open(tmp_path / "threads.db") as full:
        async with stage(threads=full) as chat:
            await chat.say("say hi")
            assert shown(chat) == ["say hi", "hi"]
            assert "the chat continues, unsaved" in chat.text
            assert "· unsaved" in chat.text
            await chat.say("say more")
            assert shown(chat)[-1] == "more"


async def test_what_could_not_be_written_is_written_as_soon_as_it_can_be(tmp_path):
    class Sometimes(Threads):
        broken = True

        def add(self, id, stored):
            if self.broken:
                raise StoreError("the disk is full")
            super().add(id, stored)

    with Sometimes.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say one")
            threads.broken = False
            await chat.say("say two")
            assert [m.text for m in threads.messages("last")] == [
                "say one",
                "one",
                "say two",
                "two",
            ]
            assert chat.app.state.unsaved is None


async def test_without_threads_the_commands_about_them_say_why():
    async with stage(writer=ThreadWriter(unsaved="the folder cannot be written")) as chat:
        await chat.say("say hi")
        for command in ("/resume", "/fork", "/export a.md"):
            await chat.say(command)
            assert "the folder cannot be written" in last_told(chat)[0]


async def test_an_unknown_thread_is_a_sentence(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await chat.say("/resume zzz999")
        assert "no thread 'zzz999'" in last_told(chat)[0]
        assert last_told(chat)[0].endswith("see /resume")
        assert shown(chat) == ["say hi", "hi"]


# -- secrets --------------------------------------------------------------------------------------


async def test_a_key_never_appears_on_screen_on_disk_or_in_an_export(
    threads, tmp_path, monkeypatch, caplog, capfd
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    repeats = Fault(kind="status", status=401, message=f"invalid x-api-key: {KEY}")

    def emulator(**how):
        return Emulator(faults=[None, repeats], **how)

    seen = []
    async with stage(threads=threads, emulator=emulator, size=(120, 50)) as chat:
        for line in (
            "say hi",
            "/raw",
            "say more",
            "/raw",
            "/doctor",
            f"/export {tmp_path}/t.jsonl",
        ):
            chat.app.prompt.put("")
            await chat.say(line)
            seen += [chat.text, chat.picture(), repr(chat.app.state)]
        assert "invalid x-api-key: REDACTED" in "".join(seen)
        assert "x-api-key: REDACTED" in "".join(seen)
        with monkeypatch.context() as patch:
            patch.setattr(ThreadWriter, "messages", property(lambda self: {}[KEY]))
            chat.app.prompt.put("")
            await chat.say("say hi")
            seen += [chat.text, repr(chat.app.state)]
    written = [path.read_bytes() for path in tmp_path.iterdir()]
    captured = capfd.readouterr()
    everything = "".join([*seen, caplog.text, captured.out, captured.err])
    assert KEY not in everything
    assert not any(KEY.encode() in data for data in written)


async def test_when_the_program_itself_fails_it_leaves_with_a_sentence(monkeypatch, capfd):
    from textual.worker import WorkerFailed

    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setattr(
        ConversationTab, "take_arrivals", lambda *_: {}[os.environ["ANTHROPIC_API_KEY"]]
    )
    with suppress(WorkerFailed, KeyError):  # raised by the turn or by the timer, if that is first
        async with stage() as chat:
            await chat.say("say hi")
    said = capfd.readouterr().err
    assert "unexpected error" in said
    assert "Traceback" not in said
    assert KEY not in said


def named(chat):
    """What the page says about who answers: a name, or the answer."""
    page = (cell for cell in chat.app.state.page if isinstance(cell, ModelCell | AnswerCell))
    said = (each.model if isinstance(each, ModelCell) else each.text for each in page)
    return [each for each in said if each]  # Gemini ends with an empty part


async def test_an_answer_of_another_model_says_whose_it_is(threads):
    async with stage("gemini-3-pro/high", threads=threads) as chat:
        await chat.say("say one")
        await chat.say("/compare gpt-5/high say two")
        await chat.press("enter")
        assert named(chat) == ["one", "openai:gpt-5", "two"]
        assert "◆ openai:gpt-5" in chat.text
        await chat.say("say three")
        said = ["one", "openai:gpt-5", "two", "google:gemini-3-pro", "three"]
        assert named(chat) == said
        await chat.say("/undo")
        await chat.press("enter")
        assert named(chat) == said
        await chat.say("/new")
        await chat.say("say alone")
        assert named(chat) == ["alone"]
    async with stage("gpt-5/low", threads=threads) as chat:
        await chat.say("/resume last")
        assert named(chat) == ["alone"]


async def test_a_reopened_thread_names_the_model_of_an_answer_that_is_not_by_its_own(threads):
    async with stage("gpt-5/low", threads=threads) as chat:
        await chat.say("say one")
        await chat.say("/model gemini-3-pro/high")
        await chat.say("say two")
        said = ["one", "google:gemini-3-pro", "two"]
        assert named(chat) == said
    async with stage("claude-opus-5/low", threads=threads) as chat:
        await chat.say("/resume last")
        assert named(chat) == ["openai:gpt-5", *said]
        await chat.say("say three")
        assert named(chat) == ["openai:gpt-5", *said, "three"]

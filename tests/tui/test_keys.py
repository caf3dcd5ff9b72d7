"""What keys do."""

import asyncio
from functools import partial
from threading import Event

import pytest
from tests.tui.stage import stage
from textual.widgets import Input, OptionList

from pondero.emulator import Emulator, ScriptedTurn
from pondero.store import load_settings
from pondero.tui import theme_of
from pondero.tui._screen.widgets.views import Picker
from pondero.tui.state import AnswerCell, NoticeCell, ThinkingCell, UserCell, effects

pytestmark = pytest.mark.anyio

QUESTION = "What is 17 * 23?"


def cells(chat, kind):
    return [cell for cell in chat.app.state.page if isinstance(cell, kind)]


async def test_words_are_typed_and_sent():
    async with stage() as chat:
        await chat.type("say hi")
        await chat.press("enter")
        assert cells(chat, UserCell)[0].text == "say hi"
        assert cells(chat, AnswerCell)[0].text == "hi"
        assert chat.app.prompt.text == ""


async def test_words_typed_ahead_of_an_answer_are_shown_and_sent_after_it():
    async with stage("claude-opus-5/off") as chat:
        await chat.say_until_held("say one two three four five six", pieces=3)
        for words in ("say b", "say c", "say d"):
            await chat.type(words)
            await chat.pilot.press("enter")
        assert chat.app.prompt.text == ""
        assert "next: say b" in chat.text
        await chat.pilot.press("up")  # the last one comes back
        assert chat.app.prompt.text == "say d"
        assert "next: say d" not in chat.text
        chat.app.prompt.put("")
        chat.gate.open()
        while chat.app.state.busy:
            await chat.quiet()
        assert [cell.text for cell in cells(chat, UserCell)][1:] == ["say b", "say c"]
        assert [cell.text for cell in cells(chat, AnswerCell)][1:] == ["b", "c"]
        assert "next:" not in chat.text


async def test_after_a_stop_what_waits_is_held_until_enter():
    async with stage("claude-opus-5/off") as chat:
        await chat.say_until_held("say one two three four five six", pieces=3)
        await chat.type("say b")
        await chat.pilot.press("enter")
        await chat.press("ctrl+c")
        assert not chat.app.state.busy
        assert "waits: say b" in chat.text
        assert "1 waiting: Enter on an empty line sends it" in chat.text
        chat.gate.open()
        await chat.press("enter")
        assert cells(chat, AnswerCell)[-1].text == "b"


async def test_where_other_words_are_being_written_those_of_a_stopped_turn_are_at_up():
    async with stage() as chat:
        await chat.say_until_held(QUESTION, pieces=1)
        await chat.type("say b")
        await chat.press("escape")
        assert chat.app.prompt.text == "say b"
        assert "↑ recalls your words" in chat.text
        await chat.press("up")
        assert chat.app.prompt.text == QUESTION
        await chat.press("down")
        assert chat.app.prompt.text == "say b"


async def test_several_lines_are_written_with_ctrl_j_or_a_backslash():
    async with stage() as chat:
        await chat.type("a\nb\\")
        await chat.pilot.press("enter")
        await chat.type("c")
        assert chat.app.prompt.text == "a\nb\nc"
        await chat.press("enter")
        assert cells(chat, UserCell)[0].text == "a\nb\nc"


async def test_a_paste_of_several_lines_is_not_sent_until_enter():
    async with stage() as chat:
        await chat.paste("say one\ntwo\nthree")
        assert cells(chat, UserCell) == []
        await chat.press("enter")
        assert cells(chat, UserCell)[0].text == "say one\ntwo\nthree"


async def test_earlier_words_come_back_with_up_and_the_draft_with_down():
    async with stage() as chat:
        await chat.say("say one")
        await chat.say("say two")
        await chat.paste("a draft")
        await chat.pilot.press("up")
        assert chat.app.prompt.text == "say two"
        await chat.pilot.press("up", "up", "up")
        assert chat.app.prompt.text == "say one"
        await chat.pilot.press("down", "down")
        assert chat.app.prompt.text == "a draft"


async def test_tab_completes_the_line_and_more_can_be_typed_at_once():
    async with stage() as chat:
        await chat.type("/mod")
        await chat.pilot.press("tab")
        await chat.type("gpt-5/low")
        await chat.press("enter")
        assert chat.app.state.model == "openai:gpt-5"


async def test_the_completions_can_be_gone_through_and_closed():
    async with stage() as chat:
        await chat.type("/th")
        await chat.pilot.press("down", "down", "tab")
        assert chat.app.prompt.text == "/theme "
        await chat.pilot.press("escape")
        assert not chat.app._completion.display


async def test_enter_on_half_a_command_completes_it():
    async with stage() as chat:
        await chat.type("/hel")
        await chat.press("enter")
        assert chat.app.prompt.text == "/help "
        await chat.press("enter")
        assert "/model" in cells(chat, NoticeCell)[-1].items[0]


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_key_stops_the_answer_and_what_came_is_kept(key):
    async with stage("claude-opus-5/off") as chat:
        await chat.say_until_held("say one two three four five six seven eight", pieces=3)
        assert "one two" in chat.text
        await chat.press(key)
        assert cells(chat, AnswerCell)[0].cut == "stopped here"
        assert "— stopped here —" in chat.text
        assert len(chat.app.tab.session.writer.messages) == 2
        chat.gate.open()
        await chat.say("say more")
        assert cells(chat, AnswerCell)[1].text == "more"


async def test_a_stop_before_anything_came_gives_the_words_back():
    async with stage() as chat:
        await chat.say_until_held(QUESTION, pieces=1)
        await chat.press("escape")
        assert chat.app.prompt.text == QUESTION
        assert chat.app.tab.session.writer.messages == ()


async def test_a_stop_while_it_thinks_keeps_the_question_and_the_thinking_and_marks_it():
    async with stage() as chat:
        await chat.say_until_held(QUESTION, pieces=10)
        await chat.press("escape")
        question, answer = chat.app.tab.session.writer.messages
        assert question.text == QUESTION
        assert answer.parts[0].text
        assert "stopped here" in chat.text
        assert chat.app.prompt.text == ""
        chat.gate.open()
        await chat.say("What is 2 * 3?")
        assert "2 * 3 = 6" in chat.text


async def test_ctrl_c_twice_leaves_also_with_words_in_the_input_line():
    async with stage() as chat:
        await chat.type("abc")
        await chat.pilot.press("ctrl+c")
        assert chat.app.prompt.text == ""
        assert "Ctrl+C again" in chat.text
        await chat.type("d")
        assert "Ctrl+C again" not in chat.text
        await chat.pilot.press("ctrl+c")
        assert chat.app.is_running
        await chat.pilot.press("ctrl+c")
        assert chat.app._exit
        assert chat.app.prompt.set_aside == ("abc", "d")


@pytest.mark.parametrize("between", ["up", "list"])
async def test_ctrl_c_with_other_words_in_the_line_empties_it_and_stays(between):
    async with stage() as chat:
        await chat.say("What is 2 * 3?")
        await chat.pilot.press("ctrl+c")
        assert "Ctrl+C again" in chat.text
        if between == "up":
            await chat.pilot.press("up")
        else:
            await chat.pilot.press("ctrl+t")
            await chat.paste("some words")
            await chat.pilot.press("escape")
        await chat.drawn()
        assert chat.app.prompt.text
        await chat.pilot.press("ctrl+c")
        assert not chat.app._exit
        assert chat.app.prompt.text == ""
        assert "Ctrl+C again" in chat.text
        await chat.pilot.press("ctrl+c")
        assert chat.app._exit


async def test_ctrl_d_leaves_only_from_an_empty_line():
    async with stage() as chat:
        await chat.type("ab")
        await chat.pilot.press("home", "ctrl+d")
        assert chat.app.prompt.text == "b"
        await chat.pilot.press("ctrl+c", "ctrl+d")
        assert chat.app._exit


@pytest.mark.parametrize("key", ["ctrl+t", "shift+tab"])
async def test_the_picker_opens_chooses_and_closes(key):
    async with stage("gemini-3-pro/low") as chat:
        await chat.pilot.press(key)
        assert isinstance(chat.app.screen, Picker)
        await chat.press("down", "enter")
        assert not isinstance(chat.app.screen, Picker)
        assert chat.app.state.level_text == "high"
        await chat.press(key, "escape")
        assert chat.app.state.level_text == "high"
        assert chat.app.state.choosing is None


async def test_one_thought_or_all_open_and_fold():
    async with stage() as chat:
        await chat.say(QUESTION)
        await chat.say("What is 2 * 3?")
        await chat.press("ctrl+o")
        assert [thought.open for thought in cells(chat, ThinkingCell)] == [False, True]
        await chat.press("ctrl+g")
        assert [thought.open for thought in cells(chat, ThinkingCell)] == [True, True]
        await chat.press("ctrl+g")
        assert [thought.open for thought in cells(chat, ThinkingCell)] == [False, False]


async def test_a_long_thought_can_be_read_from_its_first_line_to_its_last():
    lines = [f"line {n} of a thought that is much longer than a screen" for n in range(201)]
    turn = ScriptedTurn(thinking="\n".join(lines), text="Done.")
    assert len(turn.thinking) > 10_000
    async with stage("claude-opus-5/max", emulator=partial(Emulator, script=[turn])) as chat:
        await chat.say(QUESTION)
        await chat.press("ctrl+o")
        seen = chat.text
        for _ in range(len(lines) // 10):  # more than a page has
            if QUESTION in chat.text:
                break
            await chat.press("pageup")
            seen += chat.text
        assert [line for line in lines if line not in seen] == []


async def test_a_thought_opens_where_it_is_clicked():
    async with stage() as chat:
        await chat.say(QUESTION)
        await chat.pilot.click(".thought")
        await chat.quiet()
        assert cells(chat, ThinkingCell)[0].open


async def test_hidden_thoughts_take_no_place():
    async with stage() as chat:
        await chat.say(QUESTION)
        await chat.say("/show hidden")
        assert "thought 114" not in chat.text
        await chat.say("/show open")
        assert "First, 17 * 23 = 391." in chat.text


@pytest.mark.parametrize("word", ["redacted", "signature-only"])
async def test_thinking_that_cannot_be_read_says_so(word):
    async with stage() as chat:
        await chat.say(f"{QUESTION} [emulator: {word}]")
        said = {"redacted": "redacted by the service", "signature-only": "not shown by the service"}
        assert f"· medium · {said[word]}" in chat.text


async def test_the_screen_may_change_its_size_at_any_time():
    async with stage() as chat:
        await chat.say(QUESTION)
        for size in ((30, 10), (20, 6), (120, 40), (80, 24)):
            await chat.pilot.resize_terminal(*size)
            await chat.drawn()
            assert "claude-opus-5" in chat.text.splitlines()[-1]
        assert "17 * 23 = 391" in chat.text


async def test_the_theme_can_be_changed_and_is_kept(config_dir):
    async with stage() as chat:
        await chat.say("/theme light")
        assert chat.app.theme == "light"
        assert load_settings().theme == "light"
        await chat.say("/theme")
        assert "flexoki" in chat.text
        await chat.press("end", "enter")
        assert chat.app.theme == load_settings().theme == chat.app.state.themes[-1]
    assert theme_of({}, load_settings().theme) == chat.app.theme
    assert theme_of({"PONDERO_THEME": "light"}, "nord") == "light"
    assert theme_of({"COLORFGBG": "0;15"}, "no-such-theme") == "light"


async def test_a_theme_that_cannot_be_kept_is_worn_all_the_same(config_dir):
    (config_dir / "config.toml").write_text("not toml [")
    async with stage() as chat:
        await chat.say("/theme nord")
        assert chat.app.theme == "nord"
        assert "the theme is not saved" in " ".join(cells(chat, NoticeCell)[-1].lines)


async def test_the_palette_has_every_command_and_runs_or_completes_it():
    async with stage() as chat:
        await chat.pilot.press("ctrl+p")
        await chat.type("cost")
        await until(chat, "tokens and cost so far")
        await chat.press("enter")
        assert "nothing was used yet" in chat.text
        await chat.pilot.press("ctrl+p")
        await chat.type("how hard")
        await until(chat, "/thinking LEVEL")
        await chat.press("enter")
        assert chat.app.prompt.text == "/thinking "


async def until(chat, words):
    """Wait until this stands on the screen."""
    async with asyncio.timeout(60):
        while words not in chat.text:
            await chat.pilot.pause(0.01)


async def test_trouble_of_any_kind_lets_the_chat_go_on():
    async with stage() as chat:
        for fault in ("refused", "cut 200", "html", "empty", "401", "no_end", "error_event 3"):
            await chat.say(f"say hi [emulator: fault {fault}]")
            assert chat.app.state.page[-1].tone == "error", fault
            chat.app.prompt.put("")
        await chat.say("say hi")
        assert cells(chat, AnswerCell)[-1].text == "hi"


async def test_something_unforeseen_is_a_sentence_and_the_chat_goes_on(monkeypatch):
    async with stage() as chat:
        writer = chat.app.tab.session.writer
        with monkeypatch.context() as patch:
            patch.setattr(type(writer), "messages", property(lambda self: 1 / 0))
            await chat.say("say hi")
        assert "unexpected error" in " ".join(cells(chat, NoticeCell)[-1].lines)
        chat.app.prompt.put("")
        await chat.say("say hi")
        assert cells(chat, AnswerCell)[-1].text == "hi"


async def test_the_end_of_an_answer_is_drawn_at_once_however_long_drawing_rests(monkeypatch):
    monkeypatch.setattr("pondero.tui._screen.widgets.answer._BREATH", 3600)
    words = "one two three four five six seven eight"
    async with stage("claude-opus-5/off") as chat, asyncio.timeout(60):
        chat.gate.hold_at = 3
        await chat.paste(f"say {words}")
        await chat.pilot.press("enter")
        await chat.gate.held.wait()
        chat.app.frame()
        while "\n  one" not in chat.text:
            await chat.pilot.pause()
        chat.gate.open()
        await chat.quiet()
        assert f"\n  {words}" in chat.text


async def test_everything_the_reducer_may_ask_for_is_done():
    async with stage() as chat:
        assert set(chat.app._executor.runners) == set(effects.Effect.__subclasses__())


async def test_the_end_of_an_answer_does_not_move_what_is_being_read():
    lines = "\n".join(f"- number {number}" for number in range(60))
    async with stage("claude-opus-5/off") as chat:
        await chat.say_until_held(f"say {lines}", pieces=60)
        await chat.pilot.press("pageup")
        await chat.drawn()
        before, place = chat.text, chat.app.page.scroll_y
        assert "number" in before
        chat.gate.open()
        await chat.quiet()
        assert cells(chat, AnswerCell)[0].text.endswith("number 59")
        assert chat.app.page.scroll_y == place
        assert chat.text.splitlines()[:10] == before.splitlines()[:10]


@pytest.mark.parametrize(
    ("model", "line", "said"),
    [
        ("claude-opus-5", "/model claude-opus-5/low", "Enter: cache kept"),
        ("claude-opus-5", "/thinking low", "Enter: cache kept"),
        ("claude-sonnet-4-5", "/thinking low", "Enter: cache lost, "),
        ("claude-opus-5", "/thinking nonsense", "Enter sends"),
        ("claude-opus-5", "/thinking high", "Enter sends"),
    ],
)
async def test_the_frame_says_what_a_switch_does_to_the_cache_before_enter(model, line, said):
    async with stage(f"{model}/high") as chat:
        await chat.type(line)
        assert "Enter sends" in str(chat.app.prompt.border_subtitle)  # nothing was asked yet
        chat.app.prompt.put("")
        await chat.type("say hi")
        await chat.press("enter")
        await chat.type(line)
        assert said in str(chat.app.prompt.border_subtitle)
        assert chat.app.state.plan.level == "high"
        chat.app.prompt.put("")
        assert "Enter sends" in str(chat.app.prompt.border_subtitle)


async def test_keys_that_come_during_a_search_are_one_search():
    async with stage() as chat:
        await chat.say("/model")
        find, sought = chat.app.screen._find, []
        chat.app.screen._find = lambda words: (sought.append(words), find(words))[1]
        typed = chat.app.screen.query_one(Input)
        for words in ("gpt", "gpt-5.", "gpt-5.1"):
            typed.value = words
        await chat.quiet()
        assert sought == ["gpt-5.1"]
        await chat.press("enter")
        assert chat.app.state.model == "openai:gpt-5.1"


async def test_keys_are_drawn_while_a_search_is_under_way():
    async with stage() as chat:
        await chat.say("/model")
        find, may_end, waited = chat.app.screen._find, Event(), []
        chat.app.screen._find = lambda words: (waited.append(may_end.wait(10)), find(words))[1]
        box = chat.app.screen.query_one(Input)
        for letters in ("gpt", "-5", ".1"):
            await chat.type(letters)
            await chat.pilot.pause()
            assert box.value in chat.text.splitlines()[box.region.y]
        assert box.value == "gpt-5.1"
        may_end.set()
        await chat.quiet()
        await chat.quiet()
        assert waited == [True, True]  # the first letters, then all: nothing was drawn too late
        assert chat.app.screen._found[0].value == "gpt-5.1"


async def test_the_picker_shows_the_present_level_in_a_small_window():
    async with stage("claude-opus-5/max", size=(40, 12)) as chat:
        await chat.press("ctrl+t")
        choices = chat.app.screen.query_one(OptionList)
        assert choices.highlighted == choices.option_count - 1
        top = int(choices.scroll_offset.y)
        assert top <= choices.highlighted < top + choices.size.height
        await chat.pilot.resize_terminal(40, 10)
        await chat.quiet()
        top = int(choices.scroll_offset.y)
        assert top <= choices.highlighted < top + choices.size.height


@pytest.mark.parametrize("size", [(40, 12), (80, 40)])
async def test_help_is_read_from_its_beginning(size):
    async with stage("claude-opus-5/off", size=size) as chat:
        await chat.say("say hello")
        await chat.say("/help")
        assert "/model" in chat.text
        assert ("more below" in chat.text) == (size == (40, 12))
        await chat.say("say again")
        assert "\n  again\n" in chat.text


async def test_a_model_from_the_list_is_confirmed_on_the_screen_below_a_long_help():
    async with stage("claude-opus-5/off", size=(40, 12)) as chat:
        await chat.say("/help")
        await chat.say("/model")
        await chat.type("gpt-5.1")
        await chat.press("enter")
        assert "Switched to OpenAI" in chat.text


async def test_the_notice_of_undo_is_whole_in_a_small_window():
    async with stage("claude-opus-5/off", size=(40, 12)) as chat:
        await chat.say("say hello")
        await chat.say("/undo")
        assert "taken back; /resume restores it" in chat.text


async def test_an_offline_chat_says_so_before_the_first_answer():
    async with stage() as chat:
        assert chat.text.splitlines()[-1].endswith("offline")
    async with stage(paid=True) as chat:
        assert "offline" not in chat.text


async def test_a_drawing_that_fails_while_the_chat_ends_does_not_change_its_exit_code():
    async with stage() as chat:
        chat.app.exit(return_code=143)
        chat.app._handle_exception(RuntimeError("the page is gone"))
        assert chat.app.return_code == 143

"""Commands: how they are read, completed, and refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.state.steps import do, ended, had, say, told

from pondero.canon import Usage
from pondero.catalog import Lookup
from pondero.client import load_catalog
from pondero.thinking import Policy
from pondero.tui.state import (
    COMMANDS,
    Choice,
    DialView,
    DraftQuestion,
    SavedThread,
    UsageTally,
    actions,
    completions,
    effects,
    initial_state,
    reduce,
)

DIAL = DialView(load_catalog(), Policy())


def test_every_command_is_in_the_help(chat, dial):
    state, _ = say(chat, dial, "/help")
    assert all(f"/{name}" in told(state) for name in COMMANDS)


def test_an_unknown_command_gets_a_suggestion(chat, dial):
    state, asked = say(chat, dial, "/modle gpt-5")
    assert told(state) == "✗ there is no /modle; did you mean /model? /help shows what there is"
    assert asked == (effects.SetAside("/modle gpt-5"),)


@pytest.mark.parametrize("line", ["/new and more words", "/quit and more words", "/undo words"])
def test_words_after_a_command_that_takes_none_are_an_error_and_kept(chat, dial, line):
    state, asked = say(chat, dial, line)
    assert "takes no words, and nothing was done" in told(state)
    assert asked == (effects.SetAside(line),)


def test_an_unknown_model_gets_a_suggestion_and_nothing_changes(chat, dial):
    state, _ = say(chat, dial, "/model claud-opus-5")
    assert "did you mean 'claude-opus-5'" in told(state)
    assert state.model == chat.model


def test_a_misspelt_level_gets_a_suggestion(chat, dial):
    state, _ = say(chat, dial, "/thinking hihg")
    assert "did you mean 'high'?" in told(state)
    assert state.level_text == "medium"


def test_two_slashes_or_a_path_are_words(chat, dial):
    for text, words in (
        ("//model is a command", "/model is a command"),
        ("/etc/hosts?", "/etc/hosts?"),
    ):
        _, asked = say(chat, dial, text)
        assert [each.words for each in asked if isinstance(each, effects.AskModel)] == [words]


@pytest.mark.parametrize("name", [name for name, each in COMMANDS.items() if not each.anytime])
def test_while_an_answer_comes_a_command_waits_in_the_queue(chat, dial, name):
    busy, _ = say(chat, dial, "17 * 23?")
    line = f"/{name} x" if COMMANDS[name].usage else f"/{name}"
    state, asked = say(busy, dial, line)
    assert state.queue == (DraftQuestion(line, is_command=True),)
    assert asked == ()
    assert (state.page, state.model) == (busy.page, busy.model)


def test_commands_that_wait_run_in_their_place_among_the_prompts(chat, dial):
    state, _ = say(chat, dial, "17 * 23?")
    for line in ("/model gpt-5/low", "/show open", "first", "/thinking high", "second"):
        state, _ = say(state, dial, line)
    state, asked = reduce(state, ended(), dial)
    assert (state.model, state.show, state.turn.asked.words) == ("openai:gpt-5", "open", "first")
    assert [each.model for each in asked if isinstance(each, effects.AskModel)] == ["openai:gpt-5"]
    assert effects.CheckKey("openai:gpt-5") in asked
    state, asked = reduce(state, ended(), dial)
    assert (state.level_text, state.turn.asked.words, state.queue) == ("high", "second", ())


def test_a_prompt_that_begins_with_a_slash_is_still_a_prompt_after_it_waited(chat, dial):
    state, _ = say(chat, dial, "17 * 23?")
    state, _ = say(state, dial, "//model is a command")
    state, asked = reduce(state, ended(), dial)
    assert [each.words for each in asked] == ["/model is a command"]


@pytest.mark.parametrize("line", ["/model gpt-9x", "/thinking hihg", "/model", "/retry", "/undo"])
def test_behind_a_command_that_fails_or_opens_something_the_prompts_wait(chat, dial, line):
    state, _ = say(chat, dial, "17 * 23?")
    state, _ = say(state, dial, line)
    state, _ = say(state, dial, "next")
    state, asked = reduce(state, ended(), dial)
    assert [each.words for each in state.queue] == ["next"]
    assert state.turn is None
    assert not [each for each in asked if isinstance(each, effects.AskModel)]
    assert "1 waiting" in state.hint


def test_a_command_of_wrong_form_is_told_at_once_also_while_an_answer_comes(chat, dial):
    busy, _ = say(chat, dial, "17 * 23?")
    assert "there is no /modle" in told(say(busy, dial, "/modle x")[0])
    assert "/undo takes no words" in told(say(busy, dial, "/undo x")[0])


def test_while_an_answer_comes_one_can_leave_and_ask_for_help(chat, dial):
    busy, _ = say(chat, dial, "17 * 23?")
    assert say(busy, dial, "/quit")[1] == (effects.Quit(),)
    assert "/model" in told(say(busy, dial, "/help")[0])


def test_a_switch_notes_it_in_the_thread_and_asks_what_is_left_behind(chat, dial):
    _, asked = say(had(chat, dial), dial, "/model gemini-3-pro/high")
    assert asked == (
        effects.CheckKey("google:gemini-3-pro"),
        effects.NoteModel("google:gemini-3-pro", "high", ""),
        effects.Handoff("google:gemini-3-pro", "high", is_elsewhere=True, last_prompt=10),
    )


def test_a_switch_to_where_one_is_changes_nothing(chat, dial):
    here = "anthropic:claude-sonnet-4-5"
    asked = say(had(chat, dial), dial, "/model claude-sonnet-4-5/medium")[1]
    assert asked == (effects.CheckKey(here),)


def with_a_cache(chat, dial):
    usage = Usage(input=10, cache_read=9_000, cache_write=500, output=5, thinking=4, total=9_519)
    exchange = actions.ExchangeEnded(usage, "stop", "as_planned")
    return do(say(chat, dial, "hello")[0], dial, ended(exchanges=(exchange,)))


@pytest.mark.parametrize("away", ["/thinking low", "/model gpt-5/low", "/model gemini-3-pro"])
def test_a_change_that_is_taken_back_before_the_next_question_loses_no_cache(chat, dial, away):
    state = with_a_cache(chat, dial)
    gone, asked = say(state, dial, away)
    assert asked[-1].is_cache_lost
    back, asked = say(gone, dial, f"/model {state.model}/{state.level_text or state.plan.level}")
    move = next(each for each in asked if isinstance(each, effects.Handoff))
    assert (move.is_cache_lost, move.same) == (False, True)
    assert back.plan.fields == state.plan.fields


def test_another_level_of_another_model_is_compared_with_what_was_sent(chat, dial):
    state, _ = say(with_a_cache(chat, dial), dial, "/model gpt-5/low")
    move = say(state, dial, "/thinking high")[1][-1]
    assert (move.is_cache_lost, move.same, move.is_elsewhere) == (True, False, False)


@pytest.mark.parametrize("line", ["/new", "/resume"])
def test_another_thread_has_no_cache_to_lose(chat, dial, line):
    state = with_a_cache(chat, dial)
    state = do(say(state, dial, "/thinking low")[0], dial, actions.HandedOff(cache="cache lost"))
    opened = actions.ThreadOpened(model=state.model, level_text="low", past=())
    after = say(state, dial, "/new")[0] if line == "/new" else do(state, dial, opened)
    assert (after.cache, after.sent) == ("", None)


def test_a_change_says_how_much_cache_it_throws_away(chat, dial):
    state = with_a_cache(chat, dial)
    level, other = say(state, dial, "/thinking low")[1][-1], say(state, dial, "/model gpt-5")[1][-1]
    assert (level.is_cache_lost, level.same, level.last_prompt) == (True, True, 9_510)
    assert (other.is_cache_lost, other.same, other.last_prompt) == (True, False, 9_510)


def test_another_model_throws_the_cache_away_even_where_the_same_is_sent(dial):
    usage = Usage(input=10, cache_read=9_000, cache_write=500, output=5)
    exchange = actions.ExchangeEnded(usage, "stop", "as_planned")
    begun = initial_state(dial, "claude-sonnet-4-5/8000")
    state = do(say(begun, dial, "hello")[0], dial, ended(exchanges=(exchange,)))
    after, asked = say(state, dial, "/model claude-haiku-4-5/8000")
    assert after.plan.fields == state.plan.fields
    assert asked[-1].is_cache_lost
    after, asked = say(state, dial, "/thinking 8k")
    assert (after.level_text, asked[-1].is_cache_lost) == ("8k", False)


def test_the_picker_offers_only_what_this_model_has(dial):
    state = do(initial_state(dial, "gemini-3-pro/high"), dial, actions.PickerOpened())
    assert [choice.value for choice in state.choosing.choices] == ["low", "high"]
    assert state.choosing.at == 1


def test_the_picker_says_how_many_tokens_each_level_is(dial):
    state = do(initial_state(dial, "claude-sonnet-4-5"), dial, actions.PickerOpened())
    assert [(choice.value, choice.detail) for choice in state.choosing.choices] == [
        ("off", ""),
        ("minimal", "1,024 tokens"),
        ("low", "22,016 tokens"),
        ("medium", "43,008 tokens"),
        ("high", "59,904 tokens"),
    ]


def test_what_is_picked_is_the_level_from_then_on(chat, dial):
    state = do(chat, dial, actions.PickerOpened(), actions.ItemPicked("low"))
    assert (state.level_text, state.plan.budget, state.choosing) == ("low", 22_016, None)
    assert told(state) == "✓ Thinking: low (22,016 tokens)"


def test_a_closed_picker_changes_nothing(chat, dial):
    assert do(chat, dial, actions.PickerOpened(), actions.Dismissed()) == chat


def test_a_model_without_levels_has_no_picker(dial):
    state = do(initial_state(dial, "gpt-4o"), dial, actions.PickerOpened())
    assert state.choosing is None
    assert told(state) == "gpt-4o takes no word about thinking"


def test_threads_are_picked_from_a_list_and_opened(chat, dial):
    listed, asked = say(chat, dial, "/resume")
    assert asked == (effects.ListThreads(""),)
    offered = do(listed, dial, actions.ThreadsOffered((Choice("k3x9", "sums"),)))
    assert reduce(offered, actions.ItemPicked("k3x9"), dial)[1] == (effects.Open("k3x9"),)


def test_a_thread_can_be_named_or_looked_for(chat, dial):
    assert say(chat, dial, "/resume k3x9")[1] == (effects.Open("k3x9", or_find=True),)
    assert say(chat, dial, "/resume last")[1] == (effects.Open("last", or_find=True),)
    assert say(chat, dial, "/resume prime numbers")[1] == (effects.ListThreads("prime numbers"),)


def test_where_there_is_no_thread_it_is_said(chat, dial):
    assert (
        told(do(chat, dial, actions.ThreadsOffered(()))) == "there are no earlier threads like that"
    )


def test_a_copy_may_go_on_with_another_model(chat, dial):
    talked = had(chat, dial)
    copy = effects.Fork(chat.model, "medium", "gpt-5/low")
    assert say(talked, dial, "/fork gpt-5/low")[1] == (copy,)
    refused, asked = say(talked, dial, "/fork gtp-5/low")
    assert "unknown model 'gtp-5'" in told(refused)
    assert asked == (effects.SetAside("/fork gtp-5/low"),)
    assert say(chat, dial, "/fork")[1] == ()


def test_a_new_thread_is_empty_and_keeps_the_model(chat, dial):
    state, asked = say(had(chat, dial), dial, "/new")
    assert (state.page, state.count, state.thread, state.tally) == ((), 0, None, UsageTally())
    assert state.model == chat.model
    assert asked == (effects.Begin(),)


def test_a_title_needs_a_thread(chat, dial):
    assert say(chat, dial, "/title sums")[1] == (effects.SetAside("/title sums"),)
    named = had(chat, dial).but(thread=SavedThread("k3x9"))
    assert say(named, dial, "/title sums")[1] == (effects.Rename("sums"),)
    assert (
        do(named, dial, actions.ThreadRenamed(SavedThread("k3x9", "sums"))).thread.title == "sums"
    )


@pytest.mark.parametrize("path", ["a.md", "b.jsonl", "c.html"])
def test_an_export_goes_to_a_file_of_a_known_kind(chat, dial, path):
    assert say(had(chat, dial), dial, f"/export {path}")[1] == (effects.Export(path),)


def test_an_export_to_something_else_says_what_would_work(chat, dial):
    state, asked = say(had(chat, dial), dial, "/export a.doc")
    assert asked == ()
    assert told(state) == "✗ not written: the name of the file must end in .md or .jsonl or .html"
    assert state.page[-1].tone == "error"


def test_an_error_names_commands_of_the_chat(chat, dial):
    said = told(say(chat, dial, "/model qqqq")[0])
    assert "see /model, or" in said
    assert "pondero models" not in said


def test_a_system_prompt_is_set_said_and_taken_away(chat, dial):
    state, asked = say(chat, dial, "/system Answer in French.")
    assert asked == (
        effects.NoteModel(chat.model, "medium", "Answer in French."),
        effects.SetAside("/system Answer in French."),  # until a thread has it
    )
    assert told(say(state, dial, "/system")[0]) == "Answer in French."
    assert say(state, dial, "bonjour")[1][0].system == "Answer in French."
    assert say(state, dial, "/system -")[0].system == ""


def test_the_plan_is_the_one_of_the_library(chat, dial):
    import pondero

    state, _ = say(chat, dial, "/plan")
    assert told(state) == str(pondero.plan("claude-sonnet-4-5/medium"))


def test_another_levels_plan_can_be_looked_at_without_choosing_it(chat, dial):
    state, _ = say(chat, dial, "/plan low")
    assert "22,016" in told(state)
    assert state.level_text == "medium"


def test_cost_says_what_is_unknown(chat, dial):
    assert told(say(chat, dial, "/cost")[0]) == "nothing was used yet"
    lines = told(say(had(chat, dial, turns=2), dial, "/cost")[0]).splitlines()
    assert lines[3].split() == ["thinking", "40", "80"]
    assert lines[5].split() == ["cost", "unknown", "unknown"]
    assert lines[6] == "a price is not known"


def test_cost_says_why_a_price_is_not_known(chat, dial):
    state = had(chat.but(unpriced="nothing is paid"), dial)
    assert told(say(state, dial, "/cost")[0]).endswith("a price is not known: nothing is paid")


def test_cost_offline_is_no_question(chat, dial):
    state = had(chat.but(paid=False, unpriced="nothing is paid"), dial)
    said = told(say(state, dial, "/cost")[0])
    assert said.endswith("\nnothing is paid")
    assert "cost" not in said


def test_what_is_written_to_a_cache_is_input_in_both_columns(chat, dial):
    usage = Usage(input=10, cache_write=1000, cache_read=5, output=3)
    exchange = actions.ExchangeEnded(usage, "stop", "unknown")
    state = do(say(chat, dial, "a")[0], dial, ended(exchanges=(exchange,)))
    lines = told(say(state, dial, "/cost")[0]).splitlines()
    assert lines[1].split() == ["in", "1,010", "1,010"]
    assert lines[3].split() == ["thinking", "unknown", "unknown"]


@pytest.mark.parametrize(
    ("command", "effect"), [("raw", effects.ShowWire()), ("doctor", effects.RunDoctor())]
)
def test_what_is_outside_is_asked_for(chat, dial, command, effect):
    assert say(chat, dial, f"/{command}")[1] == (effect,)


def test_a_theme_is_chosen_by_its_name_or_from_a_list(chat, dial):
    dressed = chat.but(themes=("dark", "light", "nord"), theme="light")
    assert say(dressed, dial, "/theme nord")[1] == (effects.ChangeTheme("nord"),)
    state, asked = say(dressed, dial, "/theme pink")
    assert (told(state), asked) == ("✗ there is no theme 'pink'; /theme shows them", ())
    listed, _ = say(dressed, dial, "/theme")
    assert [choice.value for choice in listed.choosing.choices] == ["dark", "light", "nord"]
    assert listed.choosing.at == 1
    assert reduce(listed, actions.ItemPicked("nord"), dial)[1] == (effects.ChangeTheme("nord"),)
    assert completions(dressed, "/theme n", dial) == ("/theme nord",)


def test_the_help_fits_on_a_screen_of_80_by_24(chat, dial):
    lines = told(say(chat, dial, "/help")[0]).splitlines()
    assert max(map(len, lines)) <= 74
    assert max(len(each.what) for each in COMMANDS.values()) <= 25  # two of them fit into a line
    commands, keys = len(COMMANDS), len(lines) - len(COMMANDS)
    assert (commands + 1) // 2 + keys <= 19
    assert told(say(chat, dial, "/help /model")[0]).startswith("/model [NAME[/LEVEL]]\n")
    assert "did you mean /model" in told(say(chat, dial, "/help modle")[0])


def test_help_status_explains_the_last_line(chat, dial):
    text = told(say(chat, dial, "/help status")[0])
    assert all(word in text for word in ("level", "context", "in, thinking, answer", "cost"))
    assert "/help COMMAND explains a command, or status" in told(say(chat, dial, "/help")[0])


# -- completion -----------------------------------------------------------------------------------


def test_commands_models_and_levels_are_completed(chat, dial):
    assert completions(chat, "/mo", dial) == ("/model",)
    assert "/model claude-opus-5" in completions(chat, "/model claude-opus", dial)
    assert completions(chat, "/model gemini-3-pro/", dial)[:2] == (
        "/model gemini-3-pro/low",
        "/model gemini-3-pro/high",
    )
    assert completions(chat, "/thinking m", dial) == ("/thinking minimal", "/thinking medium")
    assert completions(chat, "/show o", dial) == ("/show open",)


@pytest.mark.parametrize("name", ["gemini-3-flash-preview", "gpt-5.5", "opus"])
def test_a_name_that_is_whole_is_the_first_completion(chat, dial, name):
    found = completions(chat, f"/model {name}", dial)
    assert found[0] == f"/model {name}"
    assert found[1:]
    assert len(set(found)) == len(found)


def test_a_name_that_is_whole_and_has_no_longer_form_is_not_completed(chat, dial):
    assert completions(chat, "/model gpt-5/high", dial) == ()


def test_a_name_that_several_serve_is_completed_with_whose(chat, dial):
    found = completions(chat, "/model groq:openai/gpt-oss-120", dial)
    assert found[0] == "/model groq:openai/gpt-oss-120b"


def test_a_model_that_is_not_known_is_looked_for_once_and_not_at_every_key(chat, monkeypatch):
    looked_up = []
    monkeypatch.setattr(Lookup, "close", lambda _, model: looked_up.append(model) or [])
    dial = DialView(load_catalog(), Policy())
    for typed in ("", "h", "hi", "hig", "high"):
        assert completions(chat, f"/model claude-opsu-5/{typed}", dial) == ()
    assert looked_up == ["claude-opsu-5"]


def test_words_are_not_completed(chat, dial):
    assert completions(chat, "mod", dial) == completions(chat, "/model a\nb", dial) == ()


def test_without_a_beginning_the_present_models_neighbours_are_offered(chat, dial):
    assert all(":" in line for line in completions(chat, "/model ", dial))
    assert completions(chat, "/model ", dial)[0].startswith("/model anthropic:")


@given(st.text(max_size=30))
def test_whatever_is_typed_completion_offers_only_lines_that_differ(text):
    state = initial_state(DIAL, "claude-opus-5")
    found = completions(state, f"/{text}", DIAL)
    assert f"/{text}" not in found
    assert len(set(found)) == len(found)


@given(st.sampled_from([*COMMANDS, "x"]), st.text(max_size=40))
def test_no_line_breaks_a_chat(command, argument):
    state, _ = say(initial_state(DIAL, "claude-opus-5"), DIAL, f"/{command} {argument}")
    assert not state.busy


@pytest.mark.parametrize("name", ["gemini-3-flash-previewAnd what is 23 * 3?", "gpt-9x foo"])
def test_a_name_with_a_space_is_rejected_and_the_model_stays(chat, dial, name):
    state, asked = say(chat, dial, f"/model {name}")
    assert "a name has no spaces" in told(state)
    assert "did you mean" not in told(state)
    assert (state.model, asked) == (chat.model, (effects.SetAside(f"/model {name}"),))


def test_a_model_that_only_begins_like_a_known_one_is_marked(chat, dial):
    state, _ = say(chat, dial, "/model gemini-3-flash-preview2")
    assert "⚠ Switched to Google gemini-3-flash-preview2" in told(state)
    assert "Not in the catalog; treated like gemini-3-flash" in told(state)

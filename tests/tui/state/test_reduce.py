"""What an action makes of a chat."""

from decimal import Decimal

import pytest
from tests.tui.state.steps import ANSWER, KEPT, USAGE, do, ended, had, say, told

from pondero.canon import Message, Origin, Text, Thinking, ToolCall, ToolResult, Usage
from pondero.errors import (
    AuthFailed,
    BadRequest,
    MissingKey,
    PonderoError,
    RateLimited,
    ServiceError,
    StoreError,
    Timeout,
    Truncated,
    Unreachable,
)
from pondero.tui.state import (
    AnswerCell,
    DraftQuestion,
    NoticeCell,
    SavedThread,
    ThinkingCell,
    ThreadMessage,
    UsageTally,
    UserCell,
    WaitingCell,
    actions,
    describe_trouble,
    effects,
    initial_state,
    queued_lines,
    reduce,
)
from pondero.tui.state.handlers.history import MOST, PAGE
from pondero.tui.state.reduce import _HANDLERS


def test_words_begin_a_turn_at_the_present_level(chat, dial):
    state, asked = say(chat, dial, "  17 * 23?  ")
    assert asked == (
        effects.AskModel("17 * 23?", "anthropic:claude-sonnet-4-5", "medium", "", None),
    )
    assert state.busy
    assert isinstance(state.page[-1], UserCell)
    assert isinstance(state.live[0], WaitingCell)


def test_nothing_said_is_nothing_asked(chat, dial):
    assert say(chat, dial, "  \n ")[1] == ()


def test_words_said_meanwhile_wait_and_are_sent_in_their_order(chat, dial):
    state, _ = say(chat, dial, "17 * 23?")
    for words in ("and 2?", "//and 3?", "and 4?"):
        state, asked = say(state, dial, words)
        assert asked == ()
    assert [asked.words for asked in state.queue] == ["and 2?", "/and 3?", "and 4?"]
    state, asked = reduce(state, actions.Unqueued(), dial)
    assert asked == (effects.RestoreInput("and 4?", selected=False),)
    for words in ("and 2?", "/and 3?"):
        state, asked = reduce(state, ended(), dial)
        assert [each.words for each in asked] == [words]
    state, asked = reduce(state, ended(), dial)
    assert (asked, state.busy, state.queue) == ((), False, ())


@pytest.mark.parametrize("how", [{"stopped": True}, {"error": Timeout("x"), "stored": ()}])
def test_what_waits_is_held_after_a_stop_or_an_error(chat, dial, how):
    state, _ = say(chat, dial, "a")
    state, _ = say(state, dial, "b")
    state, asked = reduce(state, ended(**how), dial)
    assert (state.busy, [each.words for each in state.queue]) == (False, ["b"])
    assert not [each for each in asked if isinstance(each, effects.AskModel)]
    state, asked = say(state, dial, "")
    if "error" in how:  # first the question that got no answer
        assert [each.words for each in asked] == ["a"]
        state, _ = reduce(state, ended(stopped=True), dial)
        state, asked = say(state, dial, "")
    assert [each.words for each in asked] == ["b"]
    assert state.queue == ()


def test_a_prompt_sent_after_a_stop_leaves_what_waits_waiting(chat, dial):
    state, _ = say(chat, dial, "a")
    state, _ = say(state, dial, "b")
    state, _ = reduce(state, ended(stopped=True), dial)
    assert queued_lines(state)[0].startswith("waits: b")
    state, asked = say(state, dial, "c")
    assert [each.words for each in asked] == ["c"]
    state, _ = say(state, dial, "d")
    state, asked = reduce(state, ended(), dial)
    assert (asked, state.busy, [each.words for each in state.queue]) == ((), False, ["b", "d"])
    assert state.hint == "2 waiting: Enter on an empty line sends them"
    state, asked = say(state, dial, "")
    assert [each.words for each in asked] == ["b"]
    state, asked = reduce(state, ended(), dial)
    assert [each.words for each in asked] == ["d"]


def test_prompts_of_a_chat_that_was_killed_wait_also_behind_another_prompt(chat, dial):
    restored = actions.RestoredDrafts((DraftQuestion("b"),), "half typed")
    state = do(chat, dial, restored)
    state, asked = say(state, dial, "half typed words")
    state, asked = reduce(state, ended(), dial)
    assert (asked, [each.words for each in state.queue]) == ((), ["b"])


def test_a_failed_question_that_is_sent_again_is_followed_by_what_waits(chat, dial):
    state, _ = say(chat, dial, "a")
    state, _ = say(state, dial, "b")
    state, _ = reduce(state, ended(error=Timeout("x"), stored=()), dial)
    state, _ = say(state, dial, "a")
    state, asked = reduce(state, ended(), dial)
    assert [each.words for each in asked] == ["b"]


def test_a_failed_question_that_went_back_to_the_queue_is_sent_once(chat, dial):
    state, _ = say(chat, dial, "a")
    state, _ = say(state, dial, "b")
    state, _ = reduce(state, ended(error=Timeout("x"), stored=()), dial)
    state = do(state, dial, actions.WordsReturned("a"))  # as in a hidden thread
    assert "Enter on an empty line sends them" in state.hint
    sent = []
    state, asked = say(state, dial, "")
    while asked:
        sent += [each.words for each in asked]
        state, asked = reduce(state, ended(), dial)
    assert sent == ["a", "b"]


def test_after_what_waits_is_taken_back_prompts_are_sent_by_themselves_again(chat, dial):
    state, _ = say(chat, dial, "a")
    state, _ = say(state, dial, "b")
    state, _ = reduce(state, ended(stopped=True), dial)
    state, _ = reduce(state, actions.Unqueued(), dial)
    state, _ = say(state, dial, "c")
    state, _ = say(state, dial, "d")
    assert queued_lines(state)[0].startswith("next: d")
    state, asked = reduce(state, ended(), dial)
    assert [each.words for each in asked] == ["d"]


def test_a_turn_that_ended_stands_on_the_page(chat, dial):
    state = had(chat, dial)
    assert [type(cell) for cell in state.page[-3:]] == [UserCell, ThinkingCell, AnswerCell]
    assert state.page[-1].text == "It is 391."
    assert (state.busy, state.live, state.count, state.verdict) == (False, (), 2, "as_planned")


def test_tokens_and_money_add_up(chat, dial):
    price = actions.ExchangeEnded(USAGE, "stop", "as_planned", Decimal("0.25"))
    state = do(say(chat, dial, "a")[0], dial, ended(exchanges=(price, price)))
    tally = state.tally
    assert (tally.input, tally.thinking, tally.output, tally.cost) == (20, 80, 10, Decimal("0.50"))
    assert tally.context == 55


def test_one_unknown_price_makes_the_sum_unknown(chat, dial):
    known = actions.ExchangeEnded(USAGE, "stop", "as_planned", Decimal("0.25"))
    unknown = actions.ExchangeEnded(USAGE, "stop", "as_planned")
    assert do(say(chat, dial, "a")[0], dial, ended(exchanges=(known, unknown))).tally.cost is None


def test_a_count_that_no_service_said_is_unknown_and_not_nothing(chat, dial):
    silent = actions.ExchangeEnded(Usage(input=10, output=5), "stop", "unknown")
    tally = do(say(chat, dial, "a")[0], dial, ended(exchanges=(silent, silent))).tally
    assert (tally.input, tally.thinking, tally.output) == (20, None, 10)


def test_a_repair_that_is_made_every_time_is_spoken_of_once(chat, dial):
    repaired = actions.ExchangeEnded(USAGE, "stop", "as_planned", notes=("without a summary",))
    for _ in range(2):
        chat = do(say(chat, dial, "a")[0], dial, ended(exchanges=(repaired,)))
    assert [c.lines for c in chat.page if isinstance(c, NoticeCell) and c.tone == "warning"] == [
        ("⚠ without a summary",)
    ]


# -- stopping and leaving -------------------------------------------------------------------------


@pytest.mark.parametrize("hard", [False, True])
def test_esc_and_ctrl_c_stop_the_answer(chat, dial, hard):
    busy, _ = say(chat, dial, "17 * 23?")
    state, asked = reduce(busy, actions.TurnInterrupted(hard=hard), dial)
    assert asked == (effects.Stop(),)
    assert state.busy


def test_what_came_before_a_stop_is_kept_and_marked(chat, dial):
    busy = do(say(chat, dial, "17 * 23?")[0], dial, actions.EventsArrived(ANSWER[:7], 106.0))
    state, asked = reduce(busy, ended(stopped=True, exchanges=()), dial)
    assert state.page[-1] == AnswerCell(
        key=state.page[-1].key, text="It is ", cut="stopped here", number=0
    )
    assert asked == ()


def test_a_stop_before_any_answer_gives_the_words_back(chat, dial):
    busy = do(say(chat, dial, "17 * 23?")[0], dial, actions.EventsArrived(ANSWER[:3], 106.0))
    state, asked = reduce(busy, ended(stopped=True, stored=(), exchanges=()), dial)
    assert asked == (effects.RestoreInput("17 * 23?"),)
    assert state.count == 0
    assert told(state) == "stopped before an answer; your words are back"
    assert not any(cell.live for cell in state.page if isinstance(cell, ThinkingCell))


def test_a_question_taken_back_and_given_up_takes_its_files_with_it(chat, dial):
    file, other = Text("two words.md:\nplum"), Text("own.md:\npear")
    taken = actions.QuestionEdited(None, 0, DraftQuestion("What is it?", (file,)))
    state = do(chat, dial, actions.FilesAttached((other,)), taken)
    assert state.attached == (file, other)
    given_up = do(state, dial, actions.TurnInterrupted(hard=True))
    assert given_up.attached == (other,)
    assert "no longer attached: [two words.md]" in given_up.hint
    assert "still attached: [own.md]" in given_up.hint
    _, (asked,) = say(do(given_up, dial, actions.KeyTyped()), dial, "Rome?")
    assert asked.parts == (other,)
    _, (edited,) = say(state, dial, "What was it?")
    assert edited.parts == (file, other)


def test_what_was_attached_meanwhile_stays_when_a_turn_gives_its_files_back(chat, dial):
    first, second = Text("first.md:\n1"), Text("second.md:\n2")
    busy, _ = say(do(chat, dial, actions.FilesAttached((first,))), dial, "17 * 23?")
    busy = do(busy, dial, actions.FilesAttached((second,)))
    state = do(busy, dial, ended(error=Timeout("x"), stored=(), exchanges=()))
    assert state.attached == (first, second)


def test_ctrl_c_leaves_when_it_is_said_twice_in_a_row(chat, dial):
    once, asked = reduce(chat, actions.TurnInterrupted(hard=True), dial)
    assert asked == ()
    assert "Ctrl+C again" in once.hint
    assert reduce(once, actions.TurnInterrupted(hard=True), dial)[1] == (effects.Quit(),)
    typed = do(once, dial, actions.KeyTyped())
    assert reduce(typed, actions.TurnInterrupted(hard=True), dial)[1] == ()


def test_esc_alone_never_leaves(chat, dial):
    state = do(chat, dial, actions.TurnInterrupted(), actions.TurnInterrupted())
    assert reduce(state, actions.TurnInterrupted(), dial)[1] == ()


# -- trouble --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "way"),
    [
        (MissingKey("Anthropic needs a key: set ANTHROPIC_API_KEY"), "/model"),
        (AuthFailed("invalid x-api-key", status=401), "/doctor"),
        (RateLimited("slow down", status=429), "wait a little"),
        (Unreachable("nobody answers there"), "--offline"),
        (Timeout("no first byte within 60 s"), "Ctrl+T"),
        (Truncated("the stream ended before its end"), "Enter"),
        (PonderoError("odd"), "press Enter to send it again"),
    ],
)
def test_trouble_is_a_sentence_and_a_way_on(chat, dial, error, way):
    state, asked = reduce(
        say(chat, dial, "a")[0], ended(error=error, stored=(), exchanges=()), dial
    )
    first, second = told(state).splitlines()
    assert first.startswith(f"✗ {error}")
    assert second.startswith("  → ")
    assert way in second
    assert asked == (effects.RestoreInput("a"),)
    assert not state.busy


def test_a_failed_turn_can_simply_be_tried_again(chat, dial):
    failed = do(say(chat, dial, "a")[0], dial, ended(error=Timeout("x"), stored=(), exchanges=()))
    state = had(failed, dial)
    assert state.count == 2
    assert [cell.number for cell in state.page if isinstance(cell, UserCell)] == [None, 0]


@pytest.mark.parametrize(
    ("exchange", "said"),
    [
        (("length", "as_planned"), "cut off"),
        (("length", "exhausted"), "All output went into thinking"),
        (("refusal", "as_planned"), "refused"),
        (("stop", "did_not_think"), "did not think"),
        (("stop", "thought_though_off"), "though thinking was off"),
        (("stop", "overran_budget"), "more than its budget"),
    ],
)
def test_an_odd_end_is_spoken_of(chat, dial, exchange, said):
    odd = actions.ExchangeEnded(USAGE, *exchange)
    state = do(say(chat, dial, "a")[0], dial, ended(exchanges=(odd,)))
    assert said in "\n".join(
        line for cell in state.page if isinstance(cell, NoticeCell) for line in cell.lines
    )


def test_where_nothing_can_be_written_the_chat_goes_on_and_says_so_once(chat, dial):
    full = ended(unsaved="the disk is full")
    once = do(say(chat, dial, "a")[0], dial, full)
    assert told(once) == "⚠ the disk is full\n  → the chat continues, unsaved"
    twice = do(say(once, dial, "a")[0], dial, full)
    assert isinstance(twice.page[-1], UserCell | AnswerCell | ThinkingCell)
    assert twice.unsaved == "the disk is full"
    assert do(say(twice, dial, "a")[0], dial, ended(thread=SavedThread("k3x9"))).unsaved is None


# -- thoughts -------------------------------------------------------------------------------------


def thoughts(state):
    return [cell for cell in (*state.page, *state.live) if isinstance(cell, ThinkingCell)]


def test_the_newest_thought_opens_and_folds(chat, dial):
    state = had(chat, dial, turns=2)
    assert [t.open for t in thoughts(do(state, dial, actions.ThinkingToggled()))] == [False, True]
    assert thoughts(
        do(state, dial, actions.ThinkingToggled(), actions.ThinkingToggled())
    ) == thoughts(state)


def test_any_thought_opens_by_its_key(chat, dial):
    state = had(chat, dial, turns=2)
    first = thoughts(state)[0]
    assert [t.open for t in thoughts(do(state, dial, actions.ThinkingToggled(first.key)))] == [
        True,
        False,
    ]


def test_all_thoughts_open_and_fold_and_so_do_those_to_come(chat, dial):
    state = do(had(chat, dial, turns=2), dial, actions.AllThinkingToggled())
    assert all(t.open for t in thoughts(had(state, dial)))
    assert not any(t.open for t in thoughts(do(state, dial, actions.AllThinkingToggled())))


def test_without_thoughts_there_is_nothing_to_open(chat, dial):
    assert do(chat, dial, actions.ThinkingToggled()).hint == "there is no thinking to open"


# -- the page -------------------------------------------------------------------------------------


def past(first, last):
    """Messages of a long thread, by turns."""
    roles = ("user", "assistant")
    return tuple(
        ThreadMessage(n, Message(roles[n % 2], (Text(f"message {n}"),)), Usage(input=n, total=n))
        for n in range(first, last)
    )


def numbers(state):
    return [cell.number for cell in state.page if cell.number is not None]


@pytest.fixture
def long(chat, dial):
    """A thread of 1,000 messages, just opened."""
    return do(
        chat, dial,
        actions.ThreadOpened(model="gpt-5", level_text="low", thread=SavedThread("k3x9"), past=past(1000 - PAGE, 1000), count=1000),
    )  # fmt: skip


def test_a_thread_opens_at_its_end_with_its_model_and_level(long):
    assert numbers(long) == list(range(1000 - PAGE, 1000))
    assert (long.model, long.level_text, long.plan.level) == ("openai:gpt-5", "low", "low")
    assert long.tally.context == 999


def test_of_long_messages_only_a_screenful_is_shown_and_begins_with_a_question(chat, dial):
    roles = ("user", "assistant")
    thread = tuple(
        ThreadMessage(n, Message(roles[n % 2], (Text("a line\n" * (30 * (n % 2) + 1)),)))
        for n in range(20)
    )
    state = do(chat, dial, actions.ThreadOpened(model="gpt-5", past=thread, count=20))
    assert [cell.number for cell in state.page] == [14, 15, 16, 17, 18, 19]
    assert (state.first, state.last) == (14, 20)
    assert reduce(state, actions.Scrolled("older"), dial)[1] == (effects.Fetch(0, 20),)


def test_a_thread_of_a_model_nobody_knows_now_goes_on_with_the_present_one(chat, dial):
    state = do(chat, dial, actions.ThreadOpened(model="nobody:nothing", past=past(0, 2), count=2))
    assert state.model == chat.model
    assert "nobody:nothing is not known here" in told(state)


def test_scrolling_up_asks_for_older_messages_and_the_page_stays_bounded(long, dial):
    state = long
    while state.first:
        state, (fetch,) = reduce(state, actions.Scrolled("older"), dial)
        state = do(state, dial, actions.PageLoaded(past(fetch.first, fetch.last), fetch.first))
        assert len(state.page) <= MOST
        assert numbers(state) == list(range(state.first, state.last))
    assert reduce(state, actions.Scrolled("older"), dial)[1] == ()


def test_scrolling_down_again_comes_back_to_the_end(long, dial):
    state = do(long, dial, actions.PageLoaded(past(0, MOST), 0))
    while state.last < state.count:
        state, (fetch,) = reduce(state, actions.Scrolled("newer"), dial)
        state = do(state, dial, actions.PageLoaded(past(fetch.first, fetch.last), fetch.first))
        assert numbers(state) == list(range(state.first, state.last))
    assert reduce(state, actions.Scrolled("newer"), dial)[1] == ()


def test_what_was_on_the_page_already_is_the_same_cell(long, dial):
    state = do(long, dial, actions.PageLoaded(past(960, 1000), 960))
    assert state.page[-20:] == long.page[-20:]
    assert [cell.key for cell in state.page[-20:]] == [cell.key for cell in long.page[-20:]]


def test_a_turn_had_here_is_shown_once_when_the_page_moves(long, dial):
    state = had(long, dial)
    stored = (
        *past(980, 1000),
        *(ThreadMessage(1000 + n, message) for n, message in enumerate(KEPT)),
    )
    assert do(state, dial, actions.PageLoaded(stored, 980)).page == state.page


def test_words_said_while_an_older_part_is_read_bring_the_end_back(long, dial):
    state = do(long, dial, actions.PageLoaded(past(0, MOST), 0))
    state, asked = say(state, dial, "and now?")
    assert asked[0] == effects.Fetch(1000 - PAGE, 1000)
    assert isinstance(asked[1], effects.AskModel)
    state = do(state, dial, actions.PageLoaded(past(1000 - PAGE, 1000), 1000 - PAGE))
    assert state.page[-1].text == "and now?"


def test_an_answer_that_comes_while_an_older_part_is_read_is_there_when_it_is_scrolled_to(
    long, dial
):
    state, _ = say(long, dial, "17 * 23?")
    state = do(state, dial, actions.PageLoaded(past(0, MOST), 0), ended())
    assert (state.last, state.count) == (MOST, 1002)
    assert numbers(state) == list(range(MOST))
    while state.last < state.count:
        state, (fetch,) = reduce(state, actions.Scrolled("newer"), dial)
        thread = (
            *past(0, 1000),
            *(ThreadMessage(1000 + n, message) for n, message in enumerate(KEPT)),
        )
        state = do(state, dial, actions.PageLoaded(thread[fetch.first : fetch.last], fetch.first))
    assert state.page[-1].text == "It is 391."


def test_a_long_sitting_does_not_fill_the_page(chat, dial):
    state = had(chat, dial, turns=MOST)
    assert len(numbers(state)) <= 2 * MOST
    assert state.first == state.count - MOST


def test_results_stand_with_their_calls(chat, dial):
    call = ToolCall("c1", "get_weather", {"city": "Paris"})
    thread = (
        ThreadMessage(0, Message("user", (Text("weather?"),))),
        ThreadMessage(1, Message("assistant", (call,))),
        ThreadMessage(2, Message("user", (ToolResult("c1", (Text("sunny"),)),))),
        ThreadMessage(3, Message("assistant", (Text("It is sunny."),))),
    )
    state = do(chat, dial, actions.ThreadOpened(model="gpt-5", past=thread, count=4))
    assert state.page[1].line == '⚙ get_weather(city="Paris")'
    assert state.page[1].result == "sunny"
    assert len(state.page) == 3
    assert do(state, dial, actions.PageLoaded(thread, 0)).page == state.page


def test_a_thread_that_is_opened_shows_its_thinking(chat, dial):
    parts = (Thinking("let me see"), Text("It is 391."))
    answer = Message("assistant", parts, Origin("openai", "gpt-5", "low"))
    thread = (ThreadMessage(0, answer, Usage(thinking=40), 6.5),)
    state = do(chat, dial, actions.ThreadOpened(model="gpt-5", past=thread, count=1))
    assert state.page[0].line == "▸ thought 40 tokens · low · summary"
    assert state.page[0].text == "let me see"


def test_thinking_that_was_never_shown_is_spoken_of_when_its_thread_is_opened(chat, dial):
    answer = Message("assistant", (Text("391"),), Origin("openai", "gpt-5", "low"))
    thread = (ThreadMessage(0, answer, Usage(thinking=640)),)
    state = do(chat, dial, actions.ThreadOpened(model="gpt-5", past=thread, count=1))
    assert state.page[0].line == "· thought 640 tokens · low · not shown by the service"


def test_a_thread_that_is_opened_has_taken_what_it_took_before(chat, dial):
    answer = Message("assistant", (Text("391"),), Origin("openai", "gpt-5", "low"))
    thread = (ThreadMessage(0, answer, USAGE, cost=Decimal("0.25")),)
    before = UsageTally(input=100, thinking=400, output=50, used=True, cost=Decimal("2.50"))
    opened = actions.ThreadOpened(model="gpt-5", past=thread, count=1, tally=before)
    tally = do(chat, dial, opened).tally
    assert (tally.input, tally.thinking, tally.cost) == (100, 400, Decimal("2.50"))
    assert (tally.last, tally.last_cost, tally.context) == (USAGE, Decimal("0.25"), 55)


def test_a_partial_answer_is_marked_when_it_is_read_again(chat, dial):
    thread = (ThreadMessage(0, Message("assistant", (Text("It is"),)), partial=True),)
    state = do(chat, dial, actions.ThreadOpened(model="gpt-5", past=thread, count=1))
    assert state.page[0].cut == "stopped here"


# -- the context cap ------------------------------------------------------------------------------


def test_beside_a_long_context_the_policy_caps_the_budget():
    from pondero.client import load_catalog
    from pondero.thinking import Policy
    from pondero.tui.state import DialView

    capped = DialView(load_catalog(), Policy(context_cap=10_000))
    state = initial_state(capped, "claude-sonnet-4-5/medium")
    long = actions.ExchangeEnded(Usage(input=150_001, total=150_001), "stop", "as_planned")
    state = do(say(state, capped, "a")[0], capped, ended(exchanges=(long,)))
    state, (ask,) = say(state, capped, "b")
    assert ask.context == 150_001
    assert (state.plan.budget, state.plan.nominal) == (10_000, 43_008)
    assert [note.code for note in state.plan.adjustments] == ["context_cap"]
    warned = [
        cell for cell in state.page if isinstance(cell, NoticeCell) and cell.tone == "warning"
    ]
    assert "the policy limits thinking then to 10,000" in warned[-1].lines[0]
    again, _ = say(do(state, capped, ended(exchanges=(long,))), capped, "c")
    assert sum(isinstance(c, NoticeCell) and c.tone == "warning" for c in again.page) == len(warned)


def test_there_is_a_handler_for_every_action():
    assert set(_HANDLERS) == set(actions.Action.__subclasses__())


def test_what_a_waiting_command_did_to_the_cache_is_said_above_the_next_question(chat, dial):
    busy, _ = say(had(chat, dial), dial, "17 * 23?")
    busy, _ = say(busy, dial, "/thinking low")
    busy, _ = say(busy, dial, "and 18?")
    after, asked = reduce(busy, ended(), dial)
    assert any(isinstance(each, effects.Handoff) for each in asked)
    told = do(after, dial, actions.HandedOff(("  Cache: kept",), "cache kept"))
    *_, notice, question = told.page
    assert notice.lines == ("  Cache: kept",)
    assert question.text == "and 18?"
    assert told.cache == "cache kept"


@pytest.mark.parametrize(
    ("error", "way"),
    [
        (BadRequest("canned", status=400), "/raw shows what was sent"),
        (ServiceError("odd", status=418), "press Enter to send it again"),
        (StoreError("/proc/x.md cannot be written"), None),
    ],
)
def test_advice_names_something_that_helps_or_is_left_out(error, way):
    lines = describe_trouble(error)
    assert not any("shows what there is" in line for line in lines)
    assert [way in line for line in lines[1:]] == ([True] if way else [])

"""/retry and /compare: one question at several levels, each answer in a column, a small chat."""

import re
from collections.abc import Callable

from msgspec.structs import replace

from ....thinking import LEVELS
from .. import actions, effects
from ..catalog_view import DialView
from ..cells import AnswerCell, ThinkingCell, format_seconds, guess_tokens
from ..effects import Transition
from ..state import (
    ChatState,
    Column,
    ComparisonState,
    DraftQuestion,
    ThreadMessage,
    UsageTally,
    describe_cost,
)
from .history import cell_numbers, cells_of, find_models, find_sent, last_model
from .last_turn import restore_question
from .model_switch import switch_model
from .turn import on_ended, on_events, start_turn

MOST = 6
"""Answers that are asked for at once."""
_USE = (
    "at which levels, or with which models? /compare LEVEL|NAME[/LEVEL]... [QUESTION]",
    "  /compare low high compares two levels, /compare low gpt-5.5/high also two models",
)
_KEYS_A_COLUMN = 1_000_000
_LEVELS = {*LEVELS, "on", "none"}
_TOKENS = re.compile(r"\d+k", re.IGNORECASE)
_NAME = re.compile(r"\d|:")
_MIDDLE, _LONG = 4, 5
"""Letters of a level from which on a letter too many is a slip, and a wrong letter."""


def compare_command(state: ChatState, argument: str, dial: DialView) -> Transition:
    """Ask the last question, or the words after the levels, at several levels at once."""
    level_texts, words = _parse_levels(state, argument, dial)
    unused = (effects.SetAside(f"/compare {argument}"),) if argument else ()
    if not level_texts:
        return state.tell(*_USE), unused
    if len(level_texts) > MOST:
        return state.tell(
            f"✗ that are {len(level_texts)}; at most {MOST} at once", tone="error"
        ), unused
    return state, (effects.Recall("compare", level_texts, words),)


def retry(state: ChatState, argument: str, dial: DialView) -> Transition:
    """Ask the last question again, at this level or another, to compare the answers."""
    level_text = argument or state.level_text or state.plan.level or "on"
    _target(state, level_text, dial)  # refuse an impossible level before anything is asked
    return state, (effects.Recall("compare", (level_text,)),)


def on_compare(state: ChatState, action: actions.LastTurnLoaded, dial: DialView) -> Transition:
    """Open the comparison: of new words, or of the last question with its answer."""
    if action.words:
        asked = DraftQuestion(action.words, state.attached)
        return _open_comparison(state.but(attached=()), action, asked, state.count, (), dial)
    question, *answers = action.turn
    given = _make_existing_column(state, question.number, tuple(answers), action, dial)
    return _open_comparison(state, action, restore_question(question), question.number, given, dial)


def _open_comparison(
    state: ChatState,
    action: actions.LastTurnLoaded,
    asked: DraftQuestion,
    number: int,
    given: tuple[Column, ...],
    dial: DialView,
) -> Transition:
    columns = list(given)
    asks: list[effects.AskModel] = []
    for level_text in _drop_answered(state, action, dial):
        name, level = _target(state, level_text, dial)
        label = level_text
        if not _names_model(level_text, dial) and _names_models(state, action, dial):
            label = f"{state.name}/{level_text}"
        elif level and "/" not in level_text and _names_model(level_text, dial):
            label = f"{level_text}/{level}"
        chat = switch_model(_blank(state, number, len(columns)), name, level, dial)
        context = state.tally.context
        chat, ask = start_turn(chat, asked, action.at, dial, context=context, label=label)
        columns.append(Column(name=label, chat=chat.but(page=()), live=True))
        asks.append(ask)
    first = len(given)
    comparing = ComparisonState(asked.words, number, tuple(columns), at=first)
    return state.but(comparing=comparing), (effects.Compare(tuple(asks), number, first),)


def _drop_answered(
    state: ChatState, action: actions.LastTurnLoaded, dial: DialView
) -> tuple[str, ...]:
    """Return the columns to ask for: without the one that the thread's answer is, among others."""
    level_texts, turn = action.level_texts, action.turn
    if action.words or len(level_texts) < 2 or not turn or _is_unfit(turn[-1], paid=state.paid):
        return level_texts
    origin = turn[-1].message.origin
    if origin is None or origin.level is None:
        return level_texts
    has = (f"{origin.provider}:{origin.model}", origin.level)
    fresh = tuple(each for each in level_texts if _find_target(state, each, dial) != has)
    return fresh or level_texts


def _is_unfit(answer: ThreadMessage, *, paid: bool) -> bool:
    """Return whether an answer stands for no other: a part, or the emulator's before a service."""
    return answer.message.role != "assistant" or answer.partial or (paid and answer.offline)


def _find_target(
    state: ChatState, level_text: str, dial: DialView
) -> tuple[str, str | None] | None:
    """Return the model and the level that a column would get; None for a token budget."""
    name, level = _target(state, level_text, dial)
    if level is None or level.lower() not in _LEVELS:
        return None
    return name, dial.plan(name, level).level


def _names_models(state: ChatState, action: actions.LastTurnLoaded, dial: DialView) -> bool:
    """Return whether models are compared, not only levels: then every column names its model."""
    before = "" if action.words else last_model(action.turn)
    if before and before != state.model:
        return True
    return any(_names_model(each, dial) for each in action.level_texts)


def _names_model(level_text: str, dial: DialView) -> bool:
    return "/" in level_text or (_is_name(level_text) and dial.is_catalogued(level_text))


def _blank(state: ChatState, number: int, column: int) -> ChatState:
    return state.clear().but(
        first=number,
        last=number,
        count=number,
        queue=(),
        held=False,
        hint="",
        next_key=(column + 1) * _KEYS_A_COLUMN,
    )


def _make_existing_column(
    state: ChatState,
    number: int,
    answers: tuple[ThreadMessage, ...],
    action: actions.LastTurnLoaded,
    dial: DialView,
) -> tuple[Column, ...]:
    if not answers:
        return ()
    blank = _blank(state, number, 0)
    keys = cell_numbers(blank.next_key)
    tally = UsageTally()
    for each in answers:
        if each.message.role == "assistant":
            tally = tally.plus(each.usage, each.cost, at_least=each.is_cut)
    origin = next((a.message.origin for a in answers if a.message.origin is not None), None)
    level = origin.level if origin and origin.level else "as it was"
    name = f"{origin.model}/{level}" if origin and _names_models(state, action, dial) else level
    seconds = [each.seconds for each in answers if each.seconds is not None]
    chat = blank.but(page=cells_of(answers, dial, keys=keys), tally=tally, next_key=next(keys))
    took = sum(seconds) if seconds else None
    cut = "stopped" if answers[-1].partial else ""
    return (Column(name=name, chat=chat, seconds=took, given=True, cut=cut),)


def _parse_levels(state: ChatState, argument: str, dial: DialView) -> tuple[tuple[str, ...], str]:
    words, level_texts = argument, []
    while words:
        first, _, rest = words.partition(" ")
        named = [each for each in first.split(",") if each]  # low,high as on the command line
        if not named or not all(_is_column(each, dial) for each in named):
            break
        for each in named:
            _target(state, each, dial)
        level_texts += named
        words = rest.lstrip()
    return tuple(dict.fromkeys(level_texts)), words


def _is_column(word: str, dial: DialView) -> bool:
    """Return whether a word is meant as a column; a misspelt one is, so that it is not asked."""
    if _is_level(word) or _is_near_level(word):
        return True
    name, slash, level = word.rpartition("/")
    if not slash:
        return _is_name(word) and dial.is_catalogued(word)
    if dial.is_catalogued(word):
        return True
    meant = _is_level(level) or _is_near_level(level)
    return meant and _is_name(name)


def _is_level(word: str) -> bool:
    return word.lower() in _LEVELS or bool(_TOKENS.fullmatch(word))


def _is_name(word: str) -> bool:
    """Return whether this looks like a model's name: a question may begin with any other word."""
    return bool(_NAME.search(word))


def _is_near_level(word: str) -> bool:
    """Return whether this is a level with a slip: two letters swapped, one too many or too few."""
    return any(_is_slip(word, level) for level in LEVELS)


def _is_slip(word: str, level: str) -> bool:
    if word[:1] != level[:1] or word == level:
        return False
    if len(word) == len(level):
        differ = [at for at, (one, two) in enumerate(zip(word, level, strict=True)) if one != two]
        swapped = len(differ) == 2 and sorted(word) == sorted(level)
        return swapped or (len(differ) == 1 and len(level) >= _LONG)
    longer, shorter = (word, level) if len(word) > len(level) else (level, word)
    if len(longer) - len(shorter) != 1 or len(level) < _MIDDLE:
        return False
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def _target(state: ChatState, level_text: str, dial: DialView) -> tuple[str, str | None]:
    if _names_model(level_text, dial):
        name, level = dial.split(level_text)
    else:
        name, level = state.model, level_text
    dial.plan(name, level or state.level_text)
    return name, level or state.level_text


# -- while they answer ----------------------------------------------------------------------------


def on_columns_arrived(
    state: ChatState, action: actions.ColumnsArrived, _dial: DialView
) -> Transition:
    """Put what came into the columns, and advance their counters."""
    came = dict(action.events)
    for at, column in enumerate(state.comparing.columns if state.comparing else ()):
        if column.live:
            chat = on_events(column.chat, came.get(at, ()), action.at)
            state = _replace_column(state, at, replace(column, chat=chat))
    return state, ()


def on_column_ended(state: ChatState, action: actions.ColumnEnded, dial: DialView) -> Transition:
    """End one answer."""
    if state.comparing is None:
        return state, ()
    column = state.comparing.columns[action.column]
    turn = column.chat.turn
    chat, _ = on_ended(column.chat, action.ended, dial)
    ended = action.ended
    seconds = None if turn is None else ended.at - turn.began - ended.waited
    stored = bool(ended.stored)
    cut = "" if not stored else "stopped" if ended.stopped else "broken off" if ended.error else ""
    over = replace(column, chat=chat, live=False, seconds=seconds, stored=stored, cut=cut)
    after = _replace_column(state, action.column, over)
    if after.comparing is not None and not after.comparing.live:  # what the hint said is over
        after = after.but(comparing=replace(after.comparing, hint=""))
    return after, _keep_question(after.comparing)


def _keep_question(comparing: ComparisonState | None) -> effects.Effects:
    """Set the question aside if all answers failed: no thread has it."""
    if comparing is None or comparing.live:
        return ()
    if any(column.given or column.stored for column in comparing.columns):
        return ()
    return (effects.SetAside(comparing.words),)


def on_column_moved(state: ChatState, action: actions.ColumnMoved, _dial: DialView) -> Transition:
    """Choose the next column, or the one before."""
    if (comparing := state.comparing) is None:
        return state, ()
    at = (comparing.at + action.step) % len(comparing.columns)
    return state.but(comparing=replace(comparing, at=at, hint="")), ()


def on_closing(state: ChatState, action: actions.ComparisonClosing, _dial: DialView) -> Transition:
    """Keep the chosen answer, or none; those that still come are stopped first."""
    if (comparing := state.comparing) is None:
        return state, ()
    if comparing.live:
        if action.keep:
            hint = "they are still answering; Esc stops them"
            return state.but(comparing=replace(comparing, hint=hint)), ()
        return state.but(comparing=replace(comparing, hint="stopping…")), (effects.Stop(),)
    column = comparing.columns[comparing.at]
    if action.keep and not (column.stored or column.given):
        hint = "there is no answer in this column to keep"
        return state.but(comparing=replace(comparing, hint=hint)), ()
    chosen = comparing.at if action.keep and not column.given else None
    names = tuple(each.name for each in comparing.columns)
    return state.but(comparing=None), (effects.CloseComparison(comparing.number, chosen, names),)


def on_closed(state: ChatState, action: actions.ComparisonClosed, dial: DialView) -> Transition:
    """Put the kept answer on the page."""
    if action.past:
        state = state.rewind(action.past[0].number)
        keys = cell_numbers(state.next_key)
        models = find_models(action.past, state.named or state.model)
        cells = cells_of(action.past, dial, keys=keys, opened=state.show == "open", models=models)
        count = state.count + len(action.past)
        tally = state.tally
        for each in action.past:
            if each.message.role == "assistant":
                tally = tally.plus(each.usage, each.cost, at_least=each.is_cut)
        state = state.but(
            page=(*state.page, *cells),
            next_key=next(keys),
            named=last_model(action.past) or state.named,
            count=count,
            last=count,
            tally=tally,
            cache="",
            sent=find_sent(action.past, dial),
            thread=action.thread or state.thread,
            unsaved=action.unsaved,
        )
    return (state.tell(*action.lines) if action.lines else state), ()


def column_figures(column: Column, *, paid: bool = True) -> tuple[str, str]:
    """Return the usage of an answer in two lines: thinking and answer, cost and time."""
    tally = column.chat.tally
    if not (tally.used or column.cut):
        return ("answering…" if column.live else "nothing came", "")
    thinking, output = _count_tokens(column)
    at_least = tally.at_least or bool(column.cut and not column.given)
    cost = describe_cost(tally.cost, paid=paid, at_least=at_least)
    took = format_seconds(column.seconds) or ("0 s" if column.seconds is not None else "")
    return (
        f"thinking {thinking} · answer {output}",
        " · ".join(word for word in (column.cut, cost, took) if word),
    )


def _count_tokens(column: Column) -> tuple[str, str]:
    """Return the tokens of thinking and answer; about how many if only a part came."""
    tally, page = column.chat.tally, column.chat.page
    if column.cut:  # services report the output at its end
        thoughts = sum(guess_tokens(c.text) for c in page if isinstance(c, ThinkingCell))
        answers = sum(guess_tokens(c.text) for c in page if isinstance(c, AnswerCell))
        return f"~{max(thoughts, tally.thinking or 0):,}", f"~{max(answers, tally.output or 0):,}"
    thinking = "unknown" if tally.thinking is None else f"{tally.thinking:,}"
    return thinking, "unknown" if tally.output is None else f"{tally.output:,}"


def _replace_column(state: ChatState, at: int, column: Column) -> ChatState:
    comparing = state.comparing
    if comparing is None:
        return state
    columns = (*comparing.columns[:at], column, *comparing.columns[at + 1 :])
    return state.but(comparing=replace(comparing, columns=columns))


def toggle_thinking(state: ChatState, change: Callable[[ChatState], ChatState]) -> ChatState:
    """Return the state with the thinking of all columns opened or folded."""
    for at, column in enumerate(state.comparing.columns if state.comparing else ()):
        state = _replace_column(state, at, replace(column, chat=change(column.chat)))
    return state

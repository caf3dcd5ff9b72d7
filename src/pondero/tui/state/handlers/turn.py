"""A turn of the chat: its events as live cells, its end, and what to say when it fails."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from .... import errors
from ....canon import (
    Finished,
    PartEnd,
    PartStart,
    Started,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
)
from ....errors import PonderoError
from .. import actions, effects
from ..catalog_view import SUMMARIES, DialView
from ..cells import (
    AnswerCell,
    Cell,
    ModelCell,
    Nature,
    ThinkingCell,
    ToolCallCell,
    UserCell,
    WaitingCell,
)
from ..effects import Transition
from ..state import ChatState, DraftQuestion, FailedQuestion, SentPlan, TurnInProgress
from .history import describe_attachment, format_arguments, join_results, trim_page


def start_turn(
    state: ChatState,
    asked: DraftQuestion,
    at: float,
    dial: DialView,
    *,
    context: int | None,
    label: str = "",
) -> tuple[ChatState, effects.AskModel]:
    """Begin a turn; the plan is made again, because the context has grown."""
    made = dial.plan(state.model, state.level_text, context=context)
    known = {note.code for note in state.plan.adjustments}
    if fresh := [f"⚠ {note.why}" for note in made.adjustments if note.code not in known]:
        state = state.tell(*fresh, tone="warning")
    key, number = state.next_key, state.count
    page: tuple[Cell, ...] = (UserCell(key=key, text=question_text(asked), number=number),)
    if state.named not in ("", state.model):
        page = (*page, ModelCell(key=key + 1, model=state.model, number=number))
    begun = state.but(
        plan=made,
        page=(*state.page, *page),
        live=(WaitingCell(key=key + 2, model=state.name, began=at, number=number),),
        turn=TurnInProgress(asked, began=at, number=number),
        failed=None,
        named=state.model,
        next_key=key + 3,
    )
    model, level_text, system = state.model, state.level_text, state.system
    last_prompt = state.tally.last_prompt if context is not None else None
    ask = effects.AskModel(
        asked.words, model, level_text, system, context, asked.parts, last_prompt, label
    )
    return begun, ask


def question_text(asked: DraftQuestion) -> str:
    """Return a question as the page shows it."""
    return "\n".join((*(describe_attachment(part) for part in asked.parts), asked.words)).strip()


def on_events(state: ChatState, events: tuple[actions.Arrival, ...], at: float) -> ChatState:
    """Return the state with these events in its live cells, and its counters at this time."""
    if state.turn is None:
        return state
    drawing = _Drawing(state, state.turn, at)
    for event in _merge_deltas(events):
        drawing.feed(event)
    return drawing.state()


class _Drawing:
    """The live cells while a frame's events are put into them."""

    def __init__(self, state: ChatState, turn: TurnInProgress, at: float) -> None:
        self._was = state
        self._turn = turn
        self._at = at
        self._cells = list(state.live)
        self._places = dict(turn.places)
        self._exchange_at = turn.exchange_at
        self._key = state.next_key
        self._handlers: dict[type, Callable[[Any], None]] = {
            Started: self._start_exchange,
            actions.RetryWait: self._wait_for_retry,
            PartStart: self._start_part,
            TextDelta: self._add_delta,
            ThinkingDelta: self._add_delta,
            PartEnd: self._end_part,
            Finished: self._finish_exchange,
        }

    def feed(self, event: actions.Arrival) -> None:
        """Draw one event."""
        if handler := self._handlers.get(type(event)):
            handler(event)

    def state(self) -> ChatState:
        """Return the state with the new cells."""
        turn = replace(
            self._turn, places=tuple(self._places.items()), exchange_at=self._exchange_at
        )
        live = tuple(self._update_counter(cell) for cell in self._cells)
        return self._was.but(live=live, turn=turn, next_key=self._key)

    # -- events ---------------------------------------------------------------------------------

    def _start_exchange(self, _event: Started) -> None:
        self._places.clear()
        self._exchange_at = len(self._cells)

    def _wait_for_retry(self, event: actions.RetryWait) -> None:
        if event.seconds < 1:  # it is over before it is read
            return
        said = {"reason": event.reason, "failed": event.at, "wait": event.seconds}
        if not any(isinstance(cell, WaitingCell) for cell in self._cells):  # after a tool ran
            number, model = self._turn.number, self._was.name
            self._cells.append(
                WaitingCell(key=self._key, model=model, began=event.at, number=number)
            )
            self._key += 1
        self._cells = [replace(c, **said) if isinstance(c, WaitingCell) else c for c in self._cells]

    def _start_part(self, event: PartStart) -> None:
        number = self._turn.number
        self._cells = [cell for cell in self._cells if not isinstance(cell, WaitingCell)]
        self._exchange_at = min(self._exchange_at, len(self._cells))
        if event.kind == "thinking":
            self._add(
                event.index,
                ThinkingCell(
                    key=self._key,
                    level=self._was.plan.level,
                    began=self._at,
                    seconds=0.0,
                    nature=self._nature(),
                    live=True,
                    open=self._was.show == "open",
                    number=number,
                ),
            )
        elif event.kind == "text":
            self._add(event.index, AnswerCell(key=self._key, live=True, number=number))
        elif event.kind == "tool_call":
            name = event.name or "tool"
            call = ToolCallCell(
                key=self._key, id=event.id or "", name=name, live=True, number=number
            )
            self._add(event.index, call)

    def _add_delta(self, event: TextDelta | ThinkingDelta) -> None:
        place = self._places.get(event.index)
        if place is not None:
            cell = self._cells[place]
            if isinstance(cell, ThinkingCell | AnswerCell):
                self._cells[place] = replace(cell, text=cell.text + event.text)

    def _end_part(self, event: PartEnd) -> None:
        place = self._places.get(event.index)
        cell = None if place is None else self._cells[place]
        if place is None or cell is None:
            return
        if isinstance(cell, ThinkingCell) and isinstance(event.part, Thinking):
            nature = "redacted" if event.part.redacted else cell.nature
            text = event.part.text or cell.text
            cell = replace(
                self._end_thinking(cell), text=text, nature=nature if text else _unread(nature)
            )
        elif isinstance(cell, AnswerCell):
            cell = replace(cell, live=False)
        elif isinstance(cell, ToolCallCell) and isinstance(event.part, ToolCall):
            words = format_arguments(event.part.arguments)
            cell = replace(cell, id=event.part.id, name=event.part.name, arguments=words)
        self._cells[place] = cell

    def _finish_exchange(self, event: Finished) -> None:
        before, mine = self._cells[: self._exchange_at], self._cells[self._exchange_at :]
        tokens = event.usage.thinking
        seen = [
            c for c in mine if isinstance(c, ThinkingCell) and (c.text or c.nature == "redacted")
        ]
        blind = [c for c in mine if isinstance(c, ThinkingCell) and c not in seen]
        spare = blind if seen or not tokens else blind[1:]
        mine = [cell for cell in mine if cell not in spare]
        if tokens and not seen and not blind:
            mine.insert(0, self._make_hidden_thought())
        thoughts = [cell for cell in mine if isinstance(cell, ThinkingCell)]
        if tokens and len(thoughts) == 1:
            at = mine.index(thoughts[0])
            mine[at] = replace(thoughts[0], tokens=tokens)
        self._cells = before + mine
        self._places.clear()

    # -- cells ----------------------------------------------------------------------------------

    def _add(self, index: int, cell: Cell) -> None:
        self._places[index] = len(self._cells)
        self._cells.append(cell)
        self._key += 1

    def _make_hidden_thought(self) -> ThinkingCell:
        level, number = self._was.plan.level, self._turn.number
        thought = ThinkingCell(key=self._key, level=level, nature="hidden", number=number)
        self._key += 1
        return thought

    def _nature(self) -> Nature:
        return "summary" if self._was.shown in SUMMARIES else "full"

    def _end_thinking(self, cell: ThinkingCell) -> ThinkingCell:
        return replace(cell, live=False, seconds=self._at - cell.began)

    def _update_counter(self, cell: Cell) -> Cell:
        if isinstance(cell, WaitingCell):
            return cell.count_down(self._at)
        if isinstance(cell, ThinkingCell) and cell.live:
            seconds = float(int(self._at - cell.began))
            return cell if cell.seconds == seconds else replace(cell, seconds=seconds)
        return cell


def _unread(nature: Nature) -> Nature:
    return "redacted" if nature == "redacted" else "hidden"


def _merge_deltas(events: Iterable[actions.Arrival]) -> Iterable[actions.Arrival]:
    for key, group in groupby(events, key=_delta_key):
        if key is None:
            yield from group
        else:
            kind, index = key
            deltas = (each for each in group if isinstance(each, TextDelta | ThinkingDelta))
            yield kind(index, "".join(delta.text for delta in deltas))


def _delta_key(event: actions.Arrival) -> tuple[type[TextDelta | ThinkingDelta], int] | None:
    return (type(event), event.index) if isinstance(event, TextDelta | ThinkingDelta) else None


def finish_cells(cells: Iterable[Cell], *, at: float, cut: str | None) -> tuple[Cell, ...]:
    """Return the live cells as they stay after the turn; ``cut`` is why the answer is not whole."""
    stored = [_finish_cell(cell, at) for cell in cells if not isinstance(cell, WaitingCell)]
    if cut and stored and isinstance(last := stored[-1], AnswerCell | ThinkingCell):
        stored[-1] = replace(last, cut=cut)
    return tuple(stored)


def _finish_cell(cell: Cell, at: float) -> Cell:
    if isinstance(cell, ThinkingCell) and cell.live:
        nature: Nature = cell.nature if cell.text else "hidden"
        return replace(cell, live=False, seconds=at - cell.began, nature=nature)
    if isinstance(cell, AnswerCell | ToolCallCell) and cell.live:
        return replace(cell, live=False)
    return cell


_ODD = {
    "did_not_think": "it did not think, although thinking was on",
    "thought_though_off": "it thought, though thinking was off",
    "overran_budget": "it thought more than its budget",
}


def on_ended(state: ChatState, action: actions.TurnEnded, _dial: DialView) -> Transition:
    """End the turn; if nothing of it was stored, its words go back to the input line."""
    if state.turn is None:
        return state, ()
    cut = "stopped here" if action.stopped else "broken off here" if action.error else None
    cells = join_results(finish_cells(state.live, at=action.at, cut=cut), action.stored)
    tally, verdict = state.tally, state.verdict
    for each in action.exchanges:
        tally = tally.plus(each.usage, each.cost, at_least=each.at_least)
        verdict = each.verdict or verdict  # what was cut off has none
    asked, number = state.turn.asked, state.turn.number
    count = state.count + len(action.stored)
    page: tuple[Cell, ...] = (*state.page, *cells)
    elsewhere = state.last < state.count  # an older part is being read; the turn is on disk
    if not action.stored:  # what is not in the thread has no number there
        page = tuple(replace(c, number=None) if c.number == number else c for c in page)
    elif elsewhere:
        page = tuple(c for c in page if c.number != number)
    after = state.but(
        page=page,
        turns=(*state.turns, (number, count)) if action.stored else state.turns,
        live=(),
        turn=None,
        hint="",
        count=count,
        last=state.last if elsewhere else count,
        tally=tally,
        verdict=verdict,
        cache="",
        sent=SentPlan(state.model, state.plan.fields) if action.exchanges else state.sent,
        thread=action.thread or state.thread,
        unsaved=action.unsaved,
    )
    if action.error is not None:
        after = after.but(failed=FailedQuestion(asked, number if action.stored else None))
    after = trim_page(_remarks(after, action))
    if action.grown:
        after = after.tell(*_GROWN, tone="warning")
    after = _tell_unsaved(after, action.unsaved, state.unsaved)
    if action.stored:
        return after, ()
    return after.but(attached=(*asked.parts, *after.attached)), (effects.RestoreInput(asked.words),)


def on_saved(state: ChatState, action: actions.LateSave, _dial: DialView) -> Transition:
    """Say that nothing waits to be saved any more, or that something does."""
    after = state.but(thread=action.thread or state.thread, unsaved=action.unsaved)
    if action.grown:
        after = after.tell(*_GROWN, tone="warning")
    if action.unsaved is None:
        after = after.tell("✓ The chat is saved again", tone="good")
    return _tell_unsaved(after, action.unsaved, state.unsaved), ()


def _tell_unsaved(state: ChatState, why: str | None, before: str | None) -> ChatState:
    if not why or why == before:
        return state
    return state.tell(f"⚠ {why}", "  → the chat continues, unsaved", tone="warning")


_GROWN = (
    "⚠ The thread has grown elsewhere since you opened it",
    "  → this chat continues in a copy of it; Ctrl+L shows both",
)


def _remarks(state: ChatState, action: actions.TurnEnded) -> ChatState:
    for each in action.exchanges:
        if fresh := [note for note in each.notes if note not in state.noted]:
            state = state.but(noted=(*state.noted, *fresh))
            state = state.tell(*(f"⚠ {note}" for note in fresh), tone="warning")
        if each.verdict == "exhausted":
            lines = ("⚠ All output went into thinking, none into an answer",)
            state = state.tell(*lines, "  → a lower level with Ctrl+T leaves room", tone="warning")
        elif each.finish == "length":
            state = state.tell("⚠ The answer was cut off: no more tokens", tone="warning")
        elif each.finish in ("refusal", "content_filter"):
            state = state.tell("⚠ The service refused to answer this", tone="warning")
        if each.verdict in _ODD:
            state = state.tell(f"⚠ {_ODD[each.verdict]}", tone="warning")
    if action.error is not None:
        usual = "" if isinstance(action.error, errors.UsageError) else _AGAIN
        state = state.tell(*describe_trouble(action.error, usual), tone="error")
    if action.stopped and not action.stored:
        state = state.tell("stopped before an answer; your words are back")
    return state


_AGAIN = "press Enter to send it again"
_WAYS: tuple[tuple[type[PonderoError], str], ...] = (
    (errors.MissingKey, "set it and start again, or /model; pondero chat --offline needs none"),
    (errors.AuthFailed, "check the key: /doctor says where it comes from"),
    (errors.PermissionDenied, "this key may not use it: choose another with /model"),
    (errors.BillingFailed, "choose another provider with /model"),
    (errors.QuotaSpent, "choose another provider with /model"),
    (errors.NotFound, "is it spelt right? /model with Tab completes the names"),
    (errors.ContextTooLong, "/new begins afresh; or choose a model with a longer window"),
    (errors.RateLimited, f"wait a little, then {_AGAIN}; or /model"),
    (errors.Overloaded, f"wait a little, then {_AGAIN}; or /model"),
    (errors.Refused, "say it in other words, or /model"),
    (errors.ServerFailed, f"{_AGAIN}, or /model"),
    (
        errors.BadRequest,
        "/raw shows what was sent; try other words, a level with Ctrl+T, or /model",
    ),
    (errors.ServiceError, f"{_AGAIN}, or /model; /raw shows what came"),
    (errors.Timeout, f"{_AGAIN}, or try less thinking with Ctrl+T"),
    (errors.Unreachable, f"is there a network? {_AGAIN}; pondero chat --offline works without one"),
    (errors.Truncated, _AGAIN),
    (errors.WireError, f"{_AGAIN}; /raw shows what came"),
)


_WRONG_ADDRESS = "check the base URL"
_ELSEWHERE = "correct its address and start again, or /model; /raw shows what came"
_NAMED_BY_NOTES = (errors.NotFound, errors.BadRequest)  # a note says which address has nothing


_SHELL_COMMANDS = {"'pondero models'": "/model", "'pondero threads list'": "/resume"}


def name_chat_commands(text: str) -> str:
    """Return an error's text with commands of the chat for those of the shell."""
    for shell, chat in _SHELL_COMMANDS.items():
        text = text.replace(shell, chat)
    return text


def describe_trouble(error: PonderoError, usual: str = "") -> tuple[str, ...]:
    """Return what went wrong and what the user can do about it, a line each.

    An error about a value that the user gave, or about a file, names the cure itself. ``usual``
    is the advice where no better one is known.
    """
    said = name_chat_commands(" ".join(str(error).split())) or type(error).__name__
    status = getattr(error, "status", None)  # an error without its keys, see reports, has none
    kind = f" ({status})" if status else ""
    notes = tuple(f"  → {note}" for note in errors.user_notes(error))
    if notes and isinstance(error, _NAMED_BY_NOTES):
        return (f"✗ {said}{kind}", *notes)
    way = next((way for kind, way in _WAYS if isinstance(error, kind)), usual)
    if isinstance(error, errors.Malformed) and _WRONG_ADDRESS in said:
        way = _ELSEWHERE  # the same answer would come again
    return (f"✗ {said}{kind}", *notes, *((f"  → {way}",) if way else ()))

"""Events of an answer under way, as live cells."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from ...canon import (
    Event,
    Finished,
    PartEnd,
    PartStart,
    Started,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
)
from .cells import Called, Cell, Nature, Spoken, Thought, Waiting
from .dial import SUMMARIES
from .past import arguments_of
from .state import State


def arrived(state: State, events: tuple[Event, ...], at: float) -> State:
    """Return the state with these events drawn, and every counter at this time."""
    if state.turn is None:
        return state
    drawing = _Drawing(state, at)
    for event in _joined(events):
        drawing.feed(event)
    return drawing.state()


class _Drawing:
    """The live cells while a frame's events are put into them."""

    def __init__(self, state: State, at: float) -> None:
        assert state.turn is not None  # noqa: S101 - the caller has looked
        self._was = state
        self._turn = state.turn
        self._at = at
        self._cells = list(state.live)
        self._places = dict(state.turn.places)
        self._exchange_at = state.turn.exchange_at
        self._key = state.next_key
        self._handlers: dict[type, Callable[[Any], None]] = {
            Started: self._started,
            PartStart: self._part,
            TextDelta: self._delta,
            ThinkingDelta: self._delta,
            PartEnd: self._ended,
            Finished: self._finished,
        }

    def feed(self, event: Event) -> None:
        """Draw one event."""
        if handler := self._handlers.get(type(event)):
            handler(event)

    def state(self) -> State:
        """Return the state with what was drawn."""
        turn = replace(
            self._turn, places=tuple(self._places.items()), exchange_at=self._exchange_at
        )
        live = tuple(self._ticking(cell) for cell in self._cells)
        return self._was.but(live=live, turn=turn, next_key=self._key)

    # -- events ---------------------------------------------------------------------------------

    def _started(self, event: Started) -> None:
        del event
        self._places.clear()
        self._exchange_at = len(self._cells)

    def _part(self, event: PartStart) -> None:
        number = self._turn.number
        self._cells = [cell for cell in self._cells if not isinstance(cell, Waiting)]
        self._exchange_at = min(self._exchange_at, len(self._cells))
        if event.kind == "thinking":
            self._add(
                event.index,
                Thought(
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
            self._add(event.index, Spoken(key=self._key, live=True, number=number))
        elif event.kind == "tool_call":
            name = event.name or "tool"
            call = Called(key=self._key, id=event.id or "", name=name, live=True, number=number)
            self._add(event.index, call)

    def _delta(self, event: TextDelta | ThinkingDelta) -> None:
        place = self._places.get(event.index)
        if place is not None:
            cell = self._cells[place]
            if isinstance(cell, Thought | Spoken):
                self._cells[place] = replace(cell, text=cell.text + event.text)

    def _ended(self, event: PartEnd) -> None:
        place = self._places.get(event.index)
        cell = None if place is None else self._cells[place]
        if place is None or cell is None:
            return
        if isinstance(cell, Thought) and isinstance(event.part, Thinking):
            nature = "redacted" if event.part.redacted else cell.nature
            text = event.part.text or cell.text
            cell = replace(self._over(cell), text=text, nature=nature if text else _unread(nature))
        elif isinstance(cell, Spoken):
            cell = replace(cell, live=False)
        elif isinstance(cell, Called) and isinstance(event.part, ToolCall):
            words = arguments_of(event.part.arguments)
            cell = replace(cell, id=event.part.id, name=event.part.name, arguments=words)
        self._cells[place] = cell

    def _finished(self, event: Finished) -> None:
        """Count the thinking of the exchange that ends; speak of what nobody could see."""
        before, mine = self._cells[: self._exchange_at], self._cells[self._exchange_at :]
        tokens = event.usage.thinking
        seen = [c for c in mine if isinstance(c, Thought) and (c.text or c.nature == "redacted")]
        blind = [c for c in mine if isinstance(c, Thought) and c not in seen]
        spare = blind if seen or not tokens else blind[1:]
        mine = [cell for cell in mine if cell not in spare]
        if tokens and not seen and not blind:
            mine.insert(0, self._unseen())
        thoughts = [cell for cell in mine if isinstance(cell, Thought)]
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

    def _unseen(self) -> Thought:
        level, number = self._was.plan.level, self._turn.number
        thought = Thought(key=self._key, level=level, nature="hidden", number=number)
        self._key += 1
        return thought

    def _nature(self) -> Nature:
        return "summary" if self._was.shown in SUMMARIES else "full"

    def _over(self, cell: Thought) -> Thought:
        return replace(cell, live=False, seconds=self._at - cell.began)

    def _ticking(self, cell: Cell) -> Cell:
        """Return a cell with its counter at this time, in whole seconds."""
        if isinstance(cell, Waiting) or (isinstance(cell, Thought) and cell.live):
            seconds = float(int(self._at - cell.began))
            return cell if cell.seconds == seconds else replace(cell, seconds=seconds)
        return cell


def _unread(nature: Nature) -> Nature:
    return "redacted" if nature == "redacted" else "hidden"


def _joined(events: Iterable[Event]) -> Iterable[Event]:
    """Yield the events with neighbouring deltas of one part as one."""
    for (kind, index), group in groupby(events, key=lambda e: (type(e), getattr(e, "index", None))):
        if kind in (TextDelta, ThinkingDelta) and index is not None:
            text = "".join(event.text for event in group)  # type: ignore[union-attr]  # deltas
            yield TextDelta(index, text) if kind is TextDelta else ThinkingDelta(index, text)
        else:
            yield from group


def settled(cells: Iterable[Cell], *, at: float, cut: str | None) -> tuple[Cell, ...]:
    """Return live cells as they stay when the turn is over; ``cut`` is why it is not whole."""
    kept: list[Cell] = []
    for cell in cells:
        if isinstance(cell, Waiting):
            continue
        if isinstance(cell, Thought) and cell.live:
            nature: Nature = cell.nature if cell.text else "hidden"
            cell = replace(cell, live=False, seconds=at - cell.began, nature=nature)  # noqa: PLW2901 - the same cell, at rest
        elif isinstance(cell, Spoken | Called) and cell.live:
            cell = replace(cell, live=False)  # noqa: PLW2901 - the same cell, at rest
        kept.append(cell)
    if cut and kept and isinstance(kept[-1], Spoken):
        kept[-1] = replace(kept[-1], cut=cut)
    return tuple(kept)

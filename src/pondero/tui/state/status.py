"""The status line: as much as fits, the least important left out first."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ...canon import escape_controls
from .handlers.history import describe_attachment
from .handlers.model_switch import is_uncatalogued
from .handlers.turn import question_text
from .state import AT_LEAST, ChatState, describe_cost

BETWEEN = " · "
KEPT = "cache kept"
_LOST = "cache lost"


class StatusPiece(Struct, frozen=True):
    """A piece of the line; the one with the highest ``rank`` is dropped first."""

    text: str
    rank: int
    tone: str = "plain"


_MILLION = 1_000_000
_SPARE = 6
"""From this rank on, a piece goes before the model's name is shortened."""
_SHORTEST = 16
"""Characters that stay of a longer model's name."""
_VERDICTS = {
    "as_planned": "as planned",
    "did_not_think": "did not think",
    "thought_though_off": "thought though off",
    "overran_budget": "over its budget",
    "exhausted": "no room for an answer",
}


def status(state: ChatState, width: int) -> tuple[StatusPiece, ...]:
    """Return the pieces that fit into this width, in their order; the model always does.

    What a change does to the cache is said more briefly before it is left out.
    """
    found = _fit_pieces(state, width)
    if not state.cache or any(piece.text == state.cache for piece in found):
        return found
    return _fit_pieces(state.but(cache=_LOST), width)


def _fit_pieces(state: ChatState, width: int) -> tuple[StatusPiece, ...]:
    found = _fit(_pieces(state), width)
    brief = _fit([_shorten_cost(piece) for piece in _pieces(state)], width)
    return brief if _count_needed(brief) > _count_needed(found) else found


def _count_needed(pieces: Iterable[StatusPiece]) -> int:
    return sum(piece.rank < _SPARE for piece in pieces)


def _shorten_cost(piece: StatusPiece) -> StatusPiece:
    return replace(piece, text=piece.text.replace(AT_LEAST, "≥"))


def _fit(all_: list[StatusPiece], width: int) -> tuple[StatusPiece, ...]:
    pieces = _drop_pieces([piece for piece in all_ if piece.text], width, least=_SPARE)
    model, *others = pieces
    if _width(pieces) <= width:
        return tuple(pieces)
    _, *others = _drop_pieces([replace(model, text=_cut(model.text, _SHORTEST)), *others], width)
    room = width - _width([replace(model, text=""), *others])
    return (replace(model, text=_cut(model.text, room)), *others) if others else (model,)


def _drop_pieces(pieces: list[StatusPiece], width: int, *, least: int = 1) -> list[StatusPiece]:
    left = list(pieces)
    while _width(left) > width and (spare := [piece for piece in left if piece.rank >= least]):
        left.remove(max(spare, key=lambda piece: piece.rank))
    return left


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _pieces(state: ChatState) -> list[StatusPiece]:
    tally = state.tally
    verdict = _VERDICTS.get(state.verdict or "", "")
    odd = state.verdict != "as_planned"
    doubtful = is_uncatalogued(state.plan)
    return [
        StatusPiece(escape_controls(state.name), 0, "warning" if doubtful else "model"),
        StatusPiece("not in the catalog" if doubtful else "", _SPARE, "warning"),
        StatusPiece(_level(state), 1, "level"),
        StatusPiece(state.cache, 2, _tone(odd=state.cache != KEPT)),
        StatusPiece("unsaved" if state.unsaved else "", 2, "warning"),
        StatusPiece(_context(state), 8),
        StatusPiece(_count("in", tally.all_input), 7),
        StatusPiece(_count("thinking", tally.thinking), 5),
        StatusPiece(_count("answer", tally.output), 6),
        StatusPiece(_cost(state), 4),
        StatusPiece(verdict, 3 if odd else 9, _tone(odd=odd)),
    ]


def _level(state: ChatState) -> str:
    plan = state.plan
    got = plan.level or (f"{plan.budget:,}" if plan.budget is not None else None)
    if plan.asked is None:
        return "thinking unset"
    asked = f"{plan.asked:,}" if isinstance(plan.asked, int) else plan.asked
    return asked if asked == got else f"{asked} → {got or ('up to it' if plan.fields else 'unset')}"


def _count(label: str, tokens: int | None) -> str:
    if tokens is None:
        return ""
    return f"{label} {tokens:,}" if tokens < _MILLION else f"{label} {tokens / _MILLION:.1f}M"


def _context(state: ChatState) -> str:
    context = state.tally.context
    if context is None:
        return ""
    share = f"{context * 100 / state.window:.0f}%" if state.window else f"{context:,}"
    return f"context {share}"


def _cost(state: ChatState) -> str:
    if not state.tally.used:
        return "" if state.paid else "offline"
    return describe_cost(state.tally.cost, paid=state.paid, at_least=state.tally.at_least)


def _tone(*, odd: bool) -> str:
    return "warning" if odd else "good"


def _width(pieces: list[StatusPiece]) -> int:
    return sum(len(piece.text) for piece in pieces) + len(BETWEEN) * (len(pieces) - 1)


_WAITING = 3
"""Lines of waiting words that are seen at once."""


def queued_lines(state: ChatState) -> tuple[str, ...]:
    """Return the words that wait to be sent, and what goes with the next ones, a line each."""
    attached = [f"with: {describe_attachment(part)}" for part in state.attached[:_WAITING]]
    if (more := len(state.attached) - _WAITING) > 0:
        attached.append(f"      and {more} more")
    if not state.queue:
        return tuple(attached)
    when = "waits" if state.held else "next"
    lines = [
        f"{when}: {_cut(' '.join(question_text(asked).split()), 200)}"
        for asked in state.queue[:_WAITING]
    ]
    if (more := len(state.queue) - _WAITING) > 0:
        lines.append(f"      and {more} more")
    lines[-1] += "  (↑ takes the last back)"
    return (*lines, *attached)

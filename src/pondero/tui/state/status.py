"""The status line: as much as fits, the least important left out first."""

from msgspec import Struct

from .state import State, money

BETWEEN = " · "


class Piece(Struct, frozen=True):
    """A piece of the line; the one with the highest ``rank`` is dropped first."""

    text: str
    rank: int
    tone: str = "plain"


def status(state: State, width: int) -> tuple[Piece, ...]:
    """Return the pieces that fit into this width, in their order; the model always does."""
    pieces = [piece for piece in _pieces(state) if piece.text]
    while len(pieces) > 1 and _width(pieces) > width:
        pieces.remove(max(pieces, key=lambda piece: piece.rank))
    return tuple(pieces)


def _pieces(state: State) -> list[Piece]:
    tally = state.tally
    odd = state.verdict not in (None, "as_planned", "unknown")
    return [
        Piece(state.name, 0, "model"),
        Piece(_level(state), 1, "level"),
        Piece("unsaved" if state.unsaved else "", 2, "warning"),
        Piece(_context(state), 5),
        Piece(_count("in", tally.all_input), 6),
        Piece(_count("thinking", tally.thinking), 4),
        Piece(_count("out", tally.output), 7),
        Piece(_cost(state), 8),
        Piece((state.verdict or "").replace("_", " "), 3 if odd else 9, _tone(odd=odd)),
    ]


def _level(state: State) -> str:
    """Return the level asked for, and the one the model gets where that differs."""
    plan = state.plan
    got = plan.level or (f"{plan.budget:,}" if plan.budget is not None else None)
    if plan.asked is None:
        return "thinking unset"
    asked = f"{plan.asked:,}" if isinstance(plan.asked, int) else plan.asked
    return asked if asked == got else f"{asked} → {got or 'up to the model'}"


def _count(what: str, tokens: int | None) -> str:
    """Return a figure with its name; nothing where no service has reported it."""
    return "" if tokens is None else f"{what} {tokens:,}"


def _context(state: State) -> str:
    context = state.tally.context
    if context is None:
        return ""
    if not state.window:
        return f"{context:,} context"
    return f"{context * 100 / state.window:.0f}% of {_short(state.window)}"


def _short(tokens: int) -> str:
    return (
        f"{tokens / 1_000_000:.1f}M".replace(".0M", "M")
        if tokens >= 1_000_000
        else f"{tokens // 1000}k"
    )


def _cost(state: State) -> str:
    if not state.tally.used:
        return ""
    cost = state.tally.cost
    return "cost unknown" if cost is None else money(cost)


def _tone(*, odd: bool) -> str:
    return "warning" if odd else "good"


def _width(pieces: list[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces) + len(BETWEEN) * (len(pieces) - 1)

"""Commands that look: the plan, the cost, the wire; and what is shown, and how."""

from msgspec.structs import replace

from ...thinking import describe
from .cells import Cell, Thought
from .dial import Dial
from .effects import Dress, Effects, Examine, Note, Wire
from .state import Show, State
from .tally import Tally, money

_SHOWS: tuple[Show, ...] = ("auto", "open", "hidden")
_THEMES = ("dark", "light")


def plan(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Say what would be sent at this level, or another, and why."""
    made = dial.plan(state.model, argument or state.wish, context=state.tally.context)
    lines = [f"{label:<8}{text}".rstrip() for label, text in describe(made)]
    return state.tell(*lines), ()


def cost(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Say what the thread has used."""
    del argument, dial
    tally = state.tally
    if not tally.used:
        return state.tell("nothing was used yet"), ()
    last = Tally().plus(tally.last, tally.last_cost)
    rows = (
        ("in", last.input, tally.input),
        ("cached", last.cached, tally.cached),
        ("thinking", last.thinking, tally.thinking),
        ("out", last.output, tally.output),
    )
    lines = [f"{'':<10}{'last':>12}{'all':>12}"]
    lines += [f"{name:<10}{_figure(one):>12}{_figure(all_):>12}" for name, one, all_ in rows]
    lines.append(f"{'cost':<10}{money(tally.last_cost):>12}{money(tally.cost):>12}")
    if tally.cost is None:
        lines.append(f"a price is not known{': ' if state.unpriced else ''}{state.unpriced}")
    return state.tell(*lines), ()


def show(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Fold, open or hide the thoughts, those to come too."""
    del dial
    if argument not in _SHOWS:
        now = f"thoughts are shown {state.show!r}; use /show {' '.join(_SHOWS)}"
        return state.tell(now, tone="error" if argument else "plain"), ()
    way: Show = argument
    page = tuple(unfolded(cell, way == "open") for cell in state.page)
    return state.but(show=way, page=page, hint=f"thoughts: {way}"), ()


def unfolded(cell: Cell, is_open: bool) -> Cell:  # noqa: FBT001 - the state it is to have
    """Return a cell with its thought open or folded; any other cell as it is."""
    if not isinstance(cell, Thought) or cell.open == is_open or not cell.readable:
        return cell
    return replace(cell, open=is_open)


def system(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Say the system prompt, change it, or take it away."""
    del dial
    if not argument:
        return state.tell(state.system or "there is no system prompt; /system TEXT gives one"), ()
    text = "" if argument == "-" else argument
    changed = state.but(system=text)
    said = "✓ The system prompt is set" if text else "✓ There is no system prompt now"
    return changed.tell(said, tone="good"), (Note(state.model, state.wish, text),)


def raw(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Show the last exchange as it went over the wire."""
    del argument, dial
    return state, (Wire(),)


def doctor(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Look whether all is well."""
    del argument, dial
    return state, (Examine(),)


def theme(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Change the colours."""
    del dial
    if argument not in _THEMES:
        return state.tell(f"there are two themes; use /theme {' or '.join(_THEMES)}"), ()
    return state, (Dress(argument),)


def complete_show(state: State, argument: str, dial: Dial) -> tuple[str, ...]:
    """Return the ways to show thoughts that begin so."""
    del state, dial
    return tuple(each for each in _SHOWS if each.startswith(argument))


def complete_theme(state: State, argument: str, dial: Dial) -> tuple[str, ...]:
    """Return the themes that begin so."""
    del state, dial
    return tuple(each for each in _THEMES if each.startswith(argument))


def _figure(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"

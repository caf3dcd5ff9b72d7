"""Tables on the terminal: a model's ladder, and the catalog."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ...canon import escape_controls
from ...catalog import Lookup, ModelEntry
from ...thinking import DEPTH, LEVELS, Plan, describe_intent, describe_sources, parse_intent
from .echo import USUAL_WIDTH, echo, fit_text, narrow

_Row = tuple[str | Text, ...]

_BAR = 12
_STARRED = "* is not what was asked for; 'pondero levels MODEL' says why"
_NOTHING = object()
_DEFAULTS = {
    "off": "does not think by default",
    "dynamic": "decides by itself when nothing is sent",
}
_DEFAULTS |= {"on": "thinks by default", "unaudited": "default not known"}
_SHORT_DEFAULTS = {"dynamic": "it decides", "unaudited": "not known"}


class Screen(Console):
    """rich's console without markup or control characters; a broken pipe is left for ``app``."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, stderr=stderr)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = max(self.width, USUAL_WIDTH)  # rich takes that of a terminal elsewhere

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what is to be printed; rich itself lets escape sequences in a text through."""
        for segment in super().render(renderable, options):
            yield (
                segment
                if segment.control
                else Segment(escape_controls(segment.text), segment.style)
            )

    def on_broken_pipe(self) -> None:
        """Raise, where rich would end the program."""
        raise BrokenPipeError


def print_ladder(entry: ModelEntry, plans: list[Plan], *, asked: object = None) -> None:
    """Print every level of one model and what it becomes there; ``asked``: the user's own."""
    console = Screen()
    default = entry.capability.default
    by_default = _DEFAULTS.get(default, f"thinks by default, at {default}")
    wish = parse_intent(asked, words=entry.capability.extra_words).as_text
    yours = "" if wish is None else f"; you ask for {describe_intent(wish)}"
    console.print(Text.assemble((entry.id, "bold"), f"  {by_default}{yours}"))
    shared = _find_shared(plans)
    deepest = max((plan.budget or 0 for plan in plans), default=0)
    rows = [
        (str(plan.asked), _got(plan), _bar(plan, deepest), _format_fields(plan, shared))
        for plan in plans
    ]
    console.print(*fit_tables(console, ("asked", "gets", "depth", "sends"), [rows]))
    if shared:
        also = ", ".join(f"{path} {_value(value)}" for path, value in shared.items())
        console.print(
            Padding(Text(f"each level that thinks also sends {also}", style="dim"), (0, 1))
        )
    for reason, levels in _reasons(plans).items():
        at = "" if len(levels) == len(plans) else f"{', '.join(levels)}: "
        console.print(Padding(Text.assemble((f"* {at}", "yellow"), reason), (0, 1)))
    if plans:
        facts = f"facts: {describe_sources(plans[0])}"
        console.print(Padding(Text(facts, style="dim"), (0, 1)))


def print_ladders(ladders: Sequence[list[Plan]]) -> None:
    """Print the ladders of several models side by side, a column for each."""
    console = Screen()
    asked = list(dict.fromkeys(plan.asked for plans in ladders for plan in plans))
    by_model = [{plan.asked: plan for plan in plans} for plans in ladders]
    rows: list[_Row] = [
        (str(wish), *(_cell(plans.get(wish)) for plans in by_model)) for wish in asked
    ]
    columns = ("asked", *(plans[0].model for plans in ladders))
    console.print(*fit_tables(console, columns, [rows]))
    console.print(Padding(Text(_STARRED, style="dim"), (0, 1)))


def print_plans(plans: Sequence[Plan]) -> None:
    """Print the plans of several models side by side, a line for each, and then the reasons."""
    console = Screen()
    asked = ("nothing" if plan.asked is None else str(plan.asked) for plan in plans)
    rows = [
        (plan.model, wish, _cell(plan), _format_fields(plan, {}))
        for plan, wish in zip(plans, asked, strict=True)
    ]
    console.print(*fit_tables(console, ("model", "asked", "gets", "sends"), [rows]))
    notes = ((plan.model, note) for plan in plans for note in plan.adjustments)
    for model, note in dict.fromkeys(notes):  # one model at two levels may say a thing twice
        line = Text.assemble((f"* {model}: ", "yellow"), f"{note.why} ({note.code})")
        console.print(Padding(line, (0, 1)))


def _format_default(entry: ModelEntry) -> str:
    return _SHORT_DEFAULTS.get(entry.capability.default, entry.capability.default)


def _cell(plan: Plan | None) -> Text:
    if plan is None:
        return Text("")
    got = _got(plan)
    return got if plan.budget is None else Text.assemble(got, f" {plan.budget:,}")


def print_models(entries: Iterable[ModelEntry]) -> None:
    """Print the catalog, provider by provider."""
    console = Screen()
    groups = [list(group) for _, group in groupby(entries, key=lambda entry: entry.provider)]
    rows = [
        [
            (each.model, _format_levels(each), _format_off(each), _format_default(each))
            for each in group
        ]
        for group in groups
    ]
    listed = fit_tables(console, ("model", "levels", "off", "by default"), rows, whole="model")
    for group, shown in zip(groups, listed, strict=True):
        provider = group[0].provider
        keys = f", key {' or '.join(provider.keys)}" if provider.keys else ""
        console.print(Text.assemble((provider.name, "bold"), f"  {provider.label}{keys}"))
        console.print(shown)


def print_found(entries: Sequence[ModelEntry], *, of: int, meanings: Iterable[str]) -> None:
    """Print models by their full names, the best first, and how many there are in all.

    ``meanings`` says which models the searched words mean as short names.
    """
    screen = Screen()
    rows = [(each.id, _format_levels(each), _format_off(each)) for each in entries]
    [drawn] = fit_tables(screen, ("model", "levels", "off"), [rows], whole="model")
    screen.print(drawn)
    for meaning in meanings:
        echo(meaning)
    if len(entries) < of:
        echo(f"{len(entries)} of {of:,} models; --all prints all", err=True)


def print_short_names(lookup: Lookup) -> None:
    """Print the short names of one word, each with the model it means, and how to find others."""
    screen, names = Screen(), dict[str, list[str]]()
    for name, short in lookup.short_names.items():
        if "-" not in name:
            names.setdefault(short.id, []).append(name)
    entries = [lookup.entry(id) for id in names]
    entries.sort(key=lambda entry: list(lookup.catalog.providers).index(entry.provider.name))
    rows = [(", ".join(names[each.id]), each.id, _format_levels(each)) for each in entries]
    [drawn] = fit_tables(screen, ("name", "means", "levels"), [rows], whole="means")
    screen.print(drawn)
    known, providers = len(lookup.entries()), len(lookup.catalog.providers)
    echo(f"{known:,} models of {providers} providers are known:")
    width = max(map(len, _WAYS))
    for command, meaning in _WAYS.items():
        if narrow() is None:
            echo(f"  {command:<{width}}    {meaning}")
        else:
            echo(fit_text(command, indent=2))
            echo(fit_text(meaning, indent=6))


_WAYS = {
    "pondero models WORD...": "those that fit every word, the best first",
    "pondero models --provider P": "those of one provider",
    "pondero models --all": "all of them",
    "pondero levels MODEL": "what each level becomes there",
}


def table(*columns: str) -> Table:
    """Return a table with these columns, the first of them in colour."""
    made = Table(box=SIMPLE_HEAD, pad_edge=True)
    for number, column in enumerate(columns):
        style = "cyan" if number == 0 else None
        made.add_column(column, style=style, overflow="fold")
    return made


def fit_tables(
    screen: Screen, columns: Sequence[str], groups: Sequence[Sequence[_Row]], *, whole: str = ""
) -> Sequence[RenderableType]:
    """Return tables, or blocks if a narrow terminal would cut words; ``whole`` is never broken."""
    tables = []
    for rows in groups:
        tables.append(made := table(*columns))
        for column in made.columns:
            column.no_wrap = column.header == whole
        for row in rows:
            made.add_row(*row)
    uncut = (
        _is_whole(screen, made, (columns, *rows)) for made, rows in zip(tables, groups, strict=True)
    )
    if narrow() is None or all(uncut):
        return tables
    return [Group(Text(), *(_block(columns, row) for row in rows), Text()) for rows in groups]


def _is_whole(screen: Screen, made: Table, rows: Iterable[Iterable[str | Text]]) -> bool:
    drawn = "".join(segment.text for segment in screen.render(made)).split()
    return {word for row in rows for cell in row for word in str(cell).split()} <= set(drawn)


def _block(columns: Sequence[str], row: _Row) -> Group:
    name, *cells = row
    lines = Table.grid(padding=(0, 2, 0, 0))
    for style in ("dim", None):
        lines.add_column(style=style, overflow="fold")
    for column, cell in zip(columns[1:], cells, strict=True):
        if str(cell):
            lines.add_row(column, cell)
    return Group(Text(str(name), style="cyan", overflow="fold"), Padding(lines, (0, 0, 0, 2)))


def _got(plan: Plan) -> Text:
    if any(note.what in DEPTH for note in plan.adjustments):
        return Text(f"{plan.level or '-'} *", style="yellow")
    return Text(plan.level or "-", style="green")


def _bar(plan: Plan, deepest: int) -> Text:
    if plan.budget is not None:
        filled = max(1, round(_BAR * plan.budget / deepest))
        return Text("━" * filled)
    if plan.will_think and plan.level in LEVELS:
        return Text("━" * (2 * LEVELS.index(plan.level)))
    return Text("━" * 8 if plan.will_think else "")


def _format_fields(plan: Plan, shared: Mapping[str, Any]) -> str:
    own = {path: v for path, v in _leaves(plan.fields) if shared.get(path, _NOTHING) != v}
    words = [f"{path.rpartition('.')[2]} {_value(v)}" for path, v in own.items()]
    return ", ".join(words) or ("nothing" if not plan.fields else "no more")


def _find_shared(plans: list[Plan]) -> dict[str, Any]:
    """Return the fields that every level that thinks sends alike, so that they are shown once."""
    bodies = [
        dict(_leaves(plan.fields)) for plan in plans if plan.will_think and plan.asked != "off"
    ]
    if not bodies:
        return {}
    return {p: v for p, v in bodies[0].items() if all(body.get(p) == v for body in bodies)}


def _leaves(fields: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _reasons(plans: list[Plan]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for plan in plans:
        for note in plan.adjustments:
            reasons.setdefault(note.why, []).append(str(plan.asked))
    return reasons


def _format_levels(entry: ModelEntry) -> str:
    facts = entry.capability
    if not facts.thinks:
        return "does not think"
    words = " ".join(facts.levels) or "no control"
    budget = facts.sent_budget
    return f"{words} ({budget.min:,} to {budget.max:,})" if budget else words


def _format_off(entry: ModelEntry) -> str:
    if not entry.capability.thinks:
        return "-"
    return "yes" if entry.capability.off else "no"

"""The results of ``contract`` as a table: a row of marks for each model, then the reasons."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...contract import Scenario, ScenarioResult, describe_failure
from ..command import print_json
from .echo import echo, style_text
from .tables import Screen

_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "bold red")}
_MARKS |= {"unsupported": ("–", "bright_black"), "skipped": ("·", "yellow")}
_LEAST = 12  # columns of a model's name, however narrow the screen
_INDENT = 29  # columns before the text about a scenario
_NAMED = 6  # models that are named if many share one reason


def print_results(
    results: Sequence[ScenarioResult], scenarios: Sequence[Scenario], *, as_json: bool
) -> None:
    """Print the results: as JSON, or as a table and the reasons."""
    if as_json:
        print_json({"results": [result.to_json() for result in results]})
        return
    console = Screen()
    models = dict.fromkeys((result.provider, result.model) for result in results)
    if len(models) == 1:
        _print_one(console, results, {scenario.name: scenario.shows for scenario in scenarios})
    else:
        _print_many(console, results, list(models))
        _print_reasons(console, results)
    for result in results:
        if result.status == "failed":
            echo("\n", style_text("FAILED", fg="red", bold=True), f" {describe_failure(result)}")
    console.print(_total(results))


def _print_one(console: Console, results: Sequence[ScenarioResult], shows: dict[str, str]) -> None:
    console.print(Text(f"{results[0].provider}:{results[0].model}", style="bold"))
    for result in results:
        mark, style = _MARKS[result.status]
        line = Text.assemble((mark, style), f" {result.scenario:<{_INDENT - 2}}")
        passed = result.status == "passed"
        said = _find_shown(result, shows.get(result.scenario, "")) if passed else result.detail
        line.append(said, style="dim" if passed else style)
        line.truncate(console.width, overflow="ellipsis")
        console.print(line)
        if passed and result.detail:
            console.print(Padding(Text(result.detail, style="yellow"), (0, 0, 0, _INDENT)))
    console.print(Text(_legend(), style="dim"))


def _find_shown(result: ScenarioResult, shows: str) -> str:
    """Return what a pass shows: the first sentence alone if something could not be checked."""
    return f"{shows.partition('. ')[0].rstrip('.')}." if result.detail else shows


def _legend() -> str:
    return "  ".join(f"{mark} {status}" for status, (mark, _) in _MARKS.items())


def _print_many(
    console: Console, results: Sequence[ScenarioResult], models: list[tuple[str, str]]
) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    marks = len(results) // len(models)
    widest = max(_LEAST, console.width - marks - 2)
    table.add_column(style="cyan", no_wrap=True, overflow="ellipsis", max_width=widest)
    table.add_column(no_wrap=True, min_width=marks)
    for model in models:
        row = Text()
        for result in results:
            if (result.provider, result.model) == model:
                row.append(*_MARKS[result.status])
        table.add_row(":".join(model), row)
    console.print(table)
    console.print(Text(f"{_legend()}; for names: PROVIDER --model M", style="dim"))


def _print_reasons(console: Console, results: Sequence[ScenarioResult]) -> None:
    for (status, detail), found in _group_by_reason(results).items():
        mark, style = _MARKS[status]
        models = list(dict.fromkeys(f"{each.provider}:{each.model}" for each in found))
        scenarios = ", ".join(dict.fromkeys(each.scenario for each in found))
        more = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
        who = f" ({', '.join(models[:_NAMED])}{more})"
        console.print(Text.assemble((f"{mark} {scenarios}: ", style), detail, (who, "dim")))


def _group_by_reason(
    results: Sequence[ScenarioResult],
) -> dict[tuple[str, str], list[ScenarioResult]]:
    shared: dict[tuple[str, str], list[ScenarioResult]] = {}
    for result in results:
        if result.status in ("unsupported", "skipped"):
            shared.setdefault((result.status, result.detail), []).append(result)
    return shared


def _total(results: Sequence[ScenarioResult]) -> Text:
    counted = Counter[str](result.status for result in results)
    counts = [(status, counted[status]) for status in _MARKS]
    return Text(", ".join(f"{count:,} {status}" for status, count in counts if count), style="bold")

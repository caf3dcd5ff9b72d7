"""The results of ``contract through`` as a matrix: a row for each check, then every miss."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from ...contract import CellResult, describe_miss, score_of
from .echo import echo, style_text
from .tables import Screen

_MARKS = {"passed": ("✓", "green"), "missed": ("✗", "bold red"), "n/a": ("–", "bright_black")}


def print_matrix(results: Sequence[CellResult]) -> None:
    """Print a table for each client API, the misses, and the score."""
    console = Screen()
    for front in dict.fromkeys(result.front for result in results):
        console.print(_table(front, [each for each in results if each.front == front]))
        console.print()
    for result in results:
        if result.status == "missed":
            echo(style_text("MISSED", fg="red", bold=True), f" {describe_miss(result)}\n")
    legend = "  ".join(f"{mark} {status}" for status, (mark, _) in _MARKS.items())
    console.print(Text(legend, style="dim"))
    for front in dict.fromkeys(result.front for result in results):
        score = score_of(each for each in results if each.front == front)
        console.print(Text(f"{front:<10} {score}"))
    console.print(Text(f"{'score':<10} {score_of(results)}", style="bold"))


def _table(front: str, results: Sequence[CellResult]) -> Table:
    models = list(dict.fromkeys(result.model for result in results))
    table = Table(box=None, pad_edge=False)
    table.add_column(front, style="cyan", no_wrap=True)
    for model in models:
        table.add_column(model, justify="center", overflow="ellipsis", no_wrap=True)
    found = {(result.check, result.model): result.status for result in results}
    for check in dict.fromkeys(result.check for result in results):
        marks = [Text(*_MARKS[found[check, model]]) for model in models]
        table.add_row(check, *marks)
    return table

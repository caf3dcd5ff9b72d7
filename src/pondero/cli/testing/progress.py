"""A progress bar for long test runs, on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


@contextmanager
def show_progress(
    total: int, describe: Callable[[Result], str], *, shown: bool
) -> Iterator[Callable[[Result], object]]:
    """Yield a function that is called with each result, and names it next to the bar."""
    if not shown or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from ..output.tables import Screen

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda result: bar.update(task, advance=1, description=describe(result))

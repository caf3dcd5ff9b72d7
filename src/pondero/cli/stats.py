"""``stats``: what thinking took: tokens, money and seconds, by model and level."""

from pathlib import Path

import click

from ..store import write_whole
from .examples import examples
from .ledger import Row, rows_of
from .shelf import opened, print_json


@click.command(
    epilog=examples(
        "pondero stats",
        "pondero stats --days 7 --by level",
        "pondero stats --svg thinking.svg",
        "pondero stats --json | jq '.rows[] | {model, thinking}'",
    )
)
@click.option(
    "--days", type=click.FloatRange(0, min_open=True), metavar="N", help="Only the last N days."
)
@click.option("--by", type=click.Choice(["model", "level"]), help="Add up by one of the two.")
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the chart to this file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def stats(*, days: float | None, by: str | None, svg: Path | None, as_json: bool) -> None:
    """Show thinking against answer tokens, money and time.

    There is a line for each model and level.
    """
    with opened() as threads:
        rows = rows_of(threads.stats(days=days), by=by)
    if svg is not None:
        from .chart import chart

        write_whole(svg, chart(rows, _title(days)))
        click.echo(f"the chart is in {svg}", err=True)
    if as_json:
        print_json({"days": days, "by": by, "rows": [row.to_json() for row in rows]})
    elif not rows:
        click.echo(
            "nothing was asked yet" if days is None else f"nothing in {days:g} days", err=True
        )
    elif svg is None:
        _show(rows, _title(days))


def _show(rows: list[Row], title: str) -> None:
    from .ledger import print_rows

    print_rows(rows)
    from .plot import print_plot

    print_plot(rows, title)


def _title(days: float | None) -> str:
    return "Thinking and answer tokens" + ("" if days is None else f", last {days:g} days")

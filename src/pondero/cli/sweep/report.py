"""``sweep report``, ``export`` and ``demo``: what a run found, for a browser and other programs."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import check_free, examples, force_option, json_option, print_json
from ..output.echo import echo, style_text

if TYPE_CHECKING:
    from ...sweep import SweepResults

_RUN = click.argument("name", metavar="RUN")
_JUDGE = click.option("--judge", metavar="KIND[:ARG]", help="Use the grades of this judge.")
_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(
    epilog=examples(
        "pondero sweep report last --html report.html",
        "pondero sweep report last --html report.html --force",
    )
)
@_RUN
@click.option("--html", type=_FILE, required=True, metavar="FILE", help="Where to write it.")
@_JUDGE
@force_option
def report(name: str, *, html: Path, judge: str | None, force: bool) -> None:
    """Write the results of a run as one HTML page.

    It has the recommendation in words, accuracy against thinking tokens, cost and latency, every
    question with who got it right, what was sent, and the method. It works while the run continues.
    """
    check_free(html, force=force)
    _write_report(_load_results(name, judge), html)


@click.command(
    epilog=examples(
        "pondero sweep export last --jsonl answers.jsonl",
        "pondero sweep export last --inspect logs  then: inspect view --log-dir logs",
    )
)
@_RUN
@click.option("--jsonl", type=_FILE, metavar="FILE", help="One line for each answer.")
@click.option(
    "--inspect", "logs", type=_FOLDER, metavar="FOLDER",
    help="Logs that inspect_ai reads, one for each arm; repeats are epochs.",
)  # fmt: skip
@click.option(
    "--csv", "table", type=_FILE, metavar="FILE", help="Scores that 'sweep decide' reads."
)
@click.option(
    "--labels", type=_FILE, metavar="FILE", help="The answers that people must label next."
)
@click.option("--junit", type=_FILE, metavar="FILE", help="Test cases for a CI.")
@click.option("--expect", metavar="LEVEL", help="With --junit: this level must be enough.")
@_JUDGE
@force_option
def export(
    name: str,
    *,
    jsonl: Path | None,
    logs: Path | None,
    table: Path | None,
    junit: Path | None,
    labels: Path | None,
    expect: str | None,
    judge: str | None,
    force: bool,
) -> None:
    """Write the answers of a run for other programs."""
    from ...store import write_atomic
    from ...sweep import (
        check_expected,
        csv_of,
        decide_options,
        inspect_logs,
        iter_jsonl,
        junit_of,
    )

    if jsonl is None and logs is None and table is None and junit is None and labels is None:
        raise click.UsageError(
            "say what to write: --jsonl FILE, --csv FILE, --junit FILE, --labels FILE or "
            "--inspect FOLDER"
        )
    for path in (jsonl, table, junit, labels):
        check_free(path, force=force)
    if labels is not None:
        _write_labels(name, labels)
    results = _load_results(name, judge)
    if table is not None:
        write_atomic(table, csv_of(results))
        echo(f"wrote the scores to {table}", err=True)
        if options := decide_options(results):
            echo(f"to decide them as the run did: pondero sweep decide {table} {options}", err=True)
    if junit is not None:
        check_expected(results.facts.arms, results.facts.reference, expect)
        write_atomic(junit, junit_of(results, expect))
        echo(f"wrote the test cases to {junit}", err=True)
    if jsonl is not None:
        lines = list(iter_jsonl(results))
        write_atomic(jsonl, "".join(f"{line}\n" for line in lines))
        echo(f"wrote {len(lines):,} answers to {jsonl}", err=True)
    if logs is not None:
        written = list(inspect_logs(results))
        for file, _ in written:
            check_free(logs / file, force=force)
        for file, text in written:
            write_atomic(logs / file, text)
        many = "1 log" if len(written) == 1 else f"{len(written)} logs"
        echo(f"wrote {many} to {logs}; 'inspect view --log-dir {logs}' shows them", err=True)


@click.command(epilog=examples("pondero sweep demo", "pondero sweep demo --html demo.html"))
@click.option(
    "--html", type=_FILE, metavar="FILE", help="The report file. Default: next to the run."
)
@force_option
@click.option(
    "--seed", type=int, default=0, metavar="N", help="Seed for the questions and answers."
)
@json_option
def demo(*, html: Path | None, force: bool, seed: int, as_json: bool) -> int:
    """See a sweep from beginning to end; no key needed.

    The built-in emulator answers; it makes fewer mistakes at higher levels. The method is the same
    as with real models, but the result says nothing about them.
    """
    from ...sweep import (
        compute_results,
        create_run,
        demo_outline,
        make_engine,
        make_judge,
        runs_folder,
    )
    from .run_loop import run_with_progress
    from .summary import print_judge, print_outline, print_results

    check_free(html, force=force)
    outline = demo_outline(seed)
    print_outline(outline, err=True)
    print_judge(outline)
    engine = make_engine(outline.spec)
    with create_run(outline) as begun:
        code = run_with_progress(begun, engine, make_judge(outline.spec.judge), shown=not as_json)
        results = compute_results(begun)
    if as_json:
        print_json(results.to_json())
    else:
        print_results(results)
    _write_report(results, html or runs_folder() / f"{results.run}.html")
    return code


def _write_labels(name: str, path: Path) -> None:
    from ...store import write_atomic
    from ...sweep import Run, find_run, labels_csv

    with Run.open(find_run(name)) as run:
        text = labels_csv(run)
        share = run.facts.spec.label_share
    count = sum(1 for _ in csv.reader(io.StringIO(text))) - 1
    if not count:
        how = "" if share is not None else "; a run with --label-share draws some"
        raise click.UsageError(f"no answer waits for a label{how}; {path} was not written")
    write_atomic(path, text)
    echo(f"wrote {count:,} answers to label to {path}; fill in the column 'right'", err=True)


def _load_results(name: str, judge: str | None) -> "SweepResults":
    from ...sweep import Run, compute_results, find_run

    with Run.open(find_run(name)) as run:
        return compute_results(run, judge=judge)


def _write_report(results: "SweepResults", path: Path) -> None:
    from ...store import write_atomic
    from ...sweep import render_report

    write_atomic(path, render_report(results))
    echo("the report is ", style_text(str(path), fg="cyan"), err=True)

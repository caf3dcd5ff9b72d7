"""``sweep decide``: the decision on scores that another tool has measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..command import examples, json_option, print_json
from ..output.echo import echo, style_text

if TYPE_CHECKING:
    from ...sweep import ScoreDecision

STOPPED = 3
"""The exit code if the data or the judge cannot lead to a decision."""


class MarginType(click.ParamType[float]):
    """A margin in percentage points, such as 5 or 5%; below one point only with the sign."""

    name = "points"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share."""
        text = str(value).strip()
        try:
            points = float(text.removesuffix("%"))
        except ValueError:
            points = -1.0
        if not 0 < points < 100:
            self.fail(f"{value!r} is not a margin; use points such as 5", param, ctx)
        # A file and the library have shares: 0.05 may mean 5 points or a twentieth of one.
        if points < 1 and not text.endswith("%"):
            said = f"{value!r} is ambiguous; use {100 * points:g} for the share {points:g}, "
            self.fail(f"{said}or {points:g}% for {points:g} points", param, ctx)
        return points / 100


@click.command(
    epilog=examples(
        "pondero sweep decide scores.csv --margin 5",
        "pondero sweep decide low.eval high.eval --reference openai/gpt-5.5/high",
        "pondero sweep decide results.json --order file --pilot 0 --json",
    )
)
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...",
    type=click.Path(path_type=Path, dir_okay=False),
)  # fmt: skip
@click.option(
    "--margin", type=MarginType(), default=5, metavar="POINTS",
    help="Percentage points that an arm may be worse and still be enough. Default: 5.",
)  # fmt: skip
@click.option(
    "--pool", type=click.IntRange(min=1), metavar="N",
    help="How many questions were planned. Default: those in the file.",
)  # fmt: skip
@click.option(
    "--pilot", type=click.IntRange(min=0), default=20, metavar="N",
    help="Questions that the decision does not use, at most a quarter of the pool. Default: 20.",
)  # fmt: skip
@click.option(
    "--reference", metavar="ARM", help="The arm to compare with. Default: the dearest, or the last."
)
@click.option(
    "--order", type=click.Choice(["seed", "file"]), default="seed",
    help="Take the questions in a drawn order, or in that of the file.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, metavar="N", help="Seed for the drawn order.")
@click.option(
    "--label-share", type=float, metavar="SHARE",
    help="The share of questions drawn to be labelled: labels correct the scores.",
)  # fmt: skip
@click.option("--expect", metavar="ARM", help="Exit 1 if this arm is not shown to be enough.")
@json_option
def decide(
    files: tuple[Path, ...],
    *,
    margin: float,
    pool: int | None,
    pilot: int,
    reference: str | None,
    order: Literal["seed", "file"],
    seed: int,
    label_share: float | None,
    expect: str | None,
    as_json: bool,
) -> int:
    """Decide which arm is enough from the scores of any tool.

    FILE is CSV or JSONL with the fields question, arm and score (0 to 1; empty if the answer is
    missing), and optionally cost, kind, cluster and label (people's score); or an inspect log
    (.json, .eval), or the JSON results of promptfoo. Exit 0: decided; 1: not decided yet, or
    --expect fails; 3: the reference is almost never right, or labels show that the judge favours an
    arm, so that nothing can be recommended.
    """
    from ...sweep import decide as decide_scores

    found = decide_scores(
        files,
        margin=margin,
        pool=pool,
        pilot=pilot,
        reference=reference,
        order=order,
        seed=seed,
        label_share=label_share,
    )
    if expect is not None and all(each.arm != expect for each in found.arms):
        names = ", ".join(each.arm for each in found.arms)
        message = f"--expect {expect!r} is not an arm of these scores; use one of {names}"
        raise click.UsageError(message)
    if as_json:
        print_json(found.to_json())
    else:
        _print(found)
    if found.is_stopped:
        return STOPPED
    if expect is not None:
        return 0 if found.shows(expect) else 1
    return 0 if found.recommended is not None else 1


def _print(found: "ScoreDecision") -> None:
    width = max(len(each.arm) for each in found.arms)
    for each in found.arms:
        figures = (
            "" if each.difference is None else f"  measured {100 * each.difference:+.1f} points"
        )
        said = f"  {each.why}" if each.why else ""
        units = f"  {each.units:,} questions" if each.units else ""
        echo(
            f"{each.verdict.replace('_', ' '):<10}",
            style_text(f"{each.arm:<{width}}", fg="cyan"),
            f"{said}{units}{figures}",
        )
    for kind in found.kinds:
        shown = "is enough" if kind.is_shown else "stays, for lack of evidence"
        echo(f"kind      {kind.kind}: {kind.arm} {shown} ({kind.units:,} questions)")
    head = f"recommend {found.recommended}" if found.recommended else "nothing"
    sure = ""
    if found.recommended is not None and found.shows(found.recommended):
        sure = "; a decision says this wrongly at most once in 20"
    echo(style_text(head, bold=True), f"  {found.why}{sure}")
    if found.saving is not None:
        echo(f"saves     {100 * found.saving:.0f} % of the cost of {found.reference}")

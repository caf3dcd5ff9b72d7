"""``sweep grade``: tries a judge on one answer."""

import asyncio
import sys
from typing import Any

import click

from ..command import examples, json_option, print_json
from ..output.echo import echo, style_text

_FAILED = 3
_WORDS = {0: ("right", "green"), 1: ("wrong", "red")}


@click.command(
    epilog=examples(
        "pondero sweep grade --judge numeric --target 0.5 --answer '50%'",
        "pondero sweep grade --judge choice --target B --answer 'option b'",
        "pondero sweep grade --judge python:checks:same --answer - < answer.txt",
    )
)
@click.option("--judge", "name", required=True, metavar="KIND[:ARG]", help="The judge to try.")
@click.option("--target", "targets", multiple=True, metavar="TEXT", help="A right answer.")
@click.option("--answer", required=True, metavar="TEXT|-", help="The answer; - reads stdin.")
@click.option("--question", default="?", metavar="TEXT", help="The question, if a model judges.")
@click.option("--choices", metavar="A|B|...", help="The texts of the choices.")
@json_option
def grade(
    name: str,
    targets: tuple[str, ...],
    *,
    answer: str,
    question: str,
    choices: str | None,
    as_json: bool,
) -> int:
    """Try a judge on one answer.

    Exit 0 if the answer is right, 1 if it is wrong or only partly right, 3 if the judge failed.
    """
    from ...sweep import Grade, JudgeFailed, check_judge, make_judge, questions_of

    row: dict[str, Any] = {"input": question, "target": list(targets), "choices": choices}
    (asked,) = questions_of([{key: value for key, value in row.items() if value}])
    check_judge(name, [asked])
    judge = make_judge(name)
    given = sys.stdin.read() if answer == "-" else answer

    async def try_judge() -> Grade:
        return await judge.grade(asked, given)

    try:
        found = asyncio.run(try_judge())
    except JudgeFailed as error:
        if as_json:
            print_json({"judge": name, "score": None, "right": None, "error": str(error),
                        "cost": error.cost})  # fmt: skip
        else:
            echo(style_text(f"the judge failed: {error}", fg="yellow"), err=True)
        return _FAILED
    code = 0 if found.score == 1 else 1
    if as_json:
        print_json({"judge": name, "score": found.score, "right": not code, "note": found.note,
                    "cost": found.cost})  # fmt: skip
        return code
    word, colour = _WORDS[code]
    partly = "" if found.score in (0, 1) else f", score {found.score:g}"
    cost = f", ${found.cost}" if found.cost else ""
    note = f"  {found.note}" if found.note else ""
    echo(style_text(word, fg=colour, bold=True), f"{partly}{cost}{note}")
    return code

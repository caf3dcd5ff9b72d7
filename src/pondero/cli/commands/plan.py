"""``plan`` and ``levels``: what would be sent to a model, as text or JSON."""

import shutil
import textwrap
from collections.abc import Container
from typing import Any

import click

from ...client import levels as ladder
from ...client import load_catalog
from ...client import plan as make_plan
from ...thinking import Plan, describe_plan
from ..command import examples, parse_policy, policy_option, print_json
from ..output.echo import echo, style_text
from . import completion


@click.command(
    epilog=examples(
        "pondero plan claude-sonnet-4-5/high --temperature 0.2",
        "pondero plan gpt-5 --thinking off",
        "pondero plan claude-opus-5 gpt-5.1 --thinking low    side by side",
        "pondero plan openrouter:anthropic/claude-opus-5/8k --json",
        "pondero plan gemini-2.5-pro/medium --policy budgets=fixed",
    )
)
@click.argument(
    "models",
    nargs=-1,
    required=True,
    metavar="MODEL[/LEVEL]...",
    shell_complete=completion.model,
)
@click.option(
    "--thinking", metavar="X", help="A level, on, off, a number such as 8000 or 8k, or JSON fields."
)
@click.option("--max-tokens", type=int, metavar="N", help="The cap you will send.")
@click.option("--temperature", type=float, metavar="T", help="The temperature you would send.")
@click.option("--top-p", type=float, metavar="P", help="The top_p you would send.")
@click.option("--top-k", type=int, metavar="K", help="The top_k you would send.")
@click.option("--tools", is_flag=True, help="The request will carry tools.")
@click.option(
    "--tool-choice",
    default="auto",
    show_default=True,
    metavar="X",
    help="auto, none, required, or a tool's name.",
)
@policy_option
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    models: tuple[str, ...],
    *,
    thinking: str | None,
    policies: tuple[str, ...],
    as_json: bool,
    **asked: Any,
) -> None:
    """Show what would be sent to MODEL for a level, and why.

    Several models are shown side by side.
    """
    level_text, policy = _parse_thinking(thinking), parse_policy(policies)
    plans = [make_plan(model, level_text, policy=policy, **asked) for model in models]
    if as_json:
        all_of_them = [made.to_json() for made in plans]
        print_json(all_of_them[0] if len(plans) == 1 else {"plans": all_of_them})
    elif len(plans) == 1:
        print_plan(plans[0])
    else:
        from ..output.tables import print_plans

        print_plans(plans)


@click.command(
    epilog=examples(
        "pondero levels claude-opus-5",
        "pondero levels gemini-2.5-flash --policy budgets=fixed",
        "pondero levels claude-opus-5 gpt-5.1    side by side",
        "pondero levels gpt-5.1 --json",
    )
)
@click.argument(
    "models", nargs=-1, required=True, metavar="MODEL...", shell_complete=completion.model
)
@click.option("--max-tokens", type=int, metavar="N", help="The cap you will send.")
@policy_option
@click.option("--json", "as_json", is_flag=True, help="Print the ladder as JSON.")
def levels(
    models: tuple[str, ...], *, max_tokens: int | None, policies: tuple[str, ...], as_json: bool
) -> None:
    """Show every level of MODEL, and what each becomes there.

    Several models are shown side by side.
    """
    policy = parse_policy(policies)
    ladders = [ladder(model, max_tokens=max_tokens, policy=policy) for model in models]
    if as_json:
        made = [_ladder_json(plans) for plans in ladders]
        print_json(made[0] if len(made) == 1 else {"models": made})
        return
    from ..output.tables import print_ladder, print_ladders

    if len(models) == 1:
        print_ladder(load_catalog().entry(models[0]), ladders[0])
    else:
        print_ladders(ladders)


def _ladder_json(plans: list[Plan]) -> dict[str, Any]:
    first = plans[0]
    head = {"model": first.model, "dialect": first.dialect, "family": first.family}
    return {**head, "levels": [made.to_json() for made in plans]}


def _parse_thinking(text: str | None) -> Any:
    if text is None or not text.lstrip().startswith("{"):
        return text
    from msgspec.json import decode

    try:
        return decode(text)
    except ValueError as error:
        message = f"{text!r} is not JSON: {error}"
        raise click.BadParameter(message, param_hint="--thinking") from None


_COLOURS = {"why": "yellow", "sent": "green", "asked": "cyan", "model": "cyan"}
_COLOURS |= {"thinking": "bright_black", "text": "green", "error": "red"}


def print_plan(plan: Plan, *, indent: int = 0, without: Container[str] = ()) -> None:
    """Print a plan, without the lines of these labels."""
    lines = [(label, text) for label, text in describe_plan(plan) if label not in without]
    print_lines(lines, indent=indent)


def print_lines(lines: list[tuple[str, str]], *, indent: int = 0) -> None:
    """Print labelled lines, the text wrapped in its own column."""
    column = max(8, *(len(label) + 2 for label, _ in lines))
    width = max(40, shutil.get_terminal_size().columns) - column - indent
    for label, text in lines:
        for number, line in enumerate(_wrap(text, width)):
            name = style_text(
                f"{'' if number else label:<{column}}", fg=_COLOURS.get(label), bold=True
            )
            echo(f"{'':<{indent}}", name, line)


def _wrap(text: str, width: int) -> list[str]:
    lines = [
        piece
        for line in text.splitlines() or [""]
        for piece in (textwrap.wrap(line, width) if len(line) > width else [line])
    ]
    return lines or [""]

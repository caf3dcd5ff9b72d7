"""``plan`` and ``levels``: what would be sent to a model, as text or JSON."""

import shutil
import textwrap
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import click

from ...client import levels as ladder
from ...client import load_catalog, plan_offline
from ...client import plan as make_plan
from ...store import load_template
from ...thinking import Plan, describe_plan, parse_auto
from ..command import examples, parse_policy, policy_option, print_json
from ..output.echo import echo, style_text
from ..start import Start, resolve_starts
from . import completion

if TYPE_CHECKING:
    from ...store import Template


@click.command(
    epilog=examples(
        "pondero plan claude-sonnet-4-5/high --temperature 0.2",
        "pondero plan gpt-5 --thinking off",
        "pondero plan claude-opus-5 gpt-5.1 --thinking low    side by side",
        "pondero plan openrouter:anthropic/claude-opus-5/8k --json",
        "pondero plan gemini-2.5-pro/medium --policy budgets=fixed",
        "pondero plan                    what 'ask' would send by your settings",
    )
)
@click.argument("models", nargs=-1, metavar="[MODEL[/LEVEL]]...", shell_complete=completion.model)
@click.option(
    "--thinking", metavar="X", help="A level, on, off, a number such as 8000 or 8k, or JSON fields."
)
@click.option(
    "-t", "--template", metavar="NAME", shell_complete=completion.template,
    help="A saved template of 'ask': its model, level and options.",
)  # fmt: skip
@click.option("--max-tokens", type=int, metavar="N", help="The max_tokens you will send.")
@click.option("--temperature", type=float, metavar="T", help="The temperature you will send.")
@click.option("--top-p", type=float, metavar="P", help="The top_p you will send.")
@click.option("--top-k", type=int, metavar="K", help="The top_k you will send.")
@click.option("--seed", type=int, metavar="N", help="The seed you will send.")
@click.option("--tools", is_flag=True, help="The request has tools.")
@click.option(
    "--tool-choice",
    default="auto",
    show_default=True,
    metavar="X",
    help="auto, none, required, or a tool's name.",
)
@click.option(
    "--offline", is_flag=True,
    help="Plan as 'ask --offline' does: auto takes calibrations of the emulator too.",
)  # fmt: skip
@policy_option
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    models: tuple[str, ...],
    *,
    thinking: str | None,
    template: str | None,
    offline: bool,
    policies: tuple[str, ...],
    as_json: bool,
    **asked: Any,
) -> None:
    """Show what would be sent to MODEL for a level, and why.

    Several models are shown side by side. Without MODEL or a level, your settings apply, as for
    'ask'.
    """
    kept = None if template is None else load_template(template)
    starts = resolve_starts(
        models,
        example="pondero plan opus/high",
        thinking=_parse_thinking(thinking),
        template=kept,
    )
    asked = _options(kept) | {name: value for name, value in asked.items() if value is not None}
    policy = parse_policy(policies)
    make = plan_offline if offline else make_plan
    plans = [make(start.model, start.thinking, policy=policy, **asked) for start in starts]
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
@click.argument("models", nargs=-1, metavar="[MODEL]...", shell_complete=completion.model)
@click.option("--max-tokens", type=int, metavar="N", help="The max_tokens you will send.")
@policy_option
@click.option("--json", "as_json", is_flag=True, help="Print the levels as JSON.")
def levels(
    models: tuple[str, ...], *, max_tokens: int | None, policies: tuple[str, ...], as_json: bool
) -> None:
    """Show every level of MODEL, and what each one sends.

    Several models are shown side by side. Without MODEL, the model of your settings is shown.
    """
    starts = resolve_starts(models, example="pondero levels opus")
    policy = parse_policy(policies)
    ladders = [ladder(_name(start), max_tokens=max_tokens, policy=policy) for start in starts]
    if as_json:
        made = [_ladder_json(*each) for each in zip(starts, ladders, strict=True)]
        print_json(made[0] if len(made) == 1 else {"models": made})
        return
    from ..output.tables import print_ladder, print_ladders

    if len(starts) == 1:
        [start] = starts
        print_ladder(load_catalog().entry(start.model), ladders[0], asked=start.thinking)
    else:
        print_ladders(ladders)


def _options(template: "Template | None") -> dict[str, Any]:
    if template is None:
        return {}
    from ..ask.options import template_settings

    return {name: value for name, value in template_settings(template).items() if name != "stop"}


def _name(start: Start) -> str:
    """Return the model, with the level that a calibration decides: a ladder has a line for it."""
    is_auto = isinstance(start.thinking, str) and parse_auto(start.thinking) is not None
    return f"{start.model}/{start.thinking}" if is_auto else start.model


def _ladder_json(start: Start, plans: list[Plan]) -> dict[str, Any]:
    first = plans[0]
    head = {"model": first.model, "dialect": first.dialect, "family": first.family}
    return {**head, "asked": start.thinking, "levels": [made.to_json() for made in plans]}


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

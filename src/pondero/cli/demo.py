"""``pondero demo``: the dial at work, with no key and no network."""

from typing import Any

import click

from ..client import levels, lookup, plan
from .sheet import print_plan

_LADDERS = ("claude-sonnet-4-5", "gemini-3-flash-preview", "gpt-5.1")
_PLANS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "the answer keeps its room",
        "claude-sonnet-4-5/high",
        {"max_tokens": 8000, "temperature": 0.2},
    ),
    ("off means off, or says so", "gemini-3-pro-preview/off", {}),
    ("a number becomes the nearest word", "gpt-6-sol/8k", {}),
    ("a model of this morning", "claude-opus-9/high", {}),
)


@click.command()
def demo() -> None:
    """See the dial at work: ladders of several models, and plans with their reasons."""
    from .tables import print_ladder

    _title("One dial, three services: what each level becomes")
    for model in _LADDERS:
        print_ladder(lookup().entry(model), levels(model))
        click.echo()
    _title("Every difference has a reason")
    for title, model, asked in _PLANS:
        click.echo(click.style(f"· {title}", bold=True))
        click.echo(click.style(f"  $ pondero plan {model}{_flags(asked)}", fg="cyan"))
        print_plan(plan(model, **asked), indent=4, without=("facts",))
        click.echo()


def _title(text: str) -> None:
    click.echo(click.style(text, bold=True, underline=True))
    click.echo()


def _flags(asked: dict[str, Any]) -> str:
    return "".join(f" --{name.replace('_', '-')} {value}" for name, value in asked.items())

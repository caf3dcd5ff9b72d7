"""A plan on paper: labelled lines, wrapped to the terminal."""

import shutil
import textwrap
from collections.abc import Container

import click

from ..thinking import Plan, describe

_COLOURS = {"why": "yellow", "sent": "green", "asked": "cyan", "model": "cyan"}
_LABEL = 8


def print_plan(plan: Plan, *, indent: int = 0, without: Container[str] = ()) -> None:
    """Print a plan for people, leaving out the lines labelled so."""
    width = max(40, shutil.get_terminal_size().columns) - _LABEL - indent
    for label, text in describe(plan):
        if label in without:
            continue
        for number, line in enumerate(textwrap.wrap(text, width) if len(text) > width else [text]):
            name = click.style(
                f"{'' if number else label:<{_LABEL}}", _COLOURS.get(label), bold=True
            )
            click.echo(f"{'':<{indent}}{name}{line}")

"""A plan on paper: labelled lines, wrapped to the terminal."""

import shutil
import textwrap
from collections.abc import Container

import click

from ..thinking import Plan, describe

_COLOURS = {"why": "yellow", "sent": "green", "asked": "cyan", "model": "cyan"}
_COLOURS |= {"thinking": "bright_black", "text": "green", "error": "red"}


def print_plan(plan: Plan, *, indent: int = 0, without: Container[str] = ()) -> None:
    """Print a plan for people, leaving out the lines labelled so."""
    lines = [(label, text) for label, text in describe(plan) if label not in without]
    print_lines(lines, indent=indent)


def print_lines(lines: list[tuple[str, str]], *, indent: int = 0) -> None:
    """Print labelled lines, wrapped so that the text stands in a column of its own."""
    column = max(8, *(len(label) + 2 for label, _ in lines))
    width = max(40, shutil.get_terminal_size().columns) - column - indent
    for label, text in lines:
        for number, line in enumerate(_wrapped(text, width)):
            name = click.style(
                f"{'' if number else label:<{column}}", _COLOURS.get(label), bold=True
            )
            click.echo(f"{'':<{indent}}{name}{line}")


def _wrapped(text: str, width: int) -> list[str]:
    lines = [
        piece
        for line in text.splitlines() or [""]
        for piece in (textwrap.wrap(line, width) if len(line) > width else [line])
    ]
    return lines or [""]

"""``templates``: lists, shows, edits and removes the questions of ``ask --template``."""

import sys

import click
import msgspec

from ...errors import BadConfig
from ...store import (
    load_template,
    redact_secrets,
    remove_template,
    template_file,
    template_names,
    write_atomic,
    write_template,
)
from ..command import CommandGroup, examples, json_option, print_json
from ..output.echo import echo, style_text
from .completion import template as complete_template

_FIRST = """\
# A question for 'pondero ask --template NAME'. $input is what the command line and a pipe say;
# every other $variable is filled in with -p NAME VALUE, or set under [defaults].

prompt = \"\"\"
Summarise this in $words words:

$input
\"\"\"
# system = "Answer in $language."
# model = "claude-opus-5/low"
# thinking = "low"
# schema = "title, points int"

# [options]
# temperature = 0.2

[defaults]
words = 50
"""
_NAME = click.argument("name", shell_complete=complete_template)


@click.group(
    cls=CommandGroup,
    epilog=examples(
        "pondero templates edit summary",
        "pondero templates list",
        "pondero ask --template summary -p words 20 < notes.txt",
    ),
)
def templates() -> None:
    """Save prompts that you use again and again."""


@templates.command(
    "list", epilog=examples("pondero templates list", "pondero templates list --json")
)
@json_option
def list_(*, as_json: bool) -> None:
    """List the templates with their variables."""
    names = template_names()
    if as_json:
        print_json({"templates": [_template_json(name) for name in names]})
        return
    width = max(map(len, names), default=0)
    for name in names:
        echo(style_text(f"{name:<{width}}", fg="cyan"), "  ", _summary(name))
    if not names:
        echo("there are no templates; make one: pondero templates edit NAME", err=True)


@templates.command(
    epilog=examples("pondero templates show summary", "pondero templates show summary --json")
)
@_NAME
@json_option
def show(name: str, *, as_json: bool) -> None:
    """Print a template."""
    kept = load_template(name)
    if as_json:
        values = msgspec.to_builtins(kept)
        print_json({**values, "variables": kept.variables, "path": str(template_file(name))})
    else:
        echo(template_file(name).read_text("utf-8").rstrip("\n"), exact=True)


@templates.command(
    epilog=examples(
        "pondero templates edit summary",
        "pondero templates edit summary < summary.toml",
    )
)
@_NAME
def edit(name: str) -> None:
    """Open a template in your editor, or read a new one from a pipe.

    It is created if missing, and checked afterwards.
    """
    path = template_file(name)
    if sys.stdin.isatty():
        if not path.exists():
            write_template(name, _FIRST)
        click.edit(filename=str(path))
        load_template(name)
        return
    text = sys.stdin.read()
    if not text.strip():
        raise click.UsageError(f"an editor needs a terminal; the file is {path}")
    before = path.read_text("utf-8") if path.is_file() else None
    write_template(name, text)
    try:
        load_template(name)
    except BadConfig:
        if before is None:
            remove_template(name)
        else:
            write_atomic(path, before)
        raise


@templates.command(epilog=examples("pondero templates remove summary"))
@_NAME
def remove(name: str) -> None:
    """Delete a template."""
    if not remove_template(name):
        load_template(name)  # says which there are


def _template_json(name: str) -> dict[str, object]:
    try:
        kept = load_template(name)
    except BadConfig as error:
        return {"name": name, "error": redact_secrets(str(error))}
    return {
        "name": name,
        "variables": kept.variables,
        "prompt": kept.prompt,
        "system": kept.system,
        "model": kept.model,
    }


def _summary(name: str) -> str:
    try:
        kept = load_template(name)
    except BadConfig as error:
        return redact_secrets(str(error))
    needs = " ".join(f"${each}" for each in kept.variables)
    words = " ".join((kept.prompt or kept.system).split())
    return "  ".join(filter(None, (needs, words if len(words) <= 60 else f"{words[:59]}…")))

"""What the commands share: groups, examples in help, --policy and --force, and ways to print.

Imports of ours stand inside the functions: ``pondero --version`` needs none of them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from .output import echo, styled

if TYPE_CHECKING:
    from pathlib import Path

    from ..thinking import Choices

Command = TypeVar("Command", bound=Callable[..., object])

_WHOLE = 1_000  # characters: more than any first sentence has


class Group(click.Group):
    """A group that lists the whole first sentence of each command, and guesses at wrong names."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Wrap what does not fit on a line; click itself would cut it off."""
        listed = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in listed if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Guess from the names that are listed; click itself knows only what was imported."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(args[0], possibilities=names, ctx=ctx) from error


def examples(*lines: str) -> str:
    """Return the examples for a command's epilog; the control character stops click's wrapping."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def policy_option(command: Command) -> Command:
    """Give a command the option --policy; ``policy_of`` reads what it holds."""
    from ..thinking import CHOICES, TOKENS
    from .completion import policy

    said = f"A policy choice ({' '.join((*CHOICES, *TOKENS))}); may be repeated."
    option = click.option(
        "--policy", "policies", multiple=True, metavar="K=V", help=said, shell_complete=policy
    )
    return option(command)


def policy_of(choices: tuple[str, ...]) -> "Choices | None":
    """Return the choices by name; None where there are none."""
    from ..errors import BadPolicy

    pairs = [choice.partition("=") for choice in choices]
    for name, equals, _ in pairs:
        if not equals:
            message = f"policy {name!r} has no value; write {name}=VALUE"
            raise BadPolicy(message)
    return cast("Choices | None", {name: value for name, _, value in pairs} or None)


def force_option(command: Command) -> Command:
    """Give a command that writes a file the option --force; ``check_free`` obeys it."""
    option = click.option(
        "--force", is_flag=True, help="Overwrite the file where it is there already."
    )
    return option(command)


def check_free(path: "Path | None", *, force: bool) -> None:
    """Raise click's UsageError where a file would be overwritten without --force."""
    if path is not None and path.is_file() and not force:
        message = f"{path} is there already; say --force to overwrite it"
        raise click.UsageError(message)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    echo(styled(f"pondero: {text}", fg="yellow"), err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON that people can read too."""
    from msgspec import json

    from ..canon import dumped

    echo(json.format(dumped(value), indent=2), exact=True)

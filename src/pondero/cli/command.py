"""What the commands share. Functions import our modules: ``pondero --version`` needs none."""

import os
import re
import sys
from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from .output.echo import USUAL_WIDTH, echo, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..emulator import Emulator
    from ..errors import PonderoError
    from ..thinking import Policy, PolicyDict

Command = TypeVar("Command", bound=Callable[..., object])

_COLUMN = 26  # the width of the options' column: the same in every section
_INDENT = 4  # on a narrow terminal, where the text stands below the option
NARROW_HELP = 52  # columns of the narrowest terminal that click itself fits help to
_ONE_DASH = re.compile(r"-[a-z][a-z-]{3,}")
_ALIKE = 0.8  # of 1: --modle and --model have 0.86
_SERVER_FAILED = 500  # the least status of a service that failed
_WHOLE = 1_000  # characters: more than any first sentence has


class _HelpFormatter(click.HelpFormatter):
    """Help that fits a narrow terminal: a text below its option, and examples in several lines."""

    def write_dl(
        self, rows: "Iterable[tuple[str, str]]", col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of names and texts; on a narrow terminal each text is below its name."""
        if self.width < NARROW_HELP - 2:
            # click puts the text below a name that is wider than the column.
            rows = [(f"{name:<{_INDENT}}", text) for name, text in rows]
            col_max = _INDENT - col_spacing
        super().write_dl(rows, col_max, col_spacing)

    def write_text(self, text: str) -> None:
        """Write a text; the lines of examples, which click leaves alone, are wrapped by words."""
        if self.width >= USUAL_WIDTH - 2 or not text.startswith("\b\n"):
            super().write_text(text)
            return
        super().write_text("\n".join(self._iter_lines(text)))

    def _iter_lines(self, text: str) -> "Iterator[str]":
        width = self.width + 1 - self.current_indent
        for line in text.split("\n"):
            if len(line) <= width:
                yield line
                continue
            command, _, meaning = line.strip().partition("    ")
            yield from _wrap_words(command, width, indent=2)
            yield from _wrap_words(meaning.strip(), width, indent=6)


def _wrap_words(text: str, width: int, *, indent: int) -> list[str]:
    from textwrap import wrap

    return wrap(
        text,
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


class _Context(click.Context):
    formatter_class: type[click.HelpFormatter] = _HelpFormatter


class CommandGroup(click.Group):
    """A group that lists the whole first sentence of each command, and guesses at wrong names."""

    context_class: type[click.Context] = _Context

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of the group; its help fits narrow terminals."""
        command = self.find_command(ctx, cmd_name)
        if command is not None:
            command.context_class = _Context
        return command

    def find_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command by its name; a group that imports its commands late has its own."""
        return super().get_command(ctx, name)

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
            name, command, rest = super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(args[0], possibilities=names, ctx=ctx) from error
        if command is not None:
            _check_dashes(command, rest, click.Context(command, ctx, name))
        return name, command, rest


def _check_dashes(command: click.Command, args: list[str], ctx: click.Context) -> None:
    """Reject a long option with one dash: click reads -usage as -u and -s with the value 'age'."""
    from difflib import get_close_matches

    words = [arg for arg in takewhile(lambda arg: arg != "--", args) if _ONE_DASH.fullmatch(arg)]
    if not words:
        return
    options = [each for each in command.params if isinstance(each, click.Option)]
    names = [name for each in options for name in each.opts if name.startswith("--")]
    for word in words:
        if meant := get_close_matches(f"-{word}", names, n=1, cutoff=_ALIKE):
            raise click.NoSuchOption(word, possibilities=meant, ctx=ctx)


def describe_usage_error(error: click.ClickException) -> str:
    """Return an error of click's in one line: what is wrong, and the command whose help to read."""
    said = " ".join(_explain(error).split()).removesuffix(".")
    if said[1:2].islower():
        said = said[0].lower() + said[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    return said if context is None else f"{said}; see '{context.command_path} --help'"


def _explain(error: click.ClickException) -> str:
    """Return the message; for a wrong name with the nearest guess first: click sorts by letter."""
    said = error.message.removesuffix(".")
    advice = _name_ours(error) if isinstance(error, click.NoSuchOption) else None
    possibilities = getattr(error, "possibilities", None) or ()
    if advice is not None and "--levels" not in possibilities:
        return f"{said}; {advice}"
    if isinstance(error, click.NoSuchCommand) and not possibilities:
        return f"{said}{_list_siblings(error.ctx)}"
    if not isinstance(error, click.NoSuchOption | click.NoSuchCommand) or not possibilities:
        return error.format_message()
    guesses = _join_or([repr(name) for name in _leave_out_hidden(error, possibilities)])
    return f"{said} (did you mean {guesses}?{' Or ' + advice if advice else ''})"


def _list_siblings(context: click.Context | None) -> str:
    """Return the commands of a group inside pondero; pondero itself has too many for a line."""
    if context is None or context.parent is None or not isinstance(context.command, click.Group):
        return ""
    return f"; use {_join_or(context.command.list_commands(context))}"


def _join_or(words: "Sequence[str]") -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _leave_out_hidden(error: click.ClickException, names: "Sequence[str]") -> list[str]:
    """Return the names without options that the help does not list; the nearest one stays."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    params = [] if context is None else context.command.params
    hidden = {name for each in params if getattr(each, "hidden", False) for name in each.opts}
    return [name for place, name in enumerate(names) if not place or name not in hidden]


_LEVEL = ("thinking", "level")


def _name_ours(error: click.NoSuchOption) -> str | None:
    """Return what to write for the level, or another library's word; None for any other word."""
    from ..client import find_ours

    word = error.option_name.lstrip("-").replace("-", "_")
    if word == "policy":
        return "set it with 'pondero config set policy.NAME VALUE'"
    ours = "thinking" if word in _LEVEL else find_ours(word)
    begun = any(each.startswith(error.option_name) for each in error.possibilities or ())
    begun = begun and word not in _LEVEL  # --levels compares several
    if ours is None or begun or error.ctx is None:
        return None
    params = error.ctx.command.params
    taken = {name for each in params for name in each.opts}
    if ours == "thinking" and any(each.name in ("model", "models") for each in params):
        return "write the level after the model: MODEL/high"
    option = f"--{ours.replace('_', '-')}"
    return f"use {option}" if option in taken else None


class Sections(click.Command):
    """A command whose help lists parameters under headings; --help is under the last."""

    def __init__(self, *given: Any, sections: "Mapping[str, Sequence[str]]", **more: Any) -> None:
        super().__init__(*given, **more)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, heading by heading."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        found = {str(each.name): each.get_help_record(ctx) for each in options}
        records = {name: record for name, record in found.items() if record is not None}
        named = {name for names in self.sections.values() for name in names}
        rest = tuple(name for name in records if name not in named)  # --help, by a name of click's
        last = tuple(self.sections)[-1]
        for heading, names in self.sections.items():
            with formatter.section(heading):
                listed = (*names, *(rest if heading == last else ()))
                rows = [(f"{records[name][0]:<{_COLUMN}}", records[name][1]) for name in listed]
                formatter.write_dl(rows, col_max=_COLUMN)


def examples(*lines: str) -> str:
    """Return the examples for a command's epilog; the control character stops click's wrapping."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def policy_option(command: Command) -> Command:
    """Give a command the option --policy; ``parse_policy`` reads what it holds."""
    from ..thinking import CHOICES, TOKENS
    from .commands.completion import policy

    said = f"A policy choice ({' '.join((*CHOICES, *TOKENS))}); may be repeated."
    option = click.option(
        "--policy", "policies", multiple=True, metavar="K=V", help=said, shell_complete=policy
    )
    return option(command)


def parse_policy(choices: tuple[str, ...]) -> "Policy":
    """Return the user's own policy with these choices changed."""
    from ..client import resolve_policy
    from ..errors import BadPolicy

    pairs = [choice.partition("=") for choice in choices]
    for name, equals, _ in pairs:
        if not equals:
            raise BadPolicy(f"policy {name!r} has no value; write {name}=VALUE")
    said = cast("PolicyDict", {name: value for name, _, value in pairs})
    return resolve_policy(None).but(**said)


def force_option(command: Command) -> Command:
    """Give a command that writes a file the option --force; ``check_free`` obeys it."""
    option = click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
    return option(command)


def check_free(path: "Path | None", *, force: bool) -> None:
    """Raise click's UsageError if a file would be overwritten without --force."""
    if path is not None and path.is_file() and not force:
        raise click.UsageError(f"{path} exists; add --force to overwrite it")


def check_writable(path: "Path | None") -> None:
    """Raise click's UsageError if a file cannot be written: it is to be written after the work."""
    if path is None:
        return
    if path.is_dir():
        raise click.UsageError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise click.UsageError(f"there is no folder {path.parent} for {path.name}; make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise click.UsageError(f"{path} cannot be written; name another file")


def config_option(command: Command) -> Command:
    """Give a command of the gateway the option --config, as ``file``."""
    option = click.option(
        "--config", "file", type=click.Path(dir_okay=False), metavar="FILE",
        help="The gateway's configuration. Default: gateway.toml in pondero's config folder.",
    )  # fmt: skip
    return option(command)


def json_option(command: Command) -> Command:
    """Give a command the option --json, as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")(command)


def confirm(question: str) -> None:
    """Ask the user, and abort on no; raise UsageError if there is no terminal to ask on."""
    if not ask_yes_or_no(question):
        raise click.Abort


def ask_yes_or_no(question: str) -> bool:
    """Return the user's answer; raise UsageError if there is no terminal to ask on."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError(f"no terminal to ask on: {question} Add --yes to confirm")
    return click.confirm(question, err=True)


def offline_transport(*, offline: bool) -> "Emulator | None":
    """Return an emulator of any model; None, the network, unless ``offline``."""
    if not offline:
        return None
    from ..emulator import Emulator

    return Emulator(any_model=True)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    say(f"pondero: {text}")


def code_of(error: "PonderoError") -> int:
    """Return the exit code of an error, by whose fault it is."""
    from ..errors import PonderoError, ServiceError, TransportError, UsageError

    codes = ((UsageError, 2), (ServiceError, 3), (TransportError, 4), (PonderoError, 1))
    return next(code for kind, code in codes if isinstance(error, kind))


def describe_error(error: "PonderoError") -> str:
    """Return an error in a line, without secrets: who rejected the request, the status, its id.

    Nothing is said that the service's own message has.
    """
    from ..errors import ServiceError
    from ..store import redact_secrets

    message = str(error)
    if isinstance(error, ServiceError) and error.provider:
        failed = error.status is not None and error.status >= _SERVER_FAILED
        did = "failed" if failed else "rejected the request"
        status, id = error.status or "", error.request_id or ""
        shown = f" ({status})" if status and str(status) not in message else ""
        ending = f" [request id {id}]" if id and id not in message else ""
        message = f"{_find_label(error.provider)} {did}{shown}: {message}{ending}"
    return redact_secrets(message)


def error_to_json(error: "PonderoError | click.ClickException") -> dict[str, str | int | None]:
    """Return an error as plain JSON values, without secrets.

    Click's BadParameter and UsageError have the names of ours, and the same meaning.
    """
    from ..store import redact_secrets

    message = describe_usage_error(error) if isinstance(error, click.ClickException) else str(error)
    return {
        "type": type(error).__name__,
        "message": redact_secrets(message),
        "status": getattr(error, "status", None),
        "request_id": getattr(error, "request_id", None),
    }


def _find_label(provider: str) -> str:
    from ..client import load_catalog

    found = load_catalog().catalog.providers.get(provider)
    return provider if found is None else found.label


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    from msgspec import json

    from ..canon import dump_json

    echo(json.format(dump_json(value), indent=2), exact=True)

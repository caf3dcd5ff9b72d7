"""``pondero``: the table of its commands, each imported when it runs, and their exit codes.

Exit codes: 0 ok, 1 failure, 2 usage, 3 rejected by the service, 4 network, 130 interrupted.
"""

import os
import shutil
import sys
import warnings
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import click

from .. import __version__
from ..errors import MissingKey, PonderoError, Unreachable, user_notes
from .command import (
    NARROW_HELP,
    CommandGroup,
    code_of,
    describe_error,
    describe_usage_error,
    examples,
)
from .output.echo import echo, say_error

_COMMANDS = {
    "ask": ".ask.ask",
    "chat": ".commands.chat",
    "plan": ".commands.plan",
    "levels": ".commands.plan",
    "probe": ".commands.probe",
    "models": ".commands.models",
    "threads": ".commands.threads",
    "templates": ".commands.templates",
    "stats": ".commands.stats",
    "sweep": ".sweep.sweep",
    "batch": ".commands.batch",
    "decode": ".testing.decode",
    "guard": ".testing.guard",
    "serve": ".gateway.serve",
    "launch": ".gateway.launch",
    "emulate": ".testing.emulate",
    "contract": ".testing.contract",
    "doctor": ".commands.doctor",
    "config": ".commands.config",
    "keys": ".gateway.keys",
    "completion": ".commands.completion",
    "demo": ".commands.demo",
}


class _LazyGroup(CommandGroup):
    """A group whose commands are imported only when they run or are listed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def find_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(_COMMANDS[name], __package__), name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Exit with 0 if the reader of a pipe has gone; click itself would exit with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _close_quietly()
            return 0


@click.command(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        'pondero ask claude-opus-5/high "..."    ask; --offline needs no key',
        "pondero plan claude-sonnet-4-5/high     what would be sent, and why",
        "pondero plan gemini-3-pro-preview/off   what off means there",
        "pondero levels claude-opus-5            every level of a model",
        "pondero models --provider google        the models of a provider",
        "pondero demo                            see it work; no key, no network",
    ),
)
@click.version_option(__version__, message="pondero %(version)s")
def app() -> None:
    """One dial for how hard any model thinks."""


def main() -> None:
    """Run the command line and exit as documented."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # pythonw has none
            _take_every_character(stream)
    sys.exit(run(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Give a program whose streams were closed (``>&-``) others; without stdout it ends here."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the end
    if sys.stdout is None and os.name == "posix":
        if not set(sys.argv[1:2]) & _SERVERS:
            echo("pondero: standard output is closed; use >/dev/null to discard it", err=True)
            sys.exit(1)
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the end


_SERVERS = {"serve", "emulate", "launch"}  # what they print is not what they are for


def _take_every_character(stream: TextIOWrapper) -> None:
    if os.name == "nt" and not stream.isatty() and not os.environ.get("PYTHONIOENCODING"):
        stream.reconfigure(encoding="utf-8")
    elif not stream.encoding.lower().startswith("utf"):
        stream.reconfigure(errors="replace")


def _help_width() -> int | None:
    """Return the width of help where it is narrower than click allows for, else None."""
    columns = shutil.get_terminal_size().columns
    return columns - 2 if 0 < columns <= NARROW_HELP else None


def run(arguments: list[str]) -> int:
    """Return the exit code of one call; errors are one line on stderr."""
    if "_PONDERO_COMPLETE" in os.environ:
        import_module("pondero.cli.commands.completion")  # it has classes that click has not
    warnings.showwarning = _print_warning  # type: ignore[assignment]  # it is called by position
    try:
        plain = False if os.environ.get("NO_COLOR") or _is_dumb() else None
        made = app.main(
            arguments, "pondero", standalone_mode=False, color=plain, terminal_width=_help_width()
        )
        return int(made or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            error.show()
        else:
            say_error(f"pondero: {_without_secrets(describe_usage_error(error))}")
        return error.exit_code
    except PonderoError as error:
        say_error(f"pondero: {describe_error(error)}")
        for note in user_notes(error):
            say_error(f"({note})")
        if (
            isinstance(error, (MissingKey, Unreachable))
            and arguments[0] == "ask"
            and "--offline" not in arguments
        ):
            echo("(ask --offline needs no network and no key)", err=True)
        return code_of(error)
    except OSError as error:  # such as a full disk behind stdout
        said = str(error) if error.filename else error.strerror or str(error)
        if _drop_output():
            said = f"cannot write to standard output: {said}"
        say_error(f"pondero: {_without_secrets(said)}")
        return 1
    except (KeyboardInterrupt, click.Abort):
        echo("interrupted", err=True)
        return 130
    except Exception:  # noqa: BLE001 - our own bug: print the traceback without secrets
        import traceback

        echo(_without_secrets(traceback.format_exc()), err=True, nl=False)
        return 1


def _is_dumb() -> bool:
    """Return whether the terminal shows escape codes as they are; Windows sets no TERM."""
    return os.environ.get("TERM", "dumb" if os.name == "posix" else "") == "dumb"


def _print_warning(message: Warning | str, *_: object) -> None:
    say_error(f"pondero: {_without_secrets(str(message))}")


def _without_secrets(text: str) -> str:
    from ..store import redact_secrets

    return redact_secrets(text)


def _drop_output() -> bool:
    """Drop output that standard output does not take, and return whether there was any.

    The interpreter would report it again at exit.
    """
    try:
        sys.stdout.flush()
    except OSError:
        _close_quietly()
        return True
    return False


def _close_quietly() -> None:
    # else the interpreter reports the closed pipe again at exit
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

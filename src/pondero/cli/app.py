"""``pondero``: its commands, loaded when called for, and how they end.

Exit codes: 0 ok, 1 failure, 2 usage, 3 the service refused, 4 network, 130 interrupted.
"""

import sys
from importlib import import_module

import click

from .. import __version__
from ..errors import PonderoError, ServiceError, TransportError, UsageError
from .examples import examples

_COMMANDS = {
    "ask": ".ask",
    "plan": ".dial",
    "levels": ".dial",
    "models": ".dial",
    "decode": ".decode",
    "emulate": ".emulate",
    "demo": ".demo",
}
_CODES = ((UsageError, 2), (ServiceError, 3), (TransportError, 4), (PonderoError, 1))


class _Lazy(click.Group):
    """A group whose commands are imported only when they run or are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(_COMMANDS[cmd_name], __package__), cmd_name)
        return command


@click.command(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        'pondero ask claude-opus-5/high "..."    ask; --offline needs no key',
        "pondero plan claude-sonnet-4-5/high     what would be sent, and why",
        "pondero plan gemini-3-pro-preview/off   what off means there",
        "pondero levels claude-opus-5            the whole ladder of a model",
        "pondero models --provider google        what is known",
        "pondero demo                            see it work; no key, no network",
    ),
)
@click.version_option(__version__, message="pondero %(version)s")
def app() -> None:
    """One dial for how hard any model thinks."""


def main() -> None:
    """Run the command line and exit as documented."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Return the exit code of one call; errors are one line on stderr."""
    try:
        return int(app.main(arguments, "pondero", standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except PonderoError as error:
        click.echo(f"pondero: {error}", err=True)
        return next(code for kind, code in _CODES if isinstance(error, kind))
    except BrokenPipeError:
        _close_quietly()
        return 0
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return 130


def _close_quietly() -> None:
    """Keep the interpreter from complaining about the closed pipe once more at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

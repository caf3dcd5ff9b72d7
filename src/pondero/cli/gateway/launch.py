"""``launch``: runs a client on a gateway of its own, which ends with it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ..command import config_option, examples, offline_transport
from ..commands.completion import model as model_names
from .repeated_lines import say_repeats_once

if TYPE_CHECKING:
    import subprocess

    from ...errors import UsageError
    from ...gateway import ChosenModel, GatewayConfig, LaunchClient

_PASSED = ("SIGTERM", "SIGHUP", "SIGQUIT")


def _names(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    from ...gateway import load_clients

    return [name for name in load_clients() if name.startswith(typed)]


class ClientCommand(click.Command):
    """A command that says where the options of a client go."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; raises UsageError."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities:
                raise
            option = error.option_name
            message = (
                f"no such option {option!r}; arguments for the client go after --: -- {option}"
            )
            raise click.UsageError(message, ctx) from None


@click.command(
    cls=ClientCommand,
    context_settings={"ignore_unknown_options": False},
    epilog=examples(
        "pondero launch claude -m gemini-3-flash-preview/high",
        "pondero launch codex -m claude-opus-5 -- exec 'Explain this folder'",
        "pondero launch gemini -m gpt-5.5/low --offline",
        "pondero launch opencode -m opus        a short name, or a route",
    ),
)
@click.argument("client", metavar="CLIENT", required=False, shell_complete=_names)
@click.option(
    "-m",
    "--model",
    metavar="MODEL[/LEVEL]",
    shell_complete=model_names,
    help="The model that answers every request. A level here overrides the client's.",
)
@config_option
@click.option(
    "--offline", is_flag=True, help="Answer with the built-in emulator instead of real providers."
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def launch(
    *,
    client: str | None,
    model: str | None,
    file: str | None,
    offline: bool,
    arguments: tuple[str, ...],
) -> int:
    """Run a client, such as Claude Code, on any model.

    CLIENT is claude, codex, gemini, opencode, pi, aider or llm. A gateway starts on a free port
    with its own key, and stops when the client ends. The client's own settings do not change.
    Arguments after -- go to the client.
    """
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from ...errors import PonderoError, UsageError
    from ...gateway import (
        Routing,
        copy_back,
        load_config,
        make_key,
        prepare_launch,
        private_config,
    )
    from ...store import load_catalog, register_secret

    row = _client(client)
    program = _find_program(row)
    key = make_key()
    register_secret(key)
    try:
        config, chosen = private_config(
            load_config(file, load_catalog(), offline=offline),
            row,
            key=key,
            model=model,
            lookup=load_catalog(),
            offline=offline,
        )
    except PonderoError as error:
        if program is not None:
            raise
        raise _make_missing(row, str(error), _find_missing_extra()) from None
    if program is None:
        raise _make_missing(row, _find_missing_extra())
    if chosen is None and row.needs_model:
        raise UsageError(f"{row.label} has no model of its own to ask for; say which with -m MODEL")
    if chosen is not None and not offline:
        _check_local_server(chosen, config)
    with (
        TemporaryDirectory(prefix="pondero-", ignore_cleanup_errors=True) as folder,
        say_repeats_once(),
        _gateway(config, offline=offline) as url,
    ):
        how = prepare_launch(
            row,
            chosen,
            routing=Routing(config, load_catalog()),
            url=url,
            key=key,
            folder=Path(folder),
            environment=os.environ,
        )
        code = _run([program, *how.arguments, *arguments], dict(how.env))
        copy_back(row, Path(folder))
        return code


def _check_local_server(chosen: "ChosenModel", config: "GatewayConfig") -> None:
    """Raise Unreachable if the model's server on this machine does not answer.

    A client would ask again and again, and many of them do not show the error.
    """
    from ...client import check_engine

    provider = chosen.entry.provider
    is_elsewhere = chosen.entry.deployment or provider.name in config.providers
    if not is_elsewhere:
        check_engine(provider)


@contextmanager
def _gateway(config: "GatewayConfig", *, offline: bool) -> Iterator[str]:
    from msgspec.structs import replace

    from ...gateway import open_observers, run_gateway_in_thread

    with (
        open_observers(replace(config.server, log="off")) as seen,
        run_gateway_in_thread(
            config, transport=offline_transport(offline=offline), observers=seen.told
        ) as url,
    ):
        yield url


def _client(name: str | None) -> "LaunchClient":
    from ...catalog import did_you_mean
    from ...errors import UsageError
    from ...gateway import load_clients

    known = load_clients()
    if name is None:
        example = "pondero launch claude -m gemini-3-flash-preview/high"
        raise UsageError(f"which client? use {' '.join(known)}; for example: {example}")
    if name in known:
        return known[name]
    raise UsageError(f"unknown client {name!r}; {did_you_mean(name, known)}use {' '.join(known)}")


def _find_program(client: "LaunchClient") -> str | None:
    from shutil import which

    return which(client.program)


def _make_missing(client: "LaunchClient", *also: str) -> "UsageError":
    """Return the error of a client that is not installed; ``also`` would fail after that."""
    from ...errors import UsageError

    error = UsageError(f"{client.label} is not installed here; install it with: {client.install}")
    for each in filter(None, also):
        error.add_note(f"and then: {each}")
    return error


def _find_missing_extra() -> str:
    """Return how to install the gateway's packages; empty if they are there."""
    from ...errors import MissingExtra
    from ...gateway import check_extra

    try:
        check_extra()
    except MissingExtra as error:
        return str(error)
    return ""


def _run(command: list[str], env: dict[str, str]) -> int:
    import subprocess

    with subprocess.Popen(command, env=env) as child, _signals_to(child):  # noqa: S603 - the user's
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _signals_to(child: "subprocess.Popen[bytes]") -> Iterator[None]:
    def pass_on(number: int, _frame: object) -> None:
        child.send_signal(number)

    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    for name in _PASSED:
        if hasattr(signal, name):
            number = getattr(signal, name)
            before[number] = signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

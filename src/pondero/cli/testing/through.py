"""``contract through``: judges any gateway, with the referee behind it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import examples, print_json
from ..output.echo import echo
from .progress import show_progress

if TYPE_CHECKING:
    from ...contract import CellResult, MatrixCheck

_PORT = 9187  # one that stays, so that a gateway can be configured before
_PATIENCE = 0.2  # seconds between two looks whether the gateway is there


@click.command(
    epilog=examples(
        "pondero contract through --config litellm > config.yaml",
        "pondero contract through http://localhost:4000 --front messages --front chat",
        "pondero contract through http://localhost:4000 --model my-claude=opus --junit report.xml",
        "pondero contract through http://localhost:8787 --header 'x-portkey-config: {...}'",
    )
)
@click.argument("url", required=False)
@click.option(
    "--front",
    "fronts",
    multiple=True,
    metavar="API",
    help="A client API: messages, responses, chat, gemini or interactions; may be repeated. "
    "Default: the first four.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME=BACK",
    help="A model's name at the gateway, and what it is at the referee; may be repeated.",
)
@click.option(
    "--check", "names", multiple=True, metavar="NAME", help="Only this check; may be repeated."
)
@click.option(
    "--config",
    "kind",
    metavar="GATEWAY",
    help="Print a configuration (urls, litellm, portkey, rosetta, pondero), and stop.",
)
@click.option("--port", default=_PORT, show_default=True, help="The referee's port.")
@click.option("--key", metavar="KEY", help="The key that clients send. Default: any.")
@click.option("--header", "headers", multiple=True, metavar="'N: V'", help="Send this header too.")
@click.option("--no-stream", is_flag=True, help="Send requests without streaming.")
@click.option("--wait", default=30.0, metavar="S", help="Seconds for the gateway to start.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option(
    "--junit", "junit_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Write a JUnit report too.",
)  # fmt: skip
def through(  # noqa: PLR0913 - one for each option
    url: str | None,
    *,
    fronts: tuple[str, ...],
    models: tuple[str, ...],
    names: tuple[str, ...],
    kind: str | None,
    port: int,
    key: str | None,
    headers: tuple[str, ...],
    no_stream: bool,
    wait: float,
    as_json: bool,
    junit_file: Path | None,
) -> int:
    """Test the gateway at URL: its clients, and what it sends upstream.

    The referee is the strict emulator, on this machine. The gateway must send the requests for
    its models there; --config prints how. The checks are those of docs/scoreboard.md. Exit code 0:
    every check passed; 1: at least one was missed.
    """
    from ...contract import (
        FRONT_KEY,
        Referee,
        as_matrix_json,
        as_matrix_junit,
        check_fronts,
        check_writable,
        describe_pointers,
        parse_matrix_models,
        point,
        run_through,
        write,
    )
    from ...emulator import run_emulator_in_thread

    backs, apis, checks = parse_matrix_models(models), check_fronts(fronts), _checks(names)
    if kind is not None:
        echo(point(kind, f"http://127.0.0.1:{port}", backs).rstrip())
        return 0
    if not url:
        raise click.UsageError("give the URL of the gateway, such as http://localhost:4000")
    if junit_file is not None:
        check_writable(junit_file)
    sent = _parse_headers(headers)
    referee = Referee()
    with run_emulator_in_thread(referee, port=port) as here:
        if not as_json:
            echo(describe_pointers(here, backs), err=True)
        _wait_for(url, wait)
        with show_progress(len(apis) * len(backs) * len(checks), _name, shown=not as_json) as done:
            results = run_through(
                url, referee, fronts=apis, models=backs, key=key or FRONT_KEY, headers=sent,
                streams=not no_stream, checks=checks, done=done,
            )  # fmt: skip
    if junit_file is not None:
        write(junit_file, as_matrix_junit(results))
    if as_json:
        print_json(as_matrix_json(results, gateway=url))
    else:
        from ..output.matrix import print_matrix

        print_matrix(results)
    return 1 if any(result.status == "missed" for result in results) else 0


def _checks(names: tuple[str, ...]) -> "list[MatrixCheck]":
    from ...contract import CHECKS
    from ...errors import BadParameter

    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise BadParameter(f"--check {name}: unknown check; use {' '.join(known)}")
    return [check for check in CHECKS if not names or check.name in names]


def _parse_headers(texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition(":") for text in texts]
    for name, colon, _ in pairs:
        if not colon or not name.strip():
            raise click.UsageError(f"--header {name!r} has no value; write 'NAME: VALUE'")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _wait_for(url: str, seconds: float) -> None:
    """Wait until something listens at a URL; raise Unreachable if nothing does."""
    import socket
    from urllib.parse import urlsplit

    from ...errors import Unreachable

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise click.UsageError(f"{url!r} is not an address; use one such as http://localhost:4000")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((parts.hostname, port), timeout=5).close()
        except OSError as error:
            if time.monotonic() >= until:
                raise Unreachable(f"no gateway answers at {url}: {error}") from None
            time.sleep(_PATIENCE)
        else:
            return


def _name(result: "CellResult") -> str:
    return f"{result.front} {result.model} {result.check}"

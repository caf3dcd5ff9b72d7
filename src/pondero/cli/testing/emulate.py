"""``emulate``: serves the emulator over HTTP, so that any SDK can be pointed at it."""

from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import click

from ..command import examples
from ..output.echo import echo

if TYPE_CHECKING:
    from ...catalog import Provider

_WIDTH = 80


@click.command(
    epilog=examples(
        "pondero emulate",
        "pondero emulate --port 0 --quiet      a free port; prints only its address",
        "pondero emulate --fault 529 --fault 'cut 120'",
        "curl -s localhost:9100/_emulator/log  the requests and their results",
    )
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=9100,
    show_default=True,
    metavar="N",
    help="The port to listen on; 0 picks a free one.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="H", help="The address to listen on."
)
@click.option(
    "--batch-polls",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Report a batch as finished on the Nth status check.",
)
@click.option(
    "--job-states",
    is_flag=True,
    help="Write JOB_STATE_... instead of BATCH_STATE_..., as Gemini sometimes does.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="WORD",
    help="Make the next request fail, as in '429 2.5'; repeat it for the requests after it.",
)
@click.option("--quiet", is_flag=True, help="Print the address and nothing else.")
def emulate(
    *,
    port: int,
    host: str,
    batch_polls: int,
    job_states: bool,
    faults: tuple[str, ...],
    quiet: bool,
) -> None:
    """Serve emulated models over HTTP: strict and deterministic.

    It is as strict as the real APIs: it rejects what they reject. Any non-empty key works. Ctrl-C
    ends it.
    """
    from ...emulator import BatchSettings, Emulator, address, bind, run

    states: Literal["JOB_STATE", "BATCH_STATE"] = "JOB_STATE" if job_states else "BATCH_STATE"
    batches = BatchSettings(looks=batch_polls, states=states)
    emulator = Emulator(batches=batches, faults=faults)
    bound = bind(host, port)
    echo(address(bound) if quiet else _format_greeting(address(bound)))
    run(emulator, sockets=[bound])


def _format_greeting(where: str) -> str:
    from ...emulator import home_providers

    exports = dict.fromkeys(
        line
        for house in home_providers()
        for variable in house.url_env
        for line in _exports(
            f"{variable}={where}{_find_version(house)}", *(f"{key}=any" for key in house.keys[:1])
        )
    )
    return "\n".join(
        (
            f"Emulating at {where} (Ctrl-C ends it). Point any SDK there:",
            "",
            *exports,
            "",
            f"{where}/PROVIDER/v1 is any other provider",
            "of 'pondero models'.",
            "Steer it with POST /_emulator/expect and POST /_emulator/reset;",
            "GET /_emulator/log lists the requests and their results.",
        )
    )


def _find_version(house: "Provider") -> str:
    """Return the version that the SDK expects in the address; a beta is the SDK's own choice."""
    path = urlsplit(house.url).path
    return path if path == "/v1" else ""


def _exports(*settings: str) -> list[str]:
    line = f"  export {' '.join(settings)}"
    return [line] if len(line) <= _WIDTH else [f"  export {each}" for each in settings]

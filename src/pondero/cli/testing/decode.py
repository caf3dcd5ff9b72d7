"""``decode``: paste a raw body or stream, see what is in it."""

from typing import BinaryIO

import click
from msgspec.json import encode

from ...exchange import Decoded
from ...exchange import decode as decode_body
from ..command import examples, json_option, print_json
from ..commands.plan import print_lines

_SHOWN = 60  # of a seal's text: enough to tell one from another


@click.command(
    epilog=examples(
        "pondero decode answer.json",
        "curl -sN ... | pondero decode -",
        "pondero decode --status 429 --json error.json",
    )
)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--dialect", metavar="D", help="The API dialect of the data. Default: detected.")
@click.option(
    "--stream", is_flag=True, default=None, help="Read the data as a stream. Default: detected."
)
@click.option(
    "--status",
    type=int,
    default=200,
    show_default=True,
    metavar="N",
    help="The HTTP status of the answer.",
)
@json_option
def decode(
    file: BinaryIO, *, dialect: str | None, stream: bool | None, status: int, as_json: bool
) -> None:
    """Show the text, thinking, calls and usage of a raw response.

    It also shows the finish reason and the thinking signatures.
    """
    found = decode_body(file.read(), dialect=dialect, stream=stream, status=status)
    if as_json:
        print_json(found.to_json())
    else:
        print_lines(_lines(found))


def _lines(found: Decoded) -> list[tuple[str, str]]:
    usage = found.to_json()["usage"] or {}
    counts = ", ".join(f"{name} {n:,}" for name, n in usage.items() if n is not None)
    calls = [f"{call.name}({encode(call.arguments).decode()})" for call in found.message.tool_calls]
    seals = [f"part {n}, {kind}: {str(seal.value)[:_SHOWN]}" for n, kind, seal in found.seals]
    finish = f"{found.finish or 'none'} ({found.raw_finish})" if found.raw_finish else found.finish
    return [
        ("dialect", found.dialect),
        ("model", found.model or "not said"),
        *(("thinking", text) for text in found.to_json()["thinking"]),
        *([("text", found.text)] if found.text else []),
        *(("call", call) for call in calls),
        ("finish", finish or "none"),
        *([("usage", counts)] if counts else []),
        *(("seal", seal) for seal in seals),
        *([("error", f"{type(found.error).__name__}: {found.error}")] if found.error else []),
    ]

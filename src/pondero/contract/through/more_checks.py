"""Checks of levels inside a conversation, system turns, schemas and images."""

import base64
from typing import Any

import msgspec

from ...canon import Image, Json
from ...client import plan
from ...dialects import AcceptedRequest
from ...emulator import ScriptedTurn
from .checks import (
    SUNNY,
    MatrixCell,
    Miss,
    NotApplicable,
    ask_through,
    error_of,
    require,
    require_accepted,
    require_same,
)
from .fronts import FrontOptions

SYSTEM = ("The first rule is vermilion.", "The second rule is cerulean.")
LATER = "The later rule is chartreuse."
ANSWER_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
# One red pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"


def in_band_level(front: Any, cell: MatrixCell) -> None:
    """A level that is set inside the conversation reaches the model, in whatever form."""
    found = front.in_band("low")
    if found is None:
        raise NotApplicable("this client API has no level inside the conversation")
    options, history = found
    ask_through(front, cell, history[:-1], "high")
    before = cell.referee.read()
    ask_through(front, cell, history, "high", options=options)
    read, body = cell.referee.read(), cell.referee.bodies[-1]
    native = b'"effort":"low"' in body and b'"effort":"high"' in body
    require(
        native or _is_lower(before, read, plan(f"{cell.back.model}/low").level),
        "low was set in the conversation, and got lost",
    )


def _is_lower(
    before: AcceptedRequest[Json] | None, read: AcceptedRequest[Json] | None, low: str | None
) -> bool:
    if before is None or read is None:
        return False
    fewer = (read.intent.tokens or 0) < (before.intent.tokens or 0)
    return fewer or (read.intent.level is not None and read.intent.level == low)


def system_turns(front: Any, cell: MatrixCell) -> None:
    """System turns in every place of the client API arrive, each word once, and are accepted."""
    options, history = front.system_turns(SYSTEM, LATER)
    cell.referee.expect(ScriptedTurn(text=SUNNY))
    answer = ask_through(front, cell, history, None, options=options)
    require_same("the text", SUNNY, answer.text)
    body = cell.referee.bodies[-1].decode()
    for text in (*SYSTEM, LATER):
        require_same(f"how often {text!r} arrived", 1, body.count(text))


def structured_output(front: Any, cell: MatrixCell) -> None:
    """The schema arrives and the answer fits; a service without schemas: or it is rejected."""
    options = FrontOptions(schema=ANSWER_SCHEMA)
    try:
        answer = front.ask(cell.name, front.user("Is Paris warm?"), None, options=options)
    except front.errors as error:
        status = front.trouble(error).status
        if not cell.back.schemas and status is not None and 400 <= status < 500:
            return
        raise error_of(cell, error) from None
    require_accepted(cell)
    require(b"degrees" in cell.referee.bodies[-1], "the schema did not arrive")
    try:
        value = msgspec.json.decode(answer.text)
    except msgspec.DecodeError:
        raise Miss(f"the answer is not JSON: {answer.text[:300]!r}") from None
    if cell.back.schemas:
        fits = isinstance(value, dict) and set(value) == {"city", "degrees"}
        require(fits, f"the answer does not fit the schema: {answer.text[:300]!r}")


def images(front: Any, cell: MatrixCell) -> None:
    """An image arrives byte for byte, before the text that follows it."""
    if not cell.back.images:
        raise NotApplicable("this model takes no images")
    ask_through(front, cell, front.image("What is 17 * 23?", PNG), None)
    read = cell.referee.read()
    parts = [part for message in (read.request.messages if read else ()) for part in message.parts]
    found = [part.data for part in parts if isinstance(part, Image)]
    require(base64.b64decode(PNG) in found, "the image did not arrive")

"""An interaction: the whole answer, and what the first and last events of a stream have of it."""

from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder

from pondero.canon import Blob, Event, Finished, Image, Json, assume_medium, get_decoder
from pondero.dialects.media_counts import find_medium
from pondero.framing import parse_payload

from .parts import Steps, find_finish
from .usage import Counts, usage

_KEPT = ("service_tier", "continuation_token", "errors")


class Answer(Struct, gc=False):
    """An interaction, as far as the caller reads it; ``steps`` are decoded on demand."""

    object: str | None = None
    id: str | None = None
    model: str | None = None
    status: str | None = None
    error: Json = None
    errors: Json = None
    usage: Counts | None = None
    service_tier: Json = None
    continuation_token: Json = None
    steps: Raw = Raw()


answer_decoder: Decoder[Answer] = get_decoder(Answer)
_steps = get_decoder(list[Any])


def end_answer(answer: Answer, steps: Steps, events: list[Event]) -> None:
    """Add the steps that an interaction has, and the end of the answer."""
    given = parse_payload(answer.steps, _steps, at="$.steps") if answer.steps else []
    steps.end_all(events)
    if not steps.parts:
        for place, step in enumerate(given):
            if isinstance(step, dict) and step.get("type") in ("user_input", "function_result"):
                continue  # a stored interaction begins with the user's input
            steps.begin(place, step, events)
            steps.end(place, events)
    used = usage(answer.usage)
    for part in steps.parts:
        if isinstance(part, Image | Blob) and (medium := find_medium(part)) is not None:
            used = assume_medium(used, medium)
    extras = {key: value for key in _KEPT if (value := getattr(answer, key)) is not None}
    events.append(
        Finished(
            find_finish(answer.status or "", answer.errors, steps.parts, used),
            usage=used,
            raw_finish=answer.status,
            model=answer.model,
            extras=extras or None,
        )
    )

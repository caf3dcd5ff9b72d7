"""Writes a whole answer: the interaction, with the model's steps in it."""

import msgspec

from pondero.canon import HttpResponse, Reply
from pondero.dialects.dialect import ReplyContext

from .errors import JSON
from .parse import Context
from .parts import Step, write_interaction, write_step


def reply(answering: ReplyContext[Context], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    steps: list[Step] = []
    for part in reply.message.parts:
        step = write_step(answering, part, steps)
        if step is not None:
            steps.append(step)
    said = write_interaction(
        answering,
        finish=reply.finish,
        raw=reply.raw_finish,
        usage=reply.usage,
        model=reply.model,
    )
    body = msgspec.json.encode({**said, "steps": steps})
    return HttpResponse(200, {"content-type": JSON}, body)


def call_id(digest: str) -> str:
    """Return an id of a call as the service makes them: eight characters."""
    return digest[:8]

"""Several answers to one request, and the log probabilities of their tokens."""

import re
from collections.abc import Iterator
from hashlib import blake2b
from itertools import zip_longest

from msgspec.structs import replace

from ..canon import Event, Json, Message, Part, Reply, Text, TokenLogprob, ToolCall, Usage
from ..dialects import AcceptedRequest, Service


def list_replies(
    service: Service[Json], accepted: AcceptedRequest[Json], reply: Reply
) -> tuple[Reply, ...]:
    """Return the answers that a request asks for: further ones end with their number.

    The first has the counts of all. An answer in a required form is given as often as it is.
    """
    count = service.portability.answers.read(accepted.request.extras).count
    if count == 1 or service.several is None:
        return (reply,)
    marks = accepted.request.output is None and reply.finish == "stop"

    def mark_part(number: int, part: Part) -> Part:
        if isinstance(part, Text) and marks:
            return replace(part, text=f"{part.text} ({number + 1})")
        if isinstance(part, ToolCall):
            return replace(part, id=part.id and service.call_id(f"{number:08x}{_hash_id(part.id)}"))
        return part

    parts = reply.message.parts
    further = (
        replace(
            reply,
            message=Message("assistant", tuple(mark_part(number, part) for part in parts)),
            usage=Usage(),
        )
        for number in range(1, count)
    )
    return (replace(reply, usage=_multiply(reply.usage, count)), *further)


def _hash_id(id: str) -> str:
    """Return 24 hexadecimal digits that stand for an id."""
    return blake2b(id.encode(), digest_size=12).hexdigest()


_TOKENS = re.compile(r"\w{1,4}\W{0,2}|\W{1,4}", re.DOTALL)
_OTHERS = 20


def weigh(text: str) -> tuple[TokenLogprob, ...]:
    """Return the tokens of a text, with log probabilities that depend on nothing else.

    The token itself is the likeliest one of its alternatives.
    """
    return tuple(_weigh_token(token) for token in _TOKENS.findall(text))


def _weigh_token(token: str) -> TokenLogprob:
    data = token.encode("utf-8", "replace")
    id = int.from_bytes(blake2b(data, digest_size=2).digest())
    likely = TokenLogprob(token, -(id % 256 + 1) / 1024, data, id=id)
    others = (
        TokenLogprob(
            f"{token}{number}", likely.logprob - number, b"%b%d" % (data, number), id=id + number
        )
        for number in range(1, _OTHERS)
    )
    return replace(likely, top=(likely, *others))


def interleave(answers: list[list[Event]]) -> Iterator[tuple[int, Event]]:
    """Yield the events of several answers in turn, each with the number of its answer.

    The first answer ends last, because its end has the counts of all.
    """
    for row in zip_longest(*(each[:-1] for each in answers)):
        yield from ((number, event) for number, event in enumerate(row) if event is not None)
    for number in (*range(1, len(answers)), 0):
        yield number, answers[number][-1]


def _multiply(usage: Usage, count: int) -> Usage:
    written = (usage.output or 0) + (usage.thinking or 0)
    return replace(
        usage,
        output=usage.output and usage.output * count,
        thinking=usage.thinking and usage.thinking * count,
        total=usage.total and usage.total + written * (count - 1),
    )

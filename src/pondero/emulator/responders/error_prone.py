"""A responder for offline sweeps: more thinking and easier questions give more right answers."""

import math
import re
from hashlib import blake2b
from statistics import NormalDist

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Json, Message, Part, Reply, Text
from ...dialects import AcceptedRequest
from .question import parse_question
from .responder import NO_ANSWER, ponder
from .thinking_text import depth

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?!.*\d)", re.DOTALL)
_UNSURE = "I do not know."
_DIFFICULTY = NormalDist(0.5, 1.5)
_UNIT = 16  # tokens of thinking that are one step of difficulty; each doubling is another


class ErrorProneResponder(Struct, frozen=True):
    """Answers as the built-in responder does, or wrongly; reproducible by ``seed``.

    The chance to be right is logistic in ``log2(1 + tokens / 16)`` minus the difficulty, which the
    question's text or ``[emulator: difficulty 3.5]`` sets.

    >>> from pondero.emulator import Emulator, ErrorProneResponder
    >>> client = pondero.Client(transport=Emulator(responder=ErrorProneResponder(seed=1)))
    >>> client.ask("claude-opus-5/off", "What is 17 * 23? [emulator: difficulty 9]").text
    '17 * 23 = 397'
    """

    seed: int = 0
    slope: float = 1.5

    def __call__(self, accepted: AcceptedRequest[Json]) -> Reply:
        """Answer an accepted request."""
        reply = ponder(accepted)
        if reply.finish != "stop":
            return reply
        asked, tokens = parse_question(accepted.request.messages), depth(accepted)
        chance = self.chance(tokens, difficulty(asked.question, asked.directive("difficulty")))
        draw_key = f"{self.seed}\0{accepted.request.model}\0{tokens}\0{asked.question}"
        return reply if _draw(draw_key) < chance else _make_wrong(reply, draw_key)

    def chance(self, tokens: int, hard: float) -> float:
        """Return the chance of a right answer after this much thinking."""
        gap = self.slope * (math.log2(1 + tokens / _UNIT) - hard)
        return 1 / (1 + math.exp(-gap))


def has_answer(text: str) -> bool:
    """Return whether an answer of the emulator answers the question: it only does sums.

    >>> from pondero.emulator import Emulator, has_answer
    >>> client = pondero.Client(transport=Emulator())
    >>> has_answer(client.ask("gpt-5.1", "What is 17 * 23?").text)
    True
    >>> has_answer(client.ask("gpt-5.1", "Who wrote Emma?").text)
    False
    """
    return text != _UNSURE and not text.endswith(NO_ANSWER)


def difficulty(question: str, said: str | None = None) -> float:
    """Return a question's difficulty: the given one, else drawn from its text."""
    try:
        return float(said or "")
    except ValueError:
        return _DIFFICULTY.inv_cdf(_draw(question))


def _draw(draw_key: str) -> float:
    digest = blake2b(draw_key.encode("utf-8", "replace"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 0.5) / 2**64


def _make_wrong(reply: Reply, draw_key: str) -> Reply:
    off = 1 + int(8 * _draw(f"{draw_key}\0off"))
    parts = tuple(_shift_number(part, off) for part in reply.message.parts)
    return replace(reply, message=Message("assistant", parts))


def _shift_number(part: Part, off: int) -> Part:
    if not isinstance(part, Text):
        return part
    found = _NUMBER.search(part.text)
    if found is None:
        return replace(part, text=_UNSURE)
    other = f"{float(found[0]) + off:.10g}" if "." in found[0] else str(int(found[0]) + off)
    return replace(part, text=part.text[: found.start()] + other + part.text[found.end() :])

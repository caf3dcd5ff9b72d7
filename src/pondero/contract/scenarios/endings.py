"""How an answer ends, and what comes beside it: filters, ratings, sources."""

from collections.abc import Iterator
from typing import Any

from ...canon import Json
from ...emulator import Turn
from ..bench import Bench, Seen
from ..check import Check, lacking, same, true
from ..wire import objects, says, strings
from .reading import replied
from .words import ANSWER, CALL, QUESTION, TOOL, WEATHER

_ENDS = {
    "stop": Turn(text=ANSWER, finish="stop"),
    "length": Turn(text=ANSWER, finish="length"),
    "tool_calls": Turn(tool_calls=(CALL,)),
    "other": Turn(text=ANSWER, finish="other"),
}
_FILTERED = ("content_filter", "refusal")
_SOURCE = "https://example.org/four"
_RATING = "HARM_OF_NO_KIND"
_BESIDE = {"grounding": "grounding", "safety": "safety ratings"}


def finish_reasons(bench: Bench) -> Iterator[Check]:
    """Why an answer ended is one word of ours, and the service's own word is kept beside it."""
    usual: str | None = None
    for finish, turn in _ENDS.items():
        calls = finish == "tool_calls"
        options: dict[str, Any] = {"tools": [TOOL], "thinking": "off"} if calls else {}
        for stream in (False, True):
            bench.stage(turn)
            seen = bench.ask(WEATHER if calls else QUESTION, stream=stream, **options)
            reply, raw = replied(seen), replied(seen).raw_finish
            if finish == "stop":
                usual = raw
            elif finish == "other" and raw == usual:
                return  # this wire has no word for it
            yield same("reply.finish", finish, reply.finish)
            kept = raw is not None and says(seen.body, raw)
            yield true("reply.raw_finish", "the service's own word", raw, holds=kept)


def content_filter(bench: Bench) -> Iterator[Check]:
    """An answer that a filter took away is that, whatever the word for it, and no error."""
    bench.stage(Turn(finish="stop"))
    plain = bench.ask(QUESTION, stream=False)
    # A wire with several words for it names them; of the others the usual one is staged.
    for word in bench.wire.service().filtered:
        for stream in (False, True):
            bench.stage(Turn(finish="content_filter", raw_finish=word))
            seen = bench.ask(QUESTION, stream=stream)
            if not stream and _words(seen) <= _words(plain):
                raise lacking("this wire has no word for it")
            reply = replied(seen)
            filtered = reply.finish in _FILTERED
            yield true("reply.finish", " or ".join(_FILTERED), reply.finish, holds=filtered)
            if word is not None and bench.staged:
                yield same("reply.raw_finish", word, reply.raw_finish)


def _words(seen: Seen) -> set[str]:
    return {word for each in objects(seen.body) for word in strings(each)}


def grounding(bench: Bench) -> Iterator[Check]:
    """What an answer rests on is kept as it came."""
    staged: Json = {"sources": [{"uri": _SOURCE, "title": "Four"}]}
    yield from _beside(bench, Turn(text=ANSWER, grounding=staged), "grounding", staged, _SOURCE)


def safety_ratings(bench: Bench) -> Iterator[Check]:
    """How safe a service finds an answer is kept as it came."""
    staged: Json = [{"category": _RATING, "probability": "NEGLIGIBLE"}]
    yield from _beside(bench, Turn(text=ANSWER, safety=staged), "safety", staged, _RATING)


def _beside(bench: Bench, turn: Turn, field: str, staged: Json, mark: str) -> Iterator[Check]:
    for stream in (False, True):
        bench.stage(turn)
        seen = bench.ask(QUESTION, stream=stream)
        if not says(seen.body, mark):
            raise lacking(f"answers come without {_BESIDE[field]} here")
        yield same(f"reply.{field}", staged, getattr(replied(seen), field))
        yield same("reply.text", ANSWER, replied(seen).text)

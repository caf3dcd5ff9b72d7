"""Token counts: each token counted once, thinking apart from the answer, the service's own sum."""

from collections.abc import Iterator

from ...canon import Usage
from ...emulator import ScriptedTurn
from ..bench import ObservedExchange, Testbed
from ..scenario import ScenarioCheck, optional_check, same, true
from ..wire import wire_usage
from .shared_checks import ANSWER, CACHED, COUNTS, QUESTION, SUM, THOUGHT_OF, once, require_reply


def token_usage(bench: Testbed) -> Iterator[ScenarioCheck]:
    """What was read, what was cached and what was written stand apart and add up to the total."""
    for stream in (False, True):
        bench.stage(ScriptedTurn(text=ANSWER, usage=CACHED))
        seen = bench.ask(QUESTION, "off", stream=stream)
        usage = require_reply(seen).usage
        yield once(seen)
        yield optional_check("usage.input", "a count", usage.input, holds=bool(usage.input))
        yield optional_check("usage.output", "a count", usage.output, holds=bool(usage.output))
        yield from _adds_up(seen, usage)
        if bench.is_staged:
            yield same(
                "usage.input and cache_read", _read(CACHED, seen), (usage.input, usage.cache_read)
            )
            yield same("usage.output", CACHED.output, usage.output)
            yield same("usage.total", CACHED.total, usage.total)


def thinking_tokens(bench: Testbed) -> Iterator[ScenarioCheck]:
    """Tokens of thinking are counted, once, and not as part of the answer."""
    for stream in (False, True):
        bench.stage(THOUGHT_OF)
        seen = bench.ask(SUM, "medium", stream=stream)
        usage = require_reply(seen).usage
        yield once(seen)
        if not bench.is_staged:
            yield optional_check(
                "usage.thinking", "a count", usage.thinking, holds=bool(usage.thinking)
            )
        yield from _adds_up(seen, usage)
        if bench.is_staged:
            split = _splits(seen)
            spent = (COUNTS.output or 0) + (0 if split else COUNTS.thinking or 0)
            yield same("usage.thinking", COUNTS.thinking if split else None, usage.thinking)
            yield same("usage.output", spent, usage.output)
            yield same("usage.total", COUNTS.total, usage.total)


def _adds_up(seen: ObservedExchange, usage: Usage) -> Iterator[ScenarioCheck]:
    if usage.total is not None:
        yield same("sum of the counts", usage.total, usage.known_total)
    there = wire_usage(seen.body)
    for name in ("input", "output", "thinking", "total"):
        count = getattr(usage, name)
        if count:
            holds = _derived(count, usage, there)
            yield true(
                f"usage.{name}", "a count on the wire, or the rest of one", count, holds=holds
            )


def _derived(count: int, usage: Usage, there: set[int]) -> bool:
    """Return whether a count is on the wire, or is the difference or sum of others there."""
    others = (usage.thinking or 0, (usage.cache_read or 0) + (usage.cache_write or 0))
    beside = {0, *others, sum(others), usage.cache_read or 0, usage.cache_write or 0}
    return any(count + each in there for each in beside) or count == usage.known_total


def _splits(seen: ObservedExchange) -> bool:
    """Return whether this wire has a count of thinking at all."""
    return COUNTS.thinking in wire_usage(seen.body)


def _read(staged: Usage, seen: ObservedExchange) -> tuple[int | None, int | None]:
    """Return the staged input as this wire counts it: without the cached tokens, or with them."""
    if staged.cache_read in wire_usage(seen.body):
        return staged.input, staged.cache_read
    both = (staged.input or 0) + (staged.cache_read or 0)
    said = both if both in wire_usage(seen.body) else staged.input
    return said, require_reply(seen).usage.cache_read

"""Token counts: each token counted once, thinking apart from the answer, the service's own sum."""

from ...canon import Usage
from ...emulator import ScriptedTurn
from ..bench import ObservedExchange, Testbed
from ..scenario import Checks, optional, same, true
from ..wire import wire_usage
from .shared_checks import ANSWER, CACHED, COUNTS, QUESTION, SUM, THOUGHT_OF, once


def token_usage(bench: Testbed) -> Checks:
    """Input, cached and output tokens are separate and add up to the total."""
    for stream in (False, True):
        bench.stage(ScriptedTurn(text=ANSWER, usage=CACHED))
        seen = bench.ask(QUESTION, "off", stream=stream)
        usage = seen.answer.usage
        yield once(seen)
        yield true("usage.input", "a count", usage.input, holds=bool(usage.input))
        yield true("usage.output", "a count", usage.output, holds=bool(usage.output))
        yield from _check_sums(seen, usage)
        if bench.is_staged:
            yield same(
                "usage.input and cache_read",
                _staged_input(CACHED, seen),
                (usage.input, usage.cache_read),
            )
            yield same("usage.output", CACHED.output, usage.output)
            yield same("usage.total", CACHED.total, usage.total)


def thinking_tokens(bench: Testbed) -> Checks:
    """Tokens of thinking are counted, once, and not as part of the answer."""
    for stream in (False, True):
        bench.stage(THOUGHT_OF)
        seen = bench.ask(SUM, "medium", stream=stream)
        usage = seen.answer.usage
        yield once(seen)
        if not bench.is_staged:
            yield from _check_thought(bench, seen)
        yield from _check_sums(seen, usage)
        if bench.is_staged:
            split = _has_thinking_count(seen)
            spent = (COUNTS.output or 0) + (0 if split else COUNTS.thinking or 0)
            yield same("usage.thinking", COUNTS.thinking if split else None, usage.thinking)
            yield same("usage.output", spent, usage.output)
            yield same("usage.total", COUNTS.total, usage.total)


def _check_thought(bench: Testbed, seen: ObservedExchange) -> Checks:
    """Check that it thought and counts its output; not every service counts thinking apart."""
    usage, hidden = seen.answer.usage, bench.entry.capability.shown == "never"
    thought = bool(usage.thinking) or bool("".join(seen.answer.thinking)) or hidden
    yield true("reply.thinking", "some thinking, or its count", usage.thinking, holds=thought)
    yield true("usage.output", "a count", usage.output, holds=bool(usage.output))
    yield optional("usage.thinking", "a count", usage.thinking, holds=bool(usage.thinking))


def _check_sums(seen: ObservedExchange, usage: Usage) -> Checks:
    if usage.total is not None:
        yield same("sum of the counts", usage.total, usage.known_total)
    counts = wire_usage(seen.body)
    for name in ("input", "output", "thinking", "total"):
        count = getattr(usage, name)
        if count:
            holds = _is_derived(count, usage, counts)
            yield true(
                f"usage.{name}", "a count on the wire, or the rest of one", count, holds=holds
            )


def _is_derived(count: int, usage: Usage, counts: set[int]) -> bool:
    others = (usage.thinking or 0, (usage.cache_read or 0) + (usage.cache_write or 0))
    parts = {0, *others, sum(others), usage.cache_read or 0, usage.cache_write or 0}
    return any(count + each in counts for each in parts) or count == usage.known_total


def _has_thinking_count(seen: ObservedExchange) -> bool:
    return COUNTS.thinking in wire_usage(seen.body)


def _staged_input(staged: Usage, seen: ObservedExchange) -> tuple[int | None, int | None]:
    if staged.cache_read in wire_usage(seen.body):
        return staged.input, staged.cache_read
    both = (staged.input or 0) + (staged.cache_read or 0)
    counted = both if both in wire_usage(seen.body) else staged.input
    return counted, seen.answer.usage.cache_read

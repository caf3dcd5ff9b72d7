"""Levels at work: each one sent, answered, changed in mid-conversation."""

from collections.abc import Callable, Iterator

from ...canon import Text, Thinking
from ...thinking import OFF
from ..bench import Bench, Seen
from ..check import Check, offered, same, true
from ..wire import Path, at, figures, leaves, says
from .reading import answered, asked, once, planned, replied, thought
from .words import ANSWER, COUNTS, QUESTION, SUM, THOUGHT, THOUGHT_OF, user

_NEXT = "What is 23 * 3?"


def thinking_config(bench: Bench) -> Iterator[Check]:
    """A level is sent where this service has its knob, and nothing else is."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=False)
    unset = bench.prepared(None)[0]
    yield once(seen)
    yield from planned(bench, seen.request, seen.plan)
    yield true(
        "the request", "other than without a wish", "the same", holds=_differs(seen, unset.body)
    )
    yield from answered(bench, seen, ANSWER)


def thinking_response(bench: Bench) -> Iterator[Check]:
    """Thinking in an answer is found, and is not taken for the answer."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=False)
    yield once(seen)
    yield from thought(bench, seen, THOUGHT)
    yield from answered(bench, seen, ANSWER)
    yield same("reply.finish", "stop", replied(seen).finish)


def thinking_extraction(bench: Bench) -> Iterator[Check]:
    """Thinking and words stand in the order in which they came, thinking first."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=False)
    parts = [part for part in replied(seen).message.parts if isinstance(part, Thinking | Text)]
    kinds = [type(part).__name__ for part in parts if part.text]
    yield offered("parts", "some thinking", kinds, holds=Thinking.__name__ in kinds)
    yield same("the first part", Thinking.__name__, kinds[0])
    yield same("the last part", Text.__name__, kinds[-1])
    yield from thought(bench, seen, THOUGHT)


def thinking_off(bench: Bench) -> Iterator[Check]:
    """Off is off, or the least there is and says so; thinking that comes anyway is kept."""
    seen = bench.ask(SUM, "off", stream=False)
    plan, reply = seen.plan, replied(seen)
    yield once(seen)
    yield from planned(bench, seen.request, plan)
    if bench.entry.capability.off:
        yield same("plan.will_think", expected=False, actual=plan.will_think)
        told = (*reply.thinking, reply.usage.thinking)
        yield offered("reply.thinking", "none", told, holds=not any(told))
        yield same("reply.verdict", "as_planned", reply.verdict)
    else:
        codes = [note.code for note in plan.adjustments]
        yield true("plan.adjustments", "a word about it", codes, holds="cannot_disable" in codes)
    yield from answered(bench, seen)
    if bench.stages:
        yield from _anyway(bench)


def _anyway(bench: Bench) -> Iterator[Check]:
    bench.stage(THOUGHT_OF)
    seen = bench.ask(SUM, "off", stream=False)
    reply = replied(seen)
    if says(seen.body, THOUGHT):
        yield same("reply.thinking, though off", (THOUGHT,), reply.thinking)
    if COUNTS.thinking in figures(seen.body):
        yield same("usage.thinking, though off", COUNTS.thinking, reply.usage.thinking)
        if seen.plan.will_think is False:
            yield same("reply.verdict, though off", "thought_though_off", reply.verdict)


def _at(level: str) -> Callable[[Bench], Iterator[Check]]:
    def run(bench: Bench) -> Iterator[Check]:
        seen = bench.ask(SUM, level, stream=False)
        reply = replied(seen)
        yield once(seen)
        yield from planned(bench, seen.request, seen.plan)
        if seen.accepted is not None and bench.strict:
            yield same(
                "thinks, as the service reads it", expected=True, actual=seen.accepted.thinks
            )
        verdict = reply.verdict
        yield offered(
            "reply.verdict", "as_planned", verdict, holds=verdict in ("as_planned", "unknown")
        )
        yield from answered(bench, seen)

    run.__name__ = f"thinking_{level}"
    run.__doc__ = f"At {level}, the model is told so and thinks so."
    return run


thinking_low, thinking_medium, thinking_high = map(_at, ("low", "medium", "high"))


def thinking_max(bench: Bench) -> Iterator[Check]:
    """The highest level is the most this model takes, and never less than a lower one."""
    most = bench.ask(SUM, "max", stream=False)
    high = bench.ask(SUM, "high", stream=False)
    yield once(most)
    yield from planned(bench, most.request, most.plan)
    yield from planned(bench, high.request, high.plan)
    facts = bench.entry.capability
    if facts.by_budget and facts.budget is not None:
        top = facts.budget.nominal or facts.budget.max
        yield same("figure of high", top, high.plan.nominal)
        yield same("figure of max", high.plan.nominal, most.plan.nominal)
        within = (most.plan.budget or 0) <= facts.budget.max
        yield true("tokens of max", f"at most {facts.budget.max}", most.plan.budget, holds=within)
    else:
        yield same("word of max", facts.levels[-1], most.plan.level)
    if bench.strict:
        counts = [replied(seen).usage.thinking or 0 for seen in (high, most)]
        yield true("tokens of high and max", "not falling", counts, holds=counts == sorted(counts))


def thinking_transition(bench: Bench) -> Iterator[Check]:
    """A level can change between turns: the model, and what was said, stay."""
    question, (weak, strong) = user(SUM), _two(bench)
    first = bench.ask([question], weak, stream=False)
    past = replied(first).message
    second = bench.ask([question, past, user(_NEXT)], strong, stream=False)
    yield once(first)
    yield once(second)
    yield from planned(bench, first.request, first.plan)
    yield from planned(bench, second.request, second.plan)
    rungs = (first.plan.level, first.plan.budget) != (second.plan.level, second.plan.budget)
    yield true("levels", "two different ones", (first.plan.level, second.plan.level), holds=rungs)
    yield same("model", first.plan.model, second.plan.model)
    yield from asked(second, ("user", SUM), ("assistant", past.text), ("user", _NEXT))
    yield from answered(bench, second)


def _two(bench: Bench) -> tuple[str, str]:
    """Return two levels that are two on this model: low and high, else its own."""
    own = bench.entry.capability.levels
    return ("low", "high") if {"low", "high"} <= set(own) else (own[0], own[-1])


def thinking_unasked(bench: Bench) -> Iterator[Check]:
    """Where nothing is wished for, nothing about thinking is sent."""
    seen = bench.ask(SUM, stream=False)
    yield once(seen)
    if seen.accepted is not None:
        yield same("the wish as the service reads it", "unset", seen.accepted.intent.kind)
    for path in _knobs(bench):
        yield same(f"{'.'.join(map(str, path))} of the request", None, at(seen.sent, path))
    off = bench.prepared(OFF)[0]
    if bench.entry.capability.off:
        yield true("the request", "other than off", "the same", holds=_differs(seen, off.body))
    yield from answered(bench, seen)


def _knobs(bench: Bench) -> Iterator[Path]:
    """Yield where a wish would stand in the request, apart from what is there in any case."""
    usual = set(map(tuple, bench.entry.provider.parameters.values()))
    for path, _ in leaves(bench.prepared("high")[1].fields):
        if path not in usual:
            yield path


def _differs(seen: Seen, body: bytes) -> bool:
    return seen.request.body != body

"""Thinking levels: each one sent, answered, and changed in mid-conversation."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import msgspec

from ...canon import Text, Thinking
from ...catalog import ModelEntry
from ...client import levels
from ...errors import BadThinking, NotFound
from ...thinking import LEVELS, OFF, BudgetRange, Placement, Plan
from ..bench import ObservedExchange, Testbed
from ..scenario import Checks, not_supported, note_unchecked, same, true
from ..wire import Path, leaves, says, wire_usage, wire_value
from .shared_checks import (
    ANSWER,
    COUNTS,
    QUESTION,
    SUM,
    THOUGHT,
    THOUGHT_OF,
    check_answer,
    check_plan,
    check_request,
    check_thinking,
    once,
    user,
)

_NEXT = "What is 23 * 3?"
_UNSEEN = "whether the model thinks; its answer has no thinking and does not count it"
_PUZZLE = (  # takes some thought: more at a higher level, on any model that heeds it
    "Five friends sit in a row. Ann is not next to Ben, Ben is left of Cid, Dan is at an end, and "
    "Eve is next to Cid. In how many ways can they sit?"
)


def thinking_config(bench: Testbed) -> Checks:
    """A level is sent in this service's own field, and nothing else is."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=False)
    unset = bench.prepare(None)[0]
    yield once(seen)
    yield from check_plan(bench, seen.request, seen.plan)
    yield true(
        "the request", "other than without a level", "the same", holds=_differs(seen, unset.body)
    )
    yield from check_answer(bench, seen, ANSWER)


def thinking_response(bench: Testbed) -> Checks:
    """Thinking in an answer is found, and is not taken for the answer."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=False)
    yield once(seen)
    yield from check_thinking(bench, seen, THOUGHT)
    yield from check_answer(bench, seen, ANSWER)
    yield same("reply.finish", "stop", seen.answer.finish)


def thinking_extraction(bench: Testbed) -> Checks:
    """Thinking and words keep their order, thinking first."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=False)
    parts = [part for part in seen.answer.message.parts if isinstance(part, Thinking | Text)]
    kinds = [type(part).__name__ for part in parts if part.text]
    yield true("parts", "some thinking", kinds, holds=Thinking.__name__ in kinds)
    yield same("the first part", Thinking.__name__, kinds[0])
    yield same("the last part", Text.__name__, kinds[-1])
    yield from check_thinking(bench, seen, THOUGHT)


def thinking_off(bench: Testbed) -> Checks:
    """Off is off, or the least there is and says so. Thinking that comes anyway is kept."""
    seen = bench.ask(SUM, "off", stream=False)
    plan, reply = seen.plan, seen.answer
    yield once(seen)
    yield from check_plan(bench, seen.request, plan)
    if bench.entry.capability.off:
        yield same("plan.will_think", expected=False, actual=plan.will_think)
        thinking = (reply.thinking, reply.usage.thinking)
        yield true("reply.thinking", "none", thinking, holds=not any(thinking))
        yield same("reply.verdict", "as_planned", reply.verdict)
    else:
        codes = [note.code for note in plan.adjustments]
        yield true("plan.adjustments", "a word about it", codes, holds="cannot_disable" in codes)
    yield from check_answer(bench, seen)
    if bench.stages:
        yield from _check_thinking_though_off(bench)
    else:
        yield note_unchecked("that thinking that comes anyway is kept, which takes a staged answer")


def _check_thinking_though_off(bench: Testbed) -> Checks:
    bench.stage(THOUGHT_OF)
    seen = bench.ask(SUM, "off", stream=False)
    reply = seen.answer
    if says(seen.body, THOUGHT):
        yield same("reply.thinking, though off", THOUGHT, reply.thinking)
    if COUNTS.thinking in wire_usage(seen.body):
        yield same("usage.thinking, though off", COUNTS.thinking, reply.usage.thinking)
        if seen.plan.will_think is False:
            yield same("reply.verdict, though off", "thought_though_off", reply.verdict)


_Run = Callable[[Testbed], Checks]


def _at(level: str) -> _Run:
    def run(bench: Testbed) -> Checks:
        seen = bench.ask(SUM, level, stream=False)
        reply = seen.answer
        yield once(seen)
        yield from check_plan(bench, seen.request, seen.plan)
        if seen.accepted is not None and bench.strict:
            yield same(
                "thinks, as the service reads it", expected=True, actual=seen.accepted.thinks
            )
        verdict = reply.verdict
        yield true(
            "reply.verdict", "as_planned", verdict, holds=verdict in ("as_planned", "unknown")
        )
        if verdict == "unknown" and not bench.strict:
            yield note_unchecked(_UNSEEN)
        yield from check_answer(bench, seen)

    run.__name__ = f"thinking_{level}"
    run.__doc__ = f"At {level}, the level is sent. The model thinks."
    return run


thinking_low: _Run = _at("low")
thinking_medium: _Run = _at("medium")
thinking_high: _Run = _at("high")


def thinking_max(bench: Testbed) -> Checks:
    """The highest level is the most this model takes. It thinks no less than at high."""
    most = bench.ask(SUM, "max", stream=False)
    high = bench.ask(SUM, "high", stream=False)
    yield once(most)
    yield from check_plan(bench, most.request, most.plan)
    yield from check_plan(bench, high.request, high.plan)
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
        counts = [seen.answer.usage.thinking or 0 for seen in (high, most)]
        yield true("tokens of high and max", "not falling", counts, holds=counts == sorted(counts))
    else:
        yield note_unchecked(
            "that it thinks no less than at high; thinking_depth compares two levels"
        )


def thinking_transition(bench: Testbed) -> Checks:
    """A level can change between turns: the model, and what was said, stay."""
    question, (weak, strong) = user(SUM), _two(bench)
    first = bench.ask([question], weak, stream=False)
    past = first.answer.message
    second = bench.ask([question, past, user(_NEXT)], strong, stream=False)
    yield once(first)
    yield once(second)
    yield from check_plan(bench, first.request, first.plan)
    yield from check_plan(bench, second.request, second.plan)
    rungs = (first.plan.level, first.plan.budget) != (second.plan.level, second.plan.budget)
    yield true("levels", "two different ones", (first.plan.level, second.plan.level), holds=rungs)
    yield same("model", first.plan.model, second.plan.model)
    yield from check_request(second, ("user", SUM), ("assistant", past.text), ("user", _NEXT))
    yield from check_answer(bench, second)


def _two(bench: Testbed) -> tuple[str, str]:
    own = bench.entry.capability.levels
    return ("low", "high") if {"low", "high"} <= set(own) else (own[0], own[-1])


def thinking_depth(bench: Testbed) -> Checks:
    """The highest level thinks more than the lowest: the level has an effect at the service."""
    own = bench.entry.capability.levels
    seen = [bench.ask(_PUZZLE, level, stream=False) for level in (own[0], own[-1])]
    rungs = [(each.plan.level, each.plan.budget) for each in seen]
    if rungs[0] == rungs[1]:
        raise not_supported("the lowest and the highest level are the same here")
    amounts = [_amount(each) for each in seen]
    more = amounts[0] < amounts[1]
    least, most = own[0], own[-1]
    tokens = "token" if amounts[0] == 1 else "tokens"
    yield true(
        f"thinking at {least} and at {most}",
        f"more at {most}",
        f"{amounts[0]} {tokens} at {least}, {amounts[1]} at {most}",
        holds=more,
    )


def _amount(seen: ObservedExchange) -> int:
    """Return the tokens of thinking; where they are not counted apart, the output has them."""
    usage = seen.answer.usage
    return (usage.output or 0) if usage.thinking is None else usage.thinking


def thinking_unasked(bench: Testbed) -> Checks:
    """Without a requested level, no field about thinking is sent."""
    seen = bench.ask(SUM, stream=False)
    yield once(seen)
    if seen.accepted is not None:
        yield same("the level as the service reads it", "unset", seen.accepted.intent.kind)
    for path in _iter_level_paths(bench):
        yield same(f"{'.'.join(map(str, path))} of the request", None, wire_value(seen.sent, path))
    off = bench.prepare(OFF)[0]
    if bench.entry.capability.off:
        yield true("the request", "other than off", "the same", holds=_differs(seen, off.body))
    yield from check_answer(bench, seen)


def _iter_level_paths(bench: Testbed) -> Iterator[Path]:
    usual = set(map(tuple, bench.entry.provider.parameters.values()))
    for path, _ in leaves(bench.prepare("high")[1].fields):
        if path not in usual:
            yield path


def _differs(seen: ObservedExchange, body: bytes) -> bool:
    return seen.request.body != body


_THIRDS = {"low": 1, "medium": 2, "high": 3}
_NO_LEVELS = ("hihg", "", -1, 3.5, object())


def thinking_budgets(bench: Testbed) -> Checks:
    """Every level of every model here is a figure or a word of that model, and none falls."""
    for entry in _one_a_family(bench):
        ladder = levels(entry.id)
        facts = entry.capability
        if facts.by_budget and facts.budget is not None:
            yield from _figures(entry, facts.budget, ladder)
        elif facts.efforts:
            words = [plan.level for plan in ladder if plan.asked != "off"]
            own = all(word in facts.efforts for word in words)
            yield true(f"{entry.model}: words", " ".join(facts.efforts), words, holds=own)
            rungs = [facts.efforts.index(word) for word in words if word in facts.efforts]
            yield true(f"{entry.model}: words", "not falling", words, holds=rungs == sorted(rungs))
        for level in ("low", "medium", "high"):
            request, plan = bench.prepare(level, entry=entry)
            yield from check_plan(bench, request, plan, entry)


def _figures(entry: ModelEntry, budget: BudgetRange, ladder: list[Plan]) -> Checks:
    low, top = budget.min if budget.base is None else budget.base, budget.nominal or budget.max
    by_level = {str(plan.asked): plan for plan in ladder}
    for level, third in _THIRDS.items():
        figure = low + third * (top - low) // 3
        yield same(f"{entry.model}/{level}: figure", figure, by_level[level].nominal)
    sent = [plan.budget for plan in ladder if plan.asked != "off" and plan.budget is not None]
    yield true(f"{entry.model}: budgets", "not falling", sent, holds=sent == sorted(sent))
    fit = all(budget.min <= each <= budget.max for each in sent)
    yield true(f"{entry.model}: budgets", f"{budget.min} to {budget.max}", sent, holds=fit)


def thinking_serialisation(bench: Testbed) -> Checks:
    """Each level is in the field that this service reads, and is read back the same."""
    bodies = {}
    for level in LEVELS:
        request, plan = bench.prepare(level)
        yield from check_plan(bench, request, plan)
        yield same(f"{level}: the service's side", None, _find_rejection(bench, bench.entry, level))
        bodies[level] = (request.body, plan)
    for one, other in pairwise(LEVELS):
        same_rung = _rung(bodies[one][1]) == _rung(bodies[other][1])
        same_body = bodies[one][0] == bodies[other][0]
        yield same(f"{one} and {other} sent alike", same_rung, same_body)


def thinking_all_models(bench: Testbed) -> Checks:
    """Every model here takes every level, as what we make of it."""
    taken = 0
    for entry in _one_a_family(bench):
        for level in (None, *LEVELS):
            request, plan = bench.prepare(level, entry=entry)
            error = bench.rejection(request, entry)
            if isinstance(error, NotFound):
                break  # in the catalog, but no longer served
            yield same(f"{entry.model}/{level}: the service's side", None, error and str(error))
            yield from check_plan(bench, request, plan, entry)
            taken += 1
    yield true("levels taken", "at least one", taken, holds=taken > 0)


def thinking_unsupported_model(bench: Testbed) -> Checks:
    """A model that does not think is told nothing about it, and the plan says so."""
    other = next((e for e in bench.served_models() if not e.capability.thinks), None)
    if other is None:
        raise not_supported("every model here thinks")
    bench.stage()
    seen = bench.ask(QUESTION, "high", entry=other, stream=False)
    unset = bench.ask(QUESTION, entry=other, stream=False)
    yield once(seen)
    yield same("the request", unset.request.body, seen.request.body)
    codes = [note.code for note in seen.plan.adjustments]
    yield true("plan.adjustments", "no_thinking", codes, holds="no_thinking" in codes)
    yield same("plan.will_think", expected=False, actual=seen.plan.will_think)
    yield from check_answer(bench, seen)


def thinking_invalid_level(bench: Testbed) -> Checks:
    """An unknown level is rejected before anything is sent; the error lists the valid ones."""
    for level_text in _NO_LEVELS:
        try:
            bench.try_ask(QUESTION, level_text)
        except BadThinking as error:
            yield same(f"category of {level_text!r}", "invalid_arg", error.category)
            if isinstance(level_text, str) and level_text:
                helps = all(level in str(error) for level in LEVELS)
                yield true("the error", "the levels that are", str(error), holds=helps)
        else:
            yield true(f"{level_text!r}", "BadThinking", "taken", holds=False)
    yield same("requests sent", 0, len(bench.listener.exchanges))


def thinking_summary_flag(bench: Testbed) -> Checks:
    """Whether to show thinking is sent if this service has a field for it."""
    placement = bench.entry.placement
    shown = _body(bench, "summary")
    hidden = _body(bench, "none")
    if placement.show is None and placement.hide is None:
        yield same("the request", shown, hidden)
        yield from _check_cannot_hide(bench)
        raise not_supported("this dialect has no field for it")
    yield from _flags(placement, shown, hidden)
    accepted = bench.read(bench.prepare("medium", policy={"show": "summary"})[0])
    if accepted is not None and bench.entry.capability.shown != "never":
        yield same("shown, as the service reads it", expected=True, actual=accepted.shown)


def _check_cannot_hide(bench: Testbed) -> Checks:
    plan = bench.prepare("medium", policy={"show": "none"})[1]
    by_itself = bench.entry.capability.shown in ("full", "summary") and plan.will_think
    codes = [note.code for note in plan.adjustments]
    yield same("a word about it", by_itself, "cannot_hide" in codes)


def _flags(placement: Placement, shown: object, hidden: object) -> Checks:
    for name, wanted, other in (("show", shown, hidden), ("hide", hidden, shown)):
        for path, value in leaves(getattr(placement, name) or {}):
            where = f"{name}: {'.'.join(map(str, path))}"
            yield same(where, value, wire_value(wanted, path))
            otherwise = wire_value(other, path)
            yield true(where, f"not {value!r} otherwise", otherwise, holds=otherwise != value)


def _body(bench: Testbed, show: str) -> object:
    body: object = msgspec.json.decode(bench.prepare("medium", policy={"show": show})[0].body)
    return body


def _one_a_family(bench: Testbed) -> list[ModelEntry]:
    own = bench.entry
    others = {each.family: each for each in reversed(bench.siblings()) if each.family != own.family}
    return [e for e in (own, *others.values()) if e.capability.thinks and e.capability.levels]


def _find_rejection(bench: Testbed, entry: ModelEntry, level: str) -> str | None:
    error = bench.rejection(bench.prepare(level, entry=entry)[0], entry)
    return None if error is None else str(error)


def _rung(plan: Plan) -> object:
    return msgspec.json.encode(plan.fields, order="sorted")

"""The dial without an exchange: every model, every level, held against the service's side."""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from ...catalog import Entry
from ...client import levels
from ...errors import BadThinking, NotFound
from ...thinking import LEVELS, Placement, Plan
from ..bench import Bench
from ..check import Check, lacking, same, true
from ..wire import at, leaves
from .reading import answered, once, planned
from .words import QUESTION

_THIRDS = {"low": 1, "medium": 2, "high": 3}
_NO_LEVELS = ("hihg", "", -1, 3.5, object())


def thinking_budgets(bench: Bench) -> Iterator[Check]:
    """Every level of every model here is a figure or a word of that model, and none falls."""
    for entry in _one_a_family(bench):
        ladder = levels(entry.id)
        facts = entry.capability
        if facts.by_budget and facts.budget is not None:
            yield from _figures(entry, ladder)
        elif facts.efforts:
            words = [plan.level for plan in ladder if plan.asked != "off"]
            own = all(word in facts.efforts for word in words)
            yield true(f"{entry.model}: words", " ".join(facts.efforts), words, holds=own)
            rungs = [facts.efforts.index(word) for word in words if word in facts.efforts]
            yield true(f"{entry.model}: words", "not falling", words, holds=rungs == sorted(rungs))
        for level in ("low", "medium", "high"):
            request, plan = bench.prepared(level, entry=entry)
            yield from planned(bench, request, plan, entry)


def _figures(entry: Entry, ladder: list[Plan]) -> Iterator[Check]:
    budget = entry.capability.budget
    assert budget is not None  # noqa: S101 - as was just seen
    low, top = budget.min if budget.base is None else budget.base, budget.nominal or budget.max
    by_level = {str(plan.asked): plan for plan in ladder}
    for level, third in _THIRDS.items():
        figure = low + third * (top - low) // 3
        yield same(f"{entry.model}/{level}: figure", figure, by_level[level].nominal)
    sent = [plan.budget for plan in ladder if plan.asked != "off" and plan.budget is not None]
    yield true(f"{entry.model}: budgets", "not falling", sent, holds=sent == sorted(sent))
    fit = all(budget.min <= each <= budget.max for each in sent)
    yield true(f"{entry.model}: budgets", f"{budget.min} to {budget.max}", sent, holds=fit)


def thinking_serialisation(bench: Bench) -> Iterator[Check]:
    """Each level stands in the JSON where this service looks, and is read back the same."""
    bodies = {}
    for level in LEVELS:
        request, plan = bench.prepared(level)
        yield from planned(bench, request, plan)
        yield same(f"{level}: the service's side", None, _refused(bench, bench.entry, level))
        bodies[level] = (request.body, plan)
    for one, other in pairwise(LEVELS):
        same_rung = _rung(bodies[one][1]) == _rung(bodies[other][1])
        same_body = bodies[one][0] == bodies[other][0]
        yield same(f"{one} and {other} sent alike", same_rung, same_body)


def thinking_all_models(bench: Bench) -> Iterator[Check]:
    """Every model here takes every level, as what we make of it."""
    taken = 0
    for entry in _one_a_family(bench):
        for level in (None, *LEVELS):
            request, plan = bench.prepared(level, entry=entry)
            error = bench.refusal(request, entry)
            if isinstance(error, NotFound):
                break  # in the catalog, and no longer served
            yield same(f"{entry.model}/{level}: the service's side", None, error and str(error))
            yield from planned(bench, request, plan, entry)
            taken += 1
    yield true("levels taken", "at least one", taken, holds=taken > 0)


def thinking_unsupported_model(bench: Bench) -> Iterator[Check]:
    """A model that does not think is told nothing about it, and the plan says so."""
    other = next((e for e in bench.served() if not e.capability.thinks), None)
    if other is None:
        raise lacking("every model here thinks")
    bench.stage()
    seen = bench.ask(QUESTION, "high", entry=other, stream=False)
    unset = bench.ask(QUESTION, entry=other, stream=False)
    yield once(seen)
    yield same("the request", unset.request.body, seen.request.body)
    codes = [note.code for note in seen.plan.adjustments]
    yield true("plan.adjustments", "no_thinking", codes, holds="no_thinking" in codes)
    yield same("plan.will_think", expected=False, actual=seen.plan.will_think)
    yield from answered(bench, seen)


def thinking_invalid_level(bench: Bench) -> Iterator[Check]:
    """A level that is none is refused before anything is sent, and the words that are one named."""
    for wish in _NO_LEVELS:
        try:
            bench.tried(QUESTION, wish)
        except BadThinking as error:
            yield same(f"category of {wish!r}", "invalid_arg", error.category)
            if isinstance(wish, str) and wish:
                helps = all(level in str(error) for level in LEVELS)
                yield true("the error", "the levels that are", str(error), holds=helps)
        else:
            yield true(f"{wish!r}", "BadThinking", "taken", holds=False)
    yield same("requests sent", 0, len(bench.overheard.exchanges))


def thinking_summary_flag(bench: Bench) -> Iterator[Check]:
    """Whether the thinking is to be read is said where this service has a word for it."""
    placement = bench.entry.placement
    shown = _body(bench, "summary")
    hidden = _body(bench, "none")
    if placement.show is None and placement.hide is None:
        yield same("the request", shown, hidden)
        raise lacking("this wire has no word for it")
    yield from _flags(placement, shown, hidden)
    accepted = bench.read(bench.prepared("medium", policy={"show": "summary"})[0])
    if accepted is not None and bench.entry.capability.shown != "never":
        yield same("shown, as the service reads it", expected=True, actual=accepted.shown)


def _flags(placement: Placement, shown: object, hidden: object) -> Iterator[Check]:
    for name, asked, other in (("show", shown, hidden), ("hide", hidden, shown)):
        for path, value in leaves(getattr(placement, name) or {}):
            where = f"{name}: {'.'.join(map(str, path))}"
            yield same(where, value, at(asked, path))
            beside = at(other, path)
            yield true(where, f"not {value!r} otherwise", beside, holds=beside != value)


def _body(bench: Bench, show: str) -> object:
    body: object = msgspec.json.decode(bench.prepared("medium", policy={"show": show})[0].body)
    return body


def _one_a_family(bench: Bench) -> list[Entry]:
    """Return this model, and one of each other family here that thinking can be said to."""
    own = bench.entry
    others = {each.family: each for each in reversed(bench.siblings()) if each.family != own.family}
    return [e for e in (own, *others.values()) if e.capability.thinks and e.capability.levels]


def _refused(bench: Bench, entry: Entry, level: str) -> str | None:
    error = bench.refusal(bench.prepared(level, entry=entry)[0], entry)
    return None if error is None else str(error)


def _rung(plan: Plan) -> object:
    return msgspec.json.encode(plan.fields, order="sorted")

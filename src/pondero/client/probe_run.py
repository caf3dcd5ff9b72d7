"""Probes and discoveries as a client runs them: what to send, what it may cost, what came of it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from time import monotonic
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ..canon import Reply, Thinking, Usage
from ..catalog import ModelEntry
from ..errors import BadParameter, BadRequest, UsageError
from ..probe import (
    DISCOVERY_QUESTION,
    MAX_TOKENS,
    MOST_TRIALS,
    OFF,
    QUESTIONS,
    Discovery,
    DiscoveryAnswer,
    FieldTrial,
    Probe,
    ProbeAnswer,
    ProbeAsk,
    ProbeResult,
    check_comparable,
    check_question_count,
    choose_levels,
    count_asks,
    list_distinct,
    make_model_row,
)
from ..store import assume_media, list_cost, load_catalog, price_usage
from ..thinking import Plan, Policy
from .dial import levels as make_ladder
from .dial import plan as make_plan

ProbeProgress = Callable[[int, int], None]
"""Called after each answer with the asks so far and the most there can be."""

_ENVELOPE = 512  # tokens around a prompt: roles, separators, the service's own prompt
_DISCOVERY_TOKENS = 2_048  # the output limit of a trial: room for the number that is tried


class ProbeDraft(Struct, frozen=True, kw_only=True):
    """What a probe will ask, before it is sent. ``max_cost`` is None if no price is known.

    >>> draft = client.draft_probe("claude-opus-5")
    >>> draft.levels, draft.max_asks
    (('off', 'low', 'high'), 56)
    """

    model: str
    levels: tuple[str, ...]
    questions: tuple[str, ...]
    can_be_off: bool
    max_tokens: int | None
    max_asks: int
    ask_cost: Decimal | None
    has_budgets: bool = False
    notes: tuple[str, ...] = ()

    @property
    def max_cost(self) -> Decimal | None:
        """Return the most that all asks together can cost, in dollars."""
        return None if self.ask_cost is None else self.ask_cost * self.max_asks


def make_draft(
    model: str, levels: Iterable[str] | None, questions: Iterable[str] | None, policy: Policy
) -> ProbeDraft:
    """Return the draft of a probe; raise UsageError if there is nothing to compare."""
    name, level_text = load_catalog().apart(model)
    if level_text is not None:
        message = f"a probe compares levels itself; name {name} alone, and the levels apart from it"
        raise BadParameter(message)
    entry, rules = load_catalog().entry(name), policy.but(unsupported="adjust")
    if not entry.capability.thinks:
        raise UsageError(f"{entry.id} does not think, so it has no dial to probe")
    wanted = tuple(dict.fromkeys(levels)) if levels is not None else None
    chosen = _choose(name, entry, wanted, rules, MAX_TOKENS)
    if chosen.loses_levels:  # the limit makes budgets the same that are not
        chosen = _choose(name, entry, wanted, rules, None)
    check_comparable(entry.id, chosen.levels)
    asked = QUESTIONS if questions is None else tuple(questions)
    check_question_count(chosen.levels, len(asked))
    return ProbeDraft(
        model=name,
        levels=chosen.levels,
        questions=asked,
        can_be_off=chosen.can_be_off,
        max_tokens=chosen.max_tokens,
        max_asks=count_asks(chosen.levels, len(asked)),
        ask_cost=max_ask_cost(entry, asked, chosen.max_tokens),
        has_budgets=entry.capability.by_budget,
        notes=chosen.notes,
    )


class _LevelChoice(Struct, frozen=True):
    levels: tuple[str, ...]
    can_be_off: bool
    max_tokens: int | None
    notes: tuple[str, ...] = ()
    loses_levels: bool = False


def _choose(
    model: str,
    entry: ModelEntry,
    wanted: tuple[str, ...] | None,
    policy: Policy,
    max_tokens: int | None,
) -> _LevelChoice:
    ladder = make_ladder(model, max_tokens=max_tokens, policy=policy)
    can_be_off = ladder[0].will_think is False
    if wanted is None:
        found = choose_levels(ladder, has_budgets=entry.capability.by_budget)
        free = make_ladder(model, policy=policy)
        most = choose_levels(free, has_budgets=entry.capability.by_budget)
        levels = (*((OFF,) if can_be_off else ()), *found)
        return _LevelChoice(levels, can_be_off, max_tokens, loses_levels=len(found) < len(most))
    plans = _plan_levels(model, wanted, policy, max_tokens)
    free_plans = _plan_levels(model, wanted, policy, None)
    order = [each.fields for each in ladder]
    plans.sort(key=lambda each: _rank(each[1], order))
    notes = [f"{OFF} is left out: this model cannot be switched off"] if not can_be_off else []
    thinking = [each for each in plans if can_be_off or each[1].asked != OFF]
    names, twins = list_distinct(thinking)
    lost = len(list_distinct(plans)[0]) < len(list_distinct(free_plans)[0]) or any(
        isinstance(plan.asked, int) and plan.budget not in (None, plan.asked) for _, plan in plans
    )
    said = (*(notes if len(thinking) < len(plans) else ()), *twins)
    return _LevelChoice(tuple(names), can_be_off, max_tokens, said, loses_levels=lost)


def _plan_levels(
    model: str, levels: Iterable[str], policy: Policy, max_tokens: int | None
) -> list[tuple[str, Plan]]:
    return [(each, make_plan(model, each, max_tokens=max_tokens, policy=policy)) for each in levels]


def _rank(plan: Plan, order: list[dict[str, Any]]) -> tuple[int, int]:
    """Return where a level stands: by its tokens, else by its place in the ladder."""
    at = order.index(plan.fields) if plan.fields in order else len(order)
    return plan.budget or 0, at


def max_ask_cost(
    entry: ModelEntry, prompts: Iterable[str], max_tokens: int | None
) -> Decimal | None:
    """Return the most that one of these prompts can cost, at one byte a token; None if unknown."""
    most = max_tokens or entry.max_output
    if most is None:
        return None
    words = max(len(each.encode()) for each in prompts)
    usage = Usage(input=words + _ENVELOPE, output=most)
    usage = assume_media(entry.provider.name, entry.model, usage, media=())
    return price_usage(entry.provider.name, entry.model, usage)


class _Spending:
    """The cost of a probe so far, and whether one more ask may be sent."""

    def __init__(self, ask_cost: Decimal | None, max_cost: float | None, model: str) -> None:
        self._ask_cost = ask_cost
        self._limit = None if max_cost is None else Decimal(str(max_cost))
        self.spent: Decimal | None = Decimal(0)
        if self._limit is None:
            return
        if ask_cost is None:
            message = f"no price of {model} is known, so its cost cannot be limited"
            raise BadParameter(message)
        if ask_cost > self._limit:
            message = f"one request to {model} can cost ${ask_cost:.4f}, more than the limit"
            raise BadParameter(message)

    def allows_more(self) -> bool:
        if self._limit is None or self._ask_cost is None:
            return True
        return (self.spent or Decimal(0)) + self._ask_cost <= self._limit

    def charge(self, reply: Reply) -> None:
        cost = list_cost(reply)
        if cost is None:  # with a limit, what is not known counts as the most
            self.spent = None if self._limit is None else self.spent
            cost = str(self._ask_cost or 0)
        if self.spent is not None:
            self.spent += Decimal(cost)

    @property
    def dollars(self) -> float | None:
        return None if self.spent is None else float(round(self.spent, 6))


class ProbeRun:
    """A probe under way: a client asks what ``next_ask`` says."""

    def __init__(
        self,
        draft: ProbeDraft,
        policy: Policy,
        max_cost: float | None,
        progress: ProbeProgress | None,
    ) -> None:
        self.draft = draft
        self._policy = policy.but(unsupported="strict")
        self._progress = progress
        self._spending = _Spending(draft.ask_cost, max_cost, draft.model)
        self._probe = Probe(
            draft.levels, questions=len(draft.questions), can_be_off=draft.can_be_off
        )
        self._probe.notes += draft.notes

    def next_ask(self) -> ProbeAsk | None:
        """Return the next ask; None if the answer is known, or the limit is reached."""
        ask = self._probe.next_ask()
        if ask is not None and not self._spending.allows_more():
            self._probe.notes.append("stopped: one more ask could pass the cost limit")
            return None
        return ask

    def arguments(self, ask: ProbeAsk) -> dict[str, Any]:
        """Return what to ask; what a service rejects must be seen, so nothing is repaired."""
        return {
            "model": self.draft.model,
            "prompt": self.draft.questions[ask.question],
            "thinking": ask.level,
            "max_tokens": self.draft.max_tokens,
            "policy": self._policy,
        }

    def see(self, ask: ProbeAsk, reply: Reply, seconds: float) -> None:
        """Take the answer to an ask."""
        self._spending.charge(reply)
        self._probe.see(ask, read_answer_size(reply, seconds))
        self._report()

    def reject(self, ask: ProbeAsk, error: BadRequest) -> None:
        """Leave out the level that a service rejected; raise UsageError if too few are left."""
        self._probe.drop(ask, str(error))
        self._report()

    def result(self) -> ProbeResult:
        """Return what was found."""
        model = load_catalog().entry(self.draft.model).id
        found = self._probe.result(model, self._spending.dollars)
        return replace(found, has_budgets=self.draft.has_budgets)

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._probe.asks, self.draft.max_asks)


def run_probe(run: ProbeRun, ask: Callable[..., Reply]) -> ProbeResult:
    """Ask what a probe needs, and return what it found."""
    while (each := run.next_ask()) is not None:
        began = monotonic()
        try:
            reply = ask(**run.arguments(each))
        except BadRequest as error:
            run.reject(each, error)
        else:
            run.see(each, reply, monotonic() - began)
    return run.result()


async def arun_probe(run: ProbeRun, ask: Callable[..., Awaitable[Reply]]) -> ProbeResult:
    """Ask what a probe needs, and return what it found."""
    while (each := run.next_ask()) is not None:
        began = monotonic()
        try:
            reply = await ask(**run.arguments(each))
        except BadRequest as error:
            run.reject(each, error)
        else:
            run.see(each, reply, monotonic() - began)
    return run.result()


def read_answer_size(reply: Reply, seconds: float) -> ProbeAnswer:
    """Return what an answer used."""
    usage = reply.usage
    whole = None if usage.output is None else usage.output + (usage.thinking or 0)
    return ProbeAnswer(
        seconds,
        thinking_tokens=usage.thinking,
        output_tokens=whole,
        shows_thinking=any(isinstance(part, Thinking) for part in reply.message.parts),
        is_cut=reply.finish in ("length", "exhausted"),
    )


class DiscoveryDraft(Struct, frozen=True):
    """What a discovery may ask and cost at most; ``ask_cost`` is None if no price is known."""

    model: str
    max_asks: int
    ask_cost: Decimal | None

    @property
    def max_cost(self) -> Decimal | None:
        """Return the most that all requests together can cost, in dollars."""
        return None if self.ask_cost is None else self.ask_cost * self.max_asks


def make_discovery_draft(model: str) -> DiscoveryDraft:
    """Return the draft of a discovery; raise BadParameter if the name has a level."""
    name, level_text = load_catalog().apart(model)
    if level_text is not None:
        raise BadParameter(f"a discovery tries the levels itself; write {name}")
    cost = max_ask_cost(load_catalog().entry(name), [DISCOVERY_QUESTION], _DISCOVERY_TOKENS)
    return DiscoveryDraft(name, MOST_TRIALS, cost)


class DiscoveryResult(Struct, frozen=True, kw_only=True):
    """The row of models.toml that was found for a model, and what was tried for it."""

    model: str
    row: dict[str, Any]
    trials: tuple[tuple[FieldTrial, DiscoveryAnswer], ...]
    cost: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        trials = [
            {"kind": trial.kind, "fields": trial.fields, **to_builtins(answer)}
            for trial, answer in self.trials
        ]
        return {"model": self.model, "row": self.row, "trials": trials, "cost": self.cost}


class DiscoveryRun:
    """A discovery under way: a client sends what ``next_trial`` says."""

    def __init__(self, model: str, policy: Policy, max_cost: float | None) -> None:
        draft = make_discovery_draft(model)
        self.model: str = draft.model
        self.entry: ModelEntry = load_catalog().entry(draft.model)
        self._policy = policy.but(unsupported="strict")
        self._spending = _Spending(draft.ask_cost, max_cost, draft.model)
        self._found = Discovery(self.entry.provider.placement)

    def next_trial(self) -> FieldTrial | None:
        """Return the next trial; None if all were made, or the limit is reached."""
        return self._found.next_trial() if self._spending.allows_more() else None

    def arguments(self, trial: FieldTrial) -> dict[str, Any]:
        """Return what to ask: the same question with other fields."""
        return {
            "model": self.model,
            "prompt": DISCOVERY_QUESTION,
            "thinking": trial.fields or None,
            "max_tokens": _DISCOVERY_TOKENS,
            "policy": self._policy,
        }

    def see(self, trial: FieldTrial, reply: Reply) -> None:
        """Take the answer to a trial."""
        self._spending.charge(reply)
        size = read_answer_size(reply, 0)
        thought = size.shows_thinking or (
            None if size.thinking_tokens is None else size.thinking_tokens > 0
        )
        self._found.see(trial, DiscoveryAnswer(accepted=True, thought=thought))

    def reject(self, trial: FieldTrial, error: BadRequest) -> None:
        """Take a rejection; one of a request without any field is no answer to the question."""
        if trial.kind == "unset":
            raise error
        self._found.see(trial, DiscoveryAnswer(accepted=False, message=str(error)))

    def result(self) -> DiscoveryResult:
        """Return the row that follows from the trials."""
        entry, today = self.entry, datetime.now(UTC).date().isoformat()
        placements = entry.provider.placement
        facts = make_model_row(self._found, placements, entry.capability, checked=today)
        row = {"match": [entry.model], "provider": entry.provider.name, **facts}
        trials: Sequence[tuple[FieldTrial, DiscoveryAnswer]] = self._found.trials
        return DiscoveryResult(
            model=entry.id, row=row, trials=tuple(trials), cost=self._spending.dollars
        )


def run_discovery(run: DiscoveryRun, ask: Callable[..., Reply]) -> DiscoveryResult:
    """Try the fields of a model, and return its row."""
    while (trial := run.next_trial()) is not None:
        try:
            reply = ask(**run.arguments(trial))
        except BadRequest as error:
            run.reject(trial, error)
        else:
            run.see(trial, reply)
    return run.result()


async def arun_discovery(
    run: DiscoveryRun, ask: Callable[..., Awaitable[Reply]]
) -> DiscoveryResult:
    """Try the fields of a model, and return its row."""
    while (trial := run.next_trial()) is not None:
        try:
            reply = await ask(**run.arguments(trial))
        except BadRequest as error:
            run.reject(trial, error)
        else:
            run.see(trial, reply)
    return run.result()

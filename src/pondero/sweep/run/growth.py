"""How a run grows: more budget, more questions, another arm. What is there stays as it is."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import count

from msgspec.structs import replace

from ...canon import dump_json
from ...errors import BadParameter
from ..arms import Arm, arms_of
from ..grading.judges import check_questions
from ..questions import Data, Question, QuestionSet, read_questions, shuffle
from ..spec import spec_of
from ..statistics.comparison import PlanChange
from ..statistics.contest import Contest
from .run_plan import cluster_of, make_comparison, make_pool
from .scores import Scores
from .store import BetFront, Run, RunFacts


def raise_budget(run: Run, budget: float | None) -> None:
    """Give a run another budget, in dollars for all of it; raise BadParameter if it is invalid."""
    if budget is not None:
        with run.hold_facts():
            _set_budget(run, budget)


def _set_budget(run: Run, budget: float | None) -> None:
    if budget is not None:
        spec_of(budget=budget)
        if Decimal(str(budget)) < run.spent:
            message = (
                f"--budget {budget:g} is less than the ${run.spent:.4f} that run {run.facts.run} "
                "has spent; name what you are willing to spend in all"
            )
            raise BadParameter(message)
        run.change(spec=replace(run.facts.spec, budget=budget), is_closed=False)


def keep_fronts(run: Run, contest: Contest) -> None:
    """Save how far the bets came, before answers that they have seen are asked again.

    Units after a dropped answer wait for it, but they are known: a plan that is made then must not
    bet on them again.
    """
    tried = {each.arm: each.units for each in contest.standings.values() if each.is_tried}
    for each in run.facts.fronts:
        tried[each.arm] = max(each.units, tried.get(each.arm, 0))
    run.change(fronts=tuple(BetFront(arm, units) for arm, units in sorted(tried.items())))


def first_unseen(facts: RunFacts, arm: int, at: int) -> int:
    """Return the first unit of an arm, from one on, whose outcome its bets have not seen."""
    return max([at, *(each.units for each in facts.fronts if each.arm == arm)])


def extend_run(run: Run, data: Data, *, budget: float | None = None) -> int:
    """Append questions to a run's pool, and return how many; those it has already are skipped.

    The arm that is bet on, or the last that was not decided, continues with its capital. Raise
    BadParameter if none is left, and UsageError while another process asks.
    """
    found = read_questions(data)
    with run.hold_facts():
        _set_budget(run, budget)
        facts, before = run.facts, run.questions()
        numbered = _renumber(found, before)
        new = _find_new(facts, before, numbered)
        named = (each.id for each in numbered)
        places = dict(zip(named, found.places, strict=False))
        check_questions(facts.spec.judge, new, places)
        contest = make_comparison(Scores(run, facts.spec.judge)).advance()
        arm, at = _next_arm(facts, contest)
        order = shuffle(new, facts.spec.seed + len(before), cluster=facts.spec.cluster)
        end = len(make_pool(facts, (*before, *order)).units)
        later = (each.arm for each in contest.standings.values() if not each.is_tried)
        changes = [
            PlanChange(arm, first_unseen(facts, arm, at), end, end),
            *(PlanChange(each, 0, end, end) for each in later if each != arm),
        ]
        run.add_questions(order, changes)
        run.end("stopped")
    return len(new)


def _find_new(
    facts: RunFacts, before: Sequence[Question], given: Sequence[Question]
) -> list[Question]:
    """Return the questions that a run does not have; raise BadParameter if they do not fit it."""
    known = {question.id: question for question in before}
    for question in given:
        if question.id in known and known[question.id] != question:
            message = f"the id {question.id!r} belongs to another question of run {facts.run}"
            raise BadParameter(message)
    new = [question for question in given if question.id not in known]
    if not new:
        message = f"run {facts.run} has all of these questions already"
        raise BadParameter(message)
    if facts.spec.cluster:
        clusters = {cluster_of(facts, question, -1) for question in before} - {-1}
        if any(cluster_of(facts, question, -1) in clusters for question in new):
            raise BadParameter("a cluster counts once; add questions of new clusters only")
    return new


def _renumber(found: QuestionSet, before: Sequence[Question]) -> list[Question]:
    """Return questions; those without ids of their own go on counting, unless they are there."""
    there = {_content(each): each for each in before}
    taken = {each.id for each in (*before, *found.questions) if each.id not in found.numbered}
    taken |= {each.id for each in before}
    numbers = (str(number) for number in count(len(before) + 1))
    free = (number for number in numbers if number not in taken)
    return [
        each if each.id not in found.numbered
        else there.get(_content(each)) or replace(each, id=next(free))
        for each in found.questions
    ]  # fmt: skip


def _content(question: Question) -> str:
    return dump_json(replace(question, id=""))


def _next_arm(facts: RunFacts, contest: Contest) -> tuple[int, int]:
    """Return the arm that more questions are for, and its next unit."""
    if contest.waits is not None:
        return contest.waits
    if contest.winners:
        name = facts.arms[contest.winners[0]].name
        message = f"run {facts.run} is decided: {name} is enough; more questions change nothing"
        raise BadParameter(message)
    last = contest.last_tried
    if last is None or contest.standings[last].verdict != "undecided":
        message = (
            f"every cheaper arm of run {facts.run} was given up, and what is left of their capital "
            "is only for another arm ('pondero sweep add-arm'); for these, begin a new run with a "
            "larger pool"
        )
        raise BadParameter(message)
    return last, contest.standings[last].units


def add_run_arm(run: Run, name: str, *, budget: float | None = None) -> Arm:
    """Append an arm to a run; it gets only the capital that the others leave."""
    with run.hold_facts():
        facts, spec = run.facts, run.facts.spec
        found = arms_of([name], "off", max_tokens=spec.max_tokens)
        if "/" not in name or len(found) != 1:
            message = f"name one arm as MODEL/LEVEL, not {name!r}"
            raise BadParameter(message)
        arm = found[0]
        same = [each for each in facts.arms if (each.model, each.fields) == (arm.model, arm.fields)]
        if same:
            sends = f"it sends the same as {same[0].name}"
            message = f"{arm.name} is in run {facts.run} already: {sends}"
            raise BadParameter(message)
        end = len(make_pool(facts, run.questions()).units)
        run.change(
            arms=(*facts.arms, arm),
            added=facts.added + 1,
            changes=(*facts.changes, PlanChange(len(facts.arms), 0, end, end)),
            is_closed=False,
        )
        _set_budget(run, budget)
        run.end("stopped")
    return arm

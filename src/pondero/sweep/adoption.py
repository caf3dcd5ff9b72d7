"""Adoption: the result of a sweep becomes a calibration, which ``auto`` then uses."""

import time
from typing import TYPE_CHECKING

from ..catalog import catalog_hash
from ..client import load_catalog
from ..errors import PythonNote, UsageError
from ..exchange import EMULATED, Calibration, LevelEvidence, fields_hash, fingerprint
from ..thinking import parse_intent
from .arms import Arm, find_arms, sweep_policy

if TYPE_CHECKING:
    from .results.kinds import KindResult
    from .results.values import ArmResult, SweepResults


def calibration_of(
    results: "SweepResults", name: str, *, level: str | None, by_kind: bool
) -> Calibration:
    """Return a calibration of the recommended or the given level; raise if it is sent otherwise."""
    arm = _find_arm(results, level)
    if not arm.n:
        message = f"run {results.run} has no graded answer of {arm.name}: nothing was measured"
        raise UsageError(message)
    _check_still_sent(results, arm)
    facts = results.facts
    return Calibration(
        name=name.lower(),
        model=arm.model,
        level=arm.level,
        fields=fingerprint(arm.fields),
        n=arm.n,
        accuracy=arm.accuracy,
        difference=arm.difference,
        reference=results.reference.name,
        margin=facts.spec.margin,
        data=facts.data,
        judge=results.judge,
        run=results.run,
        date=time.strftime("%Y-%m-%d", time.gmtime(facts.started)),
        adopted=_now(),
        catalog=catalog_hash(),
        max_tokens=facts.spec.max_tokens,
        lacks=_describe_gaps(results, arm),
        kinds=_evidence_by_kind(results) if by_kind else {},
        served=arm.served[-1] if arm.served else "",
        sent=arm.fields,
        offline=facts.spec.offline,
    )


def _find_arm(results: "SweepResults", level: str | None) -> "ArmResult":
    found = results.recommendation
    if level is None and found is None:
        message = f"run {results.run} recommends nothing: {results.why}"
        raise UsageError(message)
    wanted = level or (found.name if found else "")
    own = find_arms(results.facts.arms, wanted) if wanted else ()
    if len(own) == 1:
        return results.arms[own[0]]
    names = " ".join(arm.name for arm in results.arms)
    how = "is several arms" if own else "is no arm"
    message = f"{wanted!r} {how} of run {results.run}; use one of {names}"
    raise UsageError(message)


def check_shown(results: "SweepResults", level: str | None) -> None:
    """Raise UsageError if a level that the user chose is not shown to be enough by the run."""
    if level is None:
        return
    arm = _find_arm(results, level)
    if arm.verdict in ("enough", "reference") and not results.is_gated:
        return
    verdict = arm.verdict.replace("_", " ")
    if results.is_gated:
        why = f"the run recommends nothing: {results.why}"
    elif arm.difference is None:
        why = f"it is {verdict}"
    else:
        why = f"it is {verdict}, measured {100 * arm.difference:+.1f} points"
    message = (
        f"{arm.name} is not shown to be enough by run {results.run}: {why}; use --force "
        "to adopt it all the same, and auto then sends it"
    )
    error = UsageError(message)
    error.add_note(PythonNote("in Python: adopt(..., force=True)"))
    raise error


def _describe_gaps(results: "SweepResults", arm: "ArmResult") -> str:
    found, lacks = results.recommendation, []
    if found is None:
        lacks.append(f"chosen by hand, and the run recommends nothing: {results.why}")
    elif found.name != arm.name:
        verdict = arm.verdict.replace("_", " ")
        lacks.append(f"chosen by hand; the run recommends {found.name}, and this is {verdict}")
    lacks += [f"the sanity gate: {problem.why}" for problem in results.gate if found is not None]
    if results.facts.spec.offline:
        lacks.append(EMULATED)
    return "; ".join(lacks)


def _check_still_sent(results: "SweepResults", arm: "ArmResult | Arm") -> None:
    """Raise UsageError if the level is now sent differently than when it was measured."""
    entry = load_catalog().entry(arm.model)
    intent = parse_intent(arm.level, words=entry.capability.extra_words)
    cap = results.facts.spec.max_tokens
    if fields_hash(entry, intent, max_tokens=cap, policy=sweep_policy()) != fingerprint(arm.fields):
        message = (
            f"{arm.name} is no longer sent as run {results.run} sent it: the catalog or the policy "
            "has changed; sweep again"
        )
        raise UsageError(message)


def _evidence_by_kind(results: "SweepResults") -> dict[str, LevelEvidence]:
    if not results.kinds:
        message = (
            f"run {results.run} has no kind to decide by itself: that takes questions with a "
            "metadata.kind, and a recommendation for all"
        )
        raise UsageError(message)
    return {each.kind: _make_evidence(results, each) for each in results.kinds}


def _make_evidence(results: "SweepResults", kind: "KindResult") -> LevelEvidence:
    arm = results.facts.arms[kind.arm]
    _check_still_sent(results, arm)
    return LevelEvidence(
        level=arm.level,
        fields=fingerprint(arm.fields),
        n=kind.units,
        difference=kind.difference,
    )


def _now() -> str:
    now = time.time_ns()
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9))
    return f"{whole}.{now % 10**9 // 1000:06d}Z"

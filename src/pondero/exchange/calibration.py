"""Calibrations: levels that sweeps found sufficient, and how ``auto`` becomes one of them."""

from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache
from hashlib import blake2b

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..canon import Json
from ..catalog import ModelEntry, catalog_hash
from ..errors import BadConfig, BadThinking
from ..thinking import (
    Auto,
    Intent,
    MeasuredLevel,
    Plan,
    Policy,
    RequestParameters,
    parse_intent,
)
from .planner import plan

OLDEST = 180
"""Days after which a calibration is stale: services change the model behind a name."""

CALIBRATION_VERSION = 1
"""The version of calibration files; another one is refused."""

_LIST = "'pondero sweep calibrations' shows what there is"
EMULATED = "the emulator answered in place of the service"
"""What a calibration of an offline sweep lacks."""
_CAUTION = "with a caution, which 'pondero sweep calibrations' shows"


class LevelEvidence(Struct, frozen=True, kw_only=True):
    """A level and its measurement; ``fields`` is the hash of the fields sent for it."""

    level: str
    fields: str
    n: int
    accuracy: float | None = None
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None


class Calibration(LevelEvidence, frozen=True, kw_only=True):
    """A sufficient level of one model for some work, with its evidence.

    ``date`` is the day of the answers; ``lacks`` says what is missing for a recommendation.
    """

    name: str
    model: str
    reference: str
    margin: float
    data: str
    judge: str
    run: str
    date: str
    adopted: str
    catalog: str
    max_tokens: int | None = None
    lacks: str = ""
    kinds: dict[str, LevelEvidence] = {}
    version: int = CALIBRATION_VERSION
    served: str = ""
    """The id of the model that the service says has answered."""
    seen: str = ""
    """The id that it says has answered since, if that is another one."""
    sent: dict[str, Json] = {}
    """The fields that were sent for the level."""
    offline: bool = False
    """Whether the emulator answered; it then applies to offline requests only."""


class Calibrations(Struct, frozen=True, eq=False):
    """Adopted calibrations by name; ``broken``: why a file is unreadable; ``today``: an ordinal."""

    known: Mapping[str, Calibration] = {}
    broken: Mapping[str, str] = {}
    today: int = 0

    def get(self, name: str) -> Calibration | None:
        """Return a calibration; raises BadConfig if its file is broken."""
        if name in self.broken:
            raise BadConfig(self.broken[name])
        return self.known.get(name)

    def newest(self, model: str, *, offline: bool = False) -> Calibration | None:
        """Return the calibration of a model that was adopted last; the emulator's if offline."""
        own = [
            each
            for each in self.known.values()
            if each.model == model and (offline or not each.offline)
        ]
        return max(own, key=lambda each: (each.adopted, each.name), default=None)


def fingerprint(fields: Json) -> str:
    """Return a short hash of JSON that does not depend on the order of keys."""
    whole = msgspec.json.encode(fields, order="deterministic")
    return blake2b(whole, digest_size=8).hexdigest()


def apply_calibration(
    entry: ModelEntry,
    intent: Intent,
    known: Calibrations,
    *,
    policy: Policy,
    offline: bool = False,
) -> Intent:
    """Replace ``auto`` by the calibrated level, or unset it with a reason; raises BadConfig.

    A calibration of the emulator's answers applies to ``offline`` requests only.
    """
    if intent.kind != "auto" or intent.auto is None:
        return intent
    return _resolve_auto(entry, intent.auto, known, policy, offline=offline)


@lru_cache(maxsize=256)
def _resolve_auto(
    entry: ModelEntry, auto: Auto, known: Calibrations, policy: Policy, *, offline: bool
) -> Intent:
    chosen = known.get(auto.name) if auto.name else known.newest(entry.id, offline=offline)
    if chosen is not None and chosen.offline and not offline:
        return _make_unset(auto, f"{_describe_offline(chosen)}, so nothing is sent for thinking")
    if chosen is None or chosen.model != entry.id:
        return _make_unset(auto, _describe_missing(entry, auto, chosen, known))
    finding = chosen.kinds.get(auto.kind or "", chosen)
    intent = _parse_level(entry, finding.level)
    if intent is None:
        why = f"calibration {chosen.name!r} has the level {finding.level!r}, which this model lacks"
        return _make_unset(auto, why)
    found = [("calibrated", summarize_evidence(chosen, auto.kind))]
    if doubts := list(_iter_doubts(entry, chosen, finding, intent, known.today, policy)):
        again = "; sweep again and adopt what it finds"
        found.append(("calibration_stale", "; ".join(doubts) + again))
    measured = _find_measured(entry, chosen, intent, policy)
    return replace(intent, auto=replace(auto, found=tuple(found), measured=measured))


def _find_measured(
    entry: ModelEntry, chosen: Calibration, intent: Intent, policy: Policy
) -> MeasuredLevel:
    """Return how a calibration's own requests were sent, to compare with a request's plan."""
    made = _plan_measured(entry, intent, max_tokens=chosen.max_tokens, policy=policy)
    limit = "" if chosen.max_tokens is None else f" with max_tokens {chosen.max_tokens:,}"
    amount = made.level if made.budget is None else f"{made.budget:,} tokens"
    words = f"calibration {chosen.name!r} measured {amount}{limit}"
    return MeasuredLevel(made.level, made.budget, words)


def _describe_offline(chosen: Calibration) -> str:
    return f"calibration {chosen.name!r} was measured offline, and applies to --offline only"


def _make_unset(auto: Auto, why: str) -> Intent:
    return Intent("unset", auto=replace(auto, found=(("no_calibration", why),)))


def _describe_missing(
    entry: ModelEntry, auto: Auto, chosen: Calibration | None, known: Calibrations
) -> str:
    sent = "so nothing is sent for thinking"
    if chosen is not None:
        return f"calibration {chosen.name!r} is for {chosen.model}, not {entry.id}, {sent}"
    if auto.name is not None:
        own = [f"auto:{each.name}" for each in known.known.values() if each.model == entry.id]
        hint = f"use {' '.join(own)}; {_LIST}" if own else _LIST
        return f"no calibration is called {auto.name!r}, {sent}; {hint}"
    unread = f"; {next(iter(known.broken.values()))}" if known.broken else ""
    if (emulated := known.newest(entry.id, offline=True)) is not None:
        return f"{_describe_offline(emulated)}, {sent}; 'pondero sweep' makes another{unread}"
    return f"no calibration is adopted for {entry.id}, {sent}; 'pondero sweep' makes one{unread}"


def _parse_level(entry: ModelEntry, level: str) -> Intent | None:
    try:
        intent = parse_intent(level, words=entry.capability.extra_words)
    except BadThinking:
        return None
    return intent if intent.kind in ("off", "on", "level", "budget") else None


def summarize_evidence(chosen: Calibration, kind: str | None = None) -> str:
    """Describe a calibration's level in a line for every answer: its name and main figures."""
    finding = chosen.kinds.get(kind or "", chosen)
    figures = [f"{finding.n:,} questions"]
    if finding.difference is not None:
        model, _, level = chosen.reference.rpartition("/")
        name = level if model == chosen.model else chosen.reference
        figures.append(f"{format_points(finding.difference)} points against {name}")
    caution = f"; {_CAUTION}" if chosen.lacks else ""
    if chosen.lacks == EMULATED:
        caution = "; measured offline"
    return f"{_name_calibration(chosen, kind)}: {', '.join(figures)}{caution}"


def _name_calibration(chosen: Calibration, kind: str | None) -> str:
    said = f"calibration {chosen.name!r}"
    if kind is None:
        return said
    if kind in chosen.kinds:
        return f"{said}, kind {kind!r}"
    return f"{said} (it has no level of its own for kind {kind!r})"


def describe_evidence(chosen: Calibration, kind: str | None = None) -> str:
    """Describe the evidence for a calibration's level, or for that of one kind."""
    finding = chosen.kinds.get(kind or "", chosen)
    said = _name_calibration(chosen, kind)
    figures = [f"{finding.n:,} questions"]
    if finding.accuracy is not None:
        figures.append(f"{100 * finding.accuracy:.1f}% right")
    if finding.difference is not None:
        figures.append(f"{format_points(finding.difference)} points against {chosen.reference}")
    if finding.lower is not None and finding.upper is not None:
        figures.append(f"bounds {format_points(finding.lower)} to {format_points(finding.upper)}")
    told = f"{said}: {', '.join(figures)}; judge {chosen.judge}, run {chosen.run}, {chosen.date}"
    return f"{told}; {chosen.lacks}" if chosen.lacks else told


def format_points(share: float) -> str:
    """Format a difference of two shares in percentage points."""
    return f"{100 * share:+.1f}"


def _iter_doubts(
    entry: ModelEntry,
    chosen: Calibration,
    finding: LevelEvidence,
    intent: Intent,
    today: int,
    policy: Policy,
) -> Iterator[str]:
    if (age := today - date.fromisoformat(chosen.date).toordinal()) > OLDEST:
        yield f"calibration {chosen.name!r} is {age} days old, more than {OLDEST}"
    if chosen.served and chosen.seen and chosen.seen != chosen.served:
        yield (
            f"the service now answers as {chosen.seen!r}, and calibration {chosen.name!r} measured "
            f"{chosen.served!r}"
        )
    if fields_hash(entry, intent, max_tokens=chosen.max_tokens, policy=policy) == finding.fields:
        return
    changed = "the catalog has changed"
    if chosen.catalog == catalog_hash():
        changed = "the policy, or a catalog file of your own, is another"
    yield f"{finding.level} is no longer sent as calibration {chosen.name!r} measured it: {changed}"


def fields_hash(
    entry: ModelEntry, intent: Intent, *, max_tokens: int | None, policy: Policy
) -> str:
    """Return the hash of the fields that a sweep would send for an intent now."""
    return fingerprint(_plan_measured(entry, intent, max_tokens=max_tokens, policy=policy).fields)


def _plan_measured(
    entry: ModelEntry, intent: Intent, *, max_tokens: int | None, policy: Policy
) -> Plan:
    rules = policy.but(show="none", unsupported="adjust")
    return plan(entry, intent, asked=RequestParameters(max_tokens=max_tokens), policy=rules)

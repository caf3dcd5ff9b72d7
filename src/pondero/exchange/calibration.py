"""Calibrations: the levels that sweeps found to be enough, and how ``auto`` becomes one of them.

``apply_calibration`` is the only place where it does; the client, the chat and the gateway call it
before they plan. A sweep makes calibrations and ``store`` keeps them: here they are values.
"""

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
from ..thinking import Auto, Intent, Policy, RequestParameters, parse_intent
from .planner import plan

OLDEST = 180
"""Days after which a calibration is stale: services change what stands behind a name."""

_LIST = "'pondero sweep list --adopted' shows what there is"


class LevelEvidence(Struct, frozen=True, kw_only=True):
    """A level, and what was found of it; without a difference it is the reference itself.

    ``fields`` is the hash of what the sweep sent for the level.
    """

    level: str
    fields: str
    n: int
    accuracy: float | None = None
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None


class Calibration(LevelEvidence, frozen=True, kw_only=True):
    """The level of one model that is enough for some work, and on what evidence.

    ``catalog`` is the revision of the catalog that the fields came from, ``date`` the day of the
    answers, ``adopted`` the moment it was kept. ``lacks`` is what is missing for a recommendation,
    in words; ``kinds`` are levels for single kinds of questions.
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


class Calibrations(Struct, frozen=True, eq=False):
    """All that the user adopted, by name; two of these are the same only if they are one.

    ``broken`` are files that are no calibration, each with the reason. ``today`` is a day's number.
    """

    known: Mapping[str, Calibration] = {}
    broken: Mapping[str, str] = {}
    today: int = 0

    def get(self, name: str) -> Calibration | None:
        """Return a calibration; raises BadConfig where its file is broken."""
        if name in self.broken:
            raise BadConfig(self.broken[name])
        return self.known.get(name)

    def newest(self, model: str) -> Calibration | None:
        """Return what was adopted last for a model."""
        own = [each for each in self.known.values() if each.model == model]
        return max(own, key=lambda each: (each.adopted, each.name), default=None)


def fingerprint(fields: Json) -> str:
    """Return a short hash of JSON, whatever the order of its keys."""
    whole = msgspec.json.encode(fields, order="deterministic")
    return blake2b(whole, digest_size=8).hexdigest()


def apply_calibration(
    entry: ModelEntry, intent: Intent, known: Calibrations, *, policy: Policy
) -> Intent:
    """Return the wish with the level that ``auto`` stands for; any other wish as it is.

    Where no calibration fits, nothing is asked of the model. Either way the wish has what was found
    in it, and the plan says so. Raises BadConfig where the calibration that was named is broken.
    """
    if intent.kind != "auto" or intent.auto is None:
        return intent
    return _resolve_auto(entry, intent.auto, known, policy)


@lru_cache(maxsize=256)
def _resolve_auto(entry: ModelEntry, auto: Auto, known: Calibrations, policy: Policy) -> Intent:
    chosen = known.get(auto.name) if auto.name else known.newest(entry.id)
    if chosen is None or chosen.model != entry.id:
        return _make_unset(auto, _describe_missing(entry, auto, chosen, known))
    finding = chosen.kinds.get(auto.kind or "", chosen)
    wish = _parse_level(entry, finding.level)
    if wish is None:
        why = f"calibration {chosen.name!r} has the level {finding.level!r}, which is none here"
        return _make_unset(auto, why)
    found = [("calibrated", describe_evidence(chosen, auto.kind))]
    if doubts := list(_iter_doubts(entry, chosen, finding, wish, known.today, policy)):
        again = "; sweep again and adopt what it finds"
        found.append(("calibration_stale", "; ".join(doubts) + again))
    return replace(wish, auto=replace(auto, found=tuple(found)))


def _make_unset(auto: Auto, why: str) -> Intent:
    return Intent("unset", auto=replace(auto, found=(("no_calibration", why),)))


def _describe_missing(
    entry: ModelEntry, auto: Auto, chosen: Calibration | None, known: Calibrations
) -> str:
    sent = "so nothing is sent for thinking"
    if chosen is not None:
        return f"calibration {chosen.name!r} is for {chosen.model}, not {entry.id}, {sent}"
    if auto.name is not None:
        return f"no calibration is called {auto.name!r}, {sent}; {_LIST}"
    unread = f"; {next(iter(known.broken.values()))}" if known.broken else ""
    return f"no calibration is adopted for {entry.id}, {sent}; 'pondero sweep' makes one{unread}"


def _parse_level(entry: ModelEntry, level: str) -> Intent | None:
    """Return a level as a wish; None where it is none."""
    try:
        wish = parse_intent(level, words=entry.capability.extra_words)
    except BadThinking:
        return None
    return wish if wish.kind in ("off", "on", "level", "budget") else None


def describe_evidence(chosen: Calibration, kind: str | None = None) -> str:
    """Return in words what speaks for a calibration's level, or for that of one kind."""
    finding = chosen.kinds.get(kind or "", chosen)
    said = f"calibration {chosen.name!r}"
    if finding is not chosen:
        said += f", kind {kind!r}"
    elif kind is not None:
        said += f" (it has no level of its own for kind {kind!r})"
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
    """Return a difference of two shares in percentage points."""
    return f"{100 * share:+.1f}"


def _iter_doubts(
    entry: ModelEntry,
    chosen: Calibration,
    finding: LevelEvidence,
    wish: Intent,
    today: int,
    policy: Policy,
) -> Iterator[str]:
    """Yield why a calibration may no longer hold."""
    if (age := today - date.fromisoformat(chosen.date).toordinal()) > OLDEST:
        yield f"calibration {chosen.name!r} is {age} days old, more than {OLDEST}"
    if fields_hash(entry, wish, max_tokens=chosen.max_tokens, policy=policy) == finding.fields:
        return
    changed = "the catalog has changed"
    if chosen.catalog == catalog_hash():
        changed = "the policy, or a catalog file of your own, is another"
    yield f"{finding.level} is no longer sent as calibration {chosen.name!r} measured it: {changed}"


def fields_hash(entry: ModelEntry, wish: Intent, *, max_tokens: int | None, policy: Policy) -> str:
    """Return the hash of what a sweep would send for a wish now."""
    rules = policy.but(show="none", unsupported="adjust")
    made = plan(entry, wish, asked=RequestParameters(max_tokens=max_tokens), policy=rules)
    return fingerprint(made.fields)

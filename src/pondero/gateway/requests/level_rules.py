"""Computes the level to send: the requested one, under the rules of its route and key."""

import math
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BadThinking
from ...thinking import DEPTH, FIGURES, UNSET, Capability, Intent, Plan, parse_auto, parse_intent
from ..config.model import LevelRules

_BEYOND = 2 * FIGURES["max"]  # a level of one family only, such as ultra, is above max


class RequestedLevel(Struct, frozen=True):
    """The level a client requests, and where; ``kind``: of question, for a calibration."""

    intent: Intent
    said_in: str
    kind: str | None = None


class AppliedLevel(Struct, frozen=True):
    """The level to plan with; ``why`` is the rule that changed it, if one did."""

    intent: Intent
    requested_level: RequestedLevel
    why: str | None = None

    @property
    def requested(self) -> str:
        """Return the requested level, before any rule."""
        return _format_level(self.requested_level.intent)

    def header(self, plan: Plan) -> str:
        """Return the header that says what was asked, what was sent, and why they differ."""
        sent = plan.level if plan.budget is None else plan.budget
        notes = (note.code for note in plan.adjustments if note.what in DEPTH)
        why = self.why or next(notes, None) or self.requested_level.said_in
        return f"asked={self.requested}; sent={sent or 'nothing'}; why={why}"


def parse_requested_level(
    *,
    header: str | None,
    suffix: str | None,
    body: Intent,
    words: Sequence[str],
    kind: str | None = None,
) -> RequestedLevel:
    """Return the level of the header, else of the name, else of the body; raises BadThinking."""
    if kind is not None and parse_auto(f"auto#{kind}") is None:
        message = (
            f"x-pondero-kind: invalid kind {kind!r}; use letters, digits, blanks and - _ . : +"
        )
        raise BadThinking(message)
    for said, where in ((header, "header"), (suffix, "name")):
        if said is not None:
            return RequestedLevel(parse_intent(said, words=words), where, kind)
    return RequestedLevel(body, "body" if body.kind != "unset" else "unset", kind)


def _keep_auto(intent: Intent) -> Intent:
    return intent


def apply_rules(
    level: RequestedLevel,
    capability: Capability,
    rules: Sequence[LevelRules],
    *,
    resolve: Callable[[Intent], Intent] = _keep_auto,
) -> AppliedLevel:
    """Return the level for one model; the narrower rule applies, a cap wins over a floor.

    Both also limit a model's default, and the level that ``auto`` stands for.
    """
    words = capability.extra_words
    if forced := _find_first(rule.force for rule in rules):
        intent, why = parse_intent(forced, words=words), "force"
    elif level.intent.kind == "unset" and (usual := _find_first(rule.default for rule in rules)):
        intent, why = parse_intent(usual, words=words), "default"
    else:
        intent, why = level.intent, ""
    intent = resolve(_set_kind(intent, level.kind))
    floors = [parse_intent(rule.floor, words=words) for rule in rules if rule.floor is not None]
    caps = [parse_intent(rule.cap, words=words) for rule in rules if rule.cap is not None]
    if floors and _max_tokens(intent, capability) < _tokens_in(
        floor := max(floors, key=_tokens_in)
    ):
        intent, why = floor, "floor"
    if caps and _max_tokens(intent, capability) > _tokens_in(cap := min(caps, key=_tokens_in)):
        intent, why = cap, "cap"
    return AppliedLevel(intent, level, why or None)


def _set_kind(intent: Intent, kind: str | None) -> Intent:
    """Return ``auto`` for a kind of question, unless it names one itself."""
    if intent.kind != "auto" or intent.auto is None or intent.auto.kind or not kind:
        return intent
    return replace(intent, auto=replace(intent.auto, kind=kind))


def _find_first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def _max_tokens(intent: Intent, capability: Capability) -> float:
    """Return the most tokens a level can mean; infinite if unknown."""
    if intent.kind in ("unset", "on", "native"):
        if capability.thinks_unasked is False and intent.kind == "unset":
            return 0
        return FIGURES.get(capability.default, math.inf)
    return _tokens_in(intent)


def _tokens_in(intent: Intent) -> float:
    if intent.kind == "budget":
        return intent.tokens or 0
    if intent.kind == "level":
        return FIGURES.get(intent.level or "", _BEYOND)
    return 0 if intent.kind == "off" else math.inf


def _format_level(intent: Intent) -> str:
    return "nothing" if intent == UNSET else str(intent.as_text)

"""Computes the level to send: the requested one, under the rules of its route and key."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Json
from ...catalog import ModelEntry
from ...errors import BadThinking
from ...store import holds_secret
from ...thinking import (
    DEFAULT,
    DEPTH,
    LEVELS,
    UNSET,
    Intent,
    LevelBounds,
    Plan,
    Policy,
    RequestParameters,
    parse_auto,
    parse_intent,
)
from ..config.model import LevelRules, PurposeRule

RULE = "rule:"
"""How ``why`` begins if the rule of a purpose changed a level; its name follows."""
_NO_RULES = LevelRules()
_SWITCHES = ("enabled", "disabled", "adaptive", "auto", "none", "on", "off")


class RequestedLevel(Struct, frozen=True):
    """The level a client requests, and where; ``kind``: of question, for a calibration."""

    intent: Intent
    said_in: str
    kind: str | None = None


class AppliedLevel(Struct, frozen=True):
    """The level to plan with; ``why`` is the rule that changed it, if one did.

    ``stages`` are the rules that say something, whether or not they changed this level: first that
    of the purpose, then those of route and key, which override it. ``is_counted``: a budget
    reserves what this level can take, so nothing else may be sent.
    """

    intent: Intent
    requested_level: RequestedLevel
    why: str | None = None
    stages: tuple[tuple[LevelRules, ...], ...] = ()
    is_counted: bool = False

    @property
    def rules(self) -> tuple[LevelRules, ...]:
        """Return all rules that say something."""
        return tuple(rule for stage in self.stages for rule in stage)

    @property
    def bounds(self) -> "AppliedLevel":
        """Return it under the rules of route and key alone: that of a purpose rejects nothing."""
        return replace(self, stages=self.stages[-1:])

    @property
    def is_from_body(self) -> bool:
        """Return whether the client's body says the level, or nothing does."""
        return self.requested_level.said_in in ("body", "unset")

    @property
    def is_binding(self) -> bool:
        """Return whether no other place of the body may say another level."""
        return any(self.stages) or self.is_counted or not self.is_from_body

    @property
    def has_maximum(self) -> bool:
        """Return whether a rule limits the depth from above."""
        return any(
            rule.cap is not None or rule.force is not None
            for stage in self.stages
            for rule in stage
        )

    @property
    def requested(self) -> str:
        """Return the requested level, before any rule."""
        return _format_level(self.requested_level.intent)

    def header(self, plan: Plan) -> str:
        """Return the header that says what was asked, what was sent, and why they differ."""
        sent = show_sent(plan)
        notes = (note.code for note in plan.adjustments if note.what in DEPTH)
        why = self.why or next(notes, None) or self.requested_level.said_in
        return f"asked={self.requested}; sent={sent}; why={why}"


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
    entry: ModelEntry,
    rules: Sequence[LevelRules],
    *,
    rule: PurposeRule | None = None,
    asked: RequestParameters | None = None,
    policy: Policy = DEFAULT,
    resolve: Callable[[Intent], Intent] = _keep_auto,
) -> AppliedLevel:
    """Return the level for one model; the narrower rule applies, a cap wins over a floor.

    Both also limit a model's default, and the level that ``auto`` stands for. They are compared in
    the model's own tokens or levels, so ``asked`` must be the parameters that the plan gets. The
    ``rule`` of a purpose applies first; then ``rules`` override it.
    """
    apply = partial(
        _apply_stage,
        kind=level.kind,
        entry=entry,
        asked=asked or RequestParameters(),
        policy=policy,
        resolve=resolve,
    )
    intent, why = level.intent, ""
    if rule is not None:
        intent, changed = apply(intent, (rule.thinking,))
        why = f"{RULE}{rule.name}" if changed else ""
    intent, changed = apply(intent, rules)
    stated = tuple(each for each in rules if each != _NO_RULES)
    stages = ((rule.thinking,),) if rule is not None else ()
    return AppliedLevel(intent, level, changed or why or None, (*stages, stated))


def _apply_stage(
    intent: Intent,
    rules: Sequence[LevelRules],
    *,
    kind: str | None,
    entry: ModelEntry,
    asked: RequestParameters,
    policy: Policy,
    resolve: Callable[[Intent], Intent],
) -> tuple[Intent, str]:
    """Return a level under rules, and the one that changed it; empty if none did."""
    words = entry.capability.extra_words
    why = ""
    if forced := _find_first(rule.force for rule in rules):
        intent, why = _parse_rule(forced, words), "force"
    elif intent.kind == "unset" and (usual := _find_first(rule.default for rule in rules)):
        intent, why = _parse_rule(usual, words), "default"
    intent = resolve(_set_kind(intent, kind))
    if any(rule.cap is not None or rule.floor is not None for rule in rules):
        clamp = _clamp if intent.fields is not None else _clamp_cached
        intent, bound = clamp(entry, intent, tuple(rules), asked, policy)
        why = bound or why
    return intent, why


def limit_value(value: Json, entry: ModelEntry, level: AppliedLevel) -> Json:
    """Return a depth that a body states in some place, under the rules; None: leave it out.

    A switch stays: its depth is unknown, and such a place has no other values.
    """
    for stage in level.stages:
        if (value := _limit_value(value, entry, stage)) is None:
            return None
    return value


def _limit_value(value: Json, entry: ModelEntry, rules: Sequence[LevelRules]) -> Json:
    if any(_parse_rule(rule.cap or rule.force or "max", ()).kind == "off" for rule in rules):
        return None
    if isinstance(value, str) and value.lower() not in _SWITCHES:
        return _limit_word(value, entry, rules)
    if isinstance(value, int) and not isinstance(value, bool):
        if forced := _find_first(rule.force for rule in rules):
            return _parse_rule(forced, ()).tokens  # a place for a number cannot say a level
        return _make_bounds(entry, tuple(rules), RequestParameters(), DEFAULT).clamp_tokens(value)
    return value if isinstance(value, bool | str) else None


def limit_word(word: str, entry: ModelEntry, level: AppliedLevel) -> str | None:
    """Return a level that a conversation sets for itself, under the rules; None: leave it out."""
    limited: str | None = word
    for stage in level.stages:
        if limited is not None:
            limited = _limit_word(limited, entry, stage)
    return limited


def _limit_word(word: str, entry: ModelEntry, rules: Sequence[LevelRules]) -> str | None:
    if forced := _find_first(rule.force for rule in rules):
        intent = _parse_rule(forced, entry.capability.extra_words)
        if intent.kind != "level" or intent.level is None:
            return None
        word = intent.level
    bounds = _make_bounds(entry, tuple(rules), RequestParameters(), DEFAULT)
    return bounds.clamp_word(word)


def _clamp(
    entry: ModelEntry,
    intent: Intent,
    rules: tuple[LevelRules, ...],
    asked: RequestParameters,
    policy: Policy,
) -> tuple[Intent, str | None]:
    return _make_bounds(entry, rules, asked, policy).clamp(intent)


_clamp_cached = lru_cache(maxsize=1024)(_clamp)


def _make_bounds(
    entry: ModelEntry, rules: tuple[LevelRules, ...], asked: RequestParameters, policy: Policy
) -> LevelBounds:
    words = entry.capability.extra_words
    return LevelBounds(
        entry.capability,
        caps=[_parse_rule(rule.cap, words) for rule in rules if rule.cap is not None],
        floors=[_parse_rule(rule.floor, words) for rule in rules if rule.floor is not None],
        policy=policy,
        asked=asked,
        surface=entry.provider.surface,
    )


def _parse_rule(text: str, words: Sequence[str]) -> Intent:
    """Return the level of a rule, which may be a word of another family."""
    try:
        return parse_intent(text, words=words)
    except BadThinking:
        return Intent("level", text.strip().lower())


def _set_kind(intent: Intent, kind: str | None) -> Intent:
    """Return ``auto`` for a kind of question, unless it names one itself."""
    if intent.kind != "auto" or intent.auto is None or intent.auto.kind or not kind:
        return intent
    return replace(intent, auto=replace(intent.auto, kind=kind))


def _find_first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def _format_level(intent: Intent) -> str:
    return "nothing" if intent == UNSET else _show(str(intent.as_text))


def show_sent(plan: Plan) -> str:
    """Return the level or budget of a plan, for a header."""
    return _show(str((plan.level if plan.budget is None else plan.budget) or "nothing"))


# A client may write anything as its level, also a key.
_SHOWN = re.compile(r"[a-z][a-z-]{0,15}|-?[0-9]{1,12}|auto[A-Za-z0-9 #._:+-]{0,80}")


_KNOWN = frozenset((*LEVELS, "nothing", "on", "ultra", "-1"))


def _show(level: str) -> str:
    """Return a level as headers and records show it: a word or a number, else ``unknown``."""
    if level in _KNOWN or level.isdecimal():
        return level
    return level if _SHOWN.fullmatch(level) and not holds_secret(level) else "unknown"

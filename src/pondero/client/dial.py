"""The dial as a library call: ``plan``, ``levels``, ``models``, and completion of their names."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, LiteralString, TypedDict, Unpack, cast, overload

import msgspec

from ..canon import Reply
from ..catalog import Lookup, ModelEntry
from ..errors import BadParameter, BadThinking, UsageError, warn_caller
from ..exchange import plan as make_plan
from ..store import load_catalog, load_config_file, resolve_auto
from ..thinking import (
    LEVELS,
    MYPY,
    Adjustment,
    Intent,
    KnownThinking,
    Plan,
    Policy,
    PolicyDict,
    RequestParameters,
    ThinkingLike,
    parse_auto,
    parse_intent,
    unknown_level,
)
from .prompts.option_names import explain_unknown

PolicyLike = Policy | PolicyDict | None


class _Parameters(TypedDict, total=False):
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    seed: int | None
    tools: bool
    tool_choice: str | None
    context: int | None


class PlanOptions(_Parameters, total=False):
    """The options of ``plan``: the parameters of a request that matter to it, and a policy."""

    thinking_effort: ThinkingLike
    policy: PolicyLike


if not MYPY:

    @overload
    def plan(
        model: str, thinking: KnownThinking = None, **options: Unpack[PlanOptions]
    ) -> Plan: ...
    @overload
    @unknown_level
    def plan(model: str, thinking: LiteralString, **options: Unpack[PlanOptions]) -> Plan: ...
    @overload
    def plan(model: str, thinking: ThinkingLike, **options: Unpack[PlanOptions]) -> Plan: ...


def plan(model: str, thinking: ThinkingLike = None, **options: Unpack[PlanOptions]) -> Plan:
    """Return the plan for a model and a requested level.

    ``model`` is ``[provider:]model[/level]``. ``thinking`` is a level, True, False, a number of
    tokens, ``"auto"`` for the level found by a sweep, a mapping of the service's own fields, or a
    mapping of any of these by provider or dialect (``"*"``: all others). It overrides the level in
    ``model``. The options are those of a request: ``max_tokens``, ``temperature``, ``top_p``,
    ``top_k``, ``seed``, ``tools`` (whether it has any), ``tool_choice``, ``context`` (the tokens
    before it), ``thinking_effort`` and ``policy``.

    >>> pondero.plan("gpt-5.5", "high").fields
    {'reasoning': {'effort': 'high', 'summary': 'auto'}}
    >>> pondero.plan("claude-opus-5/8k").level
    'medium'
    """
    return _plan(model, thinking, options, offline=False)


def plan_offline(model: str, thinking: ThinkingLike = None, **options: Unpack[PlanOptions]) -> Plan:
    """Return the plan for the emulator: ``auto`` takes calibrations of its answers too."""
    return _plan(model, thinking, options, offline=True)


def _plan(model: str, thinking: ThinkingLike, options: PlanOptions, *, offline: bool) -> Plan:
    if unknown := [name for name in options if name not in PlanOptions.__annotations__]:
        known = PlanOptions.__annotations__
        raise BadParameter(explain_unknown(unknown[0], known, arguments=("thinking",)))
    effort, policy = options.pop("thinking_effort", None), options.pop("policy", None)
    asked, rules = check_parameters(**cast("_Parameters", options)), resolve_policy(policy)
    return resolve_and_plan(model, thinking, effort, asked=asked, policy=rules, offline=offline)[1]


def resolve_and_plan(
    model: str,
    thinking: object,
    thinking_effort: object,
    *,
    asked: RequestParameters,
    policy: Policy,
    offline: bool = False,
) -> tuple[ModelEntry, Plan]:
    """Return a model's entry and its plan for the requested level."""
    parameters = () if asked == _NO_PARAMETERS else msgspec.structs.astuple(asked)
    given = (load_catalog(), model, thinking, thinking_effort, policy, offline, *parameters)
    if isinstance(thinking, _PLAIN) and isinstance(thinking_effort, _PLAIN):
        entry, made, fields = _cached_plan(None, *given)
        if isinstance(made.asked, str) and made.asked.startswith("auto"):
            entry, made, fields = _cached_plan(_load_adopted(made.asked), *given)
        # A caller may change its plan; the cached one must not change.
        made = msgspec.structs.replace(
            made, fields=msgspec.json.decode(fields), headers=dict(made.headers)
        )
    else:
        entry, made = _build_plan(None, *given)
    if policy.unsupported == "warn":
        warn_adjustments(made, made.adjustments)
    return entry, made


def note_answer(reply: Reply) -> None:
    """Save for ``auto`` if a service now answers as another model than its sweep measured."""
    plan = reply.plan
    if not reply.model or not str(plan.asked).startswith("auto"):
        return
    from ..store import note_served  # noqa: PLC0415 - only for auto

    auto = parse_auto(str(plan.asked))
    note_served(plan.model, auto.name if auto else None, reply.model)


_PLAIN = (str, int, type(None))
_NO_PARAMETERS = RequestParameters()


def _load_adopted(model: object) -> object:
    if not isinstance(model, str) or "auto" not in model.lower():
        return None
    from ..store import load_calibrations  # noqa: PLC0415 - only for auto

    return load_calibrations()


@lru_cache(maxsize=1024, typed=True)
def _cached_plan(*given: Any) -> tuple[ModelEntry, Plan, bytes]:
    # The first argument is the user's calibrations if the others contain ``auto``.
    entry, made = _build_plan(*given)
    return entry, made, msgspec.json.encode(made.fields)


def _build_plan(
    adopted: object,
    finder: Lookup,
    model: str,
    thinking: object,
    effort: object,
    policy: Policy,
    offline: object,
    *asked: Any,
) -> tuple[ModelEntry, Plan]:
    entry, named_level = _entry(finder, model, policy.unknown, adopted)
    thinking = select_thinking(entry, thinking, finder)
    if thinking is None and effort is None:
        thinking = named_level
    intent = parse_intent(thinking, effort, words=entry.capability.extra_words)
    intent = resolve_auto(entry, intent, policy=policy, offline=bool(offline))
    return entry, make_plan(entry, intent, asked=RequestParameters(*asked), policy=policy)


def select_thinking(entry: ModelEntry, thinking: object, finder: Lookup) -> object:
    """Select this model's value from a mapping by provider or dialect; ``*`` is the default.

    Any other value, also a mapping of the service's own fields, is for every model.
    """
    if not isinstance(thinking, Mapping):
        return thinking
    provider, providers = entry.provider, finder.catalog.providers
    names = {"*", *providers, *(each.dialect for each in providers.values())}
    if names.isdisjoint(thinking):
        return thinking
    if unknown := [name for name in thinking if name not in names]:
        message = f"unknown provider or dialect {unknown[0]!r}; use {' '.join(sorted(names))}"
        raise BadThinking(message)
    matching = (name for name in (provider.name, provider.dialect, "*") if name in thinking)
    return thinking.get(next(matching, None))


def levels(model: str, *, max_tokens: int | None = None, policy: PolicyLike = None) -> list[Plan]:
    """Return one plan for each level of a model, weakest first.

    For ``model/auto``, the last plan is that of ``auto``.

    >>> [plan.level for plan in pondero.levels("gpt-5")]  # asked for off, minimal, ... max
    ['minimal', 'minimal', 'low', 'medium', 'high', 'high', 'high']
    """
    rules = resolve_policy(policy).but(unsupported="adjust")
    entry, named_level = _entry(load_catalog(), model, rules.unknown, _load_adopted(model))
    asked = check_parameters(max_tokens)
    words = (*LEVELS, *entry.capability.extra_words)
    intents = [parse_intent(word, words=entry.capability.extra_words) for word in words]
    if named_level is not None and named_level.kind == "auto":
        intents.append(resolve_auto(entry, named_level, policy=rules))
    return [make_plan(entry, intent, asked=asked, policy=rules) for intent in intents]


def models(provider: str | None = None) -> list[ModelEntry]:
    """Return the models in the catalog, of one provider or of all.

    >>> entry = pondero.models("anthropic")[0]
    >>> entry.id, entry.capability.thinks
    ('anthropic:claude-3-haiku', False)
    """
    return load_catalog().entries(provider)


# -- completion ----------------------------------------------------------------------------------


def complete(text: str) -> tuple[str, ...]:
    """Return completions of a model string: model names and providers, then a model's levels."""
    if names := _filter_prefix(text, _names(text)):  # first: names may contain slashes
        return names
    model, slash, _ = text.rpartition("/")
    return (
        _filter_prefix(text, (f"{model}/{level}" for level in level_choices(model)))
        if slash
        else ()
    )


def _names(text: str) -> Iterable[str]:
    catalog = load_catalog().catalog
    provider, colon, _ = text.partition(":")
    if colon and provider in catalog.providers:
        return sorted(entry.id for entry in models(provider))
    homes = {group.home for group in catalog.groups.values() if group.home in catalog.providers}
    bare = sorted({entry.model for home in homes for entry in models(home)})
    bare = [*load_catalog().short_names, *bare]
    autos = (f"auto:{name}" for name in _calibrations())
    return (*bare, *(f"{each}:" for each in catalog.providers), *autos)


def _calibrations(model: str | None = None) -> list[str]:
    """Return the names of the user's calibrations, for one model or all; empty if unreadable."""
    from ..store import load_calibrations  # noqa: PLC0415 - only for completion

    try:
        known = load_calibrations().known
    except UsageError:
        return []
    return [name for name, each in known.items() if model in (None, each.model)]


def level_choices(model: str) -> tuple[str, ...]:
    """Return a model's levels, and ``auto`` if it has a calibration."""
    entry = _find_entry(model)
    names = _calibrations(entry.id) if entry is not None else []
    autos = ("auto", *(f"auto:{name}" for name in names)) if names else ()
    return (*model_levels(model), *autos)


def model_levels(model: str) -> tuple[str, ...]:
    """Return a model's levels, weakest first; empty for an unknown model."""
    entry = _find_entry(model)
    if entry is None or not entry.capability.thinks:
        return ()
    facts = entry.capability
    return tuple(dict.fromkeys((*(("off",) if facts.off else ()), *facts.levels)))


def _find_entry(model: str) -> ModelEntry | None:
    try:
        return load_catalog().entry(model, unknown="family" if ":" in model else "error")
    except UsageError:
        return None


def _filter_prefix(text: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.startswith(text))


# -- policies and parameters -----------------------------------------------------------------------


def resolve_policy(given: PolicyLike) -> Policy:
    """Return the given policy, else the user's own."""
    return load_policy() if given is None else Policy.of(given)


@lru_cache(maxsize=1)
def load_policy() -> Policy:
    """Return the policy of config.toml, read once per process; raises BadConfig."""
    if load_config_file() is None:
        return Policy.of(None)
    from ..store import configured_policy  # noqa: PLC0415 - only if there is such a file

    return configured_policy()


@lru_cache(maxsize=4096)
def _entry(
    finder: Lookup, model: str, unknown: Literal["family", "omit", "error"], _load_adopted: object
) -> tuple[ModelEntry, Intent | None]:
    """Return a model's entry and the level in its name; ``auto:NAME`` depends on the disk."""
    entry = finder.entry(model, unknown=unknown)
    level_text = finder.split(model).level
    words = entry.capability.extra_words
    return entry, parse_intent(level_text, words=words) if level_text else None


def check_parameters(
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    top_k: int | None = None,
    *,
    tools: bool = False,
    tool_choice: Any = "auto",
    context: int | None = None,
    seed: int | None = None,
) -> RequestParameters:
    """Return the parameters other than the level; raises BadParameter for invalid ones."""
    _check_whole("max_tokens", max_tokens, 1)
    _check_whole("top_k", top_k, 0)
    _check_whole("context", context, 0)
    _check_whole("seed", seed, 0, most=_BIGGEST_SEED)
    _check_number("temperature", temperature, 2)
    _check_number("top_p", top_p, 1)
    if tool_choice is not None and not isinstance(tool_choice, str):
        message = f"invalid tool_choice={tool_choice!r}; use auto, none, required or a tool's name"
        raise BadParameter(message)
    return RequestParameters(
        max_tokens, temperature, top_p, top_k, bool(tools), tool_choice, context, seed
    )


_BIGGEST = 10_000_000
_BIGGEST_SEED = 2**31 - 1  # what the narrowest of the services takes


def _check_whole(name: str, value: Any, least: int, *, most: int = _BIGGEST) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        message = f"invalid {name}={value!r}; use a whole number from {least} to {most:,}"
        raise BadParameter(message)


def _check_number(name: str, value: Any, most: int) -> None:
    if value is None:
        return
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0 <= value <= most:
        message = f"invalid {name}={value!r}; use a number from 0 to {most}"
        raise BadParameter(message)


def warn_adjustments(made: Plan, notes: Iterable[Adjustment]) -> None:
    """Warn of adjustments, at the line that called pondero."""
    for note in notes:
        warn_caller(f"{made.model}: {note.why} ({note.code})")

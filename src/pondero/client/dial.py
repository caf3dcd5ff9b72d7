"""The dial as a library call: ``plan``, ``levels``, ``models``, and completion of their names."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from ..catalog import Lookup, ModelEntry
from ..errors import BadParameter, BadPolicy, BadThinking, PonderoWarning, UsageError
from ..exchange import plan as make_plan
from ..store import load_catalog, load_config_file, resolve_auto
from ..thinking import (
    LEVELS,
    Adjustment,
    Intent,
    Plan,
    Policy,
    PolicyDict,
    RequestParameters,
    ThinkingLike,
    parse_intent,
)

PolicyLike = Policy | PolicyDict | None


def plan(
    model: str,
    thinking: ThinkingLike = None,
    *,
    thinking_effort: ThinkingLike = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    top_k: int | None = None,
    tools: bool = False,
    tool_choice: str | None = "auto",
    policy: PolicyLike = None,
) -> Plan:
    """Return what would be sent to this model for this wish, and why.

    ``model`` is ``[provider:]model[/level]``. ``thinking`` is a level, True, False, a number of
    tokens, ``"auto"`` for the level that a sweep found, the service's own fields as a mapping, or a
    mapping of any of these by provider or dialect, where ``"*"`` is for all others; it wins over
    the model's suffix.

    >>> pondero.plan("gpt-5.5", "high").fields
    {'reasoning': {'effort': 'high', 'summary': 'auto'}}
    >>> pondero.plan("claude-opus-5/8k").level
    'medium'
    """
    asked = check_parameters(
        max_tokens, temperature, top_p, top_k, tools=tools, tool_choice=tool_choice
    )
    return resolve_and_plan(
        model, thinking, thinking_effort, asked=asked, policy=resolve_policy(policy)
    )[1]


def resolve_and_plan(
    model: str,
    thinking: object,
    thinking_effort: object,
    *,
    asked: RequestParameters,
    policy: Policy,
) -> tuple[ModelEntry, Plan]:
    """Return a model's entry, and what would be sent to it for this wish."""
    given = (
        load_catalog(),
        model,
        thinking,
        thinking_effort,
        policy,
        *msgspec.structs.astuple(asked),
    )
    if isinstance(thinking, _PLAIN) and isinstance(thinking_effort, _PLAIN):
        entry, made, fields = _remembered(None, *given)
        if isinstance(made.asked, str) and made.asked.startswith("auto"):
            entry, made, fields = _remembered(_adopted(made.asked), *given)
        # A caller may change the plan it gets; the remembered one must stay as it is.
        made = msgspec.structs.replace(
            made, fields=msgspec.json.decode(fields), headers=dict(made.headers)
        )
    else:
        entry, made = _made(None, *given)
    if policy.unsupported == "warn":
        warn_adjustments(made, made.adjustments)
    return entry, made


_PLAIN = str | int | None


def _adopted(model: str) -> object:
    """Return the user's calibrations where a name may say ``auto``; nothing is read for others."""
    if "auto" not in model.lower():
        return None
    from ..store import load_calibrations  # noqa: PLC0415 - only where auto is said

    return load_calibrations()


@lru_cache(maxsize=1024, typed=True)
def _remembered(*given: Any) -> tuple[ModelEntry, Plan, bytes]:
    """Return entry, plan and its fields as JSON; the same questions are asked again and again.

    The first of what is given is what the user adopted, where the others say ``auto``.
    """
    entry, made = _made(*given)
    return entry, made, msgspec.json.encode(made.fields)


def _made(
    adopted: object,
    finder: Lookup,
    model: str,
    thinking: object,
    effort: object,
    policy: Policy,
    *asked: Any,
) -> tuple[ModelEntry, Plan]:
    entry, wish = _entry(finder, model, policy.unknown, adopted)
    thinking = wish_for(entry, thinking, finder)
    if thinking is None and effort is None:
        thinking = wish
    intent = parse_intent(thinking, effort, words=entry.capability.extra_words)
    intent = resolve_auto(entry, intent, policy=policy)
    return entry, make_plan(entry, intent, asked=RequestParameters(*asked), policy=policy)


def wish_for(entry: ModelEntry, thinking: object, finder: Lookup) -> object:
    """Return the wish for this model, of a mapping by provider or dialect; ``*`` is all others'.

    Any other wish is for every model, a mapping of the service's own fields among them.
    """
    if not isinstance(thinking, Mapping):
        return thinking
    provider, others = entry.provider, finder.catalog.providers
    names = {"*", *others, *(each.dialect for each in others.values())}
    if names.isdisjoint(thinking):
        return thinking
    if odd := [name for name in thinking if name not in names]:
        message = f"no provider or dialect is called {odd[0]!r}; use {' '.join(sorted(names))}"
        raise BadThinking(message)
    mine = (name for name in (provider.name, provider.dialect, "*") if name in thinking)
    return thinking.get(next(mine, None))


def levels(model: str, *, max_tokens: int | None = None, policy: PolicyLike = None) -> list[Plan]:
    """Return the whole ladder of a model: one plan for each level, weakest first.

    For a model with ``auto`` behind it, the last plan is what that becomes.

    >>> [plan.level for plan in pondero.levels("gpt-5")]  # asked for off, minimal, ... max
    ['minimal', 'minimal', 'low', 'medium', 'high', 'high', 'high']
    """
    rules = resolve_policy(policy).but(unsupported="adjust")
    entry, said = _entry(load_catalog(), model, rules.unknown, _adopted(model))
    asked = check_parameters(max_tokens)
    words = (*LEVELS, *entry.capability.extra_words)
    wishes = [parse_intent(word, words=entry.capability.extra_words) for word in words]
    if said is not None and said.kind == "auto":
        wishes.append(resolve_auto(entry, said, policy=rules))
    return [make_plan(entry, wish, asked=asked, policy=rules) for wish in wishes]


def models(provider: str | None = None) -> list[ModelEntry]:
    """Return every catalogued model, of one provider or of all.

    >>> entry = pondero.models("anthropic")[0]
    >>> entry.id, entry.capability.thinks
    ('anthropic:claude-3-haiku', False)
    """
    return load_catalog().entries(provider)


# -- completion ----------------------------------------------------------------------------------


def complete(text: str) -> tuple[str, ...]:
    """Return the model strings that begin with this text; after a slash, with the model's levels.

    Bare names, and the providers that names can be asked for at; after a provider, its names.
    """
    if names := _beginning(text, _names(text)):  # first: there are slashes in names, too
        return names
    model, slash, _ = text.rpartition("/")
    return _beginning(text, (f"{model}/{level}" for level in level_choices(model))) if slash else ()


def _names(text: str) -> Iterable[str]:
    catalog = load_catalog().catalog
    provider, colon, _ = text.partition(":")
    if colon and provider in catalog.providers:
        return sorted(entry.id for entry in models(provider))
    homes = {group.home for group in catalog.groups.values() if group.home in catalog.providers}
    bare = sorted({entry.model for home in homes for entry in models(home)})
    autos = (f"auto:{name}" for name in _calibrations())
    return (*bare, *(f"{each}:" for each in catalog.providers), *autos)


def _calibrations(model: str | None = None) -> list[str]:
    """Return the names of what the user adopted, for one model or for any; none if unreadable."""
    from ..store import load_calibrations  # noqa: PLC0415 - only while somebody types

    try:
        known = load_calibrations().known
    except UsageError:
        return []
    return [name for name, each in known.items() if model in (None, each.model)]


def level_choices(model: str) -> tuple[str, ...]:
    """Return what may stand behind a model: its levels, and auto where one was adopted for it."""
    entry = _known(model)
    names = _calibrations(entry.id) if entry is not None else []
    autos = ("auto", *(f"auto:{name}" for name in names)) if names else ()
    return (*model_levels(model), *autos)


def model_levels(model: str) -> tuple[str, ...]:
    """Return the levels a model has, weakest first; none for an unknown model."""
    entry = _known(model)
    if entry is None or not entry.capability.thinks:
        return ()
    facts = entry.capability
    return tuple(dict.fromkeys((*(("off",) if facts.off else ()), *facts.levels)))


def _known(model: str) -> ModelEntry | None:
    try:
        return load_catalog().entry(model, unknown="family" if ":" in model else "error")
    except UsageError:
        return None


def _beginning(text: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.startswith(text))


# -- policies and parameters -----------------------------------------------------------------------


def resolve_policy(given: PolicyLike) -> Policy:
    """Return the policy that was given, else the user's own."""
    return your_policy() if given is None else Policy.of(given)


@lru_cache(maxsize=1)
def your_policy() -> Policy:
    """Return the policy of the user's config.toml, read once a process."""
    if (file := load_config_file()) is None:
        return Policy.of(None)
    try:
        return Policy.of(file.values.get("policy"))
    except BadPolicy as error:
        message = f"{file.place('policy')}: {error}"
        raise BadPolicy(message) from None


@lru_cache(maxsize=4096)
def _entry(
    finder: Lookup, model: str, unknown: Literal["family", "omit", "error"], _adopted: object
) -> tuple[ModelEntry, Intent | None]:
    """Return a model's entry and the level behind its name; ``auto:NAME`` depends on the disk."""
    entry = finder.entry(model, unknown=unknown)
    wish = finder.split(model).level
    return entry, parse_intent(wish, words=entry.capability.extra_words) if wish else None


def check_parameters(
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    top_k: int | None = None,
    *,
    tools: bool = False,
    tool_choice: Any = "auto",
    context: int | None = None,
) -> RequestParameters:
    """Return the parameters beside the wish; raises BadParameter for impossible ones."""
    if max_tokens is not None:
        _check_whole("max_tokens", max_tokens, 1)
    if top_k is not None:
        _check_whole("top_k", top_k, 0)
    if context is not None:
        _check_whole("context", context, 0)
    if temperature is not None:
        _check_number("temperature", temperature, 2)
    if top_p is not None:
        _check_number("top_p", top_p, 1)
    if tool_choice is not None and not isinstance(tool_choice, str):
        message = (
            f"tool_choice={tool_choice!r} cannot be; use auto, none, required or a tool's name"
        )
        raise BadParameter(message)
    return RequestParameters(
        max_tokens, temperature, top_p, top_k, bool(tools), tool_choice, context
    )


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _BIGGEST:
        message = f"{name}={value!r} cannot be; use a whole number from {least} to {_BIGGEST:,}"
        raise BadParameter(message)


def _check_number(name: str, value: Any, most: int) -> None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0 <= value <= most:
        message = f"{name}={value!r} cannot be; use a number from 0 to {most}"
        raise BadParameter(message)


_BIGGEST = 10_000_000


def warn_adjustments(made: Plan, notes: Iterable[Adjustment]) -> None:
    """Warn of these adjustments of a plan, at the line that called pondero."""
    import warnings  # noqa: PLC0415 - only under this policy

    for note in notes:
        message = f"{made.model}: {note.why} ({note.code})"
        warnings.warn(message, PonderoWarning, stacklevel=_outside())


def _outside() -> int:
    """Return how many frames above the caller the first one is that is not in pondero."""
    import sys  # noqa: PLC0415 - only under this policy

    frame, depth = sys._getframe(1), 1  # noqa: SLF001 - there is no public way up
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pondero."):
        frame, depth = frame.f_back, depth + 1
    return depth

"""The dial as a library call: ``plan``, ``levels``, ``models``."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from ..catalog import Entry, Lookup, extended, shipped
from ..errors import BadParameter, BadPolicy, PonderoWarning
from ..exchange import plan as make_plan
from ..store import catalog_files, config_text
from ..thinking import LEVELS, Asked, Intent, Plan, Policy, parse

PolicyLike = Policy | Mapping[str, Any] | None


def plan(
    model: str,
    thinking: object = None,
    *,
    thinking_effort: object = None,
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
    tokens, or the service's own fields as a mapping; it wins over the model's suffix.
    """
    rules = your_policy() if policy is None else Policy.of(policy)
    entry, wish = _entry(model, rules.unknown)
    if thinking is None and thinking_effort is None:
        thinking = wish
    intent = parse(thinking, thinking_effort, words=entry.capability.extra_words)
    asked = _asked(max_tokens, temperature, top_p, top_k, tools=tools, tool_choice=tool_choice)
    made = make_plan(entry, intent, asked=asked, policy=rules)
    if rules.unsupported == "warn":
        _warn(made)
    return made


def levels(model: str, *, max_tokens: int | None = None, policy: PolicyLike = None) -> list[Plan]:
    """Return the whole ladder of a model: one plan for each level, weakest first."""
    rules = your_policy() if policy is None else Policy.of(policy)
    rules = rules.but(unsupported="adjust")
    entry, _ = _entry(model, rules.unknown)
    asked = _asked(max_tokens)
    words = (*LEVELS, *entry.capability.extra_words)
    wishes = [parse(word, words=entry.capability.extra_words) for word in words]
    return [make_plan(entry, wish, asked=asked, policy=rules) for wish in wishes]


def models(provider: str | None = None) -> list[Entry]:
    """Return every catalogued model, of one provider or of all."""
    return lookup().entries(provider)


@lru_cache(maxsize=1)
def lookup() -> Lookup:
    """Return the catalog with the user's own models, read once a process."""
    catalog, files = shipped(), catalog_files()
    return Lookup(extended(catalog, files) if files else catalog)


@lru_cache(maxsize=1)
def your_policy() -> Policy:
    """Return the policy of the user's config.toml, read once a process."""
    if (found := config_text()) is None:
        return Policy.of(None)
    import tomllib  # noqa: PLC0415 - only where there is a file

    path, text = found
    try:
        return Policy.of(tomllib.loads(text).get("policy"))
    except (tomllib.TOMLDecodeError, BadPolicy) as error:
        message = f"{path}: {error}"
        raise BadPolicy(message) from None


@lru_cache(maxsize=4096)
def _entry(model: str, unknown: Literal["family", "omit", "error"]) -> tuple[Entry, Intent | None]:
    finder = lookup()
    entry = finder.entry(model, unknown=unknown)
    wish = finder.split(model).wish
    return entry, parse(wish, words=entry.capability.extra_words) if wish else None


def _asked(
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    top_k: int | None = None,
    *,
    tools: bool = False,
    tool_choice: Any = "auto",
) -> Asked:
    _whole("max_tokens", max_tokens, 1)
    _whole("top_k", top_k, 0)
    _number("temperature", temperature, 2)
    _number("top_p", top_p, 1)
    if tool_choice is not None and not isinstance(tool_choice, str):
        message = (
            f"tool_choice={tool_choice!r} cannot be; use auto, none, required or a tool's name"
        )
        raise BadParameter(message)
    return Asked(max_tokens, temperature, top_p, top_k, bool(tools), tool_choice)


def _whole(name: str, value: Any, least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _BIGGEST:
        message = f"{name}={value!r} cannot be; use a whole number from {least} to {_BIGGEST:,}"
        raise BadParameter(message)


def _number(name: str, value: Any, most: int) -> None:
    if value is None:
        return
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0 <= value <= most:
        message = f"{name}={value!r} cannot be; use a number from 0 to {most}"
        raise BadParameter(message)


_BIGGEST = 10_000_000


def _warn(made: Plan) -> None:
    import warnings  # noqa: PLC0415 - only under this policy

    for note in made.adjustments:
        warnings.warn(f"{made.model}: {note.why} ({note.code})", PonderoWarning, stacklevel=3)

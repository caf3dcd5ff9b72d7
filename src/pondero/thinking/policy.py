"""The policy: what to do if a model cannot do exactly what was requested."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypedDict, Unpack, cast

from ..errors import BadPolicy

CHOICES: dict[str, tuple[str, ...]] = {
    "unsupported": ("adjust", "warn", "strict"),
    "off": ("least", "floor", "omit"),
    "budgets": ("proportional", "fixed", "percent"),
    "unknown": ("family", "omit", "error"),
    "show": ("auto", "summary", "none"),
    "foreign": ("drop", "note"),
}
TOKENS = {"answer_room": 4096, "context_cap": 0}
"""Choices that are a number of tokens, with their defaults."""


class PolicyDict(TypedDict, total=False):
    """A policy as a mapping; a missing key has its default."""

    unsupported: Literal["adjust", "warn", "strict"]
    off: Literal["least", "floor", "omit"]
    budgets: Literal["proportional", "fixed", "percent"]
    unknown: Literal["family", "omit", "error"]
    show: Literal["auto", "summary", "none"]
    foreign: Literal["drop", "note"]
    answer_room: int
    context_cap: int


class Policy:
    """The user's choices, each with a default.

    unsupported  adjust (record) | warn (also warn) | strict (raise)
    off          least (off, else the least) | floor (smallest thinking) | omit (send nothing)
    budgets      proportional (thirds of the range) | fixed (1,024 ...) | percent (of max_tokens)
    unknown      family (the newest of its line) | omit (send nothing) | error
    show         auto (readable thinking unless off) | summary | none
    foreign      drop | note: another model's thinking at a handoff
    answer_room  tokens kept for the answer
    context_cap  the most thinking tokens once the context is long (above 150,000); 0: no such cap

    >>> policy = pondero.Policy(off="omit")
    >>> pondero.plan("gemini-2.5-pro", "off", policy=policy).fields
    {}
    """

    __slots__ = (
        *("answer_room", "budgets", "context_cap", "foreign", "off", "show", "unknown"),
        "unsupported",
        "_hash",  # a policy is part of every question a client has answered before
    )

    unsupported: Literal["adjust", "warn", "strict"]
    off: Literal["least", "floor", "omit"]
    budgets: Literal["proportional", "fixed", "percent"]
    unknown: Literal["family", "omit", "error"]
    show: Literal["auto", "summary", "none"]
    foreign: Literal["drop", "note"]
    answer_room: int
    context_cap: int
    _hash: int

    def __init__(self, **given: Unpack[PolicyDict]) -> None:
        choices = cast("dict[str, Any]", given)
        for name, allowed in CHOICES.items():
            value = choices.pop(name, allowed[0])
            if value not in allowed:
                message = f"invalid policy {name}={value!r}; use {' '.join(allowed)}"
                raise BadPolicy(message)
            object.__setattr__(self, name, value)
        for name, usual in TOKENS.items():
            object.__setattr__(self, name, _tokens(name, choices.pop(name, usual)))
        if choices:
            unknown = next(iter(choices))
            known = " ".join((*CHOICES, *TOKENS))
            message = f"unknown policy {unknown!r}; {_guess(unknown)}use {known}"
            raise BadPolicy(message)
        object.__setattr__(self, "_hash", hash(tuple(self)))

    @classmethod
    def of(cls, choices: object) -> "Policy":
        """Return a policy from a policy, a mapping (a config table) or nothing."""
        if choices is None:
            return DEFAULT
        if isinstance(choices, Policy):
            return choices
        if isinstance(choices, Mapping):
            return _thaw(choices) if choices else DEFAULT
        message = f"a policy is a pondero.Policy or a mapping, not {choices!r}"
        raise BadPolicy(message)

    def but(self, **choices: Unpack[PolicyDict]) -> "Policy":
        """Return this policy with some choices changed."""
        return _thaw({**dict(self), **choices})

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in (*CHOICES, *TOKENS))

    def __setattr__(self, name: str, value: object) -> None:
        message = f"a policy does not change; use policy.but({name}={value!r})"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> None:
        message = f"a policy does not change; {name} stays"
        raise AttributeError(message)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Policy) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        said = ", ".join(
            f"{name}={value!r}" for name, value in self if value != getattr(DEFAULT, name)
        )
        return f"Policy({said})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_thaw, (dict(self),))


def _thaw(choices: Mapping[str, Any]) -> Policy:
    return Policy(**cast("PolicyDict", choices))


def _tokens(name: str, value: object) -> int:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = f"invalid policy {name}={value!r}; use a whole number of tokens from 0"
        raise BadPolicy(message)
    return value


def _guess(word: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, needed only for an error

    close = get_close_matches(word, [*CHOICES, *TOKENS], n=1)
    return f"did you mean {close[0]!r}? " if close else ""


DEFAULT = Policy()

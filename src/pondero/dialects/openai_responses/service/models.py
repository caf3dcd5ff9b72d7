"""What each model takes: the service's own table, and the refusals that follow from it."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from .errors import refuse, unsupported, unsupported_parameter
from .types import Create, Reasoning

_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_ALL = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
SEALED = "reasoning.encrypted_content"


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of the table; service.toml says what each column means."""

    names: tuple[str, ...] = ()
    service: str = "openai"
    efforts: tuple[str, ...] = ()
    default: str | None = None
    always: bool = False
    summary: str | None = None
    max_output: int | None = None
    all_turns: bool = False
    context: str = "current_turn"
    pro: bool = False
    sealed: bool = False
    updates: bool = False
    concise: bool = False
    phases: bool = False
    sampling: bool = False
    hosted: tuple[str, ...] = ()
    elsewhere: bool = False


class Manner(Struct, frozen=True, forbid_unknown_fields=True):
    """How a deployment says no."""

    flat: bool = False


class _Book(Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[Model, ...]
    service: Mapping[str, Manner]


ANY = Model(
    efforts=_ALL,
    default="medium",
    all_turns=True,
    pro=True,
    updates=True,
    concise=True,
    sampling=True,
)
"""A model of a deployment whose rules nobody wrote down: all is taken."""


class Thought(Struct, frozen=True):
    """How this request will be thought about; the answer echoes it."""

    effort: str | None
    summary: str | None
    context: str | None
    mode: str | None
    thinks: bool
    sealed: bool

    def echo(self) -> dict[str, Any]:
        """Return it as the answer's `reasoning`."""
        echo = {"effort": self.effort, "summary": self.summary, "context": self.context}
        return {**echo, "mode": self.mode} if self.mode else echo


def model_of(name: str, *, service: str) -> Model:
    """Return the row of a model, or refuse a name that is none."""
    rows = table().get(service)
    if rows is None:
        return ANY
    plain = name.split(":")[1] if name.startswith("ft:") else name
    row = rows.get(plain) or rows.get(_DATE.sub("", plain))
    if row is None:
        message = f"The requested model '{name}' does not exist."
        refuse(message, param="model", code="model_not_found")
    if row.elsewhere:
        message = f"The requested model '{name}' is not supported with the Responses API."
        refuse(message, param="model", code="model_not_found")
    return row


def manner_of(service: str) -> Manner:
    """Return how a deployment says no."""
    return _book().service.get(service, Manner())


@cache
def table() -> Mapping[str, Mapping[str, Model]]:
    """Return the rows of each deployment by the names of their models."""
    rows: dict[str, dict[str, Model]] = {}
    for row in _book().model:
        rows.setdefault(row.service, {}).update(dict.fromkeys(row.names, row))
    return rows


@cache
def _book() -> _Book:
    text = files(__package__).joinpath("models.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=_Book)


def think(create: Create, model: Model, updated: str | None) -> Thought:
    """Return how it will think, or refuse what this model does not take.

    ``updated`` is an effort that an item of the input put in place of the request's.
    """
    asked = create.reasoning or Reasoning()
    summary = asked.summary or asked.generate_summary
    sealed = SEALED in (create.include or ())
    if not model.efforts:
        return _unasked(create, model, sealed=sealed)
    for effort in (asked.effort, updated):
        if effort is not None and effort not in model.efforts:
            unsupported(effort, create.model, model.efforts, param="reasoning.effort")
    if summary == "concise" and not model.concise:
        unsupported(summary, create.model, ("auto", "detailed"), param="reasoning.summary")
    if asked.context == "all_turns" and not model.all_turns:
        words = ("auto", "current_turn")
        unsupported(asked.context, create.model, words, param="reasoning.context")
    if asked.mode == "pro" and not model.pro:
        unsupported(asked.mode, create.model, ("standard",), param="reasoning.mode")
    context = asked.context if asked.context != "auto" else None
    effort = updated or asked.effort or model.default
    return Thought(
        effort=effort,
        summary="detailed" if summary == "auto" else summary or model.summary,
        context=context or model.context,
        mode=asked.mode or "standard",
        thinks=effort != "none",
        sealed=model.sealed or sealed,
    )


def _unasked(create: Create, model: Model, *, sealed: bool) -> Thought:
    """Return how a model thinks that cannot be told how: always, or never."""
    asked = create.reasoning or Reasoning()
    said = (
        ("effort", asked.effort),
        ("summary", asked.summary or asked.generate_summary),
        ("context", asked.context),
        ("mode", asked.mode),
    )
    for name, value in said:
        if value is not None:
            unsupported_parameter(f"reasoning.{name}")
    if sealed and not model.always:
        refuse("Encrypted content is not supported with this model.", param="include")
    return Thought(
        effort=None,
        summary=model.summary,
        context=None,
        mode=None,
        thinks=model.always,
        sealed=sealed,
    )


def check(create: Create, model: Model, thought: Thought) -> None:
    """Refuse what does not go together with this model or with thinking."""
    if thought.thinks and not model.sampling:
        for name in ("temperature", "top_p"):
            if getattr(create, name) is not None:
                unsupported_parameter(name)
        if create.top_logprobs:
            message = "logprobs are not supported with reasoning models."
            refuse(message, param="top_logprobs", code="unsupported_parameter")
    cap = create.max_output_tokens
    if cap is not None and model.max_output is not None and cap > model.max_output:
        message = (
            "Invalid 'max_output_tokens': integer above maximum value. "
            f"Expected a value <= {model.max_output}, but got {cap} instead."
        )
        refuse(message, param="max_output_tokens", code="integer_above_max_value")
    if model.hosted and any(tool.get("type") not in model.hosted for tool in create.tools or ()):
        quoted = ", ".join(f"'{each}'" for each in model.hosted[:-1])
        message = f"Deep research models only support the {quoted}, and '{model.hosted[-1]}' tools."
        refuse(message, param="tools")

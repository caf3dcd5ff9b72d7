"""Decides how a model thinks about a request, and rejects what it does not take."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..errors import reject, reject_value
from ..models import Model
from ..parse import ENCRYPTED
from ..types import Create, Reasoning


class ThinkingPlan(Struct, frozen=True):
    """How the model will think about this request; the answer repeats it as ``reasoning``.

    The answer has the effort of the request, ``opening``, and not that of an update in the
    conversation (NanoGPT's docs, and a public report with gpt-6-astra of 2026-09-19).
    """

    effort: str | None
    opening: str | None
    summary: str | None
    context: str | None
    mode: str | None
    thinks: bool
    sealed: bool

    def echo(self) -> dict[str, Any]:
        """Return the answer's ``reasoning``."""
        echo = {"effort": self.opening, "summary": self.summary, "context": self.context}
        return {**echo, "mode": self.mode} if self.mode else echo


def plan_thinking(create: Create, model: Model, updates: Mapping[str, str]) -> ThinkingPlan:
    """Return the plan; ``updates`` are the efforts set inside the conversation, by path."""
    asked = create.reasoning or Reasoning()
    summary = asked.summary or asked.generate_summary
    sealed = ENCRYPTED in (create.include or ())
    if not model.efforts:
        return _plan_without_efforts(create, model, sealed=sealed)
    for param, effort in (("reasoning.effort", asked.effort), *updates.items()):
        if effort is not None and effort not in model.efforts:
            reject_value(effort, create.model, model.efforts, param=param)
    if summary == "concise" and not model.concise:
        reject_value(summary, create.model, ("auto", "detailed"), param="reasoning.summary")
    if asked.context == "all_turns" and not model.all_turns:
        words = ("auto", "current_turn")
        reject_value(asked.context, create.model, words, param="reasoning.context")
    if asked.mode == "pro" and not model.pro:
        reject_value(asked.mode, create.model, ("standard",), param="reasoning.mode")
    context = asked.context if asked.context != "auto" else None
    opening = asked.effort or model.default
    effort = [opening, *updates.values()][-1]
    return ThinkingPlan(
        effort=effort,
        opening=opening,
        summary="detailed" if summary == "auto" else summary or model.summary,
        context=context or model.context,
        mode=asked.mode or "standard",
        thinks=effort != "none",
        sealed=model.sealed or sealed,
    )


def _plan_without_efforts(create: Create, model: Model, *, sealed: bool) -> ThinkingPlan:
    """Plan the thinking of a model without efforts: always or never."""
    asked = create.reasoning or Reasoning()
    said = (
        ("effort", asked.effort),
        ("summary", asked.summary or asked.generate_summary),
        ("context", asked.context),
        ("mode", asked.mode),
    )
    for name, value in said:
        if value is not None:
            reject("unsupported_parameter", param=f"reasoning.{name}")
    if sealed and not model.always:
        reject("encrypted_unsupported", param="include")
    return ThinkingPlan(
        effort=None,
        opening=None,
        summary=model.summary,
        context=None,
        mode=None,
        thinks=model.always,
        sealed=sealed,
    )

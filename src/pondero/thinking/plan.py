"""The plan, the public value: a decision, the wire fields, and the facts behind them."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from .capability import Evidence
from .decision import Adjustment

_MEANINGFUL = re.compile(r"[&<>|*_`\[\]\\$~!#]")


class PlanSources(Struct, frozen=True):
    """The sources of a plan's facts; if ``inferred``, they are the related model ``like``'s."""

    source: str
    checked: str
    inferred: bool = False
    evidence: Evidence = "inferred"
    like: str | None = None


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was requested, what is sent (``fields``), and every reason for a difference.

    ``cache_breakpoints``: up to how many places of the prompt the service is asked to cache it.
    ``typical``: the tokens that the model usually thinks, if max_tokens is less than that.

    >>> plan = pondero.plan("claude-sonnet-4-5", "high", temperature=0.2)
    >>> plan.fields
    {'thinking': {'type': 'enabled', 'budget_tokens': 59904}, 'max_tokens': 64000}
    >>> plan.dropped, plan.budget, plan.will_think
    (('temperature',), 59904, True)
    """

    model: str
    dialect: str
    family: str
    asked: str | int | None
    level: str | None
    budget: int | None
    nominal: int | None
    will_think: bool | None
    fields: dict[str, Any]
    headers: dict[str, str]
    dropped: tuple[str, ...]
    adjustments: tuple[Adjustment, ...]
    facts: PlanSources
    cache_breakpoints: int = 0
    typical: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON values; the keys are a stable contract."""
        made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return made

    def _repr_markdown_(self) -> str:
        rows = (f"| {label} | {_cell(text)} |" for label, text in _facts_of(self))
        fields = "\n".join(_pretty(self.fields))
        longest = max(map(len, re.findall("`+", fields)), default=0)
        fence = "`" * max(3, longest + 1)
        return "\n".join(("| plan | |", "| --- | --- |", *rows, "", f"{fence}json", fields, fence))

    def __str__(self) -> str:
        return "\n".join(f"{label:<8}{text}".rstrip() for label, text in describe_plan(self))


def describe_plan(plan: Plan) -> list[tuple[str, str]]:
    """Return the plan as labelled lines that end in the exact JSON."""
    return [*_facts_of(plan), *_label("json", _pretty(plan.fields))]


def _facts_of(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("model", plan.model),
        ("asked", describe_intent(plan.asked)),
        ("sent", describe_result(plan)),
        *_label("why", [f"{note.why} ({note.code})" for note in plan.adjustments]),
        ("facts", describe_sources(plan)),
        *_label("cache", [_describe_breakpoints(plan)] if plan.cache_breakpoints else []),
        *_label("header", [f"{name}: {value}" for name, value in plan.headers.items()]),
    ]


def describe_unknown(plan: Plan) -> str | None:
    """Return what the plan says of a model that is not in the catalog; None if it is."""
    name = plan.model.partition(":")[2]
    unknown = (each.why for each in plan.adjustments if each.code == "unknown_model")
    return next((f"{name!r} is {why}" for why in unknown), None)


def describe_intent(asked: str | int | None) -> str:
    """Return a requested level or budget in words."""
    if asked is None:
        return "nothing"
    return f"{asked:,} tokens" if isinstance(asked, int) else asked


def describe_result(plan: Plan) -> str:
    """Return what is sent, in words."""
    if plan.asked == "native" or any(note.code == "native_wins" for note in plan.adjustments):
        return "your own fields, untouched"
    if plan.budget is not None:
        words = f"{plan.level}, {plan.budget:,} tokens" if plan.level else f"{plan.budget:,} tokens"
    else:
        words = plan.level or "nothing"
    if plan.will_think is False and plan.level not in ("off", None):
        words += ", but it will not think"
    unasked = {None: "whether it thinks is up to the model", True: "it thinks by itself"}
    if plan.asked is None or any(note.code == "no_calibration" for note in plan.adjustments):
        words += f" ({unasked.get(plan.will_think, 'it does not think by itself')})"
    return words


PROBED = "probed"
"""The source of facts that ``pondero probe`` found on this machine."""
_KNOWN_FROM: dict[Evidence, str] = {
    "recorded": "recorded exchanges with this service",
    "vendor page": "the vendor's documentation",
    "SDK type": "a published SDK",
    "list": "a public list of models",
    "inferred": "models like it",
}


def describe_sources(plan: Plan) -> str:
    """Return in words how it is known what the model can do, and since when."""
    facts = plan.facts
    known_from = "your own probe" if facts.source == PROBED else _KNOWN_FROM[facts.evidence]
    if facts.inferred and not facts.like and not facts.checked:
        return "nothing is known of this model"
    if facts.inferred:
        known_from = f"a related model, {facts.like or plan.family}"
    checked = f"; checked {facts.checked}" if facts.checked else "; never checked"
    return f"known from {known_from}{checked}"


def _describe_breakpoints(plan: Plan) -> str:
    several = "s" if plan.cache_breakpoints > 1 else ""
    return f"{plan.cache_breakpoints} breakpoint{several}, up to which the prompt is cached"


def _cell(text: str) -> str:
    return _MEANINGFUL.sub(lambda found: f"&#{ord(found[0])};", " ".join(text.split()))


def _label(label: str, texts: list[str]) -> list[tuple[str, str]]:
    return [(label if not number else "", text) for number, text in enumerate(texts)]


def _pretty(fields: dict[str, Any]) -> list[str]:
    return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode().splitlines()

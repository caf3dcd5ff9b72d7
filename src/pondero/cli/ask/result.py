"""The result of one question: its replies, tokens, cost and time, as text and as JSON."""

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...canon import COUNTS, Json, Reply, Usage, add_media
from ...client import TurnRecorder
from ...errors import PonderoError
from ...store import SecretRedactor, format_dollars
from ..command import error_to_json
from .schema import parse_typed_value
from .thread import AskStart

VERSION = 1
"""Version of --json and --json-lines; new fields do not change it, and none is ever removed."""

_KINDS = (
    ("in", "input"),
    ("cache read", "cache_read"),
    ("cache written", "cache_write"),
    ("thinking", "thinking"),
    ("answer", "output"),
)


class AskResult(Struct, frozen=True, kw_only=True):
    """The end of one question: ``replies`` or an ``error``; ``value`` is JSON by a schema."""

    start: AskStart
    replies: tuple[Reply, ...] = ()
    seconds: float = 0.0
    first: float | None = None
    paid: bool = True
    value: Json = None
    shaped: bool = False
    thread: str | None = None
    error: PonderoError | None = None

    @property
    def reply(self) -> Reply | None:
        """Return the last reply."""
        return self.replies[-1] if self.replies else None

    @property
    def name(self) -> str:
        """Return the model with its level, as it was asked for."""
        return self.start.name

    @property
    def full_name(self) -> str:
        """Return the model that answered as provider:model, with the level that was asked for."""
        plan = self.reply.plan if self.reply else None
        model = plan.model if plan else self.start.full_name
        return model if self.start.thinking is None else f"{model}/{self.start.thinking}"

    @property
    def usage(self) -> Usage:
        """Return the tokens of all exchanges; what no service said is None."""
        counts = {name: [getattr(each.usage, name) for each in self.replies] for name in COUNTS}
        media = reduce(add_media, [each.usage.media for each in self.replies], None)
        return Usage(**{name: _sum(found) for name, found in counts.items()}, media=media)

    @property
    def cost(self) -> str | None:
        """Return the dollars of all exchanges; None if offline or if a price is unknown."""
        costs = [each.cost for each in self.replies]
        known = [cost.usd for cost in costs if cost is not None]
        return f"{sum(known, Decimal()):f}" if known and len(known) == len(costs) else None

    @property
    def cost_unknown(self) -> str | None:
        """Return why there is no cost; None if there is one, or no reply."""
        reasons = (each.cost_unknown for each in self.replies)
        return next((reason for reason in reasons if reason is not None), None)

    def counts(self) -> list[tuple[str, int]]:
        """Return the known tokens by kind; those of a cache if it was used."""
        usage = self.usage
        counts = [(said, getattr(usage, name)) for said, name in _KINDS]
        if usage.thinking is None and any(reply.thinking for reply in self.replies):
            counts[-1] = ("thinking and answer", usage.output)  # the service counts them as one
        return [
            (kind, count)
            for kind, count in counts
            if count or (count is not None and not kind.startswith("cache"))
        ]

    def figures(self) -> str:
        """Return tokens by kind, cost, seconds and verdict in a line."""
        said = [f"{count:,} {kind}" for kind, count in self.counts()]
        words = [f"{', '.join(said)} tokens" if said else "tokens unknown", self.money()]
        words.append(f"{self.seconds:,.1f} s")
        if len(self.replies) > 1:
            words.append(f"{len(self.replies)} exchanges")
        return " · ".join([*words, self.verdict()])

    def verdict(self) -> str:
        """Return the verdict in words."""
        if self.reply is None:
            return "no answer"
        if self.reply.verdict == "unknown":
            return "thinking not reported"
        return self.reply.verdict.replace("_", " ")

    def money(self) -> str:
        """Return the cost as text."""
        if not self.paid:
            return "offline"
        return "price unknown" if self.cost is None else format_dollars(self.cost)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values, redacted; the keys are a stable contract."""
        return SecretRedactor().value(self._to_json())

    def _to_json(self) -> dict[str, Any]:
        reply, plan = self.reply, self.reply.plan if self.reply else None
        made: dict[str, Any] = {
            "version": VERSION,
            "model": plan.model if plan else self.start.full_name or None,
            "asked": self.start.thinking,
            "level": plan.level if plan else None,
            "text": reply.text if reply else None,
        }
        if self.shaped:
            made["value"] = self.value
        return made | {
            "thinking": [
                part.text for each in self.replies for part in each.thinking_parts if part.text
            ],
            "tool_calls": [
                {"name": call.name, "arguments": call.arguments}
                for each in self.replies
                for call in each.tool_calls
            ],
            "finish": reply.finish if reply else None,
            "verdict": reply.verdict if reply else None,
            "adjustments": msgspec.to_builtins(reply.adjustments) if reply else [],
            "usage": self.usage.to_json(),
            "cost": self.cost,
            "cost_unknown": self.cost_unknown,
            "seconds": round(self.seconds, 3),
            "first": None if self.first is None else round(self.first, 3),
            "exchanges": len(self.replies),
            "thread": self.thread,
            "error": None if self.error is None else error_to_json(self.error),
        }


def make_result(
    start: AskStart,
    replies: Sequence[Reply],
    recorder: TurnRecorder,
    *,
    paid: bool,
    seconds: float,
    thread: str | None = None,
    error: PonderoError | None = None,
) -> AskResult:
    """Return the result of a turn that has ended, or was cut off by an error."""
    first = recorder.laps[0].first if recorder.laps else None
    return AskResult(
        start=start,
        replies=tuple(replies),
        seconds=seconds,
        first=first,
        paid=paid,
        thread=thread,
        error=error,
    )


def add_typed_value(answer: AskResult, schema: dict[str, Json]) -> AskResult:
    """Return the answer with its value, or with the error that it does not fit the schema."""
    if answer.error is not None or answer.reply is None:
        return answer
    try:
        return replace(answer, shaped=True, value=parse_typed_value(schema, answer.reply))
    except PonderoError as error:
        return replace(answer, shaped=True, error=error)


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

"""Requests that somebody might have made, for the ledger behind the console."""

from collections.abc import Iterator
from decimal import Decimal
from random import Random

from pondero.canon import Usage
from pondero.gateway.observability.receipt import Receipt

_MODELS = (
    ("anthropic", "claude-opus-5", 25),
    ("google", "gemini-3-flash-preview", 3),
    ("openai", "gpt-5.5", 14),
    ("anthropic", "claude-haiku-4-5", 5),
)
_DEPTHS = {"off": 0, "low": 900, "medium": 2_600, "high": 7_500, "xhigh": 15_000, "max": 26_000}
_LEVELS = tuple(_DEPTHS)


def crowd(count: int, *, until: float, hours: float = 23, seed: int = 7) -> Iterator[Receipt]:
    """Yield receipts, the oldest first; busier by day than by night."""
    chance = Random(seed)
    moments = sorted(until - hours * 3600 * chance.random() ** 1.4 for _ in range(count))
    for number, at in enumerate(moments):
        yield _receipt(chance, number, at)


def _receipt(chance: Random, number: int, at: float) -> Receipt:
    provider, model, price = chance.choices(_MODELS, (4, 6, 3, 2))[0]
    key = chance.choices(("ci", "maria", "night-batch", "support-bot"), (5, 3, 2, 2))[0]
    asked = chance.choices(_LEVELS, (1, 3, 5, 4, 1, 1))[0]
    capped = key == "ci" and _LEVELS.index(asked) > 2
    sent = "medium" if capped else asked
    thinking = int(_DEPTHS[sent] * chance.uniform(0.3, 1.3))
    answer = int(chance.lognormvariate(6.2, 0.7))
    failed = chance.random() < 0.02
    return Receipt(
        id=f"{number:024x}",
        at=at,
        key=key,
        group="research" if key in ("ci", "maria") else None,
        front="anthropic" if key != "support-bot" else "openai_chat",
        said=model,
        provider=provider,
        model=model,
        road="translated",
        asked=asked,
        sent=sent,
        why="cap" if capped else None,
        adjustments=("unsupported_level",) if sent == "off" and chance.random() < 0.5 else (),
        status=529 if failed else 200,
        end="failed" if failed else "done",
        usage=Usage() if failed else Usage(input=4_000, output=answer, thinking=thinking),
        tries=1,
        first=0.4,
        seconds=1.2 + thinking / 900,
        cost=None if failed else Decimal(price) * (thinking + answer) / 1_000_000,
    )

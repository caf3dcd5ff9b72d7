"""The demo: a sweep without a key, over sums that the emulator's error-prone responder answers.

Additions need no thinking, products a little, and some sums are too hard at every level: a low
level is enough, and costs about half. The emulator thinks the same at medium and high.
"""

from collections.abc import Iterator
from random import Random

from ..canon import Json
from .outline import Outline, make_outline

MODEL = "gemini-2.5-flash"
QUESTIONS = 600
MARGIN = 0.05
SEED = 0
PILOT = 30  # as many pairs as it takes to see that two levels think the same
_PRODUCT, _SUM, _HARD = 0.6, -4.0, 7.0  # how difficult they are to the emulator
_EVERY = 10  # one question of so many is hard


def demo_outline(seed: int = SEED) -> Outline:
    """Return the outline of the demo."""
    options = {
        "models": [MODEL],
        "judge": "numeric",
        "margin": MARGIN,
        "offline": True,
        "pilot": PILOT,
        "seed": seed,
    }
    return make_outline(list(_sums(seed)), options)


def _sums(seed: int) -> Iterator[dict[str, Json]]:
    draw = Random(seed)  # noqa: S311 - the same questions every time
    for number in range(1, QUESTIONS + 1):
        a, b, c = draw.randrange(12, 99), draw.randrange(12, 99), draw.randrange(100, 999)
        kind, asked, right, difficulty = (
            ("product", f"{a} * {b}", a * b, _PRODUCT),
            ("sum", f"{c} + {a}", c + a, _SUM),
            ("both", f"{a} * {b} + {c}", a * b + c, _PRODUCT),
        )[number % 3]
        hard = difficulty if draw.randrange(_EVERY) else _HARD
        yield {
            "id": f"{kind}-{number}",
            "input": f"What is {asked}? [emulator: difficulty {hard:g}]",
            "target": str(right),
            "metadata": {"kind": kind},
        }

"""The demo: a sweep without a key, over sums that the emulator's error-prone responder answers.

The emulator thinks the same at medium and high, so one level has no effect.
"""

from collections.abc import Iterator
from random import Random

from ..canon import Json
from .outline import Outline, make_outline

MODEL = "gemini-2.5-flash"
QUESTIONS = 600
MARGIN = 0.02
SEED = 0


def demo_outline(seed: int = SEED) -> Outline:
    """Return the outline of the demo."""
    options = {
        "models": [MODEL],
        "judge": "numeric",
        "margin": MARGIN,
        "offline": True,
        "seed": seed,
    }
    return make_outline(list(_sums(seed)), options)


def _sums(seed: int) -> Iterator[dict[str, Json]]:
    draw = Random(seed)  # noqa: S311 - the same questions every time
    for number in range(1, QUESTIONS + 1):
        a, b, c = draw.randrange(12, 99), draw.randrange(12, 99), draw.randrange(100, 999)
        kind, asked, right = (
            ("product", f"{a} * {b}", a * b),
            ("sum", f"{c} + {a}", c + a),
            ("both", f"{a} * {b} + {c}", a * b + c),
        )[number % 3]
        yield {
            "id": f"{kind}-{number}",
            "input": f"What is {asked}?",
            "target": str(right),
            "metadata": {"kind": kind},
        }

"""Services of known ratio and noise, as numbers: a probe asks them without any wire."""

import math
from collections.abc import Callable, Sequence
from random import Random

from pondero.probe import Probe, ProbeAnswer, ProbeAsk, ProbeResult

Answering = Callable[[ProbeAsk], ProbeAnswer]


def run_probe(
    answer: Answering, levels: Sequence[str] = ("low", "high"), *, questions: int = 24
) -> ProbeResult:
    probe = Probe(levels, questions=questions)
    while (ask := probe.next_ask()) is not None:
        probe.see(ask, answer(ask))
    return probe.result("model", None)


def counts(**tokens: int | None) -> Answering:
    """A service that thinks the same at a level, whatever the question."""
    return lambda ask: ProbeAnswer(1.0, tokens[ask.level], tokens[ask.level])


def noisy(source: Random, ratio: float, size: float) -> Answering:
    """A service with questions of very different difficulty, and noise on the log scale."""
    hard = [math.exp(source.gauss(0, 1)) for _ in range(200)]

    def answer(ask: ProbeAsk) -> ProbeAnswer:
        whole = 600 * hard[ask.question] * (ratio if ask.level == "high" else 1)
        count = round(whole * math.exp(source.gauss(0, size)))
        return ProbeAnswer(1.0, count, count)

    return answer

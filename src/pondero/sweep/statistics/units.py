"""Units: what an e-process bets on, one number in [-1, 1] for each question or cluster."""

import math
from collections.abc import Sequence


def unit(candidate: Sequence[float | None], reference: Sequence[float | None]) -> float:
    """Return one question's unit: the candidate's mean over its repeats less the reference's.

    None is a missing answer (cut off, timed out, failed for good), and counts against the candidate
    in both arms. A refusal is an answer, and wrong.
    """
    low = math.fsum(score or 0.0 for score in candidate)
    high = math.fsum(1.0 if score is None else score for score in reference)
    return low / len(candidate) - high / len(reference)


def cluster_unit(units: Sequence[float]) -> float:
    """Return the unit of a cluster, the mean; every cluster counts once, whatever its size."""
    return math.fsum(units) / len(units)


def corrected_unit(judged: float, labelled: float | None, share: float) -> float:
    """Return a judge's unit corrected by people's labels, and scaled into [-1, 1].

    ``share`` of the questions, drawn before the answers, are labelled. Its mean is that of people's
    differences, whatever the judge's mistakes are; test it at ``corrected_margin``.
    """
    more = 0.0 if labelled is None else (labelled - judged) / share
    return (judged + more) / corrected_scale(share)


def corrected_margin(margin: float, share: float) -> float:
    """Return the margin on the scale of ``corrected_unit``."""
    return margin / corrected_scale(share)


def corrected_scale(share: float) -> float:
    """Return by how much a corrected unit is smaller than a difference of scores."""
    return 1 + 2 / share


def pass_at(k: int, right: int, repeats: int) -> float:
    """Return the chance that at least one of ``k`` answers is right (pass@k)."""
    return 1 - math.comb(repeats - right, k) / math.comb(repeats, k)


def pass_all(k: int, right: int, repeats: int) -> float:
    """Return the chance that all of ``k`` answers are right (pass^k)."""
    return math.comb(right, k) / math.comb(repeats, k)

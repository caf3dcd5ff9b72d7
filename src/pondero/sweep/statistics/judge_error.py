"""Judges that make mistakes: the margin by a judge's grades, from answers that people labelled."""

import math

from msgspec import Struct

SURE = 0.005
"""The error of each of the two bounds; the e-process gets ``alpha`` less both."""

LABELS = 50
"""Labelled answers, right and wrong each, below which a judge may not decide."""

_LEAST = 0.5  # of a true difference that the judge must let through


class JudgeErrors(Struct, frozen=True):
    """Answers that people call right, those of them that a judge calls wrong, and the reverse."""

    right: int
    missed: int
    wrong: int
    accepted: int

    @property
    def is_enough(self) -> bool:
        """Return whether enough answers of either sort are labelled to correct a margin by."""
        return min(self.right, self.wrong) >= LABELS

    def margin(self, margin: float) -> float | None:
        """Return a margin on the judge's scale, or None if it is too unsure to decide by."""
        return judged_margin(margin, (self.right, self.missed), (self.wrong, self.accepted))


def upper_bound(count: int, n: int, sure: float = SURE) -> float:
    """Return Clopper and Pearson's upper bound of a share."""
    if count >= n:
        return 1.0
    low, high = count / n, 1.0
    for _ in range(60):
        share = (low + high) / 2
        below = math.fsum(
            math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(count + 1)
        )
        low, high = (share, high) if below > sure else (low, share)
    return high


def judged_margin(
    margin: float, right: tuple[int, int], wrong: tuple[int, int], *, sure: float = SURE
) -> float | None:
    """Return the margin on the judge's scale, or None if it is too unsure to decide by.

    ``right`` has the answers that people call right, and those of them that the judge calls wrong;
    ``wrong`` the reverse. The judge must err alike in both arms (see ``errors_differ``).
    """
    through = 1 - upper_bound(right[1], right[0], sure) - upper_bound(wrong[1], wrong[0], sure)
    return margin * through if through >= _LEAST else None


def errors_differ(arm: tuple[int, int], rival: tuple[int, int], *, alpha: float = 0.05) -> bool:
    """Return whether a judge's error rates in two arms differ (Fisher's exact test, two-sided).

    Each pair has the labelled answers of an arm, and the judge's mistakes among them.
    """
    (n, wrong), (others, others_wrong) = arm, rival
    every, mistakes = n + others, wrong + others_wrong
    ways = [
        math.comb(n, k) * math.comb(others, mistakes - k) if mistakes - k <= others else 0
        for k in range(min(n, mistakes) + 1)
    ]
    extreme = sum(each for each in ways if each <= ways[wrong])
    return extreme / math.comb(every, mistakes) < alpha

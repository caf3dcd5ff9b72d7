"""What models took: tokens, money and seconds, added up by model and level."""

from decimal import Decimal

from .database import Database
from .kept import Spent
from .rows import money

_SUMS = """
SELECT model, level, count(DISTINCT thread || ' ' || turn), count(*), sum(input), sum(cached),
       sum(thought), sum(output), total_cost(cost), count(cost), sum(seconds), count(seconds)
FROM kept
WHERE role = 'assistant' AND model IS NOT NULL AND NOT copied AND at >= ?
GROUP BY model, level
ORDER BY model, level
"""


_UNPRICED = """
SELECT EXISTS (
    SELECT 1 FROM kept WHERE thread = ? AND input IS NOT NULL AND cost IS NULL AND NOT copied
)
"""


class _Total:
    """Adds up costs, exactly."""

    def __init__(self) -> None:
        self._sum: Decimal | None = None

    def step(self, cost: str | None) -> None:
        if (amount := money(cost)) is not None:
            self._sum = amount + (self._sum or 0)

    def finalize(self) -> str | None:
        return None if self._sum is None else str(self._sum)


def spent(database: Database, *, since: float | None) -> tuple[Spent, ...]:
    """Return what each model took at each level since then, copies of forks left out."""
    database.aggregate("total_cost", _Total)
    return tuple(
        Spent(*row) for row in database.rows(_SUMS, (float("-inf") if since is None else since,))
    )


def priced(database: Database, thread: str) -> bool:
    """Return whether the cost of every counted reply of a thread is known, copies left out."""
    return not database.rows(_UNPRICED, (thread,))[0][0]

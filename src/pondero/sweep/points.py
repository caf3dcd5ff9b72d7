"""Percentage points in words, for margins."""


def describe_points(share: float) -> str:
    """Return a share of the questions in percentage points."""
    points = f"{100 * share:g}"
    return f"{points} point" if points == "1" else f"{points} points"

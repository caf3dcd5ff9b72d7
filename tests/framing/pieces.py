"""Cut bytes into pieces."""

from collections.abc import Iterable
from itertools import pairwise


def splits(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Return the data in pieces that begin at the cuts; empty pieces too, where a cut is double."""
    at = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[begin:end] for begin, end in pairwise(at)]

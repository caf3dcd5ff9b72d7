"""Cassettes for your tests: record real exchanges once, then play them back.

>>> from pondero.vcr import Cassette
>>> transport = Cassette("cassettes/sums.jsonl")  # VCR_RECORD=1 records it
"""

from .cassettes import AsyncCassette, Cassette, Leak, find_leaks
from .errors import CassetteError

__all__ = ["AsyncCassette", "Cassette", "CassetteError", "Leak", "find_leaks"]

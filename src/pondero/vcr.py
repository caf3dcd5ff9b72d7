"""Cassettes for your own tests: real exchanges recorded once, played ever after.

>>> from pondero.vcr import Cassette
>>> transport = Cassette("cassettes/sums.jsonl")  # VCR_RECORD=1 records it
"""

from .errors import CassetteError
from .transport import AsyncCassette, Cassette, Leak, leaks

__all__ = ["AsyncCassette", "Cassette", "CassetteError", "Leak", "leaks"]

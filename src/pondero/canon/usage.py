"""Tokens in disjoint buckets: unknown is None, never 0."""

from msgspec import Struct


class Usage(Struct, frozen=True):
    """``input + cache_read + cache_write + output + thinking = total`` as far as each is known.

    ``output`` is the visible answer. Where a service does not split thinking off, ``thinking``
    is None and ``output`` holds both.
    """

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    thinking: int | None = None
    total: int | None = None

    @property
    def counted(self) -> int:
        """Return the sum of the known buckets."""
        buckets = (self.input, self.cache_read, self.cache_write, self.output, self.thinking)
        return sum(bucket for bucket in buckets if bucket is not None)

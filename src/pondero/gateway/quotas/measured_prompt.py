"""The prompt of a request as it was measured when it was admitted."""

from collections.abc import Sequence

from msgspec import Struct

from ...canon import MediaKind
from ...catalog import ModelEntry
from .hosted_tools import AddedTokens


class MeasuredPrompt(Struct, frozen=True):
    """The most tokens of a prompt, and the most that the service's own tools add to it."""

    tokens: int
    added: Sequence[AddedTokens]


class MeasuredPrompts(Struct, frozen=True):
    """The prompt of a request as it was measured for each of its models.

    ``media``: what it may have besides text, for models whose price depends on that.
    """

    entries: tuple[ModelEntry, ...] = ()
    tokens: tuple[int, ...] = ()
    added: tuple[Sequence[AddedTokens], ...] = ()
    media: tuple[frozenset[MediaKind], ...] = ()

    def get(self, entry: ModelEntry) -> MeasuredPrompt | None:
        """Return the prompt for a model; None if it was not measured."""
        if entry not in self.entries:
            return None
        at = self.entries.index(entry)
        return MeasuredPrompt(self.tokens[at], self.added[at])

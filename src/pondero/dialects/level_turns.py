"""How an API sets a level inside a conversation, so that the prompt before it stays cached."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from ..canon import Json


class LevelTurns(Struct, frozen=True, kw_only=True):
    """The turn that sets a level from its place on.

    ``write`` returns it for one of the API's own words, ``at`` is the path of the level that the
    request as a whole states, and ``headers`` must come with such a turn. ``needs``: paths that
    must have one of these values (None: be missing), or the service takes no such turn.
    ``waits_after``: whether the level waits for the user's next input after a turn, such as one of
    tool results. ``drop_thinking`` returns an answer without its thinking, whose signature covers
    the turns before it.
    """

    at: tuple[str, ...]
    write: Callable[[str], Json]
    headers: Mapping[str, str] = {}
    needs: tuple[tuple[tuple[str, ...], tuple[str | None, ...]], ...] = ()
    waits_after: Callable[[Mapping[str, Json]], bool] | None = None
    drop_thinking: Callable[[Mapping[str, Json]], Mapping[str, Json]] | None = None

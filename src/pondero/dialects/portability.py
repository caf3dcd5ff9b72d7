"""What an API has and others may lack: the gateway rejects, carries or notes it, never loses it."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from ..canon import Json, Request


class NeededField(Struct, frozen=True, kw_only=True):
    """A field that changes the answer or protects the client: honoured, or the request is rejected.

    It asks for nothing if its value is null or in ``idle``; if ``asks`` has values, only with one
    of them. ``in_answer``: the answer has a part of its own for it.
    """

    path: tuple[str, ...]
    why: str
    idle: tuple[Json, ...] = ()
    asks: tuple[Json, ...] = ()
    in_answer: bool = False

    def is_asked(self, value: Json) -> bool:
        """Return whether this value asks for something."""
        if value is None or value in ([], {}, ""):
            return False
        return value in self.asks if self.asks else value not in self.idle


class Portability(Struct, frozen=True, kw_only=True):
    """What a client may ask of its own API, and how other APIs are told.

    ``needed``: fields that another service must honour. ``common``: paths of parameters that other
    APIs have under paths of their own (``Provider.parameters``), by our names. ``groups``: fields
    that only hold settings, each of which is one. ``file_keys``:
    fields of a part that name a file at the service; ``own_addresses``: beginnings of addresses
    that only this service can read. ``maker`` is who has such files.

    ``answers_silence``: the API answers a system prompt alone, and an empty message.

    ``hosted``: beginnings of the types of tools that the service runs itself; another type of tool
    is the client's to run, and is not left out (none: the API has no other types).
    ``as_functions`` writes calls and outputs of the vendor's own tools as those of functions.
    """

    maker: str = "the service"
    answers_silence: bool = False
    hosted: tuple[str, ...] = ()
    as_functions: Callable[[Request], Request] | None = None
    needed: tuple[NeededField, ...] = ()
    common: Mapping[str, tuple[tuple[str, ...], ...]] = {}
    groups: tuple[str, ...] = ()
    file_keys: tuple[str, ...] = ()
    own_addresses: tuple[str, ...] = ()

"""What an API has and others may lack: the gateway rejects, carries or notes it, never loses it."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from ..canon import Json, Message, Request
from .answer_fields import AnswerFields, AnswerOption


class NeededField(Struct, frozen=True, kw_only=True):
    """A field that changes the answer or protects the client: honoured, or the request is rejected.

    It asks for nothing if its value is null or in ``idle``; if ``asks`` has values, only with one
    of them, alone or in a list; if it has ``types``, only with an object of one of these types,
    alone or in a list. ``in_answer``: the answer has a part of its own for it. ``like``:
    the path of another field for the same; models that reject that one reject this. ``option``:
    what it asks of the answers, where other APIs may have a field for the same.
    """

    path: tuple[str, ...]
    why: str
    idle: tuple[Json, ...] = ()
    asks: tuple[Json, ...] = ()
    types: frozenset[str] = frozenset()
    in_answer: bool = False
    like: tuple[str, ...] = ()
    option: AnswerOption | None = None

    def is_asked(self, value: Json) -> bool:
        """Return whether this value asks for something."""
        if value is None or value in ([], {}, ""):
            return False
        members = value if isinstance(value, list) else [value]
        if self.types:
            return any(isinstance(each, dict) and _get_type(each) in self.types for each in members)
        if not self.asks:
            return value not in self.idle
        return any(each in self.asks for each in members)


def _get_type(given: Mapping[str, Json]) -> str | None:
    kind = given.get("type")
    return kind if isinstance(kind, str) else None


def list_answer_fields(fields: AnswerFields) -> tuple[NeededField, ...]:
    """Return the fields that ask for several answers or log probabilities, as needed ones."""
    asks = (fields.asks,) if isinstance(fields.asks, str) else ()
    tops = fields.places.get("top", ())
    rows: tuple[tuple[AnswerOption, tuple[Json, ...], tuple[Json, ...]], ...] = (
        ("count", (0, 1), ()),
        ("logprobs", (False, 0), asks),
        ("top", (0,), ()),
    )
    return tuple(
        NeededField(
            path=path,
            why=_WHY[option],
            idle=idle,
            asks=wanted,
            in_answer=True,
            like=tops[0] if wanted and tops else (),
            option=option,
        )
        for option, idle, wanted in rows
        for path in fields.places.get(option, ())
    )


_WHY: Mapping[AnswerOption, str] = {
    "count": "it asks for several answers",
    "logprobs": "it asks for log probabilities",
    "top": "it asks for log probabilities",
}


class Portability(Struct, frozen=True, kw_only=True):
    """What a client may ask of its own API, and how other APIs are told.

    ``needed``: fields that another service must honour. ``common``: paths of parameters that other
    APIs have under paths of their own (``Provider.parameters``), by our names. ``groups``: fields
    that only hold settings, each of which is one. ``file_keys``:
    fields of a part that name a file at the service; ``own_addresses``: beginnings of addresses
    that only this service can read. ``maker`` is who has such files.

    ``answers``: where a request asks for several answers and for log probabilities.

    ``answers_silence``: the API answers a system prompt alone, and an empty message.

    ``hosted``: beginnings of the types of tools that the service runs itself; another type of tool
    is the client's to run, and is not left out (none: the API has no other types).
    ``as_functions`` writes calls and outputs of the vendor's own tools as those of functions: those
    in answers for which its second argument is true, and those that this service's side wrote.
    """

    maker: str = "the service"
    answers_silence: bool = False
    hosted: tuple[str, ...] = ()
    as_functions: Callable[[Request, Callable[[Message], bool]], Request] | None = None
    needed: tuple[NeededField, ...] = ()
    answers: AnswerFields = AnswerFields()
    common: Mapping[str, tuple[tuple[str, ...], ...]] = {}
    groups: tuple[str, ...] = ()
    file_keys: tuple[str, ...] = ()
    own_addresses: tuple[str, ...] = ()

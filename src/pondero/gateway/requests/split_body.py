"""A client's body in its fields and turns; what earlier requests had too is not searched again.

The beginning of a conversation is known if all its bytes are the same, and everything else that
reading it depended on. Rules look for many marks in a body: in a long conversation that would take
longer than all else, so the answers for its known turns and long fields are remembered.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from msgspec import DecodeError, Raw, Struct
from msgspec.structs import replace

from ...canon import HttpRequest, get_decoder
from ...dialects import TurnForm
from ...exchange import encode_name, write_fields
from ..state.conversation_memo import ConversationMemo, KnownConversation
from ..state.searched_text import Mark, SearchedText

_FIELDS = get_decoder(dict[str, Raw])
_TURNS = get_decoder(list[Raw])
_SHORT = 16  # bytes of a field that may be null or empty, on which other fields depend
_LEAST = 4  # turns that are worth the while
_LONG = 1_024  # bytes of a field that is remembered
_BEGINS = 32  # bytes by which a field is found in its body
# A mark without punctuation is never partly in one value of JSON and partly in another.
_MARK = re.compile(rb'[\w"\\-]+')
_MARK_BYTES = frozenset(byte for byte in range(256) if _MARK.match(bytes([byte])))
SHORT_BODY = 4_096
"""Bytes of a request that is read sooner than looked up."""


class KnownBeginning(Struct, frozen=True):
    """The known beginning of a conversation, and its number of turns."""

    count: int = 0
    read: KnownConversation = KnownConversation()


class SplitBody(bytes):
    """A body, its ``fields`` and the ``turns`` of its conversation; ``begun`` is known of them.

    ``name`` is that of the field with the turns. ``about``: what reading them depends on besides.
    ``remembered``: the beginnings that the next request may continue, the shortest first.
    """

    fields: Mapping[str, Raw]
    name: str
    turns: list[bytes]
    begun: KnownBeginning
    about: bytes
    remembered: tuple[KnownConversation, ...] = ()
    known: Mapping[str, SearchedText]
    new_turns: SearchedText
    rest: SearchedText

    def __contains__(self, mark: object) -> bool:
        """Return whether a mark is in the body."""
        if not isinstance(mark, bytes) or not _is_mark(mark):
            return super().__contains__(mark)  # type: ignore[operator]
        return self.has(mark)

    def has(self, mark: Mark) -> bool:
        """Return whether a mark is in the body; one without punctuation, as is what is found."""
        if self.rest.contains(mark):
            return True
        for text in self.known.values():  # noqa: SIM110 - it is asked dozens of times a request
            if text.contains(mark):
                return True
        return False

    def has_in_turns(self, mark: Mark) -> bool:
        """Return whether a mark is in a turn of the conversation."""
        return self.begun.read.turns.contains(mark) or self.new_turns.contains(mark)


@lru_cache(maxsize=1_024)
def _is_mark(mark: bytes) -> bool:
    return _MARK.fullmatch(mark) is not None


def read_fields(body: bytes) -> Mapping[str, Raw]:
    """Return the fields of a body, each as its bytes; raises DecodeError."""
    return body.fields if isinstance(body, SplitBody) else _FIELDS.decode(body)


def is_remembered(http: HttpRequest) -> bool:
    """Return whether the turns of a request may be known: a short one is read sooner."""
    return len(http.body) >= SHORT_BODY


def split_body(
    memo: ConversationMemo, http: HttpRequest, form: TurnForm | None, *, client: str
) -> HttpRequest:
    """Return a request with its body split; the same if that is short, or of another form."""
    if form is None or not is_remembered(http) or isinstance(http.body, SplitBody):
        return http
    try:
        fields = _FIELDS.decode(http.body)
        turns = list(map(bytes, _TURNS.decode(fields[form.field])))
    except (DecodeError, KeyError, UnicodeDecodeError, RecursionError):
        return http
    if len(turns) < _LEAST:
        return http
    body = SplitBody(http.body)
    body.fields, body.name, body.turns = fields, form.field, turns
    body.about = _describe(http, fields, form, client)
    body.begun = _find_beginning(memo, body, form)
    body.new_turns = SearchedText(tuple(turns[body.begun.count :]))
    _find_known_texts(body, memo.search)
    return replace(http, body=body)


def renew_body(old: bytes, fields: Mapping[str, Raw]) -> bytes:
    """Return a body with other fields than a client's: split too, if its turns are the same."""
    body = write_fields(fields)
    if not isinstance(old, SplitBody) or fields.get(old.name) is not old.fields[old.name]:
        return body
    new = SplitBody(body)
    new.fields, new.name, new.turns, new.about = fields, old.name, old.turns, old.about
    new.begun, new.remembered, new.new_turns = old.begun, old.remembered, old.new_turns
    new.known = {name: text for name, text in old.known.items() if _is_same(name, fields, old)}
    others = [bytes(raw) for name, raw in fields.items() if name not in new.known]
    names = map(encode_name, fields)
    new.rest = SearchedText((b"\n".join((*names, *others, *old.new_turns.texts)),))
    return new


def leave_out_turns(http: HttpRequest) -> HttpRequest:
    """Return a request of which the body is split, without the turns of its conversation."""
    body = http.body
    if not isinstance(body, SplitBody):
        return http
    rest = {name: raw for name, raw in body.fields.items() if name != body.name}
    return replace(http, body=write_fields(rest))


def _is_same(name: str, fields: Mapping[str, Raw], old: SplitBody) -> bool:
    return fields.get(name) is old.fields[name]


def _describe(http: HttpRequest, fields: Mapping[str, Raw], form: TurnForm, client: str) -> bytes:
    """Return everything besides its turns that reading a conversation depends on."""
    said = [client.encode("utf-8", "surrogatepass"), form.field.encode(), http.url.encode()]
    for name, raw in fields.items():
        if name != form.field:
            value = bytes(raw)
            is_whole = len(value) <= _SHORT or name == "model"
            said += (name.encode("utf-8", "surrogatepass"), value if is_whole else b"...")
    return b"\0".join([b"%d:%b" % (len(each), each) for each in said])


def _find_beginning(memo: ConversationMemo, body: SplitBody, form: TurnForm) -> KnownBeginning:
    """Return the longest beginning that is known and that an answer follows."""
    turns = body.turns
    for count in range(len(turns) - 1, 0, -1):
        read = memo.find(body.about, turns, count)
        if read is not None and form.is_answer(turns[count]):
            return KnownBeginning(count, read)
    return KnownBeginning()


def _find_known_texts(body: SplitBody, search: Callable[[bytes], SearchedText]) -> None:
    """Set which parts of a body were searched before; names and short values never were."""
    known, rest, at = dict[str, SearchedText](), list[bytes](), 0
    for name, raw in body.fields.items():
        value = bytes(raw)
        if name == body.name:
            known[name] = body.begun.read.turns
            rest += body.new_turns.texts
        elif len(value) >= _LONG:
            known[name] = search(value)
        else:
            continue
        place = body.find(value[:_BEGINS], at)
        if place < 0 or not _is_apart(body, value, place):  # some other text begins like it
            known, rest, at = {}, [], 0
            break
        rest.append(body[at:place])
        at = place + len(value)
    rest.append(body[at:])
    # Between the pieces is what no mark contains.
    body.known, body.rest = known, SearchedText((b"\n".join(rest),))


def _is_apart(body: bytes, value: bytes, place: int) -> bool:
    """Return whether a value is at this place, and no mark is partly in it and partly outside."""
    end = place + len(value)
    if not body.startswith(value, place) or not 0 < place < end < len(body):
        return False
    return body[place - 1] not in _MARK_BYTES and body[end] not in _MARK_BYTES

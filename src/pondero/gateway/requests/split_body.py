"""A client's body in its fields and turns; what earlier requests had too is not searched again.

The beginning of a conversation is known if all its bytes are the same, and everything else that
reading it depended on. Rules look for many marks in a body: in a long conversation that would take
longer than all else, so the answers for its known turns and long fields are remembered.
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from secrets import token_hex
from typing import cast

from msgspec import DecodeError, Raw, Struct
from msgspec.structs import replace

from ...canon import HttpRequest, get_decoder
from ...dialects import TurnForm
from ...exchange import encode_name, write_fields
from ..state.conversation_memo import ConversationMemo, KnownConversation
from ..state.long_text import LongText
from ..state.searched_text import Mark, SearchedText

_FIELDS = get_decoder(dict[str, Raw])
_TURNS = get_decoder(list[Raw])
_SHORT = 16  # bytes of a field that is compared as a whole
_OUTLINE = 64  # bytes of a field in which it is plain that it is not empty
_BLANKS = re.compile(rb'["\[{](?:\s|\\[nrtbf]|\\u00[01][0-9a-fA-F]|\\u0020)*')
_LEAST = 4  # turns that are worth the while
_LONG = 1_024  # bytes of a field that is remembered
_BEGINS = 32  # bytes by which a field is found in its body
_ENDS = 256  # bytes by which the known turns of a body are found
_TRIES = 32  # places where they may end
_MANY = 8  # new turns that are searched as one text
_GAPS = (b",", b", ")  # between turns, as JSON is usually written
_STAND_IN = b'"%b"' % token_hex(16).encode()  # for known turns: no client knows it
# A mark without punctuation is never partly in one value of JSON and partly in another.
_MARK = re.compile(rb'[\w"\\-]+')
_MARK_BYTES = frozenset(byte for byte in range(256) if _MARK.match(bytes([byte])))
SHORT_BODY = 4_096
"""Bytes of a request that is read sooner than looked up."""


class KnownBeginning(Struct, frozen=True):
    """The known beginning of a conversation, and its number of turns."""

    count: int = 0
    read: KnownConversation = KnownConversation()


class TurnPlaces(Struct, frozen=True):
    """Where the turns are in a body: the place of their list, and what is between two of them."""

    start: int
    gap: bytes
    client: Hashable


class SplitBody(bytes):
    """A body, its ``fields`` and the ``turns`` of its conversation; ``begun`` is known of them.

    ``name`` is that of the field with the turns. ``about``: what reading them depends on besides.
    ``remembered``: the beginnings that the next request may continue, the shortest first.
    ``places``: where the turns are, if that is known.
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
    places: TurnPlaces | None = None

    def __contains__(self, mark: object) -> bool:
        """Return whether a mark is in the body."""
        if not isinstance(mark, bytes) or not _is_mark(mark):
            return super().__contains__(mark)  # type: ignore[operator]
        return self.has(mark)

    def has(self, mark: Mark) -> bool:
        """Return whether a mark is in the body; one without punctuation, as is what is found."""
        if self.rest.contains(mark) or self.new_turns.contains(mark):
            return True
        for text in self.known.values():  # noqa: SIM110 - it is asked dozens of times a request
            if text.contains(mark):
                return True
        return False

    def has_in_turns(self, mark: Mark) -> bool:
        """Return whether a mark is in a turn of the conversation."""
        return self.begun.read.turns.contains(mark) or self.new_turns.contains(mark)


def make_search(body: bytes) -> Callable[[bytes], object]:
    """Return what says whether a mark is in a body.

    For plain bytes, ``in`` would make and drop an exception each time: a mark could be a number.
    """
    return body.__contains__ if isinstance(body, SplitBody | LongText) else body.count


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
    """Return a request with its body split; the same if that is short, or of another form.

    One with a turn or two is not split: whatever is looked for in it is remembered for the request.
    """
    if form is None or not is_remembered(http) or isinstance(http.body, SplitBody | LongText):
        return http
    place = (client, http.url, form.field)
    try:
        fields, turns, places = _continue_turns(memo, http.body, form.field, place) or _read_turns(
            http.body, form.field
        )
    except (DecodeError, KeyError, UnicodeDecodeError, RecursionError):
        return http
    if len(turns) < _LEAST:
        return replace(http, body=LongText(http.body))
    body = SplitBody(http.body)
    body.fields, body.name, body.turns, body.places = fields, form.field, turns, places
    body.about = _describe(http, fields, form, client)
    body.begun = _find_beginning(memo, body, form)
    new = tuple(turns[body.begun.count :])
    # Many short searches take longer than a long one. Between turns is what no mark contains.
    joined = b"\n".join(new) if len(new) >= _MANY else None
    body.new_turns = SearchedText(new, joined=joined)
    start = _find_known_texts(body, memo.search)
    if places is None and start is not None:
        body.places = _find_places(body, start, place)
    return replace(http, body=body)


_Split = tuple[Mapping[str, Raw], list[bytes], TurnPlaces | None]


def _read_turns(body: bytes, name: str) -> _Split:
    fields = _FIELDS.decode(body)
    return fields, list(map(bytes, _TURNS.decode(fields[name]))), None


def _continue_turns(
    memo: ConversationMemo, body: bytes, name: str, client: Hashable
) -> _Split | None:
    """Return fields and turns of a body that begins with known turns; only the rest is read.

    Raises DecodeError if the rest is no JSON.
    """
    opening = memo.find_opening(client)
    end = len(body) if opening else -1
    for _ in range(_TRIES):
        end = body.rfind(opening, 0, max(0, end)) if end > 0 else -1
        if end < 0:
            return None
        found = memo.find_end((client, end, body[max(0, end - _ENDS) : end]))
        if found is not None:
            known, places = found
            split = _read_rest(body, name, end, known.turns.texts, cast("TurnPlaces", places))
            if split is not None:
                return split
    return None


def _read_rest(
    body: bytes, name: str, end: int, texts: Sequence[bytes], places: TurnPlaces
) -> _Split | None:
    """Return fields and turns of a body with these turns up to ``end``; None if it has others.

    Instead of the turns, a stand-in is read: if it is the first element of the list, so are they.
    """
    start, gap = places.start, places.gap
    known = gap.join(texts)
    if body[start : start + 1] != b"[" or end != start + 1 + len(known):
        return None
    if not body.startswith(known, start + 1):
        return None
    fields = _FIELDS.decode(b"%b[%b%b" % (body[:start], _STAND_IN, body[end:]))
    raw = fields[name]
    first, rest = (found := list(map(bytes, _TURNS.decode(raw))))[:1], found[1:]
    if first != [_STAND_IN] or not body.startswith(gap + gap.join(rest), end):
        return None
    whole = memoryview(body)[start : end + len(raw) - 1 - len(_STAND_IN)]
    return {**fields, name: Raw(whole)}, [*texts, *rest], places


def _find_places(body: SplitBody, start: int, client: Hashable) -> TurnPlaces | None:
    """Return where the turns are; None if they are written in an unusual way."""
    for gap in _GAPS:
        if body.startswith(gap.join(body.turns), start + 1):
            return TurnPlaces(start, gap, client)
    return None


def _find_opening(turns: Sequence[bytes]) -> bytes:
    """Return with which bytes all these turns begin."""
    first, last = min(turns)[:_BEGINS], max(turns)[:_BEGINS]
    same = (at for at in range(len(first)) if first[: at + 1] != last[: at + 1])
    return first[: next(same, len(first))]


def remember_places(memo: ConversationMemo, body: SplitBody) -> None:
    """Let the beginnings of a body be found by their places in the next one."""
    places = body.places
    if places is None:
        return
    memo.note_opening(places.client, places.gap + _find_opening(body.turns[-_LEAST:]))
    for known in body.remembered:
        texts = known.turns.texts
        end = places.start + 1 + sum(map(len, texts)) + len(places.gap) * (len(texts) - 1)
        memo.note_end(known, (places.client, end, body[max(0, end - _ENDS) : end]), places)


def renew_body(old: bytes, fields: Mapping[str, Raw]) -> bytes:
    """Return a body with other fields than a client's: split too, if its turns are the same."""
    body = write_fields(fields)
    if isinstance(old, LongText):
        return LongText(body)
    if not isinstance(old, SplitBody) or fields.get(old.name) is not old.fields[old.name]:
        return body
    new = SplitBody(body)
    new.fields, new.name, new.turns, new.about = fields, old.name, old.turns, old.about
    new.begun, new.remembered, new.new_turns = old.begun, old.remembered, old.new_turns
    new.known = {name: text for name, text in old.known.items() if _is_same(name, fields, old)}
    others = [bytes(raw) for name, raw in fields.items() if name not in new.known]
    names = map(encode_name, fields)
    new.rest = SearchedText((b"\n".join((*names, *others)),))
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
            outline = value if name == "model" else _outline(value)
            said += (name.encode("utf-8", "surrogatepass"), outline)
    return b"\0".join([b"%d:%b" % (len(each), each) for each in said])


def _outline(value: bytes) -> bytes:
    """Return of a field what turns may be read by: its kind, and all of one that may be empty."""
    if len(value) <= _SHORT:
        return value
    blanks = _BLANKS.match(value, 0, _OUTLINE)
    if blanks is None:
        return b"number"
    end = blanks.end()
    return value if end == _OUTLINE or value[end : end + 1] in b'"]}' else value[:1] + b"..."


def _find_beginning(memo: ConversationMemo, body: SplitBody, form: TurnForm) -> KnownBeginning:
    """Return the longest beginning that is known and that an answer follows."""
    turns = body.turns
    for count in range(len(turns) - 1, 0, -1):
        read = memo.find(body.about, turns, count)
        if read is not None and form.is_answer(turns[count]):
            return KnownBeginning(count, read)
    return KnownBeginning()


def _find_known_texts(body: SplitBody, search: Callable[[bytes], SearchedText]) -> int | None:
    """Set which parts of a body were searched before; names and short values never were.

    Return the place of the turns, if it was found.
    """
    known: dict[str, SearchedText] = {}
    rest: list[bytes] = []
    at = 0
    start: int | None = None
    for name, raw in body.fields.items():
        places = body.places if name == body.name else None
        value = b"" if places is not None else bytes(raw)
        if name == body.name:
            known[name] = body.begun.read.turns
        elif len(value) >= _LONG:
            known[name] = search(value)
        else:
            continue
        place = places.start if places is not None else body.find(value[:_BEGINS], at)
        # Some other text may begin like it.
        if place < at or not _is_apart(body, value, place, place + len(raw)):
            known, rest, at, start = {}, [], 0, None
            break
        start = place if name == body.name else start
        rest.append(body[at:place])
        at = place + len(raw)
    rest.append(body[at:])
    # Between the pieces is what no mark contains.
    body.known, body.rest = known, SearchedText((b"\n".join(rest),))
    return start


def _is_apart(body: bytes, value: bytes, place: int, end: int) -> bool:
    """Return whether a value is at this place, and no mark is partly in it and partly outside."""
    if not body.startswith(value, place) or not 0 < place < end < len(body):
        return False
    return body[place - 1] not in _MARK_BYTES and body[end] not in _MARK_BYTES

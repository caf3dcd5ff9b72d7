"""Reads a request of which the gateway has read the beginning before: only its new turns are read.

The beginning is known if all its bytes are the same, and everything else that reading it depended
on. The request is then read without the known turns, or with short ones in their places if other
turns have to keep their numbers. If that is not plainly possible, the whole request is read as
ever.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from msgspec import DecodeError, Raw, Struct, json
from msgspec.structs import replace

from ...canon import HttpRequest, Json, Message, ToolCall, ToolResult, get_decoder
from ...dialects import ParsedRequest, Rejected, Service, TurnForm
from ...exchange import WorkSteps, finish_steps
from ..state.conversation_memo import ConversationMemo, KnownConversation

_FIELDS = get_decoder(dict[str, Raw])
_TURNS = get_decoder(list[Raw])
_SHORT = 16  # bytes of a field that may be null or empty, on which other fields depend
_KEPT = 3  # ends of one request: clients move a mark over their last turns
_LEAST = 4  # turns that are worth the while
SHORT_BODY = 4_096
"""Bytes of a request that is read sooner than looked up."""


class _SentTurns(Struct, frozen=True):
    """The turns of a request; ``keys`` are those of the conversation before each, and of all."""

    fields: dict[str, Raw]
    turns: list[bytes]
    keys: list[bytes]


class _Beginning(Struct, frozen=True):
    """The known beginning of a conversation, and its number of turns."""

    count: int = 0
    read: KnownConversation = KnownConversation()


def is_remembered(http: HttpRequest) -> bool:
    """Return whether the turns of a request may be known: a short one is read sooner."""
    return len(http.body) >= SHORT_BODY


def parse_known(
    memo: ConversationMemo, service: Service[Json], http: HttpRequest, *, client: str
) -> ParsedRequest[Json]:
    """Return what ``service.parse`` returns; raises what it raises."""
    return finish_steps(parse_known_in_steps(memo, service, http, client=client))


def parse_known_in_steps(
    memo: ConversationMemo, service: Service[Json], http: HttpRequest, *, client: str
) -> WorkSteps[ParsedRequest[Json]]:
    """Do what ``service.parse`` does; a long request gives way between the steps."""
    form = service.turn_form if is_remembered(http) else None
    sent = None if form is None else _split(http, form, client)
    if form is None or sent is None:
        return service.parse(http)
    known = _find_beginning(memo, sent, form)
    parsed = None
    yield
    if known.count:
        parsed = _parse_rest(service, http, form=form, sent=sent, known=known)
    if parsed is None:
        known, parsed = _Beginning(), service.parse(http)
    if not _is_odd(parsed, form):
        _remember(memo, sent, form, known, parsed.request.messages)
    return parsed


def _split(http: HttpRequest, form: TurnForm, client: str) -> _SentTurns | None:
    """Return the turns of a request; None if it is short, or has none in the usual place."""
    try:
        fields = _FIELDS.decode(http.body)
        turns = _TURNS.decode(fields[form.field])
    except (DecodeError, KeyError, UnicodeDecodeError, RecursionError):
        return None
    if len(turns) < _LEAST:
        return None
    sent = list(map(bytes, turns))
    return _SentTurns(fields, sent, list(_iter_keys(sent, _describe(http, fields, form, client))))


def _describe(http: HttpRequest, fields: dict[str, Raw], form: TurnForm, client: str) -> bytes:
    """Return everything besides its turns that reading a conversation depends on."""
    said = [client.encode("utf-8", "surrogatepass"), form.field.encode(), http.url.encode()]
    for name, raw in fields.items():
        if name != form.field:
            value = bytes(raw)
            is_whole = len(value) <= _SHORT or name == "model"
            said += (name.encode("utf-8", "surrogatepass"), value if is_whole else b"...")
    return b"\0".join(b"%d:%b" % (len(each), each) for each in said)


def _iter_keys(turns: Sequence[bytes], begin: bytes) -> Iterator[bytes]:
    digest = blake2b(begin, digest_size=24)
    yield digest.digest()
    for turn in turns:
        digest.update(b"%d:" % len(turn))
        digest.update(turn)
        yield digest.digest()


def _find_beginning(memo: ConversationMemo, sent: _SentTurns, form: TurnForm) -> _Beginning:
    """Return the longest beginning that is known and that an answer follows."""
    for count in range(len(sent.turns) - 1, 0, -1):
        read = memo.find(sent.keys[count])
        if read is not None and form.is_answer(sent.turns[count]):
            return _Beginning(count, read)
    return _Beginning()


def _parse_rest(
    service: Service[Json],
    http: HttpRequest,
    *,
    form: TurnForm,
    sent: _SentTurns,
    known: _Beginning,
) -> ParsedRequest[Json] | None:
    """Return the request, of which only new turns are read; None if that says too little.

    The turns before the first answer are read too: they may hold the system prompt.
    """
    new = sent.turns[known.count :]
    if any(form.is_answer(turn) is None for turn in new):
        return None
    first = next(at for at in range(known.count + 1) if form.is_answer(sent.turns[at]))
    hidden = [] if form.stand_in is None else [form.stand_in] * (known.count - first)
    turns = (*sent.turns[:first], *hidden, *new)
    fields = {**sent.fields, form.field: Raw(b"[%b]" % b",".join(turns))}
    try:
        parsed = service.parse(replace(http, body=json.encode(fields)))
    except (Rejected, RecursionError):
        return None  # its words are those for the whole request
    if _is_odd(parsed, form):
        return None
    read = parsed.request.messages
    start = next((at for at, each in enumerate(read) if each.role == "assistant"), None)
    if start is None:
        return None
    messages = (*known.read.messages, *read[start:])
    return replace(parsed, request=replace(parsed.request, messages=messages))


def _is_odd(parsed: ParsedRequest[Json], form: TurnForm) -> bool:
    """Return whether something in the conversation is not read, and told by the place of it."""
    return any(path.startswith(form.field) for path in parsed.unknown)


def _remember(
    memo: ConversationMemo,
    sent: _SentTurns,
    form: TurnForm,
    known: _Beginning,
    messages: tuple[Message, ...],
) -> None:
    """Remember the conversation up to its last answers, and to its end."""
    before = len(known.read.messages)
    ends = _find_ends(sent.turns[known.count :], messages[before:], form)
    for turns, count in ends[-_KEPT:]:
        size = sum(map(len, sent.turns[known.count : known.count + turns])) // max(1, count)
        read = KnownConversation(messages[: before + count], (*known.read.sizes, *[size] * count))
        memo.keep(sent.keys[known.count + turns], read)


def _find_ends(
    turns: Sequence[bytes], messages: Sequence[Message], form: TurnForm
) -> list[tuple[int, int]]:
    """Return the numbers of turns and of messages before each answer and before what may follow.

    Only where no call waits for its result: a result may be matched by the name of its call.
    """
    answers = [form.is_answer(turn) for turn in turns]
    if not turns or None in answers:
        return []
    places = [at for at, each in enumerate(answers) if each and (not at or not answers[at - 1])]
    starts = [
        at
        for at, each in enumerate(messages)
        if each.role == "assistant" and (not at or messages[at - 1].role != "assistant")
    ]
    if len(places) != len(starts):
        return []
    if not answers[-1]:
        places, starts = [*places, len(turns)], [*starts, len(messages)]
    open_calls: Counter[str] = Counter()
    ends: list[tuple[int, int]] = []
    read = 0
    for place, start in zip(places, starts, strict=True):
        for message in messages[read:start]:
            _count_open(message, open_calls)
        read = start
        if place and not open_calls:
            ends.append((place, start))
    return ends


def _count_open(message: Message, open_calls: Counter[str]) -> None:
    for part in message.parts:
        if isinstance(part, ToolCall):
            open_calls[part.id] += 1
        elif isinstance(part, ToolResult) and part.call_id in open_calls:
            open_calls[part.call_id] -= 1
            if not open_calls[part.call_id]:
                del open_calls[part.call_id]

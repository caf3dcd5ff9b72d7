"""Reads a request of which the gateway has read the beginning before: only its new turns are read.

The request is read without the known turns, or with short ones in their places if other turns have
to keep their numbers. If that is not plainly possible, the whole request is read as ever.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from ...canon import HttpRequest, Json, Message, ToolCall, ToolResult
from ...dialects import ParsedRequest, Rejected, Service, TurnForm
from ...exchange import WorkSteps, finish_steps
from ..state.conversation_memo import ConversationMemo, KnownConversation
from .split_body import KnownBeginning, SplitBody, remember_places, split_body

_FRAME = 4  # times its bytes: what the other fields take
_KEPT = 3  # ends of one request: clients move a mark over their last turns


def parse_known(
    memo: ConversationMemo, service: Service[Json], http: HttpRequest, *, client: str
) -> ParsedRequest[Json]:
    """Return what ``service.parse`` returns; raises what it raises."""
    split = split_body(memo, http, service.turn_form, client=client)
    return finish_steps(parse_known_in_steps(memo, service, split))


def parse_known_in_steps(
    memo: ConversationMemo, service: Service[Json], http: HttpRequest
) -> WorkSteps[ParsedRequest[Json]]:
    """Do what ``service.parse`` does; a long request gives way between the steps."""
    form, body = service.turn_form, http.body
    if form is None or not isinstance(body, SplitBody):
        return service.parse(http)
    known, parsed = body.begun, None
    frame = _find_frame(body)
    yield
    if known.count:
        parsed = _parse_rest(service, http, form=form, sent=body, frame=frame)
    if parsed is None:
        known, parsed = KnownBeginning(), service.parse(http)
        yield
    if not _is_odd(parsed, form):
        body.remembered = _remember(memo, body, form, known, parsed.request.messages)
        remember_places(memo, body)
        _remember_frame(memo, body, frame, parsed)
    return parsed


class _Frame(Struct, frozen=True):
    """All of a request but its conversation: the bytes of its fields, and how they were read."""

    fields: dict[str, bytes]
    parsed: ParsedRequest[Json]


def _find_frame(sent: SplitBody) -> _Frame | None:
    """Return the fields of the last request of a conversation, if those of this are the same."""
    known = sent.begun.read.facts.get(("frame", None))
    if known is None:
        return None
    frame = cast("_Frame", known[0])
    return frame if frame.fields == _list_fields(sent) else None


def _list_fields(sent: SplitBody) -> dict[str, bytes]:
    return {name: bytes(raw) for name, raw in sent.fields.items() if name != sent.name}


def _remember_frame(
    memo: ConversationMemo, sent: SplitBody, frame: _Frame | None, parsed: ParsedRequest[Json]
) -> None:
    """Keep how the other fields were read: the next request has the same."""
    weight = 0
    if frame is None:
        fields = _list_fields(sent)
        frame = _Frame(fields, replace(parsed, request=replace(parsed.request, messages=())))
        weight = _FRAME * sum(map(len, fields.values()))
    for each in sent.remembered:
        memo.note_conversation(each, "frame", None, frame, weight=weight)


def _parse_rest(
    service: Service[Json],
    http: HttpRequest,
    *,
    form: TurnForm,
    sent: SplitBody,
    frame: _Frame | None,
) -> ParsedRequest[Json] | None:
    """Return the request, of which only new turns are read; None if that says too little.

    The turns before the first answer are read too: they may hold the system prompt.
    """
    known = sent.begun
    new = sent.turns[known.count :]
    if any(form.is_answer(turn) is None for turn in new):
        return None
    first = next(at for at in range(known.count + 1) if form.is_answer(sent.turns[at]))
    is_joined = frame is None or not form.joined.isdisjoint(sent.fields)
    names = sent.fields if is_joined else sent.fields.keys() - form.apart
    other_fields = {name: sent.fields[name] for name in names}
    parse = partial(_parse_turns, service, http, form, other_fields)
    found = parse((*sent.turns[:first], *new))
    if found is not None and form.stand_in is not None and _has_made_ids(found.messages):
        hidden = [form.stand_in] * (known.count - first)
        found = parse((*sent.turns[:first], *hidden, *new))
    if found is None:
        return None
    parsed = found.parsed if frame is None else frame.parsed
    messages = (*known.read.messages, *found.messages)
    return replace(parsed, request=replace(parsed.request, messages=messages))


class _ReadTurns(Struct, frozen=True):
    """A part of a request, as it was read, and its messages from the first answer on."""

    parsed: ParsedRequest[Json]
    messages: tuple[Message, ...]


def _parse_turns(
    service: Service[Json],
    http: HttpRequest,
    form: TurnForm,
    other_fields: Mapping[str, Raw],
    turns: Sequence[bytes],
) -> _ReadTurns | None:
    """Read these turns; None if they have no answer, or if the whole request has to be read.

    Some answers are no message, such as an empty one: what follows it is then not a new answer.
    """
    fields = {**other_fields, form.field: Raw(b"[%b]" % b",".join(turns))}
    try:
        parsed = service.parse(replace(http, body=json.encode(fields)))
    except (Rejected, RecursionError):
        return None  # its words are those for the whole request
    read = parsed.request.messages
    starts = _list_starts(read)
    if not starts or len(starts) != len(_list_places(turns, form)) or _is_odd(parsed, form):
        return None
    return _ReadTurns(parsed, read[starts[0] :])


def _has_made_ids(messages: Sequence[Message]) -> bool:
    """Return whether a call got an id of ours, which is made from the number of its turn."""
    return any(call.minted for message in messages for call in message.tool_calls)


def _is_odd(parsed: ParsedRequest[Json], form: TurnForm) -> bool:
    """Return whether something in the conversation is not read, and told by the place of it."""
    return any(path.startswith(form.field) for path in parsed.unknown)


def _remember(
    memo: ConversationMemo,
    sent: SplitBody,
    form: TurnForm,
    known: KnownBeginning,
    messages: tuple[Message, ...],
) -> tuple[KnownConversation, ...]:
    """Remember the conversation up to its last answers, and to its end."""
    before, new = len(known.read.messages), sent.turns[known.count :]
    ends = _find_ends(new, messages[before:], form)[-_KEPT:]
    kept: list[KnownConversation] = []
    text, done = known.read.turns, 0
    searched = (sent.new_turns,) if known.count == sent.begun.count else ()
    for turns, count in ends:
        text, done = text.extend(new[done:turns], searched), turns
        size = sum(map(len, new[:turns])) // max(1, count)
        sizes = (*known.read.sizes, *[size] * count)
        read = KnownConversation(sent.about, messages[: before + count], sizes, text)
        kept.append(memo.keep(read))
    return tuple(kept)


def _find_ends(
    turns: Sequence[bytes], messages: Sequence[Message], form: TurnForm
) -> list[tuple[int, int]]:
    """Return the numbers of turns and of messages before each answer and before what may follow.

    Only where no call waits for its result: a result may be matched by the name of its call.
    """
    if not turns or any(form.is_answer(turn) is None for turn in turns):
        return []
    places, starts = _list_places(turns, form), _list_starts(messages)
    if len(places) != len(starts):
        return []
    if not form.is_answer(turns[-1]):
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


def _list_places(turns: Sequence[bytes], form: TurnForm) -> list[int]:
    """Return at which turns an answer begins."""
    answers = list(map(form.is_answer, turns))
    return [at for at, each in enumerate(answers) if each and (not at or not answers[at - 1])]


def _list_starts(messages: Sequence[Message]) -> list[int]:
    """Return at which messages an answer begins."""
    answers = [each.role == "assistant" for each in messages]
    return [at for at, each in enumerate(answers) if each and (not at or not answers[at - 1])]


def _count_open(message: Message, open_calls: Counter[str]) -> None:
    for part in message.parts:
        if isinstance(part, ToolCall):
            open_calls[part.id] += 1
        elif isinstance(part, ToolResult) and part.call_id in open_calls:
            open_calls[part.call_id] -= 1
            if not open_calls[part.call_id]:
                del open_calls[part.call_id]

"""Restores earlier answers in a client's request: ids, signatures, thinking, origins.

A cached answer is used only if its calls and text equal what the client sent.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_
from typing import cast

from msgspec import MsgspecError
from msgspec.structs import replace

from ...canon import (
    Json,
    LevelUpdate,
    Message,
    Origin,
    Part,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    encode_json,
    load_json,
)
from ...exchange import WorkSteps
from ..state.answer_cache import CachedAnswer
from ..state.conversation_memo import ConversationMemo, find_last_answer
from .answer_envelopes import AnswerEnvelopes
from .client_parts import ClientPart, OpenEnvelope, open_parts, split_answers
from .envelope import (
    has_envelope,
    iter_envelopes,
    iter_strings,
)
from .known_answers import KnownAnswers, RestoredBeginning, RestoredTurn, recall_keys
from .turns import (
    ClientTurn,
    digest_answer,
    make_call_key,
    make_turn_key,
    same_call,
    split_turns,
)

_STEP = 16  # messages that are restored at a time: each envelope is decrypted
_PROOF = 64  # characters; every service's signature is longer, and every id shorter


def cache_keys(
    request: Request,
    *,
    client: str,
    turns: Sequence[ClientTurn] | None = None,
    memo: ConversationMemo | None = None,
) -> list[str]:
    """Return the keys under which the answers in a request may be cached.

    ``turns``, here and below: those of the request, for callers that have them already. ``memo``:
    what is known of its messages since earlier requests.
    """
    every = split_turns(request.messages) if turns is None else turns
    is_whole = turns is not None and memo is not None and _ends_open(request.messages)
    begun = 0
    keys: list[str] = []
    if memo is not None and is_whole:
        known = memo.find_prefix(request.messages, "cache keys", client)
        if known is not None:
            begun, before = cast("tuple[int, list[str]]", known[1])
            keys = [*before]

    def note(count: int, messages: tuple[Message, ...]) -> None:
        if memo is not None and is_whole and begun < count:
            state, weight = (count, [*keys]), sum(map(len, keys))
            memo.note_prefix(messages, "cache keys", client, state, weight=weight)

    for number, turn in enumerate(every[begun:], begun):
        if is_whole and number == len(every) - 1:
            note(number, request.messages[: find_last_answer(request.messages)])
        found = recall_keys(turn, client, memo)
        keys += (key for call, key in zip(turn.calls, found, strict=False) if not call.minted)
        keys.append(found[-1])
    note(len(every), request.messages)
    return keys


def _ends_open(messages: Sequence[Message]) -> bool:
    """Return whether no answer ends a conversation, which the next message may continue."""
    return bool(messages) and messages[-1].role != "assistant"


def cache_items(
    request: Request,
    record: CachedAnswer,
    *,
    client: str,
    turns: Sequence[ClientTurn] | None = None,
) -> dict[str, bytes]:
    """Return the cache entries for the answer to a request, as the client sent it."""
    calls = record.message.tool_calls
    known = split_turns(request.messages) if turns is None else turns
    digest = digest_answer(request.messages, known, text=record.text, calls=calls)
    whole = encode_json(record)
    items = {make_turn_key(digest, client=client): whole}
    for id, call in zip(record.calls, calls, strict=True):
        # Other calls than the first are found alone, in case a client drops the first.
        alone = CachedAnswer(record.answer, replace(record.message, parts=(call,)), (id,), "")
        value = whole if id == record.calls[0] else encode_json(alone)
        items[make_call_key(id, client=client)] = value
    return items


def restore_in_steps(
    request: Request,
    client_dialect: str,
    *,
    client: str,
    found: Mapping[str, bytes],
    open_envelope: OpenEnvelope,
    turns: Sequence[ClientTurn] | None = None,
    withheld: list[str] | None = None,
    known: KnownAnswers | None = None,
) -> WorkSteps[Request]:
    """Return a request with known answers restored; ``found``: values of ``cache_keys``.

    No envelope is left in it: one that does not open counts as none. ``withheld`` gets the answers
    whose envelopes a client put into another answer, where they do not count. ``known``: what was
    restored for earlier requests.
    """
    restorer = _Restorer(client_dialect, client, found, open_envelope)
    restorer.known = known
    every = split_turns(request.messages) if turns is None else turns
    begun = None if known is None else known.find_beginning(request.messages, found)
    count, beginning = begun or (0, None)
    messages: list[Message] = []
    following = iter(every)
    if beginning is not None:
        restorer.resume(beginning)
        messages += beginning.messages
        following = iter(every[beginning.turns :])

    def keep(end: int, turns: Sequence[ClientTurn]) -> None:
        if known is not None and count < end:
            restored = restorer.describe(messages, len(turns))
            known.keep_beginning(
                request.messages[:end],
                turns,
                client,
                found=found,
                restored=restored,
                begun=beginning,
            )

    before, last = "", -1 if known is None else find_last_answer(request.messages)
    for at, message in enumerate(request.messages[count:], count):
        if message.role != "assistant":
            messages += restorer.restore_message(message)
        elif before != "assistant":
            if at == last:
                keep(at, every[:-1])
            messages += restorer.restore_turn(next(following))
        before = message.role
        if at % _STEP == _STEP - 1:
            yield
    if withheld is not None:
        withheld += restorer.withheld
    if _ends_open(request.messages):
        keep(len(request.messages), every)
    return replace(request, messages=tuple(messages))


class _Restorer:
    """Restores the messages of one request in order; results get the ids of their calls."""

    def __init__(
        self,
        client_dialect: str,
        client: str,
        found: Mapping[str, bytes],
        open_envelope: OpenEnvelope,
    ) -> None:
        self._client_dialect = client_dialect
        self._client = client
        self._found = found
        self._open_envelope = open_envelope
        self._own: dict[str, str] = {}  # the models' ids by the client's
        self._open: defaultdict[str, int] = defaultdict(int)  # calls without a result
        self._answered: set[str] = set()
        self.withheld: list[str] = []
        self.known: KnownAnswers | None = None

    def resume(self, begun: RestoredBeginning) -> None:
        """Continue after the beginning of a conversation."""
        self._own = {**begun.own}
        self._open = defaultdict(int, begun.open)
        self._answered = {*begun.answered}
        self.withheld = [*begun.withheld]

    def describe(self, messages: Sequence[Message], turns: int) -> RestoredBeginning:
        """Return what ``resume`` needs to continue after these messages."""
        return RestoredBeginning(
            tuple(messages),
            turns,
            dict(self._own),
            dict(self._open),
            frozenset(self._answered),
            tuple(self.withheld),
        )

    # -- the user's --------------------------------------------------------------------------------

    def restore_message(self, message: Message) -> Iterator[Message]:
        """Yield a message that is not the assistant's."""
        ids = tuple([part.call_id for part in message.parts if isinstance(part, ToolResult)])
        own = tuple(map(self._take_result, ids))
        if self.known is None:
            yield from _put_results(message, own)
        else:
            yield from self.known.put_results(message, own, _put_results)

    def _take_result(self, id: str) -> str | None:
        """Return the model's id for a result; None if the client sent it before."""
        if not self._open[id] and id in self._answered:
            return None
        self._open[id] -= 1
        self._answered.add(id)
        return self._own.get(id, id)

    # -- the assistant's ---------------------------------------------------------------------------

    def restore_turn(self, turn: ClientTurn) -> Iterator[Message]:
        """Yield the answers in a turn: nearly always one."""
        for call in turn.calls:
            self._open[call.id] = 1
            self._own.pop(call.id, None)
        if self.known is None:
            yield from self._restore_answers(turn)
            return
        restored = self.known.find(turn, self._client, self._found)
        if restored is None:
            own, withheld = self._own, self.withheld
            self._own, self.withheld = {}, []
            messages = tuple(self._restore_answers(turn))
            restored = RestoredTurn(messages, self._own, tuple(self.withheld))
            self._own, self.withheld = own, withheld
            self.known.keep(turn, self._client, self._found, restored)
        self._own |= restored.own
        self.withheld += restored.withheld
        yield from restored.messages

    def _restore_answers(self, turn: ClientTurn) -> Iterator[Message]:
        sent_parts = open_parts(turn.parts, self._open_envelope)
        self.withheld += (answer for each in sent_parts for answer in each.withheld)
        answers = split_answers(sent_parts)
        alone = turn if len(answers) == 1 else None
        known = [self._answer(sent, alone) for sent in answers]
        if any(known):
            for message, sent in zip(known, answers, strict=True):
                yield message or Message("assistant", tuple(each.part for each in sent))
        else:
            for message in turn.messages:
                yield from _replace_parts(message, _drop_envelopes)

    def _answer(self, sent: Sequence[ClientPart], turn: ClientTurn | None) -> Message | None:
        """Return an answer as its model gave it; None if it is unknown."""
        opened = AnswerEnvelopes(sent, self._client_dialect)
        parts = [each.part for each in sent]
        for record in self._iter_cached(parts, turn):
            if opened.answer in (None, record.answer) and _matches(record, parts):
                for call, own in zip(_calls(parts), record.message.tool_calls, strict=True):
                    self._own[call.id] = own.id
                return replace(record.message, parts=_copy_breakpoints(record.message.parts, parts))
        return self._restore_from_envelopes(opened)

    def _iter_cached(
        self, parts: Sequence[Part], turn: ClientTurn | None
    ) -> Iterator[CachedAnswer]:
        """Yield cached answers that may be this one: by its first call, then by its text."""
        keys = [make_call_key(call.id, client=self._client) for call in _calls(parts)[:1]]
        if turn is not None:
            keys.append(make_turn_key(turn.digest, client=self._client))
        yield from (record for key in keys if (record := self._find_cached(key)) is not None)

    def _find_cached(self, key: str) -> CachedAnswer | None:
        if key not in self._found:
            return None
        try:
            return load_json(self._found[key], CachedAnswer)
        except (MsgspecError, ValueError, RecursionError):
            return None  # written by another version

    def _restore_from_envelopes(self, opened: AnswerEnvelopes) -> Message | None:
        """Return an answer by its envelopes; calls without an entry by the answer cache."""
        origin = opened.origin
        parts: list[Part] = []
        for part in opened.parts():
            if not isinstance(part, ToolCall):
                parts.append(part)
                continue
            own, maker = opened.call(part), opened.origin
            if own is None:
                own, maker = self._find_cached_call(part)
            if own is not None:
                self._own[part.id] = own.id
                origin = origin or maker
            parts.append(own or part)
        if origin is None:
            return None
        return Message("assistant", tuple(parts), origin)

    def _find_cached_call(self, call: ToolCall) -> tuple[ToolCall | None, Origin | None]:
        record = self._find_cached(make_call_key(call.id, client=self._client))
        if record is None or call.id not in record.calls:
            return None, None
        own = record.message.tool_calls[record.calls.index(call.id)]
        if not same_call(own, call):
            return None, None
        return replace(own, cache=call.cache), record.message.origin


def _put_results(message: Message, own: Sequence[str | None]) -> Iterator[Message]:
    """Yield a message of the user with these ids of results, without envelopes; None drops one."""
    ids = iter(own)

    def change(part: Part) -> Iterator[Part]:
        if not isinstance(part, ToolResult):
            yield from _drop_envelopes(part)
        elif (id := next(ids)) is not None:
            yield part if id == part.call_id else replace(part, call_id=id)

    yield from _replace_parts(message, change)


def _replace_parts(message: Message, change: Callable[[Part], Iterator[Part]]) -> Iterator[Message]:
    """Yield a message with changed parts: the same if none changed, none if none is left."""
    parts = tuple(part for each in message.parts for part in change(each))
    if len(parts) == len(message.parts) and all(map(is_, parts, message.parts)):
        yield message
    elif parts:
        yield replace(message, parts=parts)


def _drop_envelopes(part: Part) -> Iterator[Part]:
    """Yield a part without envelopes; nothing if there is nothing else in it."""
    if isinstance(part, UnknownPart) and has_envelope(part.raw):
        return
    if (
        isinstance(part, ToolResult | LevelUpdate)
        or part.signature is None
        or not any(iter_envelopes(part.signature.value))
    ):
        yield part
    elif not isinstance(part, Thinking) or part.text:
        yield replace(part, signature=None)


def _calls(parts: Sequence[Part]) -> list[ToolCall]:
    return [part for part in parts if isinstance(part, ToolCall)]


def _matches(record: CachedAnswer, parts: Sequence[Part]) -> bool:
    """Return whether a client sent an answer back as it saw it: the same calls and text."""
    calls, own = _calls(parts), record.message.tool_calls
    if len(calls) != len(own) or not all(map(same_call, calls, own)):
        return False
    if any(not c.minted and c.id != id for c, id in zip(calls, record.calls, strict=True)):
        return False
    if not _find_proofs(parts) <= _find_proofs(record.message.parts):
        return False  # the client has the signatures of another answer with the same text
    if not _has_others(record.message.parts, parts):
        return False
    return "".join(part.text for part in parts if isinstance(part, Text)) == record.text


def _has_others(known: Sequence[Part], sent: Sequence[Part]) -> bool:
    """Return whether an answer has all parts that a client sent besides text, thinking and calls.

    Their signatures are compared as proofs: what the gateway took out of one may be in the other.
    """
    others = [each for each in sent if not isinstance(each, Text | Thinking | ToolCall)]
    return all(any(_is_same_part(part, own) for own in known) for part in others)


def _is_same_part(part: Part, own: Part) -> bool:
    if isinstance(part, UnknownPart) and isinstance(own, UnknownPart):
        return part.dialect == own.dialect and _is_within(part.raw, own.raw)
    if isinstance(part, ToolResult | LevelUpdate) or isinstance(own, ToolResult | LevelUpdate):
        return part == own
    return replace(part, signature=None) == replace(own, signature=None)


def _is_within(sent: Json, own: Json) -> bool:
    """Return whether JSON is another without some fields: SDKs leave out null, Codex leaves ids."""
    if isinstance(sent, dict) and isinstance(own, dict):
        return all(v is None or (n in own and _is_within(v, own[n])) for n, v in sent.items())
    if isinstance(sent, list) and isinstance(own, list):
        return len(sent) == len(own) and all(map(_is_within, sent, own))
    return bool(sent == own)


def _find_proofs(parts: Sequence[Part]) -> set[str]:
    """Return the opaque texts in signatures; ids are shorter, and summaries are shown."""
    return {
        text
        for part in parts
        if not isinstance(part, ToolResult | LevelUpdate) and part.signature is not None
        for text in iter_strings(part.signature.value)
        if len(text) >= _PROOF and not (isinstance(part, Thinking) and text in part.text)
    }


def _copy_breakpoints(own: Sequence[Part], sent: Sequence[Part]) -> tuple[Part, ...]:
    """Return a model's parts with the client's cache breakpoints."""
    parts = list(own)
    calls = iter(_calls(sent))
    texts = [part.cache for part in sent if isinstance(part, Text) and part.cache is not None]
    last = max((at for at, part in enumerate(parts) if isinstance(part, Text)), default=-1)
    for at, part in enumerate(own):
        if isinstance(part, ToolCall):
            parts[at] = replace(part, cache=next(calls).cache)
        elif isinstance(part, Text) and at == last and texts:
            parts[at] = replace(part, cache=texts[-1])
    return tuple(parts)

"""Turns of a conversation as a client sees them, and their keys in the answer cache."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import cast

from msgspec import Struct
from msgspec.json import Encoder
from msgspec.structs import replace

from ...canon import Json, Message, Part, Text, ToolCall, ToolResult
from ..state.conversation_memo import ConversationMemo, find_last_answer

_STABLE = Encoder(order="deterministic")


class ClientTurn(Struct, frozen=True):
    """Consecutive assistant messages: some clients send one for each chunk of an answer.

    ``digest``: of text and calls, the user's text before, and how often the same occurred before.
    ``calls``: the tool calls in order.
    """

    messages: tuple[Message, ...]
    digest: str
    calls: tuple[ToolCall, ...] = ()

    @property
    def parts(self) -> list[Part]:
        """Return all parts; a text continued in the next message is one text."""
        parts: list[Part] = []
        for message in self.messages:
            rest = message.parts
            if parts and rest:
                last, first = parts[-1], rest[0]
                if isinstance(last, Text) and isinstance(first, Text) and first.signature is None:
                    parts[-1] = replace(last, text=last.text + first.text, cache=first.cache)
                    rest = rest[1:]
            parts += rest
        return parts


class _SplitTurns(Struct, frozen=True):
    """The turns of the beginning of a conversation that no answer ends, and what is told so far.

    ``prompts``: the user's texts since the last turn. ``answered``: calls with a result.
    """

    turns: tuple[ClientTurn, ...] = ()
    told: Mapping[str, int] = {}
    prompts: tuple[str, ...] = ()
    answered: frozenset[str] = frozenset()


_WEIGHT = 300  # bytes of a turn with its digest


def split_turns(
    messages: Iterable[Message], memo: ConversationMemo | None = None
) -> list[ClientTurn]:
    """Return the assistant's turns of a conversation; ``memo`` knows those of earlier requests."""
    messages = tuple(messages)
    if len(messages) == 1 and messages[0].role != "assistant":  # the first question
        return []
    known = memo.find_prefix(messages, "turns", None) if memo is not None else None
    begun, split = known or (0, _SplitTurns())
    state = cast("_SplitTurns", split)
    turns = [*state.turns]
    told = defaultdict(int, state.told)
    answer: list[Message] = []
    prompts = [*state.prompts]
    answered = {*state.answered}  # calls with a result: Gemini CLI sends results twice

    def end_turn() -> None:
        calls = _list_calls(answer)
        answered.difference_update([call.id for call in calls])
        digest = _recall_digest(answer, prompts, memo)
        turns.append(ClientTurn(tuple(answer), f"{digest} {told[digest]}", calls))
        told[digest] += 1
        answer.clear()
        prompts.clear()

    def note(count: int) -> None:
        if memo is not None and begun < count:
            split = _SplitTurns(tuple(turns), dict(told), tuple(prompts), frozenset(answered))
            weight = _WEIGHT * len(turns)
            memo.note_prefix(messages[:count], "turns", None, split, weight=weight)

    last = -1 if memo is None else find_last_answer(messages)
    for at, message in enumerate(messages[begun:], begun):
        if message.role == "assistant":
            if at == last:
                note(at)
            answer.append(message)
            continue
        if answer:
            end_turn()
        if message.role == "user":
            prompts += _list_texts(message, answered)
    if answer:
        end_turn()
    else:
        note(len(messages))
    return turns


def digest_answer(
    messages: Sequence[Message],
    turns: Sequence[ClientTurn],
    *,
    text: str,
    calls: Sequence[ToolCall],
) -> str:
    """Return the digest of an answer to a conversation as a turn; ``turns`` are the earlier ones.

    ``text`` and ``calls`` are what the client sees of the answer.
    """
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    begun = end
    while begun and messages[begun - 1].role != "assistant":
        begun -= 1
    prompts: list[str] = []
    answered: set[str] = set()
    for message in messages[begun:end]:
        if message.role == "user":
            prompts += _list_texts(message, answered)
    if said := messages[end:]:  # the answer continues these
        turns, text = turns[:-1], _join_texts(said) + text
        calls = (*_list_calls(said), *calls)
    digest = _digest(prompts, text, calls)
    same = sum([each.digest.startswith(digest) for each in turns]) if turns else 0
    return f"{digest} {same}"


def same_call(call: ToolCall, second: ToolCall) -> bool:
    """Return whether two calls have the same name and arguments."""
    return call.name == second.name and _stable(call.arguments) == _stable(second.arguments)


def make_call_key(id: str, *, client: str) -> str:
    """Return the cache key of an answer by one of its calls."""
    return _key(client, "call", id)


def make_turn_key(digest: str, *, client: str) -> str:
    """Return the cache key of an answer by the digest of its turn."""
    return _key(client, "turn", digest)


def _key(client: str, kind: str, name: str) -> str:
    return blake2b(_bytes(f"{client}\0{kind}\0{name}"), digest_size=18).hexdigest()


def _list_texts(message: Message, answered: set[str]) -> list[str]:
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, ToolResult) and part.call_id not in answered:
            answered.add(part.call_id)
            texts += [inner.text for inner in part.content if isinstance(inner, Text)]
    return texts


def _list_calls(answer: Sequence[Message]) -> tuple[ToolCall, ...]:
    if len(answer) == 1:
        return answer[0].tool_calls
    return tuple([call for each in answer for call in each.tool_calls])


def _join_texts(answer: Sequence[Message]) -> str:
    return "".join([message.text for message in answer])


def _recall_digest(
    answer: Sequence[Message], prompts: Sequence[str], memo: ConversationMemo | None
) -> str:
    if memo is None or len(answer) != 1:
        return _digest(prompts, _join_texts(answer), _list_calls(answer))
    key = tuple(prompts)
    known = memo.recall(answer[0], "digest", key)
    if isinstance(known, str):
        return known
    digest = _digest(prompts, _join_texts(answer), _list_calls(answer))
    return memo.note(answer[0], "digest", key, digest)


def _digest(prompts: Sequence[str], text: str, calls: Sequence[ToolCall]) -> str:
    seen = blake2b(b"%b\0%b\0" % (_bytes("".join(prompts)), _bytes(text)), digest_size=16)
    for call in calls:
        seen.update(b"%b\0%b\0" % (_bytes(call.name), _stable(call.arguments)))
    return seen.hexdigest()


def _stable(value: Json) -> bytes:
    """Return JSON as bytes that do not depend on how a client formats it."""
    value = _plain(value)
    try:
        return _STABLE.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value, sort_keys=True).encode()


def _plain(value: Json) -> Json:
    """Return JSON with whole numbers as integers: JavaScript writes 1.0 as 1."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def are_questions(messages: Iterable[Message]) -> bool:
    """Return whether these are texts of the user alone, in which nothing can be restored."""
    for message in messages:
        if message.role == "assistant":
            return False
        for part in message.parts:
            if type(part) is not Text or part.signature is not None:
                return False
    return True


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

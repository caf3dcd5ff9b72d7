"""Whether a client's body can go to a model unchanged."""

from collections.abc import Hashable, Sequence
from copy import copy
from operator import is_
from typing import cast

from msgspec import Struct

from ...canon import LevelUpdate, Message, Thinking, ToolCall, ToolResult
from ...catalog import ModelEntry
from ...exchange import make_destination, needs_thinking_first
from ...handoff import allows_system_turns, find_loop_start
from ...thinking import Policy
from ..signatures import envelope
from ..state.conversation_memo import ConversationMemo, find_last_answer
from .portability import is_same_dialect
from .routed_request import ModelTarget, RoutedRequest
from .translation import fits_unchanged

_POLICY = Policy()


def can_pass_through(
    routed: RoutedRequest, target: ModelTarget, memo: ConversationMemo | None = None
) -> bool:
    """Return whether the body can go to a model unchanged: nothing to restore or to fit.

    ``memo`` has what was found out about the beginning of the conversation.
    """
    entry = target.entry
    if not _is_candidate(routed, entry):
        return False
    sent, messages = routed.parsed.request.messages, routed.request.messages
    if len(sent) == len(messages) == 1 and sent[0] is messages[0]:  # the first question
        if _is_foreign(messages[0], entry) or not fits_unchanged(routed, target):
            return False
    elif not _is_unchanged(routed, target, memo):
        return False
    # A loop that the client wrote itself, or this model began, is between it and the service.
    return not (needs_thinking_first(entry, target.plan) and _is_loop_of_others(messages, entry))


def _is_unchanged(
    routed: RoutedRequest, target: ModelTarget, memo: ConversationMemo | None
) -> bool:
    entry = target.entry
    sent, messages = routed.parsed.request.messages, routed.request.messages
    key = (entry.provider.name, entry.model, target.emulator, entry.reads_of)
    count, tallies = _tally_up(sent, messages, entry, memo=memo, key=key)
    tally = tallies[len(sent)]
    if not _is_whole(tally, routed, entry) or not fits_unchanged(routed, target, begun=count):
        return False
    for end, each in tallies.items():
        if memo is not None and count < end and len(sent) == len(messages):
            state = (messages[:end], each)  # nothing in it is of another kind or account
            memo.note_prefix(sent[:end], "unchanged", key, state, weight=24 * end)
    return True


def _is_candidate(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a body is written in the model's dialect, and nothing hides in it."""
    if routed.hides_thinking or routed.is_wrapped or routed.is_hooked:
        return False  # the service may show thinking whatever it is asked for, and wraps nothing
    return is_same_dialect(routed, entry) and not envelope.contains_envelope(routed.call.http.body)


class _Tally(Struct):
    """What is counted in a conversation as sent and as restored, message by message.

    ``results``, ``calls`` and ``signed`` (calls with a signature) are how many more were sent than
    restored. ``thoughts_sent`` and ``thoughts`` are those in the tool loop that it ends with.
    ``is_joined``: two messages of the assistant follow each other, so that they must be joined.
    ``is_own``: this model made every answer with calls. ``is_foreign``: an answer has thinking or
    signatures of another model.
    """

    results: int = 0
    calls: int = 0
    signed: int = 0
    thoughts_sent: int = 0
    thoughts: int = 0
    role: str = ""
    has_system: bool = False
    is_joined: bool = False
    is_own: bool = True
    is_foreign: bool = False

    def add_sent(self, message: Message) -> None:
        """Count a message of the client."""
        role = message.role
        self.is_joined = self.is_joined or role == self.role == "assistant"
        self.has_system = self.has_system or role == "system"
        self.role = role
        self.thoughts_sent = _continue_loop(self.thoughts_sent, message)

    def add_restored(self, message: Message, entry: ModelEntry) -> None:
        """Count a message as it is known here."""
        self.thoughts = _continue_loop(self.thoughts, message)
        self.is_foreign = self.is_foreign or _is_foreign(message, entry)
        if self.is_own and (message.origin is None or _is_of_other(message, entry)):
            self.is_own = not message.tool_calls

    def add(self, sent: Sequence[Message], restored: Sequence[Message], entry: ModelEntry) -> None:
        """Count messages as they were sent, and the same as they are known here."""
        for message in sent:
            self.add_sent(message)
        for message in restored:
            self.add_restored(message, entry)
        if len(sent) == len(restored):
            # Only the messages that restoring changed can make a difference.
            changed = [each for each in zip(sent, restored, strict=True) if each[0] is not each[1]]
            sent, restored = [old for old, _ in changed], [new for _, new in changed]
        for message in sent:
            self.add_change(message, 1)
        for message in restored:
            self.add_change(message, -1)

    def add_change(self, message: Message, sign: int) -> None:
        """Count a message that restoring changed: as sent with 1, as restored with -1."""
        for part in message.parts:
            if isinstance(part, ToolResult):
                self.results += sign
            elif isinstance(part, ToolCall):
                self.calls += sign
                self.signed += sign * (part.signature is not None)


def _tally_up(
    sent: tuple[Message, ...],
    restored: tuple[Message, ...],
    entry: ModelEntry,
    *,
    memo: ConversationMemo | None,
    key: Hashable,
) -> tuple[int, dict[int, _Tally]]:
    """Return how many first messages were looked at before, and what is in the conversation.

    That is up to its end, and also up to its last answer if that was not known.
    """
    count, tally = 0, _Tally()
    is_aligned = len(sent) == len(restored)
    known = memo.find_prefix(sent, "unchanged", key) if memo is not None and is_aligned else None
    if known is not None:
        before, kept = cast("tuple[tuple[Message, ...], _Tally]", known[1])
        if all(map(is_, before, restored)):
            count, tally = known[0], copy(kept)
    tallies: dict[int, _Tally] = {}
    at = count
    last = find_last_answer(sent) if memo is not None and is_aligned else 0
    if count < last:
        tally.add(sent[count:last], restored[count:last], entry)
        tallies[last], at = copy(tally), last
    tally.add(sent[at:], restored[at:], entry)
    return count, {**tallies, len(sent): tally}


def _continue_loop(thoughts: int, message: Message) -> int:
    """Return the number of thoughts in a tool loop after one more message."""
    if message.role == "assistant":
        return thoughts + sum([isinstance(part, Thinking) for part in message.parts])
    return thoughts if any(isinstance(part, ToolResult) for part in message.parts) else 0


def _is_whole(tally: _Tally, routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a body has all that the model needs, and nothing of others."""
    if tally.is_joined:
        return False  # one answer in several messages, as some clients keep it: it must be joined
    if tally.results:
        return False  # the client sent a result twice
    if (tally.calls or tally.signed > 0) and not tally.is_own:
        return False  # no service knows the ids that we wrote for another model's answer
    slots = routed.service.slots
    if slots.call is not None and tally.signed < 0:
        return False  # the client lost what the service may ask for, and the answer cache has it
    if slots.thinking_leads and tally.thoughts_sent < tally.thoughts:
        return False
    if tally.has_system and not _takes_system(routed.parsed.request.messages, entry):
        return False  # a route may lead to a model that rejects them, or ignores them
    return not tally.is_foreign


def _takes_system(messages: Sequence[Message], entry: ModelEntry) -> bool:
    return allows_system_turns(messages, make_destination(entry, _POLICY).takes.system_turns)


def _is_loop_of_others(messages: Sequence[Message], entry: ModelEntry) -> bool:
    """Return whether another model began the tool loop that a conversation ends with."""
    return any(_is_of_other(first, entry) for first in messages[find_loop_start(messages) :][:1])


def _is_foreign(message: Message, entry: ModelEntry) -> bool:
    """Return whether an answer has thinking or signatures of another model."""
    return _is_of_other(message, entry) and any(
        isinstance(part, Thinking)
        or (not isinstance(part, ToolResult | LevelUpdate) and part.signature is not None)
        for part in message.parts
    )


def _is_of_other(message: Message, entry: ModelEntry) -> bool:
    own, origin = (entry.provider.name, entry.model), message.origin
    return origin is not None and (origin.provider, origin.model) != own

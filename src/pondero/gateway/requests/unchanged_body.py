"""Whether a client's body can go to a model unchanged."""

from collections.abc import Sequence
from itertools import pairwise

from ...canon import LevelUpdate, Message, Thinking, ToolResult
from ...catalog import ModelEntry
from ...dialects import SignatureSlots
from ...exchange import make_destination, needs_thinking_first
from ...handoff import allows_system_turns, find_loop_start
from ...thinking import Policy
from ..signatures import envelope
from .portability import is_same_dialect
from .routed_request import ModelTarget, RoutedRequest
from .translation import fits_unchanged

_POLICY = Policy()


def can_pass_through(routed: RoutedRequest, target: ModelTarget) -> bool:
    """Return whether the body can go to a model unchanged: nothing to restore or to fit."""
    if not _is_whole(routed, target.entry) or not fits_unchanged(routed, target):
        return False
    # A loop that the client wrote itself, or this model began, is between it and the service.
    messages, entry = routed.request.messages, target.entry
    return not (needs_thinking_first(entry, target.plan) and _is_loop_of_others(messages, entry))


def _is_whole(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a body is written in the model's dialect, and has all that it needs."""
    if routed.hides_thinking or routed.is_wrapped or routed.is_hooked:
        return False  # the service may show thinking whatever it is asked for, and wraps nothing
    if not is_same_dialect(routed, entry) or envelope.contains_envelope(routed.call.http.body):
        return False
    sent, restored = routed.parsed.request.messages, routed.request.messages
    if len(sent) == len(restored) == 1 and sent[0] is restored[0]:  # the first question
        return not _is_foreign(sent[0], entry)
    if any(one.role == other.role == "assistant" for one, other in pairwise(sent)):
        return False  # one answer in several messages, as some clients keep it: it must be joined
    before, after = _drop_same(sent, restored)
    if _count_results(before) != _count_results(after):
        return False  # the client sent a result twice
    has_our_ids = _has_our_ids(before, after) and not _is_own(restored, entry)
    if has_our_ids or _has_lost_part(sent, restored, routed.service.slots):
        return False  # no service knows the ids that we wrote for another model's answer
    if any(message.role == "system" for message in sent) and not _takes_system(sent, entry):
        return False  # a route may lead to a model that rejects them, or ignores them
    return not any(_is_foreign(message, entry) for message in restored)


def _takes_system(messages: Sequence[Message], entry: ModelEntry) -> bool:
    return allows_system_turns(messages, make_destination(entry, _POLICY).takes.system_turns)


def _has_lost_part(
    sent: Sequence[Message], restored: Sequence[Message], slots: SignatureSlots
) -> bool:
    """Return whether the client lost what the service may ask for, and the answer cache has it."""
    if slots.call is not None and _count_signed_calls(sent) < _count_signed_calls(restored):
        return True
    return slots.thinking_leads and _count_thinking(sent) < _count_thinking(restored)


def _count_results(messages: Sequence[Message]) -> int:
    return sum(isinstance(part, ToolResult) for message in messages for part in message.parts)


def _drop_same(
    sent: Sequence[Message], restored: Sequence[Message]
) -> tuple[Sequence[Message], Sequence[Message]]:
    """Return only the messages that restoring changed, which alone can make a difference."""
    if len(sent) != len(restored):
        return sent, restored
    changed = [at for at, message in enumerate(sent) if message is not restored[at]]
    return [sent[at] for at in changed], [restored[at] for at in changed]


def _has_our_ids(sent: Sequence[Message], restored: Sequence[Message]) -> bool:
    """Return whether restoring took ids out of calls."""
    own_kind = _count_calls(sent) != _count_calls(restored)  # items that became functions
    return own_kind or _count_signed_calls(sent) > _count_signed_calls(restored)


def _count_calls(messages: Sequence[Message]) -> int:
    return sum(len(message.tool_calls) for message in messages)


def _is_own(messages: Sequence[Message], entry: ModelEntry) -> bool:
    """Return whether this model made every answer with calls."""
    own = (entry.provider.name, entry.model)
    makers = (message.origin for message in messages if message.tool_calls)
    return all(maker is not None and (maker.provider, maker.model) == own for maker in makers)


def _count_signed_calls(messages: Sequence[Message]) -> int:
    return sum(call.signature is not None for message in messages for call in message.tool_calls)


def _count_thinking(messages: Sequence[Message]) -> int:
    """Return the number of thoughts in the tool loop that a conversation ends with."""
    count = 0
    for message in reversed(messages):
        if message.role == "assistant":
            count += sum(isinstance(part, Thinking) for part in message.parts)
        elif not any(isinstance(part, ToolResult) for part in message.parts):
            break
    return count


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

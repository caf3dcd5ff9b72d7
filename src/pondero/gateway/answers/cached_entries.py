"""What the answer cache gets of an answer, at once or when it is read next."""

from collections.abc import Mapping, Sequence
from functools import partial

from ...canon import Message, Request, Text, Thinking
from ..requests.routed_request import RoutedRequest
from ..signatures.restore import cache_items
from ..state.answer_cache import CachedAnswer, ConversationCache


def list_entries(routed: RoutedRequest, answers: Sequence[CachedAnswer]) -> dict[str, bytes]:
    """Return the entries of the answers to a request; of equal ones, the first is kept."""
    request, client = routed.parsed.request, routed.call.requester.id
    items: dict[str, bytes] = {}
    for answer in answers:
        items = {**cache_items(request, answer, client=client, turns=routed.turns), **items}
    return items


def put_later(
    memory: ConversationCache,
    routed: RoutedRequest,
    answers: Sequence[CachedAnswer],
    remembered: Mapping[str, bytes],
) -> bool:
    """Let the entries wait until they are read, which they may never be.

    That is so for the first question of a conversation, if its answer calls no tool: a call is
    continued at once. One whose size is not known at once does not wait either.
    """
    if routed.turns or len(answers) != 1 or answers[0].calls:
        return False
    (answer,) = answers
    if (said := _measure(answer.message)) is None:
        return False
    client = routed.call.requester.id
    make = partial(_make_entries, routed.parsed.request, answer, client, remembered)
    return memory.put_later(make, len(routed.call.http.body) + len(answer.text) + said)


def _measure(message: Message) -> int | None:
    """Return the characters of an answer; None if it has more than text, thinking and their proofs.

    What waits holds all of them.
    """
    size = 0
    for part in message.parts:
        if type(part) is Text:
            if part.citations or part.logprobs:
                return None
        elif type(part) is not Thinking:
            return None
        size += len(part.text)
        if (signature := part.signature) is not None:
            if not isinstance(signature.value, str):
                return None
            size += len(signature.value)
    return size


def _make_entries(
    request: Request, answer: CachedAnswer, client: str, remembered: Mapping[str, bytes]
) -> Mapping[str, bytes]:
    try:
        return {**remembered, **cache_items(request, answer, client=client, turns=())}
    except RecursionError:  # values of the service, nested too deep
        return remembered

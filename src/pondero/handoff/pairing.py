"""Which result answers which call, also where a service used one id twice."""

from collections import deque
from collections.abc import Sequence

from ..canon import Message, ToolCall, ToolResult
from .manifest import Place


def answers(messages: Sequence[Message]) -> dict[Place, Place]:
    """Return the place of each call that has a result, and the place of that result.

    A result belongs to the latest turn before it that waits for its id, and there to the first
    call that does. Calls stand in the assistant's turns; anything else is none.
    """
    found: dict[Place, Place] = {}
    waiting: dict[str, list[tuple[int, deque[Place]]]] = {}
    for number, message in enumerate(messages):
        spoken = message.role == "assistant"
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and spoken:
                turns = waiting.setdefault(part.id, [])
                if not turns or turns[-1][0] != number:
                    turns.append((number, deque()))
                turns[-1][1].append((number, index))
            elif isinstance(part, ToolResult) and (turns := waiting.get(part.call_id, [])):
                calls = turns[-1][1]
                found[calls.popleft()] = (number, index)
                if not calls:
                    turns.pop()
    return found

"""Ids that the destination accepts for tool calls; the same every time, for the prompt cache."""

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

from ..canon import Message, ToolCall, ToolResult
from .manifest import Place
from .surrogates import has_no_surrogates


class CallIds:
    """Assigns an id to each call; ``given`` are the ids of all calls, and none is used twice."""

    def __init__(self, pattern: str | None, length: int, given: Iterable[str]) -> None:
        self._matches: Callable[[str], object] = re.compile(pattern or r"[\s\S]+").fullmatch
        self._length = length
        self._fit = frozenset(id for id in given if self._fits(id))
        self._taken = set(self._fit)
        self._seen: dict[str, int] = {}

    def take(self, id: str) -> str:
        """Return the id for the next call with this one: the same, if it fits and is free."""
        before = self._seen.get(id, 0)
        self._seen[id] = before + 1
        return id if before == 0 and id in self._fit else self._make_id(id, before)

    def _fits(self, id: str) -> bool:
        return bool(self._matches(id)) and has_no_surrogates(id)

    def _make_id(self, id: str, before: int) -> str:
        attempt = 0
        while True:
            seed = f"{before} {attempt} {id}".encode("utf-8", "surrogatepass")
            made = blake2b(seed).hexdigest()[: self._length]
            if made not in self._taken:
                self._taken.add(made)
                return made
            attempt += 1


def answers(messages: Sequence[Message]) -> dict[Place, Place]:
    """Return calls with their results: of the latest turn that waits for the id, the first call."""
    found: dict[Place, Place] = {}
    waiting: dict[str, list[tuple[int, list[Place]]]] = {}
    for number, message in enumerate(messages):
        spoken = message.role == "assistant"
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and spoken:
                turns = waiting.setdefault(part.id, [])
                if not turns or turns[-1][0] != number:
                    turns.append((number, []))
                turns[-1][1].append((number, index))
            elif isinstance(part, ToolResult) and (turns := waiting.get(part.call_id, [])):
                calls = turns[-1][1]
                found[calls.pop(0)] = (number, index)
                if not calls:
                    turns.pop()
    return found

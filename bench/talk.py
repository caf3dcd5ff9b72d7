"""Conversations of an agent with a gateway, many side by side: talk.py LOAD, with `count` of them.

Each turn sends all turns before it, as the gateway answered them. Each line of the input says up to
which turn all go on; when all are there, it prints how many bytes the last turn sent.
"""

import asyncio
import json
import sys
from collections import deque
from typing import Any

from agent_requests import Conversation, result, text
from load import Answer, Load, connected

Json = Any


class _Talk:
    """One conversation."""

    def __init__(self, load: Load, number: int) -> None:
        self._load, self._number = load, number
        self._turn = 0
        first = f"Mend build {number}. {text(40)} {self._ask()}"
        self._conversation = Conversation(load.front, load.model, first)
        self.sent = 0

    def _ask(self) -> str:
        return f"bench turn {self._number}t{self._turn} ;"

    def request(self) -> bytes:
        data = self._conversation.request()
        self.sent = len(data)
        return self._load.framed(data)

    def take(self, answer: Answer) -> None:
        """Keep an answer, and the result of the tool that it calls."""
        if answer.status != 200:
            raise SystemExit(bytes(answer.data[:600]).decode("latin-1"))
        self._turn += 1
        self._conversation.add(json.loads(answer.content()), result(self._ask()))


async def _go_on(load: Load, talks: list[_Talk]) -> None:
    """Take one turn in each of them."""
    waiting = deque(talks)

    async def some() -> None:
        connection = await connected(load)
        while waiting:
            talk = waiting.popleft()
            talk.take(await connection.answer(talk.request()))
        connection.close()

    await asyncio.gather(*(some() for _ in range(load.at_once)))


def main(load: Load) -> None:
    """Go on as the input says."""
    talks = [_Talk(load, number) for number in range(load.count)]
    done = 0
    for line in sys.stdin:
        for _ in range(done, int(line)):
            asyncio.run(_go_on(load, talks))
        done = int(line)
        print(talks[-1].sent, flush=True)


if __name__ == "__main__":
    main(Load(**json.loads(sys.argv[1])))

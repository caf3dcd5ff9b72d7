"""Conversations of an agent with a gateway, many side by side: talk.py LOAD, with `count` of them.

Each turn sends all turns before it, as the gateway answered them. Each line of the input says up to
which turn all go on; when all are there, it prints how many bytes the last turn sent.
"""

import asyncio
import json
import sys
from collections import deque
from typing import Any

from agent_requests import FRONTS, dumped, encoded, result, text
from load import Answer, Load, connected

Json = Any


class _Talk:
    """One conversation; its messages are kept as JSON, as no client encodes them better."""

    def __init__(self, load: Load, number: int) -> None:
        self._load, self._number = load, number
        self._api = FRONTS[load.front]
        self._turn = 0
        asked = self._api.asked(f"Mend build {number}. {text(40)} {self._ask()}")
        self._messages = [dumped(message) for message in asked]
        self.sent = 0

    def _ask(self) -> str:
        return f"bench turn {self._number}t{self._turn} ;"

    def request(self) -> bytes:
        data = encoded(self._load.front, self._load.model, self._messages)
        self.sent = len(data)
        return self._load.framed(data)

    def take(self, answer: Answer) -> None:
        """Keep an answer, and the result of the tool that it calls."""
        if answer.status != 200:
            raise SystemExit(bytes(answer.data[:600]).decode("latin-1"))
        self._turn += 1
        said = self._api.answered(json.loads(answer.content()))
        came = self._api.result(said, result(self._ask()))
        self._messages += [dumped(message) for message in (*said, *came)]


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

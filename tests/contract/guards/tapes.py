"""Conversations with the emulator on tape, clean or with one thing in the last request changed."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

from msgspec.structs import replace
from tests.hazards.talking import calling, chat_with

from pondero.canon import HttpRequest, ResponseHead
from pondero.cassettes import RecordedExchange
from pondero.cassettes.file_format import dump
from pondero.contract import GuardFinding, GuardReport, check_file
from pondero.emulator import Emulator
from pondero.exchange import Timeouts

Json = Any
Change = Callable[[Json], None]


class Tape:
    """A transport that keeps what goes over another one."""

    needs_key = False

    def __init__(self, inner: Any) -> None:
        self.exchanges: list[RecordedExchange] = []
        self._inner = inner

    def send(self, request: HttpRequest, timeouts: Timeouts) -> "_Played":
        answer = self._inner.send(request, timeouts)
        pieces = tuple(answer)
        self.exchanges.append(RecordedExchange(request, answer.head, pieces))
        return _Played(answer.head, pieces)

    def close(self) -> None:
        """Nothing is open."""


class _Played:
    def __init__(self, head: ResponseHead, pieces: tuple[bytes, ...]) -> None:
        self.head = head
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)

    def close(self) -> None:
        """Nothing is open."""


def taped(model: str, script: Any = None, **options: Any) -> list[RecordedExchange]:
    """Return the exchanges of a tool loop of two steps, and of a turn after it."""
    tape = Tape(Emulator(script=script or calling(2)))
    chat = chat_with(tape, model, **options)
    chat.send("Where is it fine?")
    chat.send("What is 2 + 2?")
    return tape.exchanges


@cache
def in_loop(model: str) -> list[RecordedExchange]:
    """Return the exchanges up to the one whose request ends with the second result."""
    return taped(model)[:3]


def changed(exchanges: list[RecordedExchange], change: Change) -> list[RecordedExchange]:
    """Return them with the last request's body changed."""
    *before, last = deepcopy(exchanges)
    body = json.loads(last.request.body)
    change(body)
    request = replace(last.request, body=json.dumps(body).encode())
    return [*before, replace(last, request=request)]


def guarded(exchanges: list[RecordedExchange]) -> GuardReport:
    return check_file(dump(exchanges), "tape.jsonl")


def found(exchanges: list[RecordedExchange]) -> dict[str, GuardFinding]:
    return {finding.code: finding for finding in guarded(exchanges).findings}


def refusal(exchange: RecordedExchange) -> str | None:
    """Return what the emulated service says to a request it refuses."""
    answer = Emulator(script=["fine"]).send(exchange.request, Timeouts())
    text = b"".join(answer).decode("utf-8", "replace")
    return text if answer.head.status >= 400 else None


def at(body: Json, path: str) -> Json:
    """Return what stands at a place of a body; raises where there is nothing."""
    for step in path.replace("[", ".").replace("]", "").split("."):
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body

"""Real exchanges with something wrong in them raise our errors and nothing else."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.grammar import grammar
from tests.laws.mutate import WRONG

from pondero.canon import Event, ResponseHead
from pondero.dialects import NAMES, AnswerContext, Dialect, get_dialect
from pondero.errors import PonderoError

from .corpus import FILES, Exchange, exchanges
from .judge import wire

Json = Any
CASES = [(name, file) for name in NAMES for file in FILES[name]]
ENOUGH = 1_000  # exchanges of a file, each changed in several ways

pytestmark = pytest.mark.recordings


@pytest.mark.parametrize(("name", "file"), CASES)
def test_a_changed_exchange_raises_only_our_errors(recordings: Path, name, file):
    found = exchanges(recordings, file)
    if not found:
        pytest.skip(f"no {file}.jsonl in {recordings}")
    chance = random.Random(file)
    for exchange in chance.sample(found, min(ENOUGH, len(found))):
        for _ in range(4):
            _try(get_dialect(name), name, exchange, chance)


def _try(speaks: Dialect, name: str, exchange: Exchange, chance: random.Random) -> None:
    head = ResponseHead(exchange.status, exchange.headers)
    if exchange.stream is not None:
        data = _changed_stream(exchange.stream, chance)
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(5))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        whole, split = (_outcome(speaks, name, exchange, each) for each in ([data], pieces))
        assert whole == split, exchange.id
    elif exchange.status >= 400:
        assert speaks.caller().error(head, _changed_body(exchange.body, chance)).status
    else:
        body = _changed_body(exchange.body, chance)
        quirks = wire(name).target(exchange).quirks
        try:
            events = speaks.caller().decode(head, body, AnswerContext("m", "r", quirks))
        except PonderoError:
            return
        assert grammar(events) is None, (exchange.id, grammar(events))


def _outcome(
    speaks: Dialect, name: str, exchange: Exchange, pieces: list[bytes]
) -> tuple[list[Event], str | None]:
    quirks = wire(name).target(exchange).quirks
    stream = speaks.caller().stream(ResponseHead(200), AnswerContext("m", "r", quirks))
    events: list[Event] = []
    try:
        for piece in pieces:
            events += stream.feed(piece)
        events += stream.eof()
    except PonderoError as error:
        return events, f"{type(error).__name__}: {error}"
    return events, None


def _changed_stream(stream: bytes, chance: random.Random) -> bytes:
    lines = stream.split(b"\n")
    at = chance.randrange(len(lines))
    before = b"data: " if lines[at].startswith(b"data: ") else b""
    if lines[at].startswith(before + b"{") and chance.random() < 0.7:
        lines[at] = before + _changed_body(lines[at][len(before) :], chance)
        return b"\n".join(lines)
    return _changed_bytes(stream, chance)


def _changed_body(body: bytes, chance: random.Random) -> bytes:
    try:
        value = json.loads(body)
    except ValueError:
        return _changed_bytes(body, chance)
    if chance.random() < 0.2:
        return _changed_bytes(body, chance)
    return json.dumps(_changed(value, chance)).encode()


def _changed(value: Json, chance: random.Random) -> Json:
    """Return the value with one value in it replaced or left out."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    return chance.choice(WRONG)


def _changed_bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.randrange(4)) + data[at + chance.randrange(4) :]

"""What the emulator answers, byte for byte: right requests, and requests with one fault and two.

A service that finds two faults refuses for one of them, so the order of its checks is behaviour.
`SNAPSHOT=1 .venv/bin/pytest tests/emulator/test_answers_snapshot.py` writes the files anew; look at
the difference before you commit it.
"""

import json
import os
import random
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.emulator.talking import WEATHER, results

import pondero
from pondero.canon import EMULATOR_HEADER, HttpRequest
from pondero.client import load_catalog
from pondero.emulator import Emulator

FOLDER = Path(__file__).parent / "answers"
WRITES = bool(os.environ.get("SNAPSHOT"))
PAIRS = 120  # of two faults each, for every provider
PROVIDERS = sorted(load_catalog().catalog.providers)

Fault = tuple[str, tuple[Any, ...]]


def answer(http: HttpRequest) -> tuple[int, bytes]:
    """Return the status and the whole body, its headers' bytes before it."""
    got = Emulator().send(http)
    body = b"".join(got)
    assert got.head.headers[EMULATOR_HEADER]  # ours, and no header of the service
    headers = [(name, text) for name, text in got.head.headers.items() if name != EMULATOR_HEADER]
    return got.head.status, json.dumps(sorted(headers)).encode() + body


class Listening(Emulator):
    """An emulator that keeps the requests as they came, keys and all."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[HttpRequest] = []

    def send(self, request: HttpRequest, *args: Any) -> Any:
        self.heard.append(request)
        return super().send(request, *args)


@cache
def requests(provider: str) -> tuple[HttpRequest, HttpRequest]:
    """Return two turns of a conversation: the question, and the result of a call sent back."""
    emulator = Listening()
    listed = next(iter(pondero.models(provider)), None)
    model = listed.id if listed else f"{provider}:some-model"
    chat = pondero.Chat(
        model, client=pondero.Client(transport=emulator), thinking="high", tools=[WEATHER]
    )
    options: Any = {"stream": False}
    reply = chat.send("What is the weather in Paris?", **options)
    calls = reply.tool_calls
    chat.send(
        results(reply.message, *("rain" for _ in calls)) if calls else "And in Rome?", **options
    )
    return emulator.heard[0], emulator.heard[-1]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every place in a body, from the outside in."""
    if path:
        yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        yield from leaves(each, (*path, key))


def faults(body: Any) -> list[Fault]:
    """Return everything that can be broken at one place."""
    found: list[Fault] = [("unknown", ()), ("no key", ()), ("not json", ())]
    for path in leaves(body):
        value = body
        for key in path:
            value = value[key]
        found += [("missing", path), ("mistyped", path)]
        if isinstance(value, dict):
            found.append(("unknown", path))
        if isinstance(value, str):
            found.append(("bogus", path))
        if isinstance(value, int | float) and not isinstance(value, bool):
            found += [("negative", path), ("huge", path)]
        if isinstance(value, list):
            found.append(("empty", path))
    return found


def broken(http: HttpRequest, *chosen: Fault) -> HttpRequest | None:
    """Return the request with these faults in it; None where one leaves no place for the next."""
    headers, body = dict(http.headers), deepcopy(msgspec.json.decode(http.body))
    raw = b""
    for kind, path in chosen:
        if kind == "no key":
            headers = {
                k: v for k, v in headers.items() if k in ("content-type", "anthropic-version")
            }
            continue
        if kind == "not json":
            raw = b"{"
            continue
        try:
            _break(body, kind, path)
        except (KeyError, IndexError, TypeError):
            return None
    return HttpRequest(http.method, http.url, headers, raw or msgspec.json.encode(body))


def _break(body: Any, kind: str, path: tuple[Any, ...]) -> None:
    if kind == "unknown":
        at = body
        for key in path:
            at = at[key]
        at["surprise"] = 1
        return
    *above, last = path
    at = body
    for key in above:
        at = at[key]
    if kind == "missing":
        del at[last]
        return
    before = at[last]
    at[last] = {
        "mistyped": 7 if isinstance(before, str) else "seven",
        "bogus": "bogus",
        "negative": -3,
        "huge": 10**6,
        "empty": [],
    }[kind]


def label(chosen: tuple[Fault, ...]) -> str:
    return " + ".join(f"{kind} {'.'.join(map(str, path))}".strip() for kind, path in chosen)


def cases(provider: str) -> Iterator[tuple[str, HttpRequest]]:
    """Yield every case of a provider by its name."""
    chance = random.Random(provider)
    for number, http in enumerate(requests(provider), 1):
        yield f"turn {number}", http
        each = faults(msgspec.json.decode(http.body))
        chosen: list[tuple[Fault, ...]] = [(fault,) for fault in each]
        chosen += [tuple(chance.sample(each, 2)) for _ in range(PAIRS)]
        for several in chosen:
            if (made := broken(http, *several)) is not None:
                yield f"turn {number}: {label(several)}", made


def row(http: HttpRequest) -> str:
    status, said = answer(http)
    return f"{status} {sha256(said).hexdigest()[:16]}"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_answer_and_every_refusal_is_as_it_was(provider):
    file = FOLDER / f"{provider}.tsv"
    now = {name: row(http) for name, http in cases(provider)}
    if WRITES:
        file.write_text("".join(f"{name}\t{said}\n" for name, said in now.items()), "utf-8")
    before = dict(line.split("\t") for line in file.read_text("utf-8").splitlines())
    differs = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    assert not differs


def test_the_faults_are_refused_for_more_than_a_few_reasons():
    said = {answer(http)[1] for _, http in cases("anthropic")}
    assert len(said) > 100

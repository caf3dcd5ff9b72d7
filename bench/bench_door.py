"""The gateway while 1,400 idle and slow clients hold connections: what the others notice."""

import http.client
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import quantiles
from subprocess import PIPE, Popen
from urllib.parse import urlsplit

from crowd import BODIES, HEADS, IDLE
from gates import Gate, pinned, pondero, running
from lab import Lab, Row
from loopback import serving

GOAL = 50.0  # ms
_PROBES = 200
_SPACING = 0.05  # seconds: the probes take as long as a head may, so that the crowd is renewed
_BODY = json.dumps(
    {
        "model": "claude-opus-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "bench short ; one question"}],
    }
)
PROBES = {
    "/health": ("GET", "/health", None),
    "a request": ("POST", "/v1/messages", _BODY),
}


def measure(lab: Lab) -> Iterator[Row]:
    """Ask a gateway that nobody else uses, then the same one with the crowd at its door."""
    if sys.platform != "linux":
        print("  a gateway is kept on one core as only Linux can")
        return
    with pinned() as core, serving() as upstream:

        def command(port: int) -> list[str | Path]:
            return pondero(lab, f"{upstream}/asked", port)

        with running(partial(command), core) as gate:
            _probe(gate)  # the first requests read files
            quiet = _probe(gate)
            with _crowd(lab, gate):
                busy = _probe(gate)
    who = f"{IDLE:,} idle, {HEADS} slow heads, {BODIES} slow bodies"
    for name in PROBES:
        for state, found, goal in (("alone", quiet, None), (who, busy, GOAL)):
            for percentile in (50, 99):
                value = found[name][percentile - 1]
                limit = goal if name == "/health" else None
                yield Row(f"{name}, {state}: p{percentile}", value, "ms", limit)


def _probe(gate: Gate) -> dict[str, list[float]]:
    """Return the percentiles of each probe in ms, every one on a connection of its own."""
    found: dict[str, list[float]] = {name: [] for name in PROBES}
    for _ in range(_PROBES):
        for name, asked in PROBES.items():
            found[name].append(1e3 * _ask(gate, *asked))
        time.sleep(_SPACING)
    return {name: quantiles(values, n=100) for name, values in found.items()}


def _ask(gate: Gate, method: str, path: str, body: str | None) -> float:
    connection = http.client.HTTPConnection(urlsplit(gate.url).netloc, timeout=60)
    begun = time.perf_counter()
    connection.request(method, path, body, {"x-api-key": "sk-bench"})
    answer = connection.getresponse()
    answer.read()
    took = time.perf_counter() - begun
    connection.close()
    if answer.status != 200:
        message = f"{method} {path} was answered with {answer.status}"
        raise AssertionError(message)
    return took


@contextmanager
def _crowd(lab: Lab, gate: Gate) -> Iterator[None]:
    where = urlsplit(gate.url)
    program = Path(__file__).with_name("crowd.py")
    words = [str(lab.python), str(program), str(where.hostname), str(where.port)]
    with Popen(words, stdin=PIPE, stdout=PIPE) as crowd:
        assert crowd.stdin is not None  # noqa: S101 - it is a pipe
        assert crowd.stdout is not None  # noqa: S101 - it is a pipe
        with crowd.stdin:
            crowd.stdout.readline()
            yield

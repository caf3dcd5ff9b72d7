"""Law of counting while workers are killed: no view shows less than the service served.

A real gateway with two workers and Redis; the service behind it writes slowly, so that every kill
hits open answers. The name of the model is the number of the request, also in the ledger.
"""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.gateway.counting_service import CountingService, Script, Served
from tests.gateway.redis_server import RedisServer
from tests.gateway.test_counting import Asked, write

from pondero.canon import HttpRequest
from pondero.gateway.config.secrets import hash_key

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="finds workers in /proc"
)

MAIN = "from pondero.cli import main; main()"
APIS = ("messages", "chat", "responses", "gemini")
TO = {
    "a": "anthropic:claude-opus-5",
    "o": "openai:gpt-5.5",
    "d": "deepseek:deepseek-v4-pro",
    "g": "google:gemini-3-flash-preview",
}
REQUESTS = 96
KILLS = 4
GAP = 0.02  # seconds between two frames of an answer
_NUMBER = re.compile(rb"\(r(\d+)\)")
_ROWS = (
    "SELECT said, coalesce(input, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0) "
    "+ coalesce(output, 0) + coalesce(thinking, 0), estimated FROM pondero_receipts "
    "WHERE key = 'ci'"
)


class SlowService:
    """The counting service on a port; it writes its frames slowly."""

    def __init__(self) -> None:
        self.counting = CountingService()
        self.served: dict[int, list[Served]] = defaultdict(list)

    def answer(self, http: BaseHTTPRequestHandler) -> None:
        body = http.rfile.read(int(http.headers["content-length"]))
        found = _NUMBER.search(body)
        assert found is not None, body
        self.counting.scripts = [Script(thinking=0 if b"deepseek" in body else 700)]
        request = HttpRequest("POST", f"http://service{http.path}", {}, body)
        answer = asyncio.run(self.counting.send(request, None))
        self.served[int(found[1])].append(answer._row)
        http.send_response(answer.head.status)
        http.send_header("content-type", answer.head.headers["content-type"])
        http.end_headers()
        with suppress(ConnectionError):
            for frame in answer._frames:
                http.wfile.write(frame)
                http.wfile.flush()
                sleep(GAP)


@contextmanager
def serving(service: SlowService) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            service.answer(self)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def configuration(state: str, upstream: str) -> str:
    lines = [f'[server]\nworkers = 2\nstate = "{state}"\nlog = "off"\ndrain_seconds = 5']
    for name, to in TO.items():
        provider = to.partition(":")[0]
        lines += [
            f'[provider.{provider}]\nurl = "{upstream}"\nkey = "env:PONDERO_TEST_KEY"',
            f'[[route]]\nmatch = "{name}-*"\nto = ["{to}"]\nretries = 1',
        ]
    budget = "budget = { tokens = 1000000000, per = 'month' }"
    lines.append(f'[[key]]\nname = "ci"\nhash = "{hash_key("the-key")}"\n{budget}')
    lines.append(f'[[key]]\nname = "admin"\nhash = "{hash_key("the-admin-key")}"\nadmin = true')
    return "\n".join(lines) + "\n"


@contextmanager
def running(folder: Path, config: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    (folder / "gateway.toml").write_text(config)
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--config", str(folder / "gateway.toml")],
        env={
            **os.environ,
            "PONDERO_DATA_DIR": str(folder / "data"),
            "PONDERO_TEST_KEY": "sk-test",
        },
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[2], process
        finally:
            process.terminate()
            process.wait(timeout=60)


def find_workers(process: subprocess.Popen[str]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(child) for child in children.split()]


def until(true: Callable[[], bool]) -> None:
    end = monotonic() + 30
    while monotonic() < end:
        if true():
            return
        sleep(0.05)
    raise AssertionError("it never came true")


def ask(url: str, number: int) -> str:
    """Send one request; return how it ended for the client."""
    model = f"{list(TO)[number // len(APIS) % len(TO)]}-{number}"
    http = write(Asked(api=APIS[number % len(APIS)], model=model, stream=number % 3 != 0))
    body = http.body.replace(b"17 * 23", b"17 * 23 (r%d)" % number)
    address = url + http.url.removeprefix("http://gateway")
    try:
        answer = httpx2.post(address, content=body, headers=dict(http.headers), timeout=60)
    except httpx2.HTTPError:
        return "killed"
    return "answered" if answer.status_code == 200 else f"rejected: {answer.text}"


def _has_served(service: SlowService, mark: int) -> bool:
    return len(service.served) >= mark


def kill_some(service: SlowService, process: subprocess.Popen[str]) -> None:
    """Kill a worker whenever so many requests have reached the service."""
    for count in range(1, KILLS + 1):
        mark = count * REQUESTS // (KILLS + 2)
        until(partial(_has_served, service, mark))
        until(lambda: len(find_workers(process)) == 2)
        os.kill(find_workers(process)[count % 2], signal.SIGKILL)


def show(url: str, path: str) -> httpx2.Response:
    headers = {"authorization": "Bearer the-admin-key"}
    transport = httpx2.HTTPTransport(retries=3)
    with httpx2.Client(timeout=60, transport=transport) as client:
        return client.get(url + path, headers=headers)


def read_budget(url: str) -> int:
    (key,) = [each for each in show(url, "/admin/keys").json()["keys"] if each["name"] == "ci"]
    return int(key["bounds"][0]["taken"])


def read_metrics(url: str) -> int:
    families = text_string_to_metric_families(show(url, "/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    tokens = [each for each in samples if each.name == "pondero_tokens_total"]
    return int(sum(each.value for each in tokens if each.labels["key"] == "ci"))


def read_console(url: str) -> dict[str, tuple[int, bool]]:
    rows, page = list[Any](), "/admin/requests"
    while page:
        found = show(url, page).json()
        rows += found["requests"]
        page = found["next"] and f"/admin/requests?before={quote(found['next'])}"
    names = ("input", "cached", "answer", "thinking")
    return {
        row["requested_model"]: (sum(row[name] or 0 for name in names), row["estimated"])
        for row in rows
    }


def read_ledger(folder: Path) -> dict[str, tuple[int, bool]]:
    with sqlite3.connect(folder / "data" / "gateway.db") as database:
        return {said: (tokens, bool(mark)) for said, tokens, mark in database.execute(_ROWS)}


def test_no_view_shows_less_than_was_served_by_killed_workers(
    tmp_path: Path, redis: RedisServer
) -> None:
    service = SlowService()
    with (
        serving(service) as upstream,
        running(tmp_path, configuration(redis.url, upstream)) as (url, process),
    ):
        killer = Thread(target=kill_some, args=(service, process))
        killer.start()
        with ThreadPoolExecutor(12) as pool:
            ends = Counter(pool.map(lambda number: ask(url, number), range(REQUESTS)))
        killer.join()
        assert set(ends) == {"answered", "killed"}
        until(lambda: {_number(said) for said in read_ledger(tmp_path)} >= service.served.keys())
        until(lambda: read_metrics(url) >= sum(each for each, _ in read_ledger(tmp_path).values()))
        until(lambda: read_console(url) == read_ledger(tmp_path))
        ledger, budget = read_ledger(tmp_path), read_budget(url)
    for said, (tokens, estimated) in ledger.items():
        served = sum(row.total for row in service.served[_number(said)])
        assert tokens >= served if estimated else tokens == served, said
    # A budget that was settled just before the kill is exact where the ledger has an estimate.
    assert budget >= sum(row.total for rows in service.served.values() for row in rows)
    assert budget >= sum(tokens for tokens, estimated in ledger.values() if not estimated)
    exact = sum(not estimated for _, estimated in ledger.values())
    assert exact >= ends["answered"] // 2  # estimates hide nothing


def _number(said: str) -> int:
    return int(said.partition("-")[2])

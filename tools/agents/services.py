"""The two servers that agents run against: `pondero serve` in front of the emulator."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.gateway import Routing, load_config
from pondero.store import load_catalog

UPSTREAMS: Mapping[str, str] = {
    "claude-opus-5": "anthropic:claude-opus-5",
    "claude-sonnet-4-5": "anthropic:claude-sonnet-4-5",
    "gpt-5.5": "openai:gpt-5.5",
    "gemini-3-flash-preview": "google:gemini-3-flash-preview",
    "deepseek-v4-flash": "deepseek:deepseek-v4-flash",
    "us.anthropic.claude-sonnet-4-5": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
"""The names that agents ask for, and the models that answer."""
_SMALL = "anthropic:claude-haiku-4-5"  # whatever else an agent asks for: titles, summaries
_PONDERO = (sys.executable, "-m", "pondero")
_TOP = "-top"  # after the name of a provider that takes a level at the top of a request alone
_PATIENCE = 10.0  # seconds until the last record is written


class Setup(Struct, frozen=True, kw_only=True):
    """What a gateway is to do: its upstreams by name, and further lines of its file.

    Without ``in_band`` its upstreams have no form for a level inside the conversation.
    """

    upstreams: Mapping[str, str]
    lines: tuple[str, ...] = ()
    in_band: bool = True


class Services(Struct, frozen=True):
    """The gateway's address and routes, the file of its records, and the emulator behind it."""

    url: str
    routing: Routing
    records_file: Path
    emulator: Emulator
    requests: list[HttpRequest]

    def reset(self) -> None:
        """Forget what was asked so far."""
        self.emulator.reset()
        self.requests.clear()
        self.records_file.write_bytes(b"")

    def entries(self) -> list[dict[str, Any]]:
        """Return what the emulator was asked since, and what came of it."""
        found: list[dict[str, Any]] = msgspec.to_builtins(self.emulator.log.entries)
        return found

    def records(self) -> list[dict[str, Any]]:
        """Return the gateway's records since, once there is one for each answer."""
        answered = sum(entry.status is not None for entry in self.emulator.log.entries)
        until = time.monotonic() + _PATIENCE
        while True:
            lines = self.records_file.read_bytes().splitlines()
            records = [msgspec.json.decode(line) for line in lines]
            if sum("model" in record for record in records) >= answered or time.monotonic() > until:
                return records
            time.sleep(0.1)


def find_rejections(entries: list[dict[str, Any]]) -> list[str]:
    """Return what the emulator rejected, also what the agent repaired by itself."""
    return [
        f"{each['service']} rejected {each['path']} with {each['status']}: {each['refusal']}"
        for each in entries
        if (each.get("status") or 0) >= 400 and each.get("refusal")
    ]


class _RecordedEmulator(Emulator):
    """An emulator that keeps the bytes of every request."""

    def __init__(self, requests: list[HttpRequest]) -> None:
        super().__init__()
        self._requests = requests

    def send(self, request: HttpRequest, *more: Any) -> Any:
        self._requests.append(request)
        return super().send(request, *more)


@contextmanager
def run_services(folder: Path, setup: Setup) -> Iterator[Services]:
    """Run both servers on free ports while the block runs; ``folder`` is for their files."""
    env = {name: text for name, text in os.environ.items() if not name.endswith("_BASE_URL")}
    env |= {"PONDERO_CONFIG_DIR": str(folder), "PONDERO_DATA_DIR": str(folder)}
    env |= {key: "any" for provider in _providers(setup) for key in provider.keys}
    requests: list[HttpRequest] = []
    emulator = _RecordedEmulator(requests)
    with run_emulator_in_thread(emulator) as address:
        records = folder / "records.jsonl"
        records.write_bytes(b"")
        usual = _write_config(folder / "usual.toml", setup, address, records)
        routing = Routing(load_config(str(usual), load_catalog(), offline=False), load_catalog())
        served = usual if setup.in_band else _write_without_form(folder, setup, address, records)
        with _run(["serve", "--config", str(served), "--port", "0"], env) as url:
            yield Services(url, routing, records, emulator, requests)


@contextmanager
def _run(arguments: list[str], env: Mapping[str, str]) -> Iterator[str]:
    """Start a server and yield the address that it prints first."""
    with subprocess.Popen(
        [*_PONDERO, *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield next(word for word in line.split() if word.startswith("http://"))
        finally:
            process.terminate()


def _providers(setup: Setup) -> list[Any]:
    models = (*setup.upstreams.values(), _SMALL)
    found = {each.name: each for each in (load_catalog().entry(name).provider for name in models)}
    return list(found.values())


def _find_url(provider: Any, emulator: str) -> str:
    return f"{emulator}/{provider.name}{urlsplit(provider.url).path}"


def _write_config(file: Path, setup: Setup, emulator: str, records: Path, mark: str = "") -> Path:
    """Write a gateway.toml with a route for each upstream, and the emulator as every provider."""
    lines = ["[server]", 'ledger = "off"', f'log = "{records}"']
    for name, model in (*setup.upstreams.items(), ("*", _SMALL)):
        to = model.replace(":", f"{mark}:", 1)
        lines += ["", "[[route]]", f'match = "{name}"', f'to = "{to}"', "retries = 0"]
    for provider in _providers(setup):
        url = _find_url(provider, emulator)
        lines += ["", f"[provider.{provider.name}{mark}]", f'url = "{url}"']
    file.write_text("\n".join([*lines, "", *setup.lines, ""]), encoding="utf-8")
    return file


def _write_without_form(folder: Path, setup: Setup, emulator: str, records: Path) -> Path:
    """Write a gateway.toml whose providers are the same without a level inside a conversation."""
    own = folder / "providers"
    own.mkdir()
    for provider in _providers(setup):
        text = f'like = "{provider.name}"\nin_band = []\n'
        (own / f"{provider.name}{_TOP}.toml").write_text(text, encoding="utf-8")
    return _write_config(folder / "top.toml", setup, emulator, records, _TOP)

"""The two servers that agents run against: `pondero serve` in front of `pondero emulate`."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from msgspec import Struct

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


class Services(Struct, frozen=True):
    """The gateway's address and routes, and the emulator behind it."""

    url: str
    routing: Routing
    emulator: str

    def reset(self) -> None:
        """Forget what was asked so far."""
        httpx2.post(f"{self.emulator}/_emulator/reset").raise_for_status()

    def entries(self) -> list[dict[str, Any]]:
        """Return what the emulator was asked since, and what came of it."""
        found: list[dict[str, Any]] = httpx2.get(f"{self.emulator}/_emulator/log").json()[
            "exchanges"
        ]
        return found


@contextmanager
def run_services(folder: Path) -> Iterator[Services]:
    """Run both servers on free ports while the block runs; ``folder`` is for their files."""
    env = {name: text for name, text in os.environ.items() if not name.endswith("_BASE_URL")}
    env |= {"PONDERO_CONFIG_DIR": str(folder), "PONDERO_DATA_DIR": str(folder)}
    with _run(["emulate", "--port", "0", "--quiet"], env) as emulator:
        file = folder / "gateway.toml"
        file.write_text(_write_config(emulator), encoding="utf-8")
        keys = {key: "any" for provider in _providers() for key in provider.keys}
        with _run(["serve", "--config", str(file), "--port", "0"], env | keys) as url:
            routing = Routing(load_config(str(file), load_catalog(), offline=False), load_catalog())
            yield Services(url, routing, emulator)


@contextmanager
def _run(arguments: list[str], env: Mapping[str, str]) -> Iterator[str]:
    """Start a server and yield the address that it prints first."""
    process = subprocess.Popen(
        [*_PONDERO, *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        yield next(word for word in line.split() if word.startswith("http://"))
    finally:
        process.terminate()
        process.wait()


def _providers() -> list[Any]:
    models = (*UPSTREAMS.values(), _SMALL)
    return [load_catalog().entry(model).provider for model in models]


def _write_config(emulator: str) -> str:
    """Return a gateway.toml with a route for each upstream, and the emulator as every provider."""
    lines = ["[server]", 'ledger = "off"', 'log = "off"']
    for name, model in (*UPSTREAMS.items(), ("*", _SMALL)):
        lines += ["", "[[route]]", f'match = "{name}"', f'to = "{model}"', "retries = 0"]
    for provider in {each.name: each for each in _providers()}.values():
        path = urlsplit(provider.url).path
        lines += ["", f"[provider.{provider.name}]", f'url = "{emulator}/{provider.name}{path}"']
    return "\n".join(lines) + "\n"

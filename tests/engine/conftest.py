"""A real llama.cpp server of this machine, and our client pointed at it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
from tests.engine.scripted import write

import pondero
from pondero.canon import HttpRequest
from pondero.client import dial, load_catalog
from pondero.exchange import Timeouts
from pondero.transport import HttpTransport
from pondero.transport.http import HttpResponseStream

ROOT = Path(__file__).parents[2]

# The engine's two other wires, described as a user would describe them: two providers, two models.
FILES = {
    "providers/engine-responses.toml": """
like = "openai"
label = "llama.cpp (Responses)"
url = "{url}/v1"
url_env = []
keys = []
auth = "none"
families = []
source = "the engine's own answers"
checked = "2026-11-15"
""",
    "providers/engine-messages.toml": """
like = "anthropic"
label = "llama.cpp (Messages)"
url = "{url}"
url_env = []
keys = []
auth = "none"
families = []
source = "the engine's own answers"
checked = "2026-11-15"
""",
    "models.toml": """
[[model]]
match = ["spoken"]
provider = "engine-responses"
style = "effort"
off = true
efforts = ["low", "medium", "high", "max"]
default = "medium"

[[model]]
match = ["written"]
provider = "engine-messages"
style = "adaptive_budget"
off = true
efforts = ["low", "medium", "high", "max"]
budget = {{ min = 1, max = 1000 }}
default = "medium"
max_output = 4000
""",
}


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running engine."""
    pytest.importorskip("xllamacpp", reason="the engine's wheel is not installed")
    model = write(tmp_path_factory.mktemp("engine") / "scripted.gguf")
    command = [sys.executable, "-m", "tests.engine.serving", str(model)]
    with Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, "the engine did not start"
        with urlopen(f"{url}/health", timeout=30) as answer:
            assert answer.status == 200
        yield url
        process.communicate()  # ends its input, and so the engine


def _forget() -> None:
    for cached in (load_catalog, dial.load_policy, dial._entry):
        cached.cache_clear()


@pytest.fixture
def _wires(engine, config_dir, monkeypatch) -> Iterator[None]:
    (config_dir / "providers").mkdir()
    for name, text in FILES.items():
        (config_dir / name).write_text(text.format(url=engine))
    monkeypatch.setenv("LLAMACPP_BASE_URL", engine)
    _forget()
    yield
    _forget()


class Overheard(HttpTransport):
    """The default transport, which remembers what was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[dict[str, Any]] = []

    def send(self, request: HttpRequest, timeouts: Timeouts) -> HttpResponseStream:
        self.bodies.append(msgspec.json.decode(request.body))
        return super().send(request, timeouts)


@pytest.fixture
def wire(_wires) -> Iterator[Overheard]:
    transport = Overheard()
    yield transport
    transport.close()


@pytest.fixture
def client(wire) -> pondero.Client:
    """A client as anyone has it. It tries again: see test_connections."""
    return pondero.Client(transport=wire)

"""A real llama.cpp server of this machine, and our client pointed at it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

import pytest

import pondero
from pondero.client import dial
from pondero.exchange import Retry
from tests.engine.scripted import CONTEXT, write

if TYPE_CHECKING:
    from xllamacpp import Server

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

CHAT = "llamacpp:scripted"
RESPONSES = "engine-responses:spoken"
MESSAGES = "engine-messages:written"
WIRES = (CHAT, RESPONSES, MESSAGES)


class Engine(NamedTuple):
    """A running server; it stops when nobody holds it any more."""

    server: "Server"

    @property
    def url(self) -> str:
        return str(self.server.listening_address)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    llama = pytest.importorskip("xllamacpp", reason="the engine's wheel is not installed")
    params = llama.CommonParams()
    params.model.path = str(write(tmp_path_factory.mktemp("engine") / "scripted.gguf"))
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.verbosity = 0
    started = Engine(llama.Server(params))
    with urlopen(f"{started.url}/health", timeout=30) as answer:
        assert answer.status == 200
    return started


def _forget() -> None:
    for cached in (dial.lookup, dial.your_policy, dial._entry):
        cached.cache_clear()


@pytest.fixture
def _wires(engine, config_dir, monkeypatch) -> Iterator[None]:
    (config_dir / "providers").mkdir()
    for name, text in FILES.items():
        (config_dir / name).write_text(text.format(url=engine.url))
    monkeypatch.setenv("LLAMACPP_BASE_URL", engine.url)
    _forget()
    yield
    _forget()


@pytest.fixture
def client(_wires) -> Iterator[pondero.Client]:
    with pondero.Client(retry=Retry(attempts=1)) as ours:
        yield ours

"""What every test can rely on: no network, no keys, no config of whoever runs it."""

import asyncio
import gc
import os
import re
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pondero.store import secrets

# Names under which services and their SDKs look for credentials, addresses and regions.
_FROM_OUTSIDE = re.compile(
    r"(.*_)?(API_KEY|API_TOKEN|AUTH_TOKEN|ACCESS_KEY|ACCESS_TOKEN|SECRET_KEY|BASE_URL|API_BASE)"
    r"|(ANTHROPIC|AWS|AZURE|CLOUDSDK|GEMINI|GOOGLE|OLLAMA|OPENAI|OPENROUTER|VERTEX)_.*"
    r"|HF_TOKEN|CLOUD_ML_REGION"
)
_SKIP = "PONDERO_SKIP_CONTRACT"
_OURS = {
    "PONDERO_RECORDINGS",
    "PONDERO_AGENTS",
    "PONDERO_JS",
    _SKIP,
}  # the only settings of ours that a test run may be given
_LEAVES_OPEN = pytest.StashKey[bool]()
_LONGEST = 300  # seconds that a test may take; the slowest takes a tenth of it on a busy machine
_CONTRACTS = Path(__file__).parent / "contract"
_SKIPPED = (
    f"WARNING: {_SKIP} is set.",
    "No contract was checked: nothing here says that any provider works.",
)

# A runner in the background ignores these, and so would every program that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Wall-clock checks say more about the machine than about the code.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _UNTIMED, max_examples=100, derandomize=True)
settings.register_profile("quick", _UNTIMED, max_examples=10, derandomize=True)
settings.register_profile("deep", _UNTIMED, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure() -> None:
    for name in list(os.environ):
        ours = name.startswith("PONDERO_") and name not in _OURS
        if ours or _FROM_OUTSIDE.fullmatch(name):
            del os.environ[name]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a test that waits for ever: it fails with the place where it waited."""
    if not hasattr(signal, "SIGALRM"):
        return (yield)

    def late(*_: object) -> None:
        pytest.fail(f"{item.nodeid} took longer than {_LONGEST} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_LONGEST)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _skips_contracts() -> bool:
    return os.environ.get(_SKIP, "").strip().lower() not in ("", "0", "false", "no", "off")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _skips_contracts():
        for item in items:
            if item.path.is_relative_to(_CONTRACTS):
                item.add_marker(pytest.mark.skip(reason=f"{_SKIP} is set"))


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later look for garbage: it stays."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skips_contracts():
        rule = "!" * max(map(len, _SKIPPED))
        for line in (rule, *_SKIPPED, rule):
            terminalreporter.write_line(line, yellow=True, bold=True)


@pytest.fixture
def leaves_open(request: pytest.FixtureRequest) -> None:
    """For libraries of others that leave connections and loops open: a later test is not blamed."""
    request.node.stash[_LEAVES_OPEN] = True


@pytest.hookimpl(specname="pytest_runtest_protocol", wrapper=True)
def pytest_collect_what_is_left_open(item: pytest.Item) -> Iterator[None]:
    """Collect it when the test has ended: until then its fixtures keep their clients alive."""
    try:
        return (yield)
    finally:
        if item.stash.get(_LEAVES_OPEN, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                asyncio.set_event_loop(None)
                gc.collect()


@pytest.fixture(scope="session", autouse=True)
def _nobodys_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PONDERO_CONFIG_DIR", str(tmp_path_factory.mktemp("no-config")))
        patch.setenv("PONDERO_DATA_DIR", str(tmp_path_factory.mktemp("no-data")))
        patch.delenv(_SKIP, raising=False)
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        yield


@pytest.fixture(autouse=True)
def _nobodys_secrets() -> Iterator[None]:
    """Forget the keys that a test used: a later test may send a text that contains one."""
    before = frozenset(secrets._in_use)  # a process itself never forgets one
    yield
    secrets._in_use.intersection_update(before)


@pytest.fixture
def config_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's config folder of this test alone: empty, and free to be written to."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this test's threads alone: empty, and free to be written to."""
    folder = tmp_path / "data"
    monkeypatch.setenv("PONDERO_DATA_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of real exchanges; a test that asks for it skips where there is none."""
    named = os.environ.get("PONDERO_RECORDINGS")
    if not named:
        pytest.skip("PONDERO_RECORDINGS names no folder of real exchanges")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"PONDERO_RECORDINGS names {named!r}, which is no folder")
    return folder

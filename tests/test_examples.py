"""Every public name has a docstring with an example, and every example does what it shows."""

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import pondero
import pondero.emulator
import pondero.sdk
import pondero.vcr
from pondero.client import default_client
from pondero.emulator import Emulator, Fault
from pondero.vcr import Cassette

ROOT = Path(__file__).parents[1]
PAGES = [(ROOT / "docs" / "reference" / f"{name}.md").read_text("utf-8") for name in ("api", "api-testing", "api-sweep")]  # fmt: skip
NAMES = [name for page in PAGES for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)]
VALUES = {
    "pondero.Event": "canon/events.py",
    "pondero.Level": "thinking/intent.py",
    "pondero.Part": "canon/parts.py",
    "pondero.ThinkingLike": "thinking/intent.py",
    "pondero.emulator.SERVER": "emulator/server.py",
}
"""Values that have no docstring at run time, and the files where one stands below them."""
FAULTS = {
    "AuthFailed": 401,
    "ContextTooLong": Fault(kind="status", status=400, message="prompt is too long"),
    "Overloaded": 529,
    "RateLimited": "429 2.5",
    "Refused": Fault(kind="status", status=400, code="content_policy_violation"),
    "ServiceError": 500,
    "Timeout": "hang",
    "TransportError": "refused",
    "WireError": "no_end",
}
"""What goes wrong in the example of an error."""
SKIPPED = {"pondero.emulator.run"}  # serves until it is interrupted


def _resolved(name):
    """Return what a name of the reference is; a fixture is the function under it."""
    value = pondero
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return inspect.unwrap(getattr(value, "_get_wrapped_function", lambda: value)())


def _documented():
    """Yield every name with an example: those of the reference, and methods of its classes."""
    for name in NAMES:
        if name in VALUES:
            yield name, _below(VALUES[name], name.rpartition(".")[2])
            continue
        value = _resolved(name)
        yield name, inspect.getdoc(value) or ""
        if inspect.isclass(value):
            for method, function in inspect.getmembers(value, inspect.isfunction):
                doc = inspect.getdoc(function) or ""
                if not method.startswith("_") and ">>>" in doc:
                    yield f"{name}.{method}", doc


def _below(file, name):
    """Return the text that stands below a value in a file."""
    body = ast.parse((ROOT / "src" / "pondero" / file).read_text("utf-8")).body
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return inspect.cleandoc(after.value.value)
    raise AssertionError(name)


def test_every_public_name_is_in_the_reference():
    public = {
        *(f"pondero.{name}" for name in pondero.__all__),
        *(f"pondero.emulator.{name}" for name in pondero.emulator.__all__),
        *(f"pondero.sdk.{name}" for name in pondero.sdk.__all__),
        *(f"pondero.vcr.{name}" for name in pondero.vcr.__all__),
    }
    assert sorted(public - {*NAMES, "pondero.sweep"}) == []  # the room is a function: sweep.sweep
    assert "pondero.sweep.sweep" in NAMES
    assert len(NAMES) == len(set(NAMES))


@pytest.fixture
def stage(tmp_path, monkeypatch, config_dir, data_dir):
    """A folder with the files that examples name, and services that answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 8)
    with pondero.Client(transport=Cassette("sums.jsonl", Emulator(), record=True)) as client:
        client.ask("claude-opus-5/high", "What is 17 * 23?")
    server = ROOT / "tests" / "client" / "mcp_server.py"
    (config_dir / "config.toml").write_text(
        f'[mcp.files]\ncommand = "{sys.executable}"\nargs = ["{server}"]\n'
    )
    monkeypatch.setattr(pondero.Client, "_make_http_transport", lambda _: Service())
    monkeypatch.setattr(pondero.AsyncClient, "_make_http_transport", lambda _: Service())
    monkeypatch.setattr(default_client, "_SHARED", {})
    monkeypatch.setattr(default_client, "_ASHARED", {})
    monkeypatch.setattr(default_client, "_close_at_exit", lambda client: client)
    for name in ("ANTHROPIC", "OPENAI", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-planted-{name}")


class Service(Emulator):
    """What answers where an example asks a real service: the emulator, but for its keys."""

    needs_key = True


def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"{city}: sunny"


def _names(name):
    """Return the names that examples take for granted."""
    fault = FAULTS.get(name.removeprefix("pondero."))
    emulator = Emulator(faults=[fault] if fault is not None else [])
    client = pondero.Client(transport=emulator, retry=pondero.Retry(attempts=1))
    return {
        "pondero": pondero,
        "pytest": pytest,
        "client": client,
        "aclient": pondero.AsyncClient(transport=Emulator()),
        "chat": pondero.Chat("claude-opus-5/high", tools=[get_weather], client=client),
        "get_weather": get_weather,
    }


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    ("name", "doc"), [pytest.param(*each, id=each[0]) for each in _documented()]
)
def test_an_example_does_what_it_shows(name, doc, stage):
    examples = doctest.DocTestParser().get_examples(doc)
    assert examples, "its docstring has no example"
    if "anthropic." in doc:
        pytest.importorskip("anthropic")
    skipped = [each for each in examples if doctest.SKIP in each.options]
    assert bool(skipped) is (name in SKIPPED)
    asyncio.run(_run(examples, _names(name)))


async def _run(examples, names):
    """Run examples as a prompt would that understands await, and compare what they print."""
    for example in examples:
        if doctest.SKIP in example.options:
            continue
        code = compile(example.source, "example", "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if code.co_flags & inspect.CO_COROUTINE:
                await eval(code, names)
            else:
                await asyncio.to_thread(eval, code, names)
        fits = doctest.OutputChecker().check_output
        got = f"{printed.getvalue().rstrip(chr(10))}\n".removeprefix("\n")
        assert fits(example.want, got, doctest.ELLIPSIS), f"{example.source}{got}"

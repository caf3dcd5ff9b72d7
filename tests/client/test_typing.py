"""What type checkers say of programs that use pondero: of a right one nothing, of a wrong one all.

Right are ``typed_program.py`` and every block of Python in the documentation. Each misuse stands on
a line of its own, and mypy and pyright must both refuse that line, in at most ten lines.
"""

import asyncio
from pathlib import Path
from typing import get_args

import pytest
from tests.client import typed_program
from tests.client.type_checkers import CHECKERS, doc_programs, is_installed, run_mypy

import pondero
from pondero.emulator import Emulator
from pondero.thinking import CHOICES, LEVELS, TOKENS, Level, PolicyDict
from pondero.thinking.intent import ALIASES

HEAD = """\
import asyncio
from dataclasses import dataclass
import pondero

@dataclass
class City:
    name: str

MODEL = "claude-opus-5"
client = pondero.Client()
twin = pondero.AsyncClient()
chat = pondero.Chat(MODEL)
"""
MISUSES = """\
pondero.plan(MODEL, object())
pondero.plan(MODEL, max_token=7)
pondero.plan(MODEL, max_tokens="many")
pondero.plan(MODEL, policy={"unsupported": "stric"})
pondero.plan(MODEL, policy={"unsuported": "strict"})
pondero.levels(7)
pondero.models(7)
pondero.ask(MODEL, "Hello", max_tokens="many")
pondero.ask(MODEL, "Hello", max_token=7)
pondero.ask(MODEL, 7)
pondero.ask(MODEL, "Hello", timeout="5")
pondero.ask(MODEL, "Hello", headers={"x-team": 7})
asyncio.run(pondero.aask(MODEL, "Hello", object()))
client.ask(MODEL, "Hello", output=City).value.nam
client.ask(MODEL, "Hello").adjustments[0].cod
client.stream(MODEL, "Hello", output=City).reply.value.nam
chat.send("Hello", max_token=7)
chat.send("Hello", output=City).value.nam
pondero.Client(policy={"show": "all"})
pondero.Client(key={"anthropic": "k"})
pondero.Policy(unsupported="stric")
pondero.Policy(unsuported="strict")
pondero.Policy().but(off="none")
pondero.sdk.client("high").no_such_method()
pondero.Reply.no_such_field
pondero.no_such_name
pondero.decode(7)
pondero.Retry(attempts="many")
pondero.Timeouts(first_byte="long")
pondero.Chat(MODEL, max_step=7)
pondero.ask(7, "Hello")
client.prepare(MODEL, "Hello", object())
level: pondero.Level = "hgih"
client.ask(MODEL, "Hello", seed="7")
chat.thinking = object()
"""
MISSPELT = """\
pondero.plan(MODEL, "hgih")
pondero.ask(MODEL, "Hello", "hgih")
client.ask(MODEL, "Hello", "hgih")
client.stream(MODEL, "Hello", "hgih")
client.prepare(MODEL, "Hello", "hgih")
asyncio.run(twin.ask(MODEL, "Hello", "hgih"))
twin.stream(MODEL, "Hello", "hgih")
pondero.Chat(MODEL, "hgih")
pondero.AsyncChat(MODEL, "hgih")
"""
"""Levels that pyright reports. mypy sees a str in each; its plugin reports them."""
FURTHER = """\
pondero.ask("claude-opus-5/hgih", "Hello")
pondero.plan(MODEL, thinking_effort="hgih")
pondero.sdk.client("hgih")
"""
MOST_LINES, MOST_LETTERS = 10, 1_000


@pytest.fixture(scope="module", params=CHECKERS)
def found(request, tmp_path_factory):
    """Everything that one checker says, of one run over all programs."""
    folder = tmp_path_factory.mktemp("programs")
    for name, text in programs().items():
        (folder / name).write_text(text)
    (folder / "right.py").write_text(Path(typed_program.__file__).read_text())
    (folder / "misuse.py").write_text(HEAD + MISUSES)
    (folder / "misspelt.py").write_text(HEAD + MISSPELT)
    return request.param, CHECKERS[request.param](folder)


def programs():
    return {name: text for name, text in doc_programs() if is_installed(text)}


def reported(found, name, text):
    """Split the lines of a program after its head into reported and not."""
    lines = (HEAD + text).splitlines()
    wrong = range(HEAD.count("\n") + 1, len(lines) + 1)
    assert [line for file, line in found if file == name and line not in wrong] == []
    return {lines[line - 1]: found.get((name, line)) for line in wrong}


def test_the_programs_of_the_documentation_are_found():
    names = {name.rpartition("_")[0] for name in programs()}
    assert {"README", "docs_python", "docs_guides_levels", "docs_from_vendor_sdks"} <= names
    elsewhere = {name for name, text in doc_programs() if not is_installed(text)}
    assert {name.rpartition("_")[0] for name in elsewhere} <= {
        *("docs_plugins", "docs_recipes"),  # LangChain and litellm
        *("docs_from_litellm", "docs_from_vendor_sdks"),
        "docs_from_programs",  # other libraries alone; the checkers skip their types
    }


def test_every_right_program_passes(found):
    _, said = found
    wrong = ("misuse.py", "misspelt.py")
    assert {at: text for at, text in said.items() if at[0] not in wrong} == {}


def test_every_misuse_is_refused_in_a_few_lines(found):
    _, said = found
    texts = reported(said, "misuse.py", MISUSES)
    assert [line for line, text in texts.items() if text is None] == []
    assert {
        line: text
        for line, text in texts.items()
        if len(text.splitlines()) > MOST_LINES or len(text) > MOST_LETTERS
    } == {}


def test_pyright_reports_a_misspelt_level_and_mypy_takes_it_for_any_text(found):
    checker, said = found
    texts = reported(said, "misspelt.py", MISSPELT)
    silent = [line for line, text in texts.items() if text is None]
    assert silent == ([] if checker == "pyright" else list(texts))
    assert all("not a known level: use off minimal" in text for text in texts.values() if text)


def test_the_plugin_of_mypy_reports_every_level_in_the_source(tmp_path):
    (tmp_path / "right.py").write_text(Path(typed_program.__file__).read_text())
    (tmp_path / "misspelt.py").write_text(HEAD + MISSPELT + FURTHER)
    said = run_mypy(tmp_path, "plugins = pondero.mypy_plugin")
    texts = reported(said, "misspelt.py", MISSPELT + FURTHER)
    assert len(said) == len(texts)  # the right program passes
    assert all("unknown level 'hgih'; did you mean 'high'?" in text for text in texts.values())


def test_the_right_program_runs():
    typed_program.the_dial()
    typed_program.the_rest()
    with pondero.Client(transport=Emulator()) as client:
        typed_program.the_client(client)
        typed_program.the_chat(client)
    asyncio.run(typed_program.the_async_twins(pondero.AsyncClient(transport=Emulator())))


def test_the_words_for_type_checkers_are_those_of_the_dial():
    words = {word for part in get_args(Level) for word in get_args(part) or (part,)}
    assert words == {*LEVELS, *ALIASES, "on", "auto"}


def test_the_choices_for_type_checkers_are_those_of_the_policy():
    hints = PolicyDict.__annotations__
    assert set(hints) == {*CHOICES, *TOKENS}
    assert {name: get_args(hints[name]) for name in CHOICES} == CHOICES

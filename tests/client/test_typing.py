"""What type checkers say of programs that use pondero: of a right one nothing, of a wrong one all.

Each misuse stands on a line of its own, and mypy and pyright must both refuse that line.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from tests.client import typed_program

import pondero
from pondero.emulator import Emulator
from pondero.thinking import CHOICES, LEVELS, TOKENS, PolicyDict, Word
from pondero.thinking.intent import ALIASES

ROOT = Path(__file__).parents[2]
PROGRAM = Path(typed_program.__file__)

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
pondero.plan(MODEL, "hgih")
pondero.plan(MODEL, object())
pondero.plan(MODEL, thinking_effort="hgih")
pondero.plan(MODEL, max_tokens="many")
pondero.plan(MODEL, policy={"unsupported": "stric"})
pondero.plan(MODEL, policy={"unsuported": "strict"})
pondero.levels(7)
pondero.models(7)
pondero.ask(MODEL, "Hello", "hgih")
pondero.ask(MODEL, "Hello", max_tokens="many")
pondero.ask(MODEL, "Hello", max_token=7)
pondero.ask(MODEL, 7)
pondero.ask(MODEL, "Hello", timeout="5")
pondero.ask(MODEL, "Hello", headers={"x-team": 7})
asyncio.run(pondero.aask(MODEL, "Hello", object()))
client.ask(MODEL, "Hello", "hgih")
client.ask(MODEL, "Hello", output=City).value.nam
client.ask(MODEL, "Hello").plan.level
client.ask(MODEL, "Hello").adjustments[0].cod
client.stream(MODEL, "Hello", "hgih")
client.stream(MODEL, "Hello", output=City).reply.value.nam
client.prepare(MODEL, "Hello", "hgih")
twin.ask(MODEL, "Hello", "hgih")
twin.stream(MODEL, "Hello", "hgih")
chat.send("Hello", max_token=7)
chat.send("Hello", output=City).value.nam
chat.thinking = "hgih"
pondero.Chat(MODEL, "hgih")
pondero.AsyncChat(MODEL, "hgih")
pondero.Client(policy={"show": "all"})
pondero.Client(key={"anthropic": "k"})
pondero.Policy(unsupported="stric")
pondero.Policy(unsuported="strict")
pondero.Policy().but(off="none")
pondero.sdk.client("hgih")
pondero.sdk.client("high").no_such_method()
pondero.sdk.aclient("hgih")
pondero.Reply.no_such_field
pondero.no_such_name
pondero.decode(7)
pondero.Retry(attempts="many")
pondero.Timeouts(first_byte="long")
"""


def refused(command: list[str], file: Path) -> set[int]:
    """Return the lines of a file that a type checker refuses."""
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = set()
    for line in ran.stdout.splitlines():
        where, _, said = line.partition(" error: ")
        parts = where.rstrip(" -:").split(":")
        if said and Path(parts[0].strip()).name == file.name:
            found.add(int(parts[1]))
    assert bool(found) == (ran.returncode == 1), ran.stdout + ran.stderr
    return found


def checked(checker: str, file: Path, cache: Path) -> set[int]:
    if checker == "mypy":
        command = ["mypy", "--strict", "--no-error-summary", f"--cache-dir={cache}"]
        return refused([sys.executable, "-m", *command, str(file)], file)
    settings = {
        "include": [file.name],
        "extraPaths": [str(ROOT), str(ROOT / "src")],
        "typeCheckingMode": "strict",
        "reportUnknownMemberType": False,
        "reportUnusedExpression": False,
    }
    cache.mkdir()
    (cache / file.name).write_text(file.read_text())  # what it includes stands below its settings
    config = cache / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    python = f"--pythonpath={sys.executable}"
    return refused([sys.executable, "-m", "pyright", python, "-p", str(config)], file)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_right_program_passes(checker, tmp_path):
    assert checked(checker, PROGRAM, tmp_path / "cache") == set()


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_every_misuse_is_refused(checker, tmp_path):
    program = tmp_path / "misuse.py"
    program.write_text(HEAD + MISUSES)
    lines = program.read_text().splitlines()
    wrong = range(HEAD.count("\n") + 1, len(lines) + 1)

    found = checked(checker, program, tmp_path / "cache")

    assert [lines[number - 1] for number in wrong if number not in found] == []
    assert [lines[number - 1] for number in found if number not in wrong] == []


def test_the_right_program_runs():
    typed_program.the_dial()
    typed_program.the_rest()
    with pondero.Client(transport=Emulator()) as client:
        typed_program.the_client(client)
        typed_program.the_chat(client)
    asyncio.run(typed_program.the_async_twins(pondero.AsyncClient(transport=Emulator())))


def test_the_words_for_type_checkers_are_those_of_the_dial():
    words = {word for part in get_args(Word) for word in get_args(part) or (part,)}
    assert words == {*LEVELS, *ALIASES, "on", "auto"}


def test_the_choices_for_type_checkers_are_those_of_the_policy():
    hints = PolicyDict.__annotations__
    assert set(hints) == {*CHOICES, *TOKENS}
    assert {name: get_args(hints[name]) for name in CHOICES} == CHOICES

"""docs/emulator.md says what the emulator does."""

import re
from pathlib import Path

import msgspec
import pytest

from pondero.emulator import Fault
from pondero.emulator.responders.script import parse_turns

TEXT = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text("utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_its_python_runs_as_printed(block):
    exec(compile(block, "emulator.md", "exec"), {})


def test_its_turns_are_turns():
    written = re.findall(r"/_emulator/expect -d '(.*?)'", TEXT)
    assert len(written) == 2
    for each in written:
        assert parse_turns(each.encode())


def test_every_fault_is_in_its_table():
    faults = TEXT.partition("\n## Faults\n")[2]
    words = re.findall(r"^\| (`[^|]*) \|", faults, re.MULTILINE)
    named = [word.replace("N", "120") for row in words for word in re.findall(r"`([^`]+)`", row)]
    faults = [Fault.parse(word) for word in named]
    kinds = msgspec.json.schema(Fault)["$defs"]["Fault"]["properties"]["kind"]["enum"]
    assert {fault.kind for fault in faults} == set(kinds)

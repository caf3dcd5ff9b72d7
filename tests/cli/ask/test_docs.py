"""Every command of docs/ask.md works as it is written, but for the key: offline."""

import base64
import re
import shlex
from pathlib import Path

import pytest

from pondero.cli.ask.options import AskOptions
from pondero.store import write_template

PAGE = (Path(__file__).parents[3] / "docs" / "ask.md").read_text("utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if "pondero ask" in line
]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TOOL = '''
def forecast(city: str) -> str:
    """Return the weather of tomorrow in a city."""
    return "rain"
'''


@pytest.fixture
def folder(tmp_path, monkeypatch, data_dir, config_dir):
    """A folder with the files that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chart.png").write_bytes(PNG)
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-1.4 and so on")
    (tmp_path / "notes.txt").write_text("some notes")
    (tmp_path / "weather.py").write_text(TOOL)
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage" / "search.py").write_text(TOOL.replace("forecast", "find"))
    (template,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    write_template("summary", template)
    return tmp_path


@pytest.mark.parametrize("line", [line for line in COMMANDS if "--mcp" not in line])
def test_a_command_of_the_page_works(call, folder, monkeypatch, line):
    monkeypatch.syspath_prepend(str(folder))
    call("ask", "--offline", "gpt-5.1/low", "Hello")  # a thread to go on with
    before, _, command = line.partition("pondero ask ")
    command, _, read_from = command.partition(" | jq")[0].partition(" < ")
    stdin = {"cat scan.pdf | ": (folder / "scan.pdf").read_bytes(), "git diff | ": b"+ a line"}
    piped = stdin.get(before, (folder / read_from).read_bytes() if read_from else b"")
    code, out, err = call("ask", "--offline", *shlex.split(command, comments=True), stdin=piped)
    assert (code, bool(out)) == (0, True), err


def test_the_page_has_every_option_and_every_key():
    from pondero.cli.ask.result import AskResult
    from pondero.cli.ask.thread import AskStart

    keys = AskResult(start=AskStart("m"), shaped=True).to_json()
    assert [key for key in keys if f"`{key}`" not in PAGE] == []
    for option in ("--levels", "--schema-multi", "--template", "--tool", "--mcp", "--approve",
                   "--max-steps", "--wire", "--usage", "--plain", "--json-lines", "--no-save"):  # fmt: skip
        assert option in PAGE
    assert AskOptions().paid

"""The programs of ``examples/elsewhere`` run where their libraries are installed, on the emulator."""

import asyncio
import json
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.examples.loading import FOLDER, load

from pondero.emulator import Emulator, run_emulator_in_thread

pytestmark = [pytest.mark.judge, pytest.mark.usefixtures("leaves_open")]  # other libraries do
PAGES = runpy.run_path(str(FOLDER.parent / "docs" / "programs.py"))
NEEDS = {"litellm": ("litellm",), "agent_pydantic_ai": ("fastmcp",)}
"""What a program needs that the lock file does not bring."""


@pytest.fixture(scope="module")
def services():
    with run_emulator_in_thread(Emulator()) as address:
        yield address


@pytest.fixture(autouse=True)
def offline(services, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", services)
    monkeypatch.setenv("ANTHROPIC_API_BASE", services)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{services}/v1")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", services)
    for name in ("ANTHROPIC", "OPENAI", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-planted")


def load_other(name):
    for part, packages in NEEDS.items():
        if part in name and not all(map(find_spec, packages)):
            pytest.skip(f"{name} needs {' '.join(packages)}")
    return load(f"elsewhere/{name}")


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "invoice.txt"
    file.write_text("Invoice 17: 2 pens at 1.50 EUR")
    return str(file)


def test_every_program_has_another_version():
    ours = {path.stem for path in FOLDER.iterdir() if path.name not in _HELPERS}
    assert set(PAGES["PROGRAMS"]) == ours
    others = {file for _, file in PAGES["PROGRAMS"].values()}
    assert others == {f"elsewhere/{path.name}" for path in (FOLDER / "elsewhere").glob("*.py")}


_HELPERS = {"README.md", "invoice.txt", "elsewhere", "notes_server.py", "__pycache__"}


def test_the_summary_of_anthropic(text, capsys):
    load_other("summarise_anthropic").main([text])
    shown = capsys.readouterr()
    assert "Invoice 17" in shown.out
    assert "tokens of thinking" in shown.err


def test_the_stream_of_openai():
    program = load_other("serve_sse_openai")

    async def read() -> list[str]:
        async with program.openai.AsyncOpenAI() as client:
            events = program.answer(client, "gpt-5.5", "low", "What is 17 * 23?")
            return [event async for event in events]

    events = asyncio.run(read())
    assert events[0].startswith("event: thinking")
    assert "391" in events[-2]
    assert events[-1] == 'event: end\ndata: "completed"\n\n'


def test_the_agent_of_pydantic_ai(capsys):
    load_other("agent_pydantic_ai").main(["--yes", "Use the add_note tool to note: buy milk."])
    assert "note 1 saved" in capsys.readouterr().out


def test_the_extraction_of_pydantic_ai(text, capsys):
    assert load_other("extract_pydantic_ai").main([text]) == 0
    assert json.loads(capsys.readouterr().out)["lines"]


@pytest.mark.parametrize("level", ["off", "high"])
def test_the_sdks_by_hand(level, capsys):
    load_other("inside_an_sdk_by_hand").main(["What is 17 * 23?", "--level", level])
    assert capsys.readouterr().out.count("391") == 3


def test_the_many_requests_of_litellm(tmp_path):
    program = load_other("many_requests_litellm")
    questions = tmp_path / "questions.txt"
    questions.write_text("What is 17 * 23?\nWhat is 2 * 3?\n")
    output = tmp_path / "answers.jsonl"
    assert program.main([str(questions), str(output), "--max-usd", "1"]) == 0
    assert "391" in output.read_text()


def test_the_suite_of_pydantic_ai():
    path = FOLDER / "elsewhere" / "support_desk_pydantic_ai.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    subprocess.run([*command, str(path)], check=True, capture_output=True)


def test_the_conversation_of_pydantic_ai(tmp_path):
    path = FOLDER / "elsewhere" / "three_vendors_pydantic_ai.py"
    command = [sys.executable, str(path), str(tmp_path / "trip.db")]  # it leaves four loops open
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "name is Ada" in told.stdout


def test_the_page_shows_every_program_that_runs_here():
    page = (FOLDER.parent / "docs" / "from/programs.md").read_text("utf-8")
    files = {path.name for path in (FOLDER / "elsewhere").glob("*.py")}
    assert files == {Path(file).name for _, file in PAGES["PROGRAMS"].values()}
    for name in files:
        assert (FOLDER / "elsewhere" / name).read_text("utf-8") in page

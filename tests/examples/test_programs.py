"""The programs of ``examples/``, run as their first lines say, on the emulator."""

import ast
import asyncio
import json
import re
import shutil
import subprocess
import sys

import httpx2
import pytest
from tests.examples.loading import FOLDER, load
from tests.examples.slow_service import SlowService

import pondero
from pondero.emulator import Emulator, ScriptedTurn, run_emulator_in_thread

INVOICE = "Invoice 17: 2 pens at 1.50 EUR"


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "invoice.txt"
    file.write_text(INVOICE)
    return str(file)


def test_a_summary_is_printed_and_its_thinking_is_kept_apart(text, capsys):
    load("summarise").main([text, "--offline"])
    shown = capsys.readouterr()
    assert INVOICE in shown.out
    assert "tokens of thinking" in shown.err
    assert len(shown.err) > 200, "the thinking itself is shown"
    assert not set(shown.err.splitlines()) & set(shown.out.splitlines()) - {""}


def test_a_summary_says_what_was_sent_differently(text, capsys):
    load("summarise").main([text, "--offline", "--model", "gemini-3-pro-preview/off"])
    assert "note: this model does not support disabling thinking" in capsys.readouterr().err


def test_an_invoice_is_extracted_as_json(text, capsys):
    assert load("extract").main([text, "--offline"]) == 0
    assert json.loads(capsys.readouterr().out)["currency"] in {"EUR", "USD", "CHF"}


def test_the_invoice_that_the_program_names_is_there(capsys):
    named = re.findall(r"extract.py (\S+)", (FOLDER / "extract.py").read_text())
    assert named == ["examples/invoice.txt"] * 2
    assert load("extract").main([str(FOLDER.parent / named[0]), "--offline"]) == 0


def test_an_invoice_that_never_fits_is_asked_for_three_times():
    program = load("extract")
    emulator = Emulator(script=[ScriptedTurn(text="{}")] * 5)
    with pondero.Client(transport=emulator) as client, pytest.raises(pondero.WireError):
        program.extract(client, "gpt-5.5/low", INVOICE)
    assert len(emulator.log.entries) == 3


def test_an_agent_runs_approved_tools_of_functions_and_servers(capsys):
    add = "Use the add_note tool to note: buy milk."
    load("agent").main(["--offline", "--yes", add, "Use the list_notes tool."])
    shown = capsys.readouterr()
    assert "[add_note" in shown.err
    assert "buy milk" in shown.out.splitlines()[-1]


def test_an_agent_without_the_package_of_its_server_says_so_in_a_line():
    program = "import runpy, sys; sys.modules['mcp'] = None; "
    program += f"sys.argv = ['agent.py', '--offline', 'hi']; runpy.run_path({str(FOLDER / 'agent.py')!r}, run_name='__main__')"  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("agent.py: ")
    assert "mcp" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_agent_asks_a_person_before_a_note_is_written(monkeypatch, capsys):
    questions = []
    monkeypatch.setattr("builtins.input", lambda question: questions.append(question) or "n")
    load("agent").main(["--offline", "Use the add_note tool to note: buy milk.", "Use list_notes."])
    assert len(questions) == 1
    assert "May add_note run" in questions[0]
    assert "saved" not in capsys.readouterr().out


@pytest.mark.judge
def test_a_plan_goes_into_the_vendors_own_sdks(monkeypatch, capsys):
    with run_emulator_in_thread(Emulator()) as address:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, "sk-planted")
        load("inside_an_sdk").main(["What is 17 * 23?", "--level", "max"])
    printed = capsys.readouterr().out
    assert printed.count("17 * 23 = 391") == 3
    assert "note: " in printed


@pytest.fixture
def questions(tmp_path):
    file = tmp_path / "questions.txt"
    file.write_text("".join(f"What is {n} * 23?\n" for n in range(2_000)))
    return file


def test_two_thousand_questions_are_answered_once_each(questions, tmp_path, capsys):
    output = tmp_path / "answers.jsonl"
    arguments = [str(questions), str(output), "--offline"]
    program = load("many_requests")
    assert program.main([*arguments, "--max-tokens", "6000"]) == 1
    first = len(output.read_text().splitlines())
    assert 100 < first < 2_000
    assert program.main([*arguments, "--max-tokens", "1000000"]) == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert sorted(row["question"] for row in rows) == sorted(questions.read_text().splitlines())
    assert {"question": "What is 17 * 23?", "answer": "17 * 23 = 391"} in rows
    assert re.search(r"[1-9][\d,]* tokens spent", capsys.readouterr().out)


def test_a_budget_in_dollars_is_shown_in_dollars(capsys):
    with load("many_requests").make_bar(in_dollars=True) as bar:
        bar.add_task("answers", total=1, spent=0.5)
    assert "$0.50 spent" in capsys.readouterr().out


@pytest.mark.parametrize("limit", [1, 500, 6_000])
def test_a_budget_is_not_exceeded_by_more_than_its_first_request(questions, tmp_path, limit):
    program = load("many_requests")
    budget = program.Budget(limit, in_dollars=False)
    emulator = Emulator()

    async def run() -> None:
        async with pondero.AsyncClient(transport=emulator) as client:
            await program.answer_all(
                client,
                "claude-haiku-4-5/off",
                questions.read_text().splitlines(),
                tmp_path / "answers.jsonl",
                budget,
            )

    asyncio.run(run())
    assert budget.spent <= limit or len(emulator.log.entries) == 1
    assert budget.under_way == 0


def test_a_conversation_lives_in_a_database_across_three_vendors(tmp_path, capsys):
    load("three_vendors").main([str(tmp_path / "trip.db"), "--offline"])
    printed = capsys.readouterr().out
    assert "name is Ada" in printed
    assert "withheld thinking: another model or route thought it" in printed


def test_the_suite_of_an_application_passes_and_notices_a_broken_one(tmp_path):
    shutil.copytree(FOLDER / "support_desk", tmp_path, dirs_exist_ok=True)

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run().returncode == 0
    application = tmp_path / "support_desk.py"
    application.write_text(application.read_text().replace("except pondero.PonderoError", "except KeyError"))  # fmt: skip
    assert "failed" in run().stdout


# -- server-sent events ------------------------------------------------------------------------


def test_an_answer_arrives_as_events(serve):
    body = httpx2.get(f"{serve()}/ask", params={"prompt": "What is 17 * 23?"}).text
    kinds = re.findall(r"^event: (\w+)$", body, re.MULTILINE)
    assert kinds[0] == "thinking"
    assert kinds[-2:] == ["text", "end"]
    texts = re.findall(r"^event: text\ndata: (.*)$", body, re.MULTILINE)
    assert "".join(json.loads(text) for text in texts) == "17 * 23 = 391"


def test_a_model_that_does_not_exist_ends_in_an_error_event(serve):
    body = httpx2.get(f"{serve()}/ask", params={"prompt": "hi", "model": "no-such-model"}).text
    assert body.startswith("event: error\n")


def test_a_reader_who_leaves_closes_the_request_to_the_service(serve):
    """The service sends for a minute; it sees its reader leave long before."""
    with SlowService() as service:
        address = serve(urls={"anthropic": service.address}, keys={"anthropic": "sk-planted"})
        with httpx2.stream("GET", f"{address}/ask", params={"prompt": "hi"}) as response:
            next(response.iter_lines())
        assert service.left.wait(20)


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_a_program_says_how_it_is_run_and_is_typed(path):
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if not function.name.startswith("test_"):
            assert function.returns is not None, function.name

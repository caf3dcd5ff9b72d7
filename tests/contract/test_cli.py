"""``pondero contract``: what it prints, and what it says to what cannot be."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from xml.etree import ElementTree as ET

import pytest
from tests.contract.mutants import LOST_DELTA

from pondero.cli.app import run
from pondero.contract import SCENARIOS, EmulatorBackend, find_model, run_scenarios
from pondero.dialects import get_dialect
from pondero.emulator import Emulator, Fault, ScriptedTurn, run_emulator_in_thread

KEY = "sk-ant-" + "a1" * 12  # shaped like one, and none


class Page(BaseHTTPRequestHandler):
    """A server that has a web page for everything."""

    kind = "text/html; charset=utf-8"

    def do_POST(self) -> None:
        body = b"<!DOCTYPE html><html><title>Welcome</title></html>"
        self.send_response(200)
        self.send_header("content-type", self.kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def page() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("VCR_RECORD", raising=False)


@pytest.fixture
def broken(monkeypatch):
    """A dialect that loses the first piece of every text."""
    LOST_DELTA(monkeypatch, get_dialect("anthropic"))


def one_line(capsys) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    return captured.err


# -- what it prints ---------------------------------------------------------------------------


def test_one_model_is_shown_scenario_by_scenario(capsys):
    assert run(["contract", "anthropic", "--model", "claude-opus-5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "anthropic:claude-opus-5"
    assert [line.split()[1] for line in lines[1:-2]] == [s.name for s in SCENARIOS]
    results = run_scenarios(
        [find_model("anthropic", "claude-opus-5")], SCENARIOS, EmulatorBackend()
    )
    passed = [result for result in results if result.status == "passed"]
    assert lines[-1].startswith(f"{len(passed)} passed")
    assert sum("✓" in line for line in lines[1:-2]) == len(passed)
    assert max(map(len, lines)) <= 80


def test_many_models_are_rows_of_marks_and_reasons_are_said_once(capsys):
    assert run(["contract", "anthropic", "google", "--scenario", "grounding"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["google:gemini-2.5-flash", "✓"] for line in lines)
    assert sum(line.endswith(" –") for line in lines) > 1
    assert sum("answers come without grounding here" in line for line in lines) == 1
    assert max(map(len, lines)) <= 80


def test_at_sixty_columns_a_name_is_cut_and_no_mark_is(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["contract", "google"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("google:")]
    assert [row.count("✓") for row in rows] == [len(SCENARIOS)] * len(rows)
    assert max(map(len, rows)) <= 60


def test_a_provider_that_is_named_twice_is_run_once(capsys):
    arguments = ["--scenario", "simple_text", "--json"]
    assert run(["contract", "openai", "openai", *arguments]) == 0
    assert len(json.loads(capsys.readouterr().out)["results"]) == 1


def test_a_pattern_names_several_scenarios(capsys):
    assert run(["contract", "google", "--scenario", "streaming_*", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["results"]
    names = {"streaming_text", "streaming_thinking", "streaming_tool_call", "streaming_words"}
    assert {result["scenario"] for result in told} == names


def test_json_has_five_keys_a_result(capsys):
    assert run(["contract", "openai", "--scenario", "grounding", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert list(result) == ["provider", "model", "scenario", "status", "detail"]
    assert result["status"] == "unsupported"
    assert result["detail"] == "answers come without grounding here"


@pytest.mark.usefixtures("broken")
def test_a_failure_says_field_expected_actual_request_and_response_and_no_key(capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    arguments = ["contract", "anthropic", "--model", "claude-opus-5", "--scenario", "simple_text"]
    assert run(arguments) == 1
    shown = capsys.readouterr().out
    assert "FAILED anthropic:claude-opus-5 simple_text\n" in shown
    for line in ("  field     ", "  expected  ", "  actual    ", "  request   POST https://"):
        assert line in shown
    assert "  response  200 application/json\n" in shown
    assert '"text":"What is 2+2?"' in shown
    assert "x-api-key: REDACTED" in shown
    assert KEY not in shown


@pytest.mark.parametrize("scenario", ["simple_text", "tool_call"])  # a failure, and no failure
def test_a_key_that_a_server_repeats_is_not_shown(scenario, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    said = ScriptedTurn(fault=Fault(kind="status", status=400, message=f"this key is odd: {KEY}"))
    file = tmp_path / "report.xml"
    with run_emulator_in_thread(emulator := Emulator()) as url:
        emulator.expect(ScriptedTurn(text="Hello."), said)
        run(
            [
                "contract",
                "anthropic",
                "--base-url",
                url,
                "--scenario",
                scenario,
                "--junit",
                str(file),
            ]
        )
    shown = capsys.readouterr().out + file.read_text("utf-8")
    assert "this key is odd: REDACTED" in shown
    assert KEY not in shown


@pytest.mark.usefixtures("broken")
def test_a_junit_report_has_the_failure_and_every_case(tmp_path, capsys):
    file = tmp_path / "report.xml"
    assert run(["contract", "anthropic", "--model", "claude-opus-5", "--junit", str(file)]) == 1
    root = ET.parse(file).getroot()
    cases = root.findall("testsuite/testcase")
    assert [case.get("name") for case in cases] == [s.name for s in SCENARIOS]
    failed = [case for case in cases if case.find("failure") is not None]
    assert root.get("failures") == str(len(failed)) != "0"
    assert "expected" in str(failed[0].findtext("failure"))
    assert [path.name for path in tmp_path.iterdir()] == ["report.xml"]


def test_a_progress_bar_is_for_a_terminal_only(capsys, monkeypatch):
    arguments = ["contract", "google", "--scenario", "simple_text"]
    assert run(arguments) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(arguments) == 0
    assert "google" in capsys.readouterr().err


def test_skipping_says_so_loudly(capsys, monkeypatch):
    monkeypatch.setenv("PONDERO_SKIP_CONTRACT", "1")
    assert run(["contract", "google", "--json"]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)["results"]
    assert {result["status"] for result in told} == {"skipped"}
    assert "WARNING: PONDERO_SKIP_CONTRACT is set." in captured.err
    assert "No contract was checked" in captured.err


@pytest.mark.parametrize(("value", "skips"), [("1", True), ("0", False)])
def test_skipping_works_in_the_suite_too_and_says_so_loudly(value, skips):
    here = Path(__file__)
    suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    made = subprocess.run(
        [*suite, str(here.with_name("test_docs.py")), str(here.parents[1] / "test_errors.py")],
        env={**os.environ, "PONDERO_SKIP_CONTRACT": value},
        cwd=here.parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "passed" in made.stdout  # what is no contract is checked all the same
    assert ("skipped" in made.stdout) is skips
    assert ("WARNING: PONDERO_SKIP_CONTRACT is set." in made.stdout) is skips
    assert ("No contract was checked" in made.stdout) is skips


# -- another target ---------------------------------------------------------------------------


def test_a_server_at_an_address_is_held_to_what_it_can_do(capsys):
    with run_emulator_in_thread(Emulator()) as url:
        assert run(["contract", "anthropic", "--base-url", url, "--json"]) == 0
    told = {r["scenario"]: r["status"] for r in json.loads(capsys.readouterr().out)["results"]}
    assert told["simple_text"] == told["thinking_replay"] == told["streaming_thinking"] == "passed"
    assert told["error_rate_limit"] == "skipped"
    assert told["error_auth"] == "unsupported"  # any key will do there
    assert "failed" not in told.values()


def test_every_exchange_with_a_server_has_a_connection_of_its_own(page, capsys, monkeypatch):
    ports = []

    def answer(self: Page) -> None:
        ports.append(self.client_address[1])
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"choices": [{"message": {"content": "Four."}, "finish_reason": "stop"}]}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    monkeypatch.setattr(Page, "do_POST", answer)
    monkeypatch.setattr(Page, "protocol_version", "HTTP/1.1")  # it keeps connections
    arguments = ["contract", "llamacpp", "--model", "m", "--base-url", page]
    assert run([*arguments, "--scenario", "thinking_transition", "--json"]) == 0
    assert len(set(ports)) == len(ports) == 3


def test_what_a_server_refuses_is_unsupported_and_no_failure(capsys):
    with run_emulator_in_thread(Emulator(faults=[None, *["400"] * 60])) as url:
        arguments = ["contract", "anthropic", "--base-url", url, "--json"]
        assert run([*arguments, "--scenario", "tool_call"]) == 0
        (result,) = json.loads(capsys.readouterr().out)["results"]
        assert result["status"] == "unsupported"
        assert result["detail"].startswith("rejected: ")


def test_a_server_that_refuses_a_plain_question_has_failed(capsys):
    with run_emulator_in_thread(Emulator(faults=[None, *["400"] * 60])) as url:
        arguments = ["contract", "anthropic", "--base-url", url, "--json"]
        assert run([*arguments, "--scenario", "simple_text"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["status"] == "failed"


def test_the_live_service_is_held_to_it_with_a_key(capsys, monkeypatch):
    with run_emulator_in_thread(Emulator()) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        arguments = ["contract", "anthropic", "--live", "--scenario", "thinking_*", "--json"]
        assert run(arguments) == 0
    told = json.loads(capsys.readouterr().out)["results"]
    assert len({result["model"] for result in told}) == 1  # every exchange costs
    assert {result["status"] for result in told} == {"passed"}


def test_what_the_live_service_refuses_is_a_failure(capsys, monkeypatch):
    with run_emulator_in_thread(Emulator(faults=[None, *["400"] * 60])) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        assert run(["contract", "anthropic", "--live", "--scenario", "tool_call", "--json"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["status"] == "failed"


def test_a_live_service_that_takes_no_key_of_ours_is_a_line_and_where_to_look(capsys, monkeypatch):
    with run_emulator_in_thread(Emulator(faults=["401"] * 60)) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        assert run(["contract", "anthropic", "--live"]) == 3
    said = capsys.readouterr().err
    assert KEY not in said
    assert "Traceback" not in said
    first, second = said.splitlines()
    assert first.startswith("pondero: Anthropic rejected the request (401): The key is not valid.")
    assert "check ANTHROPIC_API_KEY" in second


def _lines(url, capsys, *more):
    run(["contract", "compatible", "--model", "m", "--base-url", url, *more])
    found = capsys.readouterr().out
    blocks = re.split(r"\n(?=[✓✗] )", found)
    return {block.split()[1]: " ".join(block.split()) for block in blocks[1:]}, found


def test_a_pass_at_an_address_says_what_was_not_checked_there(page, capsys, monkeypatch):
    """It never thinks, and counts nothing; whether the level had an effect nobody can tell."""

    def answer(self: Page) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = {"content": "Four."}
        if asked.get("stream"):
            frames = [
                {"choices": [{"delta": said, "finish_reason": end}]} for end in (None, "stop")
            ]
            lines = [f"data: {json.dumps(frame)}\n\n" for frame in frames]
            body, kind = "".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream"
        else:
            whole = {"choices": [{"message": said, "finish_reason": "stop"}]}
            body, kind = json.dumps(whole).encode(), "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    monkeypatch.setattr(Page, "do_POST", answer)
    names = ("thinking_low", "streaming_text", "thinking_response", "thinking_streaming")
    wanted = [word for name in names for word in ("--scenario", name)]
    lines, printed = _lines(page, capsys, *wanted)
    assert lines["thinking_low"].startswith(
        "✓ thinking_low At low, the level is sent. Not checked: whether the model thinks; "
        "its answer has no thinking and does not count it."
    )
    assert lines["streaming_text"].startswith(
        "✓ streaming_text The words of a stream add up to the answer. Not checked: that they are the answer in one "
        "piece, because two answers of a service can differ."
    )
    assert lines["thinking_response"].startswith("✗")
    assert "actual    (nothing)" in printed
    assert "actual    2 of text, none of thinking" in printed


def test_marks_are_explained_for_one_model_too(capsys):
    assert run(["contract", "anthropic", "--model", "opus", "--scenario", "simple_text"]) == 0
    assert "✓ passed  ✗ failed  – unsupported  · skipped" in capsys.readouterr().out


# -- bad input --------------------------------------------------------------------------------


def test_an_unknown_provider_is_guessed(capsys):
    assert run(["contract", "antropic"]) == 2
    assert "unknown provider 'antropic'; did you mean 'anthropic'?" in one_line(capsys)


def test_an_unknown_scenario_is_guessed(capsys):
    assert run(["contract", "--scenario", "thinkng_low"]) == 2
    assert "unknown scenario 'thinkng_low'; did you mean 'thinking_low'?" in one_line(capsys)


def test_an_address_where_nobody_listens_is_a_network_failure(capsys):
    assert run(["contract", "llamacpp", "--base-url", "http://127.0.0.1:9"]) == 4
    said = one_line(capsys)
    assert "refused" in said
    assert "llama.cpp does not answer at http://127.0.0.1:9" in said
    assert "correct --base-url" in said
    assert "LLAMACPP_BASE_URL" not in said


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "Text/HTML", "application/json"])
def test_a_server_that_answers_with_a_web_page_is_no_service(page, kind, capsys, monkeypatch):
    monkeypatch.setattr(Page, "kind", kind)
    assert run(["contract", "openai", "--base-url", page]) == 1
    said = one_line(capsys)
    assert f"{page}/v1/responses answers 200 with a web page" in said


def test_an_address_that_is_empty_is_not_taken_for_the_emulator(capsys):
    assert run(["contract", "llamacpp", "--base-url", ""]) == 2
    assert "--base-url is empty" in capsys.readouterr().err


def test_an_address_needs_its_provider(capsys):
    assert run(["contract", "--base-url", "http://127.0.0.1:9"]) == 2
    assert "say which" in capsys.readouterr().err


def test_the_live_service_needs_a_key(capsys):
    assert run(["contract", "anthropic", "--live"]) == 2
    assert "ANTHROPIC_API_KEY" in one_line(capsys)


def test_a_report_that_cannot_be_written_is_known_before_the_run(tmp_path, capsys):
    assert run(["contract", "google", "--junit", str(tmp_path / "nowhere" / "report.xml")]) == 2
    assert "cannot be written" in one_line(capsys)


def test_a_folder_of_cassettes_that_is_not_there_is_one_line(tmp_path, capsys):
    assert run(["contract", "google", "--cassettes", str(tmp_path / "none")]) == 2
    assert "there is no folder" in one_line(capsys)


def test_a_folder_without_cassettes_is_one_line(tmp_path, capsys):
    assert run(["contract", "--cassettes", str(tmp_path)]) == 1
    assert "VCR_RECORD=1" in one_line(capsys)


def test_a_missing_cassette_fails_and_is_not_skipped(tmp_path, capsys):
    (tmp_path / "google").mkdir()
    arguments = ["contract", "google", "--cassettes", str(tmp_path), "--scenario", "simple_text"]
    assert run([*arguments, "--json"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["status"] == "failed"
    assert result["detail"].startswith("CassetteError: there is no cassette")


def test_a_broken_cassette_fails_and_says_where(tmp_path, capsys):
    file = tmp_path / "google" / "test_contract_simple_text.jsonl"
    file.parent.mkdir()
    file.write_text('{"_request": {"method"\n')
    arguments = ["contract", "google", "--cassettes", str(tmp_path), "--scenario", "simple_text"]
    assert run([*arguments, "--json"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert f"{file}:1: this is not JSON" in result["detail"]


def test_a_recording_that_fails_leaves_nothing_behind(tmp_path, capsys, monkeypatch):
    LOST_DELTA(monkeypatch, get_dialect("gemini"))
    monkeypatch.setenv("VCR_RECORD", "1")
    arguments = ["contract", "google", "--cassettes", str(tmp_path), "--scenario", "simple_text"]
    assert run(arguments) == 1
    assert list(tmp_path.rglob("*")) == []

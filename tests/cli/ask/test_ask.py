"""``pondero ask``: the answer on stdout, everything else on stderr."""

import errno
import io
import json
import sys

import pytest

from pondero.cli.app import run
from pondero.cli.command import describe_error
from pondero.client import load_catalog
from pondero.emulator import Emulator, ScriptedTurn, run_emulator_in_thread
from pondero.errors import BadRequest
from pondero.exchange import Retry

SUM = "What is 17 * 23?"


@pytest.fixture
def ask(capsys, monkeypatch):
    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = run(["ask", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_the_answer_is_all_that_stdout_says(ask):
    assert ask("--offline", "claude-opus-5/low", SUM) == (0, "17 * 23 = 391\n", "")


def test_the_question_may_be_piped_in_or_stand_beside_what_is_piped(ask):
    assert "391" in ask("--offline", "gpt-5.1/low", stdin=SUM)[1]
    assert "391" in ask("--offline", "gpt-5.1/low", "-", stdin=SUM)[1]
    code, out, _ = ask(
        "--offline", "gpt-5.1/low", "--json-lines", "What is 5 * 5?", stdin="some notes"
    )
    assert (code, "25" in out) == (0, True)


def test_thinking_goes_to_stderr_where_it_is_asked_for(ask):
    code, out, err = ask("--offline", "claude-opus-5/high", "--thinking", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert "The question is" in err
    assert ask("--offline", "claude-opus-5/high", "--no-thinking", SUM)[2] == ""


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("claude-opus-5", "no level was asked for; try claude-opus-5/medium"),
        ("gemini-2.5-pro", "no level was asked for; try gemini-2.5-pro/medium"),
        ("gpt-4o", "openai:gpt-4o does not think"),
        ("claude-opus-5/off", "none came"),
    ],
)
def test_thinking_that_was_asked_for_and_is_not_there_says_why(ask, model, why):
    code, out, err = ask("--offline", "--thinking", model, SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert err == f"no thinking to show: {why}\n"
    assert ask("--offline", model, SUM)[2] == ""


def test_thinking_without_a_level_is_shown_where_the_model_shows_it_by_itself(ask):
    code, _, err = ask("--offline", "--thinking", "deepseek-reasoner", SUM)
    assert (code, "The question is" in err, "no thinking" in err) == (0, True, False)


def test_a_name_that_is_nearly_a_model_is_questioned_on_stderr_while_it_goes_on(ask):
    code, out, err = ask("--offline", "anthropic:claude-opus5/low", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert "did you mean 'claude-opus-5'?" in err


def test_two_levels_are_a_usage_error_and_zero_is_off(ask):
    code, _, err = ask("--offline", "claude-opus-5/high/low", SUM)
    assert (code, "names two levels, 'high' and 'low'" in err) == (2, True)
    code, _, err = ask("--offline", "opus/high/low", SUM)
    assert (code, "names two levels, 'high' and 'low'" in err) == (2, True)
    code, out, err = ask("--offline", "gpt-5.1/0", SUM, "--json-lines")
    assert (code, '"thinking_delta"' in out) == (0, False)


@pytest.mark.parametrize("finish", ["refusal", "content_filter"])
def test_an_answer_that_the_service_withheld_ends_with_its_own_code(ask, monkeypatch, finish):
    with run_emulator_in_thread(emulator := Emulator()) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        emulator.expect(ScriptedTurn(text="No.", finish=finish))
        code, out, _ = ask("--no-save", "--json-lines", "openai-chat:gpt-5.1/low", SUM)
    assert json.loads(out.splitlines()[-1])["finish"] == finish
    assert code == 3


def test_json_is_events_one_a_line_without_seals(ask):
    code, out, _ = ask("--offline", "claude-opus-5/high", "--json-lines", SUM)
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert events[0]["type"] == "started"
    assert events[-1]["type"] == "finished"
    assert events[-1]["verdict"] == "as_planned"
    assert all("seal" not in event.get("part", {}) for event in events)


def test_every_adjustment_is_said_on_stderr(ask):
    code, out, err = ask("--offline", "gemini-3-pro-preview/off", SUM)
    assert (code, "391" in out) == (0, True)
    assert "cannot_disable" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gemini-3-pro-preview/off"], "asked for off; sent: low\nthis model"),
        (["gemini-2.5-pro/off"], "asked for off; sent: minimal, 128 tokens\nthis model"),
        (["gpt-5.1/max"], "asked for max; sent: high\nthis model has"),
        (
            ["claude-sonnet-4-5/high", "--max-tokens", "3000"],
            "asked for high; sent: high, 1,500 tokens",
        ),
        (["claude-sonnet-4-5/500"], "asked for 500 tokens; sent: 1,024 tokens\nthis model"),
    ],
)
def test_what_was_sent_in_place_of_a_level_is_said_first(ask, arguments, said):
    code, _, err = ask("--offline", *arguments, SUM)
    assert code == 0
    assert err.startswith(said)
    both = ask("--offline", "-m", *arguments, "-m", "claude-opus-5/low", SUM)[2]
    name = arguments[0]
    assert said.partition("\n")[0] in {
        line.removeprefix(f"{name}: ") for line in both.splitlines() if line.startswith(name)
    }


def test_nothing_is_said_of_a_level_that_was_sent_as_it_was_asked(ask):
    _, _, err = ask("--offline", "command-a/high", SUM)
    assert "(unknown_model)" in err
    assert "asked for" not in err


def test_every_adjustment_is_an_event_before_the_end_with_json(ask):
    code, out, err = ask("--offline", "gemini-3-pro-preview/off", SUM, "--json-lines")
    *_, note, end = (json.loads(line) for line in out.splitlines())
    assert (code, err) == (0, "")
    assert (note["type"], note["adjustment"]["code"]) == ("note", "cannot_disable")
    assert end["type"] == "finished"


@pytest.mark.filterwarnings("always::pondero.errors.PonderoWarning")
def test_a_warning_is_one_line_that_names_no_line_of_python(ask):
    code, _, err = ask(
        "--offline", "gemini-3-pro-preview/off", SUM, "--json-lines", "--policy", "unsupported=warn"
    )
    assert code == 0
    assert err.startswith("pondero: google:gemini-3-pro-preview: this model does not support")
    assert err.count("\n") == 1


def test_a_disk_that_is_full_behind_the_answer_is_one_line(ask, monkeypatch):
    def full(page, event):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pondero.cli.ask.writers.TerminalWriter.write", full)
    code, _, err = ask("--offline", "claude-opus-5", SUM)
    assert (code, err) == (1, "pondero: No space left on device\n")


def test_a_policy_system_prompt_and_cap_go_along(ask):
    code, _, err = ask(
        "--offline", "gemini-3-pro-preview/off", SUM, "--policy", "unsupported=strict", "--system", "x", "--max-tokens", "900"
    )  # fmt: skip
    assert code == 2
    assert "google:gemini-3-pro-preview cannot switch thinking off; its minimum is low" in err


def test_files_are_asked_about(ask, tmp_path):
    text, picture, odd = tmp_path / "a.txt", tmp_path / "b.png", tmp_path / "c"
    text.write_text(SUM)
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    odd.write_bytes(b"\xff\x00\xfe")
    assert "391" in ask("--offline", "gpt-5.1/low", "-f", str(text))[1]
    assert ask("--offline", "gpt-5.1/low", "-f", str(picture), "What is 5 * 5?")[0] == 0
    code, _, err = ask("--offline", "gpt-5.1/low", "-f", str(odd), "x")
    assert (code, "is unknown; a file name with a suffix such as .pdf says it" in err) == (2, True)


def test_without_a_key_it_says_which_variable_and_that_offline_works(ask):
    code, out, err = ask("gpt-5.1/low", SUM)
    assert (code, out) == (2, "")
    assert "OPENAI_API_KEY" in err
    assert "--offline" in err


@pytest.mark.parametrize("command", ["ask", "probe"])
def test_a_shell_is_told_nothing_of_python(call, data_dir, command):
    _, _, err = call(command, "claude-opus-5", *([SUM] if command == "ask" else []))
    assert "needs a key" in err
    assert "transport=" not in err


def test_without_a_question_it_is_a_usage_error(ask):
    code, _, err = ask("--offline", "gpt-5.1/low")
    assert (code, "no question" in err) == (2, True)


def test_without_a_question_no_model_is_chosen_first(ask):
    code, _, err = ask("--offline")
    assert (code, "no question" in err, "model:" in err) == (2, True, False)
    assert "model: " in ask("--offline", SUM)[2]


def test_without_question_model_and_key_the_question_is_missed_first(ask):
    code, _, err = ask()
    assert (code, "there is no question" in err, "model" in err) == (2, True, False)


@pytest.mark.parametrize("command", [("ask", "--offline", SUM), ("plan",), ("chat", "--plain")])
def test_a_misspelt_model_of_the_user_is_said_to_be_set(call, data_dir, monkeypatch, command):
    monkeypatch.setenv("PONDERO_MODEL", "claud-opus-5/low")
    code, _, err = call(*command)
    assert (code, "(PONDERO_MODEL names it)" in err) == (2, True)
    assert call("ask", "--offline", "opus", SUM)[0] == 0


def test_a_misspelt_model_of_the_settings_is_said_to_be_there(
    call, data_dir, monkeypatch, tmp_path
):
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text('model = "claud-opus-5"\n')
    assert "(config.toml names it)" in call("ask", "--offline", SUM)[2]


def test_a_cassette_is_recorded_and_played(ask, tmp_path, monkeypatch):
    tape = tmp_path / "sum.jsonl"
    monkeypatch.setenv("VCR_RECORD", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-at-all-1234")
    assert "391" in ask("--offline", "gpt-5.1/low", "--cassette", str(tape), SUM)[1]
    assert "sk-not-a-key" not in tape.read_text()
    monkeypatch.delenv("VCR_RECORD")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "391" in ask("gpt-5.1/low", "--cassette", str(tape), SUM)[1]


def test_output_that_all_went_into_thinking_is_a_failure_with_advice(ask):
    code, out, err = ask("--offline", "claude-opus-5/high", "--max-tokens", "3", SUM)
    assert (code, out, "--max-tokens" in err) == (1, "", True)


def test_a_refusal_without_a_word_leaves_standard_output_empty(ask):
    code, out, _ = ask("--offline", "google:gemini-3-flash-preview", f"{SUM} [emulator: block]")
    assert (code, out) == (3, "")


@pytest.mark.parametrize("model", ["claude-opus-9/high", "gpt-9", "google:gemini-9-pro/off"])
def test_offline_takes_any_model_name(ask, model):
    code, out, err = ask("--offline", model, SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert "not in the catalog" in err


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\x00\x00", b"\xff\xfe\x00\xd8", b"a\x00b"])
def test_what_is_no_text_is_not_sent(monkeypatch, capsys, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(["ask", "--offline", "claude-opus-5", SUM]) == 2
    assert "is not text" in capsys.readouterr().err


def test_nothing_to_read_from_is_nothing_piped_in(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["ask", "--offline", "claude-opus-5", SUM]) == 0
    assert capsys.readouterr().out == "17 * 23 = 391\n"


def test_without_a_network_it_says_who_is_not_there_and_that_offline_works(ask, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("pondero.client.base_client.Retry", lambda: Retry(attempts=1))
    code, out, err = ask("claude-opus-5", SUM)
    assert (code, out) == (4, "")
    assert err.splitlines() == [
        "pondero: cannot reach 127.0.0.1: connection refused",
        "(ask --offline needs no network and no key)",
    ]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("groq:openai/gpt-oss-120b", "Groq rejected the key; check GROQ_API_KEY, or save"),
        ("cohere:command-a-plus", "Cohere rejected the key; check CO_API_KEY or COHERE_API"),
        ("bedrock:us.anthropic.claude-opus-5", "check AWS_BEARER_TOKEN_BEDROCK"),
    ],
)
def test_a_bad_key_is_named_by_its_service_and_its_variable(ask, model, said):
    code, out, err = ask("--offline", "--no-save", model, "Hello [emulator: fault 401]")
    assert (code, out) == (3, "")
    assert said in err


@pytest.mark.parametrize(
    ("model", "wish", "finish"),
    [
        ("claude-opus-5", "refuse", "refusal"),
        ("gemini-3-flash-preview", "block", "content_filter"),
        ("openai-chat:gpt-5", "block", "content_filter"),
    ],
)
def test_an_answer_that_the_service_withholds_ends_with_3(ask, model, wish, finish):
    question = f"Hello [emulator: {wish}]"
    code, out, _ = ask("--offline", "--no-save", "--json-lines", model, question)
    assert code == 3
    assert json.loads(out.splitlines()[-1])["finish"] == finish


@pytest.mark.parametrize(
    ("model", "status", "said"),
    [
        ("claude-opus-5", 400, "pondero: Anthropic rejected the request (400): "),
        ("groq:openai/gpt-oss-120b", 401, "pondero: Groq rejected the request (401): "),
        ("gpt-5.1", 500, "pondero: OpenAI failed (500): "),
    ],
)
def test_an_error_says_who_rejected_the_request_and_with_which_status(ask, model, status, said):
    question = f"Hello [emulator: fault {status}]"
    code, _, err = ask("--offline", "--no-save", model, question)
    assert (code, err.startswith(said)) == (3, True), err
    for form in ("--json", "--json-lines"):
        out = ask("--offline", "--no-save", form, model, question)[1]
        error = json.loads(out if form == "--json" else out.splitlines()[-1])["error"]
        assert set(error) == {"type", "message", "status", "request_id"}
        assert error["status"] == status
        assert error["request_id"] is None or f"[request id {error['request_id']}]" in err


def test_an_error_does_not_repeat_what_the_service_says_itself():
    error = BadRequest("status 400 (request req_7)", status=400, request_id="req_7")
    assert describe_error(error) == "status 400 (request req_7)"
    error.provider = "anthropic"
    assert describe_error(error) == "Anthropic rejected the request: status 400 (request req_7)"


def test_without_an_answer_the_json_has_the_model_in_full_and_no_status(ask, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("pondero.client.base_client.Retry", lambda: Retry(attempts=1))
    code, out, _ = ask("--json", "--no-save", "opus", SUM)
    made = json.loads(out)
    assert (code, made["model"]) == (4, load_catalog().entry("opus").id)
    assert (made["error"]["status"], made["error"]["request_id"]) == (None, None)


def test_a_notice_that_an_answer_was_not_saved_begins_a_line_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "file"))
    both = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "stdout", both)
    monkeypatch.setattr(sys, "stderr", both)
    assert run(["ask", "--offline", "claude-opus-5", SUM]) == 0
    assert both.getvalue().startswith("17 * 23 = 391\npondero: this was not saved: ")

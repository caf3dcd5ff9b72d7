"""``probe`` as somebody meets it: every verdict and exit code, offline and over HTTP."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
import tomlkit

from pondero.client import dial, load_catalog
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.emulator.responders.dial_effect import WORDS as DIAL_WORDS
from pondero.probe import QUESTIONS

MODEL = "gpt-5.5"
KEYS = ["verdict", "off", "ratios", "asks", "cost", "unit"]


@pytest.mark.parametrize(
    ("arguments", "code", "verdict", "off", "says"),
    [
        (["--offline"], 0, "live", "off", "live: high thinks 4.7x as much as low (4.7-4.7)"),
        (["--offline"], 0, "live", "off", "off is off"),
        (["--emulate", "deaf"], 1, "deaf", "off",
         "deaf: low and high differ by 1.00x (1.00-1.00); the route takes the field and ignores it"),
        (["--emulate", "not-off"], 1, "live", "not_off", "off is not off: 53 thinking tokens"),
        (["--emulate", "half-deaf", "--levels", "low,medium,high"], 1, "partly", "untested",
         "partly live: some levels differ, others do not"),
        (["--emulate", "noisy 3"], 2, "undecided", "off", "undecided after 29 requests: low and high differ by"),
        (["--emulate", "uncounted"], 0, "live", "off", "live: high writes 3.1x as many tokens as"),
        (["--offline", "--levels", "low,high"], 0, "live", "untested", "live: high thinks"),
    ],
)  # fmt: skip
def test_every_verdict_has_its_words_its_json_and_its_exit_code(
    call, arguments, code, verdict, off, says
):
    found, out, err = call("probe", MODEL, *arguments)
    assert found == code
    assert says in out
    assert "at most" in err.splitlines()[0]
    found, out, _ = call("probe", MODEL, *arguments, "--json")
    result = json.loads(out)
    assert (found, result["verdict"], result["off"]) == (code, verdict, off)
    assert list(result) == KEYS
    assert all(list(each) == ["pair", "estimate", "low", "high"] for each in result["ratios"])


def test_limits_of_tokens_that_no_answer_reaches_are_not_called_ignored(call):
    code, out, err = call("probe", "gemini-2.5-flash", "--offline", "--levels", "low,medium,high")
    assert code == 1
    assert (
        "deaf: medium and high differ by 1.00x (1.00-1.00); either the route ignores the field, or "
        "these questions need fewer tokens than both limits: try harder ones"
    ) in out
    assert "limit" not in err


def test_a_short_name_says_which_model_it_means(call):
    _, _, err = call("probe", "flash", "--offline")
    entry = load_catalog().entry("flash")
    assert err.splitlines()[0] == f"flash is {entry.id}, the newest {entry.line} in the catalog"
    assert "newest" not in call("probe", entry.id, "--offline")[2]


def test_a_model_that_cannot_be_off_says_so(call):
    code, out, _ = call("probe", "gemini-3-pro-preview", "--offline")
    assert code == 0
    assert "cannot be switched off" in out
    assert (
        json.loads(call("probe", "gemini-3-pro-preview", "--offline", "--json")[1])["off"]
        == "cannot"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((MODEL,), "OpenAI needs a key: set OPENAI_API_KEY"),
        ((MODEL, "--discover"), "OpenAI needs a key: set OPENAI_API_KEY"),
        (("nope",), "unknown model 'nope'"),
        (("gpt-4o", "--offline"), "does not think"),
        ((MODEL, "--offline", "--levels", "high,hgih"), "did you mean 'high'"),
        ((MODEL, "--offline", "--max-cost", "0.0001"), "more than the limit"),
        ((MODEL, "--offline", "--questions", "no-such-file"), "cannot be read"),
        ((MODEL, "--emulate", "def"), "use deaf half-deaf noisy"),
        ((MODEL, "--offline", "--write"), "--write goes with --discover"),
        ((MODEL, "--offline", "--discover", "--levels", "low"), "--discover tries all levels"),
        (("vllm:mine", "--base-url", "http://127.0.0.1:9", "--yes"), "vllm serve"),
    ],
)
def test_what_could_not_be_asked_is_one_line_and_code_3(call, arguments, says):
    code, out, err = call("probe", *arguments)
    assert (code, out) == (3, "")
    assert says in err.splitlines()[-1]
    assert sum(line.startswith("pondero:") for line in err.splitlines()) == 1


def test_without_a_terminal_it_asks_for_yes_and_sends_nothing(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with run_emulator_in_thread(emulator := Emulator()) as url:
        code, out, err = call("probe", MODEL, "--base-url", f"{url}/v1")
        assert (code, out) == (3, "")
        assert "Add --yes to confirm" in err.splitlines()[-1]
        assert "56 requests of at most 8,000 tokens; $13." in err.splitlines()[0]
        assert not emulator.log.entries


def test_no_is_no(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with run_emulator_in_thread(emulator := Emulator()) as url:
        code, _, _ = call("probe", MODEL, "--base-url", f"{url}/v1", stdin="n\n", tty=True)
        assert code != 0
        assert not emulator.log.entries
        code, out, _ = call("probe", MODEL, "--base-url", f"{url}/v1", stdin="y\n", tty=True)
        assert (code, out.partition(":")[0]) == (0, "live")


def test_the_cost_limit_holds_at_the_service(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with run_emulator_in_thread(emulator := Emulator()) as url:
        where = ("--base-url", f"{url}/v1", "--yes", "--json")
        code, out, err = call("probe", MODEL, *where, "--max-cost", "0.25")
        found = json.loads(out)
        assert (code, found["verdict"]) == (2, "undecided")
        assert "$0.25 at most" in err
        assert "cost limit" in err
        assert found["cost"] <= 0.25
        assert len(emulator.log.entries) == found["asks"] < 10


def test_ones_own_questions_are_asked(call, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    lines = [f"What is {n} * 23?" for n in range(4)]
    rows = [json.dumps({"input": f"What is {n} * 29?", "target": "x"}) for n in range(4)]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n\n".join([*lines, *rows]))
    with run_emulator_in_thread(emulator := Emulator()) as url:
        where = ("--base-url", f"{url}/v1", "--yes", "--levels", "low,high")
        assert call("probe", MODEL, *where, "--questions", str(file))[0] == 0
        asked = [entry.body["input"][0]["content"] for entry in emulator.log.entries]
    assert asked == [text for n in (*lines, "What is 0 * 29?") for text in (n, n)]


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "has no questions"), ("{nope", ":1: this is not JSON"), ('{"a": 1}', ":1: no question")],
)
def test_a_file_that_is_no_list_of_questions_says_where(call, tmp_path, text, says):
    file = tmp_path / "questions.jsonl"
    file.write_text(text)
    code, _, err = call("probe", MODEL, "--offline", "--questions", str(file))
    assert code == 3
    assert says in err


@pytest.mark.parametrize("word", DIAL_WORDS)
def test_a_question_can_set_the_dial_too(call, tmp_path, word):
    file = tmp_path / "questions.txt"
    lines = [line.replace(" Give the answer in one line.", "") for line in QUESTIONS]
    file.write_text("\n".join(f"{line} [emulator: {word}]" for line in lines))
    asked = call("probe", MODEL, "--offline", "--questions", str(file), "--json")
    plain = tmp_path / "plain.txt"
    plain.write_text("\n".join(lines))
    told = call("probe", MODEL, "--emulate", word, "--questions", str(plain), "--json")
    assert asked[0] == told[0]
    assert json.loads(asked[1]) | {"cost": 0} == json.loads(told[1]) | {"cost": 0}


# -- discovery -----------------------------------------------------------------------------------


@pytest.fixture
def _own_catalog(config_dir):
    def forget():
        for cached in (load_catalog, dial._entry):
            cached.cache_clear()

    forget()
    yield
    forget()


@pytest.mark.usefixtures("_own_catalog")
@pytest.mark.parametrize(
    "provider", ["llamacpp", "vllm", "sglang", "ollama", "lmstudio", "compatible"]
)
def test_a_discovered_row_is_the_dial_afterwards(call, config_dir, provider):
    model = f"{provider}:tomorrow"
    code, out, err = call("probe", model, "--discover", "--offline", "--write")
    assert (code, "at most 24 short requests" in err) == (0, True)
    [row] = tomlkit.parse(out).unwrap()["model"]
    assert (row["match"], row["provider"], row["source"]) == (["tomorrow"], provider, "probed")
    written = tomlkit.parse((config_dir / "models.toml").read_text()).unwrap()
    assert written["model"] == [row]
    load_catalog.cache_clear()
    dial._entry.cache_clear()
    code, out, _ = call("levels", model)
    assert code == 0
    assert "known from your own probe" in " ".join(out.split())
    shown = json.loads(call("levels", model, "--json")[1])
    assert {plan["level"] for plan in shown["levels"]} >= {"off", *row["efforts"]}
    assert call("probe", model, "--offline")[0] == 0


@pytest.mark.usefixtures("_own_catalog")
def test_a_row_that_is_there_stays_and_nothing_is_written_without_write(call, config_dir):
    code, out, err = call("probe", "vllm:tomorrow", "--discover", "--offline", "--json")
    found = json.loads(out)
    assert (code, found["written"], found["model"]) == (0, None, "vllm:tomorrow")
    assert found["trials"][0] == {
        "kind": "unset",
        "fields": {},
        "accepted": True,
        "message": "",
        "thought": True,
    }
    assert not (config_dir / "models.toml").exists()
    mine = '# mine\n[[model]]\nmatch = ["tomorrow"]\nprovider = "vllm"\nstyle = "effort"\n'
    (config_dir / "models.toml").write_text(mine)
    load_catalog.cache_clear()
    code, _, err = call("probe", "vllm:tomorrow", "--discover", "--offline", "--write")
    assert code == 0
    assert "has a row of this model already" in err
    assert (config_dir / "models.toml").read_text() == mine


# -- interruption --------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of Unix")
def test_control_c_ends_it_with_what_was_asked(environment):
    emulator = Emulator(faults=[None, None, *["slow 600"] * 60])
    with run_emulator_in_thread(emulator) as url:
        ours, theirs = pty.openpty()
        command = [
            sys.executable,
            "-m",
            "pondero",
            "probe",
            MODEL,
            "--yes",
            "--base-url",
            f"{url}/v1",
        ]
        with subprocess.Popen(
            command, env={**environment, "OPENAI_API_KEY": "any"}, stdin=theirs,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            while len(emulator.log.entries) < 3:
                assert process.poll() is None, process.communicate()
            os.kill(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=120)
        os.close(ours)
        os.close(theirs)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().splitlines()[-1] == "interrupted after 2 requests"

"""``models``: what is known, and with ``--refresh`` what differs elsewhere."""

import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from jsonschema import ValidationError, validate

import pondero
from pondero.catalog import SNAPSHOT
from pondero.cli.app import run
from pondero.client import dial, load_catalog

ROOT = Path(__file__).parents[3]
LIST = {
    "anthropic": {
        "env": ["ANTHROPIC_API_KEY"],
        "models": {
            "claude-opus-5": {"id": "claude-opus-5", "reasoning": True, "limit": {"output": 99}},
            "claude-opus-9": {
                "id": "claude-opus-9",
                "reasoning": True,
                "reasoning_options": [{"type": "effort", "values": ["low", "high"]}],
                "last_updated": "2026-09-30",
            },
        },
    },
    "togetherai": {
        "env": ["TOGETHER_API_KEY"],
        "models": {"acme/new": {"id": "acme/new", "reasoning": True}},
    },
}


@pytest.fixture
def cli(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path / "config"))
    _forget()

    def call(*arguments):
        code = run(["models", "--refresh", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    yield call
    _forget()


def _forget():
    load_catalog.cache_clear()
    dial._entry.cache_clear()


@pytest.fixture
def theirs(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(LIST), "utf-8")
    return path


@pytest.fixture
def mine(tmp_path):
    return tmp_path / "config" / "models.toml"


def test_models_lists_what_is_known(call):
    code, out, _ = call("models", "--provider", "google")
    assert code == 0
    assert "gemini-2.5-pro" in out
    assert "claude" not in out


def test_models_alone_is_a_short_screen_of_short_names_and_ways_on(call):
    code, out, _ = call("models")
    assert code == 0
    assert len(out.splitlines()) < 50
    for name in ("opus", "sonnet", "haiku", "flash", "gpt", "gemini", "deepseek"):
        assert any(name in line.replace(",", "").split() for line in out.splitlines())
    assert load_catalog().entry("opus").id in out
    assert "--all" in out


def test_short_names_of_one_model_are_told_apart(call):
    rows = [line.split() for line in call("models")[1].splitlines()]
    assert ["claude,", "opus", load_catalog().entry("opus").id] in [row[:3] for row in rows]


def test_a_pipe_is_not_as_narrow_as_the_terminal_it_came_from(call, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((40, 12)))
    long = "google:gemini-3.1-flash-tts-preview"
    (row,) = (line.split() for line in call("models", "flash")[1].splitlines() if long in line)
    assert row == [long, "no", "control", "no"]


def test_models_all_prints_every_model(call):
    code, out, _ = call("models", "--all")
    assert code == 0
    assert len(out.splitlines()) > 2000


def test_models_with_words_ranks_what_fits_all_of_them(call):
    code, out, err = call("models", "opus")
    assert code == 0
    first = next(line.split()[0] for line in out.splitlines() if ":" in line)
    assert first == load_catalog().entry("opus").id
    assert "--all prints all" in err
    assert out.splitlines()[-1] == f"opus is {first}, the newest claude-opus in the catalog"
    out = call("models", "opus", "--provider", "anthropic", "--json")[1]
    found = [each["id"] for each in json.loads(out)["models"]]
    assert found[0] == first
    assert all(id.startswith("anthropic:claude-") and "opus" in id for id in found)


def test_models_with_a_misspelt_word_names_the_nearest(call):
    code, out, err = call("models", "opsu")
    assert (code, out) == (2, "")
    assert "no model fits 'opsu'; did you mean 'opus'?" in err
    code, _, err = call("models", "opus", "--provider", "google")
    assert (code, "no model of google fits 'opus'" in err, "did you mean" in err) == (
        2,
        True,
        False,
    )


def test_a_provider_that_takes_any_name_says_so(call):
    code, out, err = call("models", "--provider", "compatible")
    assert (code, out) == (0, "")
    assert "it takes any, compatible:NAME" in err


def test_models_json_is_stable(call):
    _, out, _ = call("models", "--json")
    said = json.loads(out)
    rows = said.pop("models")
    assert said == {"version": 1, "list": {"name": "models.dev", "date": "2026-09-30"}}
    assert len(rows) == len(pondero.models())
    assert {"id", "provider", "model", "dialect", "family", "thinks", "levels", "off",
            "default", "budget", "shown", "max_output", "context", "source", "checked", "evidence", "limits_evidence"} == set(rows[0])  # fmt: skip


def test_models_json_is_as_its_schema_says(call):
    schema = json.loads((ROOT / "docs" / "models.schema.json").read_text("utf-8"))
    _, out, _ = call("models", "--json")
    validate(json.loads(out), schema)
    broken = json.loads(out.replace('"thinks": true', '"thinks": "yes"', 1))
    with pytest.raises(ValidationError):
        validate(broken, schema)


def test_it_reports_and_writes_nothing(cli, theirs, mine):
    code, out, err = cli(theirs, "--provider", "anthropic")
    assert (code, err) == (0, "")
    assert "1 new, " in out
    assert "max_output differs" in out
    assert not mine.exists()


def test_a_provider_nobody_knows_is_no_provider_without_differences(cli, theirs):
    code, out, err = cli(theirs, "--provider", "antropic")
    assert (code, out) == (2, "")
    assert "did you mean 'anthropic'" in err


def test_json_has_every_difference(cli, theirs):
    code, out, _ = cli(theirs, "--json")
    said = json.loads(out)
    assert (code, said["new"], said["different"], said["written"]) == (0, 2, 2, None)
    assert (said["version"], said["date"], said["models"]) == (1, "2026-09-30", 3)
    assert len(said["differences"]) == said["new"] + said["gone"] + said["different"]
    assert said["differences"][0] == {
        "what": "new",
        "provider": "anthropic",
        "model": "claude-opus-9",
        "field": None,
        "ours": None,
        "theirs": True,
        "like": "claude-opus-5-5",
        "evidence": "inferred",
        "why": None,
    }


def test_what_it_writes_is_read_again_and_what_was_there_stays(cli, theirs, mine):
    mine.parent.mkdir()
    own = '# mine\n[[model]]\nmatch = ["claude-opus-5"]\nlike = "claude-opus-5"\nmax_output = 7\n'
    mine.write_text(own, "utf-8")
    code, _, err = cli(theirs, "--write", "--yes")
    assert (code, f"wrote 1 models to {mine}" in err) == (0, True)
    assert mine.read_text("utf-8").startswith(own)
    _forget()
    assert load_catalog().entry("claude-opus-5").capability.max_output == 7
    new = load_catalog().entry("claude-opus-9")
    assert (new.inferred, new.evidence, new.capability.checked) == (False, "list", "2026-09-30")
    assert (new.capability.efforts, new.capability.off) == (("low", "high"), False)
    assert load_catalog().entry("together:acme/new").inferred  # nothing is known of its line


def test_it_shows_what_it_is_about_to_write(cli, theirs):
    _, out, _ = cli(theirs, "--write", "--yes")
    shown = out.partition("row for your models.toml")[2]
    assert "anthropic:claude-opus-9" in shown
    assert "low high" in shown


def test_a_verified_row_stays_unless_forced(cli, theirs, mine):
    cli(theirs, "--write", "--yes")
    assert '"claude-opus-5"' not in mine.read_text("utf-8")
    _forget()
    assert cli(theirs, "--write", "--yes", "--force")[0] == 0
    _forget()
    assert load_catalog().entry("claude-opus-5").capability.max_output == 99


def test_the_check_fails_on_what_nobody_has_settled(cli, theirs, tmp_path):
    code, _, err = cli(theirs, "--check")
    assert (code, "neither fixed nor settled" in err) == (1, True)
    agreed = {"anthropic": {"models": {"claude-opus-5": {"reasoning": True}}}}
    path = tmp_path / "agreed.json"
    path.write_text(json.dumps(agreed), "utf-8")
    assert cli(path, "--check")[0] == 0


def test_the_committed_list_passes_the_check(cli):
    assert cli(SNAPSHOT, "--check")[0] == 0


def test_a_second_time_there_is_nothing_to_write(cli, theirs, mine):
    cli(theirs, "--write", "--yes")
    before = mine.read_text("utf-8")
    _forget()
    code, out, _ = cli(theirs, "--write", "--yes")
    assert (code, "nothing to write" in out) == (0, True)
    assert mine.read_text("utf-8") == before


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_where_nobody_can_be_asked_it_does_not_write(cli, theirs, mine, more):
    code, out, err = cli(theirs, "--write", *more)
    assert (code, out) == (2, "")
    assert "add --yes to --write" in err
    assert not mine.exists()


@pytest.mark.parametrize(("answer", "written"), [(True, True), (False, False)])
def test_on_a_terminal_it_asks(cli, theirs, mine, monkeypatch, answer, written):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda text: "models.toml?" in text and answer)
    assert cli(theirs, "--write")[0] == 0
    assert mine.exists() is written


def test_a_models_file_that_is_broken_is_left_alone(cli, theirs, mine):
    mine.parent.mkdir()
    mine.write_text("[[model\n", "utf-8")
    code, _, err = cli(theirs, "--write", "--yes")
    assert (code, err.count("\n")) == (2, 1)
    assert mine.read_text("utf-8") == "[[model\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [("<html>", "a web page"), ("{", "no JSON"), ('{"a": 1}', "no list of models")],
)
def test_what_is_no_list_is_one_line(cli, tmp_path, text, words):
    path = tmp_path / "it"
    path.write_text(text, "utf-8")
    code, out, err = cli(path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_a_file_that_is_not_there_is_one_line(cli, tmp_path):
    code, out, err = cli(tmp_path / "nowhere.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "No such file" in err


@pytest.mark.parametrize("option", ["--write", "--yes", "--force", "--check"])
def test_writing_goes_with_a_list_only(option, capsys):
    assert run(["models", option]) == 2
    assert "go with --refresh" in capsys.readouterr().err


# -- over the network ----------------------------------------------------------------------------


@pytest.fixture
def served():
    class Shelf(BaseHTTPRequestHandler):
        def do_GET(self):
            status = {"/list": 200, "/moved": 301}.get(self.path, 404)
            body = json.dumps(LIST).encode() if status == 200 else b"<html>no</html>"
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            if status == 301:
                self.send_header("location", "https://elsewhere.test/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Shelf) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_list_may_be_fetched(cli, served):
    code, out, _ = cli(f"{served}/list", "--json")
    assert (code, json.loads(out)["new"]) == (0, 2)


@pytest.mark.parametrize(
    ("path", "words"),
    [("nowhere", "status 404"), ("moved", "status 301: it is at https://elsewhere.test/")],
)
def test_what_the_network_says_is_one_line(cli, served, path, words):
    code, out, err = cli(f"{served}/{path}")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert words in err


def test_where_nobody_answers_is_one_line(cli):
    code, out, err = cli("http://127.0.0.1:1/list")
    assert (code, out, err.count("\n")) == (4, "", 1)


def test_the_default_of_a_model_is_in_words_that_a_reader_knows(capsys):
    run(["models", "--provider", "google"])
    out = capsys.readouterr().out
    assert "it decides" in out
    assert "not known" in out
    assert "dynamic" not in out
    assert "unaudited" not in out

"""``pondero doctor``: what is in order, what is not, and what would help."""

import json
import os
import shutil

import pytest

from pondero.canon import Message, Text
from pondero.client import HealthCheck, dial, load_catalog, run_checks
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.extras import install_hint
from pondero.store import StoredMessage, Threads, config_file, keys_file, save_key, write_atomic


@pytest.fixture
def doctor(call, config_dir, data_dir):
    return lambda *arguments: call("doctor", *arguments)


def found():
    return {finding.check: finding for finding in run_checks()}


def test_a_machine_in_order_ends_well(doctor):
    code, out, err = doctor()
    assert (code, err) == (0, "")
    for check in ("version", "catalog", "config", "keys", "threads", "terminal", "extra tui"):
        assert f" {check} " in out
    findings = json.loads(doctor("--json")[1])["findings"]
    assert set(findings[0]) == {"check", "ok", "value", "fix"}
    assert all(finding["ok"] is not False for finding in findings)


def test_keys_are_named_and_never_shown(doctor, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-0123456789")
    save_key("GROQ_API_KEY", "another-planted-key-0123456789")
    for out in (doctor()[1], doctor("--json")[1]):
        assert "openai (OPENAI_API_KEY)" in out
        assert "groq (GROQ_API_KEY)" in out
        assert "planted-key" not in out


def test_every_finding_that_is_not_well_has_a_fix(doctor, data_dir):
    config_file().write_text("nonsense = 1")
    keys_file().write_text("{}")
    keys_file().chmod(0o644)
    data_dir.mkdir()
    (data_dir / "threads.db").write_bytes(b"no database" * 999)
    code, out, _ = doctor()
    assert code == 1
    bad = [finding for finding in run_checks() if finding.ok is False]
    assert {"config", "keys file"} <= {finding.check for finding in bad}
    assert all(finding.fix for finding in bad)
    assert "was damaged; it was moved to" in out


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_keys_that_others_can_read_are_told_of(doctor):
    save_key("GROQ_API_KEY", "another-planted-key-0123456789")
    assert "keys file" not in found()
    keys_file().chmod(0o640)
    assert found()["keys file"].fix == f"chmod 600 {keys_file()}"


def test_folders_that_cannot_be_written_are_told_of(doctor, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "file"))
    assert found()["data folder"].ok is False
    assert "PONDERO_DATA_DIR" in found()["data folder"].fix
    assert found()["threads"].ok is False
    assert doctor()[0] == 1


def test_an_extra_that_is_missing_says_how_to_have_it(monkeypatch):
    missing = lambda packages: [name for name in packages if name == "textual"]  # noqa: E731
    monkeypatch.setattr("pondero.client.doctor.find_missing", missing)
    finding = found()["extra tui"]
    assert (finding.ok, finding.value, finding.fix) == (
        None,
        "without textual",
        install_hint("tui"),
    )
    assert found()["extra fast"].ok


def test_a_terminal_too_small_or_without_unicode_is_told_of(monkeypatch):
    class Terminal:
        encoding = "latin-1"

        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "10")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal, characters = found()["terminal"], found()["characters"]
    assert (terminal.ok, terminal.value) == (False, "40 by 10, no colours (NO_COLOR)")
    assert (characters.ok, characters.value) == (False, "latin-1")


def test_what_stands_in_for_a_terminal_need_not_have_characters(monkeypatch):
    class Screen:
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Screen())
    characters = found()["characters"]
    assert (characters.ok, characters.value) == (False, "unknown")


def test_a_thread_for_another_model_says_what_it_would_not_be_shown(call, doctor):
    call("ask", "--offline", "claude-opus-5/high", "What is 17 * 23?")
    code, out, _ = doctor("last", "--for", "gemini-3-flash-preview")
    assert code == 0
    assert "for google:gemini-3-flash-preview" in out
    assert "withheld thinking" in out
    own = doctor("last")[1]
    assert "2 parts kept, 1 withheld" in own
    assert "an emulator made it, and the destination is not that emulator" in own
    made = json.loads(doctor("--for", "google:gemini-3-flash-preview", "--json")[1])
    assert set(made) == {"thread", "for", "manifest", "cache"}
    assert made["manifest"]["withheld"] == 1


def test_a_thread_or_model_nobody_knows_is_one_sentence(doctor):
    code, out, err = doctor("last")
    assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, err = doctor("abcdef", "--for", "gemini")
    assert (code, out, err.count("\n")) == (2, "", 1)


BROKEN = [
    ("config.toml", b'thinking = "hgih"\n', 1),
    ("config.toml", b'[thinking]\nlevel = "high"\n', 1),
    ("config.toml", b"\npolicy = 3\n", 2),
    ("config.toml", b'save = true\n[[policy]]\noff = "least"\n', 2),
    ("config.toml", b"save = true\n# caf\xe9\n", 2),
    ("config.toml", b"\xff\xfes\x00a\x00v\x00e\x00", 1),
    ("config.toml", b"x = " + b"[" * 3_000 + b"]" * 3_000, 1),
    ("config.toml", b"[" + b".".join([b"a"] * 2_000) + b"]\nb = 1\n", 1),
    ("config.toml", b"save = \n", 1),
    ("config.toml", b"sav = true\n", 1),
    ("models.toml", b'[model]\nmatch = ["a"]\n', 1),
    ("models.toml", b"# \xff\n", 1),
    ("models.toml", b"x = " + b"[" * 3_000, 1),
    ("providers/acme.toml", b'like = "openai"\n[quirks]\npairng = false\n', 3),
    ("providers/acme.toml", b'like = "openai"\n# \xff\n', 2),
    ("families/acme.toml", b"[family]\n", 1),
]


@pytest.fixture
def _read_again():
    for cached in (load_catalog, dial.load_policy, dial._entry):
        cached.cache_clear()
    yield
    for cached in (load_catalog, dial.load_policy, dial._entry):
        cached.cache_clear()


@pytest.mark.usefixtures("_read_again")
@pytest.mark.parametrize(("name", "data", "line"), BROKEN, ids=str)
def test_a_broken_file_is_a_finding_and_a_sentence_with_file_and_line(
    call, doctor, config_dir, name, data, line
):
    file = config_dir / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    code, out, err = doctor()
    assert (code, err) == (1, "")
    assert f"{file}:{line}: " in out
    assert "keys" in out  # the other checks are made all the same
    command = ("config", "get") if name == "config.toml" else ("plan", "gpt-5/low")
    code, out, err = call(*command)
    assert (code, out) == (2, "")
    assert err.startswith(f"pondero: {file}:{line}: ")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("_read_again")
def test_a_byte_order_mark_before_a_file_is_passed_over(call, config_dir):
    (config_dir / "config.toml").write_bytes(b'\xef\xbb\xbfthinking = "low"\n')
    (config_dir / "models.toml").write_bytes(
        b'\xef\xbb\xbf[[model]]\r\nmatch = ["ours"]\r\nlike = "gpt-5"\r\n'
    )
    assert call("config", "get")[:2] == (0, 'thinking = "low"\n')
    assert call("plan", "ours/low")[0] == 0
    assert call("config", "set", "save", "false")[0] == 0
    assert (config_dir / "config.toml").read_text() == 'thinking = "low"\nsave = false\n'


@pytest.mark.parametrize(
    ("model", "level", "cost"),
    [
        ("claude-opus-5", "low", "cache kept"),
        ("claude-opus-5", "high", None),
        ("claude-opus-5", "off", "cache lost, 7 tokens billed again"),
        ("claude-sonnet-4-5", "low", "cache lost, 7 tokens billed again"),
        ("gpt-6-sol", "low", "cache kept"),
    ],
)
def test_a_thread_says_what_another_level_would_cost(call, doctor, model, level, cost):
    call("ask", "--offline", f"{model}/high", "What is 17 * 23?")
    made = json.loads(doctor("last", "--for", f"{model}/{level}", "--json")[1])["cache"]
    out = doctor("last", "--for", f"{model}/{level}")[1]
    if cost is None:
        assert made is None
        assert "cache:" not in out
    else:
        assert made.startswith(cost)
        assert f"\ncache: {cost.removeprefix('cache ')}" in out


def test_a_thread_continued_at_another_level_keeps_its_updates(call, doctor):
    call("ask", "--offline", "claude-opus-5/high", "What is 17 * 23?")
    call("ask", "--offline", "-c", "last", "claude-opus-5/low", "What is 5 * 5?")
    assert "level_update" not in doctor("last")[1]
    told = call("threads", "show", "last")[1]
    assert "level low" in told
    moved = json.loads(doctor("last", "--for", "gpt-5.1/low", "--json")[1])["manifest"]
    assert "level_update" in json.dumps(moved)


# -- what is tried ------------------------------------------------------------------------------


@pytest.fixture
def engine():
    emulator = Emulator(any_model=True)
    with run_emulator_in_thread(emulator) as url:
        yield url


@pytest.mark.usefixtures("_read_again")
def test_an_unknown_default_model_is_no_tick(doctor, config_dir):
    write_atomic(config_file(), 'model = "no-such-model-at-all"\n')
    code, out, _ = doctor()
    assert code == 1
    assert "unknown model 'no-such-model-at-all'" in out
    assert found()["model"].fix == "pondero config set model MODEL"


@pytest.mark.usefixtures("_read_again")
def test_a_default_model_says_which_one_it_is(doctor, config_dir):
    nothing = found()["model"]
    assert (nothing.ok, nothing.value) == (None, "none is set, and there is no key")
    assert nothing.fix == "pondero config set model MODEL, or set a key; --offline needs neither"
    write_atomic(config_file(), 'model = "opus/high"\n')
    assert found()["model"] == HealthCheck(
        "model", ok=True, value=f"opus/high: {load_catalog().entry('opus').id}"
    )


@pytest.mark.usefixtures("_read_again")
def test_an_unknown_theme_is_no_tick(doctor, config_dir):
    pytest.importorskip("textual")
    write_atomic(config_file(), 'theme = "nosuch"\n')
    code, out, _ = doctor()
    assert code == 1
    assert "there is no theme 'nosuch'" in out


@pytest.mark.usefixtures("_read_again")
def test_each_mcp_server_is_started(doctor, config_dir):
    pytest.importorskip("mcp")
    write_atomic(config_file(), '[mcp.bad]\ncommand = "no-such-command-xyz"\n')
    finding = found()["mcp bad"]
    assert (finding.ok, finding.fix) == (False, "correct [mcp.bad] in config.toml")
    assert "no-such-command-xyz" in finding.value


@pytest.mark.usefixtures("_read_again")
def test_the_engine_of_the_default_model_is_asked(doctor, config_dir, monkeypatch, engine):
    write_atomic(config_file(), 'model = "vllm:some-model"\n')
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:9/v1")
    finding = found()["engine vllm"]
    assert (finding.ok, finding.fix) == (False, "start it at http://127.0.0.1:9/v1")
    monkeypatch.setenv("VLLM_BASE_URL", f"{engine}/vllm/v1")
    assert found()["engine vllm"].ok is True


def test_a_file_that_was_moved_aside_is_told_of_until_it_is_read_back(call, doctor, data_dir):
    with Threads.open() as threads:
        id = threads.start(model="m").id
        threads.add(id, [StoredMessage(Message("user", (Text("hello"),)))])
    moved = data_dir / "threads.db.broken-20261117-101500"
    (data_dir / "threads.db").rename(moved)
    code, out, _ = doctor()
    assert code == 1
    assert f"pondero threads salvage {moved}" in out
    code, out, _ = call("threads", "salvage", str(moved))
    assert (code, out) == (0, "1 messages in 1 threads were read back\n")
    assert "threads salvage" not in doctor()[1]
    assert call("threads", "show", id)[0] == 0


def test_room_on_the_disk_and_threads_without_messages_are_told_of(doctor, data_dir, monkeypatch):
    assert "GB free at" in found()["disk"].value
    with Threads.open() as threads:
        id = threads.start(model="m").id
    assert f"pondero threads delete --yes {id}" in doctor()[1]
    usage = shutil.disk_usage(data_dir)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    assert found()["disk"].ok is False


def test_a_terminal_that_cannot_draw_is_no_tick(monkeypatch, config_dir, data_dir):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert found()["terminal"].ok is False
    assert "set TERM" in found()["terminal"].fix

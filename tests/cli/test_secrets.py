"""A key is planted wherever one could be; then everything that was written or said is searched."""

import pytest

from pondero.emulator import Emulator, Fault, Turn, serving
from pondero.store import config_file, save_key

PLANTED = "sk-" + "planted-0123456789abcdef"
KEPT = "kept-planted-0123456789abcdef"


@pytest.fixture
def service(monkeypatch, config_dir, data_dir):
    """A service that repeats its caller's key, in an answer or in a refusal."""
    monkeypatch.setattr("pondero.store.secrets._in_use", set())
    emulator = Emulator()
    with serving(emulator) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", PLANTED)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        save_key("ANTHROPIC_API_KEY", KEPT)
        yield emulator


def test_no_key_is_in_the_store_an_export_a_setting_or_an_error(
    call, service, data_dir, tmp_path, monkeypatch
):
    said = []

    def search(*arguments, **how):
        code, out, err = call(*arguments, **how)
        said.append(out + err if arguments[0] != "ask" else err)
        return code, out, err

    for model, key in (("gpt-5.1/low", PLANTED), ("claude-opus-5/low", KEPT)):
        service.expect(Turn(text=f"your key is {key}", thinking=f"key {key}"))
        assert key in search("ask", model, "What is my key?")[1]
        service.faults.append(
            Fault(kind="status", status=400, message=f"Incorrect key provided: {key}")
        )
        code, _, err = search("ask", model, f"My key is {key}.")
        assert code == 3
        assert "Incorrect key provided: REDACTED" in err
        assert search("ask", "-c", f"And {key}?", "--system", key)[0] == 0
        assert search("config", "set", "model", key)[0] == 2
        assert search("plan", f"no-such-model-{key}")[0] == 2
        assert search("ask", "gpt-5.1", key, "--max-tokens", key)[0] == 2

    for verb in ("list", "show", "export"):
        search("threads", verb)
        search("threads", verb, *(("--format", "jsonl") if verb == "export" else ("--json",)))
    for ending in ("md", "html", "jsonl"):
        assert search("threads", "export", "last", "--to", str(tmp_path / f"talk.{ending}"))[0] == 0
    for arguments in (("search", "REDACTED"), ("search", "key", "--json")):
        assert "REDACTED" in search("threads", *arguments)[1]
    for arguments in (
        ("doctor",),
        ("doctor", "--json"),
        ("config", "get"),
        ("keys", "list"),
        ("keys", "list", "--json"),
        ("stats",),
    ):
        search(*arguments)
    monkeypatch.setattr(
        "pondero.cli.doctor.findings",
        lambda: (_ for _ in ()).throw(RuntimeError(f"a bug with {PLANTED} and {KEPT}")),
    )
    assert "a bug with REDACTED and REDACTED" in search("doctor")[2]

    files = [*data_dir.iterdir(), *tmp_path.glob("talk.*"), config_file()]
    texts = [file.read_bytes() for file in files if file.exists()] + [
        each.encode() for each in said
    ]
    assert len(texts) > 30
    for text in texts:
        assert PLANTED.encode() not in text
        assert KEPT.encode() not in text

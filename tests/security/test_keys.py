"""A key is planted wherever one could be; then everything that was written or said is searched."""

import click
import pytest

import pondero
from pondero.cli.app import app
from pondero.client import load_catalog
from pondero.emulator import Emulator, Fault, ScriptedTurn, run_emulator_in_thread
from pondero.errors import BadRequest, CassetteError
from pondero.exchange import Retry
from pondero.store import config_file, save_key
from pondero.vcr import Cassette

PLANTED = "sk-" + "planted-0123456789abcdef"
VERBS = app.list_commands(click.Context(app))
KEPT = "kept-planted-0123456789abcdef"


@pytest.fixture
def service(monkeypatch, config_dir, data_dir):
    """A service that repeats its caller's key, in an answer or in a refusal."""
    monkeypatch.setattr("pondero.store.secrets._in_use", set())
    emulator = Emulator()
    with run_emulator_in_thread(emulator) as url:
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
        said.append(out + err)
        return code, out, err

    for model, key in (("gpt-5.1/low", PLANTED), ("claude-opus-5/low", KEPT)):
        service.expect(ScriptedTurn(text=f"your key is {key}", thinking=f"key {key}"))
        assert "your key is REDACTED" in search("ask", model, "What is my key?")[1]
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
        "pondero.cli.commands.doctor.run_checks",
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


def test_no_key_is_in_a_cassette_or_in_what_is_said_of_one(tmp_path, service):
    path = tmp_path / "talk.jsonl"
    service.faults.append(Fault(kind="status", status=400, message=f"Incorrect key: {PLANTED}"))
    with (
        Cassette(path, record=True) as cassette,
        pondero.Client(transport=cassette, retry=Retry(attempts=1)) as client,
        pytest.raises(BadRequest),
    ):
        client.ask("gpt-5.1/low", f"My key is {PLANTED}.")
    assert PLANTED not in path.read_text("utf-8")
    with pytest.raises(CassetteError) as missed:
        pondero.Client(transport=Cassette(path, record=False)).ask("gpt-5.1/low", PLANTED)
    assert PLANTED not in f"{missed.value!r} {missed.value}"


@pytest.mark.parametrize("verb", VERBS)
def test_a_bug_in_any_verb_is_told_without_the_key(call, service, verb, monkeypatch):
    def broken(*_args, **_options):
        message = f"a bug with {PLANTED} and {KEPT}"
        raise RuntimeError(message)

    monkeypatch.setattr(app.get_command(click.Context(app), verb), "invoke", broken)
    monkeypatch.setattr(app.get_command(click.Context(app), verb), "parse_args", lambda *_: [])
    code, out, err = call(verb)
    assert (code, out) == (1, "")
    assert "a bug with REDACTED and REDACTED" in err


@pytest.mark.parametrize("provider", sorted(load_catalog().catalog.providers))
def test_a_key_goes_into_one_header_and_nowhere_else(provider, monkeypatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    listed = next(iter(pondero.models(provider)), None)
    model = listed.id if listed else f"{provider}:some-model"
    url = {provider: "https://service.test/v1"}
    http = pondero.Client(keys={provider: PLANTED}, urls=url).prepare(model, "Hi", "high").request
    assert len([name for name, value in http.headers.items() if PLANTED in value]) == 1
    assert PLANTED not in http.url
    assert PLANTED.encode() not in http.body


def test_no_key_is_in_the_words_that_stand_for_a_value(service):
    client = pondero.Client(keys={"openai": PLANTED})
    prepared = client.prepare("gpt-5.1", "hello")
    assert PLANTED not in "".join(map(repr, (client, prepared, prepared.plan)))

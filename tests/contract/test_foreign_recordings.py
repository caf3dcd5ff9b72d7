"""What is recorded from a service that is not our emulator plays back with the same results."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pondero.canon import HttpRequest, ResponseHead
from pondero.cassettes import RecordedExchange, load_cassette
from pondero.cassettes.file_format import dump
from pondero.cli.app import run
from pondero.contract import SCENARIOS, most_recorded_model, representative_models
from pondero.emulator import SERVER, Emulator, home_providers, run_emulator_in_thread

# One provider of every wire, and two more that speak Chat Completions with rules of their own.
PROVIDERS = [*(home.name for home in home_providers()), "groq", "deepseek"]
STAGED = {scenario.name for scenario in SCENARIOS if scenario.staged}
KEY = "sk-ant-" + "a1" * 12  # shaped like one, and none
_OWN = ("server", "content-length", "transfer-encoding")

Refuses = Callable[[bytes], bool]


@contextmanager
def foreign(
    provider: str, *, prefix: str = "", refuses: Refuses = lambda _: False
) -> Iterator[str]:
    """A proxy before the emulator that takes away everything the emulator is known by."""
    emulator = Emulator(service=provider)

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if refuses(body):
                self._answer(
                    400, {"content-type": "application/json"}, [b'{"error":"never heard"}']
                )
                return
            url = f"http://127.0.0.1{self.path.removeprefix(prefix)}"
            answer = emulator.send(HttpRequest("POST", url, headers, body))
            self._answer(answer.head.status, answer.head.headers, answer)

        def _answer(self, status, headers, pieces) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in _OWN:
                    self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in filter(None, pieces):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def contract(tmp_path, monkeypatch, capsys):
    """Run the kit, recording or not; the results by scenario."""

    def results(*arguments: str, record: bool = False) -> dict[str, tuple[str, str]]:
        monkeypatch.setenv("VCR_RECORD", "1" if record else "")
        run(["contract", *arguments, "--json"])
        told = json.loads(capsys.readouterr().out)["results"]
        return {each["scenario"]: (each["status"], each["detail"]) for each in told}

    return results


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_foreign_service_plays_back_as_it_was_recorded(provider, contract, tmp_path):
    folder = ("--cassettes", str(tmp_path))
    with foreign(provider) as url:
        met = contract(provider, "--base-url", url)
        recorded = contract(provider, "--base-url", url, *folder, record=True)
    played = contract(provider, *folder)
    assert recorded == met
    assert played == met
    assert {status for status, _ in met.values()} <= {"passed", "skipped", "unsupported"}
    assert {name for name, (status, _) in met.items() if status == "skipped"} == STAGED
    assert all("staged" in met[name][1] for name in STAGED)


def test_no_answer_of_it_bears_the_emulators_name(contract, tmp_path):
    with foreign("anthropic") as url:
        contract("anthropic", "--base-url", url, "--cassettes", str(tmp_path), record=True)
    for path in tmp_path.rglob("*.jsonl"):
        for exchange in load_cassette(path):
            assert exchange.source == url
            assert SERVER not in (exchange.head.headers.values() if exchange.head else ())


@pytest.mark.parametrize("provider", ["anthropic", "google", "groq", "cohere", "bedrock"])
def test_an_address_with_a_path_of_its_own_plays_back(provider, contract, tmp_path):
    arguments = (provider, "--scenario", "s*", "--cassettes", str(tmp_path))
    with foreign(provider, prefix="/gateway/v9") as url:
        recorded = contract(*arguments, "--base-url", url, record=True)
    assert contract(*arguments) == recorded
    assert recorded["simple_text"] == ("passed", "")


def test_an_emulator_at_an_address_stages_nothing_either(contract, tmp_path):
    with run_emulator_in_thread(Emulator()) as url:
        arguments = ("google", "--cassettes", str(tmp_path))
        recorded = contract(*arguments, "--base-url", url, record=True)
    assert contract(*arguments) == recorded
    assert {name for name, (status, _) in recorded.items() if status == "skipped"} == STAGED


def test_the_live_service_plays_back_without_its_key(contract, tmp_path, monkeypatch):
    with foreign("anthropic") as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        arguments = ("anthropic", "--cassettes", str(tmp_path))
        recorded = contract(*arguments, "--live", record=True)
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert contract(*arguments) == recorded
    assert "failed" not in {status for status, _ in recorded.values()}
    assert KEY not in "".join(path.read_text("utf-8") for path in tmp_path.rglob("*.jsonl"))


def test_what_a_server_refuses_is_unsupported_when_it_is_played_too(contract, tmp_path):
    arguments = ("openai-chat", "--cassettes", str(tmp_path))
    with foreign("openai-chat", refuses=lambda body: b'"tools"' in body) as url:
        recorded = contract(*arguments, "--base-url", url, record=True)
    assert contract(*arguments) == recorded
    status, detail = recorded["tool_call"]
    assert (status, detail[:10]) == ("unsupported", "rejected: ")


def test_a_model_that_the_emulator_does_not_serve_is_found_again_in_its_recordings(tmp_path):
    url = "https://gateway.test/v1beta/models/gemini-9-none:generateContent"
    taken = RecordedExchange(HttpRequest("POST", url, {}, b"{}"), ResponseHead(200), (b"{}",))
    (tmp_path / "google").mkdir()
    (tmp_path / "google" / "test_contract_simple_text.jsonl").write_bytes(dump([taken]))
    assert most_recorded_model(tmp_path, representative_models("google")[0]) == "gemini-9-none"


def test_a_service_that_fails_keeps_nothing_and_fails_when_played(contract, tmp_path):
    arguments = ("anthropic", "--cassettes", str(tmp_path), "--scenario", "simple_text")
    with foreign("anthropic", refuses=lambda body: b"2+2" in body) as url:
        recorded = contract(*arguments, "--base-url", url, record=True)
    assert list(tmp_path.rglob("*.jsonl")) == []
    assert recorded["simple_text"][0] == "failed"


def test_a_recording_that_lost_an_exchange_is_not_excused(contract, tmp_path):
    arguments = ("anthropic", "--cassettes", str(tmp_path), "--scenario", "multi_turn")
    with foreign("anthropic") as url:
        contract(*arguments, "--base-url", url, record=True)
    path = tmp_path / "anthropic" / "test_contract_multi_turn.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    second = [number for number, line in enumerate(lines) if line.startswith('{"_request"')][1]
    path.write_text("".join(lines[:second]), "utf-8")
    assert contract(*arguments)["multi_turn"][0] == "failed"


def test_a_staged_recording_of_the_emulator_beside_a_services_own_is_played(contract, tmp_path):
    ours = Path(__file__).parents[1] / "cassettes" / "anthropic"
    model = ("--model", "claude-sonnet-4-5")
    arguments = ("anthropic", "--cassettes", str(tmp_path), "--scenario", "error_*")
    with foreign("anthropic") as url:
        contract(*arguments, *model, "--base-url", url, record=True)
    shutil.copy(ours / "test_contract_error_server.jsonl", tmp_path / "anthropic")
    played = contract(*arguments)
    assert played["error_rate_limit"][0] == "skipped"
    assert played["error_server"] == ("passed", "")

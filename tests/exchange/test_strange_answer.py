"""An answer of another API, or of no API: who answered, what was expected, what to check.

The answers are those of the emulators, whole and streamed, each given to every other caller.
"""

import itertools
import re
import traceback

import pytest
from tests.transport.scripted import Said, Scripted

import pondero
from pondero.canon import ResponseHead
from pondero.dialects import NAMES
from pondero.emulator import Emulator
from pondero.errors import Malformed, PonderoError, WireError
from pondero.exchange import Retry

MODELS = {
    "anthropic": "claude-opus-5/low",
    "openai_responses": "gpt-5.1/low",
    "gemini": "gemini-3-flash-preview/low",
    "openai_chat": "deepseek:deepseek-chat/low",
    "cohere": "cohere:command-a-reasoning/low",
    "ollama": "ollama:qwen3/low",
    "bedrock": "bedrock:claude-opus-4/low",
    "interactions": "google-interactions:gemini-3-flash-preview/low",
}
PROVIDERS = {
    dialect: pondero.Client(transport=Emulator()).prepare(model, "hello").exchange.origin.provider
    for dialect, model in MODELS.items()
}
MSGSPEC = re.compile(
    r"Object missing|missing required field|Expected `|JSON is malformed|Input data"
)
each_way = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


class Tap:
    """An emulator whose last answer is kept."""

    needs_key = False

    def __init__(self) -> None:
        self._emulator = Emulator()

    def send(self, request, timeouts):
        answer = self._emulator.send(request, timeouts)
        self.last = answer.head, [b"".join(answer)]
        return Said(*self.last)

    def close(self) -> None:
        pass


def answers_of(dialect):
    """Return the answers of a dialect's emulator, streamed and whole."""
    for stream in (True, False):
        tap = Tap()
        pondero.Client(transport=tap).ask(MODELS[dialect], "What is 17 * 23?", stream=stream)
        yield tap.last


def pages():
    for kind, body in (
        ("text/html", b"<html><body>Welcome to nginx!</body></html>"),
        ("application/json", b"<!DOCTYPE html><p>Please sign in</p>"),
        ("application/json", b""),
        ("", b""),
        ("text/plain", b"Ollama is running"),
        ("", b"OK"),
        ("application/json", b'{"status":"ok"}'),
        ("application/json", b"[]"),
        ("application/json", b'"hello"'),
        ("text/event-stream", b'data: {"hello": 1}\n\n'),
        ("text/event-stream", b": hello\n\n"),
        ("application/octet-stream", bytes(range(256))),
    ):
        yield ResponseHead(200, {"content-type": kind} if kind else {}), [body]


def pieces_of(answer, size):
    """Return the same answer in pieces of so many bytes."""
    head, (body,) = answer
    return head, [body[at : at + size] for at in range(0, len(body), size)] or [b""]


def fail(dialect, answer, *, stream):
    """Return the error of a caller that gets this answer; it is asked once."""
    transport = Scripted(answer, answer, answer, answer)
    client = pondero.Client(transport=transport, retry=Retry(attempts=1))
    with pytest.raises(PonderoError) as caught:
        client.ask(MODELS[dialect], "hello", stream=stream)
    return caught.value, transport.sent[0].url.partition("?")[0]


def check_facts(error, url, answer, dialect):
    head, (body, *_) = answer
    provider = PROVIDERS[dialect]
    words = str(error)
    assert f"{url} answered HTTP 200 (" in words
    assert (head.headers.get("content-type") or "no content type") in words
    assert ("with an empty body" in words) == (not body)
    assert re.search(f"expected an? (stream|answer) of the API '{dialect}'", words)
    assert f"check the base URL of {provider!r}" in words
    assert not MSGSPEC.search(words)
    assert "\n" not in words
    assert len(words) < 700


def test_every_dialect_has_a_caller_here():
    assert set(MODELS) == set(NAMES)


@each_way
@pytest.mark.parametrize(("ours", "theirs"), list(itertools.permutations(MODELS, 2)))
def test_the_answer_of_another_api_is_named(ours, theirs, stream):
    for answer in answers_of(theirs):
        for size in (1 << 20, 50):
            error, url = fail(ours, pieces_of(answer, size), stream=stream)
            assert isinstance(error, WireError), repr(error)
            check_facts(error, url, answer, ours)
            if size > 50:  # else the first piece has no whole frame
                assert f"this is one of {theirs!r}" in str(error)


@each_way
@pytest.mark.parametrize("ours", MODELS)
def test_what_is_no_answer_at_all_is_shown(ours, stream):
    for answer in pages():
        error, url = fail(ours, answer, stream=stream)
        assert isinstance(error, WireError), repr(error)
        check_facts(error, url, answer, ours)


def test_the_words_of_the_decoder_are_the_cause():
    page = ResponseHead(200, {"content-type": "application/json"}), [b'{"status":"ok"}']
    error, _ = fail("openai_responses", page, stream=False)
    assert isinstance(error.__cause__, Malformed)
    assert "output" in "".join(traceback.format_exception(error))


def test_a_service_that_breaks_its_own_api_is_described_as_before():
    """An answer of the right API with one wrong value: the path of the value helps."""
    head = ResponseHead(200, {"content-type": "application/json"})
    body = b'{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":3}],"stop_reason":"end_turn"}'
    error, _ = fail("anthropic", (head, [body]), stream=False)
    assert "$.content[0].text" in str(error)
    assert "base URL" not in str(error)


def test_an_address_whose_version_is_written_twice_says_so():
    transport = Scripted((ResponseHead(404, {"content-type": "text/html"}), [b"<p>No</p>"]))
    client = pondero.Client(
        transport=transport,
        retry=Retry(attempts=1),
        urls={"anthropic": "https://api.anthropic.com/v1"},
    )
    with pytest.raises(PonderoError) as caught:
        client.ask(MODELS["anthropic"], "hello")
    (note,) = caught.value.__notes__
    assert "/v1 is doubled: check the base URL of 'anthropic' (ANTHROPIC_BASE_URL)" in note


@pytest.mark.parametrize(("status", "where"), [(302, "/login"), (405, None), (404, None)])
def test_an_address_with_nothing_behind_it_says_what_to_check(status, where):
    headers = {"content-type": "text/html", **({"location": where} if where else {})}
    error, url = fail("anthropic", (ResponseHead(status, headers), [b"<p>No</p>"]), stream=True)
    (note,) = error.__notes__
    assert note.startswith(f"{url} answered HTTP {status}")
    assert "check the base URL of 'anthropic' (ANTHROPIC_BASE_URL)" in note
    assert "doubled" not in note
    assert (where or "") in note


@pytest.mark.parametrize("body", [b'{"error":"Not Found"}', b'{"detail":"Not Found"}'])
def test_a_web_server_that_says_not_found_in_json_is_an_address_with_nothing(body):
    head = ResponseHead(404, {"content-type": "application/json"})
    error, url = fail("openai_responses", (head, [body]), stream=True)
    assert [note.startswith(f"{url} answered HTTP 404") for note in error.__notes__] == [True]


def test_an_address_is_told_without_its_password():
    head = ResponseHead(404, {"content-type": "text/html"})
    client = pondero.Client(
        transport=Scripted((head, [b"<p>No</p>"])),
        urls={"anthropic": "https://me:pass-word@x.test/api"},
        retry=Retry(attempts=1),
    )
    with pytest.raises(PonderoError) as caught:
        client.ask("claude-opus-5/low", "hello")
    (note,) = caught.value.__notes__
    assert note.startswith("https://x.test/api/v1/messages answered HTTP 404")
    assert "pass-word" not in "".join(traceback.format_exception(caught.value))


def test_a_service_that_lacks_the_model_is_at_the_right_address():
    said = b'{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}'
    head = ResponseHead(404, {"content-type": "application/json"})
    error, _ = fail("openai_responses", (head, [said]), stream=True)
    assert not hasattr(error, "__notes__")


def test_a_key_in_the_body_or_the_address_is_not_shown():
    key = "sk-test-0123456789-secret"
    said = ResponseHead(200, {"content-type": "text/plain"}), [f"hello {key}".encode()]
    client = pondero.Client(transport=Scripted(said), keys={"google": key}, retry=Retry(attempts=1))
    with pytest.raises(WireError) as caught:
        client.ask("gemini-3-flash-preview", "hello")
    assert key not in "".join(traceback.format_exception(caught.value))

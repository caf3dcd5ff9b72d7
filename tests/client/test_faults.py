"""Whatever goes wrong on the way: the right error, or a second try that goes well; never a hang.

The table of docs/emulator.md says which, and is what is tested here, on every wire, waiting and
awaiting, streamed and at once.
"""

import asyncio
import json
import re
import time
import traceback
from email.utils import formatdate
from pathlib import Path

import pytest
from tests.exchange.driving import Drive, exchange
from tests.shells import each_shell
from tests.transport.scripted import SUM as SUM_PIECES
from tests.transport.scripted import Scripted

import pondero
from pondero import errors
from pondero.canon import ResponseHead, TextDelta, ThinkingDelta
from pondero.dialects import NAMES
from pondero.emulator import Emulator
from pondero.errors import BadParameter, PonderoError, UnknownProvider
from pondero.exchange import Retry
from pondero.store import load_catalog

DOCS = Path(__file__).parents[2] / "docs" / "emulator.md"
HEADING = "| fault | tried again | what it is if it stays |"
MODELS = (
    "claude-opus-5/low",
    "gpt-5.1/low",
    "gemini-3-flash-preview/low",
    "deepseek:deepseek-chat/low",
    "cohere:command-a-reasoning/low",
    "ollama:qwen3/low",
    "bedrock:claude-opus-4/low",
    "google-interactions:gemini-3-flash-preview/low",
)
SUM = "What is 17 * 23?"
STEP = 97  # bytes, or events, between two places where an answer breaks off

each_wire = pytest.mark.parametrize("model", MODELS)
each_way = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def rows(tried_again):
    """Return the faults of the table that are tried again like this, each with its error."""
    table = DOCS.read_text("utf-8").partition(HEADING)[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    found = [
        (word, tuple(getattr(errors, name) for name in re.findall(r"`(\w+)`", kinds)))
        for words, again, kinds in cells
        for word in re.findall(r"`([^`]+)`", words)
        if again == tried_again
    ]
    assert found, tried_again
    return found


def emulator(*faults):
    """Return a service with these faults, for whom a wait takes no time."""

    async def asleep(_):
        await asyncio.sleep(0)

    return Emulator(faults=faults, sleep=lambda _: None, asleep=asleep)


def chat_with(shell, transport, model):
    return shell.chat(model, shell.client(transport, retry=Retry(waits=False)))


def requests(transport):
    return len(transport.log.entries)


def shown(events):
    """Return the words that were shown, each as often as it was."""
    return "".join(e.text for e in events if isinstance(e, TextDelta | ThinkingDelta))


@each_shell
@each_way
@each_wire
@pytest.mark.parametrize(("fault", "kind"), rows("no"))
def test_what_stays_wrong_is_raised_at_once(shell, stream, model, fault, kind):
    transport = emulator(fault, None)
    chat = chat_with(shell, transport, model)
    with pytest.raises(kind):
        shell.send(chat, SUM, stream=stream)
    assert requests(transport) == 1
    assert chat.messages == ()
    assert "391" in shell.send(chat, SUM, stream=stream).text
    assert len(chat.messages) == 2


@each_shell
@each_way
@each_wire
@pytest.mark.parametrize(("fault", "kind"), rows("yes"))
def test_what_passes_is_tried_again_and_raised_after_the_last_try(
    shell, stream, model, fault, kind
):
    transport = emulator(fault, fault, fault, fault, fault, None)
    chat = chat_with(shell, transport, model)
    with pytest.raises(kind):
        shell.send(chat, SUM, stream=stream)
    assert requests(transport) == 4
    assert chat.messages == ()
    assert "391" in shell.send(chat, SUM, stream=stream).text
    assert requests(transport) == 6
    assert len(chat.messages) == 2


@each_shell
@each_way
@each_wire
@pytest.mark.parametrize(("fault", "_"), rows("not needed"))
def test_how_and_when_bytes_come_changes_nothing(shell, stream, model, fault, _):
    transport = emulator(fault)
    client = shell.client(transport, retry=Retry(attempts=1))
    sound = shell.ask(shell.client(Emulator()), model, SUM, stream=stream)
    reply = shell.ask(client, model, SUM, stream=stream)
    assert reply.message.parts == sound.message.parts
    assert reply.usage == sound.usage


@each_shell
@each_wire
@pytest.mark.parametrize(("fault", "kind"), rows("until something was shown"))
def test_a_stream_that_breaks_off_is_never_taken_for_a_whole_one(shell, model, fault, kind):
    sound = Emulator()
    whole = shell.ask(shell.client(sound), model, SUM, cache=True).message.parts
    outcomes = set()
    for at in places(fault, sound):
        transport = emulator(at, None)
        chat = chat_with(shell, transport, model)
        seen = []
        try:
            shell.read(chat, SUM, into=seen)
        except kind:
            assert shown(seen)
            assert requests(transport) == 1
            assert chat.messages == ()
            outcomes.add("raised")
            continue
        assert chat.messages[1].parts == whole
        assert shown(seen) == chat.messages[1].thinking + chat.messages[1].text
        assert len(chat.messages) == 2
        outcomes.add(requests(transport))  # 1: only what comes after the end was lost
    assert outcomes >= ({"raised", 2} if "N" in fault else {"raised"})


def places(fault, sound):
    """Return the fault at several places of an answer, up to its end."""
    if "N" not in fault:
        return [fault]
    step = STEP if "error_event" not in fault else 1
    last = sound.log.entries[0].sent * step // STEP
    return [fault.replace("N", str(place)) for place in range(0, last, step)]


@each_shell
@each_wire
@pytest.mark.parametrize("way", ["ask", "send"])
@pytest.mark.parametrize(("fault", "kind"), rows("until something was shown"))
def test_what_nobody_has_seen_is_tried_again_wherever_it_broke_off(shell, model, way, fault, kind):
    """``ask`` and ``send`` show nothing before they return: a cut anywhere is a second try."""
    sound = Emulator()
    whole = shell.ask(shell.client(sound), model, SUM, cache=way == "send")
    tried = set()
    for at in places(fault, sound)[::3]:
        transport = emulator(at, None)
        client = shell.client(transport, retry=Retry(waits=False))
        if way == "ask":
            reply = shell.ask(client, model, SUM)
        else:
            chat = shell.chat(model, client)
            reply = shell.send(chat, SUM)
            assert len(chat.messages) == 2
        assert reply.message.parts == whole.message.parts
        tried.add(requests(transport))
        if requests(transport) == 2:
            assert reply.usage.known_total >= whole.usage.known_total
    assert tried <= {1, 2}  # 1: only what comes after the end was lost
    assert 2 in tried
    transport = emulator(*[places(fault, sound)[0]] * 5)
    with pytest.raises(kind):
        shell.ask(shell.client(transport, retry=Retry(waits=False)), model, SUM)
    assert requests(transport) == 4


def test_what_a_failed_try_used_is_counted():
    """The judge is the service's own sheet: message_start has the input, message_delta the rest."""
    pieces = list(SUM_PIECES)
    cut = ResponseHead(200, {"content-type": "text/event-stream"}), pieces[:3]
    cut_later = ResponseHead(200, {"content-type": "text/event-stream"}), pieces[:5]
    whole = ResponseHead(200, {"content-type": "text/event-stream"}), pieces
    client = pondero.Client(transport=Scripted(cut, cut_later, whole), retry=Retry(waits=False))
    reply = client.ask("claude-opus-5", "Hello")
    assert (reply.usage.input, reply.usage.output) == (30, 1 + 5 + 5)
    client = pondero.Client(transport=Scripted(cut, whole), retry=Retry(attempts=1))
    reply = client.ask(["claude-opus-5", "claude-opus-5/low"], "Hello")
    assert (reply.usage.input, reply.usage.output) == (20, 1 + 5)


@each_shell
def test_a_stream_that_was_begun_is_not_tried_again_by_reading_the_rest(shell):
    transport = emulator("error_event", None)
    client = shell.client(transport, retry=Retry(waits=False))
    with pytest.raises(pondero.Overloaded):
        shell.read_rest(client, "claude-opus-5/low", SUM)
    assert requests(transport) == 1


@each_shell
@each_wire
@pytest.mark.parametrize(("fault", "kind"), rows("until something was shown"))
def test_an_answer_at_once_that_breaks_off_is_tried_again(shell, model, fault, kind):
    fault = fault.replace("N", "100")
    transport = emulator(fault, fault, fault, fault, fault, None)
    chat = chat_with(shell, transport, model)
    with pytest.raises(kind):
        shell.send(chat, SUM, stream=False)
    assert requests(transport) == 4
    assert "391" in shell.send(chat, SUM, stream=False).text
    assert requests(transport) == 6
    assert len(chat.messages) == 2


@each_wire
@pytest.mark.parametrize("fault", ["429 7", "503 7", "529 7"])
def test_the_wait_is_the_one_the_service_asked_for(model, fault):
    made = exchange(model)
    service = emulator(fault, None)
    answers = [service.send(made.http) for _ in range(2)]
    drive = Drive(*((answer.head, list(answer)) for answer in answers))
    assert "391" in drive.run(made).message.text
    assert drive.slept == [7.0]


@each_shell
@each_wire
def test_a_fault_between_two_steps_of_a_turn_leaves_no_half_turn(shell, model):
    """The tool has run once, the answer to its result fails for good, then the turn is repeated."""
    runs = []

    def get_weather(city: str) -> str:
        """Get the weather."""
        runs.append(city)
        return f"it is fine in {city}"

    transport = emulator(None, 400, None, 403, None, 503, "error_event", None)
    client = shell.client(transport, retry=Retry(waits=False))
    chat = shell.chat(model, client, tools=[get_weather])
    for _ in range(2):
        with pytest.raises(PonderoError):
            shell.send(chat, "What is the weather in Paris?")
        assert chat.messages == ()
    assert "it is fine in Paris" in shell.send(chat, "What is the weather in Paris?").text
    assert runs == ["Paris"] * 3
    assert len(chat.messages) == 4


KEY = "sk-test-0123456789-secret"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [200, 400, 401])
def test_a_key_that_a_service_echoes_is_not_in_the_error(name, status):
    provider = next(
        p for p in load_catalog().catalog.providers.values() if p.dialect == name and p.keys
    )
    model = next(entry for entry in load_catalog().entries(provider.name)).id
    said = f"Incorrect API key provided: {KEY}. Got 'Authorization: Bearer {KEY}'."
    body = json.dumps({"error": {"message": said, "type": "x", "code": KEY}, "message": said})
    echo = Scripted((ResponseHead(status, {"x-request-id": KEY}), [body.encode()]))
    client = pondero.Client(
        transport=echo, keys={provider.name: KEY}, retry=Retry(attempts=1, waits=False)
    )
    with pytest.raises(pondero.PonderoError) as raised:
        client.ask(model, "Hello", stream=False)
    assert any(KEY in value for value in echo.sent[0].headers.values())
    shown = "".join(traceback.format_exception(raised.value))
    assert KEY not in shown + repr(raised.value) + repr(vars(raised.value))


@pytest.mark.parametrize("argument", ["keys", "urls"])
def test_a_key_or_address_of_nobody_is_refused(argument):
    with pytest.raises(UnknownProvider, match="did you mean 'anthropic'"):
        pondero.Client(**{argument: {"anthropc": "http://127.0.0.1"}})


@pytest.mark.parametrize("url", ["http://[::1", "[::1", "http://[zz]/x"])
def test_an_address_that_is_none_is_an_error_of_ours(url):
    with pytest.raises(BadParameter, match="invalid address"):
        pondero.Client(urls={"openai-chat": url}, keys={"openai-chat": KEY}).ask(
            "openai-chat:gpt-5.1", "Hello"
        )


def test_a_date_to_try_again_at_counts_from_now_where_the_answer_has_no_date():
    later = formatdate(time.time() + 40, usegmt=True)
    refusal = ResponseHead(429, {"retry-after": later}), [b"{}"]
    client = pondero.Client(transport=Scripted(refusal), retry=Retry(attempts=1))
    with pytest.raises(pondero.RateLimited) as raised:
        client.ask("claude-opus-5", "Hello")
    assert raised.value.retry_after == pytest.approx(40, abs=10)

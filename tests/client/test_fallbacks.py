"""A list of models: the next answers where one fails, and the reply says why."""

import asyncio
import json
import re

import pytest
from tests.shells import each_shell

import pondero
from pondero.canon import AdjustmentNote, TextDelta
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.emulator.responders.script import When
from pondero.errors import (
    BadParameter,
    BadRequest,
    MissingKey,
    Overloaded,
    Truncated,
    UnknownModel,
    Unsupported,
)
from pondero.exchange import Retry

SUM = "What is 17 * 23?"
TWO = ["claude-opus-5/high", "gpt-5.1/high"]
ONCE = Retry(attempts=1)


def failing(fault, *models, times=1, **more):
    """An emulator where models fail a few times, and the others answer."""
    turns = [
        ScriptedTurn(fault=fault, when=When(model=model)) for model in models for _ in range(times)
    ]
    return Emulator(script=[*turns, *more.pop("script", ())], **more)


def asked(emulator):
    return [entry.model for entry in emulator.log.entries]


def fault(text):
    from pondero.emulator.faults import Fault

    return Fault.parse(text)


@pytest.mark.parametrize("how", ["529", "503", "401", "429 60", "refused", "cut 0"])
@each_shell
def test_the_next_model_answers_and_the_reply_says_why_the_first_did_not(shell, how):
    emulator = failing(fault(how), "claude-opus-5")
    reply = shell.ask(shell.client(emulator, retry=ONCE), TWO, SUM)
    assert "391" in reply.text
    assert reply.message.origin.model == "gpt-5.1"
    (note,) = reply.adjustments
    assert (note.code, note.asked, note.got) == ("fell_back", *TWO)
    assert note.why.startswith("claude-opus-5/high did not answer: ")
    assert asked(emulator)[-1] == "gpt-5.1"


@each_shell
def test_the_first_that_answers_is_the_only_one_that_is_asked(shell):
    emulator = Emulator()
    reply = shell.ask(shell.client(emulator), TWO, SUM)
    assert (asked(emulator), reply.adjustments) == (["claude-opus-5"], ())


@each_shell
def test_a_request_that_is_wrong_is_not_asked_of_another(shell):
    emulator = failing(fault("400"), "claude-opus-5")
    with pytest.raises(BadRequest):
        shell.ask(shell.client(emulator, retry=ONCE), TWO, SUM)
    assert asked(emulator) == ["claude-opus-5"]


@each_shell
def test_where_all_fail_the_last_failure_is_raised_and_names_the_others(shell):
    emulator = failing(fault("529"), "claude-opus-5", "gpt-5.1")
    with pytest.raises(Overloaded) as raised:
        shell.ask(shell.client(emulator, retry=ONCE), TWO, SUM)
    (note,) = raised.value.__notes__
    assert note.startswith("claude-opus-5/high did not answer: Overloaded")


def test_a_model_without_a_key_is_passed_over_unasked():
    class Needing(Emulator):
        needs_key = True

    emulator = Needing()
    with pondero.Client(transport=emulator, keys={"openai": "sk-test-0123456789"}) as client:
        reply = client.ask(TWO, SUM)
        assert "MissingKey" in reply.adjustments[0].why
        assert asked(emulator) == ["gpt-5.1"]
        with pytest.raises(MissingKey):
            client.ask(["claude-opus-5", "gemini-3-flash-preview"], SUM)


def test_an_attachment_goes_to_the_first_model_that_can_read_it():
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
    models = ["deepseek:deepseek-v4-flash", "claude-opus-5"]
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    assert "Unsupported" in client.ask(models, SUM, attachments=iter([png])).adjustments[0].why
    chat = pondero.Chat(models, client=client)
    chat.send(SUM, attachments=[png])
    assert asked(emulator) == ["claude-opus-5"] * 2
    with pytest.raises(Unsupported):
        pondero.Chat([models[0], "ollama:qwen3"], client=client).send(SUM, attachments=[b"%PDF-1"])


@pytest.mark.parametrize("how", ["cut 1500", "broken 1500", "no_end", "error_event 9", "hang 1500"])
@each_shell
def test_what_nobody_has_seen_goes_to_the_next_model(shell, how):
    emulator = Emulator(script=[ScriptedTurn(text="word " * 400, fault=fault(how))])
    reply = shell.ask(shell.client(emulator, retry=ONCE), TWO, SUM)
    assert "391" in reply.text
    assert asked(emulator) == ["claude-opus-5", "gpt-5.1"]
    assert [note.code for note in reply.adjustments] == ["fell_back"]


def test_nothing_moves_on_after_an_event_was_shown():
    emulator = Emulator(script=[ScriptedTurn(text="word " * 400, fault=fault("cut 1500"))])
    shown = []
    client = pondero.Client(transport=emulator, retry=ONCE)
    with pytest.raises(Truncated):
        shown.extend(client.stream(TWO, SUM))
    assert shown
    assert asked(emulator) == ["claude-opus-5"]


def test_the_stream_says_it_before_the_answer():
    emulator = failing(fault("529"), "claude-opus-5")
    client = pondero.Client(transport=emulator, retry=ONCE)
    with client.stream(TWO, SUM) as stream:
        first, *rest = stream
    assert isinstance(first, AdjustmentNote)
    assert first.adjustment["code"] == "fell_back"
    assert any(isinstance(event, TextDelta) for event in rest)
    assert stream.plan.model.endswith("gpt-5.1")


@each_shell
def test_no_foreign_seal_goes_along_and_the_loop_stays_where_its_seals_are(shell):
    """The first answers, then fails in the tool loop; the second takes over, and goes on."""
    script = [
        ScriptedTurn(thinking="sealed by the first", tool_calls=(ScriptedCall("look"),)),
        ScriptedTurn(fault=fault("529"), when=When(model="claude-opus-5")),
        ScriptedTurn(
            thinking="of the second", tool_calls=(ScriptedCall("look"),), when=When(model="gpt-5.1")
        ),
        ScriptedTurn(text="done", when=When(model="gpt-5.1")),
    ]
    emulator = Emulator(script=script)

    def look() -> str:
        return "fine"

    chat = shell.chat(TWO, shell.client(emulator, retry=ONCE), tools=[look])
    assert shell.send(chat, "Look.").text == "done"
    assert asked(emulator) == ["claude-opus-5", "claude-opus-5", "gpt-5.1", "gpt-5.1"]
    assert [entry.status for entry in emulator.log.entries[2:]] == [200, 200]
    seals = [
        part.signature.value
        for part in chat.messages[1].parts
        if getattr(part, "signature", None) is not None
    ]
    proofs = re.findall(r'"([A-Za-z0-9+/=_-]{24,})"', json.dumps(seals))
    assert proofs
    for proof in proofs:
        assert proof in json.dumps(emulator.log.entries[1].body)  # to the one that made it
        assert not any(proof in json.dumps(entry.body) for entry in emulator.log.entries[2:])


def test_a_chat_keeps_its_list():
    client = pondero.Client(transport=Emulator())
    chat = pondero.Chat(TWO, client=client)
    assert (chat.model, chat.fallbacks) == (TWO[0], (TWO[1],))
    again = pondero.Chat.from_json(chat.to_json(), client=client)
    assert (again.model, again.fallbacks) == (chat.model, chat.fallbacks)
    chat.model = "gpt-5.1"
    assert chat.fallbacks == ()


def test_a_misspelt_model_is_an_error_at_once_and_so_is_an_empty_list():
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    with pytest.raises(UnknownModel):
        client.ask(["claude-opus-5", "no-such-model-at-all"], SUM, policy={"unknown": "error"})
    with pytest.raises(BadParameter, match="a list of names"):
        client.ask([], SUM)
    assert emulator.log.entries == ()


def test_the_shared_clients_take_lists_too(monkeypatch):
    from pondero.client import default_client as module

    monkeypatch.setitem(module._SHARED, "waits", pondero.Client(transport=Emulator()))
    monkeypatch.setitem(module._ASHARED, "awaits", pondero.AsyncClient(transport=Emulator()))
    assert "391" in pondero.ask(TWO, SUM).text
    assert "391" in asyncio.run(pondero.aask(TWO, SUM)).text

"""Hooks see every request and reply, and no key; the words of a stream; what is logged."""

import asyncio
import json
import logging

import pytest
from tests.shells import each_shell

import pondero
from pondero.canon import HIDDEN, TextDelta
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.emulator.faults import Fault
from pondero.errors import UsageError
from pondero.exchange import Retry

SUM = "What is 17 * 23?"
KEY = "sk-planted-0123456789abcdef"


def clients(emulator, **options):
    return (
        pondero.Client(transport=emulator, keys={"anthropic": KEY}, **options),
        pondero.AsyncClient(transport=emulator, keys={"anthropic": KEY}, **options),
    )


def both(emulator, ask, **options):
    """Ask waiting and awaiting."""
    waits, awaits = clients(emulator, **options)
    return ask(waits), asyncio.run(ask(awaits))


def test_hooks_see_the_request_before_it_is_sent_and_the_reply_but_no_key():
    emulator, seen = Emulator(), []

    def on_request(prepared):
        seen.append((len(emulator.log.entries), prepared))

    headers = {"x-trace": "abc-secret-abc"}
    replies = both(
        emulator,
        lambda client: client.ask("claude-opus-5/high", SUM, headers=headers),
        on_request=on_request,
        on_reply=seen.append,
    )
    (sent, prepared), reply, (again, _), other = seen
    assert (sent, again) == (0, 1)
    assert (reply, other) == replies
    assert json.loads(prepared.request.body)["messages"][0]["content"][0]["text"] == SUM
    assert prepared.plan.level == "high"
    assert prepared.request.headers["content-type"] == "application/json"
    assert prepared.request.headers["x-api-key"] == HIDDEN
    shown = repr(prepared.request.headers) + repr(prepared) + repr(prepared.exchange)
    assert KEY not in shown
    assert "abc-secret-abc" not in shown
    assert emulator.log.entries[0].headers["x-trace"] == "abc-secret-abc"


def test_every_exchange_of_a_turn_is_told():
    told = []
    script = [ScriptedTurn(tool_calls=(ScriptedCall("look"),)), ScriptedTurn(text="done")] * 2

    def look() -> str:
        return "fine"

    waits, awaits = clients(Emulator(script=script), on_request=told.append, on_reply=told.append)
    pondero.Chat("claude-opus-5", tools=[look], client=waits).send("Look.")
    asyncio.run(pondero.AsyncChat("claude-opus-5", tools=[look], client=awaits).send("Look."))
    assert [type(each).__name__ for each in told] == ["Prepared", "Reply"] * 4


def test_an_async_client_awaits_its_hooks_and_one_that_waits_refuses_them():
    told = []

    async def hook(value):
        await asyncio.sleep(0)
        told.append(type(value).__name__)

    client = pondero.AsyncClient(transport=Emulator(), on_request=hook, on_reply=hook)
    asyncio.run(client.ask("claude-opus-5", SUM))
    assert told == ["Prepared", "Reply"]
    with pytest.raises(UsageError, match="cannot await an async hook"):
        pondero.Client(on_reply=hook)


@each_shell
def test_what_a_hook_raises_goes_to_whoever_asked(shell):
    class Stop(Exception):
        pass

    def stop(_):
        raise Stop

    emulator = Emulator()
    kind = type(shell.client(emulator))
    with pytest.raises(Stop):
        shell.ask(kind(transport=emulator, on_request=stop), "claude-opus-5", SUM)
    assert emulator.log.entries == ()
    with pytest.raises(Stop):
        shell.ask(kind(transport=emulator, on_reply=stop), "claude-opus-5", SUM)
    assert [entry.end for entry in emulator.log.entries] == ["complete"]


# -- only the words ----------------------------------------------------------------------------------


def test_text_is_the_answer_and_nothing_of_the_thinking():
    emulator = Emulator(script=[ScriptedTurn(thinking="hm, hm", text="one two three")] * 4)
    waits, awaits = clients(emulator)
    stream = waits.stream("claude-opus-5/high", SUM)
    words = list(stream.text())
    assert "".join(words) == stream.reply.text == "one two three"
    assert all(words)
    chat = pondero.Chat("claude-opus-5/high", client=waits)
    assert "".join(chat.stream(SUM).text()) == "one two three"
    assert len(chat.messages) == 2

    async def read():
        found = [word async for word in awaits.stream("claude-opus-5/high", SUM).text()]
        turn = pondero.AsyncChat("claude-opus-5/high", client=awaits).stream(SUM)
        return "".join(found), "".join([word async for word in turn.text()])

    assert asyncio.run(read()) == ("one two three", "one two three")


def test_text_left_early_frees_the_connection():
    emulator = Emulator(script=[ScriptedTurn(text="word " * 200)])
    client = pondero.Client(transport=emulator)
    with client.stream("claude-opus-5", SUM) as stream:
        next(stream.text())
    assert emulator.log.entries[0].end == "closed"
    assert not [event for event in stream if isinstance(event, TextDelta)]


# -- the log -----------------------------------------------------------------------------------------


def logged(caplog, level):
    """Ask in every way there is a line for, and return the lines."""
    answer = "the planted answer"
    script = [
        ScriptedTurn(fault=Fault(kind="status", status=529, message=f"no: {KEY} {SUM}")),
        ScriptedTurn(fault=Fault(kind="status", status=401, message=f"no: {KEY} {SUM}")),
        ScriptedTurn(
            thinking="the planted thinking",
            tool_calls=(ScriptedCall("look", {"at": "planted-place"}),),
        ),
        ScriptedTurn(text=answer),
    ]

    def look(at: str) -> str:
        return f"planted-result of {at}"

    client = pondero.Client(
        transport=Emulator(script=script), keys={"anthropic": KEY}, retry=Retry(waits=False)
    )
    models = ["claude-opus-5/high", "claude-sonnet-5/off"]
    chat = pondero.Chat(models, tools=[look], client=client)
    with caplog.at_level(level, logger="pondero"):
        chat.send(SUM, system="planted-system", headers={"x-mine": "planted-header"})
    assert chat.messages[-1].text == answer
    return [
        (each.levelname, each.getMessage()) for each in caplog.records if each.name == "pondero"
    ]


def test_no_line_has_a_key_or_anything_that_was_said(caplog):
    lines = logged(caplog, "DEBUG")
    for word in ("planted", KEY, SUM, "391"):
        assert not [line for _, line in lines if word in line], word


def test_the_lines_are_those_of_the_documented_table(caplog):
    lines = logged(caplog, "DEBUG")
    starts = [f"{level} {line.split()[0]}" for level, line in lines]
    assert starts[0] == "DEBUG POST"
    assert "DEBUG answered:" in starts
    assert "DEBUG failed:" in starts
    assert ("DEBUG", "tool look: done") in lines
    infos = [line for level, line in lines if level == "INFO"]
    assert infos == [
        "anthropic claude-opus-5: Overloaded (HTTP 529), tried again after 0.0 s",
        "claude-opus-5/high: AuthFailed (HTTP 401), asking claude-sonnet-5/off",
    ]


def test_at_the_usual_level_there_is_trouble_only(caplog):
    assert {level for level, _ in logged(caplog, "INFO")} == {"INFO"}
    assert logging.getLogger("pondero").handlers  # so that nothing is printed by accident


def test_a_header_of_the_callers_own_that_holds_a_secret_is_not_recorded(tmp_path):
    from pondero.cassettes import Cassette

    path = tmp_path / "case.jsonl"
    cassette = Cassette(path, Emulator(), record=True)
    with pondero.Client(transport=cassette) as client:
        client.ask("claude-opus-5", SUM, headers={"x-auth-token": "planted-0123456789"})
    recorded = path.read_text("utf-8")
    assert SUM in recorded
    assert "planted" not in recorded


def test_a_hook_sees_the_version_of_the_api_and_no_key():
    seen = []
    emulator = Emulator()
    with pondero.Client(
        transport=emulator, keys={"anthropic": "sk-planted-0123456789"}, on_request=seen.append
    ) as client:
        client.ask("claude-opus-5/low", "What is 17 * 23?")
    headers = seen[0].exchange.http.headers
    assert headers["anthropic-version"] == "2023-06-01"
    assert "planted" not in str(headers)
    assert "REDACTED" in headers.values()

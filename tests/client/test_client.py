"""One question and its answer, through an emulated service: waiting and awaiting alike."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Literal, TypedDict

import msgspec
import pytest
from pydantic import BaseModel

import pondero
from pondero.canon import (
    Finished,
    Image,
    Message,
    Text,
    TextDelta,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.errors import (
    BadParameter,
    BadThinking,
    MissingKey,
    Overloaded,
    PonderoWarning,
    UnknownModel,
    Unsupported,
    UsageError,
)
from pondero.exchange import Retry, Timeouts

MODELS = (
    "claude-opus-5/low",
    "claude-sonnet-4-5/high",
    "gpt-5.1/medium",
    "gemini-3-flash-preview/low",
    "deepseek:deepseek-reasoner",
)
SUM = "What is 17 * 23?"


def ask(emulator, *args, **options):
    """Ask both clients; both answers must be one."""
    waited = pondero.Client(transport=emulator).ask(*args, **options)
    awaited = asyncio.run(pondero.AsyncClient(transport=emulator).ask(*args, **options))
    assert (waited.text, waited.finish, waited.usage) == (
        awaited.text,
        awaited.finish,
        awaited.usage,
    )
    return waited


def body(emulator):
    return emulator.log.entries[-1].body


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_has_words_thinking_usage_plan_and_verdict(model, stream):
    reply = ask(Emulator(), model, SUM, stream=stream)
    assert "391" in reply.text
    assert reply.thinking
    assert (reply.finish, reply.verdict) == ("stop", "as_planned")
    assert reply.plan.will_think
    assert reply.raw_finish
    assert reply.request_id or "gemini" in model  # Google gives none
    assert reply.model in model
    usage, origin = reply.usage, reply.message.origin
    assert all((usage.input, usage.output, usage.thinking))
    assert usage.known_total == usage.total
    assert (f"{origin.provider}:{origin.model}", origin.level) == (
        reply.plan.model,
        reply.plan.level,
    )
    assert origin.model in model
    assert origin.at > 1e9


@pytest.mark.parametrize("model", MODELS)
def test_events_put_together_are_the_reply(model):
    with pondero.Client(transport=Emulator()) as client, client.stream(model, SUM) as stream:
        events = list(stream)
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    thoughts = [event.text for event in events if isinstance(event, ThinkingDelta)]
    assert "".join(texts) == stream.reply.text
    assert "".join(thoughts) == stream.reply.thinking
    assert isinstance(events[-1], Finished)
    assert stream.message == stream.reply.message


def test_nothing_is_sent_before_the_first_event_is_read():
    emulator = Emulator()
    stream = pondero.Client(transport=emulator).stream("gpt-5.1", SUM)
    assert emulator.log.entries == ()
    with pytest.raises(UsageError, match="not ended"):
        _ = stream.reply
    stream.close()
    assert emulator.log.entries == ()


def test_a_question_leaves_nothing_behind_for_the_garbage_collector():
    # In a process of its own: threads of other tests leave things behind meanwhile.
    subprocess.run([sys.executable, "-c", "import tests.client.garbage"], check=True)


def test_leaving_early_closes_the_answer_and_keeps_what_came():
    emulator = Emulator()
    with pondero.Client(transport=emulator).stream("gpt-5.1/low", SUM) as stream:
        for event in stream:
            if isinstance(event, ThinkingDelta):
                break
    assert emulator.log.entries[0].end == "closed"
    assert stream.message.thinking == event.text


def test_leaving_an_async_stream_early_closes_the_answer():
    emulator = Emulator()

    async def leave():
        async with pondero.AsyncClient(transport=emulator).stream("gpt-5.1/low", SUM) as stream:
            async for event in stream:
                if isinstance(event, ThinkingDelta):
                    return stream.message.thinking, event.text
        return None

    thinking, text = asyncio.run(leave())
    assert thinking == text
    assert emulator.log.entries[0].end == "closed"


def test_a_cancelled_task_closes_its_answer():
    emulator = Emulator()

    async def cancelled():
        async with pondero.AsyncClient(transport=emulator).stream("gpt-5.1/low", SUM) as stream:
            async for _ in stream:
                asyncio.current_task().cancel()
                await asyncio.sleep(0)  # where it is noticed

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert emulator.log.entries[0].end == "closed"


def test_everything_that_can_be_said_reaches_the_service():
    emulator = Emulator()
    pondero.Client(transport=emulator).ask(
        "claude-sonnet-4-0",
        [Message("user", (Text("hi"),)), Message("assistant", (Text("yes?"),)), {"role": "user", "content": SUM}],
        system="Be brief.",
        tools=[Tool("look", "Look.", {"type": "object", "properties": {}})],
        tool_choice="look",
        max_tokens=500,
        temperature=0.3,
        stop="END",
        extras={"metadata": {"user_id": "u"}},
    )  # fmt: skip
    sent = body(emulator)
    assert sent["system"] == [{"type": "text", "text": "Be brief."}]
    assert sent["tool_choice"] == {"type": "tool", "name": "look"}
    assert (sent["max_tokens"], sent["temperature"]) == (500, 0.3)
    assert sent["stop_sequences"] == ["END"]
    assert sent["metadata"] == {"user_id": "u"}
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]


def test_a_message_may_be_a_mapping_alone_or_among_others():
    ask = pondero.Client(transport=Emulator()).ask
    said = {"role": "user", "content": SUM}
    assert ask("gpt-5.1", said).text == ask("gpt-5.1", [said]).text == "17 * 23 = 391"


def test_a_level_as_an_argument_wins_over_the_models_suffix():
    assert ask(Emulator(), "gpt-5.1/low", SUM, "high").plan.level == "high"
    assert ask(Emulator(), "gpt-5.1/low", SUM, thinking_effort="high").plan.level == "high"


class City(msgspec.Struct):
    name: str
    size: Literal["small", "big"] = "small"


@pytest.mark.parametrize("model", MODELS[:-1])
def test_the_shape_of_the_answer_may_be_a_type(model):
    reply = ask(Emulator(), model, "Which city is the capital of France?", output=City)
    assert isinstance(reply.value, City)


class Place(TypedDict):
    name: str


class Town(BaseModel):
    name: str


@dataclass
class Village:
    name: str


@pytest.mark.parametrize("kind", [City, Place, Town, Village])
def test_the_value_of_an_answer_is_of_the_type_that_was_asked_for(kind):
    reply = ask(
        Emulator(script=[ScriptedTurn(text='{"name": "Ulm"}')] * 2),
        "gpt-5.1",
        "Name one.",
        output=kind,
    )
    assert isinstance(reply.value, dict if kind is Place else kind)
    assert reply.value == kind(name="Ulm")


@pytest.mark.parametrize("kind", [City, Town, Village, Place, {"type": "object"}, True])
def test_an_answer_that_is_something_else_is_one_error_of_ours(kind):
    reply = ask(
        Emulator(script=[ScriptedTurn(text="It is Ulm.")] * 2), "gpt-5.1", "Name one.", output=kind
    )
    assert str(reply) == "It is Ulm."
    with pytest.raises(pondero.WireError, match="not the"):
        _ = reply.value


def test_pictures_go_along():
    emulator = Emulator()
    ask(emulator, "claude-opus-5", ["What is this?", Image("image/png", b"\x89PNG")])
    assert body(emulator)["messages"][0]["content"][1]["type"] == "image"


def test_tool_calls_are_left_to_the_caller():
    emulator = Emulator(script=[ScriptedTurn(tool_calls=(ScriptedCall("look", {"at": "it"}),))])
    client = pondero.Client(transport=emulator)
    tools = [Tool("look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}})]
    reply = client.ask("claude-opus-5/low", "Look!", tools=tools)
    (call,) = reply.tool_calls
    assert (reply.finish, call.name, call.arguments) == ("tool_calls", "look", {"at": "it"})
    results = Message("user", (ToolResult(call.id, (Text("fine"),)),))
    history = [Message("user", (Text("Look!"),)), reply.message, results]
    assert client.ask("claude-opus-5/low", history, tools=tools).finish == "stop"


def test_what_passes_by_itself_is_tried_again_without_waiting_in_a_test():
    emulator = Emulator(faults=[529, "empty", "refused", None])
    client = pondero.Client(transport=emulator, retry=Retry(waits=False))
    assert "391" in client.ask("claude-opus-5", SUM).text
    assert len(emulator.log.entries) == 4


def test_an_error_of_the_service_is_ours():
    emulator = Emulator(faults=[529] * 4)
    with pytest.raises(Overloaded) as raised:
        pondero.Client(transport=emulator, retry=Retry(waits=False)).ask("claude-opus-5", SUM)
    assert raised.value.status == 529


def test_output_that_all_went_into_thinking_says_which_cap_would_do():
    reply = ask(Emulator(script=[ScriptedTurn(thinking="hm " * 50, finish="exhausted")] * 2), "claude-opus-5/high", SUM)  # fmt: skip
    assert reply.verdict == "exhausted"
    assert reply.cap > reply.usage.thinking


@pytest.mark.parametrize(
    ("arguments", "options", "kind"),
    [
        (("nonsense-1", SUM), {}, UnknownModel),
        (("gpt-5.1", SUM, "hihg"), {}, BadThinking),
        (("gpt-5.1", SUM), {"max_tokens": 0}, BadParameter),
        (("gpt-5.1", SUM), {"tool_choice": "look"}, BadParameter),
        (("gpt-5.1", SUM), {"maxtokens": 1}, BadParameter),
        (("gpt-5.1", []), {}, BadParameter),
        (("gpt-5.1", ""), {}, BadParameter),
        (("gpt-5.1", [" ", Text("\n")]), {}, BadParameter),
        (("gpt-5.1", None), {}, BadParameter),
        (("gpt-5.1", {"content": "x"}), {}, BadParameter),
        (("gpt-5.1", [3]), {}, BadParameter),
        (("gpt-5.1", [{"role": "nobody", "content": "x"}]), {}, BadParameter),
        (("gpt-5.1", SUM), {"output": complex}, BadParameter),
    ],
)
def test_a_wrong_call_is_an_error_before_anything_is_sent(arguments, options, kind):
    emulator = Emulator()
    with pytest.raises(kind):
        pondero.Client(transport=emulator).ask(*arguments, **options)
    assert emulator.log.entries == ()


def test_without_a_key_the_error_names_the_variable():
    with pytest.raises(
        MissingKey, match=r"(?m)set OPENAI_API_KEY, or save one with .pondero keys set openai.$"
    ):
        pondero.ask("gpt-5.1", SUM)
    with pytest.raises(MissingKey, match="GEMINI_API_KEY or GOOGLE_API_KEY"):
        asyncio.run(pondero.aask("gemini-3-flash-preview", SUM))


def test_a_client_shows_no_key():
    client = pondero.Client(keys={"openai": "sk-very-secret"})
    assert "secret" not in repr(client)
    assert "secret" not in repr(client.__dict__)


def test_an_async_client_refuses_a_transport_that_waits():
    from pondero.transport import HttpTransport

    with pytest.raises(UsageError, match="AsyncHttpTransport"):
        pondero.AsyncClient(transport=HttpTransport())


def test_a_whole_answer_may_take_as_long_as_its_thinking():
    class Timed(Emulator):
        def send(self, request, timeouts):
            waits.append(timeouts.first_byte)
            return super().send(request, timeouts)

    waits = []
    with pondero.Client(transport=Timed(), timeouts=Timeouts(1, 2, 3)) as client:
        client.ask("gpt-5.1", SUM, stream=False)
        client.ask("gpt-5.1", SUM)
    assert waits == [3, 2]


def test_a_schema_stands_in_the_prompt_where_a_service_takes_none_and_the_plan_says_so():
    emulator = Emulator()
    model = "deepseek:deepseek-v4-flash/high"
    reply = ask(emulator, model, "Which city?", output=City, system="Be kind.")
    sent = body(emulator)
    assert sent["response_format"] == {"type": "json_object"}
    said = json.dumps(sent["messages"][0])
    assert "Be kind." in said
    assert "Answer in JSON of this schema" in said
    assert [note.what for note in reply.plan.adjustments] == ["output"]
    assert isinstance(json.loads(reply.text), dict)


def test_a_picture_is_not_sent_to_a_service_that_takes_only_words_and_the_plan_says_so():
    emulator = Emulator()
    seeing = ("deepseek:deepseek-v4-flash", ["What is this?", Image("image/png", b"png")])
    reply = ask(emulator, *seeing)
    assert "image_url" not in json.dumps(body(emulator)["messages"])
    assert [note.code for note in reply.plan.adjustments] == ["medium_unseen"]
    with pytest.raises(Unsupported, match="medium_unseen"):
        pondero.Client(transport=emulator).ask(*seeing, policy={"unsupported": "strict"})


LOOP = [
    Message("user", (Text("What is the weather in Bern?"),)),
    Message("assistant", (ToolCall("toolu_1", "look", {}),)),
    Message("user", (ToolResult("toolu_1", (Text("Fine."),), name="look"),)),
]


def test_what_the_conversation_adds_to_the_plan_is_the_policys_concern_too():
    def asked(policy):
        client = pondero.Client(transport=Emulator())
        tools = [Tool("look", "Look.", {"type": "object", "properties": {}})]
        model = "claude-sonnet-4-5/low"
        return client.ask(model, LOOP, tools=tools, policy={"unsupported": policy})

    assert "open_tool_loop" in [note.code for note in asked("adjust").plan.adjustments]
    with pytest.warns(PonderoWarning, match="open_tool_loop"):
        asked("warn")
    with pytest.raises(Unsupported, match="open_tool_loop"):
        asked("strict")


# -- prepared, and not sent ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pondero.Client, pondero.AsyncClient])
def test_what_would_be_sent_can_be_had_without_sending_it(kind):
    emulator = Emulator()
    prepared = kind(transport=emulator).prepare("claude-sonnet-4-5", SUM, "high", max_tokens=9000)
    assert emulator.log.entries == ()
    assert isinstance(prepared, pondero.Prepared)
    assert prepared.request.url == "https://api.anthropic.com/v1/messages"
    sent = json.loads(prepared.request.body)
    assert sent["thinking"] == prepared.plan.fields["thinking"]
    assert prepared.plan.level == "high"
    assert not prepared.manifest.changes


def test_what_is_prepared_is_what_is_sent():
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    prepared = client.prepare("gpt-5.1", SUM, "low")
    client.ask("gpt-5.1", SUM, "low")
    assert body(emulator) == json.loads(prepared.request.body)


def test_what_is_prepared_for_the_network_needs_a_key_and_hides_it():
    with pytest.raises(MissingKey):
        pondero.Client().prepare("gpt-5.1", SUM)
    prepared = pondero.Client(keys={"openai": "sk-secret"}).prepare("gpt-5.1", SUM)
    assert prepared.request.headers["authorization"] == "Bearer sk-secret"
    assert "secret" not in repr(prepared)


# -- per question: how long to wait, and what goes along -------------------------------------------


class Patience(Emulator):
    """Remembers how long it might have taken."""

    waited: Timeouts

    def send(self, request, timeouts):
        self.waited = timeouts
        return super().send(request, timeouts)


@pytest.mark.parametrize(
    ("timeout", "stream", "waits"),
    [
        (5, True, Timeouts(5, 5, 5)),
        (90.0, True, Timeouts(10, 90, 90)),
        (90.0, False, Timeouts(10, 90, 90)),
        (Timeouts(1, 2, 3), True, Timeouts(1, 2, 3)),
        (None, True, Timeouts()),
    ],
)
def test_a_question_may_have_a_timeout_of_its_own(timeout, stream, waits):
    emulator = Patience()
    pondero.Client(transport=emulator).ask("gpt-5.1", SUM, timeout=timeout, stream=stream)
    assert emulator.waited == waits


@pytest.mark.parametrize("timeout", [0, -1, True, "5", float("nan"), float("inf")])
def test_a_timeout_that_cannot_be_is_an_error(timeout):
    with pytest.raises(BadParameter, match="timeout"):
        pondero.Client(transport=Emulator()).ask("gpt-5.1", SUM, timeout=timeout)


def test_headers_of_the_callers_own_go_along():
    client = pondero.Client(transport=Emulator())
    headers = {"X-Team": "blue", "anthropic-beta": "context-1m-2025-08-07"}
    tool = Tool("look", "Look.", {"type": "object"})
    plain = client.prepare("claude-sonnet-4-5/high", SUM, tools=[tool])
    prepared = client.prepare("claude-sonnet-4-5/high", SUM, tools=[tool], headers=headers)
    assert prepared.request.headers["x-team"] == "blue"
    betas = prepared.request.headers["anthropic-beta"].split(",")
    assert betas == [*plain.plan.headers["anthropic-beta"].split(","), "context-1m-2025-08-07"]
    assert client.ask("claude-sonnet-4-5/high", SUM, headers=headers).text


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer mine"},
        {"x-api-key": "mine"},
        {"X-Goog-Api-Key": "mine"},
        {"content-type": "text/plain"},
        {"x-team": "blue\r\nx-evil: 1"},
        {"x team": "blue"},
        {"x-team": 7},
        {"x-team": "blü"},
    ],
)
def test_a_header_that_is_ours_or_none_is_refused(headers):
    with pytest.raises(BadParameter) as raised:
        pondero.Client(transport=Emulator()).ask("gpt-5.1", SUM, headers=headers)
    assert "mine" not in str(raised.value)


# -- how things look -------------------------------------------------------------------------------


def test_what_one_holds_in_hand_says_what_it_is():
    client = pondero.Client(transport=Emulator())
    stream = client.stream("gpt-5.1/low", SUM)
    assert repr(stream) == "<pondero.Stream of openai:gpt-5.1, not begun, 0 characters>"
    with stream:
        next(event for event in stream if isinstance(event, TextDelta))
        assert "under way" in repr(stream)
    chat = pondero.Chat("gpt-5.1", "low", client=client)
    reply = chat.send(SUM)
    assert repr(chat) == "<pondero.Chat 'gpt-5.1' at 'low', 2 messages>"
    assert str(reply) == reply.text
    assert chat._repr_markdown_().startswith(f"**user**\n\n{SUM}\n\n**assistant**")


def test_a_log_has_models_and_levels_and_no_secret(caplog):
    key = "sk-test-0123456789-secret"
    emulator = Emulator(faults=[None, 400])
    client = pondero.Client(
        transport=emulator, keys={"anthropic": key}, urls={"anthropic": "https://me:pw@x.test"}
    )
    with caplog.at_level("DEBUG", logger="pondero"):
        client.ask("anthropic:claude-opus-5/low", SUM, headers={"x-token": "hush-hush"})
        with pytest.raises(pondero.ServiceError):
            client.ask("anthropic:claude-opus-5/low", SUM)
    lines = [record.getMessage() for record in caplog.records if record.name == "pondero"]
    assert "anthropic:claude-opus-5 at level low" in lines[0]
    assert lines[1].startswith("answered: stop")
    assert lines[-1].startswith("failed: BadRequest (HTTP 400)")
    assert not any(secret in " ".join(lines) for secret in (key, "hush", "pw", SUM))


def test_nothing_is_logged_where_nobody_listens(caplog):
    pondero.Client(transport=Emulator()).ask("gpt-5.1", SUM)
    assert caplog.records == []


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5.5", "gemini-2.5-flash", "ollama:qwen3"])
def test_half_a_surrogate_pair_in_the_system_prompt_is_replaced(model):
    client = pondero.Client(transport=Emulator())
    request = client.prepare(model, "What is 2 + 2?", system="be short\udcff").request
    assert "be short\ufffd".encode() in request.body or b"be short\\ufffd" in request.body

"""A program that uses every public call rightly; type checkers read it, and a test runs it."""

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

import httpx2
import msgspec
from pydantic import BaseModel

import pondero
from pondero.emulator import Emulator

MODEL = "claude-opus-5"


class Struct(msgspec.Struct):
    """A shape of msgspec's."""

    name: str
    people: int


@dataclass
class Data:
    """A shape of the standard library's."""

    name: str
    people: int


class Dict(TypedDict):
    """A shape that is a dict."""

    name: str
    people: int


class Model(BaseModel):
    """A shape of pydantic's."""

    name: str
    people: int


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def allow(name: str, arguments: dict[str, Any]) -> bool:
    """Allow every tool with a name."""
    return bool(name) and len(arguments) < 9


def see(value: pondero.Prepared | pondero.Reply) -> None:
    """Look at what is sent and what comes."""
    assert value is not None


def the_dial(given: str = "12,000", some: str | None = "high") -> None:
    """Say the wish in every way."""
    wishes: list[pondero.ThinkingLike] = ["off", "high", "med", 8000, True, None, {"thinking": {}}]
    for wish in wishes:
        assert_type(pondero.plan(MODEL, wish), pondero.Plan)
    pondero.plan(MODEL, given)
    pondero.plan(MODEL, some)
    pondero.plan(MODEL, thinking_effort=given)
    level: pondero.Level = "high"
    assert_type(pondero.plan(MODEL, level, context=900, seed=7).level, str | None)
    pondero.plan(MODEL, "8k")
    pondero.plan(MODEL, thinking="64k")
    strict = pondero.Policy(unsupported="strict", answer_room=2048)
    pondero.plan(MODEL, "low", policy=strict.but(off="floor"))
    pondero.plan(MODEL, max_tokens=1000, policy={"show": "none"}, thinking_effort="low")
    assert_type(pondero.levels(MODEL), list[pondero.Plan])
    pondero.models("anthropic")


def the_client(client: pondero.Client, level: str = "low") -> None:
    """Ask, stream and prepare, with every shape of answer."""
    assert_type(client.ask(MODEL, "Name a city.", "low", output=Struct).value, Struct)
    assert_type(client.ask(MODEL, "Name a city.", "low", output=Data).value, Data)
    assert_type(client.ask(MODEL, "Name a city.", output=Dict, max_tokens=2000).value, Dict)
    assert_type(client.ask(MODEL, "Name a city.", output=Model).value, Model)
    assert_type(client.ask(MODEL, "Name cities.", output=list[Struct]).value, list[Struct])
    assert_type(client.ask(MODEL, "Name cities.", output=list[Model]).value, list[Model])
    assert_type(client.ask(MODEL, "Name a city.", output=SCHEMA).value, Any)
    either: pondero.Reply[Data | list[Data]]
    either = client.ask(MODEL, "Name a city.", output=Data | list[Data])
    assert_type(either.value, Data | list[Data])
    assert_type(client.ask(MODEL, "What is 17 * 23?", level, seed=7).text, str)
    reply = client.ask(MODEL, "What is 17 * 23?", 8000, tools=[add], policy={"show": "summary"})
    assert_type(reply.text, str)
    assert_type(reply.usage.thinking, int | None)
    assert_type(reply.plan, pondero.Plan)
    assert_type(reply.origin.model, str)
    assert_type(reply.plan.level, str | None)
    assert_type([note.code for note in reply.adjustments], list[str])
    with client.stream(MODEL, "Name a city.", True, output=Model) as stream:
        for event in stream:
            assert event is not None
    assert_type(stream.reply.value, Model)
    client.ask(MODEL, "Hello", timeout=30, headers={"x-team": "blue"})
    words = pondero.attachment(b"a,b", name="a.csv")
    assert_type(words, pondero.Text | pondero.Image | pondero.Blob)
    several = client.ask([MODEL, "gpt-5.1/low"], "Hello", attachments=[words], output=Data)
    assert_type(several.value, Data)
    assert_type(client.ask(MODEL, "Hello", tools=[add], approve=allow, max_steps=3).text, str)
    assert_type(list(client.stream([MODEL, "gpt-5.1"], "Hello").text()), list[str])
    client.ask(MODEL, [{"role": "user", "content": "Hello"}], timeout=pondero.Timeouts())
    prepared = client.prepare(MODEL, [pondero.Message("user", (pondero.Text("Hello"),))], "max")
    assert_type(prepared, pondero.Prepared)


def the_chat(client: pondero.Client) -> None:
    """Talk, at another level and of another shape."""
    chat = pondero.Chat(MODEL, "high", tools=[add], client=client, system="Be short.", seed=7)
    assert_type(chat.send("Name a city.", output=Model).value, Model)
    chat.thinking = "low"
    chat.model = "gpt-5.1"
    assert_type(chat.send("Another?").text, str)
    pondero.Chat.from_json(chat.to_json(), client=client, tools=[add], approve=allow)
    with pondero.Chat([MODEL, "gpt-5.1"], mcp=[], client=client) as several:
        assert_type(several.fallbacks, tuple[str, ...])
        assert_type([each.tool.name for each in several.list_tools()], list[str])
        assert_type("".join(several.stream("Hello").text()), str)


async def the_async_twins(client: pondero.AsyncClient) -> None:
    """Await the same."""
    assert_type((await client.ask(MODEL, "Name a city.", output=Data)).value, Data)
    chat = pondero.AsyncChat(MODEL, 2000, client=client)
    assert_type((await chat.send("Name a city.", output=Struct)).value, Struct)
    async with client.stream(MODEL, "Hello", "off") as stream:
        async for _ in stream:
            pass
    assert_type(stream.reply.text, str)
    async for word in client.stream(MODEL, "Hello").text():
        assert_type(word, str)


def the_rest() -> None:
    """Reach the other SDKs, the settings and the errors by name."""
    assert_type(pondero.sdk.client("high", transport=Emulator()), httpx2.Client)
    assert_type(pondero.sdk.aclient("high", transport=Emulator()), httpx2.AsyncClient)
    pondero.Client(retry=pondero.Retry(attempts=2), timeouts=pondero.Timeouts(first_byte=5.0))
    pondero.Client(on_request=see, on_reply=see)
    try:
        pondero.plan("no-such-model-of-anybody", policy={"unknown": "error"})
    except pondero.UnknownModel as error:
        assert_type(error, pondero.UnknownModel)

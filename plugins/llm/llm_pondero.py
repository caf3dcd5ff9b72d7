"""pondero's models for ``llm``: ``pondero/NAME``, with any name that pondero takes, and its level.

llm finds a model only among those that were registered, and has no hook for other names. A few are
registered, so that ``llm models`` stays short, and so is each name that the running command or an
alias has. For all others (a conversation's, a template's, a program's) the two functions that llm
looks names up with are wrapped: ``pondero/`` and a name is a model, listed or not.

llm stores the parts of an answer with their ``provider_metadata``. Each part's seal and maker are
kept there, so that ``llm -c`` gives a service its own proof of thought back, days later too.
"""

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click
import llm
import msgspec
from llm.parts import (
    AttachmentPart,
    ReasoningPart,
    StreamEvent,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from msgspec.structs import replace
from pydantic import Field, field_validator

import pondero
from pondero.canon import (
    Blob,
    Event,
    Image,
    Message,
    Origin,
    Part,
    PartEnd,
    Reply,
    Role,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    convert_json,
)
from pondero.handoff import Manifest
from pondero.store import list_saved_keys, load_catalog
from pondero.thinking import parse_intent

_KEPT = "pondero"  # our key in a part's provider_metadata
_ROLES: dict[str, Role] = {"assistant": "assistant", "system": "system"}
_MEDIA = frozenset({
    *("image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf"),
    *("audio/wav", "audio/mpeg", "video/mp4", "text/plain"),
})  # fmt: skip


_PREFIX = "pondero/"
_MODEL_PARAMETERS = ("model", "model_id", "model_ids")  # what llm's commands call a model's name


@llm.hookimpl
def register_models(register: Callable[..., None]) -> None:
    """Offer a few models, for sync and asyncio, and those that a command or an alias names."""
    try:
        listed = listed_names()
    except pondero.PonderoError as error:  # a mistake in a file of ours stops no other model
        click.echo(f"pondero: {error}", err=True)
        listed = []
    for name in dict.fromkeys((*listed, *_named_in_command(), *_named_in_aliases())):
        register(Pondero(name), AsyncPondero(name))


# -- names -----------------------------------------------------------------------------------------


def listed_names() -> list[str]:
    """Return the newest model of each line, of the providers with a key; of all makers if none has.

    Of two APIs of one provider, the one that a bare name means is listed.
    """
    catalog = load_catalog().catalog
    held = {*llm.load_keys(), *os.environ, *list_saved_keys()}
    open_ = [each for each in catalog.providers.values() if held & {each.name, *each.keys}]
    makers = {group.home for group in catalog.groups.values()}
    chosen = open_ or [each for each in catalog.providers.values() if each.name in makers]
    newest = {
        row.name for group in catalog.groups.values() for row in group.family if row.newest_of
    }
    found: dict[tuple[Any, ...], str] = {}
    for provider in sorted(chosen, key=lambda each: each.name not in makers):
        for entry in pondero.models(provider.name):
            if entry.family in newest and entry.capability.thinks:
                found.setdefault((provider.keys or provider.name, entry.family), entry.id)
    return list(found.values())


def _named_in_command() -> list[str]:
    """Return the names in the command that is running, so that all of llm knows them."""
    context = click.get_current_context(silent=True)
    given = [context.params.get(each) for each in _MODEL_PARAMETERS] if context else []
    words = [word for each in given for word in ([each] if isinstance(each, str) else each or ())]
    return _own(words)


def _named_in_aliases() -> list[str]:
    """Return the names that ``llm aliases set`` has given an alias."""
    with suppress(OSError, ValueError):
        return _own(json.loads((llm.user_dir() / "aliases.json").read_text("utf-8")).values())
    return []


def _own(names: Iterable[Any]) -> list[str]:
    return [
        name.removeprefix(_PREFIX)
        for name in names
        if isinstance(name, str) and len(name) > len(_PREFIX) and name.startswith(_PREFIX)
    ]


class _AnyName(dict[str, Any]):
    """llm's models by name, and a new one for every other name of ours."""

    def __init__(self, known: dict[str, Any], kind: Callable[[str], Any]) -> None:
        super().__init__(known)
        self._kind = kind

    def __missing__(self, name: str) -> Any:
        for own in _own([name]):
            return self._kind(own)
        raise KeyError(name)


def _take_any_name(lookup: str, kind: Callable[[str], Any]) -> None:
    """Wrap one of llm's lookups; where a later llm has none, registered names still work."""
    if known := getattr(llm, lookup, None):
        setattr(llm, lookup, lambda: _AnyName(known(), kind))


# -- models ----------------------------------------------------------------------------------------


class Options(llm.Options):
    """What ``-o`` takes."""

    think: str | int | None = Field(
        None, description="off, minimal, low, medium, high, xhigh, max, or a number of tokens"
    )
    max_tokens: int | None = Field(None, description="The most tokens of thinking and answer", ge=1)
    temperature: float | None = Field(None, description="Left out where the model refuses it")
    top_p: float | None = Field(None, description="Left out where the model refuses it")
    stop: str | None = Field(None, description="Words that end the answer")
    offline: bool = Field(default=False, description="Ask pondero's emulator: no key, no network")

    @field_validator("think")
    @classmethod
    def _is_a_wish(cls, value: str | int | None) -> str | int | None:
        try:
            parse_intent(value)
        except pondero.BadThinking as error:
            raise ValueError(str(error)) from None
        return value


class _Known:
    """What both kinds of model have; ``name`` is any that pondero takes, with or without level."""

    can_stream = True
    supports_schema = True
    supports_tools = True
    attachment_types = _MEDIA
    Options = Options
    key: str | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.model_id = f"{_PREFIX}{name}"

    @property
    def needs_key(self) -> str | None:
        """Return the provider, by whose name llm keeps a key; None if there is no such model."""
        with suppress(pondero.PonderoError):
            return pondero.plan(self.name).model.partition(":")[0]
        return None

    def get_key(self, explicit_key: str | None = None) -> str | None:
        """Return llm's key for the provider; without one, pondero looks where it always does."""
        given = explicit_key or self.key or ""
        found: str | None = llm.get_key(input=given, alias=self.needs_key or "")
        return found

    def __str__(self) -> str:
        return f"pondero: {self.model_id}"


class Pondero(_Known, llm.KeyModel):
    """One model."""

    def execute(
        self,
        prompt: Any,
        stream: bool,  # noqa: FBT001 - llm's own signature
        response: Any,
        conversation: Any,  # noqa: ARG002 - prompt.messages has all of it
        key: str | None,
    ) -> Iterator[StreamEvent]:
        """Yield the answer's events as llm knows them."""
        keys = {provider: key} if key and (provider := self.needs_key) else None
        with _shown(), pondero.Client(transport=_transport(prompt), keys=keys) as client:
            with _asked(client, self.name, prompt, stream=stream) as asked:
                for event in asked:
                    yield from _told(event, asked.message.origin, response)
            _record(asked.reply, asked.handoff, response)


class AsyncPondero(_Known, llm.AsyncKeyModel):
    """The same for asyncio."""

    async def execute(
        self,
        prompt: Any,
        stream: bool,  # noqa: FBT001 - llm's own signature
        response: Any,
        conversation: Any,  # noqa: ARG002 - prompt.messages has all of it
        key: str | None,
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield the answer's events as llm knows them."""
        keys = {provider: key} if key and (provider := self.needs_key) else None
        with _shown():
            async with pondero.AsyncClient(transport=_transport(prompt), keys=keys) as client:
                async with _asked(client, self.name, prompt, stream=stream) as asked:
                    async for event in asked:
                        for told in _told(event, asked.message.origin, response):
                            yield told
                _record(asked.reply, asked.handoff, response)


_take_any_name("get_model_aliases", Pondero)
_take_any_name("get_async_model_aliases", AsyncPondero)


# -- asking ----------------------------------------------------------------------------------------


def _transport(prompt: Any) -> Any:
    """Return the emulator for a question that stays here; None is the network."""
    if not prompt.options.offline:
        return None
    from pondero.emulator import Emulator  # noqa: PLC0415 - only where nothing is sent

    return Emulator(any_model=True)


def _asked(client: Any, name: str, prompt: Any, *, stream: bool) -> Any:
    options = prompt.options
    system, messages = conversation_of(prompt.messages)
    return client.stream(
        name,
        messages,
        options.think,
        system=system,
        tools=[
            pondero.Tool(tool.name, tool.description or "", tool.input_schema)
            for tool in prompt.tools
        ],
        output=prompt.schema,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        top_p=options.top_p,
        stop=options.stop or (),
        stream=stream,
    )


@contextmanager
def _shown() -> Iterator[None]:
    """Raise our errors as llm's own, which it prints in one line."""
    try:
        yield
    except pondero.PonderoError as error:
        raise llm.ModelError(str(error)) from error


# -- what llm gives us -----------------------------------------------------------------------------


def conversation_of(given: Iterable[Any]) -> tuple[list[str], list[Message]]:
    """Return the system prompt and the messages of a conversation, seals and makers with them."""
    system: list[str] = []
    messages: list[Message] = []
    for each in given:
        made = _message(each)
        if made.role == "system" and not messages:
            system.append(made.text)
        else:
            messages.append(made)
    return system, messages


def _message(given: Any) -> Message:
    parts = tuple(part for each in given.parts for part in _parts(each))
    origins = [kept["origin"] for each in given.parts if (kept := _kept(each))]
    origin = convert_json(origins[0], Origin) if origins else None
    return Message(_ROLES.get(given.role, "user"), parts, origin)


def _parts(given: Any) -> Iterator[Part]:
    if kept := _kept(given):
        part: Part = convert_json(kept["part"], Part)
        yield replace(part, text=given.text) if isinstance(part, Text | Thinking) else part
        return
    match given:
        case TextPart():
            yield Text(given.text)
        case ReasoningPart() if given.text:
            yield Thinking(given.text)
        case ToolCallPart():
            yield ToolCall(given.tool_call_id or given.name, given.name, given.arguments)
        case ToolResultPart():
            failed = given.exception is not None
            content = (Text(given.output), *map(_medium, given.attachments))
            call = given.tool_call_id or given.name
            yield ToolResult(call, content, error=failed, name=given.name)
        case AttachmentPart() if given.attachment is not None:
            yield _medium(given.attachment)


def _kept(part: Any) -> Any:
    return (part.provider_metadata or {}).get(_KEPT)


def _medium(given: Any) -> Image | Blob:
    kind = given.resolve_type()
    url = None if given.content or given.path else given.url
    data = None if url else given.content_bytes()
    if kind.startswith("image/"):
        return Image(kind, data, url)
    return Blob(kind, data, url)


# -- what we give llm ------------------------------------------------------------------------------


def _told(event: Event, origin: Origin | None, response: Any) -> Iterator[StreamEvent]:
    match event:
        case TextDelta() if event.text:
            yield StreamEvent("text", event.text, part_index=event.index)
        case ThinkingDelta() if event.text:
            yield StreamEvent("reasoning", event.text, part_index=event.index)
        case PartEnd():
            yield from _ended(event.index, event.part, origin, response)


def _ended(index: int, part: Part, origin: Origin | None, response: Any) -> Iterator[StreamEvent]:
    """Yield what is known of a part at its end; its words are llm's to keep, and went before."""
    bare = replace(part, text="") if isinstance(part, Text | Thinking) else part
    kept = {_KEPT: {"part": msgspec.to_builtins(bare), "origin": msgspec.to_builtins(origin)}}
    if isinstance(part, ToolCall):
        given = part.arguments
        text = given if isinstance(given, str) else json.dumps(given)
        yield StreamEvent(
            "tool_call_name",
            part.name,
            part_index=index,
            tool_call_id=part.id,
            provider_metadata=kept,
        )
        yield StreamEvent("tool_call_args", text, part_index=index, tool_call_id=part.id)
        arguments = given if isinstance(given, dict) else {"_raw": given}
        response.add_tool_call(llm.ToolCall(part.name, arguments, part.id))
        return
    # llm keeps no text that is empty, but any thinking that has metadata, and in its place.
    kind = "text" if isinstance(part, Text) and part.text else "reasoning"
    yield StreamEvent(kind, "", part_index=index, provider_metadata=kept)


def _record(reply: Reply, handoff: Manifest, response: Any) -> None:
    usage, plan = reply.usage, reply.plan
    details = {
        "thinking": usage.thinking,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
    }
    response.set_usage(
        input=_sum(usage.input, usage.cache_read, usage.cache_write),
        output=_sum(usage.output, usage.thinking),
        details={name: count for name, count in details.items() if count} or None,
    )
    if reply.model:
        response.set_resolved_model(reply.model)
    response.response_json = {
        "finish": reply.finish,
        "verdict": reply.verdict,
        "request_id": reply.request_id,
        "sent": plan.fields,
        "adjustments": [msgspec.to_builtins(each, enc_hook=str) for each in reply.adjustments],
        "handoff": handoff.to_json() if handoff.changes else None,
    }


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

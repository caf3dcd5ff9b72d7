"""A chat as JSON text and back: history, signatures, model, level and options."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from ...canon import (
    Json,
    Message,
    OutputFormat,
    Text,
    ToolChoice,
    convert_json,
    dump_json,
    load_json,
)
from ...errors import BadParameter
from ...handoff import Rejection
from ...thinking import Policy
from ..prompts.messages import parse_system
from ..prompts.options import ChatOptions
from ..prompts.output import parse_output

VERSION = 1


class SavedChat(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The JSON of a chat. Tools and keys are not saved; the caller passes them again."""

    pondero: int = 0
    model: str
    thinking: Json = None
    thinking_effort: Json = None
    system: tuple[Text, ...] = ()
    tool_choice: str | ToolChoice | None = None
    output: OutputFormat | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    extras: Json = None
    retries: int | None = None
    policy: dict[str, Any] | None = None
    max_steps: int = msgspec.field(default=20, name="steps")
    messages: tuple[Message, ...] = ()
    refusals: tuple[Rejection, ...] = ()
    fallbacks: tuple[str, ...] = ()


_PLAIN = (
    "thinking_effort",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "extras",
    "tool_choice",
    "retries",
)


def dump_chat(
    model: str,
    thinking: object,
    messages: tuple[Message, ...],
    max_steps: int,
    options: ChatOptions,
    *,
    refusals: tuple[Rejection, ...] = (),
    fallbacks: tuple[str, ...] = (),
) -> str:
    """Return a chat as JSON text."""
    stop = options.get("stop") or ()
    plain: dict[str, Any] = {name: options.get(name) for name in _PLAIN}
    policy = options.get("policy")
    return dump_json(
        SavedChat(
            pondero=VERSION,
            model=model,
            thinking=thinking,
            system=parse_system(options.get("system")),
            output=parse_output(options.get("output")),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            policy=None if policy is None else dict(Policy.of(policy)),
            max_steps=max_steps,
            messages=messages,
            refusals=refusals,
            fallbacks=fallbacks,
            **plain,
        )
    )


def load_chat(text: str | bytes) -> SavedChat:
    """Parse a saved chat; raises BadParameter."""
    try:
        saved = _read(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"this is not a saved chat: {error}"
        raise BadParameter(message) from None
    if saved.pondero != VERSION:
        message = f"this chat was saved in form {saved.pondero}; this version reads form {VERSION}"
        raise BadParameter(message)
    return saved


def _read(text: str | bytes) -> SavedChat:
    """Parse a saved chat; a part of another program's type ``reasoning`` becomes thinking."""
    try:
        return load_json(text, SavedChat)
    except msgspec.ValidationError:
        raw: Json = load_json(text, dict)
        messages = raw.get("messages")
        for message in messages if isinstance(messages, list) else ():
            parts = message.get("parts") if isinstance(message, dict) else None
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict) and part.get("type") == "reasoning":
                    part["type"] = "thinking"
        return convert_json(raw, SavedChat)


def saved_options(saved: SavedChat) -> ChatOptions:
    """Return the options of a saved chat."""
    options = {
        name: value
        for name in (*_PLAIN, "system", "output", "stop", "policy")
        if (value := getattr(saved, name)) not in (None, ())
    }
    return cast("ChatOptions", options)

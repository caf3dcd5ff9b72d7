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
    convert_saved,
    dump_saved,
    parse_saved,
)
from ...handoff import Rejection
from ...thinking import Policy
from ..prompts.messages import parse_system
from ..prompts.options import ChatOptions
from ..prompts.output import parse_output


class SavedChat(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The JSON of a chat. Tools and keys are not saved; the caller passes them again."""

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
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extras: Json = None
    retries: int | None = None
    cache: bool | None = None
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
    "seed",
    "extras",
    "tool_choice",
    "retries",
    "cache",
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
    return dump_saved(
        "chat",
        SavedChat(
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
        ),
    )


def load_chat(text: str | bytes) -> SavedChat:
    """Parse a saved chat; raises BadParameter."""
    raw = parse_saved("chat", text)
    if "format" not in raw and "pondero" in raw:  # as chats said it before other values were saved
        raw |= {"format": "pondero.chat", "version": raw["pondero"]}
    _rename_reasoning(raw.get("messages"))
    return convert_saved("chat", raw, SavedChat)


def _rename_reasoning(messages: Json) -> None:
    """Make thinking of parts whose type is ``reasoning``, as another program writes them."""
    for message in messages if isinstance(messages, list) else ():
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "reasoning":
                part["type"] = "thinking"


def saved_options(saved: SavedChat) -> ChatOptions:
    """Return the options of a saved chat."""
    options = {
        name: value
        for name in (*_PLAIN, "system", "output", "stop", "policy")
        if (value := getattr(saved, name)) not in (None, ())
    }
    return cast("ChatOptions", options)

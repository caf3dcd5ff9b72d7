"""pondero's models for inspect_ai: ``--model pondero/claude-opus-5/high``, levels as they are.

The level may also be said with ``--reasoning-effort`` or ``--reasoning-tokens``, which win over the
one in the name. An answer is kept whole in its message's metadata, so that a service gets its own
proof of thought back in the next turn.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from mimetypes import guess_type
from pathlib import Path
from typing import Any

import msgspec
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolFunction, ToolInfo

import pondero
from pondero.canon import Message, Reply, Text, Thinking, ToolResult, Usage, convert_json
from pondero.errors import ContextTooLong, Overloaded, RateLimited, Refused, TransportError

_KEPT = "pondero"  # our key in a message's metadata
_TRIED_AGAIN = (RateLimited, Overloaded, TransportError)
_CHOICES = {"any": "required"}
_FINISHES: dict[str, StopReason] = {
    "stop": "stop",
    "length": "max_tokens",
    "exhausted": "max_tokens",
    "context_full": "model_length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}


@modelapi(name="pondero")
class PonderoAPI(ModelAPI):
    """One model. ``-M offline=true`` asks pondero's emulator: no key, no network."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - inspect_ai's own signature
        offline: bool = False,  # noqa: FBT001, FBT002 - a model argument
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        provider = pondero.plan(model_name).model.partition(":")[0]
        self._client = pondero.AsyncClient(
            transport=_emulator() if offline else None,
            keys={provider: api_key} if api_key else None,
            urls={provider: base_url} if base_url else None,
        )

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the model's answer to a conversation."""
        system, messages = conversation_of(input)
        shape = config.response_schema
        output: Any = shape.json_schema.model_dump(exclude_none=True) if shape else None
        try:
            reply = await self._client.ask(
                self.model_name,
                messages,
                _wish(config),
                system=system,
                tools=[_tool(each) for each in tools],
                tool_choice=_choice(tool_choice) if tools else None,
                output=output,
                max_tokens=config.max_tokens,
                temperature=config.temperature,
                top_p=config.top_p,
                top_k=config.top_k,
                stop=config.stop_seqs or (),
                extras=config.extra_body,
                headers=config.extra_headers,
            )
        except ContextTooLong as error:
            return ModelOutput.from_content(self.model_name, str(error), "model_length")
        except Refused as error:
            return ModelOutput.from_content(self.model_name, str(error), "content_filter")
        return _output(reply, self.model_name)

    def should_retry(self, ex: BaseException) -> bool:
        """Return whether asking once more later may help."""
        return isinstance(ex, _TRIED_AGAIN)

    def connection_key(self) -> str:
        """Return whose limits the requests count against."""
        return f"pondero-{self.model_name.partition(':')[0]}"

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()


def _emulator() -> Any:
    from pondero.emulator import Emulator  # noqa: PLC0415 - only where nothing is sent

    return Emulator(any_model=True)


def _wish(config: GenerateConfig) -> pondero.ThinkingLike:
    """Return the level that the configuration asks for; it wins over the one in the name."""
    words: pondero.ThinkingLike = config.reasoning_effort  # "none" is a word for off here too
    tokens: int | None = config.reasoning_tokens
    return words if tokens is None else tokens


def _tool(given: ToolInfo) -> pondero.Tool:
    return pondero.Tool(
        given.name, given.description, given.parameters.model_dump(exclude_none=True)
    )


def _choice(given: ToolChoice) -> str:
    name: str = given.name if isinstance(given, ToolFunction) else _CHOICES.get(given, given)
    return name


# -- what inspect_ai gives us ----------------------------------------------------------------------


def conversation_of(given: list[ChatMessage]) -> tuple[list[str], list[Any]]:
    """Return the system prompt and the messages, in our own words where an answer was kept."""
    system = [each.text for each in given if isinstance(each, ChatMessageSystem)]
    rest = [each for each in given if not isinstance(each, ChatMessageSystem)]
    return system, [_message(each) for each in rest]


def _message(given: ChatMessage) -> Message | dict[str, Any]:
    if isinstance(given, ChatMessageTool):
        words = given.error.message if given.error else given.text
        result = ToolResult(
            given.tool_call_id or "",
            (Text(words),),
            error=given.error is not None,
            name=given.function,
        )
        return Message("user", (result,))
    if isinstance(given, ChatMessageAssistant):
        return _kept(given) or {
            "role": "assistant",
            "content": given.text,
            "tool_calls": [_call(each) for each in given.tool_calls or ()],
        }
    content = [{"type": "text", "text": given.content}] if isinstance(given.content, str) else None
    return {"role": given.role, "content": content or [*map(_part, given.content)]}


def _kept(given: ChatMessageAssistant) -> Message | None:
    """Return the answer as it came; None where it was edited since, or another model's."""
    if _KEPT not in (given.metadata or {}):
        return None
    kept: Message = convert_json((given.metadata or {})[_KEPT], Message)
    listed = [ContentText(text=given.content)] if isinstance(given.content, str) else given.content
    words = [each.text for each in listed if isinstance(each, ContentText)]
    calls = [call.id for call in given.tool_calls or ()]
    if words != _words(kept) or calls != [call.id for call in kept.tool_calls]:
        return None
    if any(isinstance(each, ContentReasoning) for each in listed):
        return kept
    # inspect_ai took the thinking out, as reasoning_history says.
    parts = tuple(part for part in kept.parts if not isinstance(part, Thinking))
    return Message(kept.role, parts, kept.origin)


def _words(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text) and part.text]


def _call(given: ToolCall) -> dict[str, Any]:
    function = {"name": given.function, "arguments": json.dumps(given.arguments)}
    return {"id": given.id, "type": "function", "function": function}


def _part(given: Any) -> dict[str, Any]:
    match given.type:
        case "image":
            return {"type": "image_url", "image_url": {"url": _address(given.image)}}
        case "audio":
            data = _address(given.audio).partition(",")[2]
            return {"type": "input_audio", "input_audio": {"data": data, "format": given.format}}
        case "document":
            file = {"file_data": _address(given.document), "filename": given.filename}
            return {"type": "file", "file": file}
        case _:
            return {"type": "text", "text": given.text}


def _address(given: str) -> str:
    """Return a medium's URL; a file's is made of its bytes."""
    if given.startswith(("data:", "http:", "https:")):
        return given
    kind = guess_type(given)[0] or "application/octet-stream"
    return f"data:{kind};base64,{b64encode(Path(given).read_bytes()).decode()}"


# -- what we give inspect_ai -----------------------------------------------------------------------


def _output(reply: Reply, name: str) -> ModelOutput:
    message = ChatMessageAssistant(
        content=list(_contents(reply.message)),
        tool_calls=[
            ToolCall(call.id, call.name, call.arguments)
            if isinstance(call.arguments, dict)
            else ToolCall(call.id, call.name, {}, f"not JSON: {call.arguments!r}")
            for call in reply.tool_calls
        ]
        or None,
        source="generate",
        model=reply.model or name,
        metadata={_KEPT: msgspec.to_builtins(reply.message)},
    )
    said = [msgspec.to_builtins(each, enc_hook=str) for each in reply.adjustments]
    return ModelOutput(
        model=reply.model or name,
        choices=[
            ChatCompletionChoice(
                message=message, stop_reason=_FINISHES.get(reply.finish, "unknown")
            )
        ],
        usage=_usage(reply.usage),
        metadata={"verdict": reply.verdict, "adjustments": said},
    )


def _contents(message: Message) -> Iterator[Content]:
    for part in message.parts:
        match part:
            case Thinking():
                yield ContentReasoning(reasoning=part.text, redacted=not part.text)
            case Text() if part.text:
                yield ContentText(text=part.text)


def _usage(usage: Usage) -> ModelUsage:
    return ModelUsage(
        input_tokens=usage.input or 0,
        output_tokens=(usage.output or 0) + (usage.thinking or 0),
        total_tokens=usage.total or usage.known_total,
        input_tokens_cache_read=usage.cache_read,
        input_tokens_cache_write=usage.cache_write,
        reasoning_tokens=usage.thinking,
    )

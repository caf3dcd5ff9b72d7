"""A good request of each API that has its types in an SDK, and where the types do not decide.

``values`` are plausible where any value of the type is not. ``apart`` are fields whose right values
are rejected, ``unread`` those whose wrong ones are accepted, by their paths, with the reason. An
entry that is no longer true fails.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

import botocore.session
import cohere
from anthropic.types.message_create_params import MessageCreateParamsBase
from google.genai import types as google
from google.genai._gaos.types.interactions import CreateModelInteractionParam
from groq.types.chat.completion_create_params import CompletionCreateParams as GroqParams
from mistralai.client.models import ChatCompletionRequestTypedDict
from ollama._types import ChatRequest
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase

Json = Any
BEARER = {"authorization": "Bearer key"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED = SCHEMA | {"additionalProperties": False}  # as strict tools need it
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
STRICT = {"type": "function", "function": {"name": "f", "description": "d", "parameters": CLOSED}}
SAY = {"role": "user", "content": "Say it as JSON."}
ACCOUNT = "needs something of the account: a stored file, a container, a profile"
TOGETHER = "rejected with what the request already has, or without what it lacks"
MODEL = "not for this model"
STILL_TYPED = (ACCOUNT, TOGETHER, MODEL)  # rejected, but not before its type is judged


@dataclass(frozen=True)
class Vendor:
    """A good request, whose service it asks, and the vendor's type of its body."""

    dialect: str
    provider: str
    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Json]
    hint: Any
    values: Mapping[str, Json] = field(default_factory=dict)
    unions: tuple[str, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)


class GeminiBody(TypedDict, total=False):
    """The body of generateContent, of the SDK's own types."""

    contents: list[google.Content]
    systemInstruction: google.Content
    tools: list[google.Tool]
    toolConfig: google.ToolConfig
    safetySettings: list[google.SafetySetting]
    generationConfig: google.GenerationConfig
    cachedContent: str
    labels: dict[str, str]


def _signature(function: Any, *without: str) -> Any:
    """Return the type of a body whose fields are a function's parameters."""
    found = inspect.signature(function, eval_str=True).parameters
    kept = {k: v.annotation for k, v in found.items() if k not in ("self", *without)}
    return TypedDict("Body", kept, total=False)  # type: ignore[operator]


def _converse() -> Any:
    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    return service.operation_model("Converse").input_shape


# Fields of a part that are said beside its data, and nothing by themselves.
BESIDE = (
    *("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "mediaProcessing"),
    *("partMetadata", "audioTranscription", "speechMetadata"),
)
VENDORS = [
    Vendor(
        "anthropic", "anthropic", "https://api.anthropic.com/v1/messages",
        {"x-api-key": "key", "anthropic-version": "2023-06-01", "anthropic-beta": "cache-diagnosis-2026-04-07"},
        {"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
         "system": [{"type": "text", "text": "a"}], "tools": [{"name": "f", "input_schema": SCHEMA},
                                                        {"type": "code_execution_20250825", "name": "code_execution"}],
         "thinking": {"type": "enabled", "budget_tokens": 1024}},
        MessageCreateParamsBase,
        # The request has two tools, and one of the vendor's does not take a function's fields.
        apart=dict.fromkeys((f"tools.*.{name}" for name in (
            "strict", "description", "eager_input_streaming", "input_examples", "input_schema")), TOGETHER),
    ),
    Vendor(
        "openai_chat", "openai-chat", "https://api.openai.com/v1/chat/completions", BEARER,
        {"model": "gpt-4.1", "messages": [{"role": "user", "content": [{"type": "text", "text": "json"}]}], "tools": [STRICT]},
        CompletionCreateParamsBase,
        apart={**dict.fromkeys(("reasoning_effort", "verbosity", "web_search_options"), MODEL),
               **dict.fromkeys(("stream_options", "function_call", "metadata", "top_logprobs"), TOGETHER)},
    ),
    Vendor(
        "openai_responses", "openai", "https://api.openai.com/v1/responses", BEARER,
        {"model": "gpt-5.5", "input": [{"role": "user", "content": [{"type": "input_text", "text": "json"}]}],
         "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}], "reasoning": {"effort": "low"}},
        ResponseCreateParamsBase,
        values={"max_output_tokens": 100, "reasoning.mode": "standard"},
        apart={**dict.fromkeys(("previous_response_id", "conversation", "prompt"), ACCOUNT), **dict.fromkeys(("temperature", "top_p", "top_logprobs"), MODEL)},
    ),
    Vendor(
        "openai_chat", "groq", "https://api.groq.com/openai/v1/chat/completions", BEARER,
        {"model": "openai/gpt-oss-120b", "messages": [SAY], "tools": [TOOL]}, GroqParams,
        values={"reasoning_effort": "low"},
        apart={"logit_bias": MODEL, "logprobs": MODEL, "top_logprobs": MODEL},
    ),
    Vendor(
        "openai_chat", "mistral", "https://api.mistral.ai/v1/chat/completions", BEARER,
        {"model": "mistral-medium-latest", "messages": [SAY], "tools": [TOOL]}, ChatCompletionRequestTypedDict,
        values={"response_format": {"type": "text"}, "tool_choice": "auto"},
        apart={"prompt_mode": MODEL},
    ),
    Vendor(
        "bedrock", "bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse", BEARER,
        {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "system": [{"text": "a"}],
         "inferenceConfig": {"maxTokens": 100}, "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": CLOSED}}},
                                                                         {"cachePoint": {"type": "default"}}]}},
        _converse(),
        values={"additionalModelRequestFields": {}, "requestMetadata": {"a": "b"},
                "messages.*.content.*.toolUse": {"toolUseId": "t", "name": "f", "input": {}},
                "toolConfig.tools.*.toolSpec": {"name": "g", "inputSchema": {"json": CLOSED}}},
        unions=("messages.*.content.*", "system.*", "toolConfig.tools.*"),
        apart={
            **{f"messages.*.content.*.{name}": TOGETHER for name in ("document", "toolUse", "toolResult", "reasoningContent")},
            "toolConfig.tools.*.cachePoint": TOGETHER,
        },
    ),
    Vendor(
        "gemini", "google", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:generateContent", {"x-goog-api-key": "key"},
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "systemInstruction": {"parts": [{"text": "a"}]},
         "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA | {"type": "OBJECT"}}]}],
         "toolConfig": {"functionCallingConfig": {"mode": "ANY"}, "includeServerSideToolInvocations": True},
         "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
         "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}, "responseMimeType": "application/json"}},
        GeminiBody,
        values={
            "contents.*.parts.*.fileData": {"fileUri": "https://x.test/a.pdf", "mimeType": "application/pdf"},
            "contents.*.parts.*.inlineData": {"mimeType": "image/png", "data": "QUJD"},
            **{f"{place}.parts.*.thoughtSignature": "skip_thought_signature_validator" for place in ("contents.*", "systemInstruction")},
            "toolConfig.functionCallingConfig.allowedFunctionNames": ["f"],
            "generationConfig.presencePenalty": 0,
            "generationConfig.frequencyPenalty": 0,
            "tools.*.functionDeclarations.*.parameters.enum": [],
        },
        unions=("contents.*.parts.*", "systemInstruction.parts.*"),
        apart={
            "cachedContent": TOGETHER,
            **{f"{place}.parts.*.{name}": TOGETHER for place in ("contents.*", "systemInstruction")
               for name in (*BESIDE, "functionCall", "functionResponse")},
            **dict.fromkeys(("tools.*.retrieval", "tools.*.enterpriseWebSearch", "tools.*.parallelAiSearch",
                             "tools.*.exaAiSearch", "safetySettings.*.method", "generationConfig.routingConfig",
                             "generationConfig.modelSelectionConfig", "generationConfig.audioTimestamp",
                             "toolConfig.functionCallingConfig.streamFunctionCallArguments"), "on Vertex only"),
            **{f"tools.*.functionDeclarations.*.parameters.{name}": "the SDK has it for its own use; the service does not know the name"
               for name in ("additionalProperties", "defs", "ref")},
            "tools.*.functionDeclarations.*.parametersJsonSchema": TOGETHER,
            "tools.*.googleSearchRetrieval": MODEL,
            "generationConfig.responseLogprobs": MODEL,
            "generationConfig.logprobs": TOGETHER,
            "generationConfig.thinkingConfig.thinkingBudget": TOGETHER,
        },
    ),
    Vendor(
        "interactions", "google-interactions", "https://generativelanguage.googleapis.com/v1beta/interactions", {"x-goog-api-key": "key"},
        {"model": "gemini-3-flash-preview", "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
         "tools": [{"type": "function", "name": "f", "description": "d", "parameters": SCHEMA}],
         "generation_config": {"thinking_level": "low", "thinking_summaries": "auto"}},
        CreateModelInteractionParam,
        values={"input.*.content.*.annotations": [], "generation_config.tool_choice": "auto"},
        apart={
            **dict.fromkeys(("cached_content", "response_mime_type"), "in the types as deprecated, and rejected"),
            **dict.fromkeys(("labels", "safety_settings"), "on Vertex only"),
            "environment": "for agents only",
            "previous_interaction_id": ACCOUNT,
            "webhook_config": TOGETHER,
        },
        unread={"response_format.type": "an object of another type is a schema"},
    ),
    Vendor(
        "cohere", "cohere", "https://api.cohere.com/v2/chat", BEARER,
        {"model": "command-a-reasoning-08-2025", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
         "tools": [TOOL], "thinking": {"type": "enabled", "token_budget": 100}},
        _signature(cohere.ClientV2.chat, "request_options"),
        apart={"response_format": TOGETHER},
    ),
    Vendor(
        "ollama", "ollama", "http://localhost:11434/api/chat", {},
        {"model": "gemma4", "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL], "options": {"seed": 1}},
        ChatRequest,
        values={"messages.*.images": ["iVBORw0KGgo="]},
        unread={
            **{f"options.{name}": "an option of older servers; unknown options are ignored" for name in (
                "numa", "low_vram", "f16_kv", "logits_all", "vocab_only", "use_mlock", "embedding_only", "tfs_z",
                "mirostat", "mirostat_tau", "mirostat_eta", "penalize_newline")},
            **{f"tools.*.function.parameters.{name}": "a schema is passed on as it is" for name in ("type", "required", "properties")},
        },
    ),
]  # fmt: skip

"""The vendors' own SDKs behind one face: what the matrix asks of every front, in its own words.

A history is a list in the SDK's own format, and what an SDK gives back goes into it as its users
would put it there.
"""

import json
from typing import Any

import anthropic
import boto3
import cohere
import httpx
import ollama
import openai
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError
from cohere.core.api_error import ApiError
from google import genai
from google.genai import errors, types
from google.genai._gaos.lib.compat_errors import APIStatusError

from pondero.contract.through.fronts import DESCRIPTION as TELLS
from pondero.contract.through.fronts import KEY, NAME, SCHEMA, Answer, Call, Failure

ROOM = 16_000
FIGURES = {"low": 4_096, "high": 20_000}


class Front:
    name = ""
    states_levels = True
    has_off = True
    has_retry_after = True
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, url: str) -> None:
        self.url = url

    def user(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def results(self, calls: list[Call], texts: list[str]) -> list[Any]:
        raise NotImplementedError

    def ask(
        self, model: str, history: list[Any], level: str | None, *, tools=False, stream=True
    ) -> Answer:
        raise NotImplementedError

    def begin(self, model: str, history: list[Any]) -> Any:
        """Read the first piece of a stream, and return how to hang up."""
        raise NotImplementedError

    def trouble(self, error: Any) -> Failure:
        response = error.response
        return Failure(error.status_code, str(error), response.headers.get("retry-after"))

    def close(self) -> None:
        pass


class Messages(Front):
    name = "anthropic"
    errors = (anthropic.APIStatusError,)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)

    def close(self) -> None:
        self.client.close()

    def _fields(self, model, history, level, tools):
        thinking = (
            {"type": "disabled"}
            if level == "off"
            else {"type": "adaptive", "display": "summarized"}
        )
        fields = {"model": model, "max_tokens": ROOM, "messages": history}
        if level is not None:
            fields["thinking"] = thinking
        if level not in (None, "off"):
            fields["output_config"] = {"effort": level}
        if tools:
            fields["tools"] = [{"name": NAME, "description": TELLS, "input_schema": SCHEMA}]
        return fields

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = self._fields(model, history, level, tools)
        if stream:
            with self.client.messages.stream(**fields) as came:
                message = came.get_final_message()
        else:
            message = self.client.messages.create(**fields)
        blocks = message.content
        usage = message.usage
        details = getattr(usage, "output_tokens_details", None)
        return Answer(
            "".join(b.text for b in blocks if b.type == "text"),
            "".join(b.thinking for b in blocks if b.type == "thinking"),
            [Call(b.id, b.name, b.input) for b in blocks if b.type == "tool_use"],
            [{"role": "assistant", "content": [b.to_dict() for b in blocks]}],
            {
                "input": (usage.input_tokens or 0)
                + (usage.cache_read_input_tokens or 0)
                + (usage.cache_creation_input_tokens or 0),
                "output": usage.output_tokens,
                "thinking": getattr(details, "thinking_tokens", None),
            },
            message.model,
        )

    def begin(self, model, history):
        came = self.client.messages.create(
            **self._fields(model, history, None, tools=False), stream=True
        )
        next(iter(came))
        return came.close

    def results(self, calls, texts):
        return [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call.id, "content": text}
                    for call, text in zip(calls, texts, strict=True)
                ],
            }
        ]


class Responses(Front):
    name = "openai_responses"
    errors = (openai.APIStatusError,)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)

    def close(self) -> None:
        self.client.close()

    def _fields(self, model, history, level, tools):
        fields = {
            "model": model,
            "input": history,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if level is not None:
            fields["reasoning"] = {
                "effort": "none" if level == "off" else level,
                "summary": "detailed",
            }
        if tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "name": NAME,
                    "description": TELLS,
                    "parameters": SCHEMA,
                    "strict": False,
                }
            ]
        return fields

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = self._fields(model, history, level, tools)
        if stream:
            with self.client.responses.stream(**fields) as came:
                answer = came.get_final_response()
        else:
            answer = self.client.responses.create(**fields)
        usage = answer.usage
        thinking = [
            part.text for item in answer.output if item.type == "reasoning" for part in item.summary
        ]
        return Answer(
            answer.output_text,
            "".join(thinking),
            [
                Call(i.call_id, i.name, json.loads(i.arguments))
                for i in answer.output
                if i.type == "function_call"
            ],
            [_plain(item) for item in answer.output],
            {
                "input": usage.input_tokens,
                "output": usage.output_tokens,
                "thinking": usage.output_tokens_details.reasoning_tokens,
            },
            answer.model,
        )

    def begin(self, model, history):
        came = self.client.responses.create(
            **self._fields(model, history, None, tools=False), stream=True
        )
        next(iter(came))
        return came.close

    def results(self, calls, texts):
        return [
            {"type": "function_call_output", "call_id": call.id, "output": text}
            for call, text in zip(calls, texts, strict=True)
        ]


def _plain(item: Any) -> dict[str, Any]:
    kept = item.to_dict()
    kept.pop("parsed_arguments", None)
    for part in kept.get("content") or ():
        part.pop("parsed", None)
    return kept


class Chat(Front):
    name = "openai_chat"
    errors = (openai.APIStatusError,)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)

    def close(self) -> None:
        self.client.close()

    def _fields(self, model, history, level, tools):
        fields = {"model": model, "messages": history}
        if level is not None:
            fields["reasoning_effort"] = "none" if level == "off" else level
        if tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {"name": NAME, "description": TELLS, "parameters": SCHEMA},
                }
            ]
        return fields

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = self._fields(model, history, level, tools)
        if not stream:
            answer = self.client.chat.completions.create(**fields)
            message = answer.choices[0].message.to_dict()
            usage, name = answer.usage, answer.model
        else:
            message, usage, name = self._gathered(fields)
        calls = message.get("tool_calls") or []
        details = usage.completion_tokens_details
        return Answer(
            message.get("content") or "",
            message.get("reasoning_content") or "",
            [
                Call(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
                for c in calls
            ],
            [message],
            {
                "input": usage.prompt_tokens,
                "output": usage.completion_tokens,
                "thinking": details and details.reasoning_tokens,
            },
            name,
        )

    def _gathered(self, fields):
        """Put a stream together as clients of this wire do: fields they know, and two they learnt."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        calls: dict[int, Any] = {}
        usage = name = None
        for chunk in self.client.chat.completions.create(
            **fields, stream=True, stream_options={"include_usage": True}
        ):
            usage, name = chunk.usage or usage, chunk.model
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta.to_dict()
            for text in ("content", "reasoning_content"):
                if delta.get(text):
                    message[text] = (message.get(text) or "") + delta[text]
            if delta.get("reasoning_details"):
                message.setdefault("reasoning_details", []).extend(delta["reasoning_details"])
            for piece in delta.get("tool_calls") or ():
                call = calls.setdefault(
                    piece["index"], {"type": "function", "function": {"name": "", "arguments": ""}}
                )
                for key in ("id", "extra_content"):
                    if piece.get(key):
                        call[key] = piece[key]
                for key in ("name", "arguments"):
                    call["function"][key] += (piece.get("function") or {}).get(key) or ""
        if calls:
            message["tool_calls"] = [calls[index] for index in sorted(calls)]
        return message, usage, name

    def begin(self, model, history):
        came = self.client.chat.completions.create(
            **self._fields(model, history, None, tools=False), stream=True
        )
        next(iter(came))
        return came.close

    def results(self, calls, texts):
        return [
            {"role": "tool", "tool_call_id": call.id, "content": text}
            for call, text in zip(calls, texts, strict=True)
        ]


class Gemini(Front):
    name = "gemini"
    errors = (errors.APIError,)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url))

    def close(self) -> None:
        self.client.close()

    def user(self, text):
        return [types.Content(role="user", parts=[types.Part(text=text)])]

    def _config(self, level, tools):
        thinking = None
        if level == "off":
            thinking = types.ThinkingConfig(thinking_budget=0)
        elif level is not None:
            thinking = types.ThinkingConfig(thinking_level=level.upper(), include_thoughts=True)
        declared = types.FunctionDeclaration(
            name=NAME, description=TELLS, parameters_json_schema=SCHEMA
        )
        return types.GenerateContentConfig(
            thinking_config=thinking,
            tools=[types.Tool(function_declarations=[declared])] if tools else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = {"model": model, "contents": history, "config": self._config(level, tools)}
        if stream:
            chunks = list(self.client.models.generate_content_stream(**fields))
        else:
            chunks = [self.client.models.generate_content(**fields)]
        contents = [
            c.candidates[0].content for c in chunks if c.candidates and c.candidates[0].content
        ]
        parts = [part for content in contents for part in content.parts or ()]
        # The SDK's own chat keeps contents without thought parts.
        kept = [
            types.Content(role="model", parts=[p for p in content.parts or () if not p.thought])
            for content in contents
        ]
        usage = chunks[-1].usage_metadata
        return Answer(
            "".join(p.text for p in parts if p.text and not p.thought),
            "".join(p.text for p in parts if p.text and p.thought),
            [
                Call(p.function_call.id, p.function_call.name, p.function_call.args)
                for p in parts
                if p.function_call
            ],
            [content for content in kept if content.parts],
            {
                "input": usage.prompt_token_count,
                "output": (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
                "thinking": usage.thoughts_token_count,
            },
            chunks[-1].model_version,
        )

    def begin(self, model, history):
        came = self.client.models.generate_content_stream(model=model, contents=history)
        next(came)
        return came.close

    def results(self, calls, texts):
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"result": text}
                )
            )
            for call, text in zip(calls, texts, strict=True)
        ]
        return [types.Content(role="user", parts=parts)]

    def trouble(self, error):
        details = (
            (error.details or {}).get("error", {}).get("details", [])
            if isinstance(error.details, dict)
            else []
        )
        delay = next((d["retryDelay"].rstrip("s") for d in details if "retryDelay" in d), None)
        return Failure(error.code, str(error), delay)


class Ollama(Front):
    name = "ollama"
    has_retry_after = False
    errors = (ollama.ResponseError,)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = ollama.Client(host=url, headers={"authorization": f"Bearer {KEY}"})

    def close(self) -> None:
        self.client._client.close()

    def _fields(self, model, history, level, tools):
        fields = {"model": model, "messages": history}
        if level is not None:
            fields["think"] = False if level == "off" else level
        if tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {"name": NAME, "description": TELLS, "parameters": SCHEMA},
                }
            ]
        return fields

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = self._fields(model, history, level, tools)
        chunks = (
            list(self.client.chat(**fields, stream=True))
            if stream
            else [self.client.chat(**fields)]
        )
        text = "".join(c.message.content or "" for c in chunks)
        thinking = "".join(c.message.thinking or "" for c in chunks)
        calls = [call for c in chunks for call in c.message.tool_calls or ()]
        message = {"role": "assistant", "content": text, "thinking": thinking}
        if calls:
            message["tool_calls"] = [call.model_dump(exclude_none=True) for call in calls]
        return Answer(
            text,
            thinking,
            [
                Call(getattr(c, "id", None) or "", c.function.name, dict(c.function.arguments))
                for c in calls
            ],
            [message],
            {
                "input": chunks[-1].prompt_eval_count,
                "output": chunks[-1].eval_count,
                "thinking": None,
            },
            chunks[-1].model,
        )

    def begin(self, model, history):
        came = self.client.chat(**self._fields(model, history, None, tools=False), stream=True)
        next(came)
        return came.close

    def results(self, calls, texts):
        return [
            {"role": "tool", "tool_name": call.name, "content": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def trouble(self, error):
        return Failure(error.status_code, str(error), None)


class Cohere(Front):
    name = "cohere"
    states_levels = False  # it takes a number of tokens
    errors = (ApiError,)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.http = httpx.Client()
        self.client = cohere.ClientV2(api_key=KEY, base_url=url, httpx_client=self.http)

    def close(self) -> None:
        self.http.close()

    def _fields(self, model, history, level, tools):
        fields = {"model": model, "messages": history}
        if level == "off":
            fields["thinking"] = {"type": "disabled"}
        elif level is not None:
            fields["thinking"] = {"type": "enabled", "token_budget": FIGURES[level]}
        if tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {"name": NAME, "description": TELLS, "parameters": SCHEMA},
                }
            ]
        return fields

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = self._fields(model, history, level, tools)
        if not stream:
            answer = self.client.chat(**fields)
            message = (
                json.loads(answer.message.json())
                if hasattr(answer.message, "json")
                else answer.message.dict()
            )
            usage = answer.usage
        else:
            message, usage = self._gathered(fields)
        contents = message.get("content") or []
        calls = message.get("tool_calls") or []
        kept = {k: v for k, v in message.items() if v}
        return Answer(
            "".join(c.get("text") or "" for c in contents),
            "".join(c.get("thinking") or "" for c in contents),
            [
                Call(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
                for c in calls
            ],
            [kept],
            {
                "input": int(usage.tokens.input_tokens),
                "output": int(usage.tokens.output_tokens),
                "thinking": None,
            },
        )

    def _gathered(self, fields):
        message: dict[str, Any] = {"role": "assistant", "content": [], "tool_calls": []}
        usage = None
        for event in self.client.chat_stream(**fields):
            delta = getattr(getattr(event, "delta", None), "message", None)
            if event.type == "content-start":
                content = delta.content
                message["content"].append({"type": content.type or "text"})
            if event.type == "content-delta":
                last, content = message["content"][-1], delta.content
                for name in ("text", "thinking"):
                    if getattr(content, name, None):
                        last[name] = last.get(name, "") + getattr(content, name)
            if event.type == "tool-call-start":
                call = delta.tool_calls
                message["tool_calls"].append(
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {
                            "name": call.function.name,
                            "arguments": call.function.arguments or "",
                        },
                    }
                )
            if event.type == "tool-call-delta":
                message["tool_calls"][-1]["function"]["arguments"] += (
                    delta.tool_calls.function.arguments
                )
            if event.type == "message-end":
                usage = event.delta.usage
        return message, usage

    def begin(self, model, history):
        came = self.client.chat_stream(**self._fields(model, history, None, tools=False))
        next(iter(came))
        return came.close

    def results(self, calls, texts):
        return [
            {"role": "tool", "tool_call_id": call.id, "content": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def trouble(self, error):
        headers = {k.lower(): v for k, v in (error.headers or {}).items()}
        return Failure(error.status_code, str(error.body), headers.get("retry-after"))


class Converse(Front):
    name = "bedrock"
    errors = (ClientError, EventStreamError)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id=KEY,
            aws_secret_access_key="secret",
            config=Config(retries={"max_attempts": 0}),
        )

    def close(self) -> None:
        self.client.close()

    def user(self, text):
        return [{"role": "user", "content": [{"text": text}]}]

    def _fields(self, model, history, level, tools):
        fields = {"modelId": model, "messages": history, "inferenceConfig": {"maxTokens": ROOM}}
        if level == "off":
            fields["additionalModelRequestFields"] = {"thinking": {"type": "disabled"}}
        elif level is not None:
            fields["additionalModelRequestFields"] = {
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": level},
            }
        if tools:
            spec = {"name": NAME, "description": TELLS, "inputSchema": {"json": SCHEMA}}
            fields["toolConfig"] = {"tools": [{"toolSpec": spec}]}
        return fields

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = self._fields(model, history, level, tools)
        if stream:
            message, usage = self._gathered(self.client.converse_stream(**fields)["stream"])
        else:
            answer = self.client.converse(**fields)
            message, usage = answer["output"]["message"], answer["usage"]
        blocks = message["content"]
        reasoned = [b["reasoningContent"] for b in blocks if "reasoningContent" in b]
        return Answer(
            "".join(b.get("text", "") for b in blocks),
            "".join(r.get("reasoningText", {}).get("text", "") for r in reasoned),
            [
                Call(b["toolUse"]["toolUseId"], b["toolUse"]["name"], b["toolUse"]["input"])
                for b in blocks
                if "toolUse" in b
            ],
            [message],
            {
                "input": usage["inputTokens"] + usage.get("cacheReadInputTokens", 0),
                "output": usage["outputTokens"],
                "thinking": None,
            },
        )

    def _gathered(self, events):
        blocks: dict[int, Any] = {}
        usage: dict[str, int] = {}
        for event in events:
            if "contentBlockStart" in event:
                start = event["contentBlockStart"]
                blocks[start["contentBlockIndex"]] = {
                    "toolUse": {**start["start"]["toolUse"], "input": ""}
                }
            elif "contentBlockDelta" in event:
                piece = event["contentBlockDelta"]
                _take(blocks.setdefault(piece["contentBlockIndex"], {}), piece["delta"])
            usage = event.get("metadata", {}).get("usage", usage)
        for block in blocks.values():
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
        return {"role": "assistant", "content": [blocks[at] for at in sorted(blocks)]}, usage

    def begin(self, model, history):
        came = self.client.converse_stream(**self._fields(model, history, None, tools=False))[
            "stream"
        ]
        next(iter(came))
        return came.close

    def results(self, calls, texts):
        content = [
            {"toolResult": {"toolUseId": call.id, "content": [{"text": text}]}}
            for call, text in zip(calls, texts, strict=True)
        ]
        return [{"role": "user", "content": content}]

    def trouble(self, error):
        meta = error.response.get("ResponseMetadata", {})
        return Failure(
            meta.get("HTTPStatusCode"), str(error), meta.get("HTTPHeaders", {}).get("retry-after")
        )


def _take(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta of Converse to its block."""
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    if "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    if "reasoningContent" in delta:
        piece, thought = delta["reasoningContent"], block.setdefault("reasoningContent", {})
        if "redactedContent" in piece:
            thought["redactedContent"] = piece["redactedContent"]
        for name in ("text", "signature"):
            if name in piece:
                inner = thought.setdefault("reasoningText", {"text": ""})
                inner[name] = inner.get(name, "") + piece[name]


class Interactions(Front):
    name = "interactions"
    errors = (APIStatusError,)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        once = types.HttpRetryOptions(attempts=1)
        options = types.HttpOptions(base_url=url, api_version="v1beta", retry_options=once)
        self.client = genai.Client(api_key=KEY, http_options=options)

    def close(self) -> None:
        self.client.close()

    def user(self, text):
        return [{"type": "user_input", "content": [{"type": "text", "text": text}]}]

    def _fields(self, model, history, level, tools):
        fields = {"model": model, "input": history, "store": False}
        if level == "off":  # this API has no word for it; the name of a model at pondero has
            fields["model"] = f"{model}/off"
        elif level is not None:
            fields["generation_config"] = {"thinking_level": level, "thinking_summaries": "auto"}
        if tools:
            tool = {"type": "function", "name": NAME, "description": TELLS, "parameters": SCHEMA}
            fields["tools"] = [tool]
        return fields

    def ask(self, model, history, level, *, tools=False, stream=True):
        fields = self._fields(model, history, level, tools)
        if stream:
            steps, answer = self._gathered(fields)
        else:
            answer = self.client.interactions.create(**fields)
            steps = [step.model_dump(exclude_none=True) for step in answer.steps]
        usage = answer.usage
        thoughts = usage.total_thought_tokens
        return Answer(
            "".join(c.get("text", "") for s in steps for c in s.get("content", ())),
            "".join(c.get("text", "") for s in steps for c in s.get("summary", ())),
            [
                Call(s["id"], s["name"], s["arguments"])
                for s in steps
                if s["type"] == "function_call"
            ],
            steps,
            {
                "input": usage.total_input_tokens,
                "output": (usage.total_output_tokens or 0) + (thoughts or 0),
                "thinking": thoughts,
            },
            answer.model,
        )

    def _gathered(self, fields):
        """Put a stream together; the SDK leaves that to its users."""
        steps: dict[int, Any] = {}
        for event in self.client.interactions.create(**fields, stream=True):
            if event.event_type == "step.start":
                steps[event.index] = {"arguments": "", **event.step.model_dump(exclude_none=True)}
                if steps[event.index]["type"] == "function_call":
                    steps[event.index]["arguments"] = ""
            elif event.event_type == "step.delta":
                _take_delta(steps[event.index], event.delta)
            elif event.event_type == "interaction.completed":
                answer = event.interaction
        for step in steps.values():
            written = step.pop("arguments")
            if step["type"] == "function_call":
                step["arguments"] = json.loads(written)
        return [steps[index] for index in sorted(steps)], answer

    def begin(self, model, history):
        came = self.client.interactions.create(
            **self._fields(model, history, None, tools=False), stream=True
        )
        next(iter(came))
        return came.close

    def results(self, calls, texts):
        return [
            {"type": "function_result", "call_id": call.id, "name": call.name, "result": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def trouble(self, error):
        fault = error.body.get("error", {}) if isinstance(error.body, dict) else {}
        delays = [d["retryDelay"] for d in fault.get("details", ()) if "retryDelay" in d]
        delay = delays[0].rstrip("s") if delays else error.response.headers.get("retry-after")
        return Failure(error.status_code, str(error), delay)


def _take_delta(step: dict[str, Any], delta: Any) -> None:
    """Add a delta of an interaction to its step."""
    if delta.type == "text":
        content = step.setdefault("content", [{"type": "text", "text": ""}])
        content[0]["text"] += delta.text
    elif delta.type == "thought_summary":
        text = {"type": "text", "text": delta.content.text}
        step.setdefault("summary", []).append(text)
    elif delta.type == "thought_signature" and delta.signature:
        step["signature"] = delta.signature
    elif delta.type == "arguments_delta":
        step["arguments"] += delta.arguments


FRONTS = (Messages, Responses, Chat, Gemini, Ollama, Cohere, Converse, Interactions)

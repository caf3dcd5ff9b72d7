"""Each service that speaks this wire has rules of its own, and words and shapes of its own."""

import json
from pathlib import Path

import pytest

import pondero
from pondero.canon import Finished, HttpRequest, PartEnd, PartStart, Started, Text, Thinking, Usage
from pondero.client import load_catalog
from pondero.dialects import Rejected
from pondero.dialects.openai_chat.service import models
from pondero.emulator import Emulator, Fault
from pondero.errors import (
    AuthFailed,
    BillingFailed,
    NotFound,
    Overloaded,
    PermissionDenied,
    RateLimited,
    ServerFailed,
)
from pondero.exchange import Retry

from ..making import CHAT

HI = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = [
    HI,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "abcdefghi", "content": "1"},
]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
KEY = {"authorization": "Bearer k"}


def accept(service, model, headers=None, **fields):
    body = json.dumps({"model": model, "messages": [HI], **fields}).encode()
    http = HttpRequest("POST", "https://x.test/v1/chat/completions", headers or KEY, body)
    return CHAT.service().accept(http, service)


def refusal(service, model, **fields):
    with pytest.raises(Rejected) as raised:
        accept(service, model, **fields)
    return raised.value.response.status, json.loads(raised.value.response.body)


TABLES = sorted(path.stem for path in Path(models.__file__).parent.glob("providers/*.toml"))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_whole_and_of_a_provider(name):
    assert models.provider_of(name).name == name
    assert name in load_catalog().catalog.providers


def test_every_provider_of_this_wire_has_a_table():
    mine = {p.name for p in load_catalog().catalog.providers.values() if p.dialect == "openai_chat"}
    assert mine <= set(TABLES)


@pytest.mark.parametrize(
    ("service", "model", "fields", "words"),
    [
        ("groq", "openai/gpt-oss-120b", {"reasoning_effort": "none"}, "must be one of `low` or"),
        ("groq", "qwen/qwen3-32b", {"reasoning_effort": "medium"}, "`none` or `default`"),
        ("groq", "llama-3.3-70b-versatile", {"reasoning_effort": "low"}, "not supported"),
        ("groq", "qwen/qwen3-32b", {"reasoning_format": "raw", "tools": [TOOL]}, "tool calling"),
        ("groq", "qwen/qwen3-32b", {"reasoning_format": "raw", "response_format": {"type": "json_object"}}, "JSON mode"),
        ("groq", "qwen/qwen3-32b", {"reasoning_format": "parsed", "include_reasoning": True}, "'include_reasoning'"),
        ("groq", "qwen/qwen3-32b", {"messages": [HI, {"role": "assistant", "content": "x", "reasoning_content": "y"}, HI]}, "property 'reasoning_content' is unsupported"),
        ("cerebras", "gpt-oss-120b", {"reasoning_effort": "minimal"}, "'minimal' is not supported"),
        ("cerebras", "gpt-oss-120b", {"disable_reasoning": True}, "cannot be disabled"),
        ("cerebras", "zai-glm-4.7", {"reasoning_effort": "low"}, "'low' is not supported"),
        ("cerebras", "gpt-oss-120b", {"messages": [HI, {"role": "assistant", "content": "x", "reasoning_content": "y"}, HI]}, "is unsupported"),
        ("mistral", "mistral-small-latest", {"reasoning_effort": "medium"}, "Must be one of (<ReasoningEffort.none: 'none'>, <ReasoningEffort.high: 'high'>)"),
        ("mistral", "mistral-small-latest", {"prompt_mode": "reasoning"}, "Reasoning prompt mode is not enabled"),
        ("mistral", "mistral-large-latest", {"reasoning_effort": "high"}, "not supported"),
        ("mistral", "zai-glm-5-3", {"reasoning_effort": "none"}, "<ReasoningEffort.low: 'low'>"),
        ("mistral", "mistral-small-latest", {"messages": [HI, {"role": "assistant", "tool_calls": [{**CALL, "id": "call_1"}]}, {"role": "tool", "tool_call_id": "call_1", "content": "1"}]}, "with a length of 9"),
        ("xai", "grok-4.20-0309-reasoning", {"reasoning_effort": "low"}, "Model grok-4.20-0309-reasoning does not support parameter reasoningEffort."),
        ("xai", "grok-code-fast-1", {"reasoning_effort": "none"}, "does not support parameter reasoningEffort"),
        ("xai", "grok-4.5", {"reasoning_effort": "xhigh"}, "supports low, medium, high"),
        ("xai", "grok-4.6", {"stop": ["x"]}, "does not support parameter stop"),
        ("xai", "grok-4.3", {"presence_penalty": 1}, "does not support parameter presence_penalty"),
        ("deepseek", "deepseek-v4-flash", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}]}, "unknown variant `image_url`, expected `text`"),
        ("deepseek", "deepseek-flash", {"response_format": SCHEMA}, "This response_format type is unavailable now"),
        ("deepseek", "deepseek-flash", {"tools": [TOOL], "tool_choice": "required"}, "does not support this tool_choice"),
        ("deepseek", "deepseek-flash", {"messages": CALLED, "tools": [TOOL]}, "must be passed back"),
        ("openrouter", "deepseek/deepseek-v4-pro", {"messages": CALLED, "tools": [TOOL]}, "must be passed back"),
        ("openrouter", "deepseek/deepseek-v4-flash-0731", {"messages": CALLED, "tools": [TOOL]}, "must be passed back"),
        ("zai", "glm-5.3", {"reasoning_effort": "medium"}, "please use low, high, or max"),
        ("zai", "glm-5.3-flash", {"thinking": {"type": "disabled"}}, "cannot be disabled"),
        ("moonshot", "kimi-k2.5", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}, "cannot specify both 'thinking' and 'reasoning_effort'"),
        ("moonshot", "kimi-k3", {"reasoning_effort": "none"}, "only low, high, max are supported"),
        ("moonshot", "kimi-k3", {"thinking": {"type": "enabled"}}, "thinking is not supported by model kimi-k3"),
        ("moonshot", "kimi-k2-thinking", {"thinking": {"type": "disabled"}}, "only"),
        ("moonshot", "kimi-k3", {"tools": [TOOL], "tool_choice": "required"}, "tool_choice 'required' is not supported"),
        ("moonshot", "kimi-k3", {"messages": CALLED}, "missing in assistant tool call message at index 1"),
        ("dashscope", "qwen3.8-27b", {"reasoning_effort": "low", "thinking_budget": 99}, "cannot be set simultaneously"),
        ("dashscope", "qwen3.8-27b", {"reasoning_effort": "max"}, "none, minimal, low, medium, high, xhigh"),
        ("dashscope", "qwen-plus", {"enable_thinking": True, "tools": [TOOL], "tool_choice": "required"}, "in thinking mode"),
        ("dashscope", "qwen3-235b-a22b-thinking-2507", {"enable_thinking": False}, "must be set to true"),
        ("dashscope", "qwen-plus", {"thinking_budget": 0}, "positive integer"),
        ("minimax", "MiniMax-M3", {"reasoning_effort": "low"}, "reasoning_effort is not supported"),
        ("minimax", "MiniMax-M3", {"tools": [TOOL], "tool_choice": "required"}, "tool_choice is not supported"),
        ("vllm", "any", {"reasoning_effort": "ultra"}, "'ultra'"),
        ("vllm", "any", {"thinking_token_budget": -2}, "-1 for unlimited"),
        ("sglang", "openai/gpt-oss-20b", {"reasoning_effort": "none"}, "Harmony does not support reasoning effort none"),
        ("sglang", "any", {"reasoning_effort": True}, "expected a string"),
        ("llamacpp", "any", {"chat_template_kwargs": {"enable_thinking": "false"}}, "enable_thinking"),
        ("lmstudio", "any", {"reasoning_effort": "max"}, "'max'"),
        ("together", "openai/gpt-oss-120b", {"reasoning": {"enabled": False}}, "cannot be disabled"),
        ("fireworks", "accounts/fireworks/models/gpt-oss-120b", {"reasoning_effort": "none"}, "Invalid reasoning effort: none"),
        ("fireworks", "accounts/fireworks/models/qwen3-8b", {"reasoning_effort": "low", "thinking": {"type": "enabled"}}, "both"),
        ("openrouter", "anthropic/claude-fable-5", {"reasoning": {"effort": "none"}}, "Reasoning is mandatory for this endpoint"),
        ("openrouter", "z-ai/glm-5.3", {"reasoning": {"enabled": False}}, "Reasoning is mandatory"),
        ("openrouter", "x-ai/grok-4.6", {"reasoning": {"effort": "max"}}, '"max" is not supported'),
        ("openrouter", "anthropic/claude-opus-5", {"reasoning": {"effort": "low"}, "reasoning_effort": "high"}, 'Only one of "reasoning" and "reasoning_effort"'),
        ("azure-chat", "gpt-5", {"reasoning_effort": "none"}, "Supported values are: 'minimal'"),
    ],
)  # fmt: skip
def test_what_its_sheet_says_it_refuses_is_refused_in_its_words(service, model, fields, words):
    status, said = refusal(service, model, **fields)
    assert status == 400
    assert words in json.dumps(said, ensure_ascii=False).replace('\\"', '"')


@pytest.mark.parametrize(
    ("service", "model", "fields", "thinks"),
    [
        ("sglang", "any", {"reasoning": {"enabled": False}}, True),
        ("zai-coding", "glm-5.3", {"thinking": {"type": "disabled"}}, True),
        ("minimax", "MiniMax-M2.7", {"thinking": {"type": "disabled"}}, True),
        ("minimax", "MiniMax-M3", {"thinking": {"type": "disabled"}}, False),
        ("mistral", "magistral-medium-latest", {}, False),
        ("mistral", "magistral-medium-latest", {"reasoning_effort": "high"}, True),
        ("xai", "grok-3", {"reasoning_effort": "none"}, False),
        ("xai", "grok-4-fast-reasoning", {}, True),
        ("deepseek", "deepseek-v4-pro", {"thinking": {"type": "disabled"}, "messages": CALLED}, False),
        ("fireworks", "accounts/fireworks/models/qwen3-8b", {"reasoning_effort": 2000}, True),
        ("fireworks", "accounts/fireworks/models/qwen3-8b", {"reasoning_effort": False}, False),
        ("llamacpp", "any", {"thinking_budget_tokens": -1}, True),
        ("azure-chat", "my-deployment", {"reasoning_effort": "high"}, True),
        ("openrouter", "anthropic/claude-opus-5", {"reasoning": {"effort": "high"}, "tools": [TOOL], "tool_choice": "required"}, False),
        ("openrouter", "google/gemini-3.5-flash", {"reasoning": {"effort": "high"}, "tools": [TOOL], "tool_choice": "required"}, True),
    ],
)  # fmt: skip
def test_what_it_takes_it_acts_on_or_not_as_its_sheet_says(service, model, fields, thinks):
    assert accept(service, model, **fields).thinks is thinks


@pytest.mark.parametrize(
    ("service", "model", "said"),
    [
        ("groq", "openai/gpt-oss-120b", {"error": {"message", "type", "param", "code"}}),
        ("cerebras", "gpt-oss-120b", {"message", "type", "param", "code"}),
        ("xai", "grok-4.6", {"code", "error"}),
        ("mistral", "mistral-small-latest", {"object", "message", "type", "param", "code", "raw_status_code"}),
        ("openrouter", "anthropic/claude-fable-5", {"error": {"code", "message", "metadata"}, "user_id": None}),
    ],
)  # fmt: skip
def test_an_error_has_the_shape_of_its_service(service, model, said):
    body = refusal(service, model, reasoning_effort="none" if service != "mistral" else "low")[1]
    assert set(body) == set(said)
    if isinstance(said, dict):
        assert set(body["error"]) == said["error"]


def test_mistral_has_a_shape_for_a_missing_key_and_one_for_a_word_nobody_knows():
    with pytest.raises(Rejected) as raised:
        accept("mistral", "mistral-small-latest", {"x": "y"})
    answer = raised.value.response
    assert (answer.status, json.loads(answer.body)) == (401, {"detail": "Unauthorized"})
    status, said = refusal("mistral", "mistral-small-latest", reasoning_effort="auto")
    assert (status, said["detail"][0]["loc"]) == (422, ["body", "reasoning_effort"])


# -- streams -------------------------------------------------------------------------------------

USAGE = Usage(10, 0, None, 7, 3, 20)


def streamed(service, model, *parts, **fields):
    stream = CHAT.service().stream(accept(service, model, stream=True, **fields))
    said = [stream.feed(Started(model))]
    for index, part in enumerate(parts or (Thinking("hm"), Text("yes"))):
        kind = "thinking" if isinstance(part, Thinking) else "text"
        said += [stream.feed(PartStart(index, kind)), stream.feed(PartEnd(index, part))]
    return b"".join([*said, stream.feed(Finished("stop", USAGE)), stream.eof()])


def chunks(data):
    lines = [line for line in data.decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.mark.parametrize(
    ("service", "model", "done"),
    [
        ("groq", "qwen/qwen3-32b", True),
        ("cerebras", "gpt-oss-120b", False),
        ("perplexity", "sonar", False),
        ("huggingface", "m", False),
        ("xai", "grok-4.6", True),
        ("deepseek", "deepseek-flash", True),
        ("zai", "glm-5.2", True),
        ("mistral", "mistral-small-latest", True),
        ("openrouter", "anthropic/claude-opus-5", True),
    ],
)
def test_the_end_is_marked_where_the_service_marks_it(service, model, done):
    assert streamed(service, model).endswith(b"data: [DONE]\n\n") is done


@pytest.mark.parametrize(
    ("service", "model", "where"),
    [
        ("deepseek", "deepseek-flash", "finish"),
        ("groq", "qwen/qwen3-32b", "finish"),
        ("mistral", "mistral-small-latest", "finish"),
        ("zai", "glm-5.2", "finish"),
        ("xai", "grok-4.6", "after"),
        ("openrouter", "anthropic/claude-opus-5", "empty choice"),
        ("moonshot", "kimi-k3", "in choice"),
    ],
)
def test_the_counts_come_where_the_service_puts_them(service, model, where):
    *_, before, last = chunks(streamed(service, model))
    if where in ("finish", "in choice"):
        holder = last if where == "finish" else last["choices"][0]
        assert holder["usage"]["total_tokens"] == 20
        assert last["choices"][0]["finish_reason"] == "stop"
        return
    assert (last["usage"]["total_tokens"], before["choices"][0]["finish_reason"]) == (20, "stop")
    assert len(last["choices"]) == (1 if where == "empty choice" else 0)


def test_counts_are_added_up_as_each_service_does():
    for service, model, completion, thought in (
        ("xai", "grok-4.6", 7, 3),
        ("deepseek", "deepseek-flash", 10, 3),
        ("mistral", "mistral-small-latest", 10, None),
    ):
        usage = chunks(streamed(service, model))[-1]["usage"]
        details = usage.get("completion_tokens_details", {})
        counted = (usage["completion_tokens"], details.get("reasoning_tokens"))
        assert (*counted, usage["total_tokens"]) == (completion, thought, 20)


def test_a_router_tells_that_it_works_on_it_and_gives_each_thought_its_own_index():
    thoughts = (Thinking("one"), Thinking("two"), Text("yes"))
    on = {"reasoning": {"effort": "high"}}
    data = streamed("openrouter", "anthropic/claude-opus-5", *thoughts, **on)
    assert data.startswith(b": OPENROUTER PROCESSING\n\n")
    details = [
        detail
        for chunk in chunks(data)
        for detail in chunk["choices"][0]["delta"].get("reasoning_details", ())
    ]
    assert [(d["index"], d.get("text"), "signature" in d) for d in details] == [
        (0, "one", False),
        (0, None, True),
        (1, "two", False),
        (1, None, True),
    ]
    assert all(chunk["provider"] == "Emulated" for chunk in chunks(data))


def test_a_chunk_that_is_not_the_last_does_not_say_so_on_xai():
    first, *_ = chunks(streamed("xai", "grok-4.6"))
    assert "finish_reason" not in first["choices"][0]


@pytest.mark.parametrize(
    ("fields", "there"),
    [
        ({}, "content"),
        ({"reasoning_format": "parsed"}, "reasoning"),
        ({"reasoning_format": "hidden"}, None),
        ({"include_reasoning": False}, None),
    ],
)
def test_thinking_is_shown_where_the_request_wants_it(fields, there):
    data = streamed("groq", "qwen/qwen3-32b", **fields)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(data)]
    found = {key for delta in deltas for key, value in delta.items() if "hm" in str(value)}
    assert found == ({there} if there else set())


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        ("openrouter:anthropic/claude-opus-5", {"error", "user_id"}),
        ("xai:grok-4.6", {"code", "error"}),
        ("cerebras:gpt-oss-120b", {"message", "type", "param", "code"}),
        ("groq:openai/gpt-oss-120b", {"error"}),
        ("mistral:mistral-small-latest", None),
    ],
)
def test_an_error_on_demand_has_the_shape_of_its_service_and_is_understood(model, keys):
    kinds = {401: AuthFailed, 402: BillingFailed, 403: PermissionDenied, 404: NotFound}
    kinds |= {429: RateLimited, 500: ServerFailed, 503: Overloaded}
    for status, kind in kinds.items():
        emulator = Emulator(faults=[Fault(kind="status", status=status, retry_after=2)])
        client = pondero.Client(transport=emulator, retry=Retry(attempts=1))
        with pytest.raises(kind) as caught:
            client.ask(model, "hello")
        assert (type(caught.value), caught.value.status) == (kind, status)
        assert caught.value.retry_after == 2
        assert keys is None or set(emulator.log.entries[0].refusal) == keys


@pytest.mark.parametrize(
    ("service", "model", "status"),
    [("deepseek", "deepseek-v4-flash", 400), ("groq", "openai/gpt-oss-120b", 400),
     ("mistral", "mistral-small-latest", 422)],
)  # fmt: skip
def test_a_tool_of_a_type_it_does_not_have_is_refused(service, model, status):
    with pytest.raises(Rejected) as raised:
        accept(service, model, tools=[TOOL, {"type": "visit_website"}])
    assert raised.value.response.status == status
    assert accept(service, model, tools=[TOOL])

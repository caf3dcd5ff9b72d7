"""With ``show = "none"`` no client sees thinking, wherever the service puts it.

The services are canned: they know which words are thinking. The judge reads every string that the
client got, in order, and knows nothing of tags.
"""

import json
import struct
from itertools import pairwise
from typing import Any
from zlib import crc32

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gateway.canned import Canned
from tests.gateway.test_identity import Tapped, documents, leaves
from tests.gateway.test_laws import FRONTS, LOOK

from pondero import AsyncClient, Retry
from pondero.canon import Message, Text, ToolResult
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
THOUGHTS = st.lists(
    st.sampled_from(
        ["çlouds", "çats", " ", "\n", "<", "</", "<think>", "`", "<thin", "</thinker>"]
    ),
    max_size=6,
).map(lambda words: "çirrus" + "".join(words) + "çumulus")
"""Every word of thinking has a letter that no answer and no base64 has."""
ANSWERS = st.lists(
    st.sampled_from(["seven", " ", "\n", "<", "</", "`", "</b>", "ü"]), min_size=1, max_size=6
).map(lambda words: "It is " + "".join(words) + ".")
_USAGE = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}


def chat_chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: %b\n\n" % json.dumps({**head, "choices": [choice], **more}).encode()


def chat(texts: list[str], *, stream: bool, finish: str) -> bytes:
    """A server with a template that opened the tag, or with a model that writes both."""
    if stream:
        pieces = [chat_chunk({"content": text}) for text in texts]
        return b"".join([*pieces, chat_chunk({}, finish, usage=_USAGE), b"data: [DONE]\n\n"])
    message = {"role": "assistant", "content": "".join(texts)}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": _USAGE}).encode()


def ollama(texts: list[str], *, stream: bool, finish: str) -> bytes:
    def line(text: str, **more: Any) -> bytes:
        message = {"role": "assistant", "content": text}
        return json.dumps({"model": "m", "message": message, "done": False, **more}).encode()

    end = {"done": True, "done_reason": finish, "prompt_eval_count": 3, "eval_count": 9}
    if stream:
        return b"\n".join([*(line(text) for text in texts), line("", **end), b""])
    return line("".join(texts), **end)


SERVICES = {
    "chat": (chat, "vllm:qwen3-8b", "text/event-stream"),
    "chat, unknown": (chat, "compatible:some-model", "text/event-stream"),
    "ollama": (ollama, "ollama:some-model", "application/x-ndjson"),
}


def split(data: bytes | str, cuts: list[int]) -> list[Any]:
    """Cut at these places, however many there are."""
    at = [0, *sorted({cut % (len(data) or 1) for cut in cuts}), len(data)]
    return [data[start:end] for start, end in pairwise(at) if start < end]


async def ask(front: str, to: str, pieces: list[bytes], kind: str, *, stream: bool) -> Any:
    """Return what the client reads, and every string that it got."""
    service = Canned(pieces, content_type=kind if stream else "application/json")
    service.needs_key = False
    route = GatewayRoute(match="*", to=(to,), retries=0, show="none")
    gate = GatewayContext(GatewayConfig(ServerConfig(), (route,)), service)
    tapped = Tapped(App(gate), "any")
    client = AsyncClient(transport=tapped, retry=Retry(attempts=1))
    reply = await client.ask(FRONTS[front], "Hi.", "low", tools=[LOOK], stream=stream)
    got = "".join(word for each in documents(bytes(tapped.got[0])) for word in leaves(each))
    return reply, got


CUTS = st.lists(st.integers(0, 10_000), max_size=5)


@pytest.mark.parametrize("front", FRONTS)
@given(
    service=st.sampled_from(list(SERVICES)),
    stream=st.booleans(),
    thought=THOUGHTS,
    answer=ANSWERS,
    opening=st.sampled_from(["", "<think>", "\n<think>\n", "<thinking>"]),
    gap=st.sampled_from(["", "\n", "\n\n"]),
    words=CUTS,
    cuts=CUTS,
)
@SETTINGS
def test_thinking_in_the_text_is_hidden(
    front, service, stream, thought, answer, opening, gap, words, cuts
):
    write, to, kind = SERVICES[service]
    closing = "</thinking>" if "thinking" in opening else "</think>"
    texts = split(f"{opening}{thought}{closing}{gap}{answer}", words)
    pieces = split(write(texts, stream=stream, finish="stop"), cuts)
    reply, got = anyio.run(lambda: ask(front, to, pieces, kind, stream=stream))
    assert "ç" not in got
    assert reply.text == answer


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("opening", ["", "<think>"])
def test_thinking_that_the_output_limit_cut_off_is_hidden(service, stream, opening):
    write, to, kind = SERVICES[service]
    data = write([opening, "çirrus, ", "çumulus"], stream=stream, finish="length")
    _, got = anyio.run(lambda: ask("messages", to, [data], kind, stream=stream))
    assert "ç" not in got


@pytest.mark.parametrize("front", FRONTS)
@given(
    service=st.sampled_from(list(SERVICES)),
    stream=st.booleans(),
    answer=ANSWERS,
    words=CUTS,
    cuts=CUTS,
)
@SETTINGS
def test_an_answer_without_thinking_is_complete(front, service, stream, answer, words, cuts):
    write, to, kind = SERVICES[service]
    pieces = split(write(split(answer, words), stream=stream, finish="stop"), cuts)
    reply, _ = anyio.run(lambda: ask(front, to, pieces, kind, stream=stream))
    assert reply.text == answer


@pytest.mark.parametrize("front", FRONTS)
@given(stream=st.booleans(), answer=ANSWERS, cuts=CUTS)
@SETTINGS
def test_a_model_that_writes_no_tags_may_write_about_them(front, stream, answer, cuts):
    """A closing tag alone ends nothing: the services of these models have a field for thinking."""
    text = f"{answer}</think>{answer}"
    pieces = split(chat([text], stream=stream, finish="stop"), cuts)
    to = "deepseek:deepseek-v4-pro"
    reply, _ = anyio.run(lambda: ask(front, to, pieces, "text/event-stream", stream=stream))
    assert reply.text == text


# -- blocks anywhere, from any service -------------------------------------------------------------


def messages(texts: list[str], *, stream: bool, finish: str) -> bytes:
    reason = {"stop": "end_turn", "length": "max_tokens"}[finish]
    usage = {"input_tokens": 3, "output_tokens": 9}
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    ends = {"stop_reason": reason, "stop_sequence": None}
    if not stream:
        content = [{"type": "text", "text": "".join(texts)}]
        return json.dumps({**base, "content": content, **ends, "usage": usage}).encode()
    began: dict[str, Any] = {
        **base,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    block = {"type": "text", "text": ""}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": began},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    for text in texts:
        delta = {"type": "text_delta", "text": text}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events.append({"type": "content_block_stop", "index": 0})
    events.append({"type": "message_delta", "delta": ends, "usage": usage})
    events.append({"type": "message_stop"})
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (each["type"].encode(), json.dumps(each).encode())
        for each in events
    )


def gemini(texts: list[str], *, stream: bool, finish: str) -> bytes:
    reason = {"stop": "STOP", "length": "MAX_TOKENS"}[finish]
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 9, "totalTokenCount": 12}

    def write(text: str, **more: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **more}
        return json.dumps({"candidates": [candidate], "usageMetadata": usage}).encode()

    if not stream:
        return write("".join(texts), finishReason=reason)
    *first, last = texts
    pieces = [*(write(text) for text in first), write(last, finishReason=reason)]
    return b"".join(b"data: %b\r\n\r\n" % piece for piece in pieces)


def aws_frame(kind: str, payload: Any) -> bytes:
    """Write a frame of an AWS event stream: lengths, headers, payload, and two checksums."""
    words = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack(">B", len(name))
        + name.encode()
        + struct.pack(">BH", 7, len(word))
        + word.encode()
        for name, word in words.items()
    )
    data = json.dumps(payload).encode()
    head = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    body = head + struct.pack(">I", crc32(head)) + headers + data
    return body + struct.pack(">I", crc32(body))


def converse(texts: list[str], *, stream: bool, finish: str) -> bytes:
    reason = {"stop": "end_turn", "length": "max_tokens"}[finish]
    usage = {"inputTokens": 3, "outputTokens": 9, "totalTokens": 12}
    if stream:
        at = {"contentBlockIndex": 0}
        return b"".join(
            [
                aws_frame("messageStart", {"role": "assistant", "p": "ab"}),
                *(aws_frame("contentBlockDelta", {**at, "delta": {"text": t}}) for t in texts),
                aws_frame("contentBlockStop", at),
                aws_frame("messageStop", {"stopReason": reason}),
                aws_frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
            ]
        )
    message = {"role": "assistant", "content": [{"text": "".join(texts)}]}
    ends = {"stopReason": reason, "usage": usage, "metrics": {"latencyMs": 1}}
    return json.dumps({"output": {"message": message}, **ends}).encode()


def cohere_frames(events: list[tuple[str, Any]]) -> bytes:
    frames = [{"type": kind, "id": "c", "index": 0, "delta": delta} for kind, delta in events]
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), json.dumps(frame).encode())
        for frame in frames
    )


def cohere(texts: list[str], *, stream: bool, finish: str) -> bytes:
    reason = {"stop": "COMPLETE", "length": "MAX_TOKENS"}[finish]
    usage = {"tokens": {"input_tokens": 3, "output_tokens": 9}}
    if stream:
        empty = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
        begin: Any = {"message": {"content": {"type": "text", "text": ""}}}
        words = [("content-delta", {"message": {"content": {"text": text}}}) for text in texts]
        return cohere_frames(
            [
                ("message-start", {"message": empty}),
                ("content-start", begin),
                *words,
                ("content-end", None),
                ("message-end", {"finish_reason": reason, "usage": usage}),
            ]
        )
    content = [{"type": "text", "text": "".join(texts)}]
    message = {"role": "assistant", "content": content}
    return json.dumps(
        {"id": "c", "finish_reason": reason, "message": message, "usage": usage}
    ).encode()


def responses(texts: list[str], *, stream: bool, finish: str) -> bytes:
    said: dict[str, Any] = {"type": "output_text", "text": "".join(texts), "annotations": []}
    item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant"}
    whole = {**item, "status": "completed", "content": [said]}
    cut = finish == "length"
    answer: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [whole],
        "usage": {"input_tokens": 3, "output_tokens": 9, "total_tokens": 12},
    }
    if not stream:
        return json.dumps(answer).encode()
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    begun = {**item, "status": "in_progress", "content": []}
    words = [("output_text.delta", {**at, "delta": text}) for text in texts]
    events: list[tuple[str, dict[str, Any]]] = [
        ("created", {"response": {**answer, "status": "in_progress", "output": []}}),
        ("output_item.added", {"output_index": 0, "item": begun}),
        ("content_part.added", {**at, "part": {**said, "text": ""}}),
        *words,
        ("output_text.done", {**at, "text": said["text"]}),
        ("content_part.done", {**at, "part": said}),
        ("output_item.done", {"output_index": 0, "item": whole}),
        ("incomplete" if cut else "completed", {"response": answer}),
    ]
    frames = [
        {"type": f"response.{name}", "sequence_number": number, **fields}
        for number, (name, fields) in enumerate(events)
    ]
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), json.dumps(frame).encode())
        for frame in frames
    )


def interactions(texts: list[str], *, stream: bool, finish: str) -> bytes:
    status = {"stop": "completed", "length": "incomplete"}[finish]
    usage = {"total_input_tokens": 3, "total_output_tokens": 9, "total_tokens": 12}
    head: Any = {"id": "v1_i", "object": "interaction", "model": "m"}
    ended = {**head, "status": status, "usage": usage}
    if not stream:
        content = [{"type": "text", "text": "".join(texts)}]
        return json.dumps(
            ended | {"steps": [{"type": "model_output", "content": content}]}
        ).encode()
    events: Any = [
        ("interaction.created", {"interaction": {**head, "status": "in_progress"}}),
        ("step.start", {"index": 0, "step": {"type": "model_output"}}),
        *(("step.delta", {"index": 0, "delta": {"type": "text", "text": text}}) for text in texts),
        ("step.stop", {"index": 0}),
        ("interaction.completed", {"interaction": ended}),
    ]
    frames = [
        b"event: %b\ndata: %b\n\n"
        % (kind.encode(), json.dumps({**fields, "event_type": kind}).encode())
        for kind, fields in events
    ]
    return b"".join(frames) + b"event: done\ndata: [DONE]\n\n"


ALL: dict[str, Any] = {
    "openai:gpt-5.5": responses,
    "anthropic:claude-opus-5": messages,
    "google:gemini-3-flash-preview": gemini,
    "google-interactions:gemini-3-flash-preview": interactions,
    "bedrock:moonshot.kimi-k2-thinking": converse,
    "cohere:command-a-reasoning-08-2025": cohere,
    "ollama:some-model": ollama,
    **dict.fromkeys(
        [
            *("deepseek:deepseek-v4-pro", "moonshot:kimi-k2.6", "zai:glm-5.2"),
            *("dashscope:qwen3-max", "groq:qwen/qwen3-32b", "openrouter:openai/gpt-5.5"),
            *("mistral:magistral-medium-latest", "minimax:MiniMax-M2", "cerebras:zai-glm-4.7"),
            "xai:grok-4.6",
            *("vllm:qwen3-8b", "compatible:some-model"),
        ],
        chat,
    ),
}
TAGS = ["think", "thinking", "THINK", "Thinking", "mm:think", "seed:think", "thought"]
BLOCKS = st.tuples(st.sampled_from(TAGS), THOUGHTS, st.sampled_from(["", "\n", "\n\n"]))


KINDS: dict[Any, str] = {
    ollama: "application/x-ndjson",
    converse: "application/vnd.amazon.eventstream",
}


def ask_service(
    front: str,
    to: str,
    texts: list[str],
    *,
    stream: bool,
    finish: str,
    cuts: list[int] | None = None,
) -> Any:
    write = ALL[to]
    pieces = split(write(texts, stream=stream, finish=finish), cuts or [])
    kind = KINDS.get(write, "text/event-stream")
    return anyio.run(lambda: ask(front, to, pieces, kind, stream=stream))


@pytest.mark.parametrize("to", ALL)
@given(
    front=st.sampled_from(list(FRONTS)),
    stream=st.booleans(),
    said=st.lists(st.tuples(BLOCKS, ANSWERS), min_size=1, max_size=3),
    before=st.one_of(st.just(""), ANSWERS),
    words=CUTS,
    cuts=CUTS,
)
@SETTINGS
def test_blocks_of_thinking_are_hidden_wherever_they_stand(
    to, front, stream, said, before, words, cuts
):
    if "ollama" in to or "vllm" in to or "compatible" in to:
        before = ""  # there a template may have opened the tag, and all before </think> is thinking
    text = before
    for (tag, thought, gap), answer in said:
        text += f"<{tag}>{thought}</{tag}>{gap}{answer}"
    texts = split(text, words)
    reply, got = ask_service(front, to, texts, stream=stream, finish="stop", cuts=cuts)
    assert "ç" not in got
    answers = before + "".join(answer for _, answer in said)
    assert reply.text.replace("\n", "") == answers.replace("\n", "")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("to", ALL)
@pytest.mark.parametrize(
    "text",
    ["<think>çirrus", "<THINK>çirrus", "It is <think>çirrus", "<think>çats</think>It<think>çirrus"],
)
def test_a_block_that_the_output_limit_cut_off_is_hidden(to, stream, text):
    texts = [text[:9], text[9:]]
    _, got = ask_service("messages", to, texts, stream=stream, finish="length")
    assert "ç" not in got


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (["<think>çirrus ", "çumulus</think>It is ", "seven."], "It is seven."),
        (["<think>çirrus", "It is seven."], "It is seven."),
        (["It is ", "<think>çirrus</think>seven", "<THINK>çats</THINK>."], "It is seven."),
    ],
)
def test_blocks_in_several_texts_are_hidden(texts, answer):
    """Claude splits an answer with citations; the closing tag may be in another text."""
    body = json.loads(messages([""], stream=False, finish="stop"))
    body["content"] = [{"type": "text", "text": text} for text in texts]
    data, to = json.dumps(body).encode(), "anthropic:claude-opus-5"
    reply, got = anyio.run(lambda: ask("messages", to, [data], "", stream=False))
    assert "ç" not in got
    assert reply.text == answer


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("to", ["anthropic:claude-opus-5", "deepseek:deepseek-v4-pro"])
@pytest.mark.parametrize(
    "text", ["Write `<think>`, then `</think>`.", "Begin with <think> and stop.", "a <thi"]
)
def test_text_about_tags_is_complete(to, stream, text):
    reply, _ = ask_service("messages", to, split(text, [8, 15]), stream=stream, finish="stop")
    assert reply.text == text


# -- plans -----------------------------------------------------------------------------------------


def plan(texts: list[str], *, stream: bool, says: str) -> bytes:
    """Cohere's plan before a call: free text like thinking, of models that have no thinking."""
    function = {"name": "look", "arguments": "{}"}
    call = {"id": "look_1", "type": "function", "function": function}
    usage = {"tokens": {"input_tokens": 3, "output_tokens": 9}}
    if not stream:
        content = [{"type": "text", "text": says}] if says else []
        message = {"role": "assistant", "content": content, "tool_plan": "".join(texts)}
        body = {"id": "c", "finish_reason": "TOOL_CALL", "usage": usage}
        return json.dumps({**body, "message": {**message, "tool_calls": [call]}}).encode()
    empty = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
    events: list[tuple[str, Any]] = [("message-start", {"message": empty})]
    events += [("tool-plan-delta", {"message": {"tool_plan": text}}) for text in texts]
    if says:
        empty_text = {"type": "text", "text": ""}
        events.append(("content-start", {"message": {"content": empty_text}}))
        events.append(("content-delta", {"message": {"content": {"text": says}}}))
        events.append(("content-end", None))
    events.append(("tool-call-start", {"message": {"tool_calls": call}}))
    events.append(("tool-call-end", None))
    events.append(("message-end", {"finish_reason": "TOOL_CALL", "usage": usage}))
    return cohere_frames(events)


@pytest.mark.parametrize("front", FRONTS)
@given(
    stream=st.booleans(),
    thought=THOUGHTS,
    says=st.sampled_from(["", "Wait."]),
    words=CUTS,
    cuts=CUTS,
)
@SETTINGS
def test_the_plan_before_a_call_is_hidden(front, stream, thought, says, words, cuts):
    pieces = split(plan(split(thought, words), stream=stream, says=says), cuts)
    to = "cohere:command-r7b-12-2024"
    reply, got = anyio.run(lambda: ask(front, to, pieces, "text/event-stream", stream=stream))
    assert "ç" not in got
    assert [call.name for call in reply.tool_calls] == ["look"]
    assert reply.text == says


def test_the_plan_goes_back_to_its_model():
    """The client does not see it, but the model's history is complete."""
    data = plan(["çirrus"], stream=False, says="")
    service = Canned([data], content_type="application/json")
    service.needs_key = False
    route = GatewayRoute(match="*", to=("cohere:command-r7b-12-2024",), retries=0, show="none")
    app = App(GatewayContext(GatewayConfig(ServerConfig(), (route,)), service))

    async def run() -> None:
        client = AsyncClient(transport=Tapped(app, "any"), retry=Retry(attempts=1))
        reply = await client.ask(FRONTS["messages"], "Hi.", "low", tools=[LOOK])
        history = [
            Message("user", (Text("Hi."),)),
            reply.message,
            Message("user", (ToolResult(reply.tool_calls[0].id, (Text("seen"),), name="look"),)),
        ]
        await client.ask(FRONTS["messages"], history, "low", tools=[LOOK])

    anyio.run(run)
    sent = json.loads(service.requests[1])["messages"]
    assert [each.get("tool_plan") for each in sent if each["role"] == "assistant"] == ["çirrus"]

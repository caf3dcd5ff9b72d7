"""Streams as the services send them, of any length: half thinking, half answer.

Small generators of our own, so that a bench needs no recording and every run has the same bytes.
"""

import json
from collections.abc import Callable, Iterator
from struct import pack
from typing import Any
from zlib import crc32

Json = Any
WORDS = ("Let me", " weigh", " the", " options", ":", " first", ", compare", " 17", " × 23", ".\n")


def words(count: int) -> Iterator[str]:
    """Yield so many pieces of text."""
    for number in range(count):
        yield WORDS[number % len(WORDS)]


def anthropic(count: int) -> list[bytes]:
    """Return the frames of a Messages stream."""

    def frame(event: Json) -> bytes:
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        return f"event: {event['type']}\ndata: {text}\n\n".encode()

    def block(index: int, start: Json, deltas: Iterator[Json]) -> Iterator[bytes]:
        yield frame({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield frame({"type": "content_block_delta", "index": index, "delta": delta})
        yield frame({"type": "content_block_stop", "index": index})

    usage = {"input_tokens": 25, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    half = count // 2
    thoughts: Iterator[Json] = ({"type": "thinking_delta", "thinking": w} for w in words(half))
    said: Iterator[Json] = ({"type": "text_delta", "text": w} for w in words(count - half))
    return [
        frame(
            {
                "type": "message_start",
                "message": {
                    "id": "msg_01",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-opus-5",
                    "content": [],
                    "stop_reason": None,
                    "usage": {**usage, "output_tokens": 1},
                },
            }
        ),
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, thoughts),
        *block(1, {"type": "text", "text": ""}, said),
        frame(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {**usage, "output_tokens": 2 * count},
            }
        ),
        frame({"type": "message_stop"}),
    ]


def openai_chat(count: int) -> list[bytes]:
    """Return the frames of a Chat Completions stream with reasoning_content."""

    def frame(delta: Json, finish: str | None = None, usage: Json = None) -> bytes:
        chunk = {
            "id": "chatcmpl-01",
            "object": "chat.completion.chunk",
            "created": 1_790_000_000,
            "model": "deepseek-reasoner",
            "system_fingerprint": "fp_01",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }
        if usage:
            chunk["usage"] = usage
        text = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
        return f"data: {text}\n\n".encode()

    half = count // 2
    usage = {
        "prompt_tokens": 25,
        "completion_tokens": count,
        "total_tokens": 25 + count,
        "completion_tokens_details": {"reasoning_tokens": half},
    }
    return [
        frame({"role": "assistant", "content": None, "reasoning_content": ""}),
        *(frame({"content": None, "reasoning_content": word}) for word in words(half)),
        *(frame({"content": word, "reasoning_content": None}) for word in words(count - half)),
        frame({"content": "", "reasoning_content": None}, "stop", usage),
        b"data: [DONE]\n\n",
    ]


def openai_responses(count: int) -> list[bytes]:
    """Return the frames of a Responses stream with a summary."""
    numbers = iter(range(count + 100))

    def frame(event: Json) -> bytes:
        numbered = {**event, "sequence_number": next(numbers)}
        text = json.dumps(numbered, ensure_ascii=False, separators=(",", ":"))
        return f"event: {event['type']}\ndata: {text}\n\n".encode()

    half = count // 2
    thought, said = "".join(words(half)), "".join(words(count - half))
    response = {"id": "resp_01", "object": "response", "model": "gpt-5.4", "output": []}
    usage = {
        "input_tokens": 25,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": count,
        "output_tokens_details": {"reasoning_tokens": half},
        "total_tokens": 25 + count,
    }
    thinking = {"id": "rs_01", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}
    summary = {"item_id": "rs_01", "output_index": 0, "summary_index": 0}
    message = {"id": "msg_01", "type": "message", "role": "assistant", "status": "in_progress"}
    text = {"item_id": "msg_01", "output_index": 1, "content_index": 0}
    empty = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    whole = {**thinking, "summary": [{"type": "summary_text", "text": thought}]}
    spoken = {**message, "status": "completed", "content": [{**empty, "text": said}]}
    begin, delta = "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta"
    return [
        frame({"type": "response.created", "response": {**response, "status": "in_progress"}}),
        frame({"type": "response.output_item.added", "output_index": 0, "item": thinking}),
        frame({"type": begin, **summary, "part": {"type": "summary_text", "text": ""}}),
        *(frame({"type": delta, **summary, "delta": w, "obfuscation": "x1"}) for w in words(half)),
        frame({"type": "response.reasoning_summary_text.done", **summary, "text": thought}),
        frame({"type": "response.output_item.done", "output_index": 0, "item": whole}),
        frame(
            {
                "type": "response.output_item.added",
                "output_index": 1,
                "item": {**message, "content": []},
            }
        ),
        frame({"type": "response.content_part.added", **text, "part": empty}),
        *(
            frame({"type": "response.output_text.delta", **text, "delta": w, "logprobs": []})
            for w in words(count - half)
        ),
        frame({"type": "response.output_text.done", **text, "text": said, "logprobs": []}),
        frame({"type": "response.content_part.done", **text, "part": {**empty, "text": said}}),
        frame({"type": "response.output_item.done", "output_index": 1, "item": spoken}),
        frame(
            {
                "type": "response.completed",
                "response": {
                    **response,
                    "status": "completed",
                    "output": [whole, spoken],
                    "usage": usage,
                },
            }
        ),
    ]


def gemini(count: int) -> list[bytes]:
    """Return the frames of a streamGenerateContent stream with alt=sse."""

    def frame(part: Json, number: int, finish: str | None = None) -> bytes:
        candidate: Json = {"content": {"parts": [part], "role": "model"}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        chunk = {
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": 25,
                "candidatesTokenCount": max(number - half, 0),
                "thoughtsTokenCount": min(number, half),
                "totalTokenCount": 25 + number,
            },
            "modelVersion": "gemini-3-flash-preview",
            "responseId": "r01",
        }
        text = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
        return f"data: {text}\r\n\r\n".encode()

    half = count // 2
    thoughts = ({"text": word, "thought": True} for word in words(half))
    said = ({"text": word} for word in words(count - half - 1))
    last = {"text": "", "thoughtSignature": "c2lnbmF0dXJl"}
    frames = [frame(part, number) for number, part in enumerate([*thoughts, *said])]
    return [*frames, frame(last, count, "STOP")]


def interactions(count: int) -> list[bytes]:
    """Return the frames of an Interactions stream."""

    def frame(kind: str, **fields: Json) -> bytes:
        text = json.dumps({**fields, "event_type": kind}, ensure_ascii=False, separators=(",", ":"))
        return f"event: {kind}\ndata: {text}\n\n".encode()

    def step(index: int, kind: str, deltas: list[Json]) -> list[bytes]:
        return [
            frame("step.start", index=index, step={"type": kind}),
            *(frame("step.delta", index=index, delta=delta) for delta in deltas),
            frame("step.stop", index=index),
        ]

    half = count // 2
    head = {"id": "v1_01", "object": "interaction", "model": "gemini-3-flash-preview"}
    counts = {"total_input_tokens": 25, "total_output_tokens": count - half}
    usage = {**counts, "total_thought_tokens": half, "total_tokens": 25 + count}
    said: list[Json] = [{"type": "text", "text": word} for word in words(count - half)]
    thoughts: list[Json] = [
        {"type": "thought_summary", "content": {"type": "text", "text": word}}
        for word in words(half)
    ]
    return [
        frame("interaction.created", interaction={**head, "status": "in_progress"}),
        frame("interaction.status_update", interaction_id="v1_01", status="in_progress"),
        *step(0, "thought", [*thoughts, {"type": "thought_signature", "signature": "c2ln"}]),
        *step(1, "model_output", said),
        frame("interaction.completed", interaction={**head, "status": "completed", "usage": usage}),
        b"event: done\ndata: [DONE]\n\n",
    ]


def cohere(count: int) -> list[bytes]:
    """Return the frames of a v2 chat stream."""

    def frame(kind: str, delta: Json = None, **more: Json) -> bytes:
        event = {"type": kind, **more} | ({"delta": delta} if delta else {})
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        return f"event: {kind}\ndata: {text}\n\n".encode()

    def content(kind: str, index: int, part: Json) -> bytes:
        return frame(f"content-{kind}", {"message": {"content": part}}, index=index)

    half = count // 2
    tokens = {"input_tokens": 25, "output_tokens": count, "reasoning_tokens": half}
    usage = {"billed_units": {"input_tokens": 25, "output_tokens": count}, "tokens": tokens}
    empty: Json = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
    return [
        frame("message-start", {"message": empty}, id="a7a1995c"),
        content("start", 0, {"type": "thinking", "thinking": ""}),
        *(content("delta", 0, {"thinking": word}) for word in words(half)),
        frame("content-end", index=0),
        content("start", 1, {"type": "text", "text": ""}),
        *(content("delta", 1, {"text": word}) for word in words(count - half)),
        frame("content-end", index=1),
        frame("message-end", {"finish_reason": "COMPLETE", "usage": usage}),
        b"data: [DONE]\n\n",
    ]


def ollama(count: int) -> list[bytes]:
    """Return the lines of an /api/chat stream."""

    def line(message: Json, end: Json = None) -> bytes:
        said = {
            "model": "qwen3:8b",
            "created_at": "2026-11-15T12:00:00.123456789Z",
            "message": {"role": "assistant", **message},
            "done": end is not None,
            **(end or {}),
        }
        return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    half = count // 2
    end = {"done_reason": "stop", "prompt_eval_count": 25, "eval_count": count}
    return [
        *(line({"content": "", "thinking": word}) for word in words(half)),
        *(line({"content": word}) for word in words(count - half)),
        line({"content": ""}, end),
    ]


def bedrock(count: int) -> list[bytes]:
    """Return the binary frames of a ConverseStream answer."""

    def frame(kind: str, said: Json) -> bytes:
        payload = json.dumps({**said, "p": "abcdefghijklmnop"}, ensure_ascii=False).encode()
        headers = b"".join(
            bytes([len(name)]) + name + b"\x07" + len(value).to_bytes(2, "big") + value
            for name, value in (
                (b":event-type", kind.encode()),
                (b":content-type", b"application/json"),
                (b":message-type", b"event"),
            )
        )
        sizes = pack(">II", len(headers) + len(payload) + 16, len(headers))
        whole = sizes + pack(">I", crc32(sizes)) + headers + payload
        return whole + pack(">I", crc32(whole))

    def delta(index: int, said: Json) -> bytes:
        return frame("contentBlockDelta", {"contentBlockIndex": index, "delta": said})

    half = count // 2
    usage = {"inputTokens": 25, "outputTokens": count, "totalTokens": 25 + count}
    return [
        frame("messageStart", {"role": "assistant"}),
        *(delta(0, {"reasoningContent": {"text": word}}) for word in words(half)),
        delta(0, {"reasoningContent": {"signature": "EpMC"}}),
        frame("contentBlockStop", {"contentBlockIndex": 0}),
        *(delta(1, {"text": word}) for word in words(count - half)),
        frame("contentBlockStop", {"contentBlockIndex": 1}),
        frame("messageStop", {"stopReason": "end_turn"}),
        frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1999}}),
    ]


STREAMS: dict[str, Callable[[int], list[bytes]]] = {
    "anthropic": anthropic,
    "openai_responses": openai_responses,
    "openai_chat": openai_chat,
    "gemini": gemini,
    "cohere": cohere,
    "ollama": ollama,
    "bedrock": bedrock,
    "interactions": interactions,
}

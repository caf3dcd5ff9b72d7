"""Services that answer with given candidates and tokens, and readers of what a client gets.

Both are written from the vendors' types and share no code with the gateway.
"""

import json
from itertools import zip_longest
from typing import Any, NamedTuple

Token = tuple[str, float, tuple[tuple[str, float], ...]]
"""A token, its log probability, and the alternatives to it."""
Said = list[list[Token]]
"""The tokens of each answer."""
USAGE = (7, 90)
"""Tokens of the prompt, and of all answers together."""


class Got(NamedTuple):
    """What a client reads."""

    texts: list[str]
    tokens: Said
    finishes: list[str]
    usage: tuple[int, int]


def text_of(tokens: list[Token]) -> str:
    return "".join(token for token, _, _ in tokens)


def _sse(value: Any, event: str = "") -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


# -- Chat ------------------------------------------------------------------------------------------


def _openai_tokens(tokens: list[Token], *, bytes_too: bool = True) -> list[Any]:
    def write(token: str, logprob: float) -> dict[str, Any]:
        spelt = {"bytes": list(token.encode())} if bytes_too else {}
        return {"token": token, "logprob": logprob, **spelt}

    return [
        {**write(token, logprob), "top_logprobs": [write(*each) for each in others]}
        for token, logprob, others in tokens
    ]


def _read_openai_tokens(raw: Any) -> list[Token]:
    return [
        (
            each["token"],
            each["logprob"],
            tuple((other["token"], other["logprob"]) for other in each["top_logprobs"]),
        )
        for each in raw or ()
    ]


def _chat_usage() -> dict[str, int]:
    prompt, output = USAGE
    total = {"total_tokens": prompt + output}
    return {"prompt_tokens": prompt, "completion_tokens": output, **total}


def _chat_logprobs(tokens: list[Token], *, weighs: bool) -> Any:
    return {"content": _openai_tokens(tokens), "refusal": None} if weighs else None


def write_chat(said: Said, *, stream: bool, weighs: bool) -> bytes:
    kind = "chat.completion.chunk" if stream else "chat.completion"
    base = {"id": "c1", "object": kind, "created": 1, "model": "gpt-4.1"}
    if not stream:
        choices = [
            {
                "index": at,
                "message": {"role": "assistant", "content": text_of(tokens)},
                "logprobs": _chat_logprobs(tokens, weighs=weighs),
                "finish_reason": "stop",
            }
            for at, tokens in enumerate(said)
        ]
        return json.dumps({**base, "choices": choices, "usage": _chat_usage()}).encode()

    def chunk(at: int, delta: Any, tokens: list[Token], finish: str | None = None) -> bytes:
        logprobs = _chat_logprobs(tokens, weighs=weighs) if tokens else None
        choice = {"index": at, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return _sse({**base, "choices": [choice], "usage": None})

    frames = [chunk(at, {"role": "assistant", "content": ""}, []) for at in range(len(said))]
    for row in zip_longest(*said):
        for at, token in enumerate(row):
            frames += [chunk(at, {"content": token[0]}, [token])] if token else []
    frames += [chunk(at, {}, [], "stop") for at in range(len(said))]
    return b"".join((*frames, _sse({**base, "choices": [], "usage": _chat_usage()}), _DONE))


_DONE = b"data: [DONE]\n\n"


def read_chat(body: bytes, *, stream: bool) -> Got:
    if not stream:
        answer = json.loads(body)
        choices = answer["choices"]
        assert [each["index"] for each in choices] == list(range(len(choices)))
        usage = answer["usage"]
        return Got(
            [each["message"]["content"] for each in choices],
            [_read_openai_tokens((each["logprobs"] or {}).get("content")) for each in choices],
            [each["finish_reason"] for each in choices],
            (usage["prompt_tokens"], usage["completion_tokens"]),
        )
    assert body.endswith(_DONE)
    assert body.count(_DONE) == 1
    texts: dict[int, str] = {}
    tokens: dict[int, list[Token]] = {}
    finishes: dict[int, str] = {}
    usages = []
    for chunk in _events(body.removesuffix(_DONE)):
        usages += [chunk["usage"]] if chunk.get("usage") else []
        for choice in chunk["choices"]:
            at, delta = choice["index"], choice["delta"]
            assert at not in finishes, "a finished choice goes on"
            texts[at] = texts.get(at, "") + (delta.get("content") or "")
            told = _read_openai_tokens((choice["logprobs"] or {}).get("content"))
            tokens[at] = tokens.get(at, []) + told
            if choice["finish_reason"]:
                finishes[at] = choice["finish_reason"]
    (usage,) = usages
    counts = usage["prompt_tokens"], usage["completion_tokens"]
    return Got(_in_order(texts), _in_order(tokens), _in_order(finishes), counts)


def _events(body: bytes) -> list[Any]:
    lines = (line for line in body.replace(b"\r\n", b"\n").split(b"\n"))
    return [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]


def _in_order(found: dict[int, Any]) -> list[Any]:
    assert sorted(found) == list(range(len(found)))
    return [found[at] for at in sorted(found)]


# -- Gemini ----------------------------------------------------------------------------------------


def _gemini_tokens(tokens: list[Token], *, weighs: bool) -> dict[str, Any]:
    def write(token: str, logprob: float) -> dict[str, Any]:
        return {"token": token, "logProbability": logprob, "tokenId": len(token)}

    if not weighs:
        return {}
    result: dict[str, Any] = {"chosenCandidates": [write(token, p) for token, p, _ in tokens]}
    if any(others for _, _, others in tokens):
        result["topCandidates"] = [
            {"candidates": [write(*each) for each in others]} for _, _, others in tokens
        ]
    return {"logprobsResult": result, "avgLogprobs": -1.0}


def _read_gemini_tokens(raw: Any) -> list[Token]:
    chosen, tops = raw.get("chosenCandidates", []), raw.get("topCandidates")
    rows = tops if tops is not None else [{"candidates": []}] * len(chosen)
    return [
        (
            each["token"],
            each["logProbability"],
            tuple((other["token"], other["logProbability"]) for other in row["candidates"]),
        )
        for each, row in zip(chosen, rows, strict=True)
    ]


def write_gemini(said: Said, *, stream: bool, weighs: bool) -> bytes:
    prompt, output = USAGE
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": output}
    usage = {"usageMetadata": {**counts, "totalTokenCount": prompt + output}}
    base = {"modelVersion": "gemini-2.5-flash", "responseId": "r1"}

    def candidate(at: int, tokens: list[Token], finish: str | None) -> dict[str, Any]:
        content = {"role": "model", "parts": [{"text": text_of(tokens)}]}
        ends = {"finishReason": finish} if finish else {}
        named = {"index": at} if at else {}  # the service leaves out zeros
        return {"content": content, **named, **ends, **_gemini_tokens(tokens, weighs=weighs)}

    if not stream:
        candidates = [candidate(at, tokens, "STOP") for at, tokens in enumerate(said)]
        return json.dumps({"candidates": candidates, **usage, **base}).encode()
    frames = []
    for number, row in enumerate(zip_longest(*said)):
        candidates = [
            candidate(at, [token], "STOP" if number + 1 == len(said[at]) else None)
            for at, token in enumerate(row)
            if token is not None
        ]
        frames.append(_sse({"candidates": candidates, **usage, **base}))
    return b"".join(frames)


def read_gemini(body: bytes, *, stream: bool) -> Got:
    texts: dict[int, str] = {}
    tokens: dict[int, list[Token]] = {}
    finishes: dict[int, str] = {}
    usage: dict[str, int] = {}
    for chunk in _events(body) if stream else [json.loads(body)]:
        usage |= chunk.get("usageMetadata", {})
        for each in chunk["candidates"]:
            at = each.get("index", 0)
            parts = each["content"].get("parts", [])
            texts[at] = texts.get(at, "") + "".join(part.get("text", "") for part in parts)
            tokens[at] = tokens.get(at, []) + _read_gemini_tokens(each.get("logprobsResult", {}))
            if each.get("finishReason"):
                assert at not in finishes
                finishes[at] = each["finishReason"].lower()
    counts = usage["promptTokenCount"], usage["candidatesTokenCount"]
    return Got(_in_order(texts), _in_order(tokens), _in_order(finishes), counts)


# -- Responses -------------------------------------------------------------------------------------


def _response(item: Any, status: str) -> dict[str, Any]:
    prompt, output = USAGE
    counts = {"input_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output}
    usage = {"usage": counts if status == "completed" else None}
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-4.1"}
    return {**base, "status": status, "output": [item] if item else [], **usage}


def write_responses(said: Said, *, stream: bool, weighs: bool) -> bytes:
    (tokens,) = said
    base = {"type": "output_text", "annotations": []}
    content = {**base, "text": text_of(tokens), "logprobs": []}
    if weighs:
        content["logprobs"] = _openai_tokens(tokens)
    head = {"id": "msg_1", "type": "message", "role": "assistant"}
    item = {**head, "status": "completed", "content": [content]}
    if not stream:
        return json.dumps(_response(item, "completed")).encode()
    at = {"item_id": "msg_1", "output_index": 0}
    here = {**at, "content_index": 0}

    def event(kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    frames = [
        event("response.created", response=_response(None, "in_progress")),
        event(
            "response.output_item.added",
            output_index=0,
            item={**head, "status": "in_progress", "content": []},
        ),
        event("response.content_part.added", **here, part={**base, "text": "", "logprobs": []}),
    ]
    for token in tokens:
        told = _openai_tokens([token], bytes_too=False) if weighs else []
        frames.append(event("response.output_text.delta", **here, delta=token[0], logprobs=told))
    frames += [
        event("response.output_text.done", **here, text=content["text"], logprobs=[]),
        event("response.content_part.done", **here, part=content),
        event("response.output_item.done", output_index=0, item=item),
        event("response.completed", response=_response(item, "completed")),
    ]
    return b"".join(frames)


def read_responses(body: bytes, *, stream: bool) -> Got:
    answer = json.loads(body) if not stream else _events(body)[-1]["response"]
    (item,) = (each for each in answer["output"] if each["type"] == "message")
    (content,) = item["content"]
    tokens = _read_openai_tokens(content["logprobs"])
    if stream:
        deltas = [e for e in _events(body) if e["type"] == "response.output_text.delta"]
        assert "".join(each["delta"] for each in deltas) == content["text"]
        told = [token for each in deltas for token in _read_openai_tokens(each["logprobs"])]
        assert told == tokens
    usage = answer["usage"]
    counts = usage["input_tokens"], usage["output_tokens"]
    return Got([content["text"]], [tokens], ["stop"], counts)


# -- Ollama ----------------------------------------------------------------------------------------


def write_ollama(said: Said, *, stream: bool, weighs: bool) -> bytes:
    (tokens,) = said
    prompt, output = USAGE
    counts = {"prompt_eval_count": prompt, "eval_count": output}
    base = {"model": "qwen3", "created_at": "2026-11-15T12:00:00Z"}

    def line(some: list[Token], **ends: Any) -> bytes:
        message = {"role": "assistant", "content": text_of(some)}
        told = {"logprobs": _openai_tokens(some)} if weighs and some else {}
        return json.dumps({**base, "message": message, "done": False, **told, **ends}).encode()

    last = {"done": True, "done_reason": "stop", **counts}
    if not stream:
        return line(tokens, **last)
    return b"".join(each + b"\n" for each in (*(line([t]) for t in tokens), line([], **last)))


def read_ollama(body: bytes, *, stream: bool) -> Got:
    lines = [json.loads(line) for line in body.splitlines()] if stream else [json.loads(body)]
    tokens = [token for each in lines for token in _read_openai_tokens(each.get("logprobs"))]
    last = lines[-1]
    text = "".join(each["message"]["content"] for each in lines)
    counts = last["prompt_eval_count"], last["eval_count"]
    return Got([text], [tokens], [last["done_reason"]], counts)

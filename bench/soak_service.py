"""The service behind the soak: canned answers in five dialects, and an account of what it served.

A prompt says what comes: `soak ID EVENTS FAULT ;`. `GET /served` returns, for each ID, the tokens
of every attempt: of an answer that broke off, those of the events that were written. Run as a
program it prints its port, and ends when its input does.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from typing import Any

from aiohttp import web
from streams import STREAMS, words

Json = Any
PROMPT = 25
"""Tokens of every prompt, as the streams report them."""
FAULTS = ("overloaded", "limited", "cut", "reset", "slow")
"""Each on the first attempt, so that another one succeeds."""

_ASKED = re.compile(rb"soak (\S+) (\d+) (\w+) ;")
_DIALECTS = {
    "/messages": "anthropic",
    "/responses": "openai_responses",
    "/chat/completions": "openai_chat",
    "enerateContent": "gemini",
    "/api/chat": "ollama",
}
_TOKENS_PER_EVENT = {"anthropic": 2}
_GAP = 0.002  # seconds between the halves of an answer, so that it comes in several pieces


class Service:
    """Answers, and keeps account."""

    def __init__(self) -> None:
        self.served: dict[str, list[int]] = {}

    async def account(self, _request: web.Request) -> web.Response:
        """Return the tokens of every attempt, by the id of the request."""
        return web.json_response(self.served)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request as its prompt says."""
        body = await request.read()
        asked = _ASKED.search(body)
        if asked is None:
            return web.json_response({"error": {"message": "no word of the soak"}}, status=400)
        name, events, fault = asked[1].decode(), int(asked[2]), asked[3].decode()
        attempts = self.served.setdefault(name, [])
        attempts.append(0)
        first = len(attempts) == 1
        dialect = next(each for end, each in _DIALECTS.items() if end in request.path)
        if first and fault in ("overloaded", "limited"):
            status = 503 if fault == "overloaded" else 429
            return web.json_response(_ERROR, status=status, headers={"retry-after": "0"})
        if first and fault == "reset":
            _abort(request)
            return web.Response()
        if fault == "slow":
            await asyncio.sleep(0.2)
        streams = b"stream" in request.path.encode() or bool(json.loads(body).get("stream"))
        if dialect == "ollama":
            streams = json.loads(body).get("stream") is not False
        tokens = _TOKENS_PER_EVENT.get(dialect, 1) * events
        if not streams:
            fields = json.loads(body)
            answers = _count_answers(fields)
            attempts[-1] = PROMPT + tokens * answers
            whole = _WHOLE[dialect](events, tokens * answers)
            if fields.get("background"):  # the answer is written later, and is charged all the same
                whole |= {"status": "queued", "output": [], "usage": None}
            for name in ("choices", "candidates"):
                if name in whole:
                    whole[name] = [{**whole[name][0], "index": at} for at in range(answers)]
            return web.json_response(whole)
        return await self._stream(request, dialect, events, attempts, cut=first and fault == "cut")

    async def _stream(
        self, request: web.Request, dialect: str, events: int, attempts: list[int], *, cut: bool
    ) -> web.StreamResponse:
        frames, place = STREAMS[dialect](events), len(attempts) - 1
        response = web.StreamResponse(headers={"content-type": _type(dialect)})
        each, most = _TOKENS_PER_EVENT.get(dialect, 1), _TOKENS_PER_EVENT.get(dialect, 1) * events
        half = len(frames) // 2
        try:
            await response.prepare(request)
            for number, frame in enumerate(frames[:half] if cut else frames, 1):
                attempts[place] = PROMPT + min(number * each, most)
                await response.write(frame)
                if number in (half, 1):
                    await asyncio.sleep(_GAP)
            attempts[place] = PROMPT + (min(half * each, most) if cut else most)
        except ConnectionError:  # the gateway left
            return response
        if cut:
            _abort(request)
        return response


def _count_answers(fields: Json) -> int:
    return fields.get("n") or (fields.get("generationConfig") or {}).get("candidateCount") or 1


def _abort(request: web.Request) -> None:
    if request.transport is not None:  # the gateway may have left
        request.transport.abort()


_ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "try again"}}


def _type(dialect: str) -> str:
    return "application/x-ndjson" if dialect == "ollama" else "text/event-stream"


def _said(events: int) -> str:
    return "".join(words(events))


def _anthropic(events: int, tokens: int) -> Json:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [{"type": "text", "text": _said(events)}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": PROMPT, "output_tokens": tokens},
    }


def _responses(events: int, tokens: int) -> Json:
    text = {"type": "output_text", "annotations": [], "logprobs": [], "text": _said(events)}
    message = {"id": "msg_01", "type": "message", "role": "assistant", "status": "completed"}
    usage = {"input_tokens": PROMPT, "output_tokens": tokens, "total_tokens": PROMPT + tokens}
    return {
        "id": "resp_01",
        "object": "response",
        "created_at": 1_790_000_000,
        "model": "gpt-5.5",
        "status": "completed",
        "output": [{**message, "content": [text]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _chat(events: int, tokens: int) -> Json:
    message = {"role": "assistant", "content": _said(events)}
    usage = {"prompt_tokens": PROMPT, "completion_tokens": tokens, "total_tokens": PROMPT + tokens}
    return {
        "id": "chatcmpl-01",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "deepseek-v4-pro",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }


def _gemini(events: int, tokens: int) -> Json:
    content = {"parts": [{"text": _said(events)}], "role": "model"}
    usage = {
        "promptTokenCount": PROMPT,
        "candidatesTokenCount": tokens,
        "totalTokenCount": PROMPT + tokens,
    }
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "r01",
    }


def _ollama(events: int, tokens: int) -> Json:
    return {
        "model": "qwen3:8b",
        "created_at": "2026-11-15T12:00:00.123456789Z",
        "message": {"role": "assistant", "content": _said(events)},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": PROMPT,
        "eval_count": tokens,
    }


_WHOLE: dict[str, Callable[[int, int], Json]] = {
    "anthropic": _anthropic,
    "openai_responses": _responses,
    "openai_chat": _chat,
    "gemini": _gemini,
    "ollama": _ollama,
}


async def _serve() -> None:
    service = Service()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_get("/served", service.account)
    app.router.add_route("*", "/{path:.*}", service.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve())

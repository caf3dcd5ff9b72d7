"""One service on the loopback with canned answers, in a process of its own: it costs no client CPU.

The first word of a path says what comes: `stream`, `short`, `first`, `slow`, which takes a moment
before it, or `crowd`, which stops half way until so many streams as the second word says are open.
Where that word is `asked`, the body says it: behind its last `bench`, whatever a gateway makes of
the path; `turn` is then a call of a tool, as the turn of an agent that the second word names.
A GET has the list of the models, which some gateways want when they start.
Every event is one HTTP chunk. Run as a program it prints its port, and ends when its input does.
"""

import asyncio
import sys
from asyncio.transports import BaseTransport, Transport
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import Any

from agent_requests import answer, dumped
from streams import STREAMS

Json = Any
EVENTS, FEW, CROWDED = 6_000, 4, 600
SLOW = 0.01  # seconds until the first event: still a tenth of what the quickest service takes
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"
_WIRES = {
    "/messages": "anthropic",
    "/responses": "openai_responses",
    "/chat/completions": "openai_chat",
    "GenerateContent": "gemini",
    "generateContent": "gemini",
    "/interactions": "interactions",
}


@contextmanager
def serving() -> Iterator[str]:
    """Serve for as long as the block lasts; the value is the base address."""
    with Popen([sys.executable, __file__], stdin=PIPE, stdout=PIPE) as server:
        assert server.stdin is not None  # noqa: S101 - it is a pipe
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        with server.stdin:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"


# -- what is answered ------------------------------------------------------------------------


def write_short(wire: str) -> Json:
    """Return a whole answer of one sentence."""
    said = "Sunny, 21 degrees."
    counts = {"input_tokens": 9, "output_tokens": 7}
    if wire == "anthropic":
        return {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5",
            "content": [{"type": "text", "text": said}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": counts,
        }
    if wire == "openai_responses":
        text = {"type": "output_text", "annotations": [], "logprobs": [], "text": said}
        message = {"id": "msg_01", "type": "message", "role": "assistant", "status": "completed"}
        return {
            "id": "resp_01",
            "object": "response",
            "created_at": 1_790_000_000,
            "model": "gpt-5.4",
            "status": "completed",
            "output": [{**message, "content": [text]}],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {**counts, "total_tokens": 16},
        }
    if wire == "openai_chat":
        message = {"role": "assistant", "content": said}
        return {
            "id": "chatcmpl-01",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": "deepseek-reasoner",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16},
        }
    if wire == "interactions":
        return {
            "id": "v1_01",
            "object": "interaction",
            "model": "gemini-3-flash-preview",
            "status": "completed",
            "steps": [{"type": "model_output", "content": [{"type": "text", "text": said}]}],
            "usage": {"total_input_tokens": 9, "total_output_tokens": 7, "total_tokens": 16},
        }
    content = {"parts": [{"text": said}], "role": "model"}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 7, "totalTokenCount": 16},
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "r01",
    }


_MODELS = {"object": "list", "data": [{"id": "claude-opus-5"}, {"id": "gpt-5.4"}]}


def _whole(said: Json) -> bytes:
    body = dumped(said)
    return _HEAD % (b"application/json", b"content-length: %d" % len(body)) + body


def _chunks(frames: Sequence[bytes]) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(frame), frame) for frame in frames)


def _halves(wire: str, events: int) -> tuple[bytes, bytes]:
    frames = STREAMS[wire](events)
    half = len(frames) // 2
    head = _HEAD % (b"text/event-stream", b"transfer-encoding: chunked")
    return head + _chunks(frames[:half]), _chunks(frames[half:]) + b"0\r\n\r\n"


def _canned() -> dict[tuple[str, str], tuple[bytes, bytes]]:
    """Return what is written for each kind and wire, in two halves."""
    canned = {}
    for wire in dict.fromkeys(_WIRES.values()):
        canned["short", wire] = (_whole(write_short(wire)), b"")
        for kind, events in (("stream", EVENTS), ("first", FEW), ("crowd", CROWDED)):
            canned[kind, wire] = _halves(wire, events)
        canned["slow", wire] = canned["first", wire]
    return canned


# -- the server ------------------------------------------------------------------------------


class _Connection(asyncio.Protocol):
    def __init__(self, answer: Callable[[Transport, str, bytes], None]) -> None:
        self._answer = answer
        self._received = bytearray()

    def connection_made(self, transport: BaseTransport) -> None:
        assert isinstance(transport, Transport)  # noqa: S101 - a stream's is
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._received[:end]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(self._received) >= end + 4 + length:
            path = bytes(self._received[:end]).split(b" ", 2)[1].decode()
            body = bytes(self._received[end + 4 : end + 4 + length])
            del self._received[: end + 4 + length]
            self._answer(self._transport, path, body)


class _Service:
    def __init__(self) -> None:
        self._canned = _canned()
        self._held: list[tuple[Transport, bytes]] = []

    def answer(self, transport: Transport, path: str, body: bytes) -> None:
        if not body:
            transport.write(_whole(_MODELS))
            return
        _, kind, *words = path.split("/")
        if kind == "asked":
            kind, *words = body.rpartition(b"bench ")[2].partition(b" ;")[0].decode().split()
        wire = next(wire for end, wire in _WIRES.items() if end in path)
        if kind == "turn":
            transport.write(_whole(answer(wire, words[0])))
            return
        one, two = self._canned[kind, wire]
        if kind == "slow":
            asyncio.get_running_loop().call_later(SLOW, transport.write, one + two)
            return
        if kind != "crowd":
            transport.write(one + two)
            return
        transport.write(one)
        self._held.append((transport, two))
        if len(self._held) == int(words[0]):
            for each, rest in self._held:
                each.write(rest)
            self._held.clear()


async def _serve() -> None:
    service, loop = _Service(), asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Connection(service.answer), "127.0.0.1", 0, backlog=4096
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())

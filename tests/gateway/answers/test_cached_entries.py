"""Which answers wait until the answer cache is read: those of a known size, with all they hold."""

from typing import Any, cast

import pytest

from pondero.canon import HttpRequest, Message, Request, Signature, Text, Thinking, ToolCall
from pondero.gateway.answers.cached_entries import put_later
from pondero.gateway.requests.routed_request import ClientRequest, RoutedRequest
from pondero.gateway.server.context import Requester
from pondero.gateway.state.answer_cache import CachedAnswer, ConversationCache, MakeEntries

LONG = 1_000_000
BODY = b'{"messages": []}'


class Cache:
    """A cache that keeps the size of what waits."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def put_later(self, _make: MakeEntries, size: int) -> bool:
        self.sizes.append(size)
        return True


def ask(*parts: Any) -> list[int]:
    """Return the sizes that wait of an answer with these parts."""
    http = HttpRequest("POST", "http://gateway/v1/messages", {}, BODY)
    call = ClientRequest(id="1", client_dialect="anthropic", http=http, requester=Requester())
    request = Request("claude-opus-5", (Message("user", (Text("hello"),)),))
    routed = cast("RoutedRequest", _Routed(call, request))
    cache, message = Cache(), Message("assistant", parts)
    calls = tuple(call.id for call in message.tool_calls)
    answer = CachedAnswer("1", message, calls, message.text)
    put_later(cast("ConversationCache", cache), routed, [answer], {})
    return cache.sizes


class _Routed:
    """As much of a routed request as is read."""

    turns = ()

    def __init__(self, call: ClientRequest, request: Request) -> None:
        self.call = call
        self.parsed = self
        self.request = request


def sign(value: Any) -> Signature:
    return Signature("anthropic", value)


@pytest.mark.parametrize(
    "parts",
    [
        (Text("x" * LONG),),
        (Thinking("x" * LONG), Text("ok")),
        (Thinking("", sign("x" * LONG)), Text("ok")),
        (Text("ok", sign("x" * LONG)),),
    ],
    ids=["text", "thinking", "its proof", "proof of a text"],
)
def test_all_that_waits_counts(parts):
    (size,) = ask(*parts)
    assert size >= LONG + len(BODY)


@pytest.mark.parametrize(
    "part",
    [
        ToolCall("call_1", "find", {}),
        Thinking("", sign({"data": "x"})),
        Text("ok", citations=({"url": "http://a.example"},)),
    ],
    ids=["call", "structured proof", "citation"],
)
def test_an_answer_of_unknown_size_does_not_wait(part):
    assert ask(Text("ok"), part) == []

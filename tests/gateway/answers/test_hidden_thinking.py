"""With ``show = "none"`` no client sees thinking, wherever the service puts it.

The services are canned: they know which words are thinking. The judge reads every string that the
client got, in order, and knows nothing of tags.
"""

import json
from itertools import pairwise
from typing import Any

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
    """The services of these models have a field for thinking."""
    text = f"{answer}</think>{answer}"
    pieces = split(chat([text], stream=stream, finish="stop"), cuts)
    to = "deepseek:deepseek-v4-pro"
    reply, _ = anyio.run(lambda: ask(front, to, pieces, "text/event-stream", stream=stream))
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
    frames = [{"type": kind, "id": "c", "index": 0, "delta": delta} for kind, delta in events]
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), json.dumps(frame).encode())
        for frame in frames
    )


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

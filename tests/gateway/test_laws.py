"""Laws of the whole gateway: any front, any back, any conversation, any split, any cut.

The client is our own caller's side of the front's wire, with none of the gateway's code: what it is
given it keeps and sends again as its wire wants it. The back is the strict emulator.
"""

import asyncio
from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gateway.upstream import BACKS, Upstream, seals_of

from pondero import AsyncClient, Retry
from pondero.canon import Message, ResponseHead, Text, Tool, ToolResult
from pondero.emulator import Emulator, Fault, ScriptedCall, ScriptedTurn
from pondero.errors import PonderoError
from pondero.exchange import Timeouts
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

FRONTS = {
    "messages": "anthropic:claude-opus-5",
    "responses": "openai:gpt-5.5",
    "chat": "openai-chat:gpt-5.1",
    "gemini": "google:gemini-3-flash-preview",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "converse": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
LOOK = Tool("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=30
).filter(str.strip)
CALLS = st.lists(WORDS.map(lambda at: ScriptedCall("look", {"at": at})), max_size=3).map(tuple)


class Through:
    """A transport into the application, in process."""

    needs_key = False

    def __init__(self, app: App) -> None:
        self._app = app

    async def send(self, request, timeouts: Timeouts) -> "Answer":
        answer = Answer()
        await answer.begin(self._app, request)
        return answer

    async def aclose(self) -> None:
        pass


class Answer:
    def __init__(self) -> None:
        self._sent: asyncio.Queue = asyncio.Queue()

    async def begin(self, app: App, request) -> None:
        parts = urlsplit(request.url)
        waiting = [{"type": "http.request", "body": request.body}]

        async def receive():
            if waiting:
                return waiting.pop()
            await asyncio.sleep(3600)
            return {"type": "http.disconnect"}

        scope = {
            "type": "http",
            "method": request.method,
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in request.headers.items()],
        }
        self._task = asyncio.ensure_future(app(scope, receive, self._sent.put))
        start = await self._sent.get()
        headers = {k.decode(): v.decode() for k, v in start["headers"]}
        self.head = ResponseHead(start["status"], headers)

    async def __aiter__(self):
        while True:
            message = await self._sent.get()
            if message["body"]:
                yield message["body"]
            if not message.get("more_body"):
                return

    async def aclose(self) -> None:
        self._task.cancel()


@st.composite
def conversations(draw):
    """Return turns of a conversation: who answers, what it thinks, says and calls."""
    backs = st.sampled_from(list(BACKS))
    turns = []
    back = draw(backs)
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 3)) == 0:
            back = draw(backs)
        calls = draw(CALLS)
        text = draw(WORDS if not calls else st.one_of(st.none(), WORDS))
        turns.append(
            (
                back,
                ScriptedTurn(
                    thinking=draw(st.lists(WORDS, max_size=1).map(tuple)),
                    text=text,
                    tool_calls=calls,
                ),
            )
        )
    return turns


async def _held(front: str, turns, *, stream: bool, fault: str | None) -> None:
    upstream = Upstream()
    emulator = upstream.emulator
    config = GatewayConfig(
        routes=tuple(GatewayRoute(match="*", to=(BACKS[name],), retries=0) for name in BACKS)
    )
    gate = GatewayContext(config, upstream)
    client = AsyncClient(transport=Through(App(gate)), retry=Retry(attempts=1))
    messages = [Message("user", (Text("Begin."),))]
    before: str | None = None
    for back, turn in turns:
        gate.reconfigure(
            GatewayConfig(routes=(GatewayRoute(match="*", to=(BACKS[back],), retries=0),))
        )
        emulator.expect(turn)
        if fault is not None:
            emulator.faults.append(Fault.parse(fault))
        reply = await client.ask(FRONTS[front], messages, "low", tools=[LOOK], stream=stream)
        refused = [entry.refusal for entry in emulator.log.entries if entry.refusal]
        assert refused == []
        if before == back and messages[-2].tool_calls:  # a loop goes on where it began
            for seal in seals_of(upstream.said(-2)):
                assert seal.encode() in upstream.requests[-1]
        before = back
        said = [(call.name, call.arguments) for call in reply.tool_calls]
        assert said == [(call.name, call.arguments) for call in turn.tool_calls]
        assert reply.text.strip() == (turn.text or "").strip()
        messages.append(reply.message)
        results = [
            ToolResult(call.id, (Text("seen"),), name=call.name) for call in reply.tool_calls
        ]
        messages.append(Message("user", tuple(results) or (Text("Go on."),)))


@pytest.mark.parametrize("front", FRONTS)
@given(
    turns=conversations(),
    stream=st.booleans(),
    fault=st.sampled_from([None, None, "split", "trickle"]),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_what_a_client_gets_and_sends_again_is_accepted(front, turns, stream, fault):
    async def run() -> None:
        await _held(front, turns, stream=stream, fault=fault)

    anyio.run(run)


@pytest.mark.parametrize("front", FRONTS)
@given(
    back=st.sampled_from(list(BACKS)),
    at=st.integers(0, 900),
    kind=st.sampled_from(["cut", "broken"]),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_an_answer_that_is_cut_is_an_error_or_whole(front, back, at, kind):
    turn = ScriptedTurn(thinking="Let me think about that.", text="A sentence of several words.")

    async def run() -> None:
        emulator = Emulator(script=[turn], faults=[f"{kind} {at}"])
        config = GatewayConfig(routes=(GatewayRoute(match="*", to=(BACKS[back],), retries=0),))
        client = AsyncClient(
            transport=Through(App(GatewayContext(config, emulator))), retry=Retry(attempts=1)
        )
        try:
            reply = await client.ask(FRONTS[front], "Begin.", "low")
        except PonderoError:
            return
        assert reply.text == turn.text

    anyio.run(run)

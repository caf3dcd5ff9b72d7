"""No request that the gateway sends on is one that the upstream's table rejects.

Clients of every API ask models of every provider. Two adversaries write what they send: one takes
every field of the vendors' own request types, one any conversation with any options. Both send
only what the client's own service accepts, so that nothing but the way through the gateway can make
a request wrong. The judge is the strict service side of the upstream.
"""

import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace as replace_dataclass
from typing import Any, NamedTuple

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.referee.adversary import draw
from tests.referee.cases import post
from tests.referee.test_types import hosts, refusal
from tests.referee.vendor_requests import VENDORS

import pondero
from pondero.canon import HttpRequest, ResponseHead
from pondero.dialects import Rejected
from pondero.emulator import Emulator
from pondero.emulator.routes import find_route
from pondero.exchange import Timeouts
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

DRAWN = {"quick": 4, "deep": 400}.get(os.environ.get("HYPOTHESIS_PROFILE", "ci"), 25)
NOT_CLIENTS = ("groq", "mistral")  # their fields are none of the Chat API's
APART = (
    # The shape of an answer and the schemas of tools have laws of their own.
    r"[rR]esponse_?([fF]ormat|[jJ]son|[sS]chema|[mM]ime)|^text\b|^format$|output_?[cC]onfig",
    r"(parameters|strict|strict_tools|input_schema)\b",
    # Whether a model has them is not in the catalog: its own 400 says so to the client.
    r"logprobs",
    # Google's two deployments have fields of their own: the other's 400 names the field.
    r"enableEnhancedCivicAnswers",
    # These bytes are no image's.
    r"\*\.(image|inlineData)$",
)
CLIENTS = {
    "messages": "anthropic:claude-opus-4-5",
    "responses": "openai:gpt-5.5",
    "chat": "openai-chat:gpt-4.1",
    "gemini": "google:gemini-3-flash-preview",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "converse": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
UPSTREAMS = (
    "anthropic:claude-opus-5",
    "anthropic:claude-sonnet-4-5",
    "vertex-anthropic:claude-sonnet-4-6",
    "openai:gpt-5.5",
    "openai:gpt-5-chat-latest",
    "openai-chat:gpt-5.1",
    "azure-chat:o1-preview",
    "google:gemini-2.0-flash",
    "google:gemini-2.5-flash",
    "google:gemini-3-flash-preview",
    "google:gemma-3-27b-it",
    "vertex:gemini-3.1-pro-preview",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock:mistral.mistral-large-2402-v1:0",
    "bedrock:qwen.qwen3-32b-v1:0",
    "bedrock:amazon.nova-2-lite-v1:0",
    "cohere:command-a-reasoning-08-2025",
    "cohere:command-r-plus-08-2024",
    "ollama:qwen3",
    "deepseek:deepseek-v4-flash",
    "mistral:mistral-medium-3-5",
    "perplexity:sonar-pro",
    "xai:grok-4.3",
    "xai-responses:grok-4.6",
    "groq:openai/gpt-oss-120b",
    "openrouter:x-ai/grok-code-fast-1",
    "moonshot:kimi-k2.5",
    "zai:glm-5.2",
)


class Judge:
    """An upstream that judges what arrives by the service's rules, and answers nothing else."""

    needs_key = False

    def __init__(self) -> None:
        self.arrived = 0
        self.rejections: list[str] = []

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "_Judged":
        """Note the rule that rejects a request."""
        self.arrived += 1
        to = find_route(request.url)
        assert to is not None
        try:
            to.wire.service().accept(request, to.provider)
        except Rejected as no:
            self.rejections.append(f"{no.rule}: {no.response.body.decode()}")
        return _Judged()

    async def aclose(self) -> None:
        """Nothing is open."""


class _Judged:
    head = ResponseHead(400, {"content-type": "application/json"})

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'{"error":{"message":"judged","type":"invalid_request_error"}}'

    async def aclose(self) -> None:
        """Nothing is open."""


class Trial(NamedTuple):
    """A request of a client, and what is special about it."""

    name: str
    http: HttpRequest


def of_fields() -> Iterator[Trial]:
    """Yield requests with each field of the vendors' types that their services accept."""
    for vendor in VENDORS:
        if vendor.provider in NOT_CLIENTS:
            continue
        for trial in hosts(replace_dataclass(vendor, body=without_shape(vendor.body))):
            apart = any(re.search(each, trial.path) for each in APART)
            if not apart and refusal(vendor, trial.body) is None:
                name = f"{vendor.provider} {trial.path}"
                yield Trial(name, post(vendor.url, trial.body, vendor.headers))


def without_shape(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body that does not shape its answer."""
    config = body.get("generationConfig")
    if config is None:
        return dict(body)
    kept = {name: value for name, value in config.items() if name != "responseMimeType"}
    return {**body, "generationConfig": kept}


def of_conversations(client: str, upstream: str, count: int) -> Iterator[Trial]:
    """Yield requests of any conversation, as a client of this API writes them."""
    library = pondero.Client(transport=Emulator())
    for number in range(count):
        seed = f"{client} {upstream} {number}"
        ask = draw(seed)
        prompt, level = ask.pop("prompt"), ask.pop("thinking")
        yield Trial(seed, library.prepare(CLIENTS[client], prompt, level, **ask).request)


def judge(upstream: str, trials: list[Trial]) -> dict[str, str]:
    """Return what the upstream rejects, with the rule."""
    found: dict[str, str] = {}

    async def run() -> None:
        seat = Judge()
        config = GatewayConfig(routes=(GatewayRoute(match="*", to=(upstream,), retries=0),))
        app = App(GatewayContext(config, seat))
        for trial in trials:
            headers = {**trial.http.headers, "authorization": "Bearer key"}
            answer = await came(app, replace(trial.http, headers=headers))
            if seat.rejections or answer.status >= 500:
                found[trial.name] = "; ".join(seat.rejections) or answer.body.decode()
            seat.rejections.clear()

        assert seat.arrived > 0.9 * len(trials)

    anyio.run(run)
    return found


TRIALS = list(of_fields())


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_no_field_of_a_client_makes_a_request_wrong(upstream):
    assert judge(upstream, TRIALS) == {}


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_no_conversation_of_a_client_makes_a_request_wrong(client, upstream):
    assert judge(upstream, list(of_conversations(client, upstream, DRAWN))) == {}

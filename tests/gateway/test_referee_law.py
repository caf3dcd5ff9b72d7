"""No request that the gateway sends on is one that the upstream's table rejects.

Clients of every API ask models of every provider. Two adversaries write what they send: one takes
every field of the vendors' own request types, one any conversation with any options. Both send
only what the client's own service accepts, so that nothing but the way through the gateway can make
a request wrong. The judge is the strict service side of the upstream.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace as replace_dataclass
from typing import Any, NamedTuple

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.referee.adversary import draw
from tests.referee.cases import post
from tests.referee.test_types import hosts, refusal
from tests.referee.vendor_requests import VENDORS, Vendor

import pondero
from pondero.canon import HttpRequest, ResponseHead
from pondero.dialects import Rejected
from pondero.emulator import Emulator
from pondero.emulator.routes import find_route
from pondero.exchange import Timeouts
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.store import load_catalog

DRAWN = {"quick": 4, "deep": 400}.get(os.environ.get("HYPOTHESIS_PROFILE", "ci"), 25)
NOT_CLIENTS = ("groq", "mistral")  # their fields are none of the Chat API's
APART = (
    # Ollama takes any value there: these are no schemas.
    r"parameters\.(\$defs|items)$",
    # These bytes are no image's.
    r"\*\.(image|inlineData)$",
)
EARLIER: dict[
    str, tuple[str, dict[str, Any], dict[str, Any]]
] = {  # models that have what newer ones lack: their fields, and values that ask for it
    "openai": (
        "gpt-4o",
        {"model": "gpt-4o", "reasoning": None},
        {"top_logprobs": 2, "include": ["message.output_text.logprobs"]},
    ),
    "google": (
        "gemini-2.0-flash",
        {"generationConfig": {"temperature": 1}, "toolConfig": None},
        {"generationConfig.candidateCount": 2},
    ),
}
SEVERAL = {"n": 2}, {"logprobs": True, "top_logprobs": 2}
# Parts that Vertex lacks stay in a body that is passed on; its own 400 names them.
BY_PARTS = r"\.(toolCall|toolResponse)$"
CLIENTS = {
    "messages": "anthropic:claude-opus-4-5",
    "responses": "openai:gpt-5.5",
    "chat": "openai-chat:gpt-4.1",
    "gemini": "google:gemini-3-flash-preview",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "converse": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
UPSTREAMS = (
    "anthropic:claude-opus-5",
    "anthropic:claude-sonnet-4-5",
    "vertex-anthropic:claude-sonnet-4-6",
    "openai:gpt-5.5",
    "openai:gpt-4o",
    "openai:gpt-5-chat-latest",
    "openai-chat:gpt-5.1",
    "azure-chat:o1-preview",
    "google:gemini-2.0-flash",
    "google:gemini-2.5-flash",
    "google:gemini-3-flash-preview",
    "google:gemini-3.6-flash",
    "google:gemma-3-27b-it",
    "vertex:gemini-3.1-pro-preview",
    "google-interactions:gemini-2.5-flash",
    "google-interactions:gemini-3-flash-preview",
    "google-interactions:gemini-3.7-flash",
    "vertex-interactions:gemini-3-flash-preview",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock:mistral.mistral-large-2402-v1:0",
    "bedrock:qwen.qwen3-32b-v1:0",
    "bedrock:amazon.nova-2-lite-v1:0",
    "cohere:command-a-reasoning-08-2025",
    "cohere:command-r-plus-08-2024",
    "ollama:qwen3",
    "deepseek:deepseek-v4-flash",
    "mistral:mistral-medium-3-5",
    "mistral:mistral-small-latest",
    "perplexity:sonar-pro",
    "xai:grok-4.3",
    "xai-responses:grok-4.6",
    "groq:openai/gpt-oss-120b",
    "cerebras:gpt-oss-120b",
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
    for vendor in (*VENDORS, *earlier()):
        if vendor.provider in NOT_CLIENTS:
            continue
        for trial in hosts(vendor):
            apart = any(re.search(each, trial.path) for each in APART)
            if not apart and refusal(vendor, trial.body) is None:
                name = f"{vendor.provider} {vendor.body.get('model', vendor.url)} {trial.path}"
                yield Trial(name, post(vendor.url, trial.body, vendor.headers))


def earlier() -> Iterator[Vendor]:
    """Yield the requests of vendors to earlier models."""
    for vendor in VENDORS:
        if vendor.provider in EARLIER:
            model, fields, values = EARLIER[vendor.provider]
            url = re.sub(r"models/[^:]+", f"models/{model}", vendor.url)
            kept = {k: v for k, v in {**vendor.body, **fields}.items() if v is not None}
            more = {**vendor.values, **values}
            yield replace_dataclass(vendor, url=url, body=kept, values=more)


def of_several() -> Iterator[Trial]:
    """Yield Chat requests for more than one plain answer, with each field beside that."""
    for trial in TRIALS:
        if trial.name.startswith("openai-chat "):
            for more in SEVERAL:
                body = json.dumps({**json.loads(trial.http.body), **more}).encode()
                yield Trial(f"{trial.name} {more}", replace(trial.http, body=body))


def of_aliases(upstream: str) -> Iterator[Trial]:
    """Yield requests of clients of the upstream's own API, under a name of the gateway's."""
    dialect = load_catalog().entry(upstream).provider.dialect
    vendors = {vendor.provider for vendor in VENDORS if vendor.dialect == dialect}
    for trial in TRIALS:
        provider, _, path = trial.name.partition(" ")
        if provider in vendors and not re.search(BY_PARTS, path):
            body = json.loads(trial.http.body)
            body |= {"model": "fast"} if "model" in body else {}
            url = re.sub(r"(/models?/)[^/:]+(%3A0)?", r"\1fast", trial.http.url)
            http = replace(trial.http, url=url, body=json.dumps(body).encode())
            yield Trial(trial.name, http)


def of_conversations(client: str, upstream: str, count: int) -> Iterator[Trial]:
    """Yield requests of any conversation, as a client of this API writes them."""
    library = pondero.Client(transport=Emulator())
    for number in range(count):
        seed = f"{client} {upstream} {number}"
        ask = draw(seed)
        prompt, level = ask.pop("prompt"), ask.pop("thinking")
        yield Trial(seed, library.prepare(CLIENTS[client], prompt, level, **ask).request)


def judge(upstream: str, trials: list[Trial], *, least: float = 0.9) -> dict[str, str]:
    """Return what the upstream rejects, with the rule; ``least`` of the requests must arrive."""
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

        assert seat.arrived >= least * len(trials)

    anyio.run(run)
    return found


TRIALS = list(of_fields())
# Those that have several answers or log probabilities; from the others nothing may be expected.
HAVE_SEVERAL = ("openai-chat:", "mistral:", "xai:", "deepseek:", "openrouter:", "moonshot:")


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_no_field_of_a_client_makes_a_request_wrong(upstream):
    assert judge(upstream, TRIALS) == {}


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_no_field_beside_several_answers_makes_a_request_wrong(upstream):
    least = 0.4 if upstream.startswith(HAVE_SEVERAL) else 0
    assert judge(upstream, list(of_several()), least=least) == {}


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_no_field_under_a_name_of_the_gateway_makes_a_request_wrong(upstream):
    assert judge(upstream, list(of_aliases(upstream))) == {}


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_no_conversation_of_a_client_makes_a_request_wrong(client, upstream):
    assert judge(upstream, list(of_conversations(client, upstream, DRAWN))) == {}

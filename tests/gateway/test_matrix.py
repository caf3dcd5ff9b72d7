"""The matrix: every vendor's SDK in front, the strict emulator behind, eleven checks a cell.

What each check wants is what people of real gateways miss: the level arrives, off is off, thinking
and calls stream, a seal goes back to its maker byte for byte and to nobody else, counts are the
back's, models can be switched anywhere, errors and hang-ups are the front's own.
"""

import time
from collections.abc import Iterator

import msgspec
import pytest
from tests.gateway.sdks import FRONTS, NAME, Front, Said

import pondero
from pondero.canon import Usage
from pondero.emulator import Emulator, Fault, ScriptedTurn
from pondero.emulator import ScriptedCall as Scripted
from pondero.exchange import decode
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # Sockets that an SDK leaves to the garbage collector when it raises.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

BACKS = {
    "opus": "anthropic:claude-opus-5",
    "sonnet": "anthropic:claude-sonnet-4-5",
    "gpt": "openai:gpt-5.5",
    "gemini": "google:gemini-3-flash-preview",
    "deepseek": "deepseek:deepseek-v4-flash",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "mistral": "mistral:mistral-medium-3-5",
    "xai": "xai:grok-4.3",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
}
OTHER = dict(zip(BACKS, [*list(BACKS)[1:], next(iter(BACKS))], strict=True)) | {"opus": "gpt"}
THOUGHT = "First I look at the question. Then at the sky: clouds, wind and rain."
ASKED = "What is the weather in Paris?"
SUNNY = "It is sunny in Paris: 24 degrees."


class Upstream:
    """The emulator as a transport that keeps what it answered."""

    needs_key = False

    def __init__(self) -> None:
        self.emulator = Emulator()
        self.requests: list[bytes] = []
        self.answers: list[bytearray] = []
        self.statuses: list[int] = []

    async def send(self, request, timeouts):
        self.requests.append(request.body)
        kept = bytearray()
        self.answers.append(kept)
        answer = await self.emulator.send(request, timeouts)
        self.statuses.append(answer.head.status)
        return _Kept(answer, kept)

    async def aclose(self) -> None:
        pass

    def reset(self) -> None:
        self.emulator.reset()
        self.requests.clear()
        self.answers.clear()
        self.statuses.clear()

    def said(self, number: int):
        return decode(bytes(self.answers[number]))

    def refusals(self):
        return [entry.refusal for entry in self.emulator.log.entries if entry.refusal]


class _Kept:
    def __init__(self, answer, kept: bytearray) -> None:
        self.head = answer.head
        self._answer = answer
        self._kept = kept

    async def __aiter__(self):
        async for piece in self._answer:
            self._kept.extend(piece)
            yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


@pytest.fixture(scope="module")
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture(scope="module")
def url(upstream: Upstream) -> Iterator[str]:
    routes = tuple(
        GatewayRoute(match=name, to=(model,), retries=0) for name, model in BACKS.items()
    )
    with run_gateway_in_thread(
        GatewayConfig(ServerConfig(port=0), routes), transport=upstream
    ) as where:
        yield where


@pytest.fixture(params=FRONTS, ids=[front.name for front in FRONTS])
def front(request, url: str, upstream: Upstream) -> Iterator[Front]:
    upstream.reset()
    made = request.param(url)
    yield made
    made.close()


@pytest.fixture(params=BACKS)
def back(request) -> str:
    return request.param


def _within(value, fields) -> bool:
    if not isinstance(fields, dict):
        return value == fields
    return isinstance(value, dict) and all(
        name in value and _within(value[name], each) for name, each in fields.items()
    )


def seals_of(said) -> list[str]:
    found: list[str] = []

    def look(value) -> None:
        if isinstance(value, str) and len(value) >= 24:
            found.append(value)
        elif isinstance(value, dict):
            for each in value.values():
                look(each)
        elif isinstance(value, list | tuple):
            for each in value:
                look(each)

    for _, _, seal in said.seals:
        look(seal.value)
    return found


_OTHER_ALPHABET = str.maketrans("+/", "-_")


def _calling(*cities: str) -> ScriptedTurn:
    calls = tuple(Scripted(NAME, {"city": city}) for city in cities)
    return ScriptedTurn(thinking=THOUGHT, tool_calls=calls)


# -- the checks --------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("level", ["high", "low"])
def test_c1_the_level_arrives_and_the_thinking_comes_back(front, back, level, stream, upstream):
    upstream.emulator.expect(ScriptedTurn(thinking=THOUGHT, text=SUNNY))
    said = front.ask(back, front.user(ASKED), level, stream=stream)
    assert upstream.refusals() == []
    assert said.text == SUNNY
    assert said.thinking == "".join(upstream.said(0).thinking)
    if front.name != "cohere":
        assert _shows(upstream.requests[0], back, level), upstream.requests[0]


def _shows(body: bytes, back: str, level: str) -> bool:
    """Return whether a body says this level as pondero says it to this model."""
    sent = msgspec.json.decode(body)
    for room in (16_000, None):
        plan = pondero.plan(f"{BACKS[back]}/{level}", max_tokens=room)
        wanted = {
            k: v for k, v in plan.fields.items() if k not in ("max_tokens", "inferenceConfig")
        }
        if _within(sent, wanted):
            return True
    return False


def test_c2_off_is_off(front, back, upstream):
    said = front.ask(back, front.user("What is 17 * 23?"), "off")
    assert upstream.refusals() == []
    assert "391" in said.text
    assert _shows(upstream.requests[0], back, "off"), upstream.requests[0]
    if back != "gemini":
        assert said.thinking == ""


def _turn_one(front: Front, back: str, upstream: Upstream, *cities: str) -> tuple[list, Said]:
    upstream.emulator.expect(_calling(*(cities or ("Paris",))))
    history = front.user(ASKED)
    said = front.ask(back, history, "high", tools=True)
    assert upstream.refusals() == []
    return [*history, *said.keep], said


def test_c3_a_call_streams_with_thinking_before_it(front, back, upstream):
    _, said = _turn_one(front, back, upstream)
    assert [(call.name, call.arguments) for call in said.calls] == [(NAME, {"city": "Paris"})]
    assert said.thinking == "".join(upstream.said(0).thinking)


def _turn_two(front: Front, back: str, upstream: Upstream) -> list:
    history, said = _turn_one(front, back, upstream)
    upstream.emulator.expect(ScriptedTurn(thinking="Now I know it.", text=SUNNY))
    history += front.results(said.calls, ["24 degrees, sunny"])
    second = front.ask(back, history, "high", tools=True)
    assert upstream.refusals() == []
    assert second.text == SUNNY
    return [*history, *second.keep]


def _goes_back(upstream: Upstream, answered: int, asked: int) -> None:
    for seal in seals_of(upstream.said(answered)):
        sent = upstream.requests[asked]
        # Google's SDK writes bytes in the other alphabet of base64.
        assert any(each.encode() in sent for each in (seal, seal.translate(_OTHER_ALPHABET))), seal


def test_c4_turn_two_has_the_backs_own_seals(front, back, upstream):
    _turn_two(front, back, upstream)
    assert upstream.statuses == [200, 200]
    _goes_back(upstream, 0, 1)


def test_c5_turn_three_goes_on(front, back, upstream):
    history = _turn_two(front, back, upstream)
    upstream.emulator.expect(ScriptedTurn(thinking="Once more.", text="London is wet."))
    said = front.ask(back, [*history, *front.user("And in London?")], "high", tools=True)
    assert upstream.refusals() == []
    assert said.text == "London is wet."
    assert upstream.statuses == [200, 200, 200]


def test_c6_the_counts_are_the_backs(front, back, upstream):
    upstream.emulator.expect(
        ScriptedTurn(thinking=THOUGHT, text=SUNNY, usage=Usage(120, 0, None, 40, 55, 215))
    )
    said = front.ask(back, front.user(ASKED), "high")
    usage = upstream.said(0).usage
    assert said.usage["input"] == (usage.input or 0) + (usage.cache_read or 0) + (
        usage.cache_write or 0
    )
    assert said.usage["output"] == (usage.output or 0) + (usage.thinking or 0)
    if said.usage["thinking"] is not None and usage.thinking is not None:
        assert said.usage["thinking"] == usage.thinking


def _switched(front, back, upstream, history, question) -> None:
    before = len(upstream.requests)
    other = OTHER[back]
    upstream.emulator.expect(ScriptedTurn(thinking="Another mind.", text="Yes."))
    said = front.ask(other, [*history, *question], "high", tools=True)
    assert upstream.refusals() == []
    assert said.text == "Yes."
    body = upstream.requests[-1]
    for number in range(before):
        for seal in seals_of(upstream.said(number)):
            assert msgspec.json.encode(seal)[1:-1] not in body
    assert b"cG5kRXYx" not in body
    if front.name != "cohere":
        assert _shows(body, other, "high"), body


def test_c7_another_model_goes_on(front, back, upstream):
    history = _turn_two(front, back, upstream)
    _switched(front, back, upstream, history, front.user("Is that so?"))


def test_c7m_another_model_goes_on_in_the_middle_of_a_tool_loop(front, back, upstream):
    history, said = _turn_one(front, back, upstream)
    _switched(front, back, upstream, history, front.results(said.calls, ["24 degrees, sunny"]))


def test_c8_errors_are_the_fronts_own(front, back, upstream):
    upstream.emulator.faults.append(Fault.parse("429 7"))
    with pytest.raises(front.errors) as caught:
        front.ask(back, front.user(ASKED), None)
    trouble = front.trouble(caught.value)
    assert trouble.status == 429
    if front.name != "ollama":
        assert trouble.retry_after is not None
        assert float(trouble.retry_after) == 7
    long = Fault(kind="status", status=400, message=TOO_LONG[back], code=CODES.get(back))
    upstream.emulator.faults.append(long)
    with pytest.raises(front.errors) as caught:
        front.ask(back, front.user(ASKED), None)
    trouble = front.trouble(caught.value)
    assert trouble.status == 400
    assert any(words in trouble.words for words in COMPACT), trouble.words


COMPACT = (  # what makes agents shorten a conversation, each on its own front
    "too long",
    "context_length_exceeded",
    "exceeds the maximum number of tokens allowed",
)
LONG = "prompt is too long: 215000 tokens > 200000 maximum"
TOO_LONG = {
    **dict.fromkeys(
        BACKS,
        "This model's maximum context length is 200000 tokens. However, your messages resulted in 215000 tokens.",
    ),
    "opus": LONG,
    "sonnet": LONG,
    "bedrock": "The model returned the following errors: prompt is too long: 215000 tokens > 200000 maximum",
    "ollama": "the input length exceeds the context length",
    "cohere": "too many tokens: 215000 tokens, and the limit is 200000",
    "gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
}
CODES = {
    "gpt": "context_length_exceeded",
    "xai": "context_length_exceeded",
    "deepseek": "context_length_exceeded",
}


def test_c9_a_hang_up_closes_the_upstream(front, back, upstream):
    long = " ".join(f"word{number}" for number in range(400))
    upstream.emulator.expect(ScriptedTurn(text=long, fault=Fault(kind="slow", seconds=0.05)))
    hang_up = front.begin(back, front.user(ASKED))
    hang_up()
    until = time.monotonic() + 5
    while time.monotonic() < until and upstream.emulator.log.entries[0].end is None:
        time.sleep(0.01)
    assert upstream.emulator.log.entries[0].end == "closed"


def test_c10_parallel_calls_and_their_results(front, back, upstream):
    history, said = _turn_one(front, back, upstream, "Paris", "London")
    assert [call.arguments["city"] for call in said.calls] == ["Paris", "London"]
    upstream.emulator.expect(ScriptedTurn(thinking="Both.", text="Sunny and wet."))
    history += front.results(said.calls, ["sunny", "wet"])
    second = front.ask(back, history, "high", tools=True)
    assert upstream.refusals() == []
    assert second.text == "Sunny and wet."
    sent = upstream.requests[-1]
    assert sent.index(b"sunny") < sent.index(b"wet")

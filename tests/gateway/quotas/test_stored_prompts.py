"""What the Responses API stores: a budget reserves as much as the service then reads, or more.

The service of these tests stores its answers, hides its thinking, and counts as prompt all that a
request names. It knows nothing of the gateway. The adversary names answers and items in every way
of the vendor's types, as often as it likes.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest, ResponseHead
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.quotas.quota import QuotaUse
from pondero.gateway.quotas.usage_counter import QuotaShortfall, UnreadAnswers
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.kept_store import LocalKeptStore

WINDOW = 1_050_000
LIMIT = 60_000
Json = Any


class Served(Struct):
    input: int
    output: int


class StoringService:
    """Answers with thinking, a text and perhaps a search; the request says how long they are."""

    needs_key = False

    def __init__(self) -> None:
        self.items: dict[str, int] = {}
        self.answers: dict[str, int] = {}
        self.served: list[Served] = []

    async def send(self, request: HttpRequest, timeouts: object) -> "_Answer":
        body = json.loads(request.body)
        prompt = sum(map(self._count, body["input"]))
        if before := body.get("previous_response_id"):
            prompt += self.answers[before]
        thought, said, found = json.loads(body["metadata"]["script"])
        number = len(self.answers)
        answer, think, text, search = (f"{kind}_{number}" for kind in ("resp", "rs", "msg", "ws"))
        self.items |= {think: thought, text: said, search: found}
        self.answers[answer] = prompt + thought + said + found
        self.served.append(Served(prompt, thought + said))
        words = {"type": "output_text", "text": "word " * said, "annotations": []}
        output = [
            {"type": "reasoning", "id": think, "summary": []},
            *([{"type": "web_search_call", "id": search, "status": "completed"}] if found else []),
            {"type": "message", "id": text, "role": "assistant", "status": "completed"}
            | {"content": [words]},
        ]
        base = {"id": answer, "object": "response", "created_at": 1, "status": "completed"}
        usage = {
            "input_tokens": prompt,
            "output_tokens": thought + said,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": prompt + thought + said,
        }
        return _Answer({**base, "model": body["model"], "output": output, "usage": usage})

    def _count(self, item: Json) -> int:
        if item.get("role") == "user":
            return len(item["content"].split())
        if item.get("id") in self.items:
            return self.items[item["id"]]
        return WINDOW

    async def aclose(self) -> None:
        """Nothing is open."""


class _Answer:
    def __init__(self, body: Json) -> None:
        self.head = ResponseHead(200, {"content-type": "application/json"})
        self._body = json.dumps(body).encode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        """Nothing is open."""


class Gateway:
    """A gateway with one key; ``reserved``: the tokens of each prompt that it let through."""

    def __init__(self, budget: int) -> None:
        key = GatewayKey("ci", hash_key("the-key"), budget=SpendBudget(tokens=budget))
        routes = (GatewayRoute(match="*", to=("openai:gpt-5.6",)),)
        self.service = StoringService()
        self.context = GatewayContext(GatewayConfig(routes=routes, keys=(key,)), self.service)
        self.app = App(self.context)
        self.reserved: list[int] = []
        reserve = self.context.state.reserve

        async def note(
            id: str, uses: Sequence[QuotaUse], *, unread: UnreadAnswers | None = None
        ) -> QuotaShortfall | None:
            full = await reserve(id, uses, unread=unread)
            if full is None:
                self.reserved.append(uses[0].amount - LIMIT)
            return full

        self.context.state.reserve = note  # type: ignore[method-assign]

    async def ask(self, given: list[Json], script: tuple[int, int, int], **more: Json) -> Came:
        body = {
            "model": "m",
            "input": given,
            "max_output_tokens": LIMIT,
            "metadata": {"script": json.dumps(script)},
            **more,
        }
        headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
        sent = json.dumps(body).encode()
        return await came(self.app, HttpRequest("POST", "http://gw/v1/responses", headers, sent))


USER = {"role": "user", "content": "How many owls are there?"}


def by_reference(id: str) -> Json:
    return {"type": "item_reference", "id": id}


NAMED: dict[str, Callable[[str], Json]] = {
    "by reference": by_reference,
    "without a type": lambda id: {"id": id},
    "by null type": lambda id: {"type": None, "id": id},
}


def test_a_reference_to_an_item_of_the_gateways_own_answers_reserves_its_content():
    """The AI SDK sends such references by default."""
    gateway = Gateway(budget=100_000)

    async def ask() -> tuple[Came, Came]:
        first = await gateway.ask([USER], (800, 30, 0))
        named = [by_reference(item["id"]) for item in json.loads(first.body)["output"]]
        return first, await gateway.ask([USER, *named, USER], (10, 10, 0))

    first, second = asyncio.run(ask())
    assert (first.status, second.status) == (200, 200), second.body
    assert gateway.reserved[1] < 2_000


def test_an_answer_of_the_gateways_own_reserves_its_size():
    gateway = Gateway(budget=100_000)

    async def ask() -> list[Came]:
        answers = [await gateway.ask([USER], (800, 30, 0))]
        for _ in range(3):
            before = json.loads(answers[-1].body)["id"]
            answers.append(await gateway.ask([USER], (10, 10, 0), previous_response_id=before))
        return answers

    assert [each.status for each in asyncio.run(ask())] == [200] * 4
    assert 830 < gateway.reserved[-1] < 2_000


@pytest.mark.parametrize("name", NAMED)
def test_hidden_thinking_is_reserved_each_time_it_is_named(name):
    gateway = Gateway(budget=10_000_000)

    async def ask() -> None:
        first = await gateway.ask([USER], (50_000, 30, 0))
        thinking = json.loads(first.body)["output"][0]["id"]
        answer = await gateway.ask([USER, *[NAMED[name](thinking)] * 3, USER], (10, 10, 0))
        assert answer.status == 200, answer.body

    asyncio.run(ask())
    assert gateway.service.served[1].input > 150_000
    assert gateway.reserved[1] >= gateway.service.served[1].input


def test_what_the_gateway_does_not_know_reserves_the_window():
    gateway = Gateway(budget=1_000_000)

    async def ask() -> list[Came]:
        await gateway.ask([USER], (10, 10, 90_000))
        await gateway.ask([USER], (10, 10, 0))
        gateway.context.memory = type(gateway.context.memory)()  # an hour later, or elsewhere
        gateway.context.kept = LocalKeptStore(seconds=60, size=1 << 20)
        unknown = (
            [by_reference("rs_1")],
            [by_reference("msg_1")],
            [{"type": "reasoning", "id": "rs_1"}],
        )
        found = [await gateway.ask([USER, *each], (1, 1, 0)) for each in unknown]
        return [*found, await gateway.ask([USER], (1, 1, 0), previous_response_id="resp_1")]

    for answer in asyncio.run(ask()):
        assert (answer.status, len(gateway.service.served)) == (429, 2)
        assert b"something that the service has stored" in answer.body


STEPS = st.tuples(
    st.tuples(
        st.sampled_from([0, 5, 3_000, 50_000]),
        st.sampled_from([0, 7, 5_000]),
        st.sampled_from([0, 0, 80_000]),
    ),
    st.lists(
        st.tuples(st.integers(0, 99), st.sampled_from([*NAMED, "thinking", "whole"])), max_size=5
    ),
    st.one_of(st.none(), st.integers(0, 99)),
)


@given(st.lists(STEPS, min_size=2, max_size=6))
def test_no_request_reads_more_of_what_is_stored_than_it_reserved(steps):
    gateway = Gateway(budget=100_000_000)

    async def ask() -> None:
        items: list[Json] = []
        answers: list[str] = []
        for script, named, before in steps:
            given = [USER]
            for which, how in named if items else ():
                item = items[which % len(items)]
                if how in NAMED:
                    given.append(NAMED[how](item["id"]))
                elif how == "whole" or item["type"] == "reasoning":
                    given.append(item)
            more = {}
            if before is not None and answers:
                more["previous_response_id"] = answers[before % len(answers)]
            answer = await gateway.ask(given, script, **more)
            assert answer.status == 200, answer.body
            came_back = json.loads(answer.body)
            items += came_back["output"]
            answers.append(came_back["id"])

    asyncio.run(ask())
    for served, reserved in zip(gateway.service.served, gateway.reserved, strict=True):
        assert min(served.input, WINDOW) <= reserved  # a longer prompt is rejected

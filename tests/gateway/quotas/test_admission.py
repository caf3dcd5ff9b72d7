"""Limits and budgets at the gate: what is refused says why and counts nothing; nobody overspends."""

import asyncio
import json
import re
from collections.abc import Sequence
from math import ceil

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest, ResponseHead, Usage
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator
from pondero.errors import Overloaded, QuotaSpent, RateLimited
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import BILLION, find_quotas, format_spend
from pondero.gateway.requests.errors import write_error
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.shared_state import make_shared_state
from pondero.store import load_catalog, price_usage

OPUS = GatewayRoute("opus", ("anthropic:claude-opus-5",))
CI = GatewayKey("ci", hash_key("the-key"))


QUESTION = "What is 17 * 23? Think about it."


def asked(
    text: str = QUESTION, *, most: int = 2000, model: str = "opus", stream: bool = False
) -> HttpRequest:
    body = {
        "model": model,
        "max_tokens": most,
        "stream": stream,
        "messages": [{"role": "user", "content": text}],
    }
    headers = {"x-api-key": "the-key", "content-type": "application/json"}
    return HttpRequest("POST", "http://gateway/v1/messages", headers, json.dumps(body).encode())


class Served:
    """A gateway with one key and one route, and the receipts of what it did."""

    def __init__(self, key: GatewayKey = CI, route: GatewayRoute = OPUS, **server: object) -> None:
        self.receipts: list[Receipt] = []
        config = GatewayConfig(
            server=replace(ServerConfig(), **server), routes=(route,), keys=(key,)
        )
        shared = make_shared_state(config.server)
        self.gate = GatewayContext(
            config, Emulator(), observers=[self.receipts.append], shared=shared
        )
        self.bounds = find_quotas(key, route)
        self._app = App(self.gate)

    async def came(self, http: HttpRequest) -> Came:
        return await came(self._app, http)

    async def taken(self) -> dict[str, int]:
        await self.gate.state.wait_until_counted()
        counts = await self.gate.state.current_use(self.bounds)
        return {bound.unit: count for bound, count in zip(self.bounds, counts, strict=True)}


def spent(receipts: Sequence[Receipt]) -> dict[str, int]:
    """Return what the answers cost, worked out from their receipts."""
    done = [each for each in receipts if each.end == "done"]
    prices = [price_usage("anthropic", "claude-opus-5", each.usage) or 0 for each in done]
    return {
        "requests": len(done),
        "tokens": sum(each.usage.known_total for each in done),
        "thinking_tokens": sum(each.usage.thinking or 0 for each in done),
        "money": sum(ceil(price * BILLION) for price in prices),
    }


async def _several(served: Served, requests: Sequence[HttpRequest]) -> list[Came]:
    return [await served.came(each) for each in requests]


@pytest.mark.parametrize("name", NAMES)
def test_every_wire_says_429_and_when_to_come_again(name):
    """The front's own service side writes it; its own caller side must understand it."""
    service, caller = get_dialect(name).service(), get_dialect(name).caller()
    for kind in (RateLimited, QuotaSpent):
        response = write_error(kind("no room", status=429, retry_after=17), name, service)
        assert response.status == 429
        read = caller.error(ResponseHead(response.status, response.headers), response.body)
        assert isinstance(read, RateLimited | QuotaSpent)
        assert read.retry_after == 17


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wait", [0.2, 17.5, 1_125_389.25, 31_536_000])
def test_every_wire_says_a_wait_of_any_length_in_digits(name, wait):
    """Days were once told as ``1.12539e+06``, which no header and no duration may contain."""
    service, caller = get_dialect(name).service(), get_dialect(name).caller()
    response = write_error(QuotaSpent("no room", status=429, retry_after=wait), name, service)

    read = caller.error(ResponseHead(response.status, response.headers), response.body)
    assert wait <= read.retry_after < wait + 1
    assert response.headers.get("retry-after", "0").isdecimal()
    assert response.headers.get("retry-after-ms", "0").isdecimal()
    assert b"e+0" not in response.body


PASSED_ON = {
    "anthropic": "anthropic:claude-opus-5",
    "openai_chat": "deepseek:deepseek-v4-flash",
    "openai_responses": "openai:gpt-5.5",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_spent_budget_asks_no_client_for_another_try(name):
    """SDKs try a 429 again at once unless told otherwise, also one of a monthly budget."""
    service = get_dialect(name).service()
    spent = QuotaSpent("no room", status=429, retry_after=86_400)
    assert write_error(spent, name, service).headers["x-should-retry"] == "false"
    if name in PASSED_ON:
        body = service.error(429, "spent", code="insufficient_quota", retry_after=None).body
        entry = load_catalog().entry(PASSED_ON[name])
        passed = write_error(QuotaSpent("spent", status=429, body=body), name, service, entry)
        assert (passed.body, passed.headers["x-should-retry"]) == (body, "false")
    full = RateLimited("no room", status=429, retry_after=5)
    assert write_error(full, name, service).headers.get("x-should-retry") != "false"


def test_a_limit_lets_in_exactly_so_many():
    served = Served(replace(CI, limit=RateLimitRule(requests=3)))
    answers = asyncio.run(_several(served, [asked()] * 5))

    assert [each.status for each in answers] == [200, 200, 200, 429, 429]
    error = json.loads(answers[3].body)["error"]
    assert error["type"] == "rate_limit_error"
    assert error["message"].startswith("key ci may take 3 requests per minute; there is room again")
    assert 0 < int(answers[3].headers["retry-after"]) <= 62
    assert [each.end for each in served.receipts] == ["done"] * 3 + ["refused"] * 2
    assert asyncio.run(served.taken()) == {"requests": 3}


def test_a_request_that_may_take_a_whole_limit_of_tokens_is_told_so():
    """The client used few tokens, so the limit alone would not explain its 429."""
    served = Served(replace(CI, limit=RateLimitRule(tokens=2_000)))
    answers = asyncio.run(_several(served, [asked(), asked()]))

    assert [each.status for each in answers] == [200, 429]
    message = json.loads(answers[1].body)["error"]["message"]
    assert "; there is room again in " in message
    assert message.endswith("; this request may take all of them: ask for fewer max_tokens")


def test_what_is_counted_is_what_the_service_counted():
    everything = SpendBudget(cost=5, thinking_tokens=100_000, tokens=100_000)
    served = Served(replace(CI, budget=everything))
    answers = asyncio.run(_several(served, [asked(), asked(stream=True)]))

    assert [each.status for each in answers] == [200, 200]
    taken = asyncio.run(served.taken())
    assert taken == {name: spent(served.receipts)[name] for name in taken}
    assert all(taken.values())


def _read_amount(message: str, before: str) -> float:
    """Return the number that a message has after these words."""
    return float(message.partition(before)[2].split()[0].strip("$;").replace(",", ""))


@pytest.mark.parametrize(
    ("billionths", "shown"),
    [
        (50_000_000, "$0.05"),
        (23_155_000, "$0.0232"),
        (0, "$0.00"),
        (999_000_000, "$0.999"),
        (1_234_567_000_000, "$1,234.57"),
    ],
)
def test_amounts_below_a_dollar_have_the_digits_that_tell_them_apart(billionths, shown):
    assert format_spend(billionths) == shown


@pytest.mark.parametrize("unit", ["money", "tokens", "thinking_tokens"])
def test_a_budget_that_does_not_cover_a_request_refuses_it_and_counts_nothing(unit):
    most = {"money": 0.2, "tokens": 9000, "thinking_tokens": 8000}[unit]
    served = Served(
        replace(CI, budget=SpendBudget(**{"cost" if unit == "money" else unit: most}, per="day"))
    )
    answers = asyncio.run(_several(served, [asked(most=6000)] * 60))
    statuses = [each.status for each in answers]
    first = statuses.index(429)

    assert set(statuses[:first]) == {200}
    message = json.loads(answers[first].body)["error"]["message"]
    assert "per day" in message
    assert "the budget begins again at" in message
    left, needed = (_read_amount(message, said) for said in ("and has ", "this request needs "))
    assert 0 < left < needed <= most
    assert 0 < int(answers[first].headers["retry-after"]) <= 86_400
    taken = asyncio.run(served.taken())[unit]
    assert taken == spent(served.receipts)[unit]
    assert 0 < taken <= most * (BILLION if unit == "money" else 1)


def test_a_request_that_a_whole_budget_cannot_cover_says_what_would_help():
    served = Served(replace(CI, budget=SpendBudget(tokens=500)))
    (answer,) = asyncio.run(_several(served, [asked(most=6000)]))

    assert answer.status == 429
    assert "this request alone may take" in json.loads(answer.body)["error"]["message"]
    assert "retry-after" not in answer.headers, "it will not fit in the next period either"
    assert answer.headers["x-should-retry"] == "false"
    assert asyncio.run(served.taken()) == {"tokens": 0}


@pytest.mark.parametrize(
    ("budget", "needs"),
    [
        (
            SpendBudget(tokens=500),
            r"500 tokens per month, and the prompt alone needs [\d,]+ tokens",
        ),
        (SpendBudget(cost=0.01), r"\$0.01 per month, and the prompt alone needs \$0\.\d+"),
    ],
    ids=["tokens", "cost"],
)
def test_a_prompt_that_a_whole_budget_cannot_cover_is_what_must_be_shorter(budget, needs):
    served = Served(replace(CI, budget=budget, thinking=LevelRules(force="off")))
    (answer,) = asyncio.run(_several(served, [asked("word " * 9_000, most=16)]))

    assert answer.status == 429
    message = json.loads(answer.body)["error"]["message"]
    assert re.search(needs, message)
    assert message.endswith("; shorten it, or raise the budget")


def test_without_thinking_an_answer_needs_no_budget_for_it():
    key = replace(CI, budget=SpendBudget(thinking_tokens=1), thinking=LevelRules(force="off"))
    route = GatewayRoute("opus", ("anthropic:claude-sonnet-4-5",))
    thinking = replace(key, thinking=LevelRules(force="high"))

    assert asyncio.run(_several(Served(key, route), [asked()]))[0].status == 200
    assert asyncio.run(_several(Served(thinking, route), [asked()]))[0].status == 429


def test_a_model_whose_price_nobody_knows_is_not_asked_on_a_budget_in_money():
    route = GatewayRoute("opus", ("anthropic:claude-nobody-knows-1",))
    served = Served(replace(CI, budget=SpendBudget(cost=5)), route)
    (answer,) = asyncio.run(_several(served, [asked()]))

    assert answer.status == 403
    assert "no price is known" in json.loads(answer.body)["error"]["message"]


def test_a_route_has_bounds_for_all_who_take_it():
    served = Served(CI, replace(OPUS, limit=RateLimitRule(requests=1)))
    answers = asyncio.run(_several(served, [asked(), asked()]))

    assert [each.status for each in answers] == [200, 429]
    assert "route opus may take 1 requests per minute" in answers[1].body.decode()


@pytest.mark.parametrize("state", ["memory", "redis"])
def test_a_thousand_at_once_cannot_overspend(state, request):
    address = "memory" if state == "memory" else request.getfixturevalue("redis").url
    key = replace(CI, budget=SpendBudget(tokens=60_000, cost=3, per="day"))

    async def run() -> None:
        served = Served(key, state=address)
        answers = await asyncio.gather(*(served.came(asked()) for _ in range(1000)))
        statuses = {each.status for each in answers}
        assert statuses == {200, 429}
        taken, real = await served.taken(), spent(served.receipts)
        assert taken == {name: real[name] for name in taken}
        assert taken["tokens"] <= 60_000
        assert taken["money"] <= 3 * BILLION
        refused = [each for each in served.receipts if each.end == "refused"]
        assert all(each.usage == Usage() for each in refused)
        assert len(refused) == sum(each.status == 429 for each in answers)
        await served.gate.shared.aclose()

    asyncio.run(run())


# -- how a request ends ---------------------------------------------------------------------------


class _Failing(Emulator):
    """Services that are down."""

    async def send(self, request, timeouts):
        raise Overloaded("no", status=529, retry_after=0)


def test_an_error_of_the_service_takes_one_request_and_no_tokens():
    served = Served(
        replace(CI, limit=RateLimitRule(requests=9, tokens=90_000)), replace(OPUS, retries=0)
    )
    served.gate.transport = _Failing()
    (answer,) = asyncio.run(_several(served, [asked()]))

    assert answer.status == 529
    assert asyncio.run(served.taken()) == {"requests": 1, "tokens": 0}


def test_a_request_that_reached_no_model_takes_nothing():
    served = Served(replace(CI, limit=RateLimitRule(requests=9)), replace(OPUS, strict=True))
    strange = asked(model="opus/8000")
    (answer,) = asyncio.run(_several(served, [strange]))

    assert answer.status == 400
    assert asyncio.run(served.taken()) == {"requests": 0}


@pytest.mark.parametrize("after", [1, 2])
def test_who_hangs_up_pays_for_all_that_may_have_been_served(after):
    """Else a client could read an answer for nothing and leave before its last byte."""

    async def run() -> tuple[dict[str, int], int]:
        served = Served(replace(CI, budget=SpendBudget(tokens=90_000)))
        http = asked(stream=True)
        waiting = [{"type": "http.request", "body": http.body, "more_body": False}]
        gone, seen = asyncio.Event(), 0

        async def receive():
            if waiting:
                return waiting.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            nonlocal seen
            seen += message["type"] == "http.response.body"
            if seen == after:
                gone.set()
                await asyncio.sleep(10)  # the hang-up ends this

        path, headers = "/v1/messages", [(k.encode(), v.encode()) for k, v in http.headers.items()]
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
        with pytest.raises(asyncio.CancelledError):
            await App(served.gate)(scope, receive, send)
        (receipt,) = served.receipts
        assert (receipt.end, receipt.estimated) == ("left", True)
        taken = await served.taken()
        assert taken == {"tokens": receipt.usage.known_total}
        return taken, seen

    taken, seen = asyncio.run(run())
    assert seen == after
    assert 2_000 < taken["tokens"] < 2_050  # its max_tokens, and the prompt

"""Figures for Prometheus, read back with its own parser."""

import asyncio
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from tests.gateway.asgi import came

from pondero.canon import HttpRequest, Usage
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.metrics import OTHER, TOKENS, Metrics
from pondero.gateway.observability.observers import Observers
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.breakers import FAILURES, REST, Breakers

RECEIPT = Receipt(
    id="a",
    at=0.0,
    key="ci",
    front="chat",
    said="opus",
    provider="north",
    model="m1",
    road="translated",
    asked="high",
    sent="medium",
    why="cap",
    adjustments=("level",),
    usage=Usage(100, 5, None, 20, 80),
    first=0.2,
    seconds=3.0,
    cost=Decimal("0.5"),
)


def figures(metrics: Metrics) -> dict[tuple, float]:
    text = metrics.page().body.decode()
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def total(found: dict[tuple, float], name: str) -> float:
    return sum(value for (sample, *_), value in found.items() if sample == name)


@given(st.lists(st.sampled_from([0.0, 0.05, 0.051, 0.1, 1.0, 600.0, 601.0, 1e6]), max_size=200))
def test_each_time_is_in_every_bucket_from_its_own_on(seconds):
    metrics = Metrics()
    for each in seconds:
        metrics.note(replace(RECEIPT, seconds=each))
    name = "pondero_request_seconds"
    for (sample, *labels), value in figures(metrics).items():
        if sample == f"{name}_bucket":
            most = float(dict(labels)["le"])
            assert value == sum(each <= most for each in seconds)
        elif sample == f"{name}_sum":
            assert value == pytest.approx(sum(seconds))


def test_thinking_is_counted_by_model_level_and_key():
    metrics = Metrics()
    metrics.note(RECEIPT)
    metrics.note(replace(RECEIPT, sent="8000", asked="8000"))
    found = figures(metrics)
    here = (("key", "ci"), ("level", "medium"), ("model", "north:m1"))
    assert found["pondero_thinking_tokens_total", *here] == 80
    other = (("key", "ci"), ("level", TOKENS), ("model", "north:m1"))
    assert found["pondero_thinking_tokens_total", *other] == 80
    dial = (("key", "ci"), ("model", "north:m1"), ("why", "cap"))
    assert found["pondero_dial_total", *dial] == 1
    assert total(found, "pondero_cost_dollars_total") == 1
    assert total(found, "pondero_request_seconds_count") == 2
    assert total(found, "pondero_first_event_seconds_sum") == pytest.approx(0.4)
    assert total(found, "pondero_adjustments_total") == 2


_counts = st.none() | st.integers(0, 10**9)
_receipts = st.builds(
    replace,
    st.just(RECEIPT),
    provider=st.sampled_from(["north", "south"]),
    model=st.sampled_from(["m1", "m2"]),
    key=st.sampled_from(["a", 'quo"ted', "new\nline"]),
    end=st.sampled_from(["done", "failed", "left", "refused"]),
    usage=st.builds(Usage, _counts, _counts, _counts, _counts, _counts),
)


@given(st.lists(_receipts, max_size=12))
def test_every_token_is_counted_once_under_its_kind(each):
    metrics = Metrics()
    sums: Counter[str] = Counter()
    for receipt in each:
        metrics.note(receipt)
        usage = receipt.usage
        for kind in ("input", "cache_read", "cache_write", "output", "thinking"):
            sums[kind] += getattr(usage, kind) or 0
    found = figures(metrics)
    assert total(found, "pondero_requests_total") == len(each)
    assert total(found, "pondero_thinking_tokens_total") == sums["thinking"]
    for kind, count in sums.items():
        counted = [
            n
            for key, n in found.items()
            if key[0] == "pondero_tokens_total" and ("kind", kind) in key
        ]
        assert sum(counted) == count


def test_names_that_nobody_answers_to_make_no_figures_of_their_own():
    metrics = Metrics()
    for number in range(100):
        metrics.note(replace(RECEIPT, model=f"made-up-{number}", end="failed", status=404))
    metrics.note(replace(RECEIPT, model=None, provider=None, end="refused", status=404))
    models = {dict(key[1:]).get("model") for key in figures(metrics)}
    assert models - {None} == {OTHER, ""}


def test_a_breaker_that_opens_and_closes_is_seen():
    now = 0.0
    breakers = Breakers(lambda: now)
    states = breakers.states()
    metrics = Metrics(lambda: states)
    here = ("pondero_breaker", ("deployment", "north:m1"))
    for _ in range(FAILURES):
        asyncio.run(breakers.record_failure("north:m1"))
    states = breakers.states()
    assert figures(metrics)[here] == 2
    now = REST
    assert not asyncio.run(breakers.is_open("north:m1"))  # the probe
    states = breakers.states()
    assert figures(metrics)[here] == 1
    states = {}
    assert figures(metrics)[here] == 0


def test_the_page_needs_a_key_where_there_are_keys():
    key = "pnd_" + "0" * 40
    keys = (GatewayKey("prometheus", hash_key(key), metrics=True, models=(), endpoints=()),)
    config = GatewayConfig(ServerConfig(), keys=keys)
    app = App(GatewayContext(config, Emulator()), Observers(metrics=Metrics()))

    async def at(headers: dict[str, str]) -> int:
        return (await came(app, HttpRequest("GET", "http://x/metrics", headers, b""))).status

    assert asyncio.run(at({})) == 401
    assert asyncio.run(at({"authorization": f"Bearer {key}"})) == 200


def test_without_metrics_nothing_is_there():
    app = App(GatewayContext(GatewayConfig(), Emulator()))
    request = HttpRequest("GET", "http://x/metrics", {}, b"")
    assert asyncio.run(came(app, request)).status == 404


def test_every_state_of_a_breaker_has_a_number():
    states = {"a": "closed", "b": "probing", "c": "open", "d": "paused"}
    page = Metrics(lambda: states).page().body.decode()
    for number, name in enumerate(states):
        assert f'pondero_breaker{{deployment="{name}"}} {number}.0' in page


def test_requests_and_dollars_are_counted_by_group():
    metrics = Metrics()
    for _ in range(2):
        metrics.note(replace(RECEIPT, group="team"))
    metrics.note(RECEIPT)
    found = figures(metrics)
    assert total(found, "pondero_group_requests_total") == 2
    assert total(found, "pondero_group_cost_dollars_total") == 1

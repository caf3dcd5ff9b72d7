"""Which requests have a record, and how many rows somebody without a key can write."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator, Fault
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.access_log import format_line
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.observers import Observers
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.server.rejections import (
    ADDRESSES,
    IN_ALL,
    PER_ADDRESS,
    Rejections,
    group_address,
)
from pondero.gateway.state.redis_link import SharedStateLost

KEY, ADMIN, METRICS = ("pnd_" + digit * 40 for digit in "012")
KEYS = (
    GatewayKey("ci", hash_key(KEY), models=("opus",)),
    GatewayKey("boss", hash_key(ADMIN), admin=True),
    GatewayKey("prometheus", hash_key(METRICS), metrics=True),
)
ROUTES = (
    GatewayRoute("opus", ("anthropic:claude-opus-5",)),
    GatewayRoute("other", ("anthropic:claude-opus-5",)),
)
SECRET_TEXT = "the-text-of-a-conversation"
ASKED = {
    "model": "opus",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": SECRET_TEXT}],
}

COUNTED = {name: value for name, value in ASKED.items() if name != "max_tokens"}


class Gate:
    """A gateway in this process, what it recorded, and its clock."""

    def __init__(self, emulator: Emulator | None = None, **server: Any) -> None:
        self.seen: list[Receipt] = []
        self.seen_first: list[Receipt] = []  # when the last answer began
        config = GatewayConfig(ServerConfig(**server), ROUTES, keys=KEYS)
        transport = emulator or Emulator()
        self.context = GatewayContext(config, transport, observers=(self.seen.append,))
        self.time = 1_000_000.0
        vars(self.context)["now"] = lambda: self.time
        self.app = App(self.context, Observers(metrics=Metrics()))

    async def ask(
        self, method: str, path: str, key: str = KEY, body: object = None, **headers: str
    ) -> int:
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        sent = {"x-api-key": key, **{k.replace("_", "-"): v for k, v in headers.items()}}
        http = HttpRequest(method, f"http://x{path}", sent, data)
        return (await came(self.app, http, self._note_start)).status

    def _note_start(self) -> None:
        self.seen_first = list(self.seen)


def changed(**fields: object) -> dict[str, object]:
    return {**ASKED, **fields}


ROWS: dict[str, tuple[Callable[[Gate], object], int, str, str]] = {
    "no key": (
        lambda g: g.ask("POST", "/v1/messages", "", ASKED),
        401,
        "",
        "the request has no gateway key; send it as 'authorization: Bearer KEY'",
    ),
    "an unknown key": (
        lambda g: g.ask("POST", "/v1/messages", "pnd_nobody", ASKED),
        401,
        "",
        "unknown gateway key",
    ),
    "no admin key": (
        lambda g: g.ask("GET", "/admin/keys", authorization="Bearer pnd_nobody"),
        401,
        "",
        "an admin key is required",
    ),
    "a key that is no admin key": (
        lambda g: g.ask("GET", "/admin/keys", authorization=f"Bearer {KEY}"),
        403,
        "ci",
        "the key 'ci' is not an admin key",
    ),
    "a key that may not read metrics": (
        lambda g: g.ask("GET", "/metrics"),
        403,
        "ci",
        "the key 'ci' may not read metrics",
    ),
    "an unknown path": (lambda g: g.ask("GET", "/v1/nothing"), 404, "ci", "the gateway serves no"),
    "an unknown model": (
        lambda g: g.ask("POST", "/v1/messages", body=changed(model="nobody")),
        404,
        "ci",
        "unknown model 'nobody'",
    ),
    "a model of others": (
        lambda g: g.ask("POST", "/v1/messages", body=changed(model="other")),
        403,
        "ci",
        "this key may not use 'other'",
    ),
    "an unreadable body": (
        lambda g: g.ask("POST", "/v1/messages", body=b"\x00", content_encoding="gzip"),
        400,
        "ci",
        "the body is not gzip",
    ),
    "a body that is not JSON": (
        lambda g: g.ask("POST", "/v1/messages", body=b"{" + SECRET_TEXT.encode()),
        400,
        "ci",
        "",
    ),
    "a body that is too large": (
        lambda g: g.ask("POST", "/v1/messages", body=b"a" * 2_000),
        413,
        "ci",
        "a request may have 1,000 bytes",
    ),
    "too many header lines": (
        lambda g: g.ask("GET", "/v1/models", **{f"x{number}": "1" for number in range(129)}),
        431,
        "",
        "the head of a request may have 65,536 bytes and 128 lines",
    ),
    "a model list": (lambda g: g.ask("GET", "/v1/models"), 200, "ci", "model list"),
    "a token count": (
        lambda g: g.ask("POST", "/v1/messages/count_tokens", body=COUNTED),
        200,
        "ci",
        "token count",
    ),
    "a token count of an unknown model": (
        lambda g: g.ask("POST", "/v1/messages/count_tokens", body={**COUNTED, "model": "nobody"}),
        404,
        "ci",
        "unknown model '...'",
    ),
    "a WebSocket": (
        lambda g: g.ask("GET", "/v1/responses", upgrade="websocket"),
        426,
        "",
        "WebSocket",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_request_has_one_record_with_its_reason(name):
    ask, status, key, reason = ROWS[name]
    gate = Gate(max_body=1_000)
    assert asyncio.run(ask(gate)) == status
    (record,) = gate.seen
    assert (record.status, record.key) == (status, key)
    assert record.end == ("done" if status == 200 else "refused")
    if status != 200:  # a process that is killed right after its answer leaves the record
        assert gate.seen_first == [record]
    assert (record.reason or "").startswith(reason)
    assert len(record.reason.splitlines()) == 1
    line = format_line(record)
    assert not [text for text in (SECRET_TEXT, "pnd_") if text in line]


@pytest.mark.parametrize("model", ["opus", "nobody"])
def test_the_record_of_a_token_count_names_the_requested_model(model):
    gate = Gate()
    asyncio.run(gate.ask("POST", "/v1/messages/count_tokens", body={**COUNTED, "model": model}))
    assert [record.said for record in gate.seen] == [model]


@pytest.mark.parametrize("path", ["/health", "/", "/metrics", "/console/", "/admin/keys"])
def test_what_the_page_says_has_no_record_has_none(path):
    gate = Gate()
    key = {"authorization": f"Bearer {ADMIN}", "host": "127.0.0.1"}
    assert asyncio.run(gate.ask("GET", path, METRICS, **key)) == 200
    assert gate.seen == []


def test_the_console_may_ask_whether_it_needs_a_key():
    gate = Gate()

    async def run() -> set[int]:
        return {await gate.ask("GET", "/admin/keys") for _ in range(2 * PER_ADDRESS)}

    assert asyncio.run(run()) == {401}
    assert gate.seen == []


@pytest.mark.parametrize("key", [ADMIN, METRICS])
def test_metrics_are_read_with_a_key_for_them(key):
    assert asyncio.run(Gate().ask("GET", "/metrics", key)) == 200


def test_a_rejection_because_the_state_is_lost_has_a_record():
    gate = Gate(on_state_loss="refuse")

    async def look() -> None:
        raise SharedStateLost("the shared state is away")

    gate.context.shared = replace(gate.context.shared, look=look)
    assert asyncio.run(gate.ask("POST", "/v1/messages", body=ASKED)) == 529
    (record,) = gate.seen
    assert (record.status, record.end, record.front) == (529, "refused", "anthropic")
    assert "the shared state is away" in (record.reason or "")


def test_a_failure_of_the_service_has_a_reason_without_its_words():
    fault = Fault(kind="status", status=400, message=f"no {SECRET_TEXT}, please")
    gate = Gate(Emulator(faults=[fault] * 9))
    status = asyncio.run(gate.ask("POST", "/v1/messages", body=ASKED))
    (record,) = gate.seen
    assert (record.status, record.end) == (status, "failed")
    assert "of the service, status 400" in (record.reason or "")
    assert SECRET_TEXT not in format_line(record)


# -- many -----------------------------------------------------------------------------------------


def test_many_wrong_keys_of_an_address_are_limited_and_share_a_row():
    async def run() -> tuple[Gate, list[int], list[int]]:
        gate = Gate()
        wrong = [await gate.ask("POST", "/v1/messages", "pnd_nobody", ASKED) for _ in range(500)]
        right = [await gate.ask("POST", "/v1/messages", KEY, ASKED) for _ in range(3)]
        gate.time += 61
        wrong.append(await gate.ask("POST", "/v1/messages", "pnd_nobody", ASKED))
        gate.app.rejections.close()
        return gate, wrong, right

    gate, wrong, right = asyncio.run(run())
    assert wrong == [401] * PER_ADDRESS + [429] * (500 - PER_ADDRESS) + [401]
    assert right == [200] * 3
    rows = [record for record in gate.seen if record.end == "refused"]
    assert len(rows) == PER_ADDRESS + 2
    assert (rows[-2].reason or "").startswith(f"{500 - PER_ADDRESS} more rejected in a minute")
    assert len({row.id for row in rows}) == len(rows)


def test_what_was_counted_is_recorded_at_the_end():
    async def run() -> Gate:
        gate = Gate()
        for _ in range(PER_ADDRESS + 5):
            await gate.ask("GET", "/v1/models", "pnd_nobody")
        gate.app.rejections.close()
        gate.app.rejections.close()
        return gate

    rows = asyncio.run(run()).seen
    assert len(rows) == PER_ADDRESS + 1
    assert (rows[-1].reason or "").startswith("5 more")


@given(
    steps=st.lists(
        st.one_of(st.sampled_from("abc"), st.sampled_from([0.5, 1.5, 61.0]), st.just(None)),
        max_size=120,
    )
)
def test_whenever_it_is_killed_the_rows_add_up_to_what_was_rejected(steps):
    """A judge of the journal: the end of a record replaces what was saved before under its id."""
    rows: dict[str, tuple[bool, int]] = {}

    def keep(receipt: Receipt, *, ended: bool) -> None:
        found = re.search(r"(\d+) more rejected", receipt.reason or "")
        assert not rows.get(receipt.id, (False, 0))[0], "a record ended twice"
        rows[receipt.id] = (ended, int(found[1]) if found else 1)

    async def run() -> None:
        gate = Gate()
        gate.context.observers = (lambda receipt: keep(receipt, ended=True),)
        gate.context.save_begun = lambda receipt: keep(receipt, ended=False)
        rejections, count = Rejections(gate.context), 0
        for step in steps:
            if isinstance(step, str):
                for _ in range(PER_ADDRESS // 2 + 1):
                    count += 1
                    rejections.note(f"{count:024x}", step, 401, "no")
            elif step is None:
                rejections._write_ended()
            else:
                gate.time += step
                if rejections._saving is not None:  # as the loop does after a second
                    rejections._saving.cancel()
                    rejections._save_again()
                assert sum(number for _, number in rows.values()) == count
        rejections.close()
        assert sum(number for _, number in rows.values()) == count
        assert all(ended for ended, _ in rows.values())

    asyncio.run(run())


def test_the_rows_and_the_memory_of_any_number_of_addresses_are_bounded():
    async def run() -> tuple[Gate, Rejections]:
        gate = Gate()
        rejections = Rejections(gate.context)
        for number in range(3 * ADDRESSES):
            address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            rejections.note(f"{number:024x}", address, 401, "no")
        gone = len(gate.seen)
        rejections.close()
        assert gone == IN_ALL + 2 * ADDRESSES - IN_ALL  # those forgotten have their row
        return gate, rejections

    _, rejections = asyncio.run(run())
    assert len(rejections._windows) == ADDRESSES


def test_an_ipv6_host_cannot_use_all_of_its_addresses():
    assert group_address("2001:db8::1") == group_address("2001:db8::ffff") == "2001:db8::/64"
    assert group_address("::ffff:10.0.0.1") == "::ffff:10.0.0.1"
    assert group_address("10.0.0.1") != group_address("10.0.0.2")
    assert group_address("fe80::1%eth0") == "fe80::/64"
    assert group_address("") == ""

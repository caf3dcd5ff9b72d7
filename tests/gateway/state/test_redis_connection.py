"""The one connection to Redis: what it sends together, and what it survives."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.gateway.redis_proxy import redis_proxy

from pondero.gateway.state.redis_connection import _read_address
from pondero.gateway.state.redis_link import RedisLink, SharedStateLost


@asynccontextmanager
async def _link(url: str) -> AsyncIterator[RedisLink]:
    link = RedisLink(url)
    try:
        yield link
    finally:
        await link.aclose()


def test_commands_of_one_step_leave_in_one_write(redis):
    async def run() -> None:
        async with redis_proxy(redis.port) as proxy, _link(proxy.url) as link:
            await link.send("PING")
            before = len(proxy.trips)
            link.post("SET", "a", 1)
            first = link.send("INCR", "a")
            several = link.send_all([("GET", "a"), ("GET", "b")])
            assert await several == [b"2", None]
            assert await first == 2
            assert proxy.trips[before:] == [["SET", "INCR", "GET", "GET"]]

    asyncio.run(run())


def test_what_is_flushed_is_written_before_the_step_ends(redis):
    async def run() -> None:
        async with redis_proxy(redis.port) as proxy, _link(proxy.url) as link:
            await link.send("PING")
            before = len(proxy.trips)
            link.post("SET", "a", 1)
            link.flush()
            answer = link.send("GET", "a")
            assert await answer == b"1"
            await proxy.wait_for(before + 1)
            assert [word for trip in proxy.trips[before:] for word in trip] == ["SET", "GET"]

    asyncio.run(run())


def test_commands_without_an_answer_are_sent_again_over_another_connection(redis):
    """Redis was started again, or closed a connection that was idle."""

    async def run() -> None:
        async with _link(redis.url) as link:
            assert await link.send("SET", "a", 1) == b"OK"
            redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            answers = [link.send("GET", "a") for _ in range(20)]
            assert await asyncio.gather(*answers) == [b"1"] * 20
            assert not link.is_away

    asyncio.run(run())


def test_a_redis_that_hangs_is_given_up_and_all_who_wait_are_told(redis):
    async def run() -> None:
        async with _link(redis.url) as link:
            await link.send("PING")
            redis.hang()
            try:
                answers = [link.send("PING") for _ in range(3)]
                for each in answers:
                    with pytest.raises(SharedStateLost):
                        await each
                assert link.is_away
            finally:
                redis.resume()

    asyncio.run(run())


def test_a_link_that_was_closed_opens_nothing_again(redis):
    async def run() -> None:
        async with redis_proxy(redis.port) as proxy:
            link = RedisLink(proxy.url)
            await link.send("PING")
            await link.aclose()
            trips = len(proxy.trips)
            link.post("SET", "a", 1)
            with pytest.raises(SharedStateLost):
                await link.send("GET", "a")
            await asyncio.sleep(0.05)
            assert len(proxy.trips) == trips

    asyncio.run(run())


def test_a_link_that_is_lost_while_it_closes_does_not_try_again():
    async def run() -> None:
        link = RedisLink("redis://127.0.0.1:1/0")  # where nothing listens
        link.post("SET", "a", 1)
        await link.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_a_script_that_redis_forgot_is_sent_whole(redis):
    async def run() -> None:
        async with _link(redis.url) as link:
            await link.send("PING")
            redis.command("SCRIPT", "FLUSH")
            assert await link.run("breaker", ["breakers"], ["ask", "m", 5, 1, 1, 1]) == 0
            assert await link.run("breaker", ["breakers"], ["ask", "m", 5, 1, 1, 1]) == 0

    asyncio.run(run())


def test_who_stops_waiting_takes_no_answer_from_others(redis):
    async def run() -> None:
        async with _link(redis.url) as link:
            await link.send("SET", "a", 1)
            left, stays = link.send("GET", "a"), link.send("GET", "b")
            left.cancel()
            assert await stays is None
            assert await link.send("GET", "a") == b"1"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "login"),
    [
        ("redis://h", []),
        ("redis://:pass%20word@h:1/2", [("AUTH", "pass word"), ("SELECT", 2)]),
        ("redis://me:it@h/0", [("AUTH", "me", "it")]),
        ("unix:///a/b.sock?db=3", [("SELECT", 3)]),
    ],
)
def test_an_address_says_how_to_log_in(url, login):
    assert _read_address(url).list_login() == login


@pytest.mark.parametrize(
    ("query", "mode"), [("", ssl.CERT_REQUIRED), ("?ssl_cert_reqs=none", ssl.CERT_NONE)]
)
def test_an_encrypted_address_checks_the_certificate_unless_told_not_to(query, mode):
    tls: Any = _read_address(f"rediss://h:6380/0{query}")._tls
    assert tls.verify_mode == mode


def test_a_password_that_redis_rejects_loses_the_state(redis):
    redis.command("CONFIG", "SET", "requirepass", "right")
    try:

        async def run() -> None:
            wrong = redis.url.replace("redis://", "redis://:wrong@")
            right = redis.url.replace("redis://", "redis://:right@")
            async with _link(right) as link:
                assert await link.send("PING") == b"PONG"
            async with _link(wrong) as link:
                with pytest.raises(SharedStateLost):
                    await link.send("PING")

        asyncio.run(run())
    finally:
        redis.command("CONFIG", "SET", "requirepass", "", password="right")

"""A sender learns that its request is about to leave: a connection is there, nothing is written."""

import asyncio

import pytest
from tests.transport.direct import HEAD, LONG, fetched, request
from tests.transport.loopback import answering, serving
from tests.transport.transports import AWAITED, run

from pondero.transport import SocketRejection, open_service_socket, watch_departure

EMPTY = HEAD + b"content-length: 0\r\n\r\n"


@pytest.mark.parametrize("kind", AWAITED)
def test_the_sender_is_told_before_each_request_leaves_by_any_connection(kind):
    async def main(url: str, heard: list[bytes]) -> list[int]:
        transport, told = AWAITED[kind](), list[int]()

        async def note() -> None:
            told.append(len(heard))

        for _ in range(3):
            with watch_departure(note):
                await fetched(transport, request(url))
            await fetched(transport, request(url))  # nobody watches this one
        await transport.aclose()
        return told

    with serving(answering(EMPTY)) as server:
        assert run(kind, main(server.url, server.requests)) == [0, 2, 4]
    assert server.connections == 1


@pytest.mark.parametrize("kind", AWAITED)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_request_whose_sender_wants_it_no_more_is_not_sent(kind, is_first):
    class TooLateError(Exception):
        pass

    async def withdraw() -> None:
        raise TooLateError

    async def main(url: str) -> None:
        transport = AWAITED[kind]()
        if not is_first:
            await fetched(transport, request(url, body=b"before"))
        with pytest.raises(TooLateError), watch_departure(withdraw):
            await transport.send(request(url, body=b"unwanted"), LONG)
        assert (await fetched(transport, request(url, body=b"wanted")))[0] == 200
        await transport.aclose()

    with serving(answering(EMPTY)) as server:
        run(kind, main(server.url))
    bodies = [each.rpartition(b"\r\n")[2] for each in server.requests]
    assert bodies == [b"wanted"] if is_first else [b"before", b"wanted"]


@pytest.mark.parametrize("is_wanted", [True, False])
def test_the_sender_is_told_before_the_request_for_a_socket_leaves(is_wanted):
    class TooLateError(Exception):
        pass

    async def main(url: str, heard: list[bytes]) -> list[int]:
        told = list[int]()

        async def note() -> None:
            told.append(len(heard))
            if not is_wanted:
                raise TooLateError

        with pytest.raises(SocketRejection if is_wanted else TooLateError), watch_departure(note):
            await open_service_socket(url, {}, max_size=1024, seconds=10)
        return told

    with serving(answering(EMPTY)) as server:
        assert asyncio.run(main(server.url, server.requests)) == [0]
        assert len(server.requests) == is_wanted

"""Sockets of the quick transport: what all of them may hold unread is bounded."""

import socket
from contextlib import ExitStack

import pytest

pytest.importorskip("aiohttp")
from pondero.transport.sockets import Sockets

ADDRESS = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80))
TWICE = 2  # Linux doubles what is asked for, for its own bookkeeping
BOUND = TWICE * 8 * 1024 * 1024


def room(each: socket.socket) -> int:
    return each.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def test_many_sockets_share_what_may_wait_unread():
    sockets = Sockets()
    with ExitStack() as stack:
        made = [stack.enter_context(sockets.make(ADDRESS)) for _ in range(500)]
        assert sum(room(each) for each in made) <= BOUND
        assert len({room(each) for each in made}) == 1


def test_room_grows_again_when_most_are_closed():
    sockets = Sockets()
    with ExitStack() as stack:
        kept = stack.enter_context(sockets.make(ADDRESS))
        alone = room(kept)
        crowd = [sockets.make(ADDRESS) for _ in range(500)]
        assert room(kept) < alone
        while crowd:
            crowd.pop().close()
        stack.enter_context(sockets.make(ADDRESS))
        assert room(kept) == alone


def test_closed_sockets_that_somebody_still_holds_take_no_room():
    sockets = Sockets()
    with ExitStack() as stack:
        alone = room(stack.enter_context(sockets.make(ADDRESS)))
        closed = [sockets.make(ADDRESS) for _ in range(500)]
        for each in closed:
            each.close()
        assert room(stack.enter_context(sockets.make(ADDRESS))) == alone


def test_a_socket_that_was_closed_but_is_still_held_is_left_alone():
    sockets = Sockets()
    closed = sockets.make(ADDRESS)
    closed.close()
    with ExitStack() as stack:
        for _ in range(70):
            stack.enter_context(sockets.make(ADDRESS))

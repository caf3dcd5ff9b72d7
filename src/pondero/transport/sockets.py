"""Sockets of the fast transport: what all of them together may hold unread is bounded."""

import socket
from typing import Any
from weakref import WeakSet

_UNREAD = 8 * 1024 * 1024  # unread bytes of all connections together
_FEW = 64  # connections; fewer share the bytes as if they were this many


class _Socket(socket.socket):
    """A socket that removes itself from the open ones; asyncio may hold it after its close."""

    among: "WeakSet[_Socket]"

    def close(self) -> None:
        self.among.discard(self)
        super().close()


class Sockets:
    """Makes sockets; the more are open, the smaller the receive buffer of each.

    An event loop reads all waiting bytes of all sockets before it processes any: the answers of a
    thousand services would all be in memory. A full buffer makes the service wait.
    """

    def __init__(self) -> None:
        self._open: WeakSet[_Socket] = WeakSet()
        self._share: int = 0

    def make(self, info: tuple[Any, ...]) -> socket.socket:
        """Return a socket for an address."""
        made = _Socket(*info[:3])
        made.among = self._open
        self._open.add(made)
        share = _UNREAD // max(_FEW, 1 << (len(self._open) - 1).bit_length())
        for each in [made] if share == self._share else list(self._open):
            if each.fileno() >= 0:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, share)
        self._share = share
        return made

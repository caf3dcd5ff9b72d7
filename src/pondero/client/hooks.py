"""Hooks that a client calls with each request before it is sent, and with each reply.

Their exceptions propagate to the caller: from ``on_request`` instead of sending, from ``on_reply``
instead of the reply.
"""

import re
from collections.abc import Callable
from inspect import isawaitable, iscoroutinefunction

from msgspec import Struct
from msgspec.structs import replace

from ..canon import HIDDEN, Reply
from ..errors import UsageError
from ..exchange import Prepared

OnRequest = Callable[[Prepared], object]
OnReply = Callable[[Reply], object]

_PLAIN = frozenset(("accept", "content-type", "user-agent"))
_VERSION = re.compile(r"[a-z-]+-(?:version|beta|revision)")  # of an API: no key has such a name


class Hooks(Struct, frozen=True):
    """The hooks of a client; each is optional."""

    on_request: OnRequest | None = None
    on_reply: OnReply | None = None

    def request(self, prepared: Prepared) -> None:
        """Call the hook before a request is sent."""
        if self.on_request is not None:
            self.on_request(_hide_keys(prepared))

    def reply(self, reply: Reply) -> None:
        """Call the hook with a complete reply."""
        if self.on_reply is not None:
            self.on_reply(reply)

    async def arequest(self, prepared: Prepared) -> None:
        """Call the hook before a request is sent; await an async one."""
        if self.on_request is not None and isawaitable(
            made := self.on_request(_hide_keys(prepared))
        ):
            await made

    async def areply(self, reply: Reply) -> None:
        """Call the hook with a complete reply; await an async one."""
        if self.on_reply is not None and isawaitable(made := self.on_reply(reply)):
            await made

    def check_waiting(self) -> None:
        """Raise UsageError for an async hook, which a Client cannot await."""
        if iscoroutinefunction(self.on_request) or iscoroutinefunction(self.on_reply):
            raise UsageError("a Client cannot await an async hook; use an AsyncClient")


def _hide_keys(prepared: Prepared) -> Prepared:
    exchange = prepared.exchange
    plain = {*_PLAIN, *exchange.plan.headers}
    headers = {
        name: value if name in plain or _VERSION.fullmatch(name) else HIDDEN
        for name, value in exchange.http.headers.items()
    }
    http = replace(exchange.http, headers=headers)
    return replace(prepared, exchange=replace(exchange, http=http))

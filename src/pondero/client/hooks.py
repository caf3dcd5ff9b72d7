"""What a client tells a program of its own accord: each request before it is sent, each reply.

A hook may look, and may refuse: whatever it raises goes to whoever asked. What ``on_request``
raises keeps the request from being sent; what ``on_reply`` raises comes in place of the reply.
"""

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


class Hooks(Struct, frozen=True):
    """The two hooks of a client, either of which may be missing."""

    on_request: OnRequest | None = None
    on_reply: OnReply | None = None

    def request(self, prepared: Prepared) -> None:
        """Tell that a request is about to be sent."""
        if self.on_request is not None:
            self.on_request(keyless(prepared))

    def reply(self, reply: Reply) -> None:
        """Tell that a reply is complete."""
        if self.on_reply is not None:
            self.on_reply(reply)

    async def arequest(self, prepared: Prepared) -> None:
        """Tell that a request is about to be sent; an async hook is awaited."""
        if self.on_request is not None and isawaitable(made := self.on_request(keyless(prepared))):
            await made

    async def areply(self, reply: Reply) -> None:
        """Tell that a reply is complete; an async hook is awaited."""
        if self.on_reply is not None and isawaitable(made := self.on_reply(reply)):
            await made

    def check_waiting(self) -> None:
        """Raise UsageError for an async hook, which a client that waits cannot await."""
        if iscoroutinefunction(self.on_request) or iscoroutinefunction(self.on_reply):
            raise UsageError("a Client waits, and calls plain hooks; AsyncClient awaits async ones")


def keyless(prepared: Prepared) -> Prepared:
    """Return what is sent without the values of headers that could hold a key."""
    exchange = prepared.exchange
    plain = {*_PLAIN, *exchange.plan.headers}
    headers = {
        name: value if name in plain else HIDDEN for name, value in exchange.http.headers.items()
    }
    http = replace(exchange.http, headers=headers)
    return replace(prepared, exchange=replace(exchange, http=http))

"""What a hook is: a class with any of ``on_request``, ``on_event`` and ``on_reply``.

Each method may be ``async def``, or a plain ``def``, which runs in a thread: it may wait. What a
plain ``def`` returns is awaited if it has to be.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar

from msgspec import Struct

from ...canon import Event, Json, Reply, Request


class Reject(Struct, frozen=True):
    """Ends a request, or an answer; the client reads ``message`` in the format of its API.

    ``status`` is the HTTP status, from 400 to 499. A stream that has begun ends with an error.
    """

    message: str
    status: int = 403


class HookCall(Struct, frozen=True, kw_only=True):
    """One request, as a hook sees it.

    ``request``: the conversation, with the changes of earlier hooks. ``body``: the client's own
    bytes. ``model``: the name that the client asks for, without a level; ``level``: the level that
    it asks for, None if it says nothing. ``key``: the name of the client's key; ``client``: what
    separates clients, also those without a key. ``route``: its ``match``. ``models``: those that
    may answer, in order, as ``provider:model``. ``purpose``, and ``rule``: the name of the one for
    such requests, which may set another level. ``kind``: the kind of question that the client names
    for ``auto``. ``notes``: what the hook keeps for this request between its own calls; every
    attempt at an answer begins with those of ``on_request``, and with copies of lists, dicts and
    sets in them.
    """

    id: str
    key: str
    client: str
    client_api: str
    model: str
    level: str | None
    route: str | None
    purpose: str
    request: Request
    body: bytes
    notes: dict[str, Any]
    models: tuple[str, ...] = ()
    rule: str | None = None
    kind: str | None = None


Outcome = Request | Reply | Reject | None
"""What ``on_request`` returns: a changed request, an answer, a rejection, or None: go on."""
Shown = list[Event] | tuple[Event, ...] | Reject | None
"""What ``on_event`` returns: the events in place of one, a rejection, or None: that event."""
Checked = Reply | Reject | None
"""What ``on_reply`` returns: another answer, a rejection, or None: this one."""


class Hook:
    """The base class of all hooks; its methods do nothing.

    ``settings`` are those of ``[[hook]]`` in gateway.toml. Raise ValueError if they are invalid:
    the gateway does not start then. ``changes_answers``: what ``on_event`` and ``on_reply`` return
    replaces the answer, whose bytes are then the gateway's; otherwise they only see it, and may
    end it with ``Reject``. ``sees_all``: only what the hook saw of a request is sent, and endpoints
    whose texts no hook sees are closed to the clients that it is for; False for a hook that a
    request may miss, such as a cache.
    """

    changes_answers: ClassVar[bool] = False
    sees_all: ClassVar[bool] = True

    def __init__(self, settings: Mapping[str, Json]) -> None:
        if settings:
            message = f"unknown settings: {' '.join(settings)}"
            raise ValueError(message)

    def on_request(self, call: HookCall, /) -> Outcome | Awaitable[Outcome]:
        """Return what happens to a request, before a model is asked."""
        del call
        return None

    def on_event(self, call: HookCall, event: Event, /) -> Shown | Awaitable[Shown]:
        """Return the events in place of one event of an answer; None leaves it as it is.

        An answer in one piece is given in events too. The last event is ``Finished``: what was held
        back must be returned before it. ``PartEnd`` has the whole text of its part once more; if
        only the deltas of a part were changed, the gateway writes their text into it. Parts may
        overlap: a text can end behind the tool calls that follow it.
        """
        del call, event
        return None

    def on_reply(self, call: HookCall, reply: Reply, /) -> Checked | Awaitable[Checked]:
        """Return the answer in place of this one, at its end; None leaves it as it is.

        If the hook changes answers and has no ``on_event``, a stream is held until its end.
        """
        del call, reply
        return None

    def close(self) -> None:
        """Free what the hook has open; no other method is called after this one."""

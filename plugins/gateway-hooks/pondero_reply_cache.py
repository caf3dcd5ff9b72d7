"""Answers a request that came before with the answer of that time, if every byte is the same.

Each client has its own answers: another key never reads them. Only whole answers in words are kept.
"""

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from time import monotonic
from typing import Any

import msgspec
from msgspec import Struct

from pondero import Reply, Text
from pondero.gateway import Hook, HookCall


class _Settings(Struct, forbid_unknown_fields=True):
    seconds: float = 3600.0
    entries: int = 1000


class ReplyCache(Hook):
    """``seconds``: how long an answer is used; ``entries``: how many are kept in each process."""

    sees_all = False  # nothing is lost if it misses a request

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = msgspec.convert(settings, _Settings)
        self._replies: OrderedDict[bytes, tuple[float, Reply]] = OrderedDict()

    async def on_request(self, call: HookCall, /) -> Reply | None:
        """Return the answer of an earlier request that was the same; None if there was none."""
        key = call.notes["key"] = _make_key(call)
        kept = self._replies.get(key)
        if kept is None or monotonic() - kept[0] > self._settings.seconds:
            return None
        return msgspec.structs.replace(kept[1], usage=type(kept[1].usage)())

    async def on_reply(self, call: HookCall, reply: Reply, /) -> None:
        """Keep an answer that is complete and made of words."""
        words = [part for part in reply.message.parts if isinstance(part, Text) and part.text]
        if reply.finish != "stop" or reply.tool_calls or not words:
            return
        key = call.notes["key"]
        self._replies.pop(key, None)
        self._replies[key] = (monotonic(), reply)
        while len(self._replies) > self._settings.entries:
            self._replies.popitem(last=False)


def _make_key(call: HookCall) -> bytes:
    """Return the digest of all that decides about an answer.

    The request has what a body only names: a conversation that is kept may have grown since.
    """
    who = (call.client, call.client_api, call.route, call.purpose, call.rule)
    what = (call.model, call.models, call.level, call.kind)
    found = sha256(repr((who, what)).encode())
    found.update(sha256(call.body).digest())
    found.update(msgspec.msgpack.encode(call.request, enc_hook=repr))
    return found.digest()

"""The record of one finished request, without content of the conversation and keys."""

from collections.abc import Callable
from decimal import Decimal
from operator import itemgetter
from random import getrandbits

from msgspec import Struct
from msgspec.structs import astuple, replace

from ...canon import Usage
from ...store import SecretRedactor


class Receipt(Struct, kw_only=True, omit_defaults=True):
    """One finished request; its field names are written to the log and the ledger.

    Only its ``RequestRecord`` sets fields, and none of a receipt that an observer has.

    ``front``: the client's dialect. ``said``: the model name the client sent; ``model``: the one
    that answered. ``asked``, ``sent``, ``why``: the level. ``first`` and ``seconds``: seconds until
    the first piece and the end of the answer; ``first_try`` and ``last_try``: until the first and
    the last request to a service, ``first_answer``: until the first piece of a stream that is not
    thinking. ``road``: passed, translated or none. ``end``: done,
    refused, failed, or left by the client; ``reason``: why it was refused or failed, or what it
    was if not a conversation. ``estimated``:
    the service did not report all of ``usage``, so part of it is the gateway's own count, never
    less than what was served. ``cost``: dollars, None if no price is known; if only
    the emulator answered (``offline``), what the service would have charged. ``trace``: the
    client's ``traceparent``. ``purpose``: what a conversation was for, such as a title.
    ``route``: the ``match`` of its route, if it has one. ``endpoint``: what it asked for, if it is
    no conversation; ``units``: its use in other units than tokens, such as ``search_units=1``.
    ``deployment``: the account that answered, if it is one of several.
    ``group``: the group that its key was in.
    """

    id: str
    at: float
    key: str
    front: str
    said: str = ""
    provider: str | None = None
    model: str | None = None
    road: str = "none"
    asked: str | None = None
    sent: str | None = None
    why: str | None = None
    adjustments: tuple[str, ...] = ()
    status: int = 200
    end: str = "done"
    finish: str | None = None
    verdict: str | None = None
    reason: str | None = None
    usage: Usage = Usage()
    estimated: bool = False
    tries: int = 0
    stream: bool = False
    first: float | None = None
    seconds: float = 0.0
    cost: Decimal | None = None
    offline: bool = False
    trace: str | None = None
    purpose: str | None = None
    route: str | None = None
    first_try: float | None = None
    last_try: float | None = None
    first_answer: float | None = None
    endpoint: str | None = None
    units: str | None = None
    deployment: str | None = None
    group: str | None = None

    @property
    def answered_by(self) -> str | None:
        """Return ``provider:model``; None if no model answered."""
        return None if self.model is None else f"{self.provider}:{self.model}"


_TEXTS = (
    *("key", "front", "said", "provider", "model", "road", "asked", "sent", "why", "end"),
    *("finish", "verdict", "reason", "trace", "purpose", "route", "endpoint", "units"),
    *("deployment", "group"),
)  # which may quote a client or a service; the rest is ours
# Of the tuple of a receipt: to ask for its fields one by one takes ten times as long.
_get_texts = itemgetter(*map(Receipt.__struct_fields__.index, _TEXTS))


def redact_receipt(receipt: Receipt, redactor: SecretRedactor) -> Receipt:
    """Return a receipt without secrets; nearly all have the same few texts."""
    texts = _get_texts(astuple(receipt))
    if redactor.knows_clean(filter(None, texts)):
        return receipt
    named = zip(_TEXTS, texts, strict=True)
    clean = {name: redactor.text(text) for name, text in named if text}
    return replace(receipt, **clean)


def make_id(now: float) -> str:
    """Return an id for a request; ids sort by time, which keeps the ledger's index compact.

    If the clock is set back, the time of the latest id is used.
    """
    _latest[0] = max(_latest[0], int(now * 1000))
    # Ids are no secrets. Python seeds each forked worker again, so that no two draw the same.
    return f"{_latest[0]:012x}{getrandbits(48):012x}"


def read_time(id: str) -> int:
    """Return the time of an id that ``make_id`` made, in seconds since 1970."""
    return int(id[:12], 16) // 1000


_latest = [0]  # milliseconds


def read_sent(sent: str | None) -> str | None:
    """Return the level sent of a row, also of one that an earlier version wrote."""
    return NO_LEVEL if sent in NO_LEVELS else sent


NO_LEVEL = "nothing"
"""What a record has as the level sent if the plan has none."""
NO_LEVELS = (NO_LEVEL, "None")
"""The same, also in rows that an earlier version wrote."""
KILLED = "the worker was killed"
"""The reason in the record of a request that its worker did not end."""

LONGEST_REASON = 400
"""Characters of a reason that records keep: the longest of the gateway's own sentences fit."""

Observer = Callable[[Receipt], None]
"""Called with every receipt; must not block."""

"""Who will read the thread, what they accept, and which parts they made themselves."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Literal

from msgspec import Struct, field

from ..canon import (
    OFFLINE,
    RECORDING,
    Blob,
    Image,
    LevelUpdate,
    Message,
    Origin,
    Part,
    ReplayRules,
    SavedRepair,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    is_emulated,
)
from .surrogates import iter_texts

UNKNOWN_ACCOUNT = "?"
"""Stands for the account of an answer of which nothing tells who made it."""
SignedPart = Text | Thinking | ToolCall | Image | Blob | UnknownPart


class Destination(Struct, frozen=True, kw_only=True):
    """One model at one provider, and what it accepts of earlier messages.

    ``route`` and ``model`` are compared with a signature's. ``foreign``: another model's thinking
    is dropped, or becomes a user's note. ``refused``: digests of signatures it rejected before.
    ``retell`` returns a part that only its maker can read in words and pictures: None if it cannot
    be told, and a text without words if the conversation before it is in it. ``emulator``: None
    if a service reads the thread at its own address; otherwise the address that the reader was
    given, which may be an emulator's, as in an origin. ``updates_from``: changes of level from this
    message on are for it; None: none are. ``reads_of``: the accounts whose signatures its own
    account can read, with the empty name for the provider's usual one, and ``UNKNOWN_ACCOUNT`` if
    only one was ever asked; None: all of them.
    """

    dialect: str
    model: str
    provider: str
    route: str
    aliases: tuple[str, ...] = ()
    foreign: Literal["drop", "note"] = "drop"
    refused: frozenset[str] = frozenset()
    takes: ReplayRules = ReplayRules()
    retell: Callable[[UnknownPart], tuple[Text | Image | Blob, ...] | None] | None = None
    emulator: str | None = None
    updates_from: int | None = None
    reads_of: frozenset[str] | None = None


class OwnershipRules:
    """Decides which parts a destination made itself, by signature or by origin.

    If neither names the maker: thinking and citations are withheld; the rest goes by its dialect.
    A service and the emulator in its place are two makers, whatever model they name.
    """

    def __init__(self, destination: Destination) -> None:
        self._dialect = destination.dialect
        self._names = {destination.model, *destination.aliases}
        self._provider = destination.provider
        self._route = destination.route
        self._by_model = "model" in destination.takes.signature_scope
        self._by_route = "route" in destination.takes.signature_scope
        self._missing = destination.takes.missing_parts
        self._emulator = destination.emulator
        self._reads_of = destination.reads_of

    def reads(self, signature: Signature, message: Message) -> bool:
        """Return whether a signature in this message may go to the destination."""
        return self._is_from_model(signature, message) and self.is_of_this_account(message)

    def _is_from_model(self, signature: Signature, message: Message) -> bool:
        """Return whether the destination's model made a signature, with whatever account."""
        origin = _maker(message)
        if signature.dialect != self._dialect or not self.is_of_this_kind(signature, origin):
            return False
        if self._by_model:
            model = signature.model or (origin.model if origin else None)
            if model is not None and model not in self._names:
                return False
        return not self._by_route or self._is_here(signature, origin)

    def is_of_this_account(self, message: Message) -> bool:
        """Return whether the destination's account can read what the maker of a message signed.

        If nothing tells the account, of several it cannot: a service rejects another account's
        signatures.
        """
        return _is_readable(message, self._reads_of)

    def is_of_this_kind(self, signature: Signature | None, origin: Origin | None) -> bool:
        """Return whether the maker was what the destination is: a service, or this emulator."""
        return _is_same_kind(signature, origin, self._emulator)

    def is_author(self, message: Message) -> bool:
        """Return whether an answer says that the destination made it."""
        if message.role != "assistant":
            return False
        signature = _first_signature(message)
        if signature is None or not is_named(message):
            return self.is_own(message.origin)
        return self._is_from_model(signature, message)

    def is_own(self, origin: Origin | None) -> bool:
        """Return whether an origin is the destination."""
        if origin is None or origin.provider != self._provider:
            return False
        if not self.is_of_this_kind(None, origin):
            return False
        return not self._by_model or origin.model in self._names

    def holds(self, part: UnknownPart, message: Message) -> bool:
        """Return whether an unknown part is the destination's own; its provider decides."""
        origin = _maker(message)
        if part.dialect != self._dialect or (origin and origin.provider != self._provider):
            return False
        if not self.is_of_this_kind(_proof(part), origin):
            return False
        if isinstance(part.raw, dict) and any(name in part.raw for name in self._missing):
            return False
        if message.role == "assistant" and not self.is_of_this_account(message):
            return False
        route = part.signature.route if part.signature else None
        return route is None or _deployment(route) == self._route

    def _is_here(self, signature: Signature, origin: Origin | None) -> bool:
        if signature.route is not None:
            return _deployment(signature.route) == self._route
        return origin is None or origin.provider == self._provider


def holds_other_kind(messages: Iterable[Message], emulator: str | None) -> bool:
    """Return whether a thread has signatures that no destination of this kind may get."""
    return any(
        not _is_same_kind(proof, _maker(message), emulator)
        for message in messages
        for part in message.parts
        if not isinstance(part, ToolResult | LevelUpdate) and (proof := _proof(part)) is not None
    )


def holds_other_account(messages: Iterable[Message], reads_of: frozenset[str] | None) -> bool:
    """Return whether a thread has parts that only another account of the provider can read."""
    return reads_of is not None and any(
        not _is_readable(message, reads_of) and any(map(_is_bound, message.parts))
        for message in messages
        if message.role == "assistant"
    )


def _is_bound(part: Part) -> bool:
    if isinstance(part, ToolResult | LevelUpdate):
        return False
    return isinstance(part, UnknownPart) or part.signature is not None


def _is_readable(message: Message, reads_of: frozenset[str] | None) -> bool:
    if reads_of is None:
        return True
    origin = _maker(message)
    return (UNKNOWN_ACCOUNT if origin is None else origin.deployment or "") in reads_of


def _proof(part: SignedPart) -> Signature | None:
    """Return what tells the maker of a part: its signature, or a part of the emulator's own."""
    if isinstance(part, UnknownPart) and is_emulated(part.raw):
        return Signature(part.dialect, part.raw)
    return part.signature


def _is_same_kind(signature: Signature | None, origin: Origin | None, emulator: str | None) -> bool:
    address = origin.emulator if origin is not None else None
    emulated = address is not None or (signature is not None and signature.emulated)
    if emulator == RECORDING:
        return True
    if emulator == OFFLINE:  # it can read all but the signatures of services, which it verifies
        return emulated or origin is None or signature is None
    # Without an origin nothing says which emulator it was: perhaps the one at this address.
    return not emulated or (emulator is not None and address in (None, emulator))


def name_of(signature: Signature | None, origin: Origin | None) -> str:
    """Return the name of the model that made a part, for messages."""
    return (signature and signature.model) or (origin and origin.model) or "an unknown model"


def is_named(message: Message) -> bool:
    """Return whether an answer says who made it, in its origin or in its first signature."""
    signature = _first_signature(message)
    signed = signature is not None and (signature.model is not None or signature.route is not None)
    return message.origin is not None or signed


def _deployment(route: str) -> str:
    return route.partition("/")[0]


def _maker(message: Message) -> Origin | None:
    return message.origin if message.role == "assistant" else None


def _first_signature(message: Message) -> Signature | None:
    kinds = Text | Thinking | ToolCall
    signatures = (part.signature for part in message.parts if isinstance(part, kinds))
    return next((signature for signature in signatures if signature is not None), None)


class Rejection(Struct, frozen=True, omit_defaults=True):
    """A past rejection: signatures, by digest, or a repair; older versions: ``message`` alone."""

    provider: str
    model: str
    message: str = ""
    signatures: tuple[str, ...] = field(default=(), name="seals")
    cure: SavedRepair | None = None


def signature_digest(text: str) -> str:
    """Return a short digest of a signature's text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_rejected(signature: Signature, digests: frozenset[str]) -> bool:
    """Return whether a text of this signature has one of these digests."""
    texts = iter_texts(signature.value) if digests else ()
    return any(signature_digest(text) in digests for text in texts)

"""Who will read the thread, what they accept, and which parts they made themselves.

A destination reads the seals it made, and no others. Seals a service refused are known by a mark
of their text, so that no seal has to be kept twice.
"""

from hashlib import blake2b
from typing import Literal

from msgspec import Struct, field

from ..canon import (
    Message,
    Origin,
    ReplayRules,
    SavedRepair,
    Signature,
    Text,
    Thinking,
    ToolCall,
    UnknownPart,
)
from .surrogates import iter_texts


class Destination(Struct, frozen=True, kw_only=True):
    """One model at one provider, and what it accepts of earlier messages.

    ``provider`` and ``model`` are compared with a message's origin, ``route`` and ``model`` with
    a seal's; ``aliases`` are other names of the same model. ``foreign`` is what becomes of
    another model's thinking: it is dropped, or becomes a note in a user's message. ``refused`` are
    the marks of seals that the destination refused before.
    """

    dialect: str
    model: str
    provider: str
    route: str
    aliases: tuple[str, ...] = ()
    foreign: Literal["drop", "note"] = "drop"
    refused: frozenset[str] = frozenset()
    takes: ReplayRules = ReplayRules()


class OwnershipRules:
    """Decides which parts a destination made itself.

    A part's maker is named by its seal or by its message's origin. If neither names the maker:
    thinking text and citations are withheld; anything else passes if its dialect matches.
    """

    def __init__(self, destination: Destination) -> None:
        self._dialect = destination.dialect
        self._names = {destination.model, *destination.aliases}
        self._provider = destination.provider
        self._route = destination.route
        self._by_model = "model" in destination.takes.signature_scope
        self._by_route = "route" in destination.takes.signature_scope

    def reads(self, seal: Signature, message: Message) -> bool:
        """Return whether a seal in this message may go to the destination."""
        if seal.dialect != self._dialect:
            return False
        origin = _maker(message)
        if self._by_model:
            model = seal.model or (origin.model if origin else None)
            if model is not None and model not in self._names:
                return False
        return not self._by_route or self._is_here(seal, origin)

    def is_author(self, message: Message) -> bool:
        """Return whether an answer says that the destination made it."""
        if message.role != "assistant":
            return False
        seal = _first_seal(message)
        if seal is None or not is_named(message):
            return self.is_own(message.origin)
        return self.reads(seal, message)

    def is_own(self, origin: Origin | None) -> bool:
        """Return whether an origin is the destination."""
        if origin is None or origin.provider != self._provider:
            return False
        return not self._by_model or origin.model in self._names

    def holds(self, part: UnknownPart, message: Message) -> bool:
        """Return whether a part we do not know is one of the destination's own.

        Such a part may name things that only its provider has; its model does not matter.
        """
        origin = _maker(message)
        if part.dialect != self._dialect or (origin and origin.provider != self._provider):
            return False
        route = part.signature.route if part.signature else None
        return route is None or _deployment(route) == self._route

    def _is_here(self, seal: Signature, origin: Origin | None) -> bool:
        if seal.route is not None:
            return _deployment(seal.route) == self._route
        return origin is None or origin.provider == self._provider


def name_of(seal: Signature | None, origin: Origin | None) -> str:
    """Return the name of the model that made a part, for messages."""
    return (seal and seal.model) or (origin and origin.model) or "an unknown model"


def is_named(message: Message) -> bool:
    """Return whether an answer says who made it, in its origin or in its first seal."""
    seal = _first_seal(message)
    sealed = seal is not None and (seal.model is not None or seal.route is not None)
    return message.origin is not None or sealed


def _deployment(route: str) -> str:
    """Return the provider of a route; after its slash stands the upstream of a gateway."""
    return route.partition("/")[0]


def _maker(message: Message) -> Origin | None:
    """Return who answered; None for a user's message."""
    return message.origin if message.role == "assistant" else None


def _first_seal(message: Message) -> Signature | None:
    kinds = Text | Thinking | ToolCall
    seals = (part.signature for part in message.parts if isinstance(part, kinds))
    return next((seal for seal in seals if seal is not None), None)


class Rejection(Struct, frozen=True, omit_defaults=True):
    """What a model at a provider refused once: seals, by their marks, or what a cure changes.

    ``message`` is all that older versions kept: the refusal in the service's words.
    """

    provider: str
    model: str
    message: str = ""
    signatures: tuple[str, ...] = field(default=(), name="seals")
    cure: SavedRepair | None = None


def signature_digest(text: str) -> str:
    """Return a short mark of a seal's text, the same every time."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_refused(seal: Signature, marks: frozenset[str]) -> bool:
    """Return whether a text of this seal is among the marked ones."""
    return bool(marks) and any(signature_digest(text) in marks for text in iter_texts(seal.value))

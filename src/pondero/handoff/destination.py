"""Who will read the thread, what they accept, and which parts they made themselves.

A destination reads the seals it made, and no others. Seals a service refused are known by a mark
of their text, so that no seal has to be kept twice.
"""

from hashlib import blake2b
from typing import Literal

from msgspec import Struct

from ..canon import Message, Origin, Other, Seal, Takes, Text, Thinking, ToolCall
from .surrogates import texts


class Destination(Struct, frozen=True, kw_only=True):
    """One model at one provider, and what it takes of a past.

    ``provider`` and ``model`` are compared with a message's origin, ``route`` and ``model`` with
    a seal's; ``aliases`` are other names of the same model. ``foreign`` is what becomes of
    another model's thinking: dropped, or a note of the user's. ``refused`` are the marks of seals
    that the destination did not take back.
    """

    dialect: str
    model: str
    provider: str
    route: str
    aliases: tuple[str, ...] = ()
    foreign: Literal["drop", "note"] = "drop"
    refused: frozenset[str] = frozenset()
    takes: Takes = Takes()


class Makers:
    """Tells what a destination made from what others made.

    What does not say who made it, in a seal or in its message's origin, is refused where it is
    text of thinking or citations, and let pass where its dialect is known: there is nothing
    against it.
    """

    def __init__(self, destination: Destination) -> None:
        self._dialect = destination.dialect
        self._names = {destination.model, *destination.aliases}
        self._provider = destination.provider
        self._route = destination.route
        self._by_model = "model" in destination.takes.seals
        self._by_route = "route" in destination.takes.seals

    def reads(self, seal: Seal, message: Message) -> bool:
        """Return whether a seal in this message may go to the destination."""
        if seal.dialect != self._dialect:
            return False
        origin = _maker(message)
        if self._by_model:
            model = seal.model or (origin.model if origin else None)
            if model is not None and model not in self._names:
                return False
        return not self._by_route or self._is_here(seal, origin)

    def made(self, message: Message) -> bool:
        """Return whether the destination made an answer, as far as the answer says so."""
        if message.role != "assistant":
            return False
        seal = _first_seal(message)
        return self.is_own(message.origin) if seal is None else self.reads(seal, message)

    def is_own(self, origin: Origin | None) -> bool:
        """Return whether an origin is the destination."""
        if origin is None or origin.provider != self._provider:
            return False
        return not self._by_model or origin.model in self._names

    def holds(self, part: Other, message: Message) -> bool:
        """Return whether a part we do not know is one of the destination's own.

        It may name things that only its deployment has; of models it says nothing.
        """
        origin = _maker(message)
        if part.dialect != self._dialect or (origin and origin.provider != self._provider):
            return False
        route = part.seal.route if part.seal else None
        return route is None or _deployment(route) == self._route

    def _is_here(self, seal: Seal, origin: Origin | None) -> bool:
        if seal.route is not None:
            return _deployment(seal.route) == self._route
        return origin is None or origin.provider == self._provider


def name_of(seal: Seal | None, origin: Origin | None) -> str:
    """Return the model that made something, for people."""
    return (seal and seal.model) or (origin and origin.model) or "another model"


def _deployment(route: str) -> str:
    """Return the deployment of a route; what follows its slash is whom a gateway passed it to."""
    return route.partition("/")[0]


def _maker(message: Message) -> Origin | None:
    """Return who answered; where the user speaks, nobody did."""
    return message.origin if message.role == "assistant" else None


def _first_seal(message: Message) -> Seal | None:
    kinds = Text | Thinking | ToolCall
    seals = (part.seal for part in message.parts if isinstance(part, kinds))
    return next((seal for seal in seals if seal is not None), None)


class Field(Struct, frozen=True, omit_defaults=True):
    """A field of a request's body that a model refused: where it stands, and what to do with it.

    It is left out, or, where ``takes`` has words, one of those stands in it. ``code``, ``what``,
    ``got`` and ``why`` are those of the adjustment that says so.
    """

    path: tuple[str, ...]
    takes: tuple[str, ...] = ()
    code: str = ""
    what: str = ""
    got: str | None = None
    why: str = ""


class Refusal(Struct, frozen=True, omit_defaults=True):
    """What a model at a provider refused once: seals, by their marks, or a field.

    ``message`` is the refusal in the service's words. It is kept where more than a field had to
    be changed, and it is all that older versions saved; the dialect reads it again.
    """

    provider: str
    model: str
    message: str = ""
    seals: tuple[str, ...] = ()
    field: Field | None = None


def mark(text: str) -> str:
    """Return a short mark of a seal's text, the same every time."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_refused(seal: Seal, marks: frozenset[str]) -> bool:
    """Return whether a text of this seal is among the marked ones."""
    return bool(marks) and any(mark(text) in marks for text in texts(seal.value))

"""A script: a queue of answers, each for the first request that it matches."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Lock
from types import UnionType
from typing import get_args

from msgspec import DecodeError, Struct

from ...canon import (
    Finish,
    Json,
    Message,
    Part,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
    decode_json,
)
from ...catalog import did_you_mean
from ...dialects import NAMES, AcceptedRequest
from ...errors import BadParameter
from ...thinking import LEVELS
from ..faults import OF_BATCHES, Fault
from .question import parse_question
from .responder import Responder

_FINISHES: tuple[str, ...] = get_args(Finish)


class ScriptedCall(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, repr_omit_defaults=True
):
    """A scripted tool call.

    >>> from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
    >>> weather = ScriptedCall("get_weather", {"city": "Bern"})
    >>> emulator = Emulator(script=[ScriptedTurn(tool_calls=(weather,))])
    >>> client = pondero.Client(transport=emulator)
    >>> chat = pondero.Chat("gpt-5.1", tools=[get_weather], client=client)
    >>> chat.send("Do I need a coat?").finish
    'stop'
    """

    name: str
    arguments: Json = {}
    id: str = ""


class When(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """The requests that a turn matches; None matches any. ``service`` is a provider.

    >>> from pondero.emulator import Emulator, ScriptedTurn, When
    >>> emulator = Emulator(script=[ScriptedTurn(text="Hoo.", when=When(contains="owl"))])
    >>> client = pondero.Client(transport=emulator)
    >>> client.ask("gpt-5.1", "What is 17 * 23?").text
    '17 * 23 = 391'
    >>> client.ask("gpt-5.1", "What says an owl?").text
    'Hoo.'
    """

    dialect: str | None = None
    service: str | None = None
    model: str | None = None
    contains: str | None = None

    def __post_init__(self) -> None:
        """Raise BadParameter for what no request can be."""
        if self.dialect is not None and self.dialect not in NAMES:
            raise BadParameter(f"dialect={self.dialect!r} is unknown; use {', '.join(NAMES)}")
        if self.model is not None and self.model.rpartition("/")[2] in LEVELS:
            message = f"model={self.model!r} has a level; a request has the model's name alone"
            raise BadParameter(message)

    def fits(self, accepted: AcceptedRequest[Json], *, dialect: str, provider: str) -> bool:
        """Return whether a request matches."""
        return (
            self.dialect in (None, dialect)
            and self.service in (None, provider)
            and self.model in (None, accepted.request.model)
            and (self.contains or "") in parse_question(accepted.request.messages).question
        )


class ScriptedTurn(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """A scripted answer, fault or both; ``parts`` replace the other fields, none: the responder.

    ``fault`` is a Fault, or its short spelling: ``529``, ``"cut 120"``.

    >>> from pondero.emulator import Emulator, ScriptedTurn
    >>> emulator = Emulator(script=[ScriptedTurn(thinking="Hm.", text="Forty-two.")])
    >>> client = pondero.Client(transport=emulator)
    >>> client.ask("claude-opus-5/low", "What is the answer?").text
    'Forty-two.'
    """

    text: str | None = None
    thinking: str | tuple[str, ...] = ()
    redacted: bool = False
    tool_calls: tuple[ScriptedCall, ...] = ()
    parts: tuple[Part, ...] = ()
    finish: Finish | None = None
    raw_finish: str | None = None
    usage: Usage | None = None
    model: str | None = None
    grounding: Json = None
    safety: Json = None
    extras: Json = None
    fault: Fault | str | int | None = None
    when: When = When()

    def __post_init__(self) -> None:
        """Raise BadParameter for an unknown fault, and for values of another kind."""
        _ = self.planned_fault
        if self.finish is not None and self.finish not in _FINISHES:
            message = f"finish={self.finish!r} is unknown; use {', '.join(map(repr, _FINISHES))}"
            raise BadParameter(message)
        if self.usage is not None and not isinstance(self.usage, Usage):
            raise BadParameter(f"usage={self.usage!r} is no Usage; use pondero.Usage(thinking=5)")
        self._check_words()
        if not isinstance(self.when, When):
            raise BadParameter(f"when={self.when!r} is no When; use When(contains='owl')")
        calls: object = self.tool_calls
        if isinstance(calls, ScriptedCall):
            raise BadParameter("tool_calls is a tuple; add a comma: (ScriptedCall(...),)")
        given: tuple[object, ...] = self.tool_calls
        for call in given:
            if not isinstance(call, ScriptedCall):
                message = f"{call!r} is no call; use ScriptedCall('name', {{'argument': 1}})"
                raise BadParameter(message)

    def _check_words(self) -> None:
        text: object = self.text
        if not isinstance(text, str | None):
            raise BadParameter(f"text={text!r} is no text")
        if not isinstance(self.thinking, str) and not _holds_only(self.thinking, str):
            message = f"thinking={self.thinking!r} is no text, and no tuple of texts"
            raise BadParameter(message)
        if not _holds_only(self.parts, Part):
            message = f"parts={self.parts!r} is no tuple of parts; use (pondero.Text('hello'),)"
            raise BadParameter(message)

    @property
    def planned_fault(self) -> Fault | None:
        """Return the fault, parsed."""
        return None if self.fault is None else Fault.parse(self.fault)

    @property
    def says(self) -> bool:
        """Return whether this turn has its own answer."""
        said = (self.text, self.thinking, self.tool_calls, self.parts, self.finish)
        return self.redacted or any(each not in (None, ()) for each in said)

    def __call__(self, _accepted: AcceptedRequest[Json], /) -> Reply:
        """Return the answer, as a responder does."""
        parts = self.parts or tuple(self._iter_parts())
        called = any(isinstance(part, ToolCall) for part in parts)
        return Reply(
            Message("assistant", parts),
            self.finish or ("tool_calls" if called else "stop"),
            self.usage or Usage(),
            raw_finish=self.raw_finish,
            model=self.model,
            grounding=self.grounding,
            safety=self.safety,
            extras=self.extras,
        )

    def _iter_parts(self) -> Iterable[Part]:
        if self.redacted:
            yield Thinking("", redacted=True)
        texts = (self.thinking,) if isinstance(self.thinking, str) else self.thinking
        yield from map(Thinking, texts)
        if self.text is not None:
            yield Text(self.text)
        for call in self.tool_calls:
            yield ToolCall(call.id, call.name, call.arguments)


def _holds_only(given: object, kind: type | UnionType) -> bool:
    return isinstance(given, tuple | list) and all(isinstance(each, kind) for each in given)


Scripted = ScriptedTurn | Reply | str | Responder
NextFault = Callable[[AcceptedRequest[Json]], Fault | None]
"""Gives the fault of an exchange whose turn has none."""


def turn_of(scripted: object) -> "Taking":
    """Convert an entry of a script to a turn; raises BadParameter if it is not a Scripted."""
    if isinstance(scripted, ScriptedTurn):
        return scripted
    if isinstance(scripted, str):
        return ScriptedTurn(text=scripted)
    if isinstance(scripted, Reply) or (callable(scripted) and not isinstance(scripted, type)):
        return _ScriptedFunction(scripted)
    if isinstance(scripted, Mapping):
        raise BadParameter(f"a turn is no dict; in Python use {_turn_text(scripted)}")
    raise BadParameter(f"{scripted!r} is not a turn; {_describe_turn(scripted)}")


def _describe_turn(given: object) -> str:
    if isinstance(given, int | Fault) and not isinstance(given, bool):
        return f"in Python use ScriptedTurn(fault={given!r})"
    if isinstance(given, list | tuple):
        return "give its turns one after the other"
    return "use a text, a ScriptedTurn, a Reply or a function that returns one"


def _turn_text(given: Mapping[str, Json]) -> str:
    """Return the turn that a dict means, as Python; raises BadParameter for an unknown field."""
    fields = ScriptedTurn.__struct_fields__
    for name in given:
        if name not in fields:
            hint = did_you_mean(str(name), fields)
            message = f"a turn has no field {name!r}; {hint}its fields are {' '.join(fields)}"
            raise BadParameter(message)
    return _call_text("ScriptedTurn", given)


def _call_text(kind: str, given: Mapping[str, Json]) -> str:
    return f"{kind}({', '.join(f'{name}={_value_text(name, given[name])}' for name in given)})"


def _value_text(name: str, value: Json) -> str:
    if name == "when" and isinstance(value, Mapping):
        return _call_text("When", value)
    if name == "tool_calls" and isinstance(value, list | tuple):
        calls = [
            _call_text("ScriptedCall", each) if isinstance(each, Mapping) else repr(each)
            for each in value
        ]
        return f"({', '.join(calls)},)"
    return repr(value)


class _ScriptedFunction:
    planned_fault: Fault | None = None
    usage: Usage | None = None
    when: When = When()
    says = True

    def __init__(self, given: Reply | Responder) -> None:
        self.given = given

    def __call__(self, accepted: AcceptedRequest[Json]) -> Reply:
        return self.given if isinstance(self.given, Reply) else self.given(accepted)


Taking = ScriptedTurn | _ScriptedFunction
"""An entry of a script."""


class Script:
    """The queue of turns; the first matching request uses a turn up."""

    def __init__(self, turns: Iterable[Scripted] = ()) -> None:
        self._lock = Lock()
        self._turns = deque(map(turn_of, _check_list(turns)))

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def waiting(self) -> tuple[Scripted, ...]:
        """Return the turns that no request has used."""
        with self._lock:
            turns = tuple(self._turns)
        return tuple(turn if isinstance(turn, ScriptedTurn) else turn.given for turn in turns)

    def expect(self, *turns: Scripted) -> None:
        """Append turns."""
        checked = [*map(turn_of, turns)]
        with self._lock:
            self._turns.extend(checked)

    def clear(self) -> None:
        """Remove all turns."""
        with self._lock:
            self._turns.clear()

    def take(
        self,
        accepted: AcceptedRequest[Json],
        *,
        dialect: str,
        provider: str,
        next_fault: NextFault,
    ) -> "tuple[Taking | None, Fault | None]":
        """Return the first turn that matches this request, and the fault of the exchange.

        A turn has its own fault, or else ``next_fault`` gives one. If that one takes the place of
        the answer, the turn stays for the next request.
        """
        with self._lock:
            turn = self._find(accepted, dialect=dialect, provider=provider)
            own = turn.planned_fault if turn is not None else None
            fault = own or next_fault(accepted)
            if turn is None or (own is None and fault is not None and fault.replaces):
                return None, fault
            self._turns.remove(turn)
        return turn, fault

    def _find(
        self, accepted: AcceptedRequest[Json], *, dialect: str, provider: str
    ) -> "Taking | None":
        for turn in self._turns:
            if not _concerns_batch(turn) and turn.when.fits(
                accepted, dialect=dialect, provider=provider
            ):
                return turn
        return None

    def batch_fault(self, *, dialect: str, provider: str) -> "Taking | None":
        """Return the first turn with a fault for a new batch, without removing it."""
        with self._lock:
            for turn in self._turns:
                when = turn.when
                here = when.dialect in (None, dialect) and when.service in (None, provider)
                if here and _concerns_batch(turn):
                    return turn
        return None

    def drop(self, turn: "Taking") -> None:
        """Remove a turn."""
        with self._lock, suppress(ValueError):
            self._turns.remove(turn)


def _check_list(turns: Iterable[Scripted]) -> Iterable[Scripted]:
    if not isinstance(turns, str | Mapping | ScriptedTurn | Reply):
        return turns
    turn = _turn_text(turns) if isinstance(turns, Mapping) else repr(turns)
    raise BadParameter(f"a script is a list of turns; use script=[{turn}]")


def _concerns_batch(turn: "Taking") -> bool:
    fault = turn.planned_fault
    return fault is not None and fault.kind in OF_BATCHES


def parse_turns(data: bytes) -> tuple[ScriptedTurn | str, ...]:
    """Parse one turn or a list from JSON; a text is a turn. Raises BadParameter."""
    try:
        found: ScriptedTurn | str | list[ScriptedTurn | str] = decode_json(
            data, ScriptedTurn | str | list[ScriptedTurn | str]
        )
    except (DecodeError, UnicodeDecodeError) as error:
        raise BadParameter(f"this is not a turn: {error}{_list_fields(str(error))}") from None
    return tuple(found) if isinstance(found, list) else (found,)


_KINDS = (("fault", Fault), ("when", When), ("tool_calls", ScriptedCall), ("", ScriptedTurn))


def _list_fields(problem: str) -> str:
    """Return the fields of the object that has an unknown one."""
    if "unknown field" not in problem:
        return ""
    place = re.sub(r"(?:\[\d+\])?`$", "", problem.rpartition("`$")[2])
    kind = next(kind for name, kind in _KINDS if place.endswith(name))
    return f"; its fields are {' '.join(kind.__struct_fields__)}"

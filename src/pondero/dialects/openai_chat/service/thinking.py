"""How much thinking a request asks for, by the knobs that its provider's table has."""

from msgspec import Struct

from pondero.canon import Json, get_path
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import Rejected
from pondero.thinking import Intent, Kind

from . import types
from .errors import join_words
from .models import Knob, Model, Place, Provider

_OFF = "none"


class Wish(Struct, frozen=True):
    """What was asked, and whether the model will think.

    ``place`` is where its thinking will stand in the answer; ``show`` is whether the request asks
    for it there, None where it does not say.
    """

    intent: Intent
    thinks: bool
    place: Place
    show: bool | None


def wish_of(
    body: types.Body,
    rest: dict[str, Json],
    provider: Provider,
    model: Model,
    unknown: UnknownFields | None = None,
) -> Wish:
    """Return the wish; refuses what this model does not take.

    With ``unknown``, what would be refused is passed over and its path is listed there.
    """
    knobs = _Knobs(body, rest, provider, model)
    for knob in provider.knob:
        value = get_path(knobs.asked, knob.path) if knob.path[0] in knobs.asked else None
        if value is None:
            continue
        try:
            knobs.turn(knob, value)
        except Rejected:
            if unknown is None:
                raise
            unknown.paths.append(".".join(knob.path))
    return knobs.wish()


def is_forced(body: types.Body) -> bool:
    """Return whether some tool must be called."""
    return body.tool_choice is not None and body.tool_choice not in ("auto", "none")


class _Knobs:
    """The knobs of one request, turned one after the other."""

    def __init__(
        self, body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
    ) -> None:
        self.asked: dict[str, Json] = {"reasoning_effort": body.reasoning_effort, **rest}
        self._body = body
        self._provider = provider
        self._model = model
        self._denier = provider.denier
        self._kind: Kind = "unset"
        self._level: str | None = None
        self._budget: int | None = None
        self._place: Place = model.shows or provider.thinking
        self._show: bool | None = None

    def turn(self, knob: Knob, value: Json) -> None:
        """Take one value; refuses what this model does not take."""
        name = ".".join(knob.path)
        if knob.kind == "place":
            self._place = self._placed(knob, value, name)
            self._show = self._place != "none"
        elif knob.kind == "budget":
            self._budget, self._kind = self._number(knob, value, name), "budget"
        elif knob.kind == "toggle":
            self._switch(knob, value, name)
        elif knob.loose and not isinstance(value, str):
            self._kind, self._budget = _loose(value)
        else:
            self._effort(value, name)

    def wish(self) -> Wish:
        """Return what was asked in all."""
        kind, model = self._kind, self._model
        thinks = model.thinks == "always" or kind in ("on", "level", "budget")
        if kind == "unset" and model.thinks == "on":
            thinks = True
        forced = (model.forced or self._provider.forced) == "unthinking" and is_forced(self._body)
        return Wish(
            Intent(kind, None if kind == "off" else self._level, self._budget),
            thinks and model.thinks != "no" and not forced,
            self._place,
            self._show,
        )

    def _effort(self, value: Json, name: str) -> None:
        model, denier = self._model, self._denier
        if not isinstance(value, str):
            text = f"Invalid type for '{name}': expected a string."
            denier.deny(text, param=name, code="invalid_type")
        facts = _facts(value, self._body.model, model.efforts)
        if self._provider.vocabulary and value not in self._provider.vocabulary:
            denier.deny_as("word", param=name, **facts)
        if not model.efforts:
            denier.deny_as("no_effort", param=name, **facts)
            denier.unknown(name)
        if value == _OFF and value not in model.efforts:
            denier.deny_as("off", param=name, **facts)
        if value not in model.efforts:
            denier.deny_as("effort", param=name, **facts)
            denier.value(name, value, only=f"Supported values are: {join_words(model.efforts)}.")
        if self._level is not None and value != self._level:
            denier.deny_as("two_efforts", param=name, **facts)
        self._level, self._kind = value, "off" if value == _OFF else "level"

    def _switch(self, knob: Knob, value: Json, name: str) -> None:
        if value in knob.off:
            self._check_off(name)
            self._kind = "off" if self._kind == "unset" else self._kind
        elif value in knob.on:
            self._kind = "on" if self._kind == "unset" else self._kind
        elif value not in knob.idle:
            text = f"Invalid value for '{name}': {value!r}."
            self._denier.deny(text, param=name, code="invalid_value")

    def _check_off(self, name: str) -> None:
        if self._model.thinks == "always" and not self._model.deaf:
            facts = _facts(_OFF, self._body.model, self._model.efforts)
            self._denier.deny_as("off", param=name, **facts)
            text = f"Thinking cannot be disabled for {self._body.model}."
            self._denier.deny(text, param=name, code="invalid_value")

    def _number(self, knob: Knob, value: Json, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < knob.least:
            self._denier.deny_as("budget", param=name, value=value)
            text = f"Invalid '{name}': must be a non-negative integer."
            self._denier.deny(text, param=name, code="invalid_value")
        return value

    def _placed(self, knob: Knob, value: Json, name: str) -> Place:
        word = str(value).lower() if isinstance(value, bool) else value
        if not isinstance(word, str) or word not in knob.places:
            text = f"Invalid value for '{name}': {value!r}."
            self._denier.deny(text, param=name, code="invalid_value")
        if word in knob.alone and (self._body.tools or self._body.response_format):
            self._denier.deny_as("alone", param=name, value=value)
        return knob.places[word]


def _facts(value: str, model: str, words: tuple[str, ...]) -> dict[str, Json]:
    """Return what the providers' own words for a refused effort are filled in with."""
    return {
        "value": value,
        "model": model,
        "words": ", ".join(words),
        "ticked": " or ".join(f"`{word}`" for word in words),
        "members": ", ".join(f"<ReasoningEffort.{word}: '{word}'>" for word in words),
    }


def _loose(value: Json) -> tuple[Kind, int | None]:
    """Return what some clones make of an effort that is not a word: a switch, or a budget."""
    if value is False or value == 0:
        return "off", None
    return ("budget", value) if isinstance(value, int) and value is not True else ("on", None)

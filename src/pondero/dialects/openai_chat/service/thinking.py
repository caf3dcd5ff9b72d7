"""Reads the thinking that a request asks for, by the knobs of its provider's table."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from pondero.canon import Json, get_path
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import Rejected
from pondero.thinking import Intent, Kind

from . import types
from .errors import join_words
from .models import Knob, Model, Place, Provider

_OFF = "none"
_UPDATE = Knob(("configuration_update", "reasoning", "effort"), "effort")  # OpenRouter


class ThinkingSettings(Struct, frozen=True):
    """The requested level, and whether the model will think.

    ``place``: where the answer has its thinking. ``show``: whether the request asks for it, None
    if it does not say.
    """

    intent: Intent
    thinks: bool
    place: Place
    show: bool | None


def parse_thinking(
    body: types.Body,
    rest: dict[str, Json],
    provider: Provider,
    model: Model,
    unknown: UnknownFields | None = None,
) -> ThinkingSettings:
    """Return the settings; rejects values the model does not take, or lists them in ``unknown``."""
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
    return knobs.settings()


def apply_updates(
    settings: ThinkingSettings,
    body: types.Body,
    turns: Sequence[Json],
    provider: Provider,
    model: Model,
) -> ThinkingSettings:
    """Return the settings with the level that the last update inside the conversation sets."""
    for index, turn in enumerate(turns if provider.updates else ()):
        if (effort := get_path(turn, _UPDATE.path)) is not None:
            inside = _Knobs(body, {}, provider, model)
            inside.turn(replace(_UPDATE, path=(f"messages[{index}]", *_UPDATE.path)), effort)
            settings = replace(settings, intent=inside.settings().intent)
    return settings


def is_forced(body: types.Body) -> bool:
    """Return whether some tool must be called."""
    return body.tool_choice is not None and body.tool_choice not in ("auto", "none")


class _Knobs:
    """The knobs of one request; ``turn`` each, then take ``settings``."""

    def __init__(
        self, body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
    ) -> None:
        self.asked: dict[str, Json] = {"reasoning_effort": body.reasoning_effort, **rest}
        self._body = body
        self._provider = provider
        self._model = model
        self._rejecter = provider.rejecter
        self._kind: Kind = "unset"
        self._level: str | None = None
        self._budget: int | None = None
        self._place: Place = model.shows or provider.thinking
        self._show: bool | None = None

    def turn(self, knob: Knob, value: Json) -> None:
        """Take one value, or reject it."""
        name = ".".join(knob.path)
        if knob.kind == "place":
            self._place = self._choose_place(knob, value, name)
            self._show = self._place != "none"
        elif knob.kind == "budget":
            self._budget, self._kind = self._number(knob, value, name), "budget"
        elif knob.kind == "toggle":
            self._switch(knob, value, name)
        elif knob.loose and not isinstance(value, str):
            self._kind, self._budget = _loose(value)
        else:
            self._effort(value, name)

    def settings(self) -> ThinkingSettings:
        """Return the settings of all knobs."""
        kind, model = self._kind, self._model
        thinks = model.thinks == "always" or kind in ("on", "level", "budget")
        if kind == "unset" and model.thinks == "on":
            thinks = True
        forced = (model.forced or self._provider.forced) == "unthinking" and is_forced(self._body)
        return ThinkingSettings(
            Intent(kind, None if kind == "off" else self._level, self._budget),
            thinks and model.thinks != "no" and not forced,
            self._place,
            self._show,
        )

    def _effort(self, value: Json, name: str) -> None:
        model, rejecter = self._model, self._rejecter
        if not isinstance(value, str):
            rejecter.reject("wrong_type", param=name, why="expected a string")
        facts = _facts(value, self._body.model, model.efforts)
        if self._provider.vocabulary and value not in self._provider.vocabulary:
            rejecter.reject("word", param=name, **facts)
        if not model.efforts:
            rejecter.reject("no_effort", param=name, **facts)
        if value not in model.efforts:
            off = value == _OFF and rejecter.knows("off")
            rejecter.reject("off" if off else "effort", param=name, **facts)
        if self._level not in (None, value) and rejecter.knows("two_efforts"):
            rejecter.reject("two_efforts", param=name, **facts)
        self._level, self._kind = value, "off" if value == _OFF else "level"

    def _switch(self, knob: Knob, value: Json, name: str) -> None:
        if value in knob.off:
            self._check_off(name)
            self._kind = "off" if self._kind == "unset" else self._kind
        elif value in knob.on:
            self._kind = "on" if self._kind == "unset" else self._kind
        elif value not in knob.idle:
            self._rejecter.reject("wrong_switch", param=name, value=value)

    def _check_off(self, name: str) -> None:
        if self._model.thinks == "always" and not self._model.deaf:
            facts = _facts(_OFF, self._body.model, self._model.efforts)
            self._rejecter.reject("off", param=name, **facts)

    def _number(self, knob: Knob, value: Json, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < knob.least:
            self._rejecter.reject("budget", param=name, value=value)
        return value

    def _choose_place(self, knob: Knob, value: Json, name: str) -> Place:
        word = str(value).lower() if isinstance(value, bool) else value
        if not isinstance(word, str) or word not in knob.places:
            self._rejecter.reject("wrong_place", param=name, value=value)
        if word in knob.alone and (self._body.tools or self._body.response_format):
            self._rejecter.reject("alone", param=name, value=value)
        return knob.places[word]


def _facts(value: str, model: str, words: tuple[str, ...]) -> dict[str, Json]:
    return {
        "value": value,
        "model": model,
        "words": ", ".join(words),
        "listed": join_words(words),
        "ticked": " or ".join(f"`{word}`" for word in words),
        "members": ", ".join(f"<ReasoningEffort.{word}: '{word}'>" for word in words),
    }


def _loose(value: Json) -> tuple[Kind, int | None]:
    if value is False or value == 0:
        return "off", None
    return ("budget", value) if isinstance(value, int) and value is not True else ("on", None)

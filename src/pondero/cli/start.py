"""The model and the level that a command starts with: ``plan``, ``levels``, ``ask`` and ``chat``.

All four ask this file, so that ``plan`` shows what ``ask`` sends.
"""

from itertools import pairwise

import click
from msgspec import Struct

from ..canon import Json
from ..catalog import ShortName, describe_meaning
from ..client import UsualModel, explain_no_default, find_usual_model, load_catalog
from ..errors import UnknownModel
from ..store import Settings, Template, load_settings
from ..thinking import LEVELS
from .output.echo import say

USUAL_LEVEL = "medium"  # of a model that the user did not name
UNSET = "no model is named and none is set"
NO_MODEL = "no model is named, none is set, and there is no key"
_HOW_TO_ASK = "name one ('pondero ask opus \"...\"'), or use --offline"


class Start(Struct, frozen=True):
    """A model without its level, and the level; None if there is none."""

    model: str
    thinking: Json = None


def resolve_start(
    named: str, *, thinking: Json = None, template: Template | None = None, settings: Settings
) -> Start:
    """Return where a command starts: the level is ``thinking``, else the one in the model's name.

    Without these it is the template's, then the user's own.
    """
    model, level_text = load_catalog().apart(named)
    if named == settings.model:
        _check_own(model, settings)
    kept = None if template is None else template.thinking
    return Start(model, settings.level(thinking, level_text, kept))


def resolve_usual(
    usual: UsualModel,
    *,
    thinking: Json = None,
    template: Template | None = None,
    settings: Settings,
) -> Start:
    """Return where a command starts that names no model: without a level at ``USUAL_LEVEL``.

    A model that does not think gets no level.
    """
    kept = None if template is None else template.thinking
    level = settings.level(thinking, kept)
    if level is None and load_catalog().entry(usual.model).capability.thinks:
        level = USUAL_LEVEL
    return Start(usual.model, level)


def default_model(template: Template | None, settings: Settings) -> str | None:
    """Return the model where none is named: the template's, else the user's own."""
    kept = None if template is None else template.model
    return settings.model if kept is None else kept


def _check_own(model: str, settings: Settings) -> None:
    """Raise UnknownModel for the user's own model, and say where it is set."""
    try:
        load_catalog().entry(model)
    except UnknownModel as error:
        in_variable = settings.model != settings.values.get("model")
        error.add_note(f"{'PONDERO_MODEL' if in_variable else 'config.toml'} names it")
        raise


def resolve_starts(
    names: tuple[str, ...],
    *,
    example: str,
    thinking: Json = None,
    template: Template | None = None,
) -> list[Start]:
    """Return the start of each model, of the usual one if there is no name.

    ``example`` is the command with a model, for the error if there is none.
    """
    settings = load_settings()
    if not names:
        if (usual := default_model(template, settings)) is None:
            chosen = choose_by_key(f"name one, as in '{example}'")
            start = resolve_usual(chosen, thinking=thinking, template=template, settings=settings)
            say_chosen(chosen, start)
            return [start]
        names = (usual,)
    _check_no_level_alone(names)
    return [
        resolve_start(name, thinking=thinking, template=template, settings=settings)
        for name in names
    ]


def say_meaning(model: str) -> None:
    """Say which model a short name means; nothing for other names."""
    entry = load_catalog().entry(load_catalog().apart(model)[0])
    if entry.short:
        say(describe_meaning(entry.short, ShortName(entry.id, entry.line)))


def _check_no_level_alone(names: tuple[str, ...]) -> None:
    for model, name in pairwise(names):
        if name in LEVELS and name not in load_catalog().short_names:
            raise click.UsageError(f"{name!r} is a level; write it after a slash: {model}/{name}")


def choose_by_key(how: str = _HOW_TO_ASK, *, offline: bool = False) -> UsualModel:
    """Return the model for the key that is present; raise UsageError without one."""
    usual = find_usual_model(offline=offline)
    if usual is None:
        reason = explain_no_default()
        raise click.UsageError(f"{NO_MODEL}; {how}" if reason is None else f"{UNSET}; {reason}")
    return usual


def say_chosen(usual: UsualModel, start: Start) -> None:
    """Say which model and level were chosen, and why."""
    level = "" if start.thinking is None else f"/{start.thinking}"
    say(
        f"model: {usual.model}{level} ({usual.why}); "
        "choose one with -m, or 'pondero config set model'"
    )

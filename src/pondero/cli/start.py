"""The model and the level that a command starts with: ``plan``, ``levels``, ``ask`` and ``chat``.

All four ask this file, so that ``plan`` shows what ``ask`` sends.
"""

from itertools import pairwise

import click
from msgspec import Struct

from ..canon import Json
from ..catalog import ShortName, describe_meaning
from ..client import UsualModel, find_usual_model, load_catalog
from ..errors import UnknownModel
from ..store import Settings, Template, load_settings
from ..thinking import LEVELS
from .output.echo import say

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
        how = f"name one, as in '{example}'"
        names = (default_model(template, settings) or say_chosen(choose_by_key(how)).model,)
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
        raise click.UsageError(f"{NO_MODEL}; {how}")
    return usual


def say_chosen(usual: UsualModel) -> UsualModel:
    """Say which model was chosen, and why."""
    say(f"model: {usual.model} ({usual.why}); choose one with -m, or 'pondero config set model'")
    return usual

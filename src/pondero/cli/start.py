"""The model and the level that a command starts with: ``plan``, ``levels``, ``ask`` and ``chat``.

All four ask this file, so that ``plan`` shows what ``ask`` sends.
"""

import click
from msgspec import Struct

from ..canon import Json
from ..client import load_catalog
from ..store import Settings, Template, load_settings

NO_MODEL = (
    "no model is named and none is set; write one before the question ('pondero models' lists "
    "them), or set one: pondero config set model claude-opus-5/medium"
)


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
    kept = None if template is None else template.thinking
    return Start(model, settings.level(thinking, level_text, kept))


def default_model(template: Template | None, settings: Settings) -> str | None:
    """Return the model where none is named: the template's, else the user's own."""
    kept = None if template is None else template.model
    return settings.model if kept is None else kept


def resolve_starts(
    names: tuple[str, ...], *, thinking: Json = None, template: Template | None = None
) -> list[Start]:
    """Return the start of each model, of the usual one if there is no name."""
    settings = load_settings()
    usual = default_model(template, settings)
    if not names and usual is None:
        raise click.UsageError(NO_MODEL)
    return [
        resolve_start(name, thinking=thinking, template=template, settings=settings)
        for name in names or (usual or "",)
    ]

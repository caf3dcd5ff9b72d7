"""The user's models.toml, and a change that keeps all that is there."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadCatalog
from .files import write_whole
from .folders import config_folder

FILE = "models.toml"


def models_file() -> Path:
    """Return where models.toml is, or would be."""
    return Path(config_folder()) / FILE


def with_models(rows: Iterable[Mapping[str, Any]]) -> tuple[str, int]:
    """Return the text of models.toml with these rows after its own, and how many are new there.

    A model the user has a row for keeps that row.
    """
    import tomlkit  # noqa: PLC0415 - only where the file is changed

    path = models_file()
    text = path.read_text("utf-8") if path.is_file() else ""
    try:
        document = tomlkit.parse(text)
    except tomlkit.exceptions.TOMLKitError as error:
        message = f"{path} is no TOML: {error}"
        raise BadCatalog(message) from None
    table = document.setdefault("model", tomlkit.aot())
    own = {(row.get("provider"), name) for row in table for name in row.get("match", ())}
    named = {name for _, name in own}
    added = 0
    for row in rows:
        if any((row["provider"], name) in own or name in named for name in row["match"]):
            continue
        table.append(tomlkit.item(dict(row)))
        added += 1
    return tomlkit.dumps(document), added


def write_models(text: str) -> Path:
    """Write models.toml whole and return where it is; raises StoreError."""
    write_whole(models_file(), text)
    return models_file()

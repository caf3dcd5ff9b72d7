"""A calibration: what a sweep recommended, with its evidence, kept in the config folder.

``Results.adopt`` writes one. It names everything it depends on, so that a reader can tell whether
it still holds: the fields that were sent, the questions, the judge and the catalog.
"""

import time
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from ..canon import Json
from ..catalog import shipped
from ..errors import BadParameter
from ..store import config_folder, write_whole

FOLDER = "calibrations"
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


class Calibration(Struct, frozen=True, kw_only=True):
    """The level that is enough for some work, by whom it was found so, and on what."""

    name: str
    model: str
    level: str
    fields: str
    """The hash of what is sent for this level."""
    data: str
    judge: str
    n: int
    accuracy: float | None
    reference: str
    difference: float | None
    lower: float | None
    upper: float | None
    margin: float
    run: str
    date: str
    catalog: str
    """The hash of the catalog that the fields came from."""


def hash_of(value: Json) -> str:
    """Return a short hash of JSON, whatever the order of its keys."""
    whole = msgspec.json.encode(value, order="deterministic")
    return blake2b(whole, digest_size=8).hexdigest()


def catalog_revision() -> str:
    """Return the hash of the catalog that is shipped."""
    return blake2b(msgspec.json.encode(shipped()), digest_size=8).hexdigest()


def place_of(name: str) -> Path:
    """Return the file of a calibration; raises BadParameter for a name that is no file's."""
    if not name or not set(name.lower()) <= _NAME or name.startswith("."):
        message = f"a calibration cannot be called {name!r}; use letters, digits, - and _"
        raise BadParameter(message)
    return Path(config_folder()) / FOLDER / f"{name}.json"


def write(calibration: Calibration) -> Path:
    """Write a calibration, replacing an older one of its name, and return where it is."""
    path = place_of(calibration.name)
    text = msgspec.json.format(msgspec.json.encode(calibration), indent=2).decode()
    write_whole(path, text + "\n")
    return path


def today() -> str:
    """Return the date."""
    return time.strftime("%Y-%m-%d", time.gmtime())

"""The user's calibrations: one JSON file each, in the folder calibrations beside config.toml.

``load_calibrations`` is what everybody who says ``auto`` reads; nothing is read where nobody does.
The files are the user's, and may hold anything: one that is no calibration is refused in a
sentence.
"""

import math
import os
import time
from datetime import date
from pathlib import Path

import msgspec

from ..canon import decode_json, escape_controls
from ..errors import BadConfig, BadParameter, BadThinking
from ..exchange import Calibration, Calibrations
from ..thinking import parse_auto
from .files import config_folder, write_atomic

FOLDER = "calibrations"

_ENDING = ".json"
_LARGEST = 1 << 20  # bytes: a calibration with a hundred kinds has 40,000
_FIRST_DAY = date(1970, 1, 1).toordinal()
_LONGEST = 1_000  # characters of one text in it

Mark = tuple[int, tuple[tuple[str, int, int, int], ...]]
"""The day, and the name, inode, time and size of each file: what is the same while these are."""

_READ: dict[Path, tuple[Mark, Calibrations]] = {}


def load_calibrations() -> Calibrations:
    """Return all that the user adopted; the same value as before where no file has changed."""
    folder = Path(config_folder()) / FOLDER
    mark = _mark(folder)
    before = _READ.get(folder)
    if before is not None and before[0] == mark:
        return before[1]
    known, broken = dict[str, Calibration](), dict[str, str]()
    for file, *_ in mark[1]:
        name = file.removesuffix(_ENDING)
        try:
            known[name] = _read(folder / file, name)
        except BadConfig as error:
            broken[name] = str(error)
    found = Calibrations(known, broken, mark[0])
    _READ[folder] = (mark, found)
    return found


def calibration_model(name: str) -> str:
    """Return the model that a calibration is for; raises BadThinking where there is none."""
    if (found := load_calibrations().get(name)) is not None:
        return found.model
    known = " ".join(load_calibrations().known)
    hint = f"use {known}" if known else "there is none yet, and 'pondero sweep adopt' makes one"
    message = f"no calibration is called {name!r}; {hint}"
    raise BadThinking(message)


def calibration_file(name: str) -> Path:
    """Return the file of a calibration; raises BadParameter for a name that cannot be."""
    auto = parse_auto(f"auto:{name}")
    if auto is None or auto.name is None or auto.kind is not None:
        message = f"a calibration cannot be called {name!r}; use letters, digits, - and _"
        raise BadParameter(message)
    return Path(config_folder()) / FOLDER / f"{auto.name}{_ENDING}"


def save_calibration(calibration: Calibration, *, force: bool = False) -> Path:
    """Write a calibration and return where it is; raises BadParameter where one has its name.

    With ``force`` it takes that one's place, in a single step.
    """
    path = calibration_file(calibration.name)
    text = msgspec.json.format(msgspec.json.encode(calibration), indent=2).decode()
    if not force and os.path.lexists(path):
        message = (
            f"a calibration is called {path.stem!r} already; another name keeps both, and --force "
            "(force=True) replaces it"
        )
        raise BadParameter(message)
    write_atomic(path, text + "\n")
    return path


def _mark(folder: Path) -> Mark:
    """Return what tells whether anything has changed since."""
    today = _FIRST_DAY + int(time.time() // 86_400)
    try:
        files = [
            (path.name, *_stat(path))
            for path in sorted(folder.iterdir())
            if path.suffix == _ENDING and not path.name.startswith(".")
        ]
    except FileNotFoundError:
        return today, ()
    except OSError as problem:
        message = f"the folder {FOLDER} cannot be read: {problem.strerror or problem}"
        raise BadConfig(message) from None
    return today, tuple(files)


def _stat(path: Path) -> tuple[int, int, int]:
    """Return inode, time and size; zeros for a link to nowhere, which reading then names."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: Path, name: str) -> Calibration:
    """Return the calibration in a file; raises BadConfig where there is none."""
    auto = parse_auto(f"auto:{name}")
    if auto is None or auto.name != name or auto.kind is not None:
        raise _wrong(path, "none can be called so")
    if not path.is_file():  # a pipe would keep us waiting
        raise _wrong(path, "it is not a file")
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as problem:
        raise _wrong(path, problem.strerror or str(problem)) from None
    if len(raw) > _LARGEST:
        raise _wrong(path, f"it is larger than {_LARGEST:,} bytes")
    try:
        found = decode_json(raw, Calibration)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _wrong(path, str(problem)) from None
    if why := _problem(found, name):
        raise _wrong(path, why)
    return found


def _wrong(path: Path, why: str) -> BadConfig:
    """Return the error for a file; a gateway's clients read it too, and need not see the folder."""
    said = escape_controls(f"{FOLDER}/{path.name} is no calibration: {why}").replace("\n", " ")
    return BadConfig(f"{said}; adopt it again, or remove the file")


def _problem(found: Calibration, name: str) -> str:
    """Return what is wrong with a calibration whose types are right, or nothing."""
    findings = (found, *found.kinds.values())
    texts = [*_texts(found), *found.kinds, *(text for each in findings for text in _texts(each))]
    numbers = [each for finding in findings for each in _numbers(finding)]
    if found.name != name:
        return f"it is called {found.name!r} inside"
    if odd := next((text for text in texts if not text.isprintable() or len(text) > _LONGEST), ""):
        return f"it has a text that cannot be shown: {odd[:40]!a}"
    if not all(map(math.isfinite, numbers)) or any(each.n < 0 for each in findings):
        return "it has a number that cannot be"
    if parse_auto(found.model) is not None or not found.model.strip():
        return f"{found.model!r} is no model"
    try:
        date.fromisoformat(found.date)
    except ValueError:
        return f"{found.date!r} is no date"
    return ""


def _texts(value: msgspec.Struct) -> list[str]:
    return [each for each in msgspec.structs.astuple(value) if isinstance(each, str)]


def _numbers(value: msgspec.Struct) -> list[float]:
    return [each for each in msgspec.structs.astuple(value) if isinstance(each, int | float)]

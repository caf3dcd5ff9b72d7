"""The user's calibrations: JSON files in the folder calibrations, next to config.toml.

Only a request for ``auto`` reads them. A file may hold anything; an invalid one gives a BadConfig.
"""

import math
import os
import time
from datetime import date
from pathlib import Path

import msgspec

from ..canon import decode_json, escape_controls
from ..errors import BadConfig, BadParameter, BadThinking
from ..exchange import CALIBRATION_VERSION as VERSION
from ..exchange import Calibration, Calibrations
from ..thinking import parse_auto
from .files import config_folder, write_atomic

FOLDER = "calibrations"

_ENDING = ".json"
_LARGEST = 1 << 20  # bytes; a calibration with a hundred kinds has 40,000
_FIRST_DAY = date(1970, 1, 1).toordinal()
_LONGEST = 1_000  # characters of one text in it

# The day, and the name, inode, time and size of each file; calibrations are cached by it.
_Snapshot = tuple[int, tuple[tuple[str, int, int, int], ...]]

_READ: dict[Path, tuple[_Snapshot, Calibrations]] = {}


def load_calibrations() -> Calibrations:
    """Return the user's calibrations; the cached value if no file has changed."""
    folder = Path(config_folder()) / FOLDER
    snapshot = _take_snapshot(folder)
    before = _READ.get(folder)
    if before is not None and before[0] == snapshot:
        return before[1]
    known, broken = dict[str, Calibration](), dict[str, str]()
    for file, *_ in snapshot[1]:
        name = file.removesuffix(_ENDING)
        try:
            known[name] = _read(folder / file, name)
        except BadConfig as error:
            broken[name] = str(error)
    found = Calibrations(known, broken, snapshot[0])
    _READ[folder] = (snapshot, found)
    return found


def calibration_model(name: str) -> str:
    """Return the model of a calibration; raises BadThinking for an unknown name."""
    if (found := load_calibrations().get(name)) is not None:
        return found.model
    known = " ".join(load_calibrations().known)
    hint = f"use {known}" if known else "create one with 'pondero sweep adopt'"
    message = f"no calibration is called {name!r}; {hint}"
    raise BadThinking(message)


def calibration_file(name: str) -> Path:
    """Return the file of a calibration; raises BadParameter for an invalid name."""
    auto = parse_auto(f"auto:{name}")
    if auto is None or auto.name is None or auto.kind is not None:
        message = f"invalid calibration name {name!r}; use letters, digits, - and _"
        raise BadParameter(message)
    return Path(config_folder()) / FOLDER / f"{auto.name}{_ENDING}"


def save_calibration(calibration: Calibration, *, force: bool = False) -> Path:
    """Write a calibration and return its path; raises BadParameter if the name is taken."""
    path = calibration_file(calibration.name)
    text = msgspec.json.format(msgspec.json.encode(calibration), indent=2).decode()
    if not force and os.path.lexists(path):
        message = (
            f"a calibration is called {path.stem!r} already; use another name to keep both, or "
            "--force (force=True) to replace it"
        )
        raise BadParameter(message)
    write_atomic(path, text + "\n")
    return path


def remove_calibration(name: str) -> Path:
    """Remove a calibration, even a broken one; return its path, or raise BadParameter."""
    path = calibration_file(name)
    try:
        path.unlink()
    except FileNotFoundError:
        known = " ".join(load_calibrations().known)
        hint = f"use {known}" if known else "there are none"
        message = f"no calibration is called {name!r}; {hint}"
        raise BadParameter(message) from None
    except OSError as problem:
        message = f"{path} cannot be removed: {problem.strerror or problem}"
        raise BadParameter(message) from None
    return path


def check_auto(word: str | None) -> None:
    """Raise BadThinking for ``auto:NAME`` if no calibration has that name."""
    auto = parse_auto(word.strip()) if word else None
    if auto is not None and auto.name is not None:
        calibration_model(auto.name)


def note_served(model: str, name: str | None, served: str) -> None:
    """Save that a service now answers ``auto`` as another model than was measured."""
    try:
        known = load_calibrations()
        chosen = known.get(name) if name else known.newest(model)
    except BadConfig:
        return
    if chosen is None or not chosen.served or chosen.offline:
        return
    if (chosen.seen or chosen.served) != served:
        save_calibration(msgspec.structs.replace(chosen, seen=served), force=True)


def _take_snapshot(folder: Path) -> _Snapshot:
    today = _today()
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
    """Return inode, time and size; zeros for a broken link, which ``_read`` reports."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: Path, name: str) -> Calibration:
    auto = parse_auto(f"auto:{name}")
    if auto is None or auto.name != name or auto.kind is not None:
        raise _wrong(path, "its name is invalid")
    if not path.is_file():  # a pipe would block
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
    if why := _problem(found, name) or _problem_of_time(found):
        raise _wrong(path, why)
    return found


def _wrong(path: Path, why: str) -> BadConfig:
    """Return the error for a file, without its folder: a gateway's clients see it too."""
    text = escape_controls(f"{FOLDER}/{path.name} is not a calibration: {why}").replace("\n", " ")
    return BadConfig(f"{text}; adopt it again, or remove the file")


def _problem(found: Calibration, name: str) -> str:
    findings = (found, *found.kinds.values())
    texts = [*_texts(found), *found.kinds, *(text for each in findings for text in _texts(each))]
    numbers = [each for finding in findings for each in _numbers(finding)]
    if found.name != name:
        return f"it is called {found.name!r} inside"
    if odd := next((text for text in texts if not text.isprintable() or len(text) > _LONGEST), ""):
        return f"it has a text that cannot be shown: {odd[:40]!a}"
    if not all(map(math.isfinite, numbers)) or any(each.n < 0 for each in findings):
        return "it has an invalid number"
    if parse_auto(found.model) is not None or not found.model.strip():
        return f"{found.model!r} is not a model"
    try:
        date.fromisoformat(found.date)
    except ValueError:
        return f"{found.date!r} is not a date"
    return ""


def _problem_of_time(found: Calibration) -> str:
    """Return why a calibration is not of the past: it would win over all others, and never age."""
    if found.version != VERSION:
        return f"it has version {found.version}, and this pondero reads version {VERSION}"
    tomorrow = date.fromordinal(_today() + 1).isoformat()  # the clocks of two machines differ
    if late := next((day for day in (found.date, found.adopted) if day[:10] > tomorrow), ""):
        return f"it is dated {late[:10]}, in the future"
    return ""


def _today() -> int:
    return _FIRST_DAY + int(time.time() // 86_400)


def _texts(value: msgspec.Struct) -> list[str]:
    return [each for each in msgspec.structs.astuple(value) if isinstance(each, str)]


def _numbers(value: msgspec.Struct) -> list[float]:
    return [each for each in msgspec.structs.astuple(value) if isinstance(each, int | float)]

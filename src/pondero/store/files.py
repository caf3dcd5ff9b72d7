"""The user's folders and catalog files, and reading and writing of whole files.

Every room finds models and providers with ``load_catalog``, which includes the user's models.toml
and providers/NAME.toml.
"""

import os
import sys
from contextlib import suppress
from functools import lru_cache
from time import sleep

from ..catalog import Lookup, TomlFile, add_user_files, load_shipped, parse_toml
from ..errors import BadCatalog, BadConfig, StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:  # in Python 3.11 pathlib imports urllib, which a plan does not need
    from pathlib import Path

    from ..catalog import ModelEntry
    from ..thinking import Intent, Policy


_WAITS = (0.01, 0.05, 0.2, 0.5)  # seconds


def config_folder() -> str:
    """Return the folder of config.toml and models.toml (PONDERO_CONFIG_DIR)."""
    if named := os.environ.get("PONDERO_CONFIG_DIR"):
        return named
    system: str = sys.platform
    if system == "linux":  # as platformdirs, without the 20 ms of its import
        base = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return os.path.join(base, "pondero")
    from platformdirs import user_config_dir  # noqa: PLC0415 - see above

    return user_config_dir("pondero")


def data_folder() -> str:
    """Return the folder of the threads (PONDERO_DATA_DIR)."""
    if named := os.environ.get("PONDERO_DATA_DIR"):
        return named
    from platformdirs import user_data_dir  # noqa: PLC0415 - only for threads

    return user_data_dir("pondero")


def load_config_file() -> TomlFile | None:
    """Return config.toml, if there is one; raises BadConfig."""
    path = os.path.join(config_folder(), "config.toml")
    return load_toml(path, BadConfig) if os.path.isfile(path) else None


def load_toml(path: str, error: type[UsageError]) -> TomlFile:
    """Read and parse a TOML file; raises ``error`` with path and line."""
    return parse_toml(_read_text(path, error), path, error)


def _read_text(path: str, error: type[UsageError]) -> str:
    """Return the text of a UTF-8 file without its byte order mark."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as problem:
        message = f"{path} cannot be read: {problem.strerror or problem}"
        raise error(message) from None
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        message = f"{path}:{line}: this is not UTF-8; save the file as UTF-8 text"
        raise error(message) from None


@lru_cache(maxsize=1)
def load_catalog() -> Lookup:
    """Return the catalog with the user's models and providers, read once per process."""
    catalog, files = load_shipped(), _catalog_files()
    return Lookup(add_user_files(catalog, files, _quirks) if files else catalog, _calibration_model)


def _calibration_model(name: str) -> str:
    from .calibration_files import calibration_model  # noqa: PLC0415 - only for auto:NAME

    return calibration_model(name)


def resolve_auto(
    entry: "ModelEntry", intent: "Intent", *, policy: "Policy", offline: bool = False
) -> "Intent":
    """Replace ``auto`` by the calibrated level; raises BadConfig for an invalid calibration."""
    if intent.kind != "auto":
        return intent
    from .. import exchange  # noqa: PLC0415 - only for auto
    from .calibration_files import load_calibrations  # noqa: PLC0415 - only for auto

    known = load_calibrations()
    return exchange.apply_calibration(entry, intent, known, policy=policy, offline=offline)


def _quirks(dialect: str) -> "type | None":
    from .. import dialects  # noqa: PLC0415 - only for the user's own providers

    return dialects.get_dialect(dialect).caller().quirks if dialect in dialects.NAMES else None


def _catalog_files() -> dict[str, str]:
    folder = config_folder()
    places = (folder, os.path.join(folder, "families"), os.path.join(folder, "providers"))
    paths = [
        os.path.join(place, name)
        for place in places
        if os.path.isdir(place)
        for name in sorted(os.listdir(place))
        if (name == "models.toml" if place is folder else name.endswith(".toml"))
    ]
    return {path: _read_text(path, BadCatalog) for path in paths}


def write_atomic(path: "Path", text: str) -> None:
    """Write a file atomically; raises StoreError."""
    from threading import get_ident  # noqa: PLC0415 - only for writing

    temporary = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_private(temporary, text)
        _replace(temporary, path.resolve())
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise StoreError(message) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _replace(temporary: "Path", path: "Path") -> None:
    """Replace a file; on Windows one that another program reads is busy, and is tried again."""
    for wait in (*_WAITS, None):
        try:
            temporary.replace(path)
        except PermissionError:
            if wait is None or os.name != "nt":
                raise
            sleep(wait)
        else:
            return


def _write_private(temporary: "Path", text: str) -> None:
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)

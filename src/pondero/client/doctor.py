"""Checks this machine and suggests fixes; ``pondero doctor`` calls it. It never shows a key."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from stat import S_IMODE

from ..catalog import Catalog, load_shipped
from ..errors import PonderoError
from ..extras import find_missing, install_hint, load_extras
from ..store import (
    Threads,
    check_config,
    config_folder,
    data_folder,
    keys_file,
    list_saved_keys,
    load_catalog,
    load_settings,
)
from .dial import models
from .health_check import HealthCheck
from .reach_checks import check_disk, check_engines, check_model, check_tool_servers

_SMALLEST = (60, 20)


def run_checks() -> tuple[HealthCheck, ...]:
    """Run all checks; what the user's files name is tried only if they can be read."""
    found = [result for check in _CHECKS for result in check()]
    if not any(each.check in _FILES and each.ok is False for each in found):
        found += [result for check in _TRIES for result in check()]
    return tuple(found)


def _versions() -> Iterator[HealthCheck]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield HealthCheck("version", None, f"pondero {metadata.version('pondero')}, Python {python}")


def _catalog() -> Iterator[HealthCheck]:
    try:
        entries = models()
    except PonderoError as error:
        yield HealthCheck("catalog", ok=False, value=str(error), fix="correct or remove that file")
        return
    checked = max(entry.capability.checked for entry in entries)
    providers = len(load_catalog().catalog.providers)
    value = f"{len(entries):,} models of {providers} providers, facts as of {checked}"
    yield HealthCheck("catalog", ok=True, value=value)


def _config() -> Iterator[HealthCheck]:
    try:
        check_config()
        found = load_settings()
    except PonderoError as error:
        yield HealthCheck("config", ok=False, value=str(error), fix="pondero config edit")
        return
    names = ", ".join(found.values) or "nothing is set"
    yield HealthCheck("config", ok=True, value=f"{config_folder()}: {names}")


def _folders() -> Iterator[HealthCheck]:
    named = (("config", config_folder(), "CONFIG"), ("data", data_folder(), "DATA"))
    for name, folder, variable in named:
        there = Path(folder)
        while not there.exists() and there != there.parent:
            there = there.parent
        ok = there.is_dir() and os.access(there, os.W_OK)
        fix = None if ok else f"make it yours, or name another with PONDERO_{variable}_DIR"
        value = folder if ok else f"{folder} cannot be written"
        yield HealthCheck(f"{name} folder", ok=ok, value=value, fix=fix)


def _keys() -> Iterator[HealthCheck]:
    try:
        kept = list_saved_keys()
    except PonderoError as error:
        yield HealthCheck(
            "keys", ok=False, value=str(error), fix=f"correct or remove {keys_file()}"
        )
        kept = {}
    found = [
        f"{provider.name} ({names[0]})"
        for provider in _load_any_catalog().providers.values()
        if (names := [each for each in provider.key_variables if _has(each, kept)])
    ]
    fix = None if found else "pondero keys set PROVIDER, or set a provider's variable"
    value = ", ".join(found) or "none: only local models and --offline"
    yield HealthCheck("keys", ok=True if found else None, value=value, fix=fix)
    file = keys_file()
    if os.name == "posix" and file.exists() and S_IMODE(file.stat().st_mode) & 0o077:
        value = f"{file} can be read by others"
        yield HealthCheck("keys file", ok=False, value=value, fix=f"chmod 600 {file}")


def _load_any_catalog() -> Catalog:
    """Return the catalog; without the user's files if one of them is invalid."""
    try:
        return load_catalog().catalog
    except PonderoError:
        return load_shipped()


def _has(variable: str, kept: dict[str, str]) -> bool:
    return bool(os.environ.get(variable, "").strip()) or variable in kept


def _threads() -> Iterator[HealthCheck]:
    yield from _find_broken()
    try:
        with Threads.open() as threads:
            if threads.notice:
                fix = "see the message; nothing was deleted"
                yield HealthCheck("threads", ok=False, value=threads.notice, fix=fix)
            said, found = threads.check(), threads.list(limit=None)
            path, size = threads.path, threads.size / 1e6
    except PonderoError as error:
        fix = "see the message; --no-save works meanwhile"
        yield HealthCheck("threads", ok=False, value=str(error), fix=fix)
        return
    if said != "ok":
        fix = f"move {path} away; then: pondero threads salvage FILE"
        yield HealthCheck("threads", ok=False, value=f"{path} is damaged: {said}", fix=fix)
        return
    value = f"{len(found):,} in {path} ({size:,.1f} MB with its log), intact"
    yield HealthCheck("threads", ok=True, value=value)
    if empty := [thread.id for thread in found if not thread.messages]:
        value = f"{len(empty):,} without a message: {' '.join(empty[:5])}"
        fix = f"pondero threads delete --yes {' '.join(empty[:5])}"
        yield HealthCheck("threads", ok=False, value=value, fix=fix)


def _find_broken() -> Iterator[HealthCheck]:
    """Report damaged files that were moved aside, until they are read back."""
    for file in sorted(Path(data_folder()).glob("threads.db.broken-*[0-9]")):
        fix = f"pondero threads salvage {shlex.quote(str(file))}"
        value = f"a damaged file was moved to {file}"
        yield HealthCheck("threads", ok=False, value=value, fix=fix)


def _terminal() -> Iterator[HealthCheck]:
    if not sys.stdout.isatty():
        yield HealthCheck("terminal", None, "none: output goes to a pipe or a file")
        return
    size = shutil.get_terminal_size()
    wide = size.columns >= _SMALLEST[0] and size.lines >= _SMALLEST[1]
    fix = None if wide else f"make it {_SMALLEST[0]} by {_SMALLEST[1]} or larger"
    value = f"{size.columns} by {size.lines}, {_colours()}"
    if os.name != "nt" and os.environ.get("TERM", "") in ("", "dumb"):
        wide, fix = False, "set TERM, as xterm-256color; the chat cannot be drawn without"
    yield HealthCheck("terminal", ok=wide, value=value, fix=fix)
    # A replaced stdout may have no encoding.
    encoding = (getattr(sys.stdout, "encoding", None) or "unknown").lower()
    unicode = encoding.replace("-", "") == "utf8"
    fix = None if unicode else "set LANG to a UTF-8 locale, or PYTHONUTF8=1"
    yield HealthCheck("characters", ok=unicode, value=encoding, fix=fix)


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "all colours"
    term = os.environ.get("TERM", "")
    return "256 colours" if "256" in term else f"few colours (TERM={term or 'not set'})"


def _extras() -> Iterator[HealthCheck]:
    for extra, packages in load_extras().items():
        missing = find_missing(packages)
        fix = install_hint(extra) if missing else None
        value = f"without {', '.join(missing)}" if missing else ", ".join(packages)
        yield HealthCheck(f"extra {extra}", ok=None if missing else True, value=value, fix=fix)


_FILES = ("catalog", "config", "keys")
_CHECKS = (_versions, _catalog, _config, _folders, check_disk, _keys, _threads, _terminal, _extras)
_TRIES = (check_model, check_engines, check_tool_servers)

"""Remembers what users were told, so that a notice is not repeated at every call."""

from contextlib import suppress
from pathlib import Path

from ..canon import dump_json, load_json
from ..errors import PonderoError
from .files import data_folder, write_atomic

FILE = "notices.json"
_MOST = 500  # names; the oldest are forgotten, and told once more


def is_new_notice(name: str) -> bool:
    """Return whether a notice was not given before, and remember it; True if that fails."""
    path = Path(data_folder()) / FILE
    try:
        known = load_json(path.read_text("utf-8"), list[str])
    except (OSError, ValueError):
        known = []
    if name in known:
        return False
    with suppress(PonderoError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, dump_json([*known, name][-_MOST:]))
    return True

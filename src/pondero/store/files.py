"""Small files of the user's, written whole or not at all, for their owner's eyes only."""

import os
from contextlib import suppress
from pathlib import Path

from ..errors import StoreError


def write_whole(path: Path, text: str) -> None:
    """Write a file at once, so that nobody ever finds half of it; raises StoreError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device: nothing to put in its place
            path.write_text(text, encoding="utf-8")
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_beside(beside, text)
        beside.replace(path.resolve())
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise StoreError(message) from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _write_beside(beside: Path, text: str) -> None:
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)

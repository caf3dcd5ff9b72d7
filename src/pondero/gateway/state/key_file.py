"""The private local copy of the keys in Redis: if Redis is lost or empty, keys and blocks hold."""

from pathlib import Path

import msgspec

from ...canon import load_json
from ...store import data_folder, write_atomic
from .keys import KeysUnreadable
from .pending_use import digest_address


class SavedKeys(msgspec.Struct, frozen=True):
    """The keys of a shared state as JSON, by name.

    ``changed`` has the version of each key's last change, also of removed keys: of two copies of a
    key, the later holds.
    """

    rows: dict[str, str] = {}
    changed: dict[str, int] = {}


class KeyFile:
    """A file for all processes of this machine with the same shared state."""

    def __init__(self, address: str, folder: Path | None = None) -> None:
        name = f"gateway-keys-{digest_address(address)}.json"
        self._path = (folder or Path(data_folder())) / name
        self._written: SavedKeys | None = None

    def load(self) -> SavedKeys | None:
        """Return the saved keys, None if there is no file; raises KeysUnreadable."""
        try:
            self._written = load_json(self._path.read_bytes(), SavedKeys)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise KeysUnreadable(self._path, error) from None
        return self._written

    def save(self, keys: SavedKeys) -> None:
        """Write the keys if they changed; raises StoreError."""
        if keys != self._written:
            write_atomic(self._path, msgspec.json.encode(keys).decode())
            self._written = keys

"""Use that a process could not send to Redis before its end, kept on disk for the next start."""

import logging
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from urllib.parse import urlsplit

import msgspec

from ...canon import load_json
from ...errors import StoreError
from ...store import data_folder, write_atomic
from ..quotas.quota import Quota

LOG = logging.getLogger("pondero.gateway")


class SlotUse(msgspec.Struct, frozen=True):
    """An amount of a quota, used in one of its slots."""

    bound: Quota
    slot: int
    amount: int


class OwedUse(msgspec.Struct, frozen=True):
    """Use that Redis may not have yet.

    ``epoch``: of its reservation in Redis; empty if Redis may have none.
    """

    uses: tuple[SlotUse, ...]
    epoch: str = ""


Owed = dict[str, OwedUse]
"""By the id of the request."""


class PendingUse:
    """The files of one shared state; each process writes its own, and any may send all."""

    def __init__(self, address: str, folder: Path | None = None) -> None:
        self._folder = folder or Path(data_folder())
        self._name = f"gateway-use-{digest_address(address)}"
        self._loaded: list[Path] = []

    def load(self) -> Owed:
        """Return the use in all files; a damaged one is logged, and left for a person to read."""
        found: Owed = {}
        for path in sorted(self._folder.glob(f"{self._name}-*.json")):
            try:
                found |= load_json(path.read_bytes(), Owed)
            except (OSError, ValueError) as error:
                LOG.error("the use in %s cannot be read: %s", path, error)  # noqa: TRY400 - no traceback
            else:
                self._loaded.append(path)
        return found

    def save(self, owed: Owed) -> None:
        """Keep this use in place of all that was loaded; a failure is logged."""
        if owed:
            path = self._folder / f"{self._name}-{token_hex(6)}.json"
            try:
                write_atomic(path, msgspec.json.encode(owed).decode())
            except StoreError as error:
                LOG.error("the use of %d requests is lost: %s", len(owed), error)  # noqa: TRY400 - no traceback
                return
        for path in self._loaded:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        self._loaded = []


def digest_address(address: str) -> str:
    """Return a file name's part for a shared state, the same after a change of its password."""
    parts = urlsplit(address)
    place = f"{parts.hostname}:{parts.port}{parts.path}"
    return sha256(place.encode()).hexdigest()[:16]

"""Whose an id is, in the file of the data folder: for how long it is known."""

import asyncio
import time
from pathlib import Path

from pondero.gateway.config.model import ServerConfig
from pondero.gateway.state.answer_cache import LocalAnswerCache
from pondero.gateway.state.owners import FileOwners
from pondero.gateway.state.shared_state import make_shared_state

DAY = 86_400


def test_an_owner_is_known_for_30_days_and_not_beyond(tmp_path, monkeypatch):
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path))
    state = make_shared_state(ServerConfig(), saves_owners=True)
    asyncio.run(state.owners.put({"file-1": b"one"}))
    (path,) = (each for each in Path(tmp_path).iterdir() if each.suffix == ".db")

    def find(days: float) -> dict[str, bytes]:
        """Return what another process knows after these days."""
        later = FileOwners(
            LocalAnswerCache(), seconds=60, path=path, clock=lambda: time.time() + days * DAY
        )
        return asyncio.run(later.get(["file-1"]))

    assert find(29.9) == {"file-1": b"one"}
    assert find(30.1) == {}

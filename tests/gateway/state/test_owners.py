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


def make_owners(tmp_path: Path) -> FileOwners:
    return FileOwners(LocalAnswerCache(), seconds=60, path=tmp_path / "owners.db")


def test_owners_that_come_during_a_write_share_the_next_one(tmp_path, monkeypatch):
    owners, written = make_owners(tmp_path), []
    write = owners._write
    monkeypatch.setattr(owners, "_write", lambda items: (written.append(dict(items)), write(items)))

    async def put_many() -> None:
        await asyncio.gather(*(owners.put({f"id-{n}": b"%d" % n}) for n in range(50)))
        await owners.aclose()

    asyncio.run(put_many())
    assert len(written) <= 2
    every = {f"id-{n}": b"%d" % n for n in range(50)}
    assert asyncio.run(make_owners(tmp_path).get(every)) == every


def test_owners_that_come_soon_after_a_write_wait_for_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr("pondero.gateway.state.owners._PACE", 0.5)
    owners, written = make_owners(tmp_path), []
    write = owners._write
    monkeypatch.setattr(owners, "_write", lambda items: (written.append(set(items)), write(items)))

    async def put_later(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await owners.put({name: b"me"})

    async def put_several() -> None:
        await owners.put({"first": b"me"})  # which waits for nobody
        await asyncio.gather(put_later("second", 0), put_later("third", 0.05))
        await owners.aclose()

    asyncio.run(put_several())
    assert written == [{"first"}, {"second", "third"}]


def test_an_owner_is_in_the_file_once_put_returns(tmp_path):
    async def put_three() -> dict[str, bytes]:
        owners, found = make_owners(tmp_path), {}

        async def put(id: str) -> None:
            await owners.put({id: b"one"})
            found.update(await make_owners(tmp_path).get([id]))

        first = asyncio.ensure_future(put("a"))
        await asyncio.sleep(0)
        await asyncio.gather(first, put("b"), put("c"))
        return found

    assert asyncio.run(put_three()) == dict.fromkeys("abc", b"one")


def test_a_request_that_ends_early_takes_no_owner_of_others_along(tmp_path):
    async def put_and_cancel() -> None:
        owners = make_owners(tmp_path)
        first = asyncio.ensure_future(owners.put({"a": b"one"}))
        second = asyncio.ensure_future(owners.put({"b": b"two"}))
        await asyncio.sleep(0)
        first.cancel()
        await second
        await owners.aclose()

    asyncio.run(put_and_cancel())
    assert asyncio.run(make_owners(tmp_path).get(["a", "b"])) == {"a": b"one", "b": b"two"}


def test_owners_are_stored_again_after_a_write_that_was_cut_off(tmp_path):
    owners = make_owners(tmp_path)

    async def put_and_leave() -> None:
        put = asyncio.ensure_future(owners.put({"a": b"one"}))
        await asyncio.sleep(0)
        put.cancel()

    asyncio.run(put_and_leave())
    asyncio.run(owners.put({"b": b"two"}))
    assert asyncio.run(make_owners(tmp_path).get(["b"])) == {"b": b"two"}


def test_a_new_owner_that_another_worker_stored_is_found(tmp_path):
    async def run() -> None:
        mine, other = make_owners(tmp_path), make_owners(tmp_path)
        await mine.put({"files/a": b"one"})
        assert await mine.get(["files/a"]) == {"files/a": b"one"}
        await other.put({"files/a": b"two"})
        reading = mine.begin(["files/a"], latest=True)
        assert reading is not None
        assert await reading == {"files/a": b"two"}
        assert mine.find_known(["files/a"]) == {"files/a": b"two"}
        await mine.aclose()
        await other.aclose()

    asyncio.run(run())

"""Whose an id is, in the file of the data folder: for how long it is known."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from pondero.errors import StoreError
from pondero.gateway.config.model import ServerConfig
from pondero.gateway.state.answer_cache import LocalAnswerCache
from pondero.gateway.state.owner_journal import Owner, OwnerJournal
from pondero.gateway.state.owners import _SCHEMA, JOURNALS, FileOwners
from pondero.gateway.state.shared_state import make_shared_state
from pondero.store import Database

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


def test_a_given_id_is_known_to_all_processes_at_once_and_to_the_file_soon(tmp_path, monkeypatch):
    monkeypatch.setattr("pondero.gateway.state.owners._MOVE", 0.05)
    owners = make_owners(tmp_path)

    async def give() -> None:
        await owners.put_given({"resp_1": b"\xffone", "resp_2": b"two"})
        assert not (tmp_path / "owners.db").exists()
        found = await make_owners(tmp_path).get(["resp_1", "resp_2", "resp_3"])
        assert found == {"resp_1": b"\xffone", "resp_2": b"two"}
        await asyncio.sleep(0.3)
        assert list_journaled(tmp_path) == []
        assert await make_owners(tmp_path).get(["resp_1"]) == {"resp_1": b"\xffone"}
        await owners.aclose()

    asyncio.run(give())
    assert list((tmp_path / JOURNALS).iterdir()) == []


def list_journaled(tmp_path: Path) -> list[bytes]:
    files = (tmp_path / JOURNALS).iterdir()
    return [line for file in files for line in file.read_bytes().splitlines()]


def test_a_later_record_of_a_given_id_holds_in_the_file_too(tmp_path):
    """An answer that a hook rejects takes its ids back from the client."""
    owners = make_owners(tmp_path)

    async def give_and_withdraw() -> None:
        await owners.put_given({"resp_1": b"one"})
        await owners.put({"resp_1": b""})
        assert await make_owners(tmp_path).get(["resp_1"]) == {"resp_1": b""}
        await owners.aclose()

    asyncio.run(give_and_withdraw())
    assert asyncio.run(make_owners(tmp_path).get(["resp_1"])) == {"resp_1": b""}


def test_what_another_process_stored_later_holds_whoever_moves_first(tmp_path):
    aside = tmp_path / JOURNALS

    async def run() -> None:
        first, second = make_owners(tmp_path), make_owners(tmp_path)
        await first.put_given({"resp_1": b"one", "resp_2": b"one"})
        await second.put({"resp_1": b""})
        known = {"resp_1": b"", "resp_2": b"one"}
        assert await make_owners(tmp_path).get(known) == known
        await first.aclose()
        assert list(aside.iterdir()) == []
        assert await make_owners(tmp_path).get(known) == known
        await second.put_given({"resp_2": b"two"})
        assert await make_owners(tmp_path).get(["resp_2"]) == {"resp_2": b"two"}
        await second.aclose()

    asyncio.run(run())


def test_what_a_killed_process_gave_is_known_and_moved_by_another(tmp_path):
    aside = tmp_path / JOURNALS
    aside.mkdir()
    until = time.time() + 60
    whole = b"".join(encode((name, b"one", until)) + b"\n" for name in ("resp_1", "resp_2"))
    (aside / "killed.jsonl").write_bytes(whole + b'["resp_3","b25l"')
    assert asyncio.run(make_owners(tmp_path).get(["resp_1", "resp_3"])) == {"resp_1": b"one"}

    async def give() -> None:
        owners = make_owners(tmp_path)
        await owners.put_given({"resp_4": b"four"})
        await owners.aclose()

    asyncio.run(give())
    assert list(aside.iterdir()) == []
    every = ["resp_1", "resp_2", "resp_3", "resp_4"]
    known = {"resp_1": b"one", "resp_2": b"one", "resp_4": b"four"}
    assert asyncio.run(make_owners(tmp_path).get(every)) == known


def test_a_given_id_is_forgotten_in_the_journal_as_in_the_file(tmp_path):
    asyncio.run(make_owners(tmp_path).put_given({"resp_1": b"one"}))
    late = FileOwners(
        LocalAnswerCache(), seconds=60, path=tmp_path / "owners.db", clock=lambda: time.time() + 61
    )
    assert asyncio.run(late.get(["resp_1"])) == {}


def test_deferred_ids_are_known_to_others_once_they_are_saved_and_before_any_is_withdrawn(tmp_path):
    owners = make_owners(tmp_path)
    save = owners.defer_given()

    async def give() -> None:
        await owners.put_given({"resp_1": b"one"})
        assert await owners.get(["resp_1"]) == {"resp_1": b"one"}
        assert await make_owners(tmp_path).get(["resp_1"]) == {}
        save()
        assert await make_owners(tmp_path).get(["resp_1"]) == {"resp_1": b"one"}
        await owners.put_given({"resp_2": b"one"})
        await owners.put({"resp_2": b""})
        await owners.put_given({"resp_3": b"one"})
        await owners.aclose()

    asyncio.run(give())
    known = {"resp_1": b"one", "resp_2": b"", "resp_3": b"one"}
    assert asyncio.run(make_owners(tmp_path).get(known)) == known


def test_without_a_journal_a_given_id_is_stored_in_the_file_at_once(tmp_path):
    (tmp_path / JOURNALS).write_text("not a folder")
    asyncio.run(make_owners(tmp_path).put_given({"resp_1": b"one"}))
    assert asyncio.run(make_owners(tmp_path).get(["resp_1"])) == {"resp_1": b"one"}


class Store:
    """The file of owners as a list of what was written to it."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}

    def write(self, rows: Sequence[Owner]) -> None:
        self.rows |= {name: record for name, record, _ in rows}


@given(
    st.lists(
        st.one_of(
            st.tuples(st.integers(0, 1), st.sampled_from("abcd"), st.binary(max_size=3)),
            st.tuples(st.integers(0, 1), st.just("move"), st.just(b"")),
            st.tuples(st.integers(0, 1), st.just("kill"), st.just(b"")),
        ),
        max_size=12,
    )
)
def test_whatever_is_moved_or_killed_the_last_record_of_each_process_holds(steps):
    """Each of two processes gives ids of its own."""
    with tempfile.TemporaryDirectory() as folder:
        store, wanted = Store(), dict[str, bytes]()
        processes = [OwnerJournal(Path(folder) / "aside", store.write) for _ in range(2)]
        lives = [0, 0]
        for at, what, record in steps:
            if what == "move":
                processes[at].move()
            elif what == "kill":  # its journals stay
                processes[at].close()
                lives[at] += 1
            else:
                name = f"{at}{lives[at]}{what}"
                assert processes[at].append([Owner(name, record, 9.0)])
                wanted[name] = record
            found = processes[1 - at].find(wanted.keys(), 5.0)
            assert {**store.rows, **{name: each.record for name, each in found.items()}} == wanted
        for each in processes:
            each.append([Owner("end", b"", 9.0)])
            each.move()
            each.close()
        assert store.rows == {**wanted, "end": b""}
        assert list((Path(folder) / "aside").iterdir()) == []


@pytest.mark.parametrize("is_given", [True, False])
def test_a_file_that_cannot_be_written_for_a_moment_is_used_again(tmp_path, monkeypatch, is_given):
    """Another program locked it; meanwhile all processes read the journals."""
    monkeypatch.setattr("pondero.gateway.state.owners._MOVE", 0.0)
    locked = [True] * 3

    async def put_some() -> None:
        owners, other = make_owners(tmp_path), make_owners(tmp_path)
        write = owners._write_rows

        def write_later(*rows: Any) -> None:
            if locked and locked.pop():
                raise StoreError("database is locked")
            write(*rows)

        monkeypatch.setattr(owners, "_write_rows", write_later)
        for number in range(6):
            await (owners.put_given if is_given else owners.put)({f"id-{number}": b"me"})
            if owners._moving is not None:
                await owners._moving
            assert await other.get([f"id-{number}"]) == {f"id-{number}": b"me"}
        await owners.aclose()

    asyncio.run(put_some())
    assert not locked
    every = {f"id-{number}": b"me" for number in range(6)}
    rows = Database(tmp_path / "owners.db", _SCHEMA).rows("SELECT id, owner FROM owners", ())
    assert {id: bytes(owner) for id, owner in rows} == every


def test_a_file_that_can_never_be_written_is_given_up(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("pondero.gateway.state.owners._MOVE", 0.0)

    async def put_many() -> None:
        owners = make_owners(tmp_path)

        def fail(*_: Any) -> None:
            raise StoreError("the file is damaged")

        monkeypatch.setattr(owners, "_write_rows", fail)
        for number in range(20):
            await owners.put({f"id-{number}": b"me"})
        assert await owners.get(["id-0", "id-19"]) == {"id-0": b"me", "id-19": b"me"}
        await owners.aclose()

    asyncio.run(put_many())
    assert caplog.text.count("the file is damaged") == 1

"""Law of batched writes: whatever is written in whatever order, the other side reads the same."""

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pondero.transport import BatchedTransport, WriteBatch
from pondero.transport.batched_writes import MOST

SOCKETS = 3
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.integers(0, SOCKETS - 1),
            st.sampled_from(["write", "writelines"]),
            st.integers(0, 400) | st.integers(MOST - 2, MOST + 2) | st.just(3 * MOST),
        ),
        st.tuples(st.integers(0, SOCKETS - 1), st.sampled_from(["close", "abort"]), st.just(0)),
        st.tuples(st.just(0), st.just("turn"), st.just(0)),
    ),
    max_size=25,
)


class Socket:
    """A transport that keeps what is written to it; ``calls`` counts the writes."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.calls = 0
        self.end = ""

    def write(self, data: bytes) -> None:
        assert data
        assert not self.end
        self.data += data
        self.calls += 1

    def close(self) -> None:
        self.end = self.end or "close"

    def abort(self) -> None:
        self.end = self.end or "abort"

    def is_closing(self) -> bool:
        return bool(self.end)

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str) -> str:
        return name


def run(steps: Callable[[list[BatchedTransport], asyncio.AbstractEventLoop], Any]) -> list[Socket]:
    """Return the sockets after these steps and the end of their last turn."""

    async def main() -> list[Socket]:
        loop, batch = asyncio.get_running_loop(), WriteBatch()
        sockets = [Socket() for _ in range(SOCKETS)]
        made = [BatchedTransport(each, batch, loop) for each in sockets]  # type: ignore[arg-type]
        await steps(made, loop)
        await asyncio.sleep(0)
        return sockets

    return asyncio.run(main())


@given(STEPS)
def test_the_other_side_reads_what_was_written_in_order(steps):
    expected = [bytearray() for _ in range(SOCKETS)]
    ends = ["" for _ in range(SOCKETS)]

    async def act(made, _loop):
        for number, (at, what, size) in enumerate(steps):
            piece = bytes([number]) * size
            match what:
                case "turn":
                    await asyncio.sleep(0)
                case "close" | "abort":
                    getattr(made[at], what)()
                    ends[at] = ends[at] or what
                case "write" | "writelines":
                    half = len(piece) // 2
                    data = piece if what == "write" else [piece[:half], piece[half:]]
                    getattr(made[at], what)(data)
                    if not ends[at]:
                        expected[at] += piece

    for socket, wanted, end in zip(run(act), expected, ends, strict=True):
        assert socket.end == end
        if end == "abort":
            assert wanted.startswith(socket.data)
        else:
            assert socket.data == wanted


def test_all_that_one_turn_wrote_leaves_after_it_in_one_piece_for_each_socket():
    seen = []

    async def act(made, _loop):
        for each in made:
            each.write(b"head")
            each.write(b"body")
        seen.extend(each._inner.calls for each in made)
        await asyncio.sleep(0)

    assert [(socket.calls, bytes(socket.data)) for socket in run(act)] == [(1, b"headbody")] * 3
    assert seen == [0, 0, 0]


def test_what_is_large_leaves_at_once_behind_what_waited():
    seen = []

    async def act(made, _loop):
        made[0].write(b"head")
        made[0].write(bytes(MOST))
        seen.append(bytes(made[0]._inner.data))

    run(act)
    assert seen == [b"head" + bytes(MOST)]


def test_what_must_not_be_lost_is_saved_before_anything_is_written():
    seen = []

    async def act(made, _loop):
        sockets = [each._inner for each in made]
        batch = made[0]._batch
        batch.before_write = lambda: seen.append([socket.calls for socket in sockets])
        made[0].write(b"short")
        made[1].write(bytes(2 * MOST))
        made[2].write(b"last words")
        made[2].close()

    run(act)
    assert seen == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]


def test_a_connection_that_cannot_be_written_to_takes_nothing_from_the_others(caplog):
    async def act(made, _loop):
        made[0]._inner.write = None  # no function
        for each in made:
            each.write(b"answer")

    broken, *others = run(act)
    assert broken.end == "abort"
    assert [bytes(each.data) for each in others] == [b"answer"] * 2
    assert "could not be written to" in caplog.text


def test_what_cannot_be_saved_keeps_nothing_from_being_written(caplog):
    async def act(made, _loop):
        made[0]._batch.before_write = None  # no function
        made[0].write(b"answer")

    assert bytes(run(act)[0].data) == b"answer"
    assert "could not be saved" in caplog.text


def test_other_attributes_are_those_of_the_transport():
    async def act(made, _loop):
        assert made[0].get_extra_info("peername") == "peername"

    run(act)

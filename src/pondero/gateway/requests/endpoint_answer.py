"""Reads answers of endpoints: whole ones, beginnings, and errors with any status."""

from collections.abc import AsyncIterable, AsyncIterator

from ...canon import ResponseHead
from ...errors import BadParameter
from ...exchange import AsyncResponse
from ...framing import parse_json_or_none
from ..deployments.endpoint_account import EndpointAccount, ReadAnswer

LONGEST = 4 << 20
"""Bytes of an error, or of an answer that gives ids."""
_LONGEST_ERROR = 32_768  # bytes of an error with status 200
_PAGE = "text/html"  # of a proxy, or of a service that is away: no model answers so
_OF_THINGS = frozenset({"data", "id", "name", "object", "output"})  # keys of answers


async def read_error(answer: AsyncResponse) -> ReadAnswer:
    """Return an error that is read, so that it says whether another account might answer."""
    try:
        return ReadAnswer(answer.head, await read_all(answer))
    finally:
        await answer.aclose()


async def find_error_in_answer(
    answer: AsyncResponse, account: EndpointAccount
) -> tuple[AsyncResponse, bool]:
    """Return an answer with status 200, and whether it is an error, so that another may answer."""
    kind = answer.head.headers.get("content-type", "")
    if not kind.startswith(_PAGE) and "json" not in kind:
        return answer, False
    try:
        pieces = aiter(answer)
        beginning = await read_beginning(pieces, _LONGEST_ERROR)
        is_whole = len(beginning) <= _LONGEST_ERROR
        if is_whole and (kind.startswith(_PAGE) or _is_error(beginning)):
            status = 502 if kind.startswith(_PAGE) else 200
            head = ResponseHead(status, answer.head.headers)
            await answer.aclose()
            return ReadAnswer(answer.head, beginning), await account.note_rejection(head, beginning)
    except BaseException:
        await answer.aclose()
        raise
    return _BegunAnswer(answer, iter_from_beginning(beginning, pieces)), False


def _is_error(body: bytes) -> bool:
    """Return whether JSON is an error and nothing else; a job that failed has an id besides."""
    raw = parse_json_or_none(body)
    return isinstance(raw, dict) and bool(raw.get("error")) and raw.keys().isdisjoint(_OF_THINGS)


class _BegunAnswer:
    """An answer whose first bytes were read."""

    def __init__(self, answer: AsyncResponse, pieces: AsyncIterator[bytes]) -> None:
        self.head = answer.head
        self._answer = answer
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._answer.aclose()


async def read_all(answer: AsyncIterable[bytes]) -> bytes:
    """Return a whole answer; raises BadParameter if it is too long."""
    held = bytearray()
    async for piece in answer:
        held += piece
        if len(held) > LONGEST:
            raise BadParameter("the service's answer is too long")
    return bytes(held)


async def read_beginning(pieces: AsyncIterator[bytes], longest: int = LONGEST) -> bytes:
    """Return a whole answer, or one that is too long as far as that is known."""
    held = bytearray()
    async for piece in pieces:
        held += piece
        if len(held) > longest:
            break
    return bytes(held)


async def iter_from_beginning(beginning: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield an answer whose beginning was read."""
    yield beginning
    async for piece in rest:
        yield piece

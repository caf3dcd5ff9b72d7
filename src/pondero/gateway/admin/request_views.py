"""The admin API's views of requests: pages, one request, live rows, CSV and figures.

Every view takes the same filter, as parameters of its address. What just ended may not be in the
ledger yet, so this process's latest requests are added to the first page.
"""

from asyncio import Queue, sleep, to_thread, wait_for
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from threading import Event
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct, json
from msgspec.structs import replace

from ...canon import HttpRequest
from ...errors import BadParameter, StoreError
from ...store import redact_secrets
from ...thinking import CODES
from ..answers.response_writer import ResponseWriter
from ..observability.feed import KEPT
from ..observability.figures import ConsoleFigures, FilterChoices, load_choices, load_figures
from ..observability.receipt import Receipt
from ..observability.request_filter import RequestFilter, matches, parse_filter, read_answers
from ..observability.request_pages import (
    CSV_NAMES,
    PAGE,
    Cursor,
    RequestPage,
    find_request,
    format_csv,
    iter_csv,
    load_page,
    parse_cursor,
    search_page,
)
from ..observability.request_row import Phase, RequestRow, load_requests, split_time
from ..observability.time_range import find_span
from ..server.context import GatewayContext
from . import console
from .actor import AdminCall

_EVENTS = {
    **console.GUARDED,
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
_PING = b": still here\n\n"
_GATHER = 0.2  # seconds of receipts in one event, so that a burst does not flood the page
_LOOK = 1.0  # seconds between reads of other processes' rows in the ledger
_SEEN = 4 * KEPT
_PATIENCE = 4.0  # seconds for the ledger; PostgreSQL has fewer of its own, SQLite waits longer
_LONG_PATIENCE = 15.0  # seconds for a dozen queries over all rows of a span
_PARAMETERS = 64

Value = TypeVar("Value")


class UnknownRequest(BadParameter):
    """There is no record of a request with this id."""


class RequestDetail(Struct, frozen=True):
    """One request, where its time went, and what its adjustments mean."""

    request: RequestRow
    phases: list[Phase]
    adjustments: dict[str, str]


class FiguresAnswer(Struct, frozen=True):
    """The figures of a time span; None without a ledger."""

    figures: ConsoleFigures | None


class ChoicesAnswer(Struct, frozen=True):
    """What can be filtered by in a time span; None without a ledger."""

    choices: FilterChoices | None


class LiveRequests(Struct, frozen=True):
    """The data of one event: requests that ended."""

    requests: list[RequestRow]


def make_csv_headers(name: str) -> Mapping[str, str]:
    """Return the headers of a CSV file."""
    return {
        **console.GUARDED,
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": f'attachment; filename="{name}"',
        "cache-control": "no-store",
    }


_CSV = make_csv_headers("pondero-requests.csv")


async def list_requests(gateway: GatewayContext, call: AdminCall) -> RequestPage:
    """Return a page of requests; with a ledger, those of all processes."""
    query = read_query(call.http)
    wanted, count = _read_filter(gateway, query), read_count(query.get("count"))
    before = parse_cursor(query["before"]) if query.get("before") else None
    recent = [] if before is not None else _list_recent(gateway, wanted)
    if gateway.ledger is None:
        return RequestPage(requests=recent[:count])
    try:
        page = await read_ledger(
            partial(search_page, gateway.ledger, wanted, before=before, count=count)
        )
    except StoreError as error:
        if before is not None:
            raise
        return RequestPage(requests=recent[:count], problem=redact_secrets(str(error)))
    return _add_recent(page, recent, count)


def _read_filter(gateway: GatewayContext, query: Mapping[str, str]) -> RequestFilter:
    """Return the filter of an address; without ``answers``, those that this gateway gives."""
    return parse_filter(query, offline=gateway.is_offline)


def _list_recent(gateway: GatewayContext, wanted: RequestFilter) -> list[RequestRow]:
    """Return this process's latest requests, newest first."""
    rows = load_requests(gateway.feed.latest())
    kept = [row for row in rows if matches(wanted, row)]
    return sorted(kept, key=lambda row: (row.at, row.id), reverse=True)


def _add_recent(page: RequestPage, recent: list[RequestRow], count: int) -> RequestPage:
    """Return a first page with the requests that the ledger may not have yet."""
    end = parse_cursor(page.next) if page.next is not None else None
    written = {row.id: row for row in page.requests}
    new = [
        row
        for row in recent
        if row.id not in written and (end is None or (row.at, row.id) > (end.at, end.id))
    ]
    if not new:
        return page
    rows = sorted([*page.requests, *new], key=lambda row: (row.at, row.id), reverse=True)
    if len(rows) <= count:
        return replace(page, requests=rows)
    last = rows[count - 1]
    return RequestPage(requests=rows[:count], next=str(Cursor(last.at, last.id)))


def read_count(text: str | None) -> int:
    """Return how many rows a page has; raises BadParameter."""
    if not text:
        return PAGE
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:4]) <= KEPT):
        message = f"invalid count {text[:20]!r}; use 1 to {KEPT}"
        raise BadParameter(message)
    return int(text[:4])


async def show_request(gateway: GatewayContext, call: AdminCall) -> RequestDetail:
    """Return one request, where its time went, and what its adjustments mean."""
    id = call.name
    found = next((row for row in load_requests(gateway.feed.latest()) if row.id == id), None)
    if found is None and gateway.ledger is not None:
        found = await read_ledger(partial(find_request, gateway.ledger, id))
    if found is None:
        message = f"there is no record of the request {id[:100]!r}"
        raise UnknownRequest(message)
    meanings = {code: CODES.get(code, "") for code in found.adjustments}
    return RequestDetail(found, split_time(found), meanings)


async def count_requests(gateway: GatewayContext, call: AdminCall) -> FiguresAnswer:
    """Return the figures of a time span; None without a ledger."""
    query = read_query(call.http)
    span, wanted, now = query.get("span") or "day", _read_filter(gateway, query), gateway.now()
    find_span(span, now=now)  # raises, also without a ledger
    if gateway.ledger is None:
        return FiguresAnswer(None)
    gone = Event()
    read = partial(load_figures, gateway.ledger, span, now=now, wanted=wanted, stopped=gone.is_set)
    try:
        return FiguresAnswer(await read_ledger(read, _LONG_PATIENCE))
    finally:
        gone.set()


async def list_choices(gateway: GatewayContext, call: AdminCall) -> ChoicesAnswer:
    """Return what can be filtered by in a time span; None without a ledger."""
    query = read_query(call.http)
    span, offline = query.get("span") or "day", read_answers(query, offline=gateway.is_offline)
    find_span(span, now=gateway.now())  # raises, also without a ledger
    if gateway.ledger is None:
        return ChoicesAnswer(None)
    read = partial(load_choices, gateway.ledger, span, now=gateway.now(), offline=offline)
    return ChoicesAnswer(await read_ledger(read, _LONG_PATIENCE))


async def stream_csv(gateway: GatewayContext, call: AdminCall, writer: ResponseWriter) -> None:
    """Send all wanted requests, a page at a time."""
    wanted = _read_filter(gateway, read_query(call.http))
    lines = [format_csv(_list_recent(gateway, wanted))]
    pages = iter(lines) if gateway.ledger is None else iter_csv(gateway.ledger, wanted)
    await send_csv(writer, _CSV, CSV_NAMES, pages)


async def send_csv(
    writer: ResponseWriter,
    headers: Mapping[str, str],
    names: Sequence[str],
    pages: Iterator[str],
) -> None:
    """Send lines of CSV, a page at a time; raises StoreError before the first."""
    writer.streams(headers, b"")
    page = await read_ledger(partial(next, pages, None))  # an error is still a status
    await writer.write(f"{','.join(names)}\r\n".encode())
    while page is not None:
        await writer.write(page.encode())
        page = await read_ledger(partial(next, pages, None))
    await writer.end()


async def stream_live(gateway: GatewayContext, call: AdminCall, writer: ResponseWriter) -> None:
    """Send requests as they end, until the viewer disconnects or the server stops."""
    wanted = _read_filter(gateway, read_query(call.http))
    feed = gateway.feed
    writer.streams(_EVENTS, _PING)
    with feed.watch() as queue:
        seen = dict.fromkeys(row.id for row in await _load_written(gateway, wanted))
        await writer.write(b": here\n\n")
        while not feed.is_over():
            ended = load_requests(await _gather(queue))
            rows = [row for row in ended if matches(wanted, row)]
            if len(rows) < KEPT:  # enough to show already
                rows += await _load_written(gateway, wanted)
            await writer.write(_event(_take_unseen(rows, seen)))
    await writer.end()


async def _load_written(gateway: GatewayContext, wanted: RequestFilter) -> list[RequestRow]:
    """Return the latest requests in the ledger; none if it is unreachable, which it logs itself."""
    if gateway.ledger is None:
        return []
    read = partial(load_page, gateway.ledger, wanted, count=KEPT, scanned=_SEEN)
    try:
        page = await read_ledger(read)
    except StoreError:
        return []
    return page.requests


async def read_ledger(read: Callable[[], Value], patience: float = _PATIENCE) -> Value:
    """Return what a thread reads; raises StoreError if a database takes too long."""
    try:
        return await wait_for(to_thread(read), patience)
    except TimeoutError:
        message = f"the ledger did not answer within {patience:g} seconds"
        raise StoreError(message) from None


async def _gather(queue: Queue[Receipt]) -> list[Receipt]:
    """Return the first receipt and those shortly after it; none after a second of silence."""
    try:
        first = await wait_for(queue.get(), _LOOK)
    except TimeoutError:
        return []
    await sleep(_GATHER)
    return [first, *(queue.get_nowait() for _ in range(queue.qsize()))]


def _take_unseen(rows: Iterable[RequestRow], seen: dict[str, None]) -> list[RequestRow]:
    """Return the rows not sent yet, oldest first, and add them to ``seen``."""
    new = {row.id: row for row in rows if row.id not in seen}
    seen.update(dict.fromkeys(new))
    while len(seen) > _SEEN:
        del seen[next(iter(seen))]
    return sorted(new.values(), key=lambda row: row.at)


def _event(rows: list[RequestRow]) -> bytes:
    return b"data: " + json.encode(LiveRequests(rows)) + b"\n\n" if rows else b""


def read_query(http: HttpRequest) -> dict[str, str]:
    """Return the parameters of an address; of one given twice, the first. Raises BadParameter."""
    try:
        pairs = parse_qsl(urlsplit(http.url).query, max_num_fields=_PARAMETERS)
    except ValueError:
        raise BadParameter("the address has too many parameters") from None
    return dict(reversed(pairs))

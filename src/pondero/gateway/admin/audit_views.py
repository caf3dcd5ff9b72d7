"""The admin API's views of the audit log: pages and CSV, with one filter."""

from functools import partial

from ...errors import StoreError
from ...store import redact_secrets
from ..answers.response_writer import ResponseWriter
from ..observability.audit_log import AuditEntry
from ..observability.audit_pages import (
    CSV_NAMES,
    AuditFilter,
    AuditPage,
    add_recent,
    format_audit_csv,
    iter_audit_csv,
    load_audit_page,
    matches,
    parse_audit_filter,
)
from ..observability.request_pages import parse_cursor
from ..server.context import GatewayContext
from .actor import AdminCall
from .request_views import make_csv_headers, read_count, read_ledger, read_query, send_csv

_CSV = make_csv_headers("pondero-audit.csv")


async def list_audit(gateway: GatewayContext, call: AdminCall) -> AuditPage:
    """Return a page of the audit log; without a ledger, this process's latest entries."""
    query = read_query(call.http)
    wanted, count = parse_audit_filter(query), read_count(query.get("count"))
    before = parse_cursor(query["before"]) if query.get("before") else None
    recent = [] if before is not None else _list_recent(gateway, wanted)
    if gateway.ledger is None:
        found = _list_recent(gateway, wanted)
        older = [each for each in found if before is None or before.is_after(each.at, each.id)]
        return add_recent(AuditPage(entries=[]), older, count)
    try:
        page = await read_ledger(
            partial(load_audit_page, gateway.ledger, wanted, before=before, count=count)
        )
    except StoreError as error:
        if before is not None:
            raise
        return AuditPage(entries=recent[:count], problem=redact_secrets(str(error)))
    return add_recent(page, recent, count)


async def stream_audit_csv(
    gateway: GatewayContext, call: AdminCall, writer: ResponseWriter
) -> None:
    """Send all wanted entries, a page at a time."""
    wanted = parse_audit_filter(read_query(call.http))
    recent = [format_audit_csv(_list_recent(gateway, wanted))]
    ledger = gateway.ledger
    pages = iter(recent) if ledger is None else iter_audit_csv(ledger, wanted)
    await send_csv(writer, _CSV, CSV_NAMES, pages)


def _list_recent(gateway: GatewayContext, wanted: AuditFilter) -> list[AuditEntry]:
    return [entry for entry in gateway.audit.latest() if matches(wanted, entry)]

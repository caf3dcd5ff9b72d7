"""One conversation from its request to its record: ``answer_request`` names every step."""

from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from ...canon import Json
from ...catalog import ModelEntry
from ...dialects import Rejected, Service, get_dialect
from ...errors import Overloaded, PonderoError, ServiceError
from ...exchange import is_deployment_fault, is_fallback_error
from ..answers.delivery import deliver, deliver_own
from ..answers.response_writer import ResponseWriter
from ..levels.level_window import keep_level_window
from ..observability.request_record import RequestRecord
from ..quotas.admission import admit
from ..server.context import GatewayContext
from ..state.breakers import REST
from .attempt import make_attempt
from .background import begin_run, check_room, show_run
from .errors import SHUTDOWN, add_response_headers, describe_reason, write_error
from .hooked_request import show_to_hooks
from .request_id import HEADER
from .routed_request import ClientRequest, RoutedRequest, address_history, parse_and_route
from .stored_ids import check_stored_ids
from .translation import make_reply_context


async def answer_request(
    gateway: GatewayContext, call: ClientRequest, writer: ResponseWriter
) -> None:
    """Answer one conversation; errors are written too."""
    service = get_dialect(call.client_dialect).service()
    record = RequestRecord(gateway, call)
    shown: Callable[[ResponseWriter], Awaitable[None]] | None = None
    try:
        routed = await _admit(gateway, call, service, record)
        if routed.is_background:
            work = partial(_answer_later, gateway, routed, record)
            run = await begin_run(gateway, routed, work)
            shown = partial(show_run, gateway, routed, run)
        else:
            await _answer(gateway, routed, writer, record)
    except BaseException as error:
        if not await _tell(error, call, service, writer, record):
            raise
    finally:
        if shown is None:
            record.finish()
    if shown is not None:
        await shown(writer)


async def _admit(
    gateway: GatewayContext, call: ClientRequest, service: Service[Json], record: RequestRecord
) -> RoutedRequest:
    """Return a conversation that may be answered, after the most of its use is reserved."""
    routed = await parse_and_route(gateway, call, service)
    routed = await check_stored_ids(gateway, routed)
    if routed.is_background:
        check_room(gateway, call.requester)
    record.requested_model = routed.parsed.request.model
    record.note(
        stream=routed.parsed.request.stream,
        purpose=routed.purpose.purpose,
        route=routed.resolved.route.match if routed.resolved.route is not None else None,
    )
    if gateway.hooks:
        routed = await show_to_hooks(gateway, routed)
    if routed.hooked is not None and routed.hooked.answer is not None:
        return routed  # no service is asked
    routed, admission = await admit(gateway, routed)
    record.admit(admission)
    return routed


async def _answer(
    gateway: GatewayContext, routed: RoutedRequest, writer: ResponseWriter, record: RequestRecord
) -> None:
    """Write the answer of a hook, or of the first model that gives one."""
    if routed.hooked is not None and routed.hooked.answer is not None:
        await deliver_own(gateway, routed, writer, record)
    else:
        await _attempt_in_order(gateway, routed, writer, record)


async def _answer_later(
    gateway: GatewayContext, routed: RoutedRequest, record: RequestRecord, writer: ResponseWriter
) -> None:
    """Answer a conversation whose client does not wait for it."""
    try:
        await _answer(gateway, routed, writer, record)
    except BaseException as error:
        if not await _tell(error, routed.call, routed.service, writer, record):
            raise
    finally:
        record.finish()


async def _tell(
    error: BaseException,
    call: ClientRequest,
    service: Service[Json],
    writer: ResponseWriter,
    record: RequestRecord,
) -> bool:
    """Write and record an error; return whether that is all there is to do."""
    if isinstance(error, PonderoError | Rejected | RecursionError):
        await _write_rejection(error, call, service, writer, record)
        return True
    if isinstance(error, CancelledError):
        if writer.left:
            record.note_left()
        else:
            await _write_shutdown(call, service, writer, record)
    elif isinstance(error, Exception):
        record.note(status=500, end="failed", reason=describe_reason(error))
    return False


async def _write_shutdown(
    call: ClientRequest, service: Service[Json], writer: ResponseWriter, record: RequestRecord
) -> None:
    """Tell a client that the gateway stops before its answer began."""
    response = write_error(SHUTDOWN, call.client_dialect, service, id=call.id)
    record.note(status=response.status, end="failed", reason=describe_reason(SHUTDOWN))
    if not writer.begun:
        await writer.whole(response)


async def _attempt_in_order(
    gateway: GatewayContext, routed: RoutedRequest, writer: ResponseWriter, record: RequestRecord
) -> None:
    """Ask the models of a route until one answers; none after the first byte to the client."""
    failed: PonderoError | None = None
    entry: ModelEntry | None = None
    entries = gateway.sort_models(routed.resolved.entries, routed.request.messages)
    for entry in entries:
        # Without another target a pause gains nothing: the client gets the service's own error.
        if len(entries) > 1 and await gateway.breakers.is_open(entry.id):
            resting = f"{entry.id} is resting after failures"
            failed = failed or Overloaded(resting, status=503, retry_after=REST)
            continue
        record.note(provider=entry.provider.name, model=entry.model)
        try:
            aimed = address_history(routed, entry)
            attempt = make_attempt(gateway, aimed, entry)
            attempt = await keep_level_window(gateway, aimed, attempt)
            await deliver(gateway, aimed, attempt, writer, record)
        except PonderoError as error:
            failed = error.with_traceback(None)  # it would keep this frame, which keeps it
            await _find_breaker_step(gateway, error)(entry.id)
            if writer.ended:
                return
            if not is_fallback_error(error):
                break
        except BaseException:  # the client left, or a defect of ours: no word on the deployment
            await gateway.breakers.cancel_probe(entry.id)
            raise
        else:
            await gateway.breakers.record_success(entry.id)
            if writer.left:
                record.note_left()
            return
    if failed is None:
        raise Overloaded("no model is there to answer", status=503)
    await _write_failure(failed, routed, entry, writer, record)


def _find_breaker_step(
    gateway: GatewayContext, error: PonderoError
) -> Callable[[str], Awaitable[None]]:
    """Return the step that an error means for the breaker of its deployment.

    A rejection proves that the service is healthy; an error of our own proves nothing.
    """
    if is_deployment_fault(error):
        return gateway.breakers.record_failure
    if isinstance(error, ServiceError) and error.status is not None:
        return gateway.breakers.record_success
    return gateway.breakers.cancel_probe


async def _write_rejection(
    error: Exception,
    call: ClientRequest,
    service: Service[Json],
    writer: ResponseWriter,
    record: RequestRecord,
) -> None:
    """Tell the client why no model was asked."""
    response = write_error(error, call.client_dialect, service, id=call.id)
    with suppress(RecursionError):  # JSON that is nested too deeply has no name to read
        record.requested_model = record.requested_model or service.requested_model(call.http) or ""
    record.note(status=response.status, end="refused", reason=describe_reason(error))
    await writer.whole(response)


async def _write_failure(
    error: PonderoError,
    routed: RoutedRequest,
    entry: ModelEntry | None,
    writer: ResponseWriter,
    record: RequestRecord,
) -> None:
    """Tell the client why no model answered; ``entry`` is the last one."""
    call = routed.call
    response = write_error(error, call.client_dialect, routed.service, entry, id=call.id)
    record.note(status=response.status, end="failed", reason=describe_reason(error))
    if not writer.begun:
        await writer.whole(add_response_headers(response, {HEADER: call.id}))
        return
    # A ping went out, so the stream has begun; it has no events yet.
    context = make_reply_context(routed.service, routed.parsed, id=call.id)
    await writer.write(routed.service.stream(context).fail(response))
    await writer.end()

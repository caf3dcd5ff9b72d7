"""One conversation from its request to its record: ``answer_request`` names every step."""

from asyncio import CancelledError, sleep
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from ...canon import Json
from ...catalog import ModelEntry
from ...dialects import Rejected, Service, get_dialect
from ...errors import Overloaded, PonderoError, ServiceError
from ...exchange import is_deployment_fault, is_fallback_error
from ..answers.delivery import deliver, deliver_own
from ..answers.response_writer import ResponseWriter
from ..deployments.accounts import AccountFull, ModelTurn
from ..deployments.failed_turns import FailedTurns
from ..deployments.shared_home import find_shared_home
from ..levels.level_window import finish_level_window
from ..observability.request_record import RequestRecord
from ..server.context import GatewayContext
from ..state.breakers import REST
from .background import begin_run, check_room, show_run
from .errors import SHUTDOWN, add_response_headers, describe_reason, write_error
from .long_bodies import LONG, give_way
from .lookup import AdmittedRequest, look_up
from .request_id import HEADER
from .requester import AccessDenied, RequesterChange
from .routed_request import ClientRequest, RoutedRequest, address_history
from .translation import make_reply_context


async def answer_request(
    gateway: GatewayContext, call: ClientRequest, writer: ResponseWriter
) -> None:
    """Answer one conversation; errors are written too, except AccessDenied, which is raised."""
    try:
        await _answer(gateway, call, writer)
    except RequesterChange as changed:
        call = replace(call, requester=changed.requester, keys=None)
        await _answer(gateway, call, writer)


async def _answer(gateway: GatewayContext, call: ClientRequest, writer: ResponseWriter) -> None:
    service = get_dialect(call.client_dialect).service()
    record = RequestRecord(gateway, call)
    shown: Callable[[ResponseWriter], Awaitable[None]] | None = None
    try:
        found = await look_up(gateway, call, service, note=partial(_note_route, record))
        record.admit(found.admission)
        if found.routed.is_background:
            check_room(gateway, call.requester)
            work = partial(_answer_later, gateway, found, record)
            run = await begin_run(gateway, found.routed, work)
            shown = partial(show_run, gateway, found.routed, run)
        elif found.routed.hooked is None:
            await _attempt_in_order(gateway, found, writer, record)
        else:
            await _write_answer(gateway, found, writer, record)
    except (AccessDenied, RequesterChange):
        record.drop()
        raise
    except BaseException as error:
        if not await _tell(error, call, service, writer, record):
            raise
    finally:
        if shown is None:
            record.finish()
    if shown is not None:
        await shown(writer)


async def _write_answer(
    gateway: GatewayContext, found: AdmittedRequest, writer: ResponseWriter, record: RequestRecord
) -> None:
    """Write the answer of a hook, or of the first model that gives one."""
    if found.routed.hooked is not None and found.routed.hooked.answer is not None:
        await deliver_own(gateway, found.routed, writer, record)
    else:
        await _attempt_in_order(gateway, found, writer, record)


async def _answer_later(
    gateway: GatewayContext, found: AdmittedRequest, record: RequestRecord, writer: ResponseWriter
) -> None:
    """Answer a conversation whose client does not wait for it."""
    call, service = found.routed.call, found.routed.service
    try:
        await sleep(0)  # one that was stopped as it began ends here
        await _write_answer(gateway, found, writer, record)
    except BaseException as error:
        if not await _tell(error, call, service, writer, record):
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


def _note_route(record: RequestRecord, routed: RoutedRequest) -> None:
    record.requested_model = routed.parsed.request.model
    receipt, route = record.receipt, routed.resolved.route
    receipt.stream = routed.parsed.request.stream
    receipt.purpose = routed.purpose.purpose
    receipt.route = None if route is None else route.match


async def _write_shutdown(
    call: ClientRequest, service: Service[Json], writer: ResponseWriter, record: RequestRecord
) -> None:
    """Tell a client that the gateway stops before its answer began."""
    response = write_error(SHUTDOWN, call.client_dialect, service, id=call.id)
    record.note(status=response.status, end="failed", reason=describe_reason(SHUTDOWN))
    if not writer.begun:
        await writer.whole(response)


async def _attempt_in_order(
    gateway: GatewayContext, found: AdmittedRequest, writer: ResponseWriter, record: RequestRecord
) -> None:
    """Ask the models of a route until one answers; none after the first byte to the client."""
    routed = found.routed
    resolved = routed.resolved
    order = partial(gateway.order_models, resolved.route, resolved.entries, routed.request.messages)
    turns = order(routed.conversation)
    if routed.conversation is not None and turns[0].is_new:
        home = await find_shared_home(gateway, routed.conversation, turns[0])
        turns = turns if home is None else order(home)
    # Without another target a pause gains nothing: the client gets the service's own error.
    has_others = len(turns) > 1
    failures = FailedTurns(gateway.retry(resolved.route), gateway.jitter)
    while turns:
        turn = turns.pop(0)
        if turn.delay:
            await gateway.sleep(turn.delay)
        is_asked = turn.is_forced or not has_others
        if not is_asked and await gateway.breakers.is_open(turn.breaker):
            resting = f"{turn.breaker} is resting after failures"
            rest = gateway.breakers.find_rest(turn.breaker) or REST
            is_guess = gateway.breakers.is_guess(turn.breaker)
            resting_error = Overloaded(resting, status=503, retry_after=rest)
            failures.note_rest(turn, resting_error, is_guess=is_guess)
        else:
            failed = await _attempt(gateway, found, turn, writer, record)
            if failed is None or writer.ended:
                return
            again = failures.note(turn, failed)
            if not is_fallback_error(failed):
                break
            turns = again + turns
        turns = turns or failures.find_last()
    error, entry = failures.find_told()
    if error is None:
        raise Overloaded("no model is there to answer", status=503)
    await _write_failure(error, routed, entry, writer, record)


async def _attempt(
    gateway: GatewayContext,
    found: AdmittedRequest,
    turn: ModelTurn,
    writer: ResponseWriter,
    record: RequestRecord,
) -> PonderoError | None:
    """Ask one model; return why it did not answer, None if it did."""
    routed, entry, breaker = found.routed, turn.entry, turn.breaker
    receipt = record.receipt
    receipt.provider, receipt.model = entry.provider.name, entry.model
    receipt.deployment = entry.deployment or None
    try:
        is_long = len(routed.call.http.body) > LONG
        if is_long:
            await give_way()
        attempt = await finish_level_window(gateway, await found.begin_window(gateway, turn))
        if is_long:
            await give_way()
        await deliver(gateway, address_history(routed, entry), attempt, writer, record)
    except PonderoError as error:
        await _find_breaker_step(gateway, error)(breaker)
        await gateway.accounts.note_failure(turn.account, entry.model, error, limits=entry.limits)
        return error.with_traceback(None)  # it would keep this frame, which keeps it
    except BaseException:  # the client left, or a defect of ours: no word on the deployment
        await gateway.breakers.cancel_probe(breaker)
        raise
    await gateway.breakers.record_success(breaker)
    if turn.is_forced:
        await gateway.accounts.end_pause(turn.account)
    if writer.left:
        record.note_left()
    return None


def _find_breaker_step(
    gateway: GatewayContext, error: PonderoError
) -> Callable[[str], Awaitable[None]]:
    """Return the step that an error means for the breaker of its deployment.

    A rejection proves that the service is healthy; an error of our own proves nothing.
    """
    if is_deployment_fault(error):
        return gateway.breakers.record_failure
    is_answer = isinstance(error, ServiceError) and error.status is not None
    if is_answer and not isinstance(error, AccountFull):
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
    record.finish()  # first: this process may be killed as soon as the client has its answer
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
    record.finish()
    if not writer.begun:
        await writer.whole(add_response_headers(response, {HEADER: call.id}))
        return
    # A ping went out, so the stream has begun; it has no events yet.
    context = make_reply_context(routed.service, routed.parsed, id=call.id)
    await writer.write(routed.service.stream(context).fail(response))
    await writer.end()

"""All that the shared state knows of a request, in one round trip before it is sent.

With a Redis, everything is asked in one step of the event loop, which is one write: whether the
requester's key holds, whose the ids in the request are, the answers and levels of its conversation
that this process does not know, and the reservation under its quotas. What else a request has to
read belongs here too: begin it before the first ``await`` of ``_look_up``.
"""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Json
from ...catalog import ModelEntry
from ...dialects import Rejected, Service
from ...errors import PonderoError
from ...exchange import WorkSteps
from ..deployments.accounts import ModelTurn
from ..levels.level_window import LevelReading, begin_reading, plan_level_window
from ..quotas.admission import (
    Admission,
    admit,
    admit_restored,
    continue_admission,
    plan_admission,
    reserve,
)
from ..server.context import GatewayContext
from .attempt import Attempt, make_attempt, make_attempt_in_steps
from .hooked_request import show_to_hooks
from .known_frames import (
    find_attempt,
    note_attempt,
    note_frame,
    note_window,
    parse_framed,
)
from .long_bodies import give_way_between
from .requester import RequesterCheck
from .routed_request import (
    ClientRequest,
    RoutedRequest,
    address_history,
    parse_locally,
    read_history,
)
from .stored_ids import begin_owners, check_stored_ids


class ReadyAttempt(Struct, frozen=True):
    """The attempt to ask the first model, made while the shared state was asked."""

    routed: RoutedRequest
    entry: ModelEntry
    window: LevelReading


class AdmittedRequest(Struct, frozen=True):
    """A request that may be sent."""

    routed: RoutedRequest
    admission: Admission
    ready: ReadyAttempt | None = None

    async def begin_window(self, gateway: GatewayContext, turn: ModelTurn) -> LevelReading:
        """Return the attempt to ask a model, whose earlier levels are being read."""
        ready = self.ready
        if ready is not None and ready.entry is turn.entry and ready.routed is self.routed:
            return ready.window
        aimed = address_history(self.routed, turn.entry)
        known = find_attempt(gateway, aimed, turn.entry, turn)
        if known is not None and (known.remembered or not turn.entry.takes_level_turns):
            return LevelReading(known)  # it is the first turn, so that there are no earlier levels
        steps = _plan_window(gateway, aimed, turn.entry, turn, known=known)
        window = await give_way_between(steps, self.routed.call.http.body)
        if ready is not None and ready.window.has_keys_of(window):
            return replace(window, reading=ready.window.reading)
        return begin_reading(gateway, window)


async def look_up(
    gateway: GatewayContext,
    call: ClientRequest,
    service: Service[Json],
    *,
    note: Callable[[RoutedRequest], None],
) -> AdmittedRequest:
    """Parse a request and return it with its reservation; ``note`` is told what was parsed.

    Raises PonderoError, Rejected and RecursionError; AccessDenied and RequesterChange first, since
    the key may not be valid any more.
    """
    check = RequesterCheck(gateway, call.http, call.requester, call.keys)
    try:
        routed = await parse_framed(gateway, call)
        if routed is None:
            routed = await note_frame(gateway, await parse_locally(gateway, call, service))
        note(routed)
        if gateway.shared.begin_look is not None and not gateway.hooks:
            return await _look_up(gateway, routed, check)
        return await _look_up_in_turn(gateway, routed, check)
    except (PonderoError, Rejected, RecursionError):
        await check.finish()
        raise


async def _look_up(
    gateway: GatewayContext, routed: RoutedRequest, check: RequesterCheck
) -> AdmittedRequest:
    if (owners := begin_owners(gateway, routed)) is not None:
        check.begin()
    # What is stored may set a level, on which the reservation depends.
    routed = await check_stored_ids(gateway, routed, owners)
    plan = await plan_admission(routed)
    unread = routed.unread.keys if routed.unread is not None else ()
    ready = await _make_ready(gateway, plan.routed)
    check.begin()
    if ready is not None:
        ready = replace(ready, window=begin_reading(gateway, ready.window))
    homes = _begin_homes(gateway, routed)
    history = gateway.memory.begin(unread) if unread else None
    full = await reserve(gateway, plan, unread=unread)
    try:
        await check.finish()
        found = await history if history is not None else {}
        if history is not None:
            found |= await _read_again(gateway, routed, found)
        if not found:
            admitted = await continue_admission(gateway, plan, full)
        else:
            restored = await read_history(gateway, routed, found)
            again = admit if full is not None else admit_restored
            admitted = await again(gateway, restored)
        request, admission = admitted
        request = await _find_homes(request, homes)
    except BaseException:
        if full is None:
            Admission(gateway, plan.routed.call.id, plan.uses).release()
        raise
    return AdmittedRequest(request, admission, ready)


async def _look_up_in_turn(
    gateway: GatewayContext, routed: RoutedRequest, check: RequesterCheck
) -> AdmittedRequest:
    """Read first and reserve then: hooks see whole requests, and may change what is reserved."""
    homes = _begin_homes(gateway, routed) if routed.conversation is not None else None
    unread = routed.unread
    history = gateway.memory.begin(unread.keys) if unread is not None else None
    if check.is_needed:
        await check.finish()
    if history is not None:
        found = await history
        found |= await _read_again(gateway, routed, found)
        routed = await read_history(gateway, routed, found)
    if homes is not None:
        routed = await _find_homes(routed, homes)
    if routed.stored.named:
        routed = await check_stored_ids(gateway, routed)
    if gateway.hooks:
        routed = await show_to_hooks(gateway, routed)
        if routed.hooked is not None and routed.hooked.answer is not None:
            return AdmittedRequest(routed, Admission(gateway, routed.call.id, ()))
    return AdmittedRequest(*await admit(gateway, routed))


def _begin_homes(
    gateway: GatewayContext, routed: RoutedRequest
) -> Awaitable[dict[str, bytes]] | None:
    """Begin to read on which deployments a conversation is at home: others may have moved it."""
    if routed.conversation is None:
        return None
    return gateway.memory.begin(routed.conversation.keys.values(), latest=True)


async def _find_homes(
    routed: RoutedRequest, reading: Awaitable[dict[str, bytes]] | None
) -> RoutedRequest:
    if routed.conversation is None or reading is None:
        return routed
    return replace(routed, conversation=routed.conversation.with_found(await reading))


async def _read_again(
    gateway: GatewayContext, routed: RoutedRequest, found: Mapping[str, bytes]
) -> Mapping[str, bytes]:
    """Read the newest answer once more if it should have been there.

    A client may be faster than what another replica sent the shared state before the end of that
    answer: if it was on its way, it is there by now. An answer of another gateway never is, so this
    is for conversations of which something else is known, or that have no other answer.
    """
    unread = routed.unread
    if unread is None or not unread.newest or found.keys() & set(unread.newest):
        return {}
    is_known = len(routed.turns) == 1 or found or unread.is_continued
    reading = gateway.memory.begin(unread.newest) if is_known else None
    return {} if reading is None else await reading


async def _make_ready(gateway: GatewayContext, routed: RoutedRequest) -> ReadyAttempt | None:
    """Return the attempt to ask the first model, if levels of its conversation have to be read."""
    if routed.conversation is not None:  # which of several deployments is asked is not known yet
        return None
    entry = gateway.sort_models(routed.resolved.entries, routed.request.messages)[0]
    if not entry.takes_level_turns or not routed.turns:
        return None
    steps = _plan_window(gateway, address_history(routed, entry), entry)
    try:
        window = await give_way_between(steps, routed.call.http.body)
    except PonderoError:  # it will be reported when it is that model's turn
        return None
    return ReadyAttempt(routed, entry, window)


def _plan_window(
    gateway: GatewayContext,
    routed: RoutedRequest,
    entry: ModelEntry,
    turn: ModelTurn | None = None,
    *,
    known: Attempt | None = None,
) -> WorkSteps[LevelReading]:
    attempt = known
    if attempt is None:
        attempt = yield from make_attempt_in_steps(gateway, routed, entry, turn)
        note_attempt(gateway, routed, attempt, make_attempt)
    yield
    window = plan_level_window(gateway, routed, attempt)
    note_window(gateway, routed, window)
    return window

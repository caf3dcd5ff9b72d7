"""Sends one attempt and writes the answer; after the first byte, errors go into the stream."""

from asyncio import CancelledError
from collections.abc import Mapping
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from ...canon import (
    AdjustmentNote,
    Assembler,
    Event,
    HttpResponse,
    PartStart,
    Reply,
    iter_events,
)
from ...errors import PonderoError
from ...exchange import Emit, flow, list_keys
from ...transport import AsyncShell
from ..config.deployment_names import name_home
from ..deployments.account_transport import AccountTransport
from ..deployments.failed_turns import find_retry
from ..hooks.bounded_call import FAILED
from ..hooks.chain import HookedAnswer, note_failures
from ..levels.level_window import keep_level_window
from ..observability.request_record import RequestRecord
from ..quotas.output_bound import count_answers
from ..quotas.prompt_bound import find_prompt_bound
from ..quotas.usage_meter import MeteredTransport
from ..requests.attempt import Attempt, make_attempt
from ..requests.errors import SHUTDOWN, describe_reason, write_error
from ..requests.kept_answers import AnswerKeeper
from ..requests.kept_items import KeptItemRecorder, make_item_recorder
from ..requests.request_id import HEADER
from ..requests.routed_request import RoutedRequest
from ..requests.stored_ids import make_recorder
from ..server.context import GatewayContext
from .cached_entries import list_entries, put_later
from .described_plan import describe_attempt
from .exhaustion import EXHAUSTED, asks_again, make_retry
from .held_beginning import HeldBeginning
from .key_filter import KeyFilter
from .response_writer import ResponseWriter

_LONGEST_HEADER = 2_000
_NOTHING_HELD = HeldBeginning(holds=False, shows_thinking=True)  # of an answer in one piece


async def deliver(
    gateway: GatewayContext,
    routed: RoutedRequest,
    attempt: Attempt,
    writer: ResponseWriter,
    record: RequestRecord,
) -> None:
    """Ask one model and write its answer; raises PonderoError, ``writer.ended`` if told already."""
    exchange, stream = attempt.exchange, routed.parsed.request.stream
    delivery = _Delivery(gateway, routed, attempt, writer, record)
    delivery.note_plan()
    steps = flow(
        exchange,
        retry=find_retry(gateway.retry(routed.resolved.route), attempt.turn),
        jitter=gateway.jitter,
        learn=partial(gateway.learn, exchange),
        begun=delivery.note_begun,
    )
    timeouts = gateway.find_timeouts(routed.resolved.route, stream=stream)
    account = _make_account(delivery) if attempt.turn.account else None
    shell = AsyncShell(steps, account or delivery.transport, timeouts)
    try:
        reply = await (
            delivery.stream(delivery.show_to_hooks(shell)) if stream else delivery.read(shell)
        )
        has_answer = reply.verdict != EXHAUSTED
        if has_answer or delivery.is_seen or not await _ask_again(delivery, reply):
            await (delivery.end_stream(reply) if stream else delivery.whole(reply))
    finally:
        writer.is_ending = bool  # the method would keep the delivery, which keeps the writer
        await shell.aclose()
        if account is not None:
            account.release()
        if delivery.is_unsaved:
            await delivery.remember()  # also after a stream that broke off


def _make_account(delivery: "_Delivery") -> AccountTransport:
    """Return what keeps the limits of an attempt's account."""
    attempt = delivery.attempt
    return AccountTransport(
        delivery.gateway,
        delivery.transport,
        delivery.routed,
        attempt.entry,
        attempt.exchange.plan,
        turn=attempt.turn,
    )


async def deliver_own(
    gateway: GatewayContext, routed: RoutedRequest, writer: ResponseWriter, record: RequestRecord
) -> None:
    """Write the answer that a hook gave; no service is asked."""
    hooked = routed.hooked
    if hooked is None or hooked.answer is None:
        return
    attempt = make_attempt(gateway, routed, routed.resolved.entries[0])
    delivery = _Delivery(gateway, routed, attempt, writer, record)
    delivery.note_plan()
    if routed.parsed.request.stream:
        await delivery.stream(delivery.show_to_hooks(_GivenAnswer(hooked.answer)))
        await delivery.end_stream(hooked.answer)
    else:
        await delivery.whole(hooked.answer)


class _GivenAnswer:
    """An answer that is there already, in the steps of a shell."""

    def __init__(self, reply: Reply) -> None:
        self._steps: list[Emit | Reply] = [Emit(list(iter_events(reply)), Assembler()), reply]

    async def next(self) -> Emit | Reply:
        return self._steps.pop(0)


class _HookedSteps:
    """An answer whose events pass the hooks."""

    def __init__(self, steps: "_Steps", hooks: HookedAnswer) -> None:
        self._steps = steps
        self._hooks = hooks

    async def next(self) -> Emit | Reply:
        step = await self._steps.next()
        if isinstance(step, Emit):
            return replace(step, events=await self._hooks.feed(step.events))
        return step


class _Steps(Protocol):
    """What an answer is read from."""

    async def next(self) -> Emit | Reply:
        """Return the next events, or the whole answer at their end."""
        ...


async def _ask_again(delivery: "_Delivery", reply: Reply) -> bool:
    """Ask again if an answer was all thinking; return whether that was answered.

    Else the client gets the first answer.
    """
    gateway, writer = delivery.gateway, delivery.writer
    retry = make_retry(gateway, delivery.routed, delivery.attempt, reply)
    if retry is None or writer.left:
        return False
    routed, attempt = retry
    delivery.was_asked_again = True
    try:
        attempt = await keep_level_window(gateway, routed, attempt)
        await deliver(gateway, routed, attempt, writer, delivery.record)
    except PonderoError:
        if writer.ended:
            raise
        return False
    return True


class _Delivery:
    """One answer on its way from a model to the client."""

    def __init__(
        self,
        gateway: GatewayContext,
        routed: RoutedRequest,
        attempt: Attempt,
        writer: ResponseWriter,
        record: RequestRecord,
    ) -> None:
        self.gateway = gateway
        self.routed = routed
        self.attempt = attempt
        self.writer = writer
        self.record = record
        self._described = describe_attempt(routed, attempt)
        exchange = attempt.exchange
        self._converter = attempt.path.convert(routed, exchange, gateway.transport_for(exchange))
        giver = attempt.entry if attempt.path.keeps_ids else None
        self._given_ids = make_recorder(gateway, routed, exchange, giver)
        keys = list_keys(exchange.http)
        self._filter = KeyFilter(keys)
        self._keeper: AnswerKeeper | None = None
        self._kept_items: KeptItemRecorder | None = None
        if routed.stored.said is not None:
            path, name = attempt.path, name_home(attempt.entry)
            keeper = AnswerKeeper(
                gateway,
                routed,
                KeyFilter(keys),
                home=name if path.stores else "",
                maker=name if path.keeps_ids else "",
            )
            self._keeper = keeper if keeper.is_active else None
        if self._keeper is None:
            client = routed.call.requester.id
            self._kept_items = make_item_recorder(routed.service, routed.parsed, client)
        # All that look at the bytes which the client gets.
        readers = (self._given_ids, self._keeper, self._kept_items)
        self._readers = [each for each in readers if each is not None]
        self.was_asked_again = False
        self._adjustments: list[str] = []
        self._entries: Mapping[str, bytes] = {}
        self._remembered: Mapping[str, bytes] = attempt.remembered
        self._hooks = HookedAnswer(routed.hooked) if routed.hooked is not None else None
        self._hook = routed.hooked.by if routed.hooked is not None else None
        self._is_passed = routed.hooked is None or not routed.hooked.reads_answers
        self._held = _NOTHING_HELD
        self.transport = MeteredTransport(
            self._converter.transport, record.meter, routed, attempt.entry, exchange.plan
        )

    def note_plan(self) -> None:
        """Record what is asked, sent and adjusted."""
        if self._hook is not None:
            self.record.note(road="hook", reason=f"answered by the hook {self._hook}")
            return
        described, receipt = self._described, self.record.receipt
        receipt.road = self.attempt.path.name
        receipt.asked, receipt.sent, receipt.why = described.asked, described.sent, described.why
        receipt.adjustments = described.codes

    def note_begun(self, so_far: Assembler) -> None:
        """Keep what a try collects: it may break off before anything is shown."""
        self.transport.so_far = so_far

    def _is_ending(self) -> bool:
        """Return whether the end of a streamed answer was announced; its counts may be missing."""
        call = self.transport.call
        return call is not None and call.so_far is not None and call.so_far.ending

    async def read(self, shell: _Steps) -> Reply:
        """Return the whole answer; the client has seen nothing of it."""
        # Services send the head of a whole answer when they have written it.
        self.writer.is_ending = lambda: self.transport.has_head
        while isinstance(step := await shell.next(), Emit):
            self._note_adjustments(step.events)
        if (call := self.transport.call) is not None:
            call.reply = step
        return step

    async def whole(self, reply: Reply) -> None:
        """Write the whole answer."""
        if self.was_asked_again:
            self.note_plan()  # that of the other answer was noted last
        shown = reply if self._hooks is None else await self._hooks.whole(reply)
        self._is_passed = True
        self._note_reply(reply)
        so_far = self.transport.so_far
        response = await self._converter.whole(shown, b"" if so_far is None else so_far.whole)
        for reader in self._readers:
            reader.take_whole(response.body)
        await self._cache(reply)
        self.record.note_first()
        headers = self._filter.headers({**response.headers, **self._headers()})
        body = self._filter.whole(response.body)
        await self.writer.whole(HttpResponse(response.status, headers, body))

    @property
    def is_seen(self) -> bool:
        """Return whether the client saw something of the answer, so that it must be this one."""
        return self.routed.parsed.request.stream and self._held.is_open

    def show_to_hooks(self, steps: _Steps) -> _Steps:
        """Return the answer as its hooks leave it."""
        return steps if self._hooks is None else _HookedSteps(steps, self._hooks)

    async def stream(self, steps: _Steps) -> Reply:
        """Write the events of an answer; what is held at its end waits for ``end_stream``."""
        writer, converter, routed = self.writer, self._converter, self.routed
        held = self._held = HeldBeginning(
            holds=asks_again(routed) and count_answers(routed, self.attempt.entry) == 1,
            shows_thinking=converter.shows_thinking,
        )
        # A ping may send the head before it is known who answers: only the id is certain then.
        writer.streams({**converter.ping_headers, HEADER: routed.call.id}, self._ping)
        writer.is_ending = self._is_ending
        wrote = answers = False
        try:
            while isinstance(step := await steps.next(), Emit):
                if not answers and (answers := _begins_answer(step.events)):
                    self.record.note_first_answer()
                if not wrote:
                    self._note_adjustments(step.events)
                    held.look(step.events)
                # Drop the events before the wait: thousands of slow streams would keep them.
                data, step = converter.feed(step.events), None
                if held.is_open:
                    begins, wrote = not wrote, True
                    await self._write_until(held.take() + data if begins else data, begins=begins)
                else:
                    held.add(data)
                del data
            data = await converter.end()
            if (call := self.transport.call) is not None:
                call.reply = step
            if held.is_open:
                await self._write(held.take() + data, begins=not wrote, ends=step)
            else:
                held.add(data)
        except PonderoError as error:
            await self._withdraw_ids()
            if wrote:
                await self._write_failure(error)
            raise
        except CancelledError:
            await self._withdraw_ids()
            if writer.begun and not writer.left and not writer.ended:  # the gateway stops
                await self._write_failure(SHUTDOWN)
            raise
        return step

    async def end_stream(self, reply: Reply) -> None:
        """End a stream whose answer is complete; if it was held, all of it is written now."""
        if not self._held.is_open:
            if self.was_asked_again:
                self.note_plan()  # that of the other answer was noted last
            self._note_reply(reply)
            await self._write(self._held.take(), begins=True, ends=reply)
        else:
            self._note_reply(reply)
        await self.writer.end()

    async def _write_until(self, data: bytes, *, begins: bool) -> None:
        """Write some bytes of a stream; the end of an answer that is kept waits until it is.

        It does not wait until the service closes the stream, which some do much later.
        """
        at = len(data) if self._keeper is None else self._keeper.find_end(data)
        if at or begins:
            await self._write(data[:at], begins=begins)
        if self._keeper is not None and at < len(data):
            await self._keeper.save(self._find_prompt)
            await self._write(data[at:], begins=False)

    @property
    def _ping(self) -> bytes:
        is_events = "event-stream" in self._converter.ping_headers["content-type"]
        return self.routed.service.ping if is_events else b""

    async def _write(self, data: bytes, *, begins: bool, ends: Reply | None = None) -> None:
        """Write some bytes of a stream; ``begins``: its head has not been written.

        ``ends``: the answer, if these are its last bytes.
        """
        late = b""
        if begins:
            self.record.note_first()
            if self.writer.begun:
                late = self._write_late_headers()
            else:
                sent = self._filter.headers({**self._converter.headers, **self._headers()})
                self.writer.streams(sent, self._ping)
        for reader in self._readers:
            reader.feed(data)
        data = self._filter.feed(data) if ends is None else self._filter.whole(data)
        self._is_passed = self._is_passed or ends is not None
        await self.record_ids()  # before anybody can read them
        if ends is not None:
            await self._cache(ends)
        await self.writer.write(late + data if late else data)

    def _write_late_headers(self) -> bytes:
        """Return the headers that came too late for the head, as a comment inside the stream.

        If a ping is no more than an empty line, clients of this API take comments for answers.
        """
        if not self._ping.strip():
            return b""
        headers = self._filter.headers(self._headers())
        lines = (f": {name}: {value}\n" for name, value in headers.items())
        return "".join(lines).encode("utf-8", "replace") + b"\n"

    async def _withdraw_ids(self) -> None:
        """Keep all clients from continuing an answer whose end the hooks have not let pass."""
        if not self._is_passed and self._given_ids is not None:
            await self._given_ids.withdraw(self.gateway)

    async def _write_failure(self, error: PonderoError) -> None:
        """End a stream that broke off with its error."""
        routed = self.routed
        call = routed.call
        response = write_error(
            error, call.client_dialect, routed.service, self.attempt.entry, id=call.id
        )
        self.record.note(status=response.status, end="failed", reason=describe_reason(error))
        await self.writer.write(self._filter.whole(self._converter.fail(response, error)))
        await self.writer.end()

    def _note_adjustments(self, events: list[Event]) -> None:
        if AdjustmentNote in map(type, events):
            self._adjustments += [
                event.adjustment["code"] for event in events if isinstance(event, AdjustmentNote)
            ]

    def _headers(self) -> dict[str, str]:
        """Return the headers that say what was asked, sent and adjusted."""
        attempt, described = self.attempt, self._described
        planned = described.adjustments
        headers = {
            "x-pondero-id": self.routed.call.id,
            "x-pondero-model": described.model,
            "x-pondero-thinking": described.thinking,
        }
        if attempt.entry.deployment:
            headers["x-pondero-deployment"] = attempt.entry.deployment
        if self._hook is not None:
            planned = ()
            headers = {"x-pondero-id": self.routed.call.id, "x-pondero-hook": self._hook}
        if self._hooks is not None:
            planned = (*planned, *note_failures(self._hooks.failed))
        if text := ", ".join(dict.fromkeys([*planned, *self._adjustments])):
            headers["x-pondero-adjustments"] = text[:_LONGEST_HEADER]
        return headers

    async def _cache(self, reply: Reply) -> None:
        """Cache the answer and settle its use before its end is written, without waiting.

        The next request may follow at once. This process knows then what it needs, and a shared
        state has been sent it before the client is sent the end.
        """
        routed = self.routed
        answers = self._converter.make_cached_answers(reply)
        beside = self._list_beside()
        if beside or not put_later(self.gateway.memory, routed, answers, self._remembered):
            self._entries = list_entries(routed, answers) | beside
        else:
            self._remembered = {}
        if self.is_unsaved:
            await self.remember()
        self.record.settle()
        if self._keeper is not None:
            # It is sent in the same write, and waited for: the client may name the answer at once.
            await self._keeper.save(self._find_prompt)
        self.gateway.shared.flush()

    def _list_beside(self) -> dict[str, bytes]:
        """Return what is cached in addition to the answer."""
        items: dict[str, bytes] = {}
        if self.routed.conversation is not None:
            items |= self.routed.conversation.list_changes(self.attempt.entry)
        if self._kept_items is not None:
            items |= self._kept_items.list_entries(self._find_prompt)
        return items

    @property
    def is_unsaved(self) -> bool:
        """Return whether there is something that ``remember`` may save."""
        if self._remembered or self._entries:
            return True
        return self._given_ids is not None and self._given_ids.is_unsaved

    async def remember(self) -> None:
        """Cache what is known of the conversation, and whose the ids are that the client got."""
        if self._remembered or self._entries:
            entries, self._entries = {**self._remembered, **self._entries}, {}
            self._remembered = {}
            await self.gateway.memory.put(entries)
        await self.record_ids()

    async def record_ids(self) -> None:
        """Record whose the ids are that the client got."""
        if self._given_ids is not None:
            await self._given_ids.record(self.gateway, is_passed=self._is_passed)

    def _find_prompt(self) -> int:
        if (call := self.transport.call) is not None:
            return call.find_prompt()
        return find_prompt_bound(self.routed, self.attempt.entry)

    def _note_reply(self, reply: Reply) -> None:
        if (call := self.transport.call) is not None:
            call.reply = reply
        codes = [note.code for note in reply.adjustments]
        if reply.verdict == EXHAUSTED:
            codes.append(EXHAUSTED)
            self._adjustments.append(EXHAUSTED)  # a stream has sent its headers
        if self._hooks is not None:
            codes += [FAILED] * len(self._hooks.failed)
        receipt = self.record.receipt
        receipt.finish, receipt.verdict = reply.finish, reply.verdict
        receipt.adjustments = tuple(codes)


def _begins_answer(events: list[Event]) -> bool:
    """Return whether a part begins here that is not thinking."""
    return any(isinstance(event, PartStart) and event.kind != "thinking" for event in events)

"""Counts use for all replicas in Redis, atomic by ``lua/``.

While Redis is lost, a replica counts alone from the last counts it saw, if it may. Redis gets this
use once, as soon as it is back. If Redis lost its data, all or a single counter, the replicas give
back what they saw.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any

from msgspec.structs import replace

from ..quotas.quota import Quota, QuotaUse, Window, find_window
from ..quotas.usage_counter import QuotaShortfall, UnreadAnswers, now_ms
from .count_mirror import CountMirror, Reservation
from .pending_use import Owed, OwedUse, PendingUse, SlotUse
from .redis_answer_cache import name_answer
from .redis_link import AWAY, EPOCH, PREFIX, REPLICAS, RedisLink, SharedStateLost
from .redis_protocol import Argument, pair_fields

PATIENCE = 10_000
"""Milliseconds to wait, after a counter was lost, for replicas that have not given back theirs."""
_RESERVATIONS = "reservations"
_ANY = 1 << 52  # a quota that is never exceeded, for use that has been admitted already
_LAST = 5.0  # seconds to send use at the end

_Row = tuple[Quota, Sequence[Argument]]  # a counter, and what a script is told about it


class MissingCounts(SharedStateLost):
    """Another replica has not yet given back what it saw of lost counts; nothing is reserved."""


class RedisUsageCounter:
    """Counts for all replicas.

    ``alone``: whether this replica counts alone while Redis is lost; else ``reserve`` raises.
    ``pending`` keeps use that could not be sent before the end.
    """

    def __init__(
        self, link: RedisLink, *, alone: bool = True, pending: PendingUse | None = None
    ) -> None:
        self._link = link
        self._alone = alone
        self._pending = pending
        self._ahead: float | None = None  # the clock of Redis in advance of our monotonic clock
        self._mirror = CountMirror(self._now)
        self._bounds: dict[str, Quota] = {}
        self._births: dict[str, str] = {}  # of the counters that have what this replica saw
        self._replica = token_hex(6)
        self._listed = False  # by Redis, among the replicas
        self._open: dict[str, Reservation] = {}
        self._owed: Owed = pending.load() if pending is not None else {}
        self._unsent: dict[tuple[Quota, int], int] = {}  # sums, so that a long loss needs no room
        self._telling: set[asyncio.Future[Any]] = set()
        for owed in self._owed.values():
            self._note_bounds(each.bound for each in owed.uses)
            self._mirror.note_use(owed.uses)
        link.on_epoch.append(self._restore)
        link.on_return.append(self._send_owed)
        link.on_back.append(self._send_late)

    async def reserve(
        self, id: str, uses: Sequence[QuotaUse], *, unread: UnreadAnswers | None = None
    ) -> QuotaShortfall | None:
        """Reserve all of these, or none; raises SharedStateLost if it may not count alone.

        The first command is sent before anything is waited for.
        """
        asked = not self._link.is_away
        self._note_bounds(each.bound for each in uses)
        try:
            return await self._reserve_shared(id, uses, unread)
        except MissingCounts:
            raise
        except BaseException as error:
            if not isinstance(error, SharedStateLost) or not self._alone:
                if asked:
                    self._release(id, uses)
                raise
        full = await self._mirror.reserve(id, uses)
        if full is None:
            self._open[id] = Reservation(self._place(uses), "" if asked else None)
        elif asked:
            self._release(id, uses)
        return full

    def find_reserved(self, id: str) -> Mapping[str, int]:
        """Return what is reserved for a request."""
        reservation = self._open.get(id)
        uses = () if reservation is None else reservation.uses
        return {each.bound.name: each.amount for each in uses}

    def renew(self, id: str, quotas: Sequence[Quota]) -> None:
        """Count a reservation from now; what is sent later finds it there."""
        reservation = self._open.get(id)
        if reservation is None:
            return
        self._mirror.renew(id, quotas)
        placed = self._place(QuotaUse(each.bound, each.amount) for each in reservation.uses)
        self._open[id] = replace(reservation, uses=placed)
        if reservation.epoch and not self._link.is_away:
            keys = [EPOCH, _RESERVATIONS, *(each.name for each in quotas)]
            windows = _flat(_window_of(each) for each in quotas)
            arguments = [reservation.epoch, id, *windows]
            self._keep_task(self._link.send_script("renew", keys, arguments))

    def settle(self, id: str, uses: Sequence[QuotaUse]) -> None:
        """Correct a reservation, once; if Redis is unreachable, later."""
        reservation = self._open.pop(id, None)
        if reservation is None:
            return
        self._mirror.settle(id, uses)
        slots = {each.bound.name: each.slot for each in reservation.uses}
        used = tuple(
            SlotUse(each.bound, slots[each.bound.name], each.amount)
            for each in uses
            if each.bound.name in slots
        )
        if reservation.epoch is None and self._link.is_away:
            for each in used:
                place = (each.bound, each.slot)
                self._unsent[place] = self._unsent.get(place, 0) + each.amount
            return
        self._owe(id, OwedUse(used, reservation.epoch or ""), reservation)

    async def wait_until_counted(self) -> None:
        """Wait until Redis has the use, or is unreachable."""
        while self._telling:
            await asyncio.gather(*self._telling, return_exceptions=True)

    async def current_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the current use of each quota, by all replicas."""
        try:
            return await self._read_use(quotas)
        except SharedStateLost:
            return await self._mirror.current_use(quotas)

    def recent_use(self, quotas: Sequence[Quota]) -> list[int]:
        """Return the use of each quota as Redis told it last, with our own since."""
        return self._mirror.recent_use(quotas)

    def carry(self, before: Quota, after: Quota) -> None:
        """Count the use of one rolling quota under another: before all that is sent from now on."""
        self._note_bounds((after,))
        self._mirror.carry(before, after)
        if not self._link.is_away:
            names, quotas = (before.name, after.name), (before.per, after.per, after.most)
            self._keep_task(self._link.send_rare_script("carry", names, quotas))

    async def _read_use(self, quotas: Sequence[Quota]) -> list[int]:
        found = await self._read_counters(quotas)
        return [
            _sum_slots(fields, find_window(each, self._now()))
            for each, fields in zip(quotas, found, strict=True)
        ]

    async def _read_counters(self, quotas: Sequence[Quota]) -> list[dict[bytes, bytes]]:
        if not quotas:
            return []
        names = [("HGETALL", PREFIX + each.name) for each in quotas]
        return [pair_fields(fields) for fields in await self._link.send_all(names)]

    async def aclose(self) -> None:
        """Send Redis the use it does not have yet; keep on disk what it does not take."""
        with suppress(SharedStateLost, TimeoutError):
            async with asyncio.timeout(_LAST):
                await self.wait_until_counted()
                if self._link.is_away:
                    await self._link.retry_now()
                elif self._owed or self._unsent:
                    await self._send_owed()
                await self._link.send("HDEL", PREFIX + REPLICAS, self._replica)
        if self._pending is not None:
            for id, each in self._open.items():  # their service may have served them
                if not each.epoch:
                    self._owed[id] = OwedUse(each.uses)
            self._close_sums()
            self._pending.save(self._owed)

    # -- sending ----------------------------------------------------------------------------------

    async def _reserve_shared(
        self, id: str, uses: Sequence[QuotaUse], unread: UnreadAnswers | None
    ) -> QuotaShortfall | None:
        rates = unread.rates if unread is not None else {}
        rows = [
            (
                each.bound,
                (
                    *_window_of(each.bound),
                    each.bound.most,
                    each.amount,
                    str(rates.get(each.bound.unit, 0)),
                    "",
                ),
            )
            for each in uses
        ]
        patience = 0 if self._alone else PATIENCE
        listed = int(self._listed)
        arguments: list[Argument] = [id, self._replica, listed, patience, len(rows)]
        answers = () if unread is None else unread.keys
        epoch, answer = await self._run("reserve", arguments, rows, answers=answers)
        self._listed = True
        if not answer:
            message = "the gateway's counts are being restored; try again in a moment"
            raise MissingCounts(message, status=503, retry_after=AWAY)
        granted, now, *rest = (int(each) for each in answer)
        self._ahead = now - monotonic() * 1000
        if not granted:
            at, slot, taken, birth, amount, wait = rest
            self._note_count(uses[at].bound, slot, taken, birth)
            return QuotaShortfall(uses[at].bound, taken, amount, wait / 1000)
        slots, counts, births, amounts = rest[::4], rest[1::4], rest[2::4], rest[3::4]
        placed = tuple(
            SlotUse(each.bound, slot, amount)
            for each, slot, amount in zip(uses, slots, amounts, strict=True)
        )
        for each, count, birth in zip(placed, counts, births, strict=True):
            self._note_count(each.bound, each.slot, count, birth)
        self._mirror.note_reservation(id, placed)
        self._open[id] = Reservation(placed, epoch)
        return None

    def _release(self, id: str, uses: Sequence[QuotaUse]) -> None:
        """Give back a reservation that Redis may have made although no answer came."""
        self._owe(id, OwedUse(tuple(replace(each, amount=0) for each in self._place(uses))))

    def _owe(self, id: str, owed: OwedUse, reservation: Reservation | None = None) -> None:
        """Send use with the other commands of this step, without waiting."""
        self._owed[id] = owed
        if self._link.is_away:
            return
        if not self._link.epoch:
            self._keep_task(asyncio.ensure_future(self._tell(id, owed, reservation)))
            return
        keys, list_arguments = self._list_use(id, owed, reservation)
        arguments = [self._link.epoch, *list_arguments()]
        answer = self._link.send_script("settle", [EPOCH, *keys], arguments)
        self._keep_task(answer)
        answer.add_done_callback(partial(self._note_told, id, owed, reservation))

    def _keep_task(self, task: asyncio.Future[Any]) -> None:
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def _note_told(
        self,
        id: str,
        owed: OwedUse,
        reservation: Reservation | None,
        answer: asyncio.Future[Any],
    ) -> None:
        if answer.cancelled() or answer.exception() is not None:
            return  # it is owed
        if answer.result() is not None:
            self._owed.pop(id, None)
        else:  # Redis has other data than this replica has seen
            self._keep_task(asyncio.ensure_future(self._tell(id, owed, reservation)))

    async def _tell(self, id: str, owed: OwedUse, reservation: Reservation | None) -> None:
        with suppress(SharedStateLost):
            await self._send_use(id, owed, reservation)

    async def _send_use(
        self, id: str, owed: OwedUse, reservation: Reservation | None = None
    ) -> None:
        """Send use; with its reservation, for the first time: Redis may have lost that alone."""
        keys, list_arguments = self._list_use(id, owed, reservation)
        await self._link.run_in_epoch("settle", keys, list_arguments)
        self._owed.pop(id, None)

    def _list_use(
        self, id: str, owed: OwedUse, reservation: Reservation | None
    ) -> tuple[Sequence[str], Callable[[], list[Argument]]]:
        """Return the keys and the arguments of ``settle``."""
        held = {each.bound: each.amount for each in reservation.uses} if reservation else {}
        rows = [
            (
                each.bound,
                (*_window_of(each.bound), each.amount, each.slot, held.get(each.bound, 0)),
            )
            for each in owed.uses
        ]
        first = reservation is not None
        arguments: list[Argument] = [owed.epoch, id, int(first)]
        return self._list_keys(rows), self._list_arguments(arguments, rows, notices=first)

    async def _run(
        self,
        script: str,
        arguments: Sequence[Argument],
        rows: Sequence[_Row],
        *,
        notices: bool = True,
        answers: Iterable[str] = (),
    ) -> tuple[str, Any]:
        """Run a script on counters and cached answers."""
        keys = [*self._list_keys(rows), *map(name_answer, answers)]
        listing = self._list_arguments(arguments, rows, notices=notices)
        return await self._link.run_in_epoch(script, keys, listing)

    @staticmethod
    def _list_keys(rows: Sequence[_Row]) -> list[str]:
        return [REPLICAS, _RESERVATIONS, *(bound.name for bound, _ in rows)]

    def _list_arguments(
        self, arguments: Sequence[Argument], rows: Sequence[_Row], *, notices: bool
    ) -> Callable[[], list[Argument]]:
        """Return the arguments of a script, now: for each counter, the birth this replica has seen.

        ``notices``: whether it looks for losses. Use that is sent after one does not: each loss
        would begin the sending again.
        """

        def list_now() -> list[Argument]:
            births = self._births if notices else {}
            seen = ((*values, births.get(bound.name, "")) for bound, values in rows)
            return [*arguments, *_flat(seen)]

        return list_now

    def _note_count(self, bound: Quota, slot: int, count: int, birth: int) -> None:
        """Take over a count; not of a counter that began again since: the next script notices."""
        if not birth or self._births.setdefault(bound.name, str(birth)) == str(birth):
            self._mirror.note_count(bound, slot, count)

    async def _send_owed(self) -> None:
        """Send Redis the use since it was lost, and the reservations of running requests."""
        for id, each in list(self._open.items()):
            if not each.epoch and id in self._open:  # it may end while others are sent
                await self._join(id, each)
        for id, owed in list(self._owed.items()):
            await self._send_use(id, owed)
        self._close_sums()
        for id, owed in list(self._owed.items()):
            await self._send_use(id, owed)
        if self._pending is not None:
            self._pending.save({})
        await self._see_counts()

    def _send_late(self) -> None:
        """Send the use of requests that ended while the rest was being sent."""
        self._close_sums()
        for id, owed in self._owed.items():
            self._keep_task(asyncio.ensure_future(self._tell(id, owed, None)))

    async def _see_counts(self) -> None:
        """Take over the counts of Redis, in which the use of others during the loss is now, too.

        The replica that wrote last has seen all of it, and can give it back.
        """
        bounds = list(self._bounds.values())
        found = await self._read_counters(bounds)
        for bound, fields in zip(bounds, found, strict=True):
            span = find_window(bound, self._now())
            count, birth = _sum_slots(fields, span), int(fields.get(b"born", 0))
            if birth:
                self._births.setdefault(bound.name, str(birth))
            if [count] > await self._mirror.current_use([bound]):
                self._note_count(bound, span.slot, count, birth)

    async def _join(self, id: str, reservation: Reservation) -> None:
        """Reserve in Redis for a request that was admitted without it."""
        rows = [
            (each.bound, (*_window_of(each.bound), _ANY, each.amount, 0, each.slot))
            for each in reservation.uses
        ]
        self._open[id] = replace(reservation, epoch="")  # it may end meanwhile
        arguments: list[Argument] = [id, self._replica, 0, 0, len(rows)]
        epoch, _ = await self._run("reserve", arguments, rows, notices=False)
        if id in self._open:
            self._open[id] = replace(reservation, epoch=epoch)

    def _close_sums(self) -> None:
        if self._unsent:
            uses = (SlotUse(*place, amount) for place, amount in self._unsent.items())
            self._owed[token_hex(12)] = OwedUse(tuple(uses))
            self._unsent = {}

    async def _restore(self, epoch: str) -> None:
        """Give back to Redis the counts and reservations that it lost."""
        known = [
            (id, each) for id, each in self._open.items() if each.epoch and each.epoch != epoch
        ]
        if self._link.epoch:
            await self._give_back(epoch, known)
        for id, each in known:
            if id in self._open:
                self._open[id] = replace(each, epoch=epoch)

    async def _give_back(self, epoch: str, reservations: Sequence[tuple[str, Reservation]]) -> None:
        births = dict(self._births)
        counts = [use for use in self._list_lost() if use.amount > 0]
        rows = [
            (
                PREFIX + use.bound.name,
                *_window_of(use.bound),
                use.slot,
                use.amount,
                births.get(use.bound.name, ""),
            )
            for use in counts
        ]
        reserved = [
            (id, PREFIX + use.bound.name, use.slot, use.amount)
            for id, each in reservations
            for use in each.uses
        ]
        arguments = [self._replica, epoch, len(rows), *_flat(rows), *_flat(reserved)]
        found = await self._link.run("restore", [REPLICAS, _RESERVATIONS], arguments)
        given = {use.bound.name: birth.decode() for use, birth in zip(counts, found, strict=True)}
        for name, birth in births.items():
            if self._births.get(name) == birth:  # else a later answer told another
                del self._births[name]
        self._births = given | self._births

    def _list_lost(self) -> list[SlotUse]:
        """Return the counts that Redis had, without the use that is sent to it anyway."""
        extra: dict[tuple[str, int | None], int] = {}
        for use in self._list_unsent():
            place = (use.bound.name, None if use.bound.rolling else use.slot)
            extra[place] = extra.get(place, 0) + use.amount
        return [
            replace(
                each,
                amount=each.amount
                - extra.get((each.bound.name, None if each.bound.rolling else each.slot), 0),
            )
            for each in self._mirror.list_counts(self._bounds.values())
        ]

    def _list_unsent(self) -> Iterator[SlotUse]:
        for owed in self._owed.values():
            yield from owed.uses
        for place, amount in self._unsent.items():
            yield SlotUse(*place, amount)
        for each in self._open.values():
            if not each.epoch:
                yield from each.uses

    # -- time and place ---------------------------------------------------------------------------

    def _now(self) -> int:
        """Return the time of Redis, also while it is lost: our own clock may jump."""
        if self._link.now != "":
            return int(self._link.now)
        return now_ms() if self._ahead is None else int(monotonic() * 1000 + self._ahead)

    def _place(self, uses: Iterable[QuotaUse]) -> tuple[SlotUse, ...]:
        now = self._now()
        return tuple(
            SlotUse(each.bound, find_window(each.bound, now).slot, each.amount) for each in uses
        )

    def _note_bounds(self, bounds: Iterable[Quota]) -> None:
        for each in bounds:
            self._bounds[each.name] = each


def _window_of(bound: Quota) -> tuple[int, str]:
    """Return the arguments of a script that say which slots of a quota count."""
    return int(bound.rolling), bound.per


def _sum_slots(fields: Mapping[bytes, bytes], span: Window) -> int:
    """Return the count of a counter in Redis; its other fields are not slots."""
    return sum(
        int(count)
        for slot, count in fields.items()
        if slot.isdigit() and span.since <= int(slot) <= span.last
    )


def _flat(rows: Iterable[Sequence[Argument]]) -> list[Argument]:
    return [value for row in rows for value in row]

"""Records requests that were rejected before their key was known: few rows for many requests.

All who reach the gateway can send them, and must not be able to fill the disk. The first of
an address in a minute have a row each, the others one row together. Until that is written, the
ledger's journal has the sum of all of them, of a second ago at most, in case of a kill.
"""

from asyncio import TimerHandle, get_running_loop
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

from msgspec.structs import replace

from ..observability.receipt import KILLED, Receipt, make_id
from .context import GatewayContext

PER_ADDRESS = 20
"""Rejections of an address in a minute that are answered and recorded one by one."""
IN_ALL = 600
"""Rows of single rejections in a minute, of all addresses."""
ADDRESSES = 4096
"""Addresses that are counted at a time; the oldest is forgotten."""

_MINUTE = 60.0
SAVED = 1.0
"""Seconds between two lines of the journal with the rejections that have no row yet."""


class _Window:
    """The rejections of one address in a minute."""

    __slots__ = ("count", "last", "since", "unrecorded")

    def __init__(self, since: float) -> None:
        self.since = since
        self.count = 0
        self.unrecorded = 0
        self.last: Receipt | None = None


class Rejections:
    """Counts rejections by address; one with a valid key is never asked for."""

    def __init__(self, gateway: GatewayContext) -> None:
        self._gateway = gateway
        self._windows: dict[str, _Window] = {}
        self._all = _Window(0.0)
        self._timer: TimerHandle | None = None
        self._unrecorded = 0  # in all windows
        self._saved_as = ""  # the id of the row that a kill would leave
        self._unsaved: Receipt | None = None  # the last since that was saved
        self._saving: TimerHandle | None = None

    def find_wait(self, address: str) -> int | None:
        """Return the seconds until an address may fail again; None if it may do so now."""
        window = self._find_window(group_address(address))
        if window.count < PER_ADDRESS:
            return None
        return max(1, ceil(window.since + _MINUTE - self._gateway.now()))

    def note(
        self, id: str, address: str, status: int, reason: str, *, front: str = "", key: str = ""
    ) -> bool:
        """Record a rejection; return whether alone, not together with others of its address."""
        group = group_address(address)
        window = self._find_window(group)
        window.count += 1
        now = self._gateway.now()
        receipt = Receipt(
            id=id,
            at=now,
            key=key,
            front=front,
            status=status,
            end="refused",
            reason=f"{reason} (from {group or 'an unknown address'})",
        )
        if now - self._all.since >= _MINUTE:
            self._all = _Window(now)
        if window.count <= PER_ADDRESS and self._all.count < IN_ALL:
            self._all.count += 1
            self._gateway.notify_observers([receipt])
            return True
        window.unrecorded += 1
        window.last = receipt
        self._unrecorded += 1
        self._unsaved = receipt
        if self._saving is None:
            self._save(receipt)
            self._saving = get_running_loop().call_later(SAVED, self._save_again)
        if self._timer is None:
            self._timer = get_running_loop().call_later(_MINUTE, self._write_ended)
        return False

    def close(self) -> None:
        """Record what was counted so far."""
        for timer in (self._timer, self._saving):
            if timer is not None:
                timer.cancel()
        self._timer = self._saving = None
        for window in self._windows.values():
            self._write(window)

    def _find_window(self, group: str) -> _Window:
        now = self._gateway.now()
        window = self._windows.get(group)
        if window is None or now - window.since >= _MINUTE:
            if window is not None:
                self._write(self._windows.pop(group))
            window = self._windows[group] = _Window(now)
            if len(self._windows) > ADDRESSES:
                self._write(self._windows.pop(next(iter(self._windows))))
        return window

    def _write_ended(self) -> None:
        self._timer = None
        now = self._gateway.now()
        for group, window in list(self._windows.items()):
            if now - window.since >= _MINUTE:
                self._write(self._windows.pop(group))
        if any(window.unrecorded for window in self._windows.values()):
            self._timer = get_running_loop().call_later(_MINUTE, self._write_ended)

    def _write(self, window: _Window) -> None:
        """Record the rejections that have no row of their own."""
        last, window.last = window.last, None
        if last is None:
            return
        count, window.unrecorded = window.unrecorded, 0
        self._unrecorded -= count
        reason = f"{count} more rejected in a minute, the last: {last.reason}"
        row = replace(last, reason=reason)
        if self._saved_as and not self._unrecorded:
            # The last that waited: its row takes the place of the one that a kill would leave.
            row, self._saved_as = replace(row, id=self._saved_as), ""
            self._unsaved = None
        self._gateway.notify_observers([row])
        if self._saved_as:
            self._save(last)

    def _save_again(self) -> None:
        """Save the sum as it is now, if more were rejected since."""
        self._saving = None
        if self._unsaved is not None:
            self._save(self._unsaved)
            self._saving = get_running_loop().call_later(SAVED, self._save_again)

    def _save(self, last: Receipt) -> None:
        """Save the row of all that have none, which stays if this process is killed."""
        self._unsaved = None
        if self._gateway.save_begun is None:
            return
        self._saved_as = self._saved_as or make_id(self._gateway.now())
        reason = f"{KILLED}: {self._unrecorded} more rejected, the last: {last.reason}"
        self._gateway.save_begun(replace(last, id=self._saved_as, key="", reason=reason))


def group_address(address: str) -> str:
    """Return what is counted together: an address, or the network that an IPv6 host owns."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((parsed, 64), strict=False))
    return address

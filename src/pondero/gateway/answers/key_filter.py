"""Removes the provider's key from an answer: a service, or a proxy before it, may quote it."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from ...canon import HIDDEN

_MARK = HIDDEN.encode()


class KeyFilter:
    """Redacts these keys in bytes that arrive in pieces; holds back an end that may become one."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._texts = frozenset(keys)
        self._keys = _list_all_forms(self._texts)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes so far that cannot become a key, redacted."""
        if self._held:
            data = self._held + data
        for key in self._keys:
            data = data.replace(key, _MARK)
        at = self._find_open(data)
        self._held = data[at:]
        return data[:at] if self._held else data

    def end(self) -> bytes:
        """Return the rest."""
        rest, self._held = self._held, b""
        return rest

    def whole(self, data: bytes) -> bytes:
        """Return the last or only bytes, redacted."""
        if self._held:
            data, self._held = self._held + data, b""
        for key in self._keys:
            data = data.replace(key, _MARK)
        return data

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return headers, redacted."""
        told = "\n".join(headers.values())  # nearly none has a key
        if not any(map(told.__contains__, self._texts)):
            return dict(headers)
        return {
            name: self.whole(value.encode("utf-8", "surrogateescape")).decode(
                "utf-8", "surrogateescape"
            )
            for name, value in headers.items()
        }

    def _find_open(self, data: bytes) -> int:
        """Return where a key may begin that is not complete at the end; else the length."""
        begin = len(data)
        if data.endswith(b"\n"):  # nearly every piece of a stream; no key has a line's end
            return begin
        for key in self._keys:
            at = data.find(key[:1], max(0, len(data) - len(key) + 1))
            while 0 <= at < begin:
                if key.startswith(data[at:]):
                    begin = at
                at = data.find(key[:1], at + 1)
        return begin


@lru_cache(maxsize=256)
def _list_all_forms(keys: frozenset[str]) -> tuple[bytes, ...]:
    return tuple({form for key in keys for form in _list_forms(key)})


def _list_forms(key: str) -> tuple[bytes, ...]:
    """Return a key as it is, and as JSON writes it."""
    return key.encode("utf-8", "surrogatepass"), msgspec.json.encode(key)[1:-1]

"""Redis's protocol (RESP2): commands as bytes, and replies from bytes as they arrive."""

from collections.abc import Iterable, Sequence
from typing import Any

Argument = str | int | bytes
Reply = Any
"""What Redis answers: None, a number, bytes, a list of replies, or a ReplyError."""

_END = b"\r\n"
_ENDS = len(_END)


class ReplyError(Exception):
    """Redis rejects a command; ``code`` is the first word, such as OOM, READONLY or NOSCRIPT."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.code: str = text.partition(" ")[0]


def pack_command(words: Sequence[Argument]) -> bytes:
    """Return a command as Redis reads it."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


class ReplyReader:
    """Reads replies: feed bytes as they arrive. A reply that is not whole waits for the rest.

    A long reply costs its length, however many pieces it comes in.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._missing = 0  # bytes without which looking again is in vain
        self._lists: list[tuple[list[Reply], int]] = []  # begun, with the lengths they will have

    def feed(self, data: bytes) -> list[Reply]:
        """Return the replies that these bytes complete; raises ValueError for anything else."""
        if self._pieces:
            self._pieces.append(data)
            self._missing -= len(data)
            if self._missing > 0:
                return []
            data = b"".join(self._pieces)
            self._pieces = []
        replies: list[Reply] = []
        at = 0
        while at < len(data):
            end = data.find(_END, at)
            if end < 0:
                return self._wait(data, at, 1, replies)
            kind, text, following = data[at : at + 1], data[at + 1 : end], end + _ENDS
            if kind == b"$" and text != b"-1":
                start, following = following, following + int(text) + _ENDS
                if following > len(data):
                    return self._wait(data, at, following - len(data), replies)
                value: Reply = data[start : following - _ENDS]
            elif kind == b"*" and text not in (b"0", b"-1"):
                self._lists.append(([], int(text)))
                at = following
                continue
            else:
                value = _read_short(kind, text)
            at = following
            self._close(value, replies)
        return replies

    def _wait(self, data: bytes, at: int, missing: int, replies: list[Reply]) -> list[Reply]:
        self._pieces, self._missing = [data[at:]], missing
        return replies

    def _close(self, value: Reply, replies: list[Reply]) -> None:
        """Put a value into its list, and lists that it completes into theirs."""
        while self._lists:
            values, length = self._lists[-1]
            values.append(value)
            if len(values) < length:
                return
            value = values
            self._lists.pop()
        replies.append(value)


def _read_short(kind: bytes, text: bytes) -> Reply:
    if kind == b":":
        return int(text)
    if kind == b"+":
        return text
    if kind == b"-":
        return ReplyError(text.decode("utf-8", "replace"))
    if kind in b"$*" and kind:
        return None if text == b"-1" else []
    message = f"{kind!r} begins no reply"
    raise ValueError(message)


def pair_fields(reply: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return a hash, which Redis sends as a list of names and values."""
    each = iter(reply)
    return dict(zip(each, each, strict=True))

"""How answers of the emulator are recognised: by a header, and by marks in its signatures and ids.

A signature outlives its answer's origin: clients of a gateway store it, and other programs. So
every opaque value of the emulator has a mark inside, which no real one has by chance.
"""

from collections.abc import Iterable
from typing import Any

EMULATOR_HEADER = "x-pondero-emulator"
"""The response header of an emulator."""

OFFLINE = "offline"
"""The address of an emulator that is a transport of this program."""

RECORDING = "recording"
"""In place of an address: a recording answers, and wants back what is in it, of either maker."""

EMULATED = "ponderoEmulator0"
"""The mark in signatures: letters of base64, in either alphabet; twelve bytes."""

EMULATED_ID = b"pondero".hex()
"""The mark in ids of items, which are hexadecimal."""

# A value in base64 twice: of the mark after four other letters, the letters that are always equal.
_TWICE = "bmRlcm9FbXVsYXRv"
_MARKS = (EMULATED, EMULATED_ID, _TWICE)


def is_emulated(value: Any) -> bool:
    """Return whether a text in a JSON value has a mark of the emulator."""
    if isinstance(value, str):
        return any(mark in value for mark in _MARKS)
    if isinstance(value, dict):
        return _contains_emulated(value.values())
    return isinstance(value, (list, tuple)) and _contains_emulated(value)


def _contains_emulated(values: Iterable[Any]) -> bool:
    return any(map(is_emulated, values))

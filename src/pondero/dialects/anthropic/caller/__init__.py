"""The caller's side: what we send, and how we read what comes back."""

from ...dialect import Caller
from .. import decode, encode, repair, taking, traps

CALLER = Caller(
    encode=encode.request,
    decode=decode.response,
    stream=decode.stream,
    error=decode.error,
    recognises=decode.recognises,
    takes=taking.takes,
    traps=traps.traps,
    has_past=traps.has_past,
    repair=repair.repair,
)

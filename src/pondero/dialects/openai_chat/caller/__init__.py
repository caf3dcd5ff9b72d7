"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller

from . import repair, request, response, taking, traps

CALLER = Caller(
    encode=request.request,
    decode=response.response,
    stream=response.stream,
    error=response.error,
    recognises=response.recognises,
    takes=taking.takes,
    traps=traps.traps,
    has_past=traps.has_past,
    repair=repair.repair,
)

"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller

from . import errors, repair, request, response, stream, traps, usage

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    recognises=response.recognises,
    takes=request.takes,
    traps=traps.traps,
    has_past=traps.has_past,
    repair=repair.repair,
    quirks=request.Quirks,
    cured=repair.cured,
    signed_as=request.SIGNED,
    unsaid=request.UNSAID,
    marks=request.marks,
    counting=usage.counting,
    counted=usage.COUNTED,
)

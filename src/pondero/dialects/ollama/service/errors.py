"""The server's errors in its own shape: one string, whatever happened."""

import re
from typing import NoReturn

import msgspec

from pondero.canon import HttpResponse
from pondero.dialects.dialect import TOO_LONG, Rejected

JSON = "application/json; charset=utf-8"


_WRONG = re.compile(r"Expected `(?P<wanted>.*)`, got `(?P<got>.*)` - at `\$\.?(?P<path>.*)`")
_TYPES = {"str": "string", "int": "number", "float": "number"}


def error(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> HttpResponse:
    """Return an error of this status; the code of a prompt too long is said in words."""
    if code == TOO_LONG:
        message = f"the input length exceeds the context length: {message}"
    headers = {"content-type": JSON}
    if retry_after is not None:
        headers["retry-after"] = f"{retry_after:g}"
    return HttpResponse(status, headers, msgspec.json.encode({"error": message}))


def reject(message: str, *, status: int = 400) -> NoReturn:
    """Raise the rejection."""
    raise Rejected(error(status, message))


def reject_type(misfit: msgspec.ValidationError) -> NoReturn:
    """Reject a value of the wrong type, in the words of Go's JSON library."""
    found = _WRONG.match(str(misfit))
    if found is None:
        reject(str(misfit))
    wanted, got = found["wanted"].partition(" | ")[0], found["got"]
    field = re.sub(r"\[\.*\d*\]", "", found["path"])
    reject(
        f"json: cannot unmarshal {_TYPES.get(got, got)} into Go struct field "
        f"ChatRequest.{field} of type {_TYPES.get(wanted, wanted)}"
    )

"""The server's errors in its own shape: one string, whatever happened."""

import re
from typing import NoReturn

import msgspec

from pondero.canon import HttpResponse, format_seconds
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

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
        headers["retry-after"] = format_seconds(retry_after)
    return HttpResponse(status, headers, msgspec.json.encode({"error": message}))


def reject(rule: str, **facts: object) -> NoReturn:
    """Raise the rejection of a rule in rejections.toml; ``facts`` fill its wording."""
    row = load_rules(__package__).rule[rule]
    raise Rejected(error(row.status, row.text.format(**facts)), rule)


def reject_type(misfit: msgspec.ValidationError) -> NoReturn:
    """Reject a value of the wrong type, in the words of Go's JSON library."""
    found = _WRONG.match(str(misfit))
    if found is None:
        reject("misfit", why=str(misfit))
    wanted, got = found["wanted"].partition(" | ")[0], found["got"]
    reject(
        "wrong_type",
        got=_TYPES.get(got, got),
        field=re.sub(r"\[\.*\d*\]", "", found["path"]),
        wanted=_TYPES.get(wanted, wanted),
    )

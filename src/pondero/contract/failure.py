"""A failure for people: field, expected, actual, request and response, with no secret in it."""

import msgspec

from ..canon import HttpRequest
from ..store import hidden
from ..transport import Recorded, presentable
from .running import Result
from .wire import objects, printable

_LONGEST = 4_000  # characters of a body that are shown


def report(result: Result) -> str:
    """Return what failed, in lines."""
    lines = [f"{result.provider}:{result.model} {result.scenario}"]
    if result.check is not None:
        lines += [
            f"  field     {result.check.field}",
            f"  expected  {_value(result.check.expected)}",
            f"  actual    {_value(result.check.actual)}",
        ]
    if result.exchange is not None:
        lines += _exchange(presentable(result.exchange))
    return printable(hidden("\n".join(lines)))


def _exchange(exchange: Recorded) -> list[str]:
    request, head = exchange.request, exchange.head
    lines = [f"  request   {request.method} {request.url}", *_headers(request)]
    lines += _indented(_text(request.body))
    if head is None:
        return [*lines, "  response  none"]
    kind = head.headers.get("content-type", "")
    return [*lines, f"  response  {head.status} {kind}".rstrip(), *_indented(_text(exchange.body))]


def _headers(request: HttpRequest) -> list[str]:
    return _indented("\n".join(f"{name}: {value}" for name, value in request.headers.items()))


def _text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:  # frames that are no text, with JSON in them
        found = "\n".join(msgspec.json.encode(each).decode() for each in objects(body))
        text = f"({len(body):,} bytes)\n{found}"
    return (
        text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n({len(text):,} characters in all)"
    )


def _indented(text: str) -> list[str]:
    return [f"            {line}" for line in text.splitlines()]


def _value(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return repr(value)

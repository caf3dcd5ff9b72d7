"""Reports of results: a failure in full, without secrets, and JUnit XML for CI."""

import os
from contextlib import suppress
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from ..canon import HttpRequest
from ..cassettes import RecordedExchange, redact_exchange
from ..errors import BadParameter
from ..store import redact_secrets
from .runner import ScenarioResult
from .wire import objects, printable

_LONGEST = 4_000  # characters of a body that are shown


def describe_failure(result: ScenarioResult) -> str:
    """Return the failed check and its exchange, as lines of text."""
    lines = [f"{result.provider}:{result.model} {result.scenario}"]
    if result.check is not None:
        lines += [
            f"  field     {result.check.field}",
            f"  expected  {_value(result.check.expected)}",
            f"  actual    {_value(result.check.actual)}",
        ]
    if result.exchange is not None:
        lines += _exchange(redact_exchange(result.exchange))
    return printable(redact_secrets("\n".join(lines)))


def _exchange(exchange: RecordedExchange) -> list[str]:
    request, head = exchange.request, exchange.head
    lines = [f"  request   {request.method} {request.url}", *_headers(request)]
    lines += _indent_lines(_text(request.body))
    if head is None:
        return [*lines, "  response  none"]
    kind = head.headers.get("content-type", "")
    return [
        *lines,
        f"  response  {head.status} {kind}".rstrip(),
        *_indent_lines(_text(exchange.body)),
    ]


def _headers(request: HttpRequest) -> list[str]:
    return _indent_lines("\n".join(f"{name}: {value}" for name, value in request.headers.items()))


def _text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:  # binary frames that contain JSON
        found = "\n".join(msgspec.json.encode(each).decode() for each in objects(body))
        text = f"({len(body):,} bytes)\n{found}"
    return (
        text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n({len(text):,} characters in all)"
    )


def _indent_lines(text: str) -> list[str]:
    return [f"            {line}" for line in text.splitlines()]


def _value(value: object) -> str:
    if isinstance(value, str):
        return value or "(nothing)"
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return repr(value)


def as_junit(results: list[ScenarioResult]) -> bytes:
    """Return the JUnit XML: a suite for each model, a case for each scenario."""
    root = Element("testsuites", _counts(results) | {"name": "contract"})
    by_model: dict[str, list[ScenarioResult]] = {}
    for result in results:
        by_model.setdefault(f"{result.provider}:{result.model}", []).append(result)
    for model, group in by_model.items():
        suite = SubElement(root, "testsuite", _counts(group) | {"name": model})
        for result in group:
            _case(suite, model, result)
    indent(root)
    xml: bytes = tostring(root, "utf-8", xml_declaration=True)
    return xml + b"\n"


def check_writable(path: Path) -> None:
    """Raise BadParameter if the file cannot be written, before a long run."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        message = f"{path} cannot be written; name a file in an existing folder"
        raise BadParameter(message)


def write(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        fresh.write_bytes(data)
        fresh.replace(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise BadParameter(message) from None
    finally:
        with suppress(OSError):
            fresh.unlink()


def _case(suite: Element, model: str, result: ScenarioResult) -> None:
    case = SubElement(suite, "testcase", {"classname": model, "name": result.scenario})
    if result.status == "failed":
        SubElement(case, "failure", {"message": printable(result.detail)}).text = describe_failure(
            result
        )
    elif result.status == "passed" and result.detail:
        SubElement(case, "system-out").text = printable(result.detail)
    elif result.status != "passed":
        SubElement(case, "skipped", {"message": printable(f"{result.status}: {result.detail}")})


def _counts(results: list[ScenarioResult]) -> dict[str, str]:
    statuses = [result.status for result in results]
    return {
        "tests": str(len(results)),
        "failures": str(statuses.count("failed")),
        "skipped": str(statuses.count("skipped") + statuses.count("unsupported")),
    }

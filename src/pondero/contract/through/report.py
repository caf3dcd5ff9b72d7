"""Reports of the matrix: JSON, JUnit, and each miss with both requests and the rule."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ...canon import HttpRequest, Json
from ...store import redact_secrets
from ..wire import printable
from .matrix import CellResult, score_of

_LONGEST = 3_000  # characters of a body that are shown


def describe_miss(result: CellResult) -> str:
    """Return a miss as lines of text."""
    lines = [
        f"{result.front} > {result.model}: {result.check}",
        f"  missed    {result.detail}",
        f"  rule      {result.rule}",
        *_requests("sent", result.sent),
        *_requests("arrived", result.arrived),
    ]
    return printable(redact_secrets("\n".join(lines)))


def _requests(title: str, requests: Sequence[HttpRequest]) -> list[str]:
    """Return the last request: what went wrong first is in the last one that was sent."""
    if not requests:
        return [f"  {title:<9} nothing"]
    last = requests[-1]
    count = f" (the last of {len(requests)})" if len(requests) > 1 else ""
    return [f"  {title:<9} {last.method} {last.url}{count}", f"            {_text(last.body)}"]


def _text(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ({len(text):,} characters in all)"


def as_matrix_json(results: Sequence[CellResult], *, gateway: str) -> Json:
    """Return everything as plain JSON values; the keys are a stable contract."""
    score = score_of(results)
    return {
        "gateway": gateway,
        "score": {"passed": score.passed, "total": score.total},
        "results": [_row(result) for result in results],
    }


def _row(result: CellResult) -> dict[str, Json]:
    names = ("front", "model", "check", "status", "detail", "rule")
    row: dict[str, Json] = {name: getattr(result, name) for name in names}
    if result.status == "missed":
        row["sent"] = [redact_secrets(_text(each.body)) for each in result.sent]
        row["arrived"] = [redact_secrets(_text(each.body)) for each in result.arrived]
    return row


def as_matrix_junit(results: Sequence[CellResult]) -> bytes:
    """Return the JUnit XML: a suite for each client API and model, a case for each check."""
    root = Element("testsuites", _counts(results) | {"name": "contract through"})
    suites: dict[str, list[CellResult]] = {}
    for result in results:
        suites.setdefault(f"{result.front} > {result.model}", []).append(result)
    for name, group in suites.items():
        suite = SubElement(root, "testsuite", _counts(group) | {"name": name})
        for result in group:
            case = SubElement(suite, "testcase", {"classname": name, "name": result.check})
            message = {"message": printable(redact_secrets(result.detail))}
            if result.status == "missed":
                SubElement(case, "failure", message).text = describe_miss(result)
            elif result.status == "n/a":
                SubElement(case, "skipped", message)
    indent(root)
    xml: bytes = tostring(root, "utf-8", xml_declaration=True)
    return xml + b"\n"


def _counts(results: Sequence[CellResult]) -> dict[str, str]:
    statuses = [result.status for result in results]
    return {
        "tests": str(len(results)),
        "failures": str(statuses.count("missed")),
        "skipped": str(statuses.count("n/a")),
    }

"""Results as JUnit's XML, for whoever shows test reports."""

import os
from contextlib import suppress
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..errors import BadParameter
from .failure import report
from .running import Result
from .wire import printable


def as_junit(results: list[Result]) -> bytes:
    """Return the report: a suite for each model, a case for each scenario."""
    root = Element("testsuites", _counts(results) | {"name": "contract"})
    by_model: dict[str, list[Result]] = {}
    for result in results:
        by_model.setdefault(f"{result.provider}:{result.model}", []).append(result)
    for model, group in by_model.items():
        suite = SubElement(root, "testsuite", _counts(group) | {"name": model})
        for result in group:
            _case(suite, model, result)
    indent(root)
    told: bytes = tostring(root, "utf-8", xml_declaration=True)
    return told + b"\n"


def check_place(path: Path) -> None:
    """Raise where no file can be written: better before a long run than after it."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        message = f"{path} cannot be written; name a file in a folder that is there"
        raise BadParameter(message)


def write(path: Path, data: bytes) -> None:
    """Write a file whole, or not at all."""
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


def _case(suite: Element, model: str, result: Result) -> None:
    case = SubElement(suite, "testcase", {"classname": model, "name": result.scenario})
    if result.status == "failed":
        SubElement(case, "failure", {"message": printable(result.detail)}).text = report(result)
    elif result.status != "passed":
        SubElement(case, "skipped", {"message": printable(f"{result.status}: {result.detail}")})


def _counts(results: list[Result]) -> dict[str, str]:
    statuses = [result.status for result in results]
    return {
        "tests": str(len(results)),
        "failures": str(statuses.count("failed")),
        "skipped": str(statuses.count("skipped") + statuses.count("unsupported")),
    }

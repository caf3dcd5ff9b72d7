"""A file in, a report out."""

from ...dialects import dialect
from ...errors import CassetteError
from .chats import guarded
from .judging import judged, returned
from .past import Answers
from .reading import Line, kind_of, lines
from .report import Kind, Report
from .seen import Seen, seen


def guard(data: bytes, name: str = "-") -> Report:
    """Return what of a recorded conversation its service refuses, or loses, and what is fine.

    ``data`` is a cassette, one of vcrpy's, lines of exchanges, a saved chat or an exported thread;
    it is told from what is in it. ``name`` is said in errors.
    """
    kind = kind_of(data, name)
    try:
        if kind in ("chat", "thread"):
            return guarded(data, name, kind)
        return _report(lines(data, name, kind), name, kind)
    except RecursionError:
        message = f"{name}: something in it is nested too deeply"
        raise CassetteError(message) from None


def _report(found: list[Line | None], name: str, kind: Kind) -> Report:
    talks = [
        talk
        for number, line in enumerate(found, 1)
        if line and (talk := seen(number, line.recorded, provider=line.provider))
    ]
    past = Answers(talks)
    findings = {each.number: judged(each, past) for each in talks}
    refused = [each.number for each in talks if each.refused]
    return Report(
        name=name,
        kind=kind,
        lines=len(found),
        exchanges=len(talks),
        with_past=sum(dialect(each.dialect).caller().has_past(each.body) for each in talks),
        seals=sum(returned(each, past) for each in talks),
        dialects=_dialects(talks),
        errors=len(refused),
        explained=sum(any(f.refused for f in findings[number]) for number in refused),
        findings=tuple(finding for each in findings.values() for finding in each),
    )


def _dialects(talks: list[Seen]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.dialect for each in talks))

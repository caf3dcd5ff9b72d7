"""Results for other programs: a CSV that ``sweep decide`` reads, and JUnit for a CI."""

import csv
import io
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from ..run.answer_labels import find_wanted
from ..run.store import Run
from .values import ArmResult, SweepResults

_COLUMNS = ("question", "arm", "score", "cost", "kind", "cluster", "repeat", "label")


_LABEL_COLUMNS = ("question", "arm", "repeat", "input", "target", "answer", "right")


def csv_of(results: SweepResults) -> str:
    """Return a line for each answer, in the order of the bets; an empty score is missing."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_iter_rows(results))
    return table.getvalue()


def decide_options(results: SweepResults) -> str | None:
    """Return the options with which ``sweep decide`` decides a run's scores as the run did.

    None if it cannot: it has one plan from the start, and bets against one reference.
    """
    facts, spec = results.facts, results.facts.spec
    if spec.once or spec.against == "best" or facts.changes or facts.judge_errors:
        return None
    points = f"{100 * spec.margin:g}"
    said = [
        f"--margin {points}{'%' if spec.margin < _ONE_POINT else ''}",
        f"--pool {results.pool} --pilot {results.pilot} --order file",
        f"--reference {results.reference.name}",
    ]
    if spec.label_share is not None:
        said.append(f"--label-share {spec.label_share:g}")
    return " ".join(said)


_ONE_POINT = 0.01


def _iter_rows(results: SweepResults) -> Iterator[tuple[object, ...]]:
    field = results.facts.spec.cluster
    for row in results.rows:
        metadata = row.question.metadata
        kind = metadata.get("kind")
        cluster = metadata.get(field) if field else None
        for arm, cell in zip(results.arms, row.cells, strict=True):
            for answer in cell.answers if cell is not None else ():
                score = None if answer.settled.is_missing else answer.score
                cost = answer.settled.cost
                yield (
                    *(row.question.id, arm.name, score, cost, kind, cluster, answer.repeat),
                    answer.label,
                )


def labels_csv(run: Run) -> str:
    """Return the answers that people must label next, with an empty column for their word."""
    questions, answers, arms = run.questions(), run.answers(), run.facts.arms
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(_LABEL_COLUMNS)
    repeats = run.facts.spec.repeats
    for slot in find_wanted(run):
        question = questions[slot.position]
        target = " or ".join(question.target)
        where = (question.id, arms[slot.arm].name, slot.repeat % repeats + 1)
        writer.writerow((*where, question.words, target, answers[slot.key].text, ""))
    return table.getvalue()


def junit_of(results: SweepResults, expect: str | None = None) -> str:
    """Return a test case for the run and each arm; one that is expected must be enough."""
    suite = ET.Element("testsuite", name=f"pondero sweep {results.run}")
    decided = ET.SubElement(suite, "testcase", classname=results.run, name="decided")
    if not results.is_decided:
        _fail(decided, results.why)
    for arm in results.arms:
        case = ET.SubElement(suite, "testcase", classname=results.run, name=arm.name)
        wanted = expect is not None and (expect in arm.levels or expect == arm.name)
        if wanted and not results.shows(arm.name):
            _fail(case, f"{arm.name} is not shown to be enough: {_describe(arm)}")
        elif arm.verdict in ("undecided", "given_up"):
            ET.SubElement(case, "skipped", message=_describe(arm))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _fail(case: ET.Element, why: str) -> None:
    ET.SubElement(case, "failure", message=why)


def _describe(arm: ArmResult) -> str:
    measured = "" if arm.difference is None else f", measured {100 * arm.difference:+.1f} points"
    return f"{arm.verdict.replace('_', ' ')}{measured}"

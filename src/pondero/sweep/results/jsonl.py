"""Exports: the answers of a run for other programs, one line of JSON each."""

from collections.abc import Iterator

from ...canon import Json, dump_json
from .values import QuestionRow, SweepResults, TrialAnswer


def iter_jsonl(results: SweepResults) -> Iterator[str]:
    """Yield one line for each answer, question by question in the order they were asked."""
    for row in results.rows:
        for number, cell in enumerate(row.cells):
            for answer in cell.answers if cell is not None else ():
                yield dump_json(_record(results, row, number, answer))


def _record(
    results: SweepResults, row: QuestionRow, number: int, answer: TrialAnswer
) -> dict[str, Json]:
    arm, question, settled = results.arms[number], row.question, answer.settled
    grade = answer.grade
    return {
        "run": results.run,
        "question": question.id,
        "repeat": answer.repeat,
        "input": question.input,
        "target": list(question.target),
        "choices": list(question.choices),
        "metadata": question.metadata,
        "arm": arm.name,
        "model": arm.model,
        "level": arm.level,
        "levels": list(arm.levels),
        "fields": arm.fields,
        "answer": settled.text,
        "finish": settled.finish,
        "outcome": answer.outcome,
        "error": settled.error,
        "thinking_tokens": settled.usage.thinking,
        "usage": settled.usage.to_json(),
        "cost": None if settled.cost is None else float(settled.cost),
        "seconds": settled.seconds,
        "at": settled.at,
        "grade": None if grade is None else _grade(grade.score, grade.note, grade.cost),
        "judge": results.judge,
        "score": answer.score,
    }


def _grade(score: float | None, note: str, cost: str | None) -> dict[str, Json]:
    return {"score": score, "note": note, "cost": None if cost is None else float(cost)}

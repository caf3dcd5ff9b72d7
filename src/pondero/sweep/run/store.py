"""Runs on disk: one SQLite file each, with every trial and its answer.

A trial's key and bound are saved before it is sent, so ``resume`` repeats only what was open.
"""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

from ...canon import dump_json, load_json
from ...errors import BadParameter, StoreError, UsageError
from ...store import FACTS, Database, Jobs, Schema, SecretRedactor, hold_lock, redact_secrets
from ..arms import Arm
from ..engines.engine import TrialResult
from ..grading.agreement import Agreement
from ..questions import Question, digest
from ..spec import Spec

State = Literal["running", "interrupted", "stopped", "done"]

_SCHEMA = Schema(
    (
        (
            FACTS,
            "CREATE TABLE questions (position INTEGER PRIMARY KEY, body TEXT NOT NULL)",
            "CREATE TABLE flights (key TEXT PRIMARY KEY, bound TEXT NOT NULL) WITHOUT ROWID",
            "CREATE TABLE answers (key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
            "CREATE TABLE losses (key TEXT NOT NULL, bound TEXT NOT NULL)",
            """CREATE TABLE grades (
                question TEXT NOT NULL, key TEXT NOT NULL, judge TEXT NOT NULL, score REAL,
                note TEXT NOT NULL, cost TEXT, PRIMARY KEY (judge, key, question)
            ) WITHOUT ROWID""",
        ),
    ),
    "SELECT value FROM facts LIMIT 1",
)
_RUNS = Jobs(
    folder="sweeps", one="run", many="runs", listed_by="pondero sweep list", schema=_SCHEMA
)


_GRADE = "INSERT OR REPLACE INTO grades VALUES (?, ?, ?, ?, ?, ?)"


class StoredGrade(Struct, frozen=True):
    """A judge's grade of one answer; without a score, ``note`` says why."""

    question: str
    key: str
    judge: str
    score: float | None
    note: str = ""
    cost: str | None = None


class RunFacts(Struct, frozen=True, kw_only=True):
    """The declaration of a run; it never changes."""

    run: str
    started: float
    spec: Spec
    arms: tuple[Arm, ...]
    reference: int
    looks: int
    data: str
    """The hash of the questions."""


class RunSummary(Struct, frozen=True):
    """A run in a list."""

    run: str
    started: float
    state: State


def runs_folder() -> Path:
    """Return the folder of the runs."""
    return _RUNS.path()


def list_runs() -> list[RunSummary]:
    """Return every run, newest first, without files that cannot be read."""
    found = []
    for name in _RUNS.names():
        try:
            with Run.open(name) as run:
                found.append(RunSummary(run.facts.run, run.facts.started, run.state))
        except (StoreError, UsageError):
            continue
    return sorted(found, key=lambda each: each.started, reverse=True)


def find_run(text: str) -> str:
    """Return the whole name of a run from its first characters; ``last`` is the newest."""
    return _RUNS.find(text, [each.run for each in list_runs()])


class Run:
    """One run's file. The process that asks holds its lock; others may read meanwhile."""

    def __init__(self, database: Database, facts: RunFacts) -> None:
        self.facts = facts
        self._database = database

    @classmethod
    def create(
        cls, spec: Spec, questions: Sequence[Question], arms: Sequence[Arm], *, reference: int,
        looks: int,
    ) -> "Run":  # fmt: skip
        """Create a run with these questions, in the order of the trials.

        Raises BadParameter if one holds a key: the file has each question as it is asked.
        """
        _check_keyless(questions, spec)
        now = time.time()
        name = f"{time.strftime('%Y%m%d', time.gmtime(now))}-{secrets.token_hex(3)}"
        facts = RunFacts(
            run=name,
            started=now,
            spec=spec,
            arms=tuple(arms),
            reference=reference,
            looks=looks,
            data=digest(questions),
        )
        database = _RUNS.create(name)
        with database.transaction() as connection:
            rows = ((n, dump_json(question)) for n, question in enumerate(questions))
            connection.executemany("INSERT INTO questions VALUES (?, ?)", rows)
            connection.execute("INSERT INTO facts VALUES ('facts', ?)", (dump_json(facts),))
        return cls(database, facts)

    @classmethod
    def open(cls, name: str) -> "Run":
        """Return a run that is on disk."""
        database, facts = _RUNS.open(name)
        return cls(database, load_json(facts, RunFacts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._database.close()

    # -- the lock ----------------------------------------------------------------------------------

    @contextmanager
    def hold_lock(self, *, known: bool = False) -> Iterator[None]:
        """Hold the run's lock or raise UsageError; what was in flight is spent unless ``known``."""
        busy = f"run {self.facts.run} is being asked by another process"
        with hold_lock(self._database.path, busy):
            self._set("state", "running")
            self._abandon(known=known)
            yield

    @property
    def state(self) -> State:
        """Return whether it runs, was stopped, is done, or was interrupted."""
        known = dict(self._database.rows("SELECT name, value FROM facts WHERE name = 'state'"))
        state = known.get("state", "running")
        if state != "running":
            return "done" if state == "done" else "stopped"
        try:
            with hold_lock(self._database.path, "running"):
                return "interrupted"
        except UsageError:
            return "running"

    def end(self, state: Literal["stopped", "done"]) -> None:
        """Save how the run ended."""
        self._set("state", state)

    def _set(self, name: str, value: str) -> None:
        self._database.rows("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def _abandon(self, *, known: bool) -> None:
        with self._database.transaction() as connection:
            if not known:
                connection.execute(
                    "INSERT INTO losses SELECT key, bound FROM flights "
                    "WHERE key NOT IN (SELECT key FROM answers)"
                )
            connection.execute("DELETE FROM flights")

    # -- the journal -------------------------------------------------------------------------------

    def begin(self, key: str, bound: Decimal | None) -> None:
        """Record that a trial is sent, and its maximum cost; only needed with a cap."""
        if bound is not None:
            self._rows("INSERT OR REPLACE INTO flights VALUES (?, ?)", key, str(bound))

    def lose(self, key: str, bound: Decimal) -> None:
        """Record that an attempt may have been charged without an answer."""
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO losses VALUES (?, ?)", (key, str(bound)))
            connection.execute("DELETE FROM flights WHERE key = ?", (key,))

    def settle(self, settled: TrialResult, grade: "StoredGrade | None" = None) -> None:
        """Save an answer, and its grade if there is one."""
        with self._database.transaction() as connection:
            row = (settled.key, redact_secrets(dump_json(settled)))
            connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", row)
            if grade is not None:
                connection.execute(_GRADE, _grade_row(grade))

    def forget_errors(self) -> None:
        """Delete the errors of models and judge, so that they are tried again."""
        failed = self.failed
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM answers WHERE key = ?", ((key,) for key in failed))
        self.forget_ungraded(self.facts.spec.judge)

    def forget_ungraded(self, judge: str) -> None:
        """Delete a judge's failures, so that it grades again."""
        self._rows("DELETE FROM grades WHERE judge = ? AND score IS NULL", judge)

    @property
    def failed(self) -> list[str]:
        """Return the keys of trials that ended with an error."""
        return [each.key for each in self.answers().values() if each.error is not None]

    @property
    def spent(self) -> Decimal:
        """Return the cost of answers, and of attempts that may have been charged."""
        lost = self._database.rows("SELECT bound FROM losses")
        paid = (each.cost for each in self.answers().values())
        return sum((Decimal(each) for each in (*(b for (b,) in lost), *paid) if each), Decimal(0))

    @property
    def lost(self) -> tuple[int, Decimal]:
        """Return how many lost attempts may have been charged, and their maximum cost."""
        rows = self._database.rows("SELECT bound FROM losses")
        return len(rows), sum((Decimal(bound) for (bound,) in rows), Decimal(0))

    # -- contents ----------------------------------------------------------------------------------

    def questions(self) -> tuple[Question, ...]:
        """Return the questions in the order of the trials."""
        rows = self._database.rows("SELECT body FROM questions ORDER BY position")
        return tuple(load_json(body, Question) for (body,) in rows)

    def answers(self) -> dict[str, TrialResult]:
        """Return every answer by its key."""
        rows = self._database.rows("SELECT body FROM answers")
        return {(found := load_json(body, TrialResult)).key: found for (body,) in rows}

    def grade(self, grade: "StoredGrade") -> None:
        """Save a grade."""
        self._rows(_GRADE, *_grade_row(grade))

    def grades(self, judge: str) -> dict[tuple[str, str], float | None]:
        """Return a judge's scores by question and key; None for a failed grade."""
        sql = "SELECT question, key, score FROM grades WHERE judge = ?"
        return {(question, key): score for question, key, score in self._rows(sql, judge)}

    def grades_by(self, judge: str) -> dict[tuple[str, str], StoredGrade]:
        """Return a judge's grades by question and key."""
        sql = "SELECT question, key, judge, score, note, cost FROM grades WHERE judge = ?"
        return {(row[0], row[1]): StoredGrade(*row) for row in self._rows(sql, judge)}

    def judge_cost(self, judge: str) -> Decimal:
        """Return the cost of a judge's grades, including those of labelled answers."""
        rows = self._rows("SELECT cost FROM grades WHERE judge = ? AND cost IS NOT NULL", judge)
        return sum((Decimal(cost) for (cost,) in rows), Decimal(0))

    def keep_agreement(self, judge: str, agreement: Agreement) -> None:
        """Save a judge's agreement with people's labels."""
        self._set(f"agreement of {judge}", dump_json(agreement))

    def agreement(self, judge: str) -> Agreement | None:
        """Return a judge's agreement with people's labels, or None."""
        found = self._rows("SELECT value FROM facts WHERE name = ?", f"agreement of {judge}")
        return load_json(found[0][0], Agreement) if found else None

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._database.rows(sql, values)


def _grade_row(grade: StoredGrade) -> tuple[Any, ...]:
    clean = msgspec.structs.replace(grade, note=redact_secrets(grade.note))
    return msgspec.structs.astuple(clean)


def _check_keyless(questions: Sequence[Question], spec: Spec) -> None:
    redactor = SecretRedactor()
    held = next((each for each in questions if redactor.finds(dump_json(each))), None)
    if held is None and not redactor.finds(dump_json(spec)):
        return
    what = "the sweep" if held is None else f"question {redactor.text(held.id)!r}"
    message = f"{what} holds a key, and a run is saved on disk; remove the key from it"
    raise BadParameter(message)

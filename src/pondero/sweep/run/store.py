"""Runs on disk: one SQLite file each, in which everything that was asked and answered is kept.

Before an ask is sent its key and the most it can cost are written, and its answer in a single
statement when it comes. A process that is killed at any moment loses what was in flight and nothing
else; ``resume`` asks that again, and no other question twice.
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
from ...errors import StoreError, UsageError
from ...store import FACTS, Database, Jobs, Schema, hold_lock
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
    """What one judge says of one answer; without a score, ``note`` says why there is none."""

    question: str
    key: str
    judge: str
    score: float | None
    note: str = ""
    cost: str | None = None


class RunFacts(Struct, frozen=True, kw_only=True):
    """What was declared when a run began; it never changes."""

    run: str
    started: float
    spec: Spec
    arms: tuple[Arm, ...]
    reference: int
    looks: int
    data: str
    """The hash of the questions."""


class RunSummary(Struct, frozen=True):
    """A run as it is listed."""

    run: str
    started: float
    state: State


def runs_folder() -> Path:
    """Return the folder of the runs."""
    return _RUNS.path()


def list_runs() -> list[RunSummary]:
    """Return every run, the newest first; a file that cannot be read is left out."""
    found = []
    for name in _RUNS.names():
        try:
            with Run.open(name) as run:
                found.append(RunSummary(run.facts.run, run.facts.started, run.state))
        except (StoreError, UsageError):
            continue
    return sorted(found, key=lambda each: each.started, reverse=True)


def find_run(text: str) -> str:
    """Return the whole name of a run from its beginning; ``last`` is the newest."""
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
        """Begin a run with these questions, in the order they are asked."""
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
        """Close the file; may be called twice."""
        self._database.close()

    # -- who asks ----------------------------------------------------------------------------------

    @contextmanager
    def hold_lock(self, *, known: bool = False) -> Iterator[None]:
        """Hold the run's lock; raises UsageError where another process has it.

        ``known`` is whether the engine knows what an earlier process had in flight; else all of
        that counts as paid for.
        """
        busy = f"run {self.facts.run} is being asked by another process"
        with hold_lock(self._database.path, busy):
            self._set("state", "running")
            self._abandon(known=known)
            yield

    @property
    def state(self) -> State:
        """Return whether it runs, was told to stop, is done, or ended without a word."""
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
        """Write down how the run ended, for now or for good."""
        self._set("state", state)

    def _set(self, name: str, value: str) -> None:
        self._database.rows("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def _abandon(self, *, known: bool) -> None:
        """Count what a killed process had in flight as spent: it may have been charged."""
        with self._database.transaction() as connection:
            if not known:
                connection.execute(
                    "INSERT INTO losses SELECT key, bound FROM flights "
                    "WHERE key NOT IN (SELECT key FROM answers)"
                )
            connection.execute("DELETE FROM flights")

    # -- the ledger --------------------------------------------------------------------------------

    def begin(self, key: str, bound: Decimal | None) -> None:
        """Write down that this is asked, and what it may cost; without a cap that is of no use."""
        if bound is not None:
            self._rows("INSERT OR REPLACE INTO flights VALUES (?, ?)", key, str(bound))

    def lose(self, key: str, bound: Decimal) -> None:
        """Write down that an attempt may have been charged though no answer came."""
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO losses VALUES (?, ?)", (key, str(bound)))
            connection.execute("DELETE FROM flights WHERE key = ?", (key,))

    def settle(self, settled: TrialResult, grade: "StoredGrade | None" = None) -> None:
        """Keep an answer, and its grade where there is one already."""
        with self._database.transaction() as connection:
            row = (settled.key, dump_json(settled))
            connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", row)
            if grade is not None:
                connection.execute(_GRADE, msgspec.structs.astuple(grade))

    def forget_errors(self) -> None:
        """Delete the errors that stayed, of models and judge, so that they are asked again."""
        failed = self.failed
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM answers WHERE key = ?", ((key,) for key in failed))
        self.forget_ungraded(self.facts.spec.judge)

    def forget_ungraded(self, judge: str) -> None:
        """Delete what a judge failed to grade, so that it is graded again."""
        self._rows("DELETE FROM grades WHERE judge = ? AND score IS NULL", judge)

    @property
    def failed(self) -> list[str]:
        """Return the keys of what ended with an error that stayed."""
        return [each.key for each in self.answers().values() if each.error is not None]

    @property
    def spent(self) -> Decimal:
        """Return what was paid for answers, and what may have been paid for none."""
        lost = self._database.rows("SELECT bound FROM losses")
        paid = (each.cost for each in self.answers().values())
        return sum((Decimal(each) for each in (*(b for (b,) in lost), *paid) if each), Decimal(0))

    @property
    def lost(self) -> tuple[int, Decimal]:
        """Return how many attempts may have been charged for nothing, and with how much at most."""
        rows = self._database.rows("SELECT bound FROM losses")
        return len(rows), sum((Decimal(bound) for (bound,) in rows), Decimal(0))

    # -- what is kept ------------------------------------------------------------------------------

    def questions(self) -> tuple[Question, ...]:
        """Return the questions in the order they are asked."""
        rows = self._database.rows("SELECT body FROM questions ORDER BY position")
        return tuple(load_json(body, Question) for (body,) in rows)

    def answers(self) -> dict[str, TrialResult]:
        """Return every answer by its key."""
        rows = self._database.rows("SELECT body FROM answers")
        return {(found := load_json(body, TrialResult)).key: found for (body,) in rows}

    def grade(self, grade: "StoredGrade") -> None:
        """Keep a grade."""
        self._rows(_GRADE, *msgspec.structs.astuple(grade))

    def grades(self, judge: str) -> dict[tuple[str, str], float | None]:
        """Return a judge's scores by question and key; None where it could not grade."""
        sql = "SELECT question, key, score FROM grades WHERE judge = ?"
        return {(question, key): score for question, key, score in self._rows(sql, judge)}

    def grades_by(self, judge: str) -> dict[tuple[str, str], StoredGrade]:
        """Return all that a judge said, by question and key."""
        sql = "SELECT question, key, judge, score, note, cost FROM grades WHERE judge = ?"
        return {(row[0], row[1]): StoredGrade(*row) for row in self._rows(sql, judge)}

    def judging_cost(self, judge: str) -> Decimal:
        """Return what a judge's grades cost, those of labelled answers among them."""
        rows = self._rows("SELECT cost FROM grades WHERE judge = ? AND cost IS NOT NULL", judge)
        return sum((Decimal(cost) for (cost,) in rows), Decimal(0))

    def keep_agreement(self, judge: str, agreement: Agreement) -> None:
        """Keep how a judge agrees with what people labelled."""
        self._set(f"agreement of {judge}", dump_json(agreement))

    def agreement(self, judge: str) -> Agreement | None:
        """Return how a judge agrees with people; None where nobody looked."""
        found = self._rows("SELECT value FROM facts WHERE name = ?", f"agreement of {judge}")
        return load_json(found[0][0], Agreement) if found else None

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._database.rows(sql, values)

"""Runs on disk: one SQLite file each, with every trial and its answer.

A trial's key and bound are saved before it is sent, so ``resume`` repeats only what was open.
"""

import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

from ...canon import Json, convert_json, dump_json, load_json
from ...errors import BadParameter, StoreError, UsageError
from ...store import (
    FACTS,
    Database,
    Jobs,
    Schema,
    SecretRedactor,
    hold_lock,
    is_locked,
    redact_secrets,
)
from ..arms import Arm
from ..engines.engine import TrialResult
from ..engines.leases import read_unsent
from ..grading.agreement import Agreement
from ..questions import Question, digest
from ..spec import Spec, rename_options
from ..statistics.comparison import PlanChange
from ..statistics.judge_error import JudgeErrors

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
_USED_UP = "stopped by the budget"
_FACT = "INSERT OR REPLACE INTO facts VALUES (?, ?)"


class StoredGrade(Struct, frozen=True):
    """A judge's grade of one answer; without a score, ``note`` says why."""

    question: str
    key: str
    judge: str
    score: float | None
    note: str = ""
    cost: str | None = None


class BetFront(Struct, frozen=True):
    """How many units of an arm its bets had seen when answers were dropped, to be asked again."""

    arm: int
    units: int


class RunFacts(Struct, frozen=True, kw_only=True):
    """The declaration of a run; only ``Run.change`` adds to it, and what is there stays."""

    run: str
    started: float
    spec: Spec
    arms: tuple[Arm, ...]
    reference: int
    data: str
    """The hash of the questions."""
    planned: int | None = None
    """How many questions it began with, if more were added."""
    added: int = 0
    """How many of the last arms were added later."""
    changes: tuple[PlanChange, ...] = ()
    """When the bets of an arm began to aim at another number of units, for the replay."""
    fronts: tuple[BetFront, ...] = ()
    """No later change of the plan applies to these units: their outcomes are known."""
    past_gate: bool = False
    """Whether it was told to continue past the sanity gate."""
    former_judges: tuple[str, ...] = ()
    """Judges that it had before its own; their cost stays spent."""
    judge_errors: JudgeErrors | None = None
    """The mistakes of a model that judges, on answers that people labelled before."""
    is_closed: bool = False
    """Whether it was told to decide by the answers that are there."""
    source: str = ""
    """The file of its questions, if they came from one."""


class RunSummary(Struct, frozen=True):
    """A run in a list."""

    run: str
    started: float
    state: State
    models: tuple[str, ...] = ()
    questions: int = 0
    source: str = ""
    """The file of its questions, if they came from one."""


def runs_folder() -> Path:
    """Return the folder of the runs."""
    return _RUNS.path()


def sends_path(run: str) -> Path:
    """Return the file in which an engine with workers records what they send."""
    return runs_folder() / f"{run}.sends"


def list_runs() -> list[RunSummary]:
    """Return every run, newest first, without files that cannot be read."""
    found = []
    for name in _RUNS.names():
        try:
            with Run.open(name) as run:
                found.append(run.summarize())
        except (StoreError, UsageError):
            continue
    return sorted(found, key=lambda each: each.started, reverse=True)


def find_run(text: str) -> str:
    """Return the whole name of a run from its first characters; ``last`` is the newest."""
    return _RUNS.find(text, [each.run for each in list_runs()])


class Run:
    """One run's file. The process that asks holds its lock; others may read meanwhile."""

    def __init__(self, database: Database, facts: RunFacts) -> None:
        self.facts: RunFacts = facts
        self._database = database

    @classmethod
    def create(
        cls,
        spec: Spec,
        questions: Sequence[Question],
        arms: Sequence[Arm],
        *,
        reference: int,
        source: str = "",
    ) -> "Run":
        """Create a run with these questions, in the order of the trials.

        Raises BadParameter if one holds a key: the file has each question as it is asked.
        """
        check_keyless(questions, spec)
        now = time.time()
        name = f"{time.strftime('%Y%m%d', time.gmtime(now))}-{secrets.token_hex(3)}"
        facts = RunFacts(
            run=name,
            started=now,
            spec=spec,
            arms=tuple(arms),
            reference=reference,
            data=digest(questions),
            past_gate=spec.past_gate,
            source=source,
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
        database, text = _RUNS.open(name)
        return cls(database, _parse_facts(text))

    def summarize(self) -> RunSummary:
        """Return the run as a list shows it."""
        facts = self.facts
        return RunSummary(
            facts.run,
            facts.started,
            self.state,
            tuple(dict.fromkeys(arm.model for arm in facts.arms)),
            self._database.rows("SELECT COUNT(*) FROM questions")[0][0],
            facts.source,
        )

    def change(self, **fields: Any) -> None:
        """Save changed facts of the run."""
        self.facts = msgspec.structs.replace(self.facts, **fields)
        self._set("facts", dump_json(self.facts))

    def add_questions(self, questions: Sequence[Question], changes: Sequence[PlanChange]) -> None:
        """Append questions to the pool, and what the bets aim at with them, both or neither.

        Those that are there keep their places.
        """
        check_keyless(questions, self.facts.spec)
        before, facts = self.questions(), self.facts
        facts = msgspec.structs.replace(
            facts,
            planned=len(before) if facts.planned is None else facts.planned,
            data=digest((*before, *questions)),
            changes=(*facts.changes, *changes),
            is_closed=False,
        )
        with self._database.transaction() as connection:
            rows = ((n, dump_json(each)) for n, each in enumerate(questions, len(before)))
            connection.executemany("INSERT INTO questions VALUES (?, ?)", rows)
            connection.execute(_FACT, ("facts", dump_json(facts)))
        self.facts = facts

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
        with self.hold_facts():
            self._set("state", "running")
            self._abandon(known=known)
            yield

    @contextmanager
    def hold_facts(self) -> Iterator[None]:
        """Hold the run's lock to change its facts, as they are now; raise UsageError."""
        busy = f"run {self.facts.run} is being asked by another process"
        with hold_lock(self._database.path, busy):
            (row,) = self._database.rows("SELECT value FROM facts WHERE name = 'facts'")
            self.facts = _parse_facts(row[0])  # another process may have changed them meanwhile
            yield

    @property
    def state(self) -> State:
        """Return whether it runs, was stopped, is done, or was interrupted."""
        known = dict(self._database.rows("SELECT name, value FROM facts WHERE name = 'state'"))
        state = known.get("state", "running")
        if state != "running":
            return "done" if state == "done" else "stopped"
        return "running" if is_locked(self._database.path) else "interrupted"

    @property
    def needs_budget(self) -> bool:
        """Return whether its budget stopped it: it continues only with a larger one."""
        known = dict(self._database.rows("SELECT name, value FROM facts WHERE name = 'state'"))
        return known.get("state") == _USED_UP

    def end(self, state: Literal["stopped", "done"], *, used_up: bool = False) -> None:
        """Save how the run ended; ``used_up``: its budget stopped it."""
        self._set("state", _USED_UP if used_up and state == "stopped" else state)

    def _set(self, name: str, value: str) -> None:
        self._database.rows(_FACT, (name, value))

    def _abandon(self, *, known: bool) -> None:
        sends = sends_path(self.facts.run)
        unsent = [(key,) for key in read_unsent(sends)]
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM flights WHERE key = ?", unsent)
            if not known:
                connection.execute(
                    "INSERT INTO losses SELECT key, bound FROM flights "
                    "WHERE key NOT IN (SELECT key FROM answers)"
                )
            connection.execute("DELETE FROM flights")
        sends.unlink(missing_ok=True)

    # -- the journal -------------------------------------------------------------------------------

    def begin(self, key: str, bound: Decimal | None) -> None:
        """Record that a trial is sent, and its maximum cost if that is known."""
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
            connection.execute("DELETE FROM flights WHERE key = ?", (settled.key,))
            if grade is not None:
                connection.execute(_GRADE, _grade_row(grade))

    def forget_errors(self) -> None:
        """Delete the errors of models and judge, so that they are tried again."""
        self.forget(self.failed)
        self.forget_ungraded(self.facts.spec.judge)

    def forget(self, keys: Sequence[str]) -> None:
        """Delete these answers and their grades, so that they are asked again."""
        rows = [(key,) for key in keys]
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM answers WHERE key = ?", rows)
            for row in rows:
                _forget_grades(connection, "key = ?", row)

    def forget_ungraded(self, judge: str) -> None:
        """Delete a judge's failures, so that it grades again."""
        with self._database.transaction() as connection:
            _forget_grades(connection, "judge = ? AND score IS NULL", (judge,))

    @property
    def failed(self) -> list[str]:
        """Return the keys of trials that ended with an error."""
        return [each.key for each in self.answers().values() if each.error is not None]

    @property
    def answered(self) -> int:
        """Return how many trials have an answer; those that failed have none."""
        return sum(each.error is None for each in self.answers().values())

    @property
    def spent(self) -> Decimal:
        """Return the cost of the answers that this run asked for, and of its judge."""
        asked = (each.cost for each in self.answers().values() if not each.reused)
        paid = sum((Decimal(cost) for cost in asked if cost), Decimal(0))
        judges = (*self.facts.former_judges, self.facts.spec.judge)
        return paid + sum(map(self.judge_cost, judges), Decimal(0))

    @property
    def lost(self) -> tuple[int, Decimal]:
        """Return how many lost attempts may have been charged, and their maximum cost."""
        rows = self._database.rows("SELECT bound FROM losses")
        return len(rows), sum((Decimal(bound) for (bound,) in rows), Decimal(0))

    def release(self) -> tuple[int, Decimal]:
        """Stop counting lost attempts against the budget; return what they were."""
        found = self.lost
        self._rows("DELETE FROM losses")
        return found

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
        with self._database.transaction() as connection:
            connection.execute(_GRADE, _grade_row(grade))
            connection.execute("DELETE FROM flights WHERE key = ?", (_grade_key(grade.key),))

    def lose_grade(self, key: str, bound: Decimal) -> None:
        """Record that a model's grade did not come and may have been charged."""
        self.lose(_grade_key(key), bound)

    def begin_grade(self, key: str, bound: Decimal) -> None:
        """Record that a model is asked for a grade, and its maximum cost."""
        self.begin(_grade_key(key), bound)

    def grades(self, judge: str) -> dict[tuple[str, str], float | None]:
        """Return a judge's scores by question and key; None for a failed grade."""
        sql = "SELECT question, key, score FROM grades WHERE judge = ?"
        return {(question, key): score for question, key, score in self._rows(sql, judge)}

    def grades_by(self, judge: str) -> dict[tuple[str, str], StoredGrade]:
        """Return a judge's grades by question and key."""
        sql = "SELECT question, key, judge, score, note, cost FROM grades WHERE judge = ?"
        return {(row[0], row[1]): StoredGrade(*row) for row in self._rows(sql, judge)}

    def judge_cost(self, judge: str) -> Decimal:
        """Return the cost of a judge's grades, also of labelled answers and of failed ones."""
        rows = self._rows("SELECT cost FROM grades WHERE judge = ? AND cost IS NOT NULL", judge)
        rows += self._rows("SELECT value FROM facts WHERE name = ?", _paid_fact(judge))
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


def _parse_facts(text: str) -> RunFacts:
    facts = load_json(text, dict[str, Json])
    facts["spec"] = rename_options(facts["spec"])
    return convert_json(facts, RunFacts)


def _grade_key(key: str) -> str:
    return f"judge {key}"


def _paid_fact(judge: str) -> str:
    return f"paid for forgotten grades of {judge}"


def _forget_grades(connection: sqlite3.Connection, where: str, values: tuple[str, ...]) -> None:
    """Delete grades, and keep what they cost: it stays spent."""
    costs = connection.execute(f"SELECT judge, cost FROM grades WHERE {where}", values).fetchall()  # noqa: S608 - our own words
    for judge, cost in costs:
        if cost is not None:
            name = _paid_fact(judge)
            before = connection.execute("SELECT value FROM facts WHERE name = ?", (name,))
            (known,) = before.fetchone() or ("0",)
            paid = str(Decimal(known) + Decimal(cost))
            connection.execute(_FACT, (name, paid))
    connection.execute(f"DELETE FROM grades WHERE {where}", values)  # noqa: S608 - our own words


def _grade_row(grade: StoredGrade) -> tuple[Any, ...]:
    clean = msgspec.structs.replace(grade, note=redact_secrets(grade.note))
    return msgspec.structs.astuple(clean)


def check_keyless(questions: Sequence[Question], spec: Spec) -> None:
    """Raise BadParameter if a question or an option holds a key: a run is saved on disk."""
    redactor = SecretRedactor()
    held = next((each for each in questions if redactor.finds(dump_json(each))), None)
    if held is None and not redactor.finds(dump_json(spec)):
        return
    what = "the sweep" if held is None else f"question {redactor.text(held.id)!r}"
    message = f"{what} holds a key, and a run is saved on disk; remove the key from it"
    raise BadParameter(message)

"""A level for each kind: shown by its own questions, else the reference, never the overall one."""

import asyncio

import pytest
from tests.sweep.runs import Scripted, answered, runner

from pondero.sweep.arms import arms_of
from pondero.sweep.questions import questions_of
from pondero.sweep.results.compute import compute_results
from pondero.sweep.results.kinds import undecidable_kinds
from pondero.sweep.run.run_plan import make_pool
from pondero.sweep.run.store import Run
from pondero.sweep.spec import spec_of

ARMS = arms_of(["claude-opus-5"], "low,high")


@pytest.fixture(autouse=True)
def _own_data(data_dir):
    return data_dir


def questions(count, kinds):
    """Sums of these kinds in turn; None is a question without one."""
    return questions_of(
        {
            "id": f"q{n}",
            "input": f"What is {n} * 23?",
            "target": str(n * 23),
            "metadata": {"kind": kind} if (kind := kinds[n % len(kinds)]) else {},
        }
        for n in range(2, count + 2)
    )


def run_of(count, kinds, **options):
    spec = spec_of(
        models=("claude-opus-5",), levels="low,high", judge="numeric", offline=True,
        past_gate=True, **options,
    )  # fmt: skip
    return Run.create(spec, questions(count, kinds), ARMS, reference=1)


def found(count, kinds, right, **options):
    """The results of a run in which ``right`` says which arm answers what rightly."""
    with run_of(count, kinds, **options) as run:
        asked = run.questions()

        def answer(ask):
            question = asked[ask.position]
            cost = ("0.001", "0.004")[ask.arm]
            return answered(ask, right(ask.arm, question), thinking=50 * (ask.arm + 1), cost=cost)

        asyncio.run(runner(run, Scripted(answer, ahead=4)).finish())
        return compute_results(run)


def number(question):
    return int(question.id[1:])


def test_a_kind_for_which_the_cheap_level_is_worse_keeps_the_reference():
    def right(arm, question):
        return arm == 1 or question.metadata["kind"] == "easy" or number(question) % 10 == 1

    results = found(400, ["easy", "easy", "easy", "hard"], right, margin=0.3, once=True)
    assert results.recommend().level == "low"
    kinds = {each.kind: (each.arm, each.is_shown) for each in results.kinds}
    assert kinds == {"easy": (0, True), "hard": (1, False)}
    (said,) = [line for line in results.lines() if line.startswith("kind") and "hard" in line]
    assert "hard (16): its questions do not show a cheaper level alone" in said
    assert any("'adopt --by-kind' gives high to them" in line for line in results.lines())


def test_the_number_of_a_kind_is_how_many_of_its_questions_were_compared():
    def right(arm, question):
        return arm == 1 or question.metadata["kind"] == "easy" or number(question) % 10 == 1

    results = found(400, ["easy"] * 3 + ["hard"], right, margin=0.3)
    easy, hard = ({each.kind: each for each in results.kinds}[name] for name in ("easy", "hard"))
    asked = [row.question.metadata["kind"] for row in results.rows if row.cells[0]]
    pilot = asked[: results.pilot]
    assert pilot.count("hard") < hard.units < asked.count("hard")
    assert easy.units + hard.units < results.arms[0].n
    assert f"hard ({hard.units})" in "\n".join(results.lines())


def test_a_kind_with_too_few_questions_keeps_the_reference_whatever_the_whole_recommends():
    results = found(240, ["most", "most", "most", "few"], lambda _arm, _question: True)
    assert results.recommend().level == "low"
    assert {each.kind: each.arm for each in results.kinds}["few"] == 1
    adopted = results.calibration("sums", by_kind=True)
    assert adopted.level == "low"
    assert adopted.kinds["few"].level == "high"


def test_kinds_that_cannot_be_decided_are_known_before_anything_is_asked():
    with run_of(240, ["most", "most", "most", "few"]) as run:
        pool = make_pool(run.facts, run.questions())
    assert undecidable_kinds(pool, 0.05) == {"few": 72}


def test_names_that_nobody_can_say_are_no_kinds():
    kinds = ["sums", "a/b", "", "sums", "x" * 80, "\x1b[2J", None, 7]
    results = found(160, kinds, lambda _arm, _question: True)
    assert [each.kind for each in results.kinds] == ["sums"]


def test_without_a_recommendation_for_all_there_is_none_for_a_kind():
    assert found(200, ["sums"], lambda _arm, _question: False).kinds == ()

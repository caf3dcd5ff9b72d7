"""Exports: a line for each answer, and logs that the real inspect_ai reads."""

import json
from collections import defaultdict
from decimal import Decimal
from statistics import fmean

import pytest
from tests.sweep.reports import EVIL, LEVELS, answered, results, sweep_of
from tests.sweep.runs import begun

from pondero.sweep import compute_results, inspect_logs, iter_jsonl, sweep


@pytest.fixture(autouse=True)
def _own_folder(data_dir):
    return data_dir


# -- lines -----------------------------------------------------------------------------------------


def test_there_is_one_line_for_each_answer_with_all_that_is_known_of_it():
    told = results(60)
    lines = [json.loads(line) for line in iter_jsonl(told)]
    settled = [a for row in told.rows for cell in row.cells if cell for a in cell.answers]
    assert len(lines) == len(settled) > 50
    assert len({(line["question"], line["arm"], line["repeat"]) for line in lines}) == len(lines)
    for line, answer in zip(lines, settled, strict=True):
        assert line["answer"] == answer.settled.text
        assert line["thinking_tokens"] == line["usage"]["thinking"] == answer.settled.usage.thinking
        assert line["cost"] == float(answer.settled.cost)
        assert line["seconds"] == answer.settled.seconds
        assert line["score"] == (answer.grade.score if answer.grade else 0.0)
    by_name = {arm.name: arm for arm in told.arms}
    assert all(line["fields"] == by_name[line["arm"]].fields for line in lines)
    assert {line["outcome"] for line in lines} >= {"right", "wrong", "refused", "exhausted"}
    assert any(EVIL in line["input"] for line in lines)


def test_the_lines_give_the_figures_of_the_table():
    told = sweep_of(60, levels="off,low,high", repeats=2)
    scores, costs = defaultdict(lambda: defaultdict(list)), Decimal(0)
    for line in map(json.loads, iter_jsonl(told)):
        scores[line["arm"]][line["question"]].append(line["score"])
        costs += Decimal(str(line["cost"]))
    assert float(costs) == pytest.approx(float(told.spent))
    whole = [arm for arm in told.arms if arm.n == len(scores[arm.name])]
    assert whole
    for arm in whole:
        means = [fmean(each) for each in scores[arm.name].values()]
        assert fmean(means) == pytest.approx(arm.accuracy)
        assert all(len(each) == 2 for each in scores[arm.name].values())


def test_what_failed_has_an_error_and_no_score():
    told = results(
        60, answer=lambda ask: answered(ask, error="503 busy" if not ask.position else None)
    )
    failed = [line for line in map(json.loads, iter_jsonl(told)) if line["outcome"] == "failed"]
    assert [line["error"] for line in failed] == ["503 busy"] * 3
    assert [line["score"] for line in failed] == [None] * 3


# -- inspect_ai ------------------------------------------------------------------------------------


@pytest.fixture
def read(tmp_path):
    inspect = pytest.importorskip("inspect_ai.log")

    def written(told):
        folder = tmp_path / "logs"
        folder.mkdir()
        for name, text in inspect_logs(told):
            (folder / name).write_text(text, "utf-8")
        found = inspect.list_eval_logs(str(folder))
        logs = [inspect.read_eval_log(each) for each in found]
        order = [arm.level for arm in told.arms]
        return sorted(logs, key=lambda log: order.index(log.eval.task_args["level"]))

    return written


def test_inspect_reads_a_log_for_each_arm(read):
    told = results(60)
    logs = read(told)
    assert [log.eval.task_args["level"] for log in logs] == list(LEVELS)
    assert [log.eval.model_generate_config.reasoning_effort for log in logs] == [
        "none",
        "low",
        "high",
    ]
    assert {log.eval.model for log in logs} == {"anthropic/claude-opus-5"}
    assert {log.status for log in logs} == {"success"}
    for number, log in enumerate(logs):
        cells = [row.cells[number] for row in told.rows if row.cells[number]]
        assert len(log.samples) == len(cells)
        assert log.eval.model_generate_config.extra_body == told.arms[number].fields
        assert log.eval.metadata["pondero"]["verdict"] == told.arms[number].verdict
        for sample, cell in zip(log.samples, cells, strict=True):
            (answer,) = cell.answers
            assert sample.output.completion == answer.settled.text
            usage = answer.settled.usage
            assert sample.output.usage.reasoning_tokens == usage.thinking
            assert sample.output.usage.output_tokens == usage.output + usage.thinking
            assert sample.output.usage.total_tokens == usage.known_total
            assert sample.messages[-1].text == answer.settled.text
            assert EVIL in sample.input


def test_inspects_own_sums_and_metrics_agree_with_what_the_log_says(read):
    from inspect_ai.scorer import value_to_float

    number = value_to_float()
    for log in read(results(60)):
        (score,) = log.results.scores
        values = [number(sample.scores["includes"].value) for sample in log.samples]
        assert score.metrics["accuracy"].value == pytest.approx(fmean(values))
        (total,) = log.stats.model_usage.values()
        assert total.reasoning_tokens == sum(s.output.usage.reasoning_tokens for s in log.samples)
        assert total.output_tokens == sum(s.output.usage.output_tokens for s in log.samples)
        assert total.total_cost == pytest.approx(
            sum(s.output.usage.total_cost for s in log.samples)
        )
        reasons = {sample.scores["includes"].reason for sample in log.samples}
        assert reasons <= {None, "refusal", "no_response"}


def test_repeats_are_epochs(read):
    told = sweep_of(30, repeats=3)
    for log in read(told):
        assert log.eval.config.epochs == 3
        assert sorted({sample.epoch for sample in log.samples}) == [1, 2, 3]
        epochs = defaultdict(list)
        for sample in log.samples:
            epochs[sample.id].append(sample.epoch)
        assert all(each == [1, 2, 3] for each in epochs.values())


def test_messages_stay_messages_and_choices_are_told(read):
    asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"},
             {"role": "user", "content": "2 * 3?"}]  # fmt: skip
    rows = [{"id": f"q{n}", "input": asked, "target": "B", "choices": ["5", "6"]} for n in range(3)]
    told = sweep(rows, "claude-opus-5", levels="low,high", judge="choice", offline=True)
    for log in read(told):
        sample = log.samples[0]
        assert [message.role for message in sample.input] == ["user", "assistant", "user"]
        assert sample.input[-1].text.startswith("2 * 3?\n\nA) 5\nB) 6")
        assert [message.role for message in sample.messages][-2:] == ["user", "assistant"]
        assert sample.choices == ["5", "6"]
        assert sample.target == "B"


def test_a_run_in_which_nothing_was_asked_exports_nothing():
    with begun(10) as run:
        told = compute_results(run)
    assert list(iter_jsonl(told)) == []
    assert list(inspect_logs(told)) == []


def test_an_error_is_a_samples_error_and_a_run_that_was_stopped_is_cancelled(read):
    told = results(60, answer=lambda ask: answered(ask, error="503 busy" if not ask.position else None),
                   finish=False)  # fmt: skip
    for log in read(told):
        assert log.status == "cancelled"
        (failed,) = [sample for sample in log.samples if sample.error]
        assert failed.error.message == "503 busy"
        assert failed.scores is None
        assert log.results.completed_samples == len(log.samples) - 1


def test_inspect_bundles_the_logs_for_its_viewer(read, tmp_path):
    from inspect_ai.log import bundle_log_dir

    read(sweep_of(30))
    out = tmp_path / "site"
    bundle_log_dir(log_dir=str(tmp_path / "logs"), output_dir=str(out))
    assert (out / "index.html").exists()
    assert len(list((out / "logs").glob("*pondero-sweep*.json"))) == 2

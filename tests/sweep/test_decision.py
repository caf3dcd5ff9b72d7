"""Decisions on other tools' scores: the formats, the order, missing answers, kinds and clusters."""

import csv
import io
import json
import zipfile
import zlib

import pytest

from pondero.errors import BadParameter
from pondero.sweep import decide
from pondero.sweep.score_files import ScoreRow


def rows(units, *, reference="high", arm="low", **more):
    """Scores whose difference is ``units``: + a gain, - a loss, 0 a tie."""
    for number, unit in enumerate(units):
        yield ScoreRow(f"q{number}", arm, float(unit != "-"), **more)
        yield ScoreRow(f"q{number}", reference, float(unit != "+"), **more)


def found(units, **options):
    return decide(list(rows(units)), order="file", **options)


def verdicts(decision):
    return {each.arm: each.verdict for each in decision.arms}


def test_ties_alone_are_enough_after_66_of_80_questions() -> None:
    decision = found("0" * 80, pilot=0)
    assert decision.recommended == "low"
    assert decision.arms[0].won_at == 66
    assert decision.arms[0].capital == pytest.approx(20.013078371935666, rel=1e-9)
    assert decision.arms[0].history[-1] == decision.arms[0].capital
    assert verdicts(decision) == {"low": "enough", "high": "reference"}


def test_a_plan_that_is_longer_than_the_file_waits_and_recommends_nothing() -> None:
    decision = found("0" * 40, pilot=0, pool=300)
    assert decision.recommended is None
    assert verdicts(decision)["low"] == "undecided"
    assert "of 20" in decision.arms[0].why


def test_the_reference_stays_when_the_whole_pool_shows_nothing() -> None:
    decision = found("0" * 40, pilot=0)
    assert decision.recommended == "high"
    assert verdicts(decision)["low"] in ("undecided", "given_up")


def test_a_hopeless_arm_is_given_up_by_the_pilot_and_never_called_worse() -> None:
    decision = found("-" * 20 + "0" * 100)
    assert verdicts(decision)["low"] == "given_up"
    assert (decision.arms[0].units, decision.arms[0].capital) == (20, 0)


def test_an_arm_is_called_worse_by_the_mirror() -> None:
    decision = found("0-" * 100, pilot=0)
    assert verdicts(decision)["low"] in ("worse", "given_up")
    late = list(rows("0" * 20 + "-" * 400))
    assert decide(late, order="file", pilot=0, pool=2_000).arms[0].verdict != "enough"


def test_a_missing_answer_counts_against_the_candidate_in_either_arm() -> None:
    lost = [ScoreRow("q0", "low", None), ScoreRow("q0", "high", 0.0)]
    also = [ScoreRow("q0", "low", 1.0), ScoreRow("q0", "high", None)]
    assert decide(lost, pilot=0).arms[0].difference == 0.0
    assert decide(also, pilot=0).arms[0].difference == 0.0
    both = [ScoreRow("q0", "low", None), ScoreRow("q0", "high", None)]
    assert decide(both, pilot=0).arms[0].difference == -1.0


def test_a_gap_waits_and_is_not_skipped() -> None:
    every = [row for row in rows("0" * 80) if (row.question, row.arm) != ("q30", "low")]
    decision = decide(every, order="file", pilot=0)
    assert decision.recommended is None
    assert decision.arms[0].units == 30


def test_the_cheapest_is_tried_first_and_the_dearest_is_the_reference() -> None:
    every = [
        ScoreRow(f"q{n}", arm, 1.0, cost)
        for n in range(100)
        for arm, cost in (("high", 3.0), ("off", 1.0), ("low", 2.0))
    ]
    decision = decide(every)
    assert decision.reference == "high"
    assert [each.arm for each in decision.arms] == ["off", "low", "high"]
    assert decision.recommended == "off"
    assert [each.units for each in decision.arms][1] == 20
    named = decide(every, reference="low")
    assert verdicts(named) == {"off": "enough", "low": "reference", "high": "undecided"}


def test_the_drawn_order_does_not_depend_on_the_order_of_the_file() -> None:
    every = list(rows("0-0+" * 30))
    one, other = decide(every, seed=3), decide(every[::-1], reference="high", seed=3)
    assert one.arms[0].history == other.arms[0].history
    assert decide(every, seed=4).arms[0].history != one.arms[0].history


def test_clusters_count_once_each() -> None:
    every = [
        ScoreRow(f"q{n}", arm, 1.0, None, None, f"page {n // 10}")
        for n in range(300)
        for arm in ("low", "high")
    ]
    assert decide(every, pilot=0).pool == 30
    assert decide(every, pilot=0).recommended == "high"  # 30 units cannot show it


def test_repeats_are_one_unit() -> None:
    every = [row for row in rows("0" * 30) for _ in range(3)]
    assert decide(every, pilot=0).pool == 30


def test_a_kind_without_evidence_of_its_own_gets_the_reference() -> None:
    many = list(rows("0" * 400, kind="easy"))
    few = [ScoreRow(f"h{n}", arm, 1.0, None, "hard") for n in range(20) for arm in ("low", "high")]
    decision = decide(many + few)
    assert decision.recommended == "low"
    assert {each.kind: (each.arm, each.is_shown) for each in decision.kinds} == {
        "easy": ("low", True),
        "hard": ("high", False),
    }


def test_a_reference_that_is_never_right_stops_the_decision() -> None:
    every = [ScoreRow(f"q{n}", arm, 0.0) for n in range(200) for arm in ("low", "high")]
    decision = decide(every)
    assert decision.is_stopped
    assert decision.recommended is None


# -- formats ---------------------------------------------------------------------------------------


def test_csv_and_jsonl_are_read_alike(tmp_path) -> None:
    every = list(rows("0" * 70 + "-" * 3))
    columns = ("question", "arm", "score", "kind")
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(columns)
    writer.writerows([row.question, row.arm, row.score, "sums"] for row in every)
    (tmp_path / "scores.csv").write_text(table.getvalue())
    lines = (
        json.dumps({"question": row.question, "arm": row.arm, "score": row.score, "kind": "sums"})
        for row in every
    )
    (tmp_path / "scores.jsonl").write_text("\n".join(lines))
    assert decide(tmp_path / "scores.csv") == decide(str(tmp_path / "scores.jsonl"))


def inspect_log(effort, values):
    samples = [
        {"id": n, "epoch": 1, "scores": {"match": {"value": value}}, "model_usage": {}}
        for n, value in enumerate(values)
    ]
    made = {"model": "openai/gpt-5.5", "model_generate_config": {"reasoning_effort": effort}}
    return {"version": 2, "status": "success", "eval": made, "samples": samples}


def test_inspect_logs_are_arms_by_their_effort(tmp_path) -> None:
    low, high = inspect_log("low", "C" * 99 + "I"), inspect_log("high", "C" * 100)
    low["samples"][5] |= {"error": {"message": "timed out"}, "scores": {}}
    (tmp_path / "low.json").write_text(json.dumps(low))
    with zipfile.ZipFile(tmp_path / "high.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        samples = high.pop("samples")
        archive.writestr("header.json", json.dumps(high))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    decision = decide([tmp_path / "low.json", tmp_path / "high.eval"], order="file", pilot=0)
    assert [each.arm for each in decision.arms] == ["openai/gpt-5.5/low", "openai/gpt-5.5/high"]
    assert decision.pool == 100


def write_zstd_log(path, log, damage=0):
    """Write a log as inspect_ai does from 0.3.200 on: every entry of the archive is zstd."""
    zstandard = pytest.importorskip("zstandard")
    texts = {"header.json": json.dumps({**log, "samples": None})}
    texts |= {f"samples/{each['id']}_epoch_1.json": json.dumps(each) for each in log["samples"]}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, zstandard.ZstdCompressor().compress(text.encode()))
            entry = archive.getinfo(name)  # the list at the end of the file says what it is
            entry.compress_type = 93
            entry.file_size, entry.CRC = len(text), zlib.crc32(text.encode()) ^ damage


def test_logs_that_are_compressed_with_zstd_are_read(tmp_path) -> None:
    write_zstd_log(tmp_path / "low.eval", inspect_log("low", "C" * 99 + "I"))
    write_zstd_log(tmp_path / "high.eval", inspect_log("high", "C" * 100))
    decision = decide([tmp_path / "low.eval", tmp_path / "high.eval"], order="file", pilot=0)
    assert [each.arm for each in decision.arms] == ["openai/gpt-5.5/low", "openai/gpt-5.5/high"]
    assert decision.pool == 100


def refuse(_archive, _entry):
    raise NotImplementedError("That compression method is not supported")


def test_without_zstandard_an_error_says_how_to_write_the_log(tmp_path, monkeypatch) -> None:
    write_zstd_log(tmp_path / "low.eval", inspect_log("low", "C"))
    monkeypatch.setattr("pondero.sweep.eval_archive.find_spec", lambda _: None)
    monkeypatch.setattr(zipfile.ZipFile, "read", refuse)  # inspect_ai teaches it zstd, if imported
    with pytest.raises(BadParameter, match="inspect eval --log-format json"):
        decide(tmp_path / "low.eval")


def test_a_damaged_log_is_no_log(tmp_path) -> None:
    path = tmp_path / "low.eval"
    write_zstd_log(path, inspect_log("low", "C"), damage=1)
    with pytest.raises(BadParameter, match=r"is not a log of inspect_ai: header\.json is damaged"):
        decide(path)
    path.write_bytes(path.read_bytes().replace(b"\x28\xb5\x2f\xfd", b"zstd"))
    with pytest.raises(BadParameter, match="is not a log of inspect_ai"):
        decide(path)


def test_promptfoo_results_are_arms_by_their_provider(tmp_path) -> None:
    results = [
        {
            "testIdx": n, "promptIdx": 0, "provider": {"id": "openai:gpt-5.5", "label": label},
            "score": 1, "success": True, "cost": cost, "failureReason": 0,
        }
        for n in range(100)
        for label, cost in (("high", 0.02), ("low", 0.001))
    ]  # fmt: skip
    results[0] |= {"failureReason": 2, "score": 0}
    path = tmp_path / "output.json"
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}))
    decision = decide(path, order="file", pilot=0)
    assert (decision.reference, decision.recommended) == ("high", "low")
    assert decision.arms[0].difference == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,arm,score\n1,low,1\n", "found 'id', 'arm', 'score'"),
        ("question,arm,score\n1,low,7\n", "not from 0 to 1"),
        ("question,arm,score\n1,low,1\n", "only one arm"),
        ("question,arm,score\n", "no scores"),
        ("question,arm,score,cost\n1,low,1,free\n", "not a number of dollars"),
    ],
)
def test_an_unfit_file_is_named_with_its_place(tmp_path, text, said) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(BadParameter, match=said):
        decide(path)


def test_an_unknown_reference_is_rejected() -> None:
    with pytest.raises(BadParameter, match="use one of low, high"):
        decide(list(rows("00")), reference="max")


# -- labels ----------------------------------------------------------------------------------------


def labelled(units, people, share=0.5):
    """Scores of ``units``, and people's word of every other question after the pilot."""
    every = round(1 / share)
    for at, row in enumerate(rows(units)):
        number = at // 2
        given = people(row) if number % every == 0 else None
        yield ScoreRow(row.question, row.arm, row.score, label=given)


def test_labels_correct_scores_that_favour_an_arm():
    units = "0" * 400
    fair = list(labelled(units, lambda row: row.score))
    decision = decide(fair, order="file", margin=0.1, label_share=0.5)
    assert decision.recommended == "low"
    assert decision.labelled == 190  # none of the pilot's 20
    assert decision.arms[0].difference == 0
    unfair = list(labelled(units, lambda row: float(row.arm == "high")))
    decision = decide(unfair, order="file", margin=0.1, label_share=0.5)
    assert verdicts(decision)["low"] != "enough"
    assert decision.arms[0].difference == pytest.approx(-1)  # on the scale of scores
    assert decision.margin == 0.1


def test_labels_of_no_drawn_share_can_only_forbid_a_recommendation():
    fair = list(labelled("0" * 100, lambda row: row.score))
    assert decide(fair, order="file").recommended == "low"
    unfair = list(labelled("0" * 100, lambda row: float(row.arm == "high")))
    decision = decide(unfair, order="file")
    assert decision.recommended is None
    assert decision.is_stopped
    assert "errs in 50 of 50 answers of low and in 0 of 50 of high" in decision.why


def test_labels_that_were_not_drawn_as_said_are_rejected():
    few = list(labelled("0" * 400, lambda row: row.score, share=0.1))
    with pytest.raises(BadParameter, match="which is not a draw of 50 %"):
        decide(few, label_share=0.5)
    one_arm = [
        ScoreRow(row.question, row.arm, row.score, label=row.label if row.arm == "low" else None)
        for row in labelled("0" * 400, lambda row: row.score)
    ]
    with pytest.raises(BadParameter, match="its answer of high has none"):
        decide(one_arm, label_share=0.5)
    with pytest.raises(BadParameter, match="invalid label_share"):
        decide(few, label_share=2)


def test_a_missing_answer_needs_no_label_and_counts_against_the_arm():
    made = [
        ScoreRow(row.question, row.arm, None, label=None)
        if row.arm == "low" and row.question == "q100"
        else row
        for row in labelled("0" * 400, lambda row: row.score)
    ]
    decision = decide(made, order="file", margin=0.1, label_share=0.5, pilot=0)
    assert decision.arms[0].difference == pytest.approx(-1 / decision.arms[0].units)

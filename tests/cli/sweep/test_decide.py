"""``sweep decide``, and what CI and later runs take from a sweep: exit codes, reuse, growth."""

import csv
import json
import shlex
from xml.etree import ElementTree as ET

import pytest
from tests.sweep.engines.test_batch import Paid, interrupt
from tests.sweep.engines.test_batch import engine as batch_engine
from tests.sweep.results.test_compute import ladder
from tests.sweep.runs import Scripted, answered, begun

from pondero.emulator import Emulator, ErrorProneResponder
from pondero.sweep import ENGINES, LiveEngine, Run, TrialResult, find_run


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir


@pytest.fixture
def scores(tmp_path):
    def written(units, name="scores.csv", **columns):
        path = tmp_path / name
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["question", "arm", "score", *columns])
            for number, unit in enumerate(units):
                writer.writerow([number, "low", int(unit != "-"), *columns.values()])
                writer.writerow([number, "high", int(unit != "+"), *columns.values()])
        return str(path)

    return written


def test_scores_of_another_tool_are_decided_with_the_promised_keys(call, scores):
    path = scores("0" * 80)
    code, out, _ = call(
        "sweep", "decide", path, "--margin", "5", "--order", "file", "--pilot", "0", "--json"
    )
    told = json.loads(out)
    assert code == 0
    assert told["recommended"] == "low"
    low, high = told["arms"]
    assert (low["verdict"], high["verdict"]) == ("enough", "reference")
    assert low["won_at"] == low["units"] == 66
    assert low["capital"] == pytest.approx(20.013078371935666, rel=1e-9)
    assert low["difference"] == 0


def test_the_exit_code_says_whether_it_is_decided(call, scores):
    assert call("sweep", "decide", scores("0" * 80))[0] == 0
    assert call("sweep", "decide", scores("-0" * 40))[0] == 0  # the reference stays
    assert call("sweep", "decide", scores("0" * 40), "--pool", "300")[0] == 1
    assert call("sweep", "decide", scores("0" * 200), "--expect", "low")[0] == 0
    assert call("sweep", "decide", scores("-0" * 40), "--expect", "low")[0] == 1
    assert call("sweep", "decide", scores("0"), "--expect", "max")[0] == 2


def test_a_reference_that_is_never_right_ends_with_3(call, tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"{n},{arm},0" for n in range(100) for arm in ("low", "high")]
    path.write_text("question,arm,score\n" + "\n".join(rows))
    code, out, _ = call("sweep", "decide", str(path))
    assert code == 3
    assert "the judge or the data does not fit" in out


@pytest.mark.parametrize(
    ("said", "margin"), [("5", 0.05), ("5%", 0.05), ("1", 0.01), ("1.5", 0.015), ("0.5%", 0.005)]
)
def test_a_margin_is_said_in_points(call, scores, said, margin):
    told = json.loads(call("sweep", "decide", scores("0" * 80), "--margin", said, "--json")[1])
    assert told["margin"] == pytest.approx(margin)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("0.5", "use 50 for the share 0.5, or 0.5% for 0.5 points"),
        ("0.05", "use 5 for the share 0.05, or 0.05% for 0.05 points"),
        ("0", "use points such as 5"),
        ("100", "use points such as 5"),
        ("half", "use points such as 5"),
    ],
)
def test_a_margin_that_could_be_a_share_or_points_is_rejected(call, scores, said, why):
    code, _, err = call("sweep", "decide", scores("0" * 80), "--margin", said)
    assert code == 2
    assert why in " ".join(err.split())


def test_one_point_is_said_in_the_singular(call, scores):
    out = call("sweep", "decide", scores("0" * 320), "--margin", "1")[1]
    assert "within 1 point of it\n" in out


# -- runs ------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path):
    def written(count=200, name="data.jsonl", first=0, target=lambda n: str(n * 23)):
        path = tmp_path / name
        rows = ({"id": f"q{n}", "input": f"What is {n} * 23?", "target": target(n)}
                for n in range(first, first + count))  # fmt: skip
        path.write_text("\n".join(map(json.dumps, rows)))
        return str(path)

    return written


def run(data, *more):
    return (
        *("sweep", "run", data, "-m", "claude-opus-5", "--levels", "low,high", "--yes"),
        *("--judge", "numeric", *more),
    )


@pytest.fixture
def written_answers(monkeypatch):
    """An engine whose answers are written down, in place of the emulator."""

    def chosen(*shares):
        made = Scripted(ladder(*shares, prices=(0.001, 0.004, 0.0005)))
        monkeypatch.setitem(ENGINES, "live", lambda _: made)
        return made

    return chosen


def test_the_gate_stops_a_run_with_3_and_shows_what_does_not_fit(call, data, written_answers):
    written_answers(0.9, 0.9)
    code, out, err = call(*run(data(), "--offline", "--json")[:-4], "--judge", "exact", "--offline")
    assert code == 3
    said = " ".join((out + err).split())
    assert said.count("the judge 'exact' or the data does not fit") == 1
    assert out.startswith("no result  anthropic:claude-opus-5/high, the reference,")
    assert out.count("answered 'it is ") == 3
    assert "', target '" in out
    assert "judges that accept one of these: includes, numeric" in out
    assert " --continue' only measures: nothing is recommended while this holds" in out
    assert call("sweep", "adopt", "last", "--as", "sums")[0] == 2


def test_a_gate_that_asks_on_a_terminal_is_not_repeated_by_the_results(
    call, data, written_answers, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    written_answers(0, 0)
    asked = [each for each in run(data()) if each != "--yes"]
    code, out, err = call(*asked, stdin="y\nn\n", tty=True)
    assert code == 3
    assert "does not fit" in err
    assert out.startswith("no result  stopped at the sanity gate, as said above\n")
    assert " --continue' only measures" in out


def test_requests_that_all_fail_end_with_3_and_the_error_and_nothing_is_adopted(
    call, data, monkeypatch
):
    down = Scripted(lambda ask: TrialResult(key=ask.key, finish="error", error="no network"))
    monkeypatch.setitem(ENGINES, "live", lambda _: down)
    code, out, _ = call(*run(data(), "--offline", "--continue"))
    assert code == 3
    assert out.startswith("no result  every request failed, 40 of 40: no network; 'pondero sweep ")
    assert len(down.asked) == 40
    assert "-100.0" not in out
    assert "given up" not in out
    with Run.open(find_run("last")) as found:
        assert found.answered == 0
    assert "stopped" in call("sweep", "list")[1]
    for level in ((), ("--level", "high")):
        code, _, err = call("sweep", "adopt", "last", "--as", "fake", *level)
        assert code == 2
    assert "nothing was measured" in err


def test_too_few_questions_stop_it_before_anything_is_asked(call, data, written_answers):
    engine = written_answers(0.9, 0.9)
    code, _, err = call(*run(data(40), "--offline"))
    assert code == 3
    assert err.count("59 are the least") == 1
    assert "the smallest margin for 40 is 8 points" in err
    assert "--continue only measures: nothing is recommended while this holds" in err
    assert "no run was begun" not in err
    assert engine.asked == []


def test_too_few_questions_recommend_nothing_though_it_continues(call, data, written_answers):
    written_answers(0.9, 0.9)
    code, out, _ = call(*run(data(40), "--offline", "--continue", "--json"))
    told = json.loads(out)
    assert (code, told["recommended"]) == (3, None)
    assert [each["condition"] for each in told["gate"]] == ["few"]
    assert told["asked"] > 20
    assert call("sweep", "adopt", "last", "--as", "few")[0] == 2


def test_a_large_outline_says_that_it_computes_and_ctrl_c_that_no_run_was_begun(
    call, data, monkeypatch
):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pondero.sweep.outline.foresee", interrupt)
    code, _, err = call(*run(data(1000), "--offline"))
    assert code == 130
    assert "computing the chance that these questions decide" in err
    assert "no run was begun: nothing was sent" in err
    assert "computing" not in call(*run(data(200), "--offline"))[2]


def test_a_large_run_says_that_it_computes_its_forecast_and_its_results(
    call, data, written_answers, monkeypatch
):
    written_answers(0.9, 0.9)
    monkeypatch.setattr("pondero.cli.sweep.summary._LARGE", 100)
    _, _, err = call(*run(data(100), "--offline"))
    said = [line for line in err.splitlines() if line.startswith("computing ")]
    assert said == [
        "computing the chance that these questions decide, for some seconds",
        "computing the forecast, for some seconds",
        "computing the results, for some seconds",
    ]


def test_a_run_that_was_not_begun_says_which_is_the_last(call, data, written_answers):
    written_answers(0.9, 0.9)
    call(*run(data(), "--offline"))
    (made,) = json.loads(call("sweep", "list", "--json")[1])["runs"]
    err = call(*run(data(20), "--offline"))[2]
    assert f"no run was begun: 'last' is still {made['run']}" in err
    assert made["recommended"] == "anthropic:claude-opus-5/low"
    adopted = call("sweep", "adopt", "last", "--as", "sums")[1]
    assert f"it comes from run {made['run']} of data.jsonl" in adopted


def test_few_questions_that_show_something_were_enough(call, data, monkeypatch):
    gains = Scripted(lambda ask: answered(ask, ask.arm == 0 or ask.position % 2))
    monkeypatch.setitem(ENGINES, "live", lambda _: gains)
    code, out, _ = call(*run(data(50), "--offline", "--continue", "--json"))
    told = json.loads(out)
    assert (code, told["gate"]) == (0, [])
    assert told["recommended"] == "anthropic:claude-opus-5/low"


def test_questions_that_are_added_are_no_longer_too_few(call, data, written_answers):
    written_answers(0.9, 0.9)
    call(*run(data(40), "--offline", "--continue"))
    more = data(40, "more.jsonl", first=40)
    _, out, err = call("sweep", "extend", "last", more, "--yes", "--json")
    assert json.loads(out)["gate"] == []
    assert "too few" not in err


def test_what_the_user_continues_past_is_named_beside_the_recommendation(
    call, data, written_answers
):
    written_answers(0.99, 1)
    code, out, _ = call(*run(data(), "--offline"))
    assert code == 3
    assert "--continue' runs it anyway; no answer is asked for again" in out
    code, out, _ = call(*run(data(), "--offline", "--continue"))
    assert code == 0
    assert "caution    anthropic:claude-opus-5/high, the reference, is right in 100 %" in out
    assert "low in 9" in out
    assert (
        "the sanity gate: anthropic:claude-opus-5/high"
        in call("sweep", "adopt", "last", "--as", "easy")[1]
    )


def test_an_expected_level_that_is_not_shown_ends_with_1(call, data, written_answers, tmp_path):
    written_answers(0.9, 0.9)
    assert call(*run(data(), "--offline", "--expect", "low"))[0] == 0
    junit = tmp_path / "junit.xml"
    assert call("sweep", "export", "last", "--junit", str(junit), "--expect", "low")[0] == 0
    assert ET.parse(junit).getroot().get("failures") == "0"
    written_answers(0.3, 0.9)
    code, _, err = call(*run(data(), "--offline", "--expect", "low"))
    assert (code, err.splitlines()[-1]) == (1, "expected low: not shown to be enough (given up)")
    assert call("sweep", "show", "last", "--expect", "low")[0] == 1
    call("sweep", "export", "last", "--junit", str(junit), "--expect", "low", "--force")
    assert ET.parse(junit).getroot().get("failures") == "1"


def test_an_expected_level_that_cannot_be_shown_is_rejected_before_anything_is_asked(
    call, data, written_answers, tmp_path
):
    engine = written_answers(0.9, 0.9)
    for level, says in (("hihg", "is no arm of this sweep"), ("high", "is the reference")):
        code, _, err = call(*run(data(), "--offline", "--expect", level))
        assert code == 2
        assert f"--expect {level!r} {says}; use one of anthropic:claude-opus-5/low" in err
    assert engine.asked == []
    code, _, err = call(*run(data(), "--offline", "--expect", "low"))
    assert (code, err.splitlines()[-1]) == (0, "expected low: shown to be enough")
    assert call("sweep", "show", "last", "--expect", "hihg")[0] == 2
    assert call("sweep", "resume", "last", "--expect", "hihg")[0] == 2
    asked = len(engine.asked)
    code, _, err = call("sweep", "resume", "last", "--budget", "30")
    assert (code, len(engine.asked)) == (0, asked)
    assert "decided already: no question is asked" in err
    junit = str(tmp_path / "junit.xml")
    assert call("sweep", "export", "last", "--junit", junit, "--expect", "hihg")[0] == 2


def test_the_scores_of_a_run_are_decided_alike(call, data, written_answers, tmp_path):
    written_answers(0.9, 0.9)
    first = json.loads(call(*run(data(), "--offline", "--json"))[1])
    path = tmp_path / "scores.csv"
    err = call("sweep", "export", "last", "--csv", str(path))[2]
    _, _, command = err.partition("to decide them as the run did: pondero ")
    told = json.loads(call(*shlex.split(command), "--json")[1])
    assert told["saving"] == pytest.approx(first["saving"])
    words = call(*shlex.split(command))[1]
    assert "a decision says this wrongly at most once in 20\nsaves     75 % of the cost" in words
    assert told["recommended"] == first["recommended"]
    assert told["arms"][0]["capital"] == pytest.approx(first["arms"][0]["capital"])
    assert told["arms"][0]["won_at"] == first["arms"][0]["won_at"]


def test_a_run_is_extended_decided_now_and_given_another_arm(call, data, written_answers):
    written_answers(0.9, 0.9, 0.9)
    code, out, _ = call(*run(data(70), "--offline", "--json"))
    assert code == 0
    assert json.loads(out)["arms"][0]["verdict"] == "undecided"
    code, out, _ = call("sweep", "extend", "last", data(200, "more.jsonl", 500), "--json")
    assert code == 0
    told = json.loads(out)
    assert told["recommended"] == "anthropic:claude-opus-5/low"
    assert told["pool"] == 270
    assert call("sweep", "extend", "last", data(200, "more.jsonl", 500))[0] == 2
    told = json.loads(call("sweep", "add-arm", "last", "claude-opus-5/off", "--json")[1])
    assert told["recommended"] == "anthropic:claude-opus-5/off"
    assert call("sweep", "add-arm", "last", "claude-opus-5/off")[0] == 2


def test_decide_now_ends_an_undecided_run_with_the_reference(call, data, written_answers):
    written_answers(0.9, 0.9)
    capped = ("--offline", "--json", "--budget", "0.3", "--max-tokens", "60")
    code, out, err = call(*run(data(), *capped))
    told = json.loads(out)
    assert (code, told["recommended"]) == (1, None)
    assert "of --budget are spent" in err
    assert [each["difference"] for each in told["forecasts"]] == [0.0, -0.025]
    code, out, _ = call("sweep", "decide-now", "last", "--json")
    assert (code, json.loads(out)["recommended"]) == (0, "anthropic:claude-opus-5/high")
    code, out, _ = call("sweep", "resume", "last", "--budget", "30", "--json")
    assert (code, json.loads(out)["recommended"]) == (0, "anthropic:claude-opus-5/low")


def test_what_was_lost_is_told_apart_and_can_be_released(call, data, written_answers):
    from decimal import Decimal

    written_answers(0.9, 0.9)
    call(*run(data(), "--offline", "--budget", "30", "--max-tokens", "60"))
    with Run.open(json.loads(call("sweep", "show", "last", "--json")[1])["run"]) as made:
        made.lose("a key", Decimal("0.25"))
    told = json.loads(call("sweep", "show", "last", "--json")[1])
    assert told["lost"] == 0.25
    assert "released $0.2500 of 1 lost" in call("sweep", "release", "last")[1]
    assert json.loads(call("sweep", "show", "last", "--json")[1])["lost"] == 0


@pytest.fixture
def open_batch(monkeypatch):
    """A run that was stopped while its 40 requests were in a batch, and the batch's service."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    service = Paid(after=10_000)
    monkeypatch.setitem(ENGINES, "batch", lambda _: batch_engine(service))
    options = {"once": True, "pilot": 0, "budget": 50.0, "max_tokens": 1000, "engine": "batch"}
    with begun(20, margin=0.2, **options) as made:
        assert interrupt(made, service).budget.flights == 40
        yield made, service


def test_decide_now_counts_no_open_batch_as_lost(call, open_batch):
    made, service = open_batch
    code, out, _ = call("sweep", "decide-now", made.facts.run, "--json")
    assert (code, json.loads(out)["lost"]) == (0, 0)
    service.after = 0  # it is answered now
    told = json.loads(call("sweep", "resume", made.facts.run, "--budget", "60", "--json")[1])
    assert (told["asked"], told["lost"]) == (40, 0)
    assert len(service.creates) == 1


def test_release_leaves_an_open_batch_alone(call, open_batch):
    made, service = open_batch
    assert "released $0.00 of 0 lost" in call("sweep", "release", made.facts.run)[1]
    service.after = 0
    told = json.loads(call("sweep", "resume", made.facts.run, "--yes", "--json")[1])
    assert (told["asked"], told["lost"]) == (40, 0)
    assert len(service.creates) == 1


def test_a_later_run_reuses_answers_unless_told_to_ask_again(call, data, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    emulator = Emulator(responder=ErrorProneResponder())
    monkeypatch.setitem(
        ENGINES, "live", lambda _: LiveEngine(transport=lambda _: emulator, stream=False)
    )
    asked = run(data(100), "--json", "--continue")
    first = json.loads(call(*asked)[1])
    sent = len(emulator.log.entries)
    assert (first["asked"], first["reused"]) == (sent, 0)
    again = json.loads(call(*asked)[1])
    assert len(emulator.log.entries) == sent
    assert (again["asked"], again["spent"]) == (0, 0)
    assert again["reused"] >= 2 * again["arms"][0]["units"]
    assert again["arms"][0]["capital"] == first["arms"][0]["capital"]
    fresh = json.loads(call(*asked, "--fresh")[1])
    assert fresh["reused"] == 0
    assert len(emulator.log.entries) > sent


# -- labels ----------------------------------------------------------------------------------------


def test_people_label_the_drawn_answers_and_the_bets_continue(
    call, data, written_answers, tmp_path
):
    written_answers(0.9, 0.9)
    path = tmp_path / "labels.csv"
    asked = run(data(300), "--offline", "--margin", "20", "--label-share", "0.5")
    code, out, _ = call(*asked)
    assert code == 1
    assert "answers wait to be labelled" in out
    assert "pondero sweep label" in out
    code, _, err = call("sweep", "export", "last", "--labels", str(path))
    assert code == 0
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert f"wrote {len(rows)} answers to label to {path}" in err
    assert list(rows[0]) == ["question", "arm", "repeat", "input", "target", "answer", "right"]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "right": row["target"] == row["answer"].split()[-1]})
    code, out, err = call("sweep", "label", "last", str(path), "--json")
    told = json.loads(out)
    assert (code, told["recommended"]) == (0, "anthropic:claude-opus-5/low")
    assert f"saved {len(rows)} labels" in err
    assert told["labels"] == {"share": 0.5, "given": len(rows), "wanted": 0}
    rest = tmp_path / "rest.csv"
    code, _, err = call("sweep", "export", "last", "--labels", str(rest))
    assert (code, rest.exists()) == (2, False)
    assert "no answer waits for a label" in err
    # The scores and labels of the run are decided alike.
    table = tmp_path / "scores.csv"
    call("sweep", "export", "last", "--csv", str(table))
    decide = ("sweep", "decide", str(table), "--order", "file", "--margin", "20", "--json")
    again = json.loads(call(*decide, "--label-share", "0.5", "--pool", "300")[1])
    assert again["arms"][0]["capital"] == pytest.approx(told["arms"][0]["capital"])
    assert again["arms"][0]["difference"] == pytest.approx(told["arms"][0]["difference"])


def test_labels_that_show_an_unfair_judge_end_with_3(call, tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"{n},{arm},{int(n % 9 > 0)},{int(arm == 'high' and n % 9 > 0)}" for n in range(200)
            for arm in ("low", "high")]  # fmt: skip
    path.write_text("question,arm,score,label\n" + "\n".join(rows))
    code, out, _ = call("sweep", "decide", str(path))
    assert code == 3
    assert "so it favours one" in out


def test_questions_without_ids_extend_a_run_and_those_it_has_are_skipped(
    call, tmp_path, written_answers
):
    written_answers(0.9, 0.9)

    def write(name, first, count):
        path = tmp_path / name
        rows = ({"question": f"What is {n} * 23?", "answer": str(n * 23)}
                for n in range(first, first + count))  # fmt: skip
        path.write_text("\n".join(map(json.dumps, rows)))
        return str(path)

    assert call(*run(write("first.jsonl", 100, 70), "--offline"))[0] == 0
    code, _, err = call("sweep", "extend", "last", write("more.jsonl", 150, 100))
    assert code == 0
    assert "added 80 questions" in err  # 150 to 169 are there
    with Run.open(json.loads(call("sweep", "show", "last", "--json")[1])["run"]) as found:
        assert len({each.id for each in found.questions()}) == 150
    code, _, err = call("sweep", "extend", "last", str(tmp_path / "more.jsonl"))
    assert code == 2

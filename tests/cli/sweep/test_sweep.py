"""``pondero sweep``: what it says before it spends, what it finds, and how it is interrupted."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from decimal import Decimal

import pytest
from tests.batch.services import Messages, Service
from tests.cli.sweep.conftest import sums
from tests.sweep.runs import begun

from pondero.cli.sweep import run_loop as module
from pondero.emulator import Emulator, ErrorProneResponder
from pondero.sweep import (
    BatchEngine,
    LiveEngine,
    Run,
    Runner,
    list_runs,
    make_engine,
    make_judge,
)

FIELDS = {"arm", "model", "levels", "fields", "n", "accuracy", "low", "high", "thinking_tokens",
          "cost", "seconds", "verdict", "won_at", "capital", "units", "difference"}  # fmt: skip


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir


# -- before it spends ------------------------------------------------------------------------------


def test_a_short_name_says_which_model_it_means(call, questions):
    asked = (
        "sweep",
        "run",
        questions(),
        "-m",
        "flash/low",
        "-m",
        "flash/high",
        "--judge",
        "numeric",
    )
    _, out, _ = call(*asked, "--dry-run")
    assert out.count("flash is google:gemini-") == 1
    assert "the newest gemini-flash in the catalog" in out


def test_a_dry_run_shows_the_arms_first_and_asks_nothing(call, questions):
    code, out, _ = call(*sums(questions, "--dry-run"))
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "minimal and low send the same to anthropic:claude-opus-5: one arm"
    assert "anthropic:claude-opus-5/max     the reference" in lines
    assert "59 are the least; the smallest margin for 40 is 8 points" in out
    assert "240 answers at most: 6 arms" in out
    assert call("sweep", "list", "--json")[1].strip() == json.dumps({"runs": []}, indent=2)


def test_the_chance_of_one_test_at_the_end_is_its_own(call, questions):
    said = ("--dry-run", "--levels", "low,high", "--margin", "15")
    assert "points worse is 11 % if it is equal" in call(*sums(questions, *said, count=20))[1]
    once = call(*sums(questions, *said, "--once", count=20))[1]
    assert "points worse is 46 % if it is equal" in once


def test_a_dry_runs_json_has_the_arms(call, questions):
    code, out, _ = call(*sums(questions, "--dry-run", "--json", "--levels", "low,high"))
    told = json.loads(out)
    assert code == 0
    assert list(told) == ["run", "recommended", "why", "max_cost", "arms"]
    assert 0 < told["max_cost"]["pilot"] < told["max_cost"]["all"]
    assert told["run"] is None
    assert all(arm.keys() >= FIELDS for arm in told["arms"])
    assert [arm["levels"] for arm in told["arms"]] == [["low"], ["high"]]
    assert told["arms"][0]["fields"]["output_config"] == {"effort": "low"}
    assert [arm["verdict"] for arm in told["arms"]] == ["undecided", "reference"]


def test_a_dry_run_says_the_most_that_it_can_cost_and_why(call, questions):
    said = ("--dry-run", "--levels", "low,high")
    out = call(*sums(questions, *said, count=80))[1]
    costs = (
        r"it costs \$(\S+) at most, the pilot of 20 questions \$(\S+), if every answer has 128,000"
    )
    whole, pilot = map(float, re.search(costs, out).groups())
    assert whole / pilot == pytest.approx(4, rel=0.01)
    assert "128,000 tokens; --max-tokens lowers it" in out
    limited = call(*sums(questions, *said, "--max-tokens", "8000", "--budget", "20", count=80))[1]
    assert "if every answer has 8,000 tokens; --budget stops at $20.00" in limited
    assert "what an answer costs on average is known after the pilot" in limited


def test_money_is_spent_only_after_a_yes(call, questions, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    code, _, err = call(*sums(questions, count=80))
    assert code == 2
    assert "no terminal to ask on: begin with a pilot of 20 questions" in err
    assert "at most? Add --yes to confirm" in err
    assert json.loads(call("sweep", "list", "--json")[1]) == {"runs": []}


def test_a_missing_key_is_found_before_there_is_a_run(call, questions):
    code, _, err = call(*sums(questions, "--yes", count=80))
    assert code == 2
    assert "ANTHROPIC_API_KEY" in err
    code, _, err = call(*sums(questions, count=80), stdin="y\n", tty=True)
    assert code == 2
    assert "begin with a pilot" not in err  # what cannot begin is not asked about
    assert json.loads(call("sweep", "list", "--json")[1]) == {"runs": []}


@pytest.fixture
def paid(monkeypatch):
    """An engine that takes itself for a real one: the emulator, with a key."""
    from pondero.sweep import ENGINES

    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    emulator = Emulator()
    engine = LiveEngine(transport=lambda _: emulator, stream=False)
    monkeypatch.setitem(ENGINES, "live", lambda _: engine)
    return emulator


def test_you_are_asked_before_the_pilot_and_after_it(call, questions, paid):
    asked = sums(questions, "--levels", "low,high", "--continue", count=100)
    code, out, err = call(*asked, stdin="y\ny\n", tty=True)
    assert code == 0
    assert "begin with a pilot of 20 questions to every arm, $1" in err
    assert "if low is equal to the reference, the chance that the pool shows it to be enough" in err
    assert "if low is 2.5 points worse, the chance that the pool shows it to be enough" in err
    assert "recommend  anthropic:claude-opus-5/low" in out


def test_you_are_asked_after_the_pilot_where_no_price_is_known(call, questions, paid):
    asked = (
        "sweep",
        "run",
        questions(80),
        "-m",
        "ollama:qwen3",
        "--judge",
        "numeric",
        "--allow-unpriced",
    )
    code, _, err = call(*asked, "--levels", "off,high", "--continue", stdin="y\nn\n", tty=True)
    assert code == 1
    assert "if off is equal to the reference, the chance that the pool shows it to be enough" in err
    assert len(paid.log.entries) == 40


def test_what_a_judge_costs_is_said_before_it_is_asked(call, questions):
    judged = (*sums(questions, "--dry-run", "--budget", "50")[:-5], "--judge", "model:gpt-5.5")
    code, out, _ = call(*judged, "--dry-run", "--budget", "50")
    assert code == 0
    assert "gpt-5.5 judges each answer; that is paid too and counts against --budget" in out


def test_a_judge_is_shown_with_three_graded_answers_before_anything_is_spent(call, questions, paid):
    code, _, err = call(*sums(questions, count=100), stdin="n\n", tty=True)
    assert code == 1
    assert not paid.log.entries
    block = err.partition("judge numeric, checked on answers made from the targets:\n")[2]
    first, second, third = (line.strip() for line in block.splitlines()[:3])
    assert first.startswith("right: '")
    assert second.startswith("right: 'The answer is ")
    assert third.startswith("wrong: '")


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ("model:claude-opus-5", "it asks a model, so it is not tried before"),
        ("regex", "a target is no answer to it, so try one with 'pondero sweep grade'"),
    ],
)
def test_a_judge_that_cannot_be_tried_for_free_says_so(call, questions, paid, judge, why):
    asked = (*sums(questions, count=100)[:-1], judge)
    _, _, err = call(*asked, stdin="n\n", tty=True)
    assert f"judge {judge}: {why}" in err
    assert not paid.log.entries


def test_a_judge_without_a_key_is_found_before_there_is_a_run(call, questions, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    asked = ("sweep", "run", questions(80), "-m", "claude-opus-5", "--judge", "model:gpt-5.5")
    code, _, err = call(*asked, "--yes")
    assert code == 2
    assert "OPENAI_API_KEY" in err
    assert json.loads(call("sweep", "list", "--json")[1]) == {"runs": []}


@pytest.mark.parametrize(("answers", "sent"), [("n\n", 0), ("y\nn\n", 40)])
def test_a_no_ends_it_and_nothing_more_is_sent(call, questions, paid, answers, sent):
    asked = sums(questions, "--levels", "low,high", "--continue", count=80)
    code, out, err = call(*asked, stdin=answers, tty=True)
    assert code == 1
    assert "interrupted" not in err
    if sent:
        assert "undecided  not decided yet; 'pondero sweep resume " in out
    else:
        assert "no run was begun" in err
    assert len(paid.log.entries) == sent
    states = [each["state"] for each in json.loads(call("sweep", "list", "--json")[1])["runs"]]
    assert states == (["stopped"] if sent else [])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-m", "ollama:qwen3"), "no price is known for ollama:qwen3; use --allow-unpriced"),
        (("-m", "claude-opus-5", "--budget", "0.5"), "may cost $3.2"),
        (
            ("-m", "claude-opus-5", "--policy", "budgets=fixed"),
            "no such option '--policy'; set it with 'pondero config set policy.NAME VALUE'",
        ),
        (("-m", "claude-opus-5", "--margin", "500"), "'500' is not a margin"),
        (("-m", "claude-opus-5", "--repeats", "0"), "invalid repeats=0"),
        (("-m", "claude-opus-5", "--judge", "nonsense"), "unknown judge 'nonsense'"),
        (("-m", "claude-opus-5", "--judge", "numerc"), "did you mean 'numeric'?"),
        (("-m", "claude-opus-5", "--reference", "huge"), "'huge' is not an arm"),
        (("-m", "claude-opus-5", "--cluster", "page"), "no question has the metadata 'page'"),
        (
            ("-m", "claude-opus-5", "--engine", "steam", "--yes", "--continue"),
            "unknown engine 'steam'; use live",
        ),
        (("-m", "claude-opus-5", "--offline", "--judge", "model:gpt-5"), "emulator cannot judge"),
        (("-m", "claude-opus-5", "--judge", "model:ollama:qwen3"), "no price is known for ollama"),
        (("-m", "claude-opus-5", "--judge", "choice"), "has no choices"),
        (("-m", "claude-opus-5", "--system", "\udcff"), "invalid system='\\udcff'"),
        ((), "a sweep needs a model"),
        (("-m", "no-such-model"), "no-such-model"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(call, questions, options, says):
    code, _, err = call("sweep", "run", questions(), *options)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


def test_a_model_without_a_price_may_be_asked_all_the_same(call, questions):
    code, out, _ = call(
        "sweep", "run", questions(), "-m", "ollama:qwen3", "--allow-unpriced", "--dry-run"
    )
    assert code == 0
    assert "ollama:qwen3/max" in out


# -- offline ---------------------------------------------------------------------------------------


def test_an_offline_sweep_shows_a_real_curve_and_its_json(call, questions):
    code, out, err = call(
        *sums(questions, "--offline", "--json", "--levels", "off,low,max", "--continue", count=80)
    )
    told = json.loads(out)
    assert code == 0
    assert all(arm.keys() >= FIELDS for arm in told["arms"])
    assert {"recommended", "asked", "reused", "spent", "lost"} <= told.keys()
    shares = [arm["accuracy"] for arm in told["arms"]]
    assert shares == sorted(shares)
    assert shares[0] < 0.7
    assert shares[2] > 0.9
    assert told["recommended"] == "anthropic:claude-opus-5/max"
    assert told["why"] == "no cheaper level is shown to be within 5 points of it"
    assert f"run {told['run']}" in err
    shown = call("sweep", "show", "last", "--json")
    assert json.loads(shown[1]) == told
    listed = json.loads(call("sweep", "list", "--json")[1])["runs"]
    keys = ["run", "started", "state", "models", "questions", "source", "recommended"]
    assert [list(each) for each in listed] == [keys]
    assert listed[0]["models"] == ["anthropic:claude-opus-5"]
    line = call("sweep", "list")[1]
    assert f"done         {told['recommended']}" in line
    assert line.endswith(f"{listed[0]['questions']} of {listed[0]['source']}\n")
    assert listed[0]["source"].endswith(".jsonl")
    assert listed[0]["run"] == told["run"]
    assert listed[0]["state"] == "done"


def test_the_same_seed_finds_the_same(call, questions):
    runs = [
        json.loads(
            call(*sums(questions, "--offline", "--json", "--levels", "low,max", "--continue"))[1]
        )
        for _ in range(2)
    ]
    same = [[(arm["n"], arm["accuracy"]) for arm in each["arms"]] for each in runs]
    assert same[0] == same[1]


def test_a_table_says_what_is_recommended(call, questions):
    _, out, _ = call(*sums(questions, "--offline", "--levels", "low,max", "--continue", count=80))
    assert out.startswith("recommend  anthropic:claude-opus-5/max stays\nreason     ")
    assert "\n\narm " in out
    assert "offline, nothing was paid" in out


def test_a_file_says_it_all(call, questions, tmp_path):
    questions()
    file = tmp_path / "SWEEP.toml"
    file.write_text(
        'data = "data.jsonl"\nmodels = ["gpt-5.5"]\nlevels = "low,high"\njudge = "numeric"\n'
        "offline = true\n"
    )
    asked = ("sweep", "run", str(file), "--json", "--levels", "off,high", "--continue")
    told = json.loads(call(*asked)[1])
    assert [arm["levels"] for arm in told["arms"]] == [["off"], ["high"]]
    file.write_text('data = "data.jsonl"\nmodel = "gpt-5.5"\n')
    assert "unknown key 'model'" in call("sweep", "run", str(file))[2]


def test_a_run_is_judged_anew_and_keeps_its_own_judge(call, questions):
    first = json.loads(
        call(*sums(questions, "--offline", "--json", "--levels", "low,max", "--continue"))[1]
    )
    code, out, _ = call("sweep", "judge", "last", "--judge", "regex:=", "--json")
    assert code == 0
    assert [arm["accuracy"] for arm in json.loads(out)["arms"]] == [1, 1]
    assert json.loads(call("sweep", "show", "last", "--json")[1]) == first
    again = call("sweep", "show", "last", "--judge", "regex:=", "--json")
    assert json.loads(again[1]) == json.loads(out)


def test_a_run_that_is_unknown_is_said(call):
    code, _, err = call("sweep", "show", "nonsense")
    assert code == 2
    assert "there is no run 'nonsense'" in err


def test_resume_goes_on_where_it_stopped(call, questions):
    call(*sums(questions, "--offline", "--levels", "low,high", count=60))
    with begun(60) as run:
        driver = Runner(run, make_engine(run.facts.spec), make_judge("numeric"))
        asyncio.run(driver.pilot())
        assert len(run.answers()) == 30
    code, out, _ = call("sweep", "resume", run.facts.run, "--json")
    assert code == 0
    assert json.loads(out)["arms"][0]["n"] >= 15


# -- while it runs ---------------------------------------------------------------------------------


class Slow:
    """A transport that answers when it is let, and presses Ctrl-C once so many are waiting."""

    needs_key = False

    def __init__(self, presses, waiting):
        self.emulator, self.left = Emulator(responder=ErrorProneResponder()), presses
        self.waiting, self.flying = waiting, 0
        self.gate = asyncio.Event()

    async def send(self, request, timeouts):
        self.flying += 1
        if self.flying == self.waiting:
            for _ in range(self.left):
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(0.02)  # the loop hears of signals a turn later
            if self.left == 1:
                self.gate.set()
        await self.gate.wait()
        return self.emulator.send(request, timeouts)

    async def aclose(self):
        pass


def interrupted(presses):
    with begun(40, once=True, pilot=0) as run:

        async def driven():
            slow = Slow(presses, 5)
            engine = LiveEngine(transport=lambda _: slow, stream=False, start=5)
            return await module._run(
                run, engine, make_judge("numeric"), module._Gate(asks=False, shown=False)
            )

        return asyncio.run(driven()), len(run.answers()), run.state, run.lost[0]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_one_ctrl_c_finishes_what_is_in_flight_and_says_so(capsys):
    code, answers, state, lost = interrupted(1)
    assert (code, answers, state, lost) == (130, 5, "stopped", 0)
    err = capsys.readouterr().err
    assert "finishing 5 in flight; Ctrl-C again drops them" in err
    assert "interrupted: finished 5 in flight, 5 answers are saved" in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_two_drop_it_and_say_so(capsys):
    code, answers, state, _ = interrupted(2)
    assert (code, answers, state) == (130, 0, "stopped")
    err = capsys.readouterr().err
    assert "interrupted: dropped 5 in flight, 0 answers are saved" in err
    assert "pondero sweep resume" in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("is_free", "dropped"), [(True, 0), (False, 5)])
def test_what_is_dropped_offline_is_not_lost(is_free, dropped):
    with begun(40, once=True, pilot=0, budget=50, max_tokens=100) as run:

        async def driven():
            slow = Slow(2, 5)
            engine = LiveEngine(transport=lambda _: slow, stream=False, start=5, is_free=is_free)
            await module._run(
                run, engine, make_judge("numeric"), module._Gate(asks=False, shown=False)
            )
            return engine

        engine = asyncio.run(driven())
        assert run.lost[0] == dropped
        run.begin("of a killed process", Decimal("0.25"))
        with run.hold_lock(known=engine.begin(run.facts.run)):
            assert run.lost[0] == (dropped and dropped + 1)


def _pressed(service, request, query, id):
    os.kill(os.getpid(), signal.SIGINT)
    return service.look(request, query, id)


class Watched(Messages):
    """A batch service that needs a key, and where somebody presses Ctrl-C once a batch is there."""

    needs_key = True
    routes = tuple(
        (method, path, _pressed if handle is Service.look else handle)
        for method, path, handle in Messages.routes
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_leaves_a_batch_at_the_service_and_says_so(capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    service = Watched(after=10_000)
    with begun(10, once=True, pilot=0, budget=50.0, max_tokens=1000) as run:

        async def driven():
            engine = BatchEngine(transport=lambda _: service)
            return await module._run(
                run, engine, make_judge("numeric"), module._Gate(asks=False, shown=False)
            )

        assert asyncio.run(driven()) == 130
        assert run.answers() == {}
        assert run.lost[0] == 0
    err = capsys.readouterr().err
    assert "interrupted: left 20 at the service, 0 answers are saved" in err
    assert "Ctrl-C again" not in err
    assert len(service.made) == 1


def has_answered(process):
    """Wait until the one run is past its pilot; its file is there a moment before its facts."""
    while process.poll() is None:
        for listed in list_runs():
            with Run.open(listed.run) as run:
                if len(run.answers()) > 80:
                    return listed.run
        time.sleep(0.01)
    pytest.fail(f"it ended before it answered: {process.communicate()}")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_real_process_is_interrupted_and_resumed(questions):
    command = [
        sys.executable,
        "-m",
        "pondero",
        *sums(questions, "--offline", "--continue", "--margin", "1", count=1_500),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        try:
            name = has_answered(process)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "in flight" in err
    assert "undecided  not decided yet" in out
    with Run.open(name) as run:
        assert run.state == "stopped"
        assert len(run.answers()) < 9_000

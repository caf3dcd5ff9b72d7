"""``sweep adopt`` and ``sweep calibrations``, and ``auto`` in the commands that take a model."""

import json

import pytest
from tests.calibrations import adopt, finding
from tests.sweep.test_adoption import swept


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir


@pytest.fixture
def pondero(call):
    def called(*words, code=0, **typed):
        ended, out, err = call(*words, **typed)
        assert ended == code, err
        return err if code else out

    return called


def test_a_run_is_adopted_listed_and_taken(config_dir, pondero):
    results = swept()
    told = json.loads(pondero("sweep", "adopt", "last", "--as", "sums", "--json"))
    assert told["file"] == str(config_dir / "calibrations" / "sums.json")
    assert (told["model"], told["level"], told["run"]) == (
        "anthropic:claude-opus-5", "low", results.run,
    )  # fmt: skip
    again = pondero("sweep", "adopt", "last", "--as", "sums", code=2)
    assert "is called 'sums' already" in again
    said = pondero("sweep", "adopt", "last", "--as", "sums", "--level", "high", "--force")
    assert "anthropic:claude-opus-5/high" in said
    assert "chosen by hand" in said
    (listed,) = json.loads(pondero("sweep", "calibrations", "--json"))["calibrations"]
    assert (listed["name"], listed["level"]) == ("sums", "high")
    assert results.run in pondero("sweep", "calibrations")
    plan = json.loads(pondero("plan", "auto:sums", "--json"))
    assert (plan["asked"], plan["level"]) == ("auto:sums", "high")
    assert plan["adjustments"][0]["code"] == "calibrated"


def test_a_level_that_is_not_shown_to_be_enough_needs_force(config_dir, pondero):
    swept()
    chosen = ("sweep", "adopt", "last", "--as", "sums", "--level")
    told = pondero(*chosen, "off", code=2)
    assert "anthropic:claude-opus-5/off is not shown to be enough by run " in told
    assert "it is given up, measured -" in told
    assert "use --force to adopt it all the same" in told
    assert "force=True" not in told
    assert not (config_dir / "calibrations").exists()
    pondero(*chosen, "high")  # the reference needs no evidence
    assert "anthropic:claude-opus-5/off" in pondero(*chosen, "off", "--force")


def test_what_to_try_next_works_for_an_offline_calibration(pondero):
    swept(offline=True)
    said = pondero("sweep", "adopt", "last", "--as", "sums")
    assert 'try: pondero ask --offline claude-opus-5/auto:sums "..."' in said
    assert "391" in pondero("ask", "--offline", "claude-opus-5/auto:sums", "What is 17 * 23?")


def test_a_plan_for_the_emulator_takes_its_calibration_and_one_for_the_service_says_so(pondero):
    swept(offline=True)
    pondero("sweep", "adopt", "last", "--as", "sums")
    plan = json.loads(pondero("plan", "--offline", "claude-opus-5/auto", "--json"))
    assert (plan["level"], plan["adjustments"][0]["code"]) == ("low", "calibrated")
    said = " ".join(pondero("plan", "claude-opus-5/auto").split())
    assert "calibration 'sums' was measured offline, and applies to --offline only" in said


def test_a_person_is_asked_before_one_is_replaced(pondero):
    swept()
    adopt("sums", "max")
    words = ("sweep", "adopt", "last", "--as", "sums")
    pondero(*words, code=1, stdin="n\n", tty=True)
    assert "/max" in pondero("sweep", "calibrations")
    pondero(*words, stdin="y\n", tty=True)
    assert "/low" in pondero("sweep", "calibrations")


def test_a_run_that_recommends_nothing_is_not_adopted(pondero):
    swept(20, past_gate=False)
    told = pondero("sweep", "adopt", "last", "--as", "few", code=2)
    assert told.startswith("pondero: run ")
    assert "recommends nothing: 20 questions are too few" in told
    told = pondero("sweep", "adopt", "last", "--as", "../few", "--level", "low", code=2)
    assert "invalid calibration name '../few'" in told


def test_nothing_adopted_is_said_and_a_broken_file_is_named(config_dir, pondero, call):
    assert json.loads(pondero("sweep", "calibrations", "--json")) == {
        "calibrations": [],
        "broken": {},
    }
    adopt("sums", kinds={"proofs": finding("high")})
    (config_dir / "calibrations" / "bad\x1b[2J.json").write_text("{}")
    _, out, err = call("sweep", "calibrations")
    assert "kind 'proofs'" in out
    assert "is not a calibration" in err
    assert "\x1b[2J" not in err + out


def test_the_other_commands_take_auto(pondero):
    adopt("sums", "low")
    asked = pondero("ask", "auto:sums", "What is 2 + 3?", "--offline", "--no-save")
    assert "5" in asked
    ladder = json.loads(pondero("levels", "claude-opus-5/auto", "--json"))
    assert [plan["asked"] for plan in ladder["levels"]][-1] == "auto"
    assert "gpt-5.5" in pondero("levels", "claude-opus-5/auto", "gpt-5.5")
    assert "auto" in pondero("plan", "claude-opus-5/auto", "gpt-5.5/auto")


def test_a_calibration_is_forgotten_even_a_broken_one(config_dir, pondero):
    adopt("sums")
    assert "removed" in pondero("sweep", "forget", "sums")
    assert json.loads(pondero("sweep", "calibrations", "--json"))["calibrations"] == []
    assert "no calibration is called 'sums'" in pondero("sweep", "forget", "sums", code=2)
    assert "invalid calibration name" in pondero("sweep", "forget", "../x", code=2)
    (config_dir / "calibrations" / "odd.json").write_text("{")
    assert list(json.loads(pondero("sweep", "calibrations", "--json"))["broken"]) == ["odd"]
    pondero("sweep", "forget", "odd")


def test_the_check_of_an_offline_calibration_says_that_the_emulator_is_asked(call):
    swept(offline=True)
    call("sweep", "adopt", "last", "--as", "sums")
    for offline in ((), ("--offline",)):
        code, out, err = call("sweep", "check", "sums", "--questions", "3", *offline)
        assert (code, out.startswith("sums still holds: 3 questions")) == (0, True)
        assert "sums was measured offline, so the emulator is asked" in err
    adopt("real", "low")
    code, _, err = call("sweep", "check", "real", "--offline")
    assert (code, "'real' was measured at the service" in err) == (2, True)

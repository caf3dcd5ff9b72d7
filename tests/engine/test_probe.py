"""A real engine's dial: it is live, off is off, and a discovery finds its fields."""

import json

import pytest
from tests.engine.conftest import _forget
from tests.engine.scripted import ANSWER, CHAT, STEPS

from pondero.cli.app import run

pytestmark = pytest.mark.engine


@pytest.fixture
def call(capsys):
    def called(*arguments):
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return called


def test_the_dial_of_the_engine_is_live_and_off_is_off(client, wire):
    found = client.probe(CHAT)
    assert (found.verdict, found.off, found.unit) == ("live", "off", "output_tokens")
    [ratio] = found.ratios
    answer = len(ANSWER.split()) + 2  # its words, the end of the thinking and the end of all
    most = (STEPS["high"] + answer + 2) / (STEPS["low"] + answer)
    assert 2 < ratio.estimate <= most
    assert found.asks == 13 <= len(wire.bodies)  # it hangs up at times: see test_connections


def test_words_that_its_template_does_not_know_are_taken_and_ignored(client):
    found = client.probe(CHAT, ["minimal", "xhigh"])  # both are the template's default
    assert (found.verdict, found.exit_code) == ("deaf", 1)


def test_a_dial_with_both_kinds_of_words_is_partly_live(client):
    found = client.probe(CHAT, ["low", "medium", "xhigh"])
    assert (found.verdict, found.exit_code) == ("partly", 1)


@pytest.mark.usefixtures("_wires")
@pytest.mark.parametrize("provider", ["llamacpp", "compatible"])
def test_a_discovery_of_the_engine_writes_the_dial_of_a_model(call, engine, config_dir, provider):
    (config_dir / "models.toml").unlink()
    where = ("--base-url", engine)
    model = f"{provider}:tomorrow"
    code, out, err = call("probe", model, *where, "--discover", "--write", "--yes", "--json")
    assert (code, "at most 24 short requests" in err) == (0, True)
    row = json.loads(out)["row"]
    assert (row["off"], row["toggle"], row["default"]) == (True, True, "on")
    assert {"low", "medium", "high", "max"} <= set(row["efforts"])
    assert row["source"] == "probed"
    _forget()
    assert json.loads(call("levels", model, "--json")[1])["family"] == "tomorrow"
    code, out, _ = call("probe", model, *where, "--yes")
    assert (code, out.splitlines()[1]) == (0, "off is off")

"""A discovery: what it tries, in which order, what it learns from a rejection, and its row."""

import pytest

from pondero.client import load_catalog
from pondero.probe import MOST_TRIALS, Discovery, DiscoveryAnswer, make_model_row
from pondero.thinking import Capability, Placement

SWITCH = (
    {"chat_template_kwargs": {"enable_thinking": False}},
    {"chat_template_kwargs": {"enable_thinking": True}},
)
PLACEMENTS = {
    "words": Placement(off={"effort": "none"}, level={"effort": "$effort"}),
    "switch": Placement(off=SWITCH[0], on=SWITCH[1]),
    "both": Placement(off=SWITCH[0], on=SWITCH[1], level={"effort": "$effort"}),
    "number": Placement(off={"budget": 0}, budget={"budget": "$budget"}),
}
KNOWN = Capability(source="", checked="")
TAKEN = DiscoveryAnswer(accepted=True, thought=True)
SILENT = DiscoveryAnswer(accepted=True, thought=False)


def reject(message="unknown field effort"):
    return DiscoveryAnswer(accepted=False, message=message)


def discover(answer, placements=PLACEMENTS):
    found = Discovery(placements)
    while (trial := found.next_trial()) is not None:
        found.see(trial, answer(trial))
    return found


def row_of(answer, placements=PLACEMENTS):
    return make_model_row(discover(answer, placements), placements, KNOWN, checked="2026-11-17")


def test_it_begins_with_nothing_and_tries_each_form_once():
    tried = [trial.fields for trial, _ in discover(lambda trial: TAKEN).trials]
    assert tried[0] == {}
    words = ["medium", "low", "high", "minimal", "xhigh", "max"]
    assert tried[1:7] == [{"effort": word} for word in words]
    assert tried[7:] == [{"budget": 0}, {"effort": "none"}, SWITCH[0], {"budget": 1024}, SWITCH[1]]


def test_words_that_a_rejection_does_not_offer_are_not_tried():
    def answer(trial):
        if trial.word in ("medium", "low"):
            return TAKEN
        return reject("must be one of low, medium, max") if trial.word else TAKEN

    tried = [trial.word for trial, _ in discover(answer).trials if trial.kind == "level"]
    assert tried == ["medium", "low", "high", "max"]


def test_a_field_that_is_rejected_twice_is_unknown():
    found = discover(lambda trial: reject() if trial.kind == "level" else TAKEN)
    assert [trial.word for trial, _ in found.trials if trial.kind == "level"] == ["medium", "low"]


def test_a_discovery_ends_in_time_however_many_forms_there_are():
    many = {
        f"style{n}": Placement(level={f"field{n}": "$effort"}, off={f"field{n}": "none"})
        for n in range(9)
    }
    assert len(discover(lambda trial: TAKEN, many).trials) == MOST_TRIALS


def test_the_row_has_what_was_accepted_and_seen_to_work():
    row = row_of(lambda trial: SILENT if trial.kind == "off" else TAKEN)
    assert row == {
        "style": "both", "off": True, "toggle": True,
        "efforts": ["minimal", "low", "medium", "high", "xhigh", "max"], "default": "on",
        "evidence": "recorded", "source": "probed", "checked": "2026-11-17",
    }  # fmt: skip


def test_an_off_that_still_thinks_is_no_off():
    row = row_of(lambda trial: TAKEN)
    assert (row["style"], row["off"]) == ("both", False)


def test_a_switch_that_works_is_worth_more_than_words_that_may_be_ignored():
    without = {name: PLACEMENTS[name] for name in ("words", "switch")}
    row = row_of(lambda trial: SILENT if trial.fields == SWITCH[0] else TAKEN, without)
    assert (row["style"], row["off"], row["toggle"], row["efforts"]) == ("switch", True, True, [])


def test_a_number_alone_makes_a_range():
    def answer(trial):
        if trial.kind == "budget":
            return TAKEN
        return TAKEN if trial.kind == "unset" else reject()

    row = row_of(answer)
    assert (row["style"], row["budget"]) == ("number", {"min": 1024, "max": 32_768})


def test_a_model_that_never_thinks_has_a_row_that_says_so():
    row = row_of(lambda trial: SILENT)
    assert (row["thinks"], row["default"]) == (False, "off")


def test_nothing_is_said_of_thinking_that_no_answer_shows():
    row = row_of(lambda trial: DiscoveryAnswer(accepted=True))
    assert "thinks" not in row
    assert row["default"] == "unaudited"


def test_a_model_that_takes_no_field_has_a_row_without_a_control():
    row = row_of(lambda trial: TAKEN if trial.kind == "unset" else reject())
    assert row.keys() == {"default", "evidence", "source", "checked"}


@pytest.mark.parametrize("name", sorted(load_catalog().catalog.providers))
def test_a_discovery_of_any_provider_is_bounded_and_repeats_nothing(name):
    placements = load_catalog().catalog.providers[name].placement
    found = discover(lambda trial: TAKEN, placements)
    assert len(found.trials) <= MOST_TRIALS
    tried = [(trial.kind, str(trial.fields)) for trial, _ in found.trials]
    assert len(set(tried)) == len(tried)

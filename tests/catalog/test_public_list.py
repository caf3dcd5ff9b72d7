"""Somebody else's list of models: what it says of a model's control, and the row that makes of it."""

import json

import pytest

from pondero.catalog import ListedThinking, Lookup, facts_of, load_shipped, read_listing, trim_list
from pondero.errors import BadCatalog

LOOKUP = Lookup(load_shipped())


def read(*options, reasoning=True):
    model = {"reasoning": reasoning, "reasoning_options": list(options)}
    found = read_listing(json.dumps({"x": {"models": {"m": model}}}).encode())
    return found.providers["x"].models["m"]


TOGGLE = {"type": "toggle"}


def effort(*values):
    return {"type": "effort", "values": values}


def budget(**ends):
    return {"type": "budget_tokens", **ends}


@pytest.mark.parametrize(
    ("options", "control"),
    [
        ((), ListedThinking(True, False, ())),
        ((TOGGLE,), ListedThinking(True, True, ())),
        ((effort("low", "high"),), ListedThinking(True, False, ("low", "high"))),
        ((effort("none", "high", "low"),), ListedThinking(True, True, ("low", "high"))),
        ((effort("none", "default", None),), ListedThinking(True, True, ())),
        ((budget(min=1024),), ListedThinking(True, False, (), (1024, None))),
        ((budget(min=0, max=24576),), ListedThinking(True, True, (), (None, 24576))),
        ((effort("low"), TOGGLE, budget(max=9)), ListedThinking(True, True, ("low",), (None, 9))),
    ],
)
def test_a_control_is_read_from_the_options(options, control):
    assert read(*options).control == control


def test_where_a_list_has_no_options_it_says_nothing_of_the_control():
    text = json.dumps({"x": {"models": {"m": {"reasoning": True}}}}).encode()
    assert read_listing(text).providers["x"].models["m"].control == ListedThinking(True)


def test_a_list_is_as_old_as_its_newest_entry_and_a_trimmed_one_keeps_that():
    models = {"a": {"last_updated": "2026-01-02"}, "b": {"last_updated": "2026-03-04"}}
    whole = read_listing(json.dumps({"x": {"models": models}, "y": {"models": {}}}).encode())
    again = read_listing(trim_list(whole, {"x": ("anthropic",)}))
    assert (whole.date, again.date, again.name) == ("2026-03-04", "2026-03-04", "models.dev")
    assert list(again.providers) == ["x"]
    assert trim_list(again, {"x": ("anthropic",)}) == trim_list(whole, {"x": ("anthropic",)})


SOURCE = read_listing(b'{"x": {"models": {"m": {"last_updated": "2026-09-30"}}}}')


def made(name, *options, reasoning=True):
    return facts_of(read(*options, reasoning=reasoning), LOOKUP.entry(name), SOURCE)


def test_a_row_has_the_control_of_the_list_and_the_rest_of_its_relative():
    base = LOOKUP.entry("openrouter:z-ai/glm-9").capability
    facts = made("openrouter:z-ai/glm-9", effort("none", "low", "high"))
    assert (facts.off, facts.efforts, facts.style) == (True, ("low", "high"), base.style)
    assert (facts.shown, facts.replay) == (base.shown, base.replay)
    assert (facts.evidence, facts.source, facts.checked) == ("list", "models.dev", "2026-09-30")


def test_what_a_relative_does_unasked_is_kept_only_where_this_model_can_do_it():
    assert made("openrouter:z-ai/glm-9", effort("low", "max")).default == "max"
    assert made("openrouter:z-ai/glm-9", effort("low", "high")).default == "unaudited"


def test_a_range_of_tokens_needs_both_ends_from_somewhere():
    assert made("dashscope:qwen3.5-new", TOGGLE, budget(max=9000)).budget.max == 9000
    assert made("openrouter:acme/new", TOGGLE, budget(max=9000)).budget is None


@pytest.mark.parametrize("name", ["vertex:acme/new", "azure:acme", "google:acme"])
def test_where_nothing_can_say_the_control_there_is_no_row(name):
    assert made(name, effort("low", "high")) is None
    assert made(name).style is None


def test_a_model_that_does_not_think_gets_a_row_that_says_so():
    facts = made("openrouter:acme/new", reasoning=False)
    assert (facts.thinks, facts.default, facts.evidence) == (False, "off", "list")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"<!doctype html><p>hello", "a web page"),
        (b"{not json", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"", "no JSON"),
        (b"{}", "is empty"),
        (b"[1]", "no list of models"),
        (b'{"a": {"models": [1]}}', "no list of models"),
        (b'{"date": 1, "providers": {}}', "no list of models"),
    ],
)
def test_what_is_no_list_is_one_clear_line(text, words):
    with pytest.raises(BadCatalog, match=words) as caught:
        read_listing(text)
    assert "\n" not in str(caught.value)

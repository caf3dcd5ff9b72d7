"""Somebody else's list of models beside the catalog."""

import json

import pytest

from pondero.catalog import Lookup, compare, read_listing, rows, shipped
from pondero.errors import BadCatalog

LOOKUP = Lookup(shipped())


def listed(**sellers):
    return read_listing(json.dumps(sellers).encode())


def seller(*models, env=("X",)):
    return {"id": "x", "env": env, "models": {model["id"]: model for model in models}}


def model(id, *, reasoning=True, output=0, context=0, **more):
    limit = {"context": context, "output": output}
    return {"id": id, "name": id, "reasoning": reasoning, "limit": limit, **more}


def found(theirs, *whats):
    return [each for each in compare(theirs, LOOKUP) if each.what in whats]


def test_what_is_known_and_agrees_is_no_difference():
    theirs = listed(anthropic=seller(model("claude-opus-5", output=128_000)))
    assert found(theirs, "new", "different") == []


def test_a_new_model_of_a_known_line_says_whom_it_is_taken_for():
    (new,) = found(listed(anthropic=seller(model("claude-opus-9"))), "new")
    assert (new.provider, new.model, new.theirs) == ("anthropic", "claude-opus-9", True)
    assert new.like == "claude-opus-5-5"


def test_a_new_line_has_nobody_to_be_like():
    (new,) = found(listed(together=seller(model("acme/unheard-of"))), "new")
    assert new.like is None
    assert rows([new], LOOKUP, source="s", checked="d") == []


def test_facts_that_differ_are_told_one_by_one():
    theirs = listed(anthropic=seller(model("claude-opus-5", output=99, reasoning=False)))
    told = [(each.field, each.ours, each.theirs) for each in found(theirs, "different")]
    assert told == [("thinks", True, False), ("max_output", 128_000, 99)]


def test_what_nobody_says_does_not_differ():
    theirs = listed(anthropic=seller(model("claude-opus-5", output=0)))
    assert found(theirs, "different") == []


def test_what_is_not_listed_is_gone_only_where_its_provider_is_listed():
    gone = found(listed(cohere=seller(model("command-a-plus-05-2026"))), "gone")
    assert {each.provider for each in gone} == {"cohere"}
    assert "command-a-plus-05-2026" not in {each.model for each in gone}


def test_a_deprecated_model_is_as_good_as_gone():
    theirs = listed(anthropic=seller(model("claude-opus-9", status="deprecated")))
    assert found(theirs, "new") == []


@pytest.mark.parametrize(
    ("name", "env", "ours"),
    [
        ("togetherai", ["TOGETHER_API_KEY"], "together"),
        ("alibaba", ["DASHSCOPE_API_KEY"], "dashscope"),
        ("google-vertex", ["GOOGLE_VERTEX_PROJECT", "GOOGLE_VERTEX_LOCATION"], "vertex"),
        ("openai", ["OPENAI_API_KEY"], "openai"),
    ],
)
def test_a_provider_is_known_again_by_its_name_or_its_variables(name, env, ours):
    theirs = listed(**{name: seller(model("brand-new-1"), env=env)})
    assert {each.provider for each in compare(theirs, LOOKUP)} == {ours}


def test_a_provider_nobody_here_knows_is_passed_over():
    assert compare(listed(nobody=seller(model("m"))), LOOKUP) == []


def test_a_row_names_its_family_or_where_the_provider_differs_every_fact():
    theirs = listed(
        anthropic=seller(model("claude-opus-5", output=99)),
        lmstudio=seller(model("glm-5.3", reasoning=False)),
    )
    first, second = rows(found(theirs, "different"), LOOKUP, source="there", checked="2026-11-15")
    assert first == {
        "match": ["claude-opus-5"],
        "provider": "anthropic",
        "like": "claude-opus-5",
        "source": "there",
        "checked": "2026-11-15",
        "max_output": 99,
    }
    assert (second["provider"], second["thinks"], second["efforts"]) == (
        *("lmstudio", False),
        ["low", "high"],
    )


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
    ],
)
def test_what_is_no_list_is_one_clear_line(text, words):
    with pytest.raises(BadCatalog, match=words) as caught:
        read_listing(text)
    assert "\n" not in str(caught.value)

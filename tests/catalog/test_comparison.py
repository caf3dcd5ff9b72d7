"""The catalog against the public list: agreed, or settled with evidence, field by field."""

import json
import re
from datetime import date
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

import pondero
from pondero.catalog import (
    Lookup,
    compare_lists,
    load_explained,
    load_shipped,
    provider_map,
    read_listing,
    rows_to_add,
    snapshot,
)
from pondero.thinking import LEVELS

LOOKUP = Lookup(load_shipped())
OURS = provider_map()
SETTLED = load_explained()
WHOLE = compare_lists(snapshot(), LOOKUP, ours=OURS, settled=SETTLED)
VERIFIED = ("recorded", "vendor page", "SDK type")


# -- the committed list --------------------------------------------------------------------------


def test_every_disagreement_is_fixed_or_settled():
    assert [(each.provider, each.model, each.field) for each in WHOLE.open] == []


def test_of_the_live_thinking_models_nearly_all_have_the_right_control():
    """Right: as the list has it, or otherwise by evidence that is stronger than a list."""
    thinking = {
        (OURS[seller][0], name)
        for seller, sold in snapshot().providers.items()
        for name, listed in sold.models.items()
        if listed.reasoning and listed.status != "deprecated"
    }
    otherwise = {
        (each.provider, each.model)
        for each in WHOLE.differences
        for row in SETTLED
        if row.covers(each.provider, each.model, each.field or "") and row.evidence in VERIFIED
    } & thinking
    untold = [name for name in otherwise if not LOOKUP.entry(":".join(name)).capability.style]
    assert WHOLE.models == len(thinking) > 600
    assert WHOLE.right + WHOLE.settled == WHOLE.models
    assert (WHOLE.right + len(otherwise) - len(untold)) / WHOLE.models > 0.95


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: f"{row.provider}:{row.models[0]}")
def test_a_settled_row_is_needed_and_says_why(row):
    about = [each for each in WHOLE.differences if each.field and each.why == row.why]
    for pattern in row.models:
        lone = replace(row, models=(pattern,))
        assert any(lone.covers(each.provider, each.model, each.field) for each in about), pattern
    assert {each.field for each in about} >= set(row.fields)
    assert row.evidence != "inferred"
    assert len(row.why) > 20


def test_a_verified_row_outranks_the_list():
    """No row that was made from the list stands where the catalog has a verified one."""
    written = {
        name: replace(each, families=tuple(f for f in each.families if not f.endswith("(list)")))
        for name, each in LOOKUP.catalog.providers.items()
    }
    before = Lookup(replace(LOOKUP.catalog, providers=written))
    for entry in LOOKUP.entries():
        row = before.entry(entry.id)
        if row.evidence in VERIFIED:
            assert entry.capability == row.capability, entry.id


def test_through_a_plan_each_word_of_the_list_is_sent_as_it_is():
    """The check above reads rows; this one asks the dial itself, word by word."""
    settled = {(each.provider, each.model) for each in WHOLE.differences if each.why}
    wrong, asked = [], 0
    for seller, sold in snapshot().providers.items():
        for name, listed in sold.models.items():
            if listed.status == "deprecated" or (OURS[seller][0], name) in settled:
                continue
            for level, has in _words(listed.control, model := f"{OURS[seller][0]}:{name}"):
                asked += 1
                if (pondero.plan(model, level).level == level) is not has:
                    wrong.append((model, level))
    assert wrong == []
    assert asked > 2_000


def _words(control, model):
    """Yield each level with whether the list has it, where the list speaks of words at all."""
    facts = LOOKUP.entry(model).capability
    if control.words is None or not (control.words or control.off):
        return
    yield "off", control.off
    for level in LEVELS[1:]:
        if level not in facts.tolerates and not facts.by_budget:
            yield level, level in control.words


def test_the_limits_of_the_list_stand_wherever_the_row_has_none():
    for seller, sold in snapshot().providers.items():
        for name, listed in sold.models.items():
            entry = LOOKUP.entry(f"{OURS[seller][0]}:{name}")
            assert not listed.limit.context or entry.context, entry.id
            assert not listed.limit.output or entry.max_output, entry.id


def test_the_list_has_a_date_that_is_its_own():
    assert date.fromisoformat(snapshot().date) < date(2026, 11, 1)
    assert LOOKUP.catalog.listed.date == snapshot().date


def test_every_provider_of_the_map_is_in_the_list_and_one_of_ours():
    assert set(OURS) == set(snapshot().providers)
    for names in provider_map(hosts=True).values():
        assert set(names) <= set(LOOKUP.catalog.providers)


# -- any list ------------------------------------------------------------------------------------


def listed(**sellers):
    return read_listing(json.dumps(sellers).encode())


def seller(**models):
    return {"models": {name.replace("_", "-"): facts for name, facts in models.items()}}


def model(*, reasoning=True, options=None, output=0, context=0, **more):
    limit = {"context": context, "output": output}
    made = {"reasoning": reasoning, "limit": limit, **more}
    return made if options is None else {**made, "reasoning_options": options}


LOW_HIGH = [{"type": "effort", "values": ["low", "high"]}]
LOW_MAX = [{"type": "effort", "values": ["low", "max"]}]


def found(theirs, *whats):
    every = {**{name: (name,) for name in LOOKUP.catalog.providers}, **provider_map(hosts=True)}
    return [
        each for each in compare_lists(theirs, LOOKUP, ours=every).differences if each.what in whats
    ]


def test_what_is_known_and_agrees_is_no_difference():
    theirs = listed(anthropic=seller(claude_opus_5=model(output=128_000)))
    assert found(theirs, "new", "different") == []


def test_a_new_model_of_a_known_line_says_whom_it_is_taken_for():
    (new,) = found(listed(anthropic=seller(claude_opus_9=model())), "new")
    assert (new.provider, new.model, new.theirs) == ("anthropic", "claude-opus-9", True)
    assert (new.like, new.evidence) == ("claude-opus-5-5", "inferred")


def test_a_new_line_has_nobody_to_be_like():
    (new,) = found(listed(togetherai=seller(acme_unheard_of=model())), "new")
    assert (new.provider, new.like) == ("together", None)


def test_facts_that_differ_are_told_one_by_one_with_how_ours_is_known():
    facts = model(output=99, options=[{"type": "effort", "values": ["none", "low"]}])
    told = found(listed(anthropic=seller(claude_opus_5=facts)), "different")
    assert [(each.field, each.ours, each.theirs) for each in told] == [
        ("words", ["low", "medium", "high", "xhigh", "max"], ["low"]),
        ("max_output", 128_000, 99),
    ]
    assert {each.evidence for each in told} == {"recorded"}


def test_what_nobody_says_does_not_differ():
    assert found(listed(anthropic=seller(claude_opus_5=model())), "different") == []


def test_what_is_not_listed_is_gone_only_where_its_provider_is_listed():
    gone = found(listed(cohere={"models": {"command-a-plus-05-2026": model()}}), "gone")
    assert {each.provider for each in gone} == {"cohere"}
    assert "command-a-plus-05-2026" not in {each.model for each in gone}


def test_nothing_is_gone_from_a_server_that_users_run_themselves():
    assert found(listed(lmstudio=seller(acme=model())), "new", "gone", "different") == []


def test_a_deprecated_model_is_as_good_as_gone():
    theirs = listed(anthropic=seller(claude_opus_9=model(status="deprecated")))
    assert found(theirs, "new") == []


@pytest.mark.parametrize(
    ("name", "ours"),
    [("togetherai", "together"), ("alibaba", "dashscope"), ("google-vertex", "vertex")],
)
def test_a_provider_is_known_again_by_the_map(name, ours):
    theirs = listed(**{name: seller(brand_new_1=model())})
    assert {each.provider for each in found(theirs, "new", "gone")} == {ours}


def test_a_provider_nobody_here_knows_is_passed_over():
    assert found(listed(nobody=seller(m=model())), "new", "gone", "different") == []


def made(theirs, *, force=False):
    compared = compare_lists(theirs, LOOKUP, ours=OURS)
    return rows_to_add(theirs, compared, LOOKUP, ours=OURS, force=force)


def test_a_row_is_made_where_the_list_says_the_control_and_not_where_it_is_a_guess():
    theirs = listed(anthropic=seller(claude_opus_9=model(options=LOW_HIGH), claude_opus_8=model()))
    (row,) = made(theirs)
    assert (row["match"], row["provider"]) == (["claude-opus-9"], "anthropic")
    assert (row["efforts"], row["evidence"], "off" in row) == (["low", "high"], "list", False)


def test_a_verified_row_is_touched_by_force_only():
    theirs = listed(anthropic=seller(claude_opus_5=model(options=LOW_HIGH, output=99)))
    assert made(theirs) == []
    (row,) = made(theirs, force=True)
    assert (row["efforts"], row["max_output"]) == (["low", "high"], 99)


def test_a_list_may_change_what_only_a_list_said():
    theirs = listed(openrouter={"models": {"tencent/hy3": model(options=LOW_MAX)}})
    (row,) = made(theirs)
    assert (row["match"], row["efforts"]) == (["tencent/hy3"], ["low", "max"])


# -- the weekly job ------------------------------------------------------------------------------


def test_the_weekly_job_runs_targets_that_exist():
    root = Path(__file__).parents[2]
    job = yaml.safe_load((root / ".github/workflows/catalog.yml").read_text("utf-8"))
    steps = "\n".join(step.get("run", "") for step in job["jobs"]["refresh"]["steps"])
    asked = set(re.findall(r"make (?:--silent )?([a-z-]+)", steps))
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert asked == {"catalog-list", "catalog", "docs", "catalog-check"}
    assert asked <= targets

"""The second list: only what names a model of ours, under our providers, with what it says."""

import json

from pondero.catalog import Lookup, load_shipped, second_list, snapshot
from pondero.catalog.litellm import read_litellm

LOOKUP = Lookup(load_shipped())


def read(**models):
    text = json.dumps(models).encode()
    ours = {"gemini": "google", "openai": "openai"}
    return read_litellm(text, LOOKUP, ours=ours, name="it", date="2026-11-01").providers


def model(provider="openai", mode="chat", **facts):
    return {"litellm_provider": provider, "mode": mode, **facts}


def test_a_model_of_ours_is_kept_without_the_providers_path():
    kept = read(**{"gemini/gemini-2.5-pro": model("gemini", max_output_tokens=9)})
    assert kept["google"].models["gemini-2.5-pro"].limit.output == 9


def test_what_the_catalog_does_not_name_is_left_out():
    kept = {"gpt-5.99": model(), "gpt-5": model(mode="embedding"), "x": model("nobody")}
    assert read(**kept) == {}


def test_it_says_of_single_words_whether_they_are_taken():
    facts = {"supports_none_reasoning_effort": True, "supports_xhigh_reasoning_effort": False}
    kept = read(**{"gpt-5.4": model(supports_reasoning=True, **facts)})["openai"].models["gpt-5.4"]
    assert (kept.reasoning, kept.takes) == (True, {"none": True, "xhigh": False})


def test_a_limit_that_is_no_number_is_no_limit():
    kept = read(**{"gpt-5": model(max_input_tokens="much")})["openai"].models["gpt-5"]
    assert kept.limit.context == 0


def test_a_limit_of_the_second_list_stands_where_the_first_has_none():
    assert "deepseek-v3" not in snapshot().providers["azure"].models
    entry = LOOKUP.entry("azure:deepseek-v3")
    listed = second_list().providers["azure"].models["deepseek-v3"]
    assert (entry.capability.context, entry.context) == (None, listed.limit.context)
    assert entry.to_json()["limits_evidence"] == "list"

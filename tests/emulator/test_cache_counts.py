"""Cached tokens in each API's own fields, and the table of the rules."""

import re

import pytest
from tests.emulator.prompts import (
    SUM,
    Clock,
    chat,
    words,
)

import pondero
from pondero.dialects import find_cache_rules, load_cache_rules
from pondero.emulator import Emulator
from pondero.emulator.prompt_cache import PromptCache
from pondero.exchange import Retry

LONG = "All of this was read before. " * 800  # about 5,800 tokens


def client(**options):
    return pondero.Client(transport=Emulator(**options), retry=Retry(attempts=1))


# -- each API's own fields -------------------------------------------------------------------------


def test_deepseek_counts_hits_and_misses():
    emulator = Emulator()
    url = "https://api.deepseek.com/chat/completions"
    message = {"role": "user", "content": words(973)}
    for hits in (0, 896):
        usage = chat(emulator, message, model="deepseek-v4-flash", url=url)
        assert usage["prompt_cache_hit_tokens"] == hits
        assert usage["prompt_cache_hit_tokens"] + usage["prompt_cache_miss_tokens"] == 976
        assert usage["prompt_tokens_details"]["cached_tokens"] == hits
        assert usage["total_tokens"] == 976 + usage["completion_tokens"]


def test_moonshot_counts_cached_tokens_at_the_top():
    emulator = Emulator()
    url = "https://api.moonshot.ai/v1/chat/completions"
    for hits in (0, 1_920):
        usage = chat(emulator, {"role": "user", "content": words(2_000)}, model="kimi-k3", url=url)
        assert usage["cached_tokens"] == hits


def test_xai_counts_cached_tokens_inside_the_prompt():
    emulator = Emulator()
    url = "https://api.x.ai/v1/chat/completions"
    for hits in (0, 1_920):
        usage = chat(emulator, {"role": "user", "content": words(2_000)}, model="grok-4.5", url=url)
        assert usage["prompt_tokens_details"]["cached_tokens"] == hits
        assert usage["prompt_tokens"] == 2_003


@pytest.mark.parametrize(("model", "writes"), [("gpt-5.1", False), ("gpt-5.6", True)])
def test_chat_counts_writes_where_they_cost(model, writes):
    emulator = Emulator()
    message = {"role": "user", "content": words(2_000)}
    first, again = [chat(emulator, message, model=model)["prompt_tokens_details"] for _ in "ab"]
    assert first.get("cache_write_tokens") == (1_920 if writes else None)
    assert again.get("cache_write_tokens") == (0 if writes else None)
    assert again["cached_tokens"] == 1_920


def test_ollama_and_cohere_count_no_cache():
    asker = client()
    for model in ("ollama:gpt-oss:20b", "cohere:command-a-reasoning-08-2025"):
        for _ in range(2):
            assert not asker.ask(model, SUM, system=LONG).usage.cache_read


# -- the table -------------------------------------------------------------------------------------


def test_every_row_says_where_it_is_from():
    for row in load_cache_rules():
        assert row.source, row.vendor
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row.checked)
        assert all(each.source and each.checked for each in row.minimum), row.vendor
        assert row.how == "none" or row.minimum, row.vendor


def test_every_model_of_the_catalog_has_a_row():
    for entry in pondero.models():
        assert find_cache_rules(entry.provider.name, entry.model)


def test_the_cache_forgets_what_was_used_least():
    cache = PromptCache(Clock(), most=3)
    digests = [bytes([number]) for number in range(5)]
    for digest in digests[:3]:
        cache._keep(digest, 0.0, 60.0)
    cache._keep(digests[0], 1.0, 0.0)
    for digest in digests[3:]:
        cache._keep(digest, 2.0, 60.0)
    assert list(cache._entries) == [digests[0], *digests[3:]]

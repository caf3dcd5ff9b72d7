"""A chat of thirty turns with ten changes of its level: how much of its prompt stays cached.

The counts are those of the emulator's usage. The same conversation with changes at the top of the
requests misses the mark, so that the check can fail.
"""

from collections.abc import Iterator

import pytest

import pondero
from pondero.canon import Message, Reply, Text
from pondero.client import load_catalog
from pondero.emulator import Emulator

PROOFS = ("claude-opus-5", "gpt-6-sol", "openrouter:openai/gpt-6-sol")
"""A model of every API that takes a level inside a conversation."""
RULES = "Answer in one line, and name the rule that you used. " * 400
WORDS = ("low", "medium", "high", "xhigh", "max")
TURNS = [(f"Question {turn}: what is 17 * 23?", WORDS[turn // 3 % 5]) for turn in range(30)]
TURNS[0] = (RULES + TURNS[0][0], TURNS[0][1])


def converse(model: str) -> Iterator[Reply]:
    """Yield the replies of a chat."""
    chat = pondero.Chat(model, client=pondero.Client(transport=Emulator()))
    for prompt, level in TURNS:
        chat.thinking = level
        yield chat.send(prompt)


def converse_at_the_top(model: str) -> Iterator[Reply]:
    """Yield the replies to the same prompts, whose history does not say when the level changed."""
    client = pondero.Client(transport=Emulator())
    history: list[Message] = []
    for prompt, level in TURNS:
        history.append(Message("user", (Text(prompt),)))
        reply = client.ask(model, history, level, cache=True)
        history.append(reply.message)
        yield reply


def find_share(replies: Iterator[Reply]) -> float:
    """Return which share of each turn's earlier prompt was read from the cache, on average."""
    shares: list[float] = []
    before = 0
    for reply in replies:
        usage = reply.usage
        read = usage.cache_read or 0
        if before:
            shares.append(min(1.0, read / before))
        before = (usage.input or 0) + read + (usage.cache_write or 0)
    return sum(shares) / len(shares)


def test_every_api_with_the_form_has_its_proof():
    catalog = load_catalog()
    entries = [
        entry
        for provider in catalog.catalog.providers.values()
        for entry in catalog.entries(provider.name)
        if entry.takes_level_turns
    ]
    proved = {catalog.entry(model).provider.dialect for model in PROOFS}
    assert {entry.provider.dialect for entry in entries} == proved


@pytest.mark.parametrize("model", PROOFS)
def test_ten_changes_in_thirty_turns_keep_nearly_all_of_the_prompt_cached(model):
    assert find_share(converse(model)) >= 0.95


@pytest.mark.parametrize("model", PROOFS)
def test_the_same_changes_at_the_top_lose_the_cache(model):
    assert find_share(converse_at_the_top(model)) < 0.95


# -- breakpoints -----------------------------------------------------------------------------------


def count_read(**options) -> tuple[int, int]:
    """Return the tokens read from the cache and the breakpoints of a chat's second turn."""
    client = pondero.Client(transport=Emulator())
    chat = pondero.Chat("claude-opus-5/high", client=client, **options)
    chat.send(RULES)
    planned = chat.prepare("What is 17 * 23?").plan.cache_breakpoints
    return chat.send("What is 17 * 23?").usage.cache_read or 0, planned


def test_a_chat_sets_breakpoints_unless_it_is_told_not_to():
    read, planned = count_read()
    assert read > 2_000
    assert planned == 2
    assert count_read(cache=False) == (0, 0)


def test_breakpoints_of_the_caller_are_left_as_they_are():
    marked = pondero.Text("Be exact. " * 600, cache=pondero.CacheBreakpoint(ttl="1h"))
    read, planned = count_read(system=[marked])
    assert (read > 0, planned) == (True, 1)


def test_a_single_question_pays_for_no_cache_unless_it_is_told_to():
    client = pondero.Client(transport=Emulator())
    assert not client.ask("claude-opus-5/high", RULES).usage.cache_write
    assert client.ask("claude-opus-5/high", RULES, cache=True).usage.cache_write


def test_a_saved_chat_keeps_that_it_caches_nothing():
    client = pondero.Client(transport=Emulator())
    chat = pondero.Chat("claude-opus-5/high", client=client, cache=False)
    again = pondero.Chat.from_json(chat.to_json(), client=client)
    assert again.prepare(RULES).plan.cache_breakpoints == 0


def test_the_plan_of_a_chat_says_its_breakpoints():
    chat = pondero.Chat("claude-opus-5/high", client=pondero.Client(transport=Emulator()))
    plan = chat.prepare("What is 17 * 23?").plan
    assert "cache   1 breakpoint, up to which the prompt is cached" in str(plan).splitlines()
    assert plan.to_json()["cache_breakpoints"] == 1
    assert "cache_breakpoints" not in pondero.plan("claude-opus-5/high").to_json()


def test_a_model_that_caches_by_itself_gets_no_breakpoints():
    chat = pondero.Chat("gpt-6-sol/high", client=pondero.Client(transport=Emulator()))
    assert chat.prepare(RULES).plan.cache_breakpoints == 0

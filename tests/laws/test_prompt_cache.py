"""Laws of the emulator's prompt cache, for any conversation on any API that counts it."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.prompts import (
    TOOL,
    Counts,
    chat,
    claude,
    converse,
    count_claude,
    gemini,
    mark,
    responses,
    text,
    user,
    words,
)

from pondero.emulator import Emulator

Ask = Callable[[Emulator, list[str]], Counts]
"""Sends what user and model said by turns, the user last, and returns what the answer counts."""
ROLES = ("user", "assistant")


def ask_claude(emulator: Emulator, said: list[str]) -> Counts:
    last = len(said) - 1
    messages = [
        {"role": ROLES[n % 2], "content": [text(each, marked=n == last)]}
        for n, each in enumerate(said)
    ]
    return count_claude(claude(emulator, *messages))


def ask_bedrock(emulator: Emulator, said: list[str]) -> Counts:
    point = {"cachePoint": {"type": "default"}}
    blocks = [{"text": each} for each in said]
    return converse(emulator, *blocks, point, model="us.anthropic.claude-opus-5")


def ask_gemini(emulator: Emulator, said: list[str]) -> Counts:
    usage = gemini(emulator, *said)
    read = usage.get("cachedContentTokenCount", 0)
    return Counts(usage["promptTokenCount"] - read, read, 0)


def ask_chat(emulator: Emulator, said: list[str]) -> Counts:
    usage = chat(emulator, *_turns(said), model="gpt-5.6")
    details = usage["prompt_tokens_details"]
    read, written = details["cached_tokens"], details["cache_write_tokens"]
    return Counts(usage["prompt_tokens"] - read - written, read, written)


def ask_deepseek(emulator: Emulator, said: list[str]) -> Counts:
    url = "https://api.deepseek.com/chat/completions"
    usage = chat(emulator, *_turns(said), model="deepseek-chat", url=url)
    return Counts(usage["prompt_cache_miss_tokens"], usage["prompt_cache_hit_tokens"], 0)


def ask_responses(emulator: Emulator, said: list[str]) -> Counts:
    return responses(emulator, *_turns(said))


def _turns(said: list[str]) -> list[dict[str, str]]:
    return [{"role": ROLES[n % 2], "content": each} for n, each in enumerate(said)]


APIS: dict[str, tuple[Ask, int, int]] = {  # with the minimum and the step of the model
    "anthropic": (ask_claude, 512, 1),
    "bedrock": (ask_bedrock, 512, 1),
    "gemini": (ask_gemini, 4_096, 1),
    "chat": (ask_chat, 1_024, 128),
    "deepseek": (ask_deepseek, 128, 128),
    "responses": (ask_responses, 1_024, 128),
}
every_api = pytest.mark.parametrize(("ask", "least", "step"), APIS.values(), ids=APIS)
TURN = st.builds(words, st.integers(1, 2_500), st.sampled_from(["one", "two", "red", "Ärz"]))
TALKS = st.lists(TURN, min_size=1, max_size=9).map(lambda turns: turns[: len(turns) // 2 * 2 + 1])


def is_odd(talk: list[str]) -> bool:
    return len(talk) % 2 == 1


@every_api
@given(data=st.data())
def test_a_longer_conversation_reads_what_the_shorter_one_left(ask, least, step, data):
    talk = data.draw(st.lists(TURN, min_size=3, max_size=9).filter(is_odd))
    cut = data.draw(st.integers(0, len(talk) // 2)) * 2 + 1
    emulator = Emulator()
    shorter, longer = ask(emulator, talk[:cut]), ask(emulator, talk)
    kept = shorter.prompt if shorter.prompt >= least else 0
    assert shorter.read == 0
    assert kept - kept % step <= longer.read <= longer.prompt
    if cut == len(talk):
        assert longer.written == 0


@every_api
@given(talks=st.lists(TALKS.filter(is_odd), min_size=1, max_size=4))
def test_the_counts_add_up_to_the_prompt_whatever_was_read_before(ask, least, step, talks):
    emulator = Emulator()
    for talk in talks:
        counts = ask(emulator, talk)
        assert counts.prompt == ask(Emulator(), talk).prompt
        assert min(counts) >= 0
        if counts.prompt < least:
            assert (counts.read, counts.written) == (0, 0)
        assert counts.read % step == 0 or counts.read in (0, counts.prompt)


@every_api
@given(talk=TALKS.filter(is_odd), where=st.integers(0, 8), word=st.sampled_from(["new", "Neu"]))
def test_a_changed_turn_loses_everything_from_there_on(ask, least, step, talk, where, word):
    where = min(where, len(talk) - 1)
    emulator = Emulator()
    ask(emulator, talk)
    changed = [*talk[:where], words(700, word), *talk[where + 1 :]]
    before = ask(Emulator(), talk[: where // 2 * 2 + 1]).prompt if where else 0
    assert ask(emulator, changed).read <= before + step


LAYERS = ("tools", "system", "messages")


@given(
    sizes=st.tuples(*[st.integers(1, 1_500)] * 3),
    changed=st.sampled_from(LAYERS),
)
def test_a_changed_layer_loses_itself_and_all_after_it(sizes, changed):
    emulator = Emulator()
    first = count_claude(claude(emulator, **layered(sizes)))
    again = count_claude(claude(emulator, **layered(sizes, changed)))
    kept = tokens_before(sizes, changed)
    assert again.read == (kept if kept >= 512 else 0)
    assert again.prompt == first.prompt


def layered(sizes, changed=None):
    said = {
        name: words(size, "new" if name == changed else "old")
        for name, size in zip(LAYERS, sizes, strict=True)
    }
    return {
        "tools": [{**TOOL, "description": said["tools"], **mark()}],
        "system": [text(said["system"], marked=True)],
        "messages": [user(text(said["messages"], marked=True))],
    }


def tokens_before(sizes, layer):
    """Count the layers before this one, by what a request with breakpoints there writes."""
    place = LAYERS.index(layer)
    if place == 0:
        return 0
    request = layered((*sizes[:place], *[1_500] * (3 - place)))
    whole = count_claude(claude(Emulator(), **request)).prompt
    rest = {1: 1_500 + 1_500 + 3, 2: 1_500 + 3}[place]
    return whole - rest

"""Thirty turns with ten changes of the level: what stays cached, inside the conversation and not."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.emulator.prompts import (
    Counts,
    chat,
    claude,
    count_claude,
    mark,
    responses,
    text,
    words,
)

from pondero.emulator import Emulator

TURNS = 30
LEVELS = ("low", "high", "medium", "xhigh", "max")  # a level that comes back finds its old entry
SYSTEM = words(1_500, "sys")

Ask = Callable[[Emulator, list[Any], str], Counts]
"""Sends a history at a top-level effort."""


def ask_claude(emulator: Emulator, history: list[Any], effort: str) -> Counts:
    newest = max(n for n, each in enumerate(history) if each["role"] == "user")
    said = dict(history[newest], content=[text(history[newest]["content"], marked=True)])
    messages = [*history[:newest], said, *history[newest + 1 :]]
    config: dict[str, Any] = {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    system = [text(SYSTEM, marked=True)]
    return count_claude(claude(emulator, *messages, system=system, **config))


def ask_responses(emulator: Emulator, history: list[Any], effort: str) -> Counts:
    settings: dict[str, Any] = {"instructions": SYSTEM, "reasoning": {"effort": effort}}
    return responses(emulator, *history, **settings)


def ask_openrouter(emulator: Emulator, history: list[Any], effort: str) -> Counts:
    newest = max(n for n, each in enumerate(history) if each["role"] == "user")
    said = {
        "role": "user",
        "content": [{"type": "text", "text": history[newest]["content"], **mark()}],
    }
    messages = [*history[:newest], said, *history[newest + 1 :]]
    usage = chat(
        emulator,
        {"role": "system", "content": SYSTEM},
        *messages,
        model="anthropic/claude-opus-5",
        url="https://openrouter.ai/api/v1/chat/completions",
        reasoning={"effort": effort},
    )
    details = usage["prompt_tokens_details"]
    read, written = details["cached_tokens"], details["cache_write_tokens"]
    return Counts(usage["prompt_tokens"] - read - written, read, written)


APIS: dict[str, tuple[Ask, Callable[[str], Any], bool]] = {
    # how to ask, the marker of a level, and whether it comes before the user's turn
    "anthropic": (
        ask_claude,
        lambda level: {"role": "system", "content": [], "output_config": {"effort": level}},
        False,
    ),
    "responses": (
        ask_responses,
        lambda level: {"type": "configuration_update", "reasoning": {"effort": level}},
        True,
    ),
    "openrouter": (
        ask_openrouter,
        lambda level: {
            "role": "system",
            "content": "",
            "configuration_update": {"reasoning": {"effort": level}},
        },
        True,
    ),
}


def histories(
    marker: Callable[[str], Any] | None, *, first: bool
) -> Iterator[tuple[list[Any], str]]:
    """Yield the history of each turn, and the top-level effort with which it is sent."""
    history: list[Any] = []
    for turn in range(TURNS):
        level = LEVELS[turn // 3 % len(LEVELS)]
        said = [{"role": "user", "content": words(150, f"u{turn}")}]
        if marker is not None and turn and turn % 3 == 0:
            said.insert(0 if first else 1, marker(level))
        history += said
        yield list(history), level if marker is None else LEVELS[0]
        history.append({"role": "assistant", "content": words(150, f"a{turn}")})


def find_share(ask: Ask, marker: Callable[[str], Any] | None, *, first: bool) -> float:
    """Return how much of what was sent before was read from the cache, over all turns."""
    emulator = Emulator()
    sent = read = before = 0
    for history, effort in histories(marker, first=first):
        counts = ask(emulator, history, effort)
        sent, read = sent + before, read + counts.read
        before = counts.prompt
    return read / sent


@pytest.mark.parametrize(("ask", "marker", "first"), APIS.values(), ids=APIS)
def test_changes_inside_the_conversation_keep_the_cache_and_top_level_ones_do_not(
    ask, marker, first
):
    assert find_share(ask, marker, first=first) >= 0.95
    assert find_share(ask, None, first=first) < 0.85

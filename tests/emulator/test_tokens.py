"""What was read before is read again for less, and the counts still add up."""

import pytest

import pondero
from pondero.canon import CacheBreakpoint, Text, Usage
from pondero.emulator import Emulator, ScriptedTurn
from pondero.exchange import Retry

LONG = "All of this was read before. " * 400  # about 2,900 tokens
MARKED = Text(LONG, cache=CacheBreakpoint())
AUTOMATIC = ("gpt-5.1", "openai-chat:gpt-5", "deepseek:deepseek-chat", "gemini-3-flash-preview")
SUM = "What is 17 * 23?"


def client(**options):
    return pondero.Client(transport=Emulator(**options), retry=Retry(attempts=1))


def read(usage):
    return usage.input + (usage.cache_read or 0) + (usage.cache_write or 0)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", AUTOMATIC)
def test_a_long_beginning_is_found_again_by_itself(model, stream):
    asker = client()
    first = asker.ask(model, SUM, "low", system=LONG, stream=stream).usage
    again = asker.ask(model, "What is 5 * 5?", "low", system=LONG, stream=stream).usage
    assert first.cache_read == 0
    assert again.cache_read >= 2_800
    assert again.cache_read % 128 == 0
    assert abs(read(again) - read(first)) <= 1
    assert again.known_total == again.total


@pytest.mark.parametrize("stream", [True, False])
def test_a_marked_beginning_is_written_once_and_read_after(stream):
    asker = client()
    first = asker.ask("claude-opus-5", SUM, "low", system=MARKED, stream=stream).usage
    again = asker.ask("claude-opus-5", "What is 5 * 5?", "low", system=MARKED, stream=stream).usage
    assert first.cache_write >= 2_800
    assert first.cache_read == 0
    assert (again.cache_read, again.cache_write) == (first.cache_write, 0)
    assert first.input < 20
    assert again.known_total == read(again) + again.output + again.thinking


def test_what_is_not_marked_is_not_cached_where_marks_count():
    asker = client()
    for _ in range(2):
        usage = asker.ask("claude-opus-5", SUM, "low", system=LONG).usage
        assert (usage.cache_read, usage.cache_write) == (0, 0)


def test_a_second_mark_reads_up_to_the_first_and_writes_the_rest():
    asker = client()
    first = asker.ask("claude-opus-5", SUM, "low", system=MARKED).usage
    more = asker.ask("claude-opus-5", [MARKED, SUM], "low", system=MARKED).usage
    assert more.cache_read == first.cache_write
    assert more.cache_write >= 2_800


@pytest.mark.parametrize("model", ["claude-opus-5", *AUTOMATIC])
def test_a_conversation_reads_its_own_past(model):
    chat = pondero.Chat(model, "low", client=client(), system=MARKED)
    chat.send(SUM)
    assert chat.send("What is 5 * 5?").usage.cache_read >= 2_800


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5.1", "gemini-3-flash-preview"])
def test_another_level_reads_everything_anew(model):
    asker = client()
    asker.ask(model, SUM, "low", system=MARKED)
    assert asker.ask(model, SUM, "high", system=MARKED).usage.cache_read == 0
    assert asker.ask(model, SUM, "low", system=MARKED).usage.cache_read > 0


@pytest.mark.parametrize("model", ["claude-opus-5", *AUTOMATIC])
def test_a_short_prompt_is_never_cached(model):
    asker = client()
    short = Text("Be brief.", cache=CacheBreakpoint())
    for _ in range(2):
        assert not asker.ask(model, SUM, "low", system=short).usage.cache_read


def test_counts_that_were_written_beforehand_stay():
    usage = Usage(input=5_000, output=1, thinking=0, total=5_001)
    asker = client(script=[ScriptedTurn(text="one", usage=usage)] * 2)
    for _ in range(2):
        assert asker.ask("gpt-5.1", LONG).usage.input == 5_000


def test_a_reset_forgets_what_was_read():
    emulator = Emulator()
    asker = pondero.Client(transport=emulator)
    asker.ask("gpt-5.1", SUM, "low", system=LONG)
    emulator.reset()
    assert asker.ask("gpt-5.1", SUM, "low", system=LONG).usage.cache_read == 0

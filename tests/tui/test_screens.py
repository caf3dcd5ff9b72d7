"""What the chat looks like: every screen is kept as a picture, and pressed out of the keys.

REWRITE_SCREENS=1 writes the pictures anew; look at them before they are kept.
"""

import pytest
from tests.tui.stage import stage

from pondero.emulator import Emulator

pytestmark = pytest.mark.anyio

QUESTION = "What is 17 * 23?"


async def test_an_empty_chat():
    async with stage() as chat:
        assert chat.matches("empty")


async def test_thinking_under_way_shows_its_last_lines_and_a_counter():
    async with stage() as chat:
        await chat.say_until_held(QUESTION, pieces=30)
        chat.clock.now += 6.2
        chat.app.frame()
        await chat.drawn()
        assert "thinking… 6 s · ~" in chat.text
        assert chat.matches("thinking")


async def test_a_thought_folds_to_one_line_when_the_answer_is_there():
    async with stage() as chat:
        await chat.say(QUESTION)
        assert "▸ thought 114 tokens · medium · summary" in chat.text
        assert "391" in chat.text
        assert chat.matches("folded")


async def test_a_thought_opens_with_a_key():
    async with stage() as chat:
        await chat.say(QUESTION)
        await chat.press("ctrl+o")
        assert "▾ thought 114 tokens" in chat.text
        assert "First, 17 * 23 = 391." in chat.text
        assert chat.matches("open")


async def test_the_picker_has_only_the_levels_of_this_model():
    async with stage("claude-sonnet-4-5/medium") as chat:
        await chat.say(QUESTION)
        await chat.press("ctrl+t")
        assert "low      22,016 tokens" in chat.text
        assert "xhigh" not in chat.text
        assert chat.matches("picker")


async def test_a_switch_with_a_warning():
    async with stage() as chat:
        await chat.say("/model gemini-3-pro/none")
        assert "⚠ This model does not support disabling thinking" in chat.text
        assert "gemini-3-pro · off → low" in chat.text
        assert chat.matches("switch")


async def test_a_handoff_says_what_the_other_model_is_not_shown():
    async with stage() as chat:
        await chat.say(QUESTION)
        await chat.say("/model gpt-5/high")
        assert "Handoff: 2 parts kept, 1 withheld" in chat.text
        assert "(at " not in chat.text
        assert chat.matches("handoff")


async def test_another_level_of_the_same_model_says_nothing_of_a_handoff():
    async with stage() as chat:
        await chat.say(QUESTION)
        await chat.say("/model gpt-5/high")
        await chat.say("/thinking low")
        assert "low effort" in chat.text
        assert chat.text.count("Handoff:") == 1


async def test_an_error_is_a_sentence_and_a_way_on_and_the_words_come_back():
    async with stage() as chat:
        await chat.say(f"{QUESTION} [emulator: fault 529]")
        assert "✗ Overloaded" in chat.text
        assert chat.app.prompt.text.startswith(QUESTION)
        assert chat.matches("error")


async def test_a_narrow_terminal():
    async with stage(size=(38, 20)) as chat:
        await chat.say(QUESTION)
        await chat.press("ctrl+o")
        assert "─ Enter sends · /help ─" in chat.text
        assert chat.matches("narrow")


async def test_a_light_terminal():
    async with stage(theme="light") as chat:
        await chat.say(QUESTION)
        await chat.say("/model claude-sonnet-4-5/high")
        assert chat.matches("light")


async def test_without_colours(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with stage() as chat:
        await chat.say(QUESTION)
        assert chat.matches("no_color")


async def test_commands_are_completed_above_the_input_line():
    async with stage() as chat:
        await chat.type("/model claude-opus-5/")
        await chat.drawn()
        assert "▸ /model claude-opus-5/off" in chat.text
        assert chat.matches("completion")


async def test_tools_that_were_called_are_shown_with_what_they_gave():
    def get_weather(city: str) -> str:
        """Return the weather in a city."""
        return f"{city}: sunny, 21 degrees"

    async with stage(tools=[get_weather]) as chat:
        await chat.say("What is the weather in Paris?")
        assert '⚙ get_weather(city="Paris")' in chat.text
        assert "→ Paris: sunny, 21 degrees" in chat.text
        assert chat.matches("tool")


MARKDOWN = """\
## Primes

A number is **prime** if only `1` and itself divide it.

- 2
- 3

```python
def is_prime(n):
    return n > 1 and all(n % d for d in range(2, n))
```

| n | prime |
|---|---|
| 7 | yes |
| 9 | no |
"""


async def test_an_answer_is_markdown():
    from pondero.canon import Message, Reply, Text

    def mind(accepted):
        return Reply(Message("assistant", (Text(MARKDOWN),)), "stop")

    async with stage(
        "claude-opus-5/off", size=(80, 32), emulator=lambda **how: Emulator(responder=mind, **how)
    ) as chat:
        await chat.say("What is a prime?")
        assert chat.matches("markdown")


async def test_help():
    async with stage(size=(100, 32)) as chat:
        await chat.say("/help")
        assert chat.matches("help")

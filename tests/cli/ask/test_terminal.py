"""``pondero ask`` where somebody looks: on real terminals, wide and narrow, coloured and not."""

import io
import os
import re
import subprocess
import sys

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.terminal import Terminal, running

from pondero.cli.output.live import Typeset, blocks
from pondero.emulator import Fault, ScriptedTurn
from pondero.store import Threads

SUM = "What is 17 * 23?"
MARKDOWN = """\
# Primes

Some **bold** words, `code`, and a [link](https://example.com).

1. first
2. second
   - inner

```python
def f(x):
    return x + 1
```

| n | prime |
|---|-------|
| 7 | yes   |

> quoted

Last words.
"""
WORDS = " ".join(f"word{number}" for number in range(400))


def asked(*arguments, environment, columns=80, lines=24) -> Terminal:
    """Ask on a terminal, and return it when all is said."""
    with running("ask", *arguments, environment=environment, columns=columns, lines=lines) as made:
        assert made.ended() == 0, made.text
        return made


# -- one answer ------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 40])
def test_markdown_is_drawn(service, environment, columns):
    service.expect(ScriptedTurn(thinking="hm", text=MARKDOWN))
    seen = asked(
        "claude-opus-5/low", SUM, "--no-thinking", environment=environment, columns=columns
    )
    lines = seen.text.splitlines()
    assert lines[:3] == ["Primes", "", "Some bold words, code, and a link"[:columns] if columns < 50 else "Some bold words, code, and a link (https://example.com)."]  # fmt: skip
    assert " 1 first" in lines
    assert "    • inner" in lines
    assert "      return x + 1" in lines
    assert "▌ quoted" in lines
    assert "**" not in seen.text
    assert [line for line in lines if line][-1] == "Last words."
    assert "\n\n\n" not in seen.text.rstrip()  # one empty line between blocks, and no more
    assert b"\x1b]8;" not in seen.seen  # no hyperlink whose address the model chose


def test_plain_is_word_for_word(service, environment):
    service.expect(ScriptedTurn(text=MARKDOWN))
    seen = asked("claude-opus-5/off", SUM, "--plain", environment=environment, lines=40)
    assert [line.rstrip() for line in MARKDOWN.splitlines()] == seen.text.rstrip().splitlines()


@pytest.mark.parametrize("columns", [80, 41])
def test_thinking_is_broken_between_words(service, environment, columns):
    service.expect(ScriptedTurn(thinking=WORDS, text="391"))
    given = ("claude-opus-5/high", SUM, "--thinking")
    seen = asked(*given, environment=environment, columns=columns, lines=120)
    lines = seen.text.rstrip().splitlines()
    thought = lines[: lines.index("")]
    assert " ".join(thought) == WORDS
    assert len(thought) > 1
    assert lines[-1] == "391"


def test_the_result_of_a_tool_is_broken_between_words(environment, tmp_path):
    tool = tmp_path / "weather.py"
    said = "rain in the morning, nine degrees, and a cold wind from the north"
    tool.write_text(f"def forecast(city: str) -> str:\n    'Forecast.'\n    return {said!r}\n")
    given = ("gpt-5.1/low", "What is the forecast for Bern?", "--tool", f"{tool}:forecast")
    seen = asked(
        "--offline", *given, "--approve", "all", environment=environment, columns=40, lines=40
    )
    words = " ".join(seen.text.split())
    assert f'⚙ forecast({{"city":"Bern"}}) → {said}' in words


def test_the_figures_of_an_answer_are_broken_between_words(service, environment):
    seen = asked("claude-opus-5/low", SUM, "--usage", environment=environment, columns=44)
    whole = [row.rstrip() for row in seen.text.splitlines()]
    rows = whole[whole.index("17 * 23 = 391") + 1 :]
    words = (
        r"anthropic:claude-opus-5/low · \d+ in, \d+ thinking, \d+ answer tokens · .* · as planned"
    )
    assert re.search(words, " ".join(rows))
    assert max(map(len, rows)) < 44  # a word that is cut in two fills the row


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["ask", "--help"], "[MODEL[/LEVEL]]"),
        (["ask", "--nosuch"], "see 'pondero ask --help'"),
        (["threads"], "[OPTIONS] COMMAND [ARGS]..."),
    ],
)
def test_help_and_usage_fit_a_narrow_terminal(environment, typed, words):
    with running(*typed, environment=environment, columns=40, lines=300) as made:
        made.ended()
    rows = [row.rstrip() for row in made.text.splitlines()]
    assert words in " ".join(made.text.split())
    assert max(map(len, rows)) < 40


def test_thinking_in_a_pipe_is_one_line(service, environment):
    service.expect(ScriptedTurn(thinking=WORDS, text="391"))
    program = [sys.executable, "-c", "from pondero.cli import main; main()", "ask", "--thinking"]
    done = subprocess.run(
        [*program, "claude-opus-5/high", SUM],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "COLUMNS": "40", **environment},
    )
    assert (done.stdout, done.stderr) == ("391\n", f"{WORDS}\n\n")


def test_a_terminal_that_wants_no_colours_gets_none(service, environment):
    service.expect(
        ScriptedTurn(thinking="hm", text=MARKDOWN), ScriptedTurn(thinking="hm", text=MARKDOWN)
    )
    coloured = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|4[0-7])(?:;\d+)*m")
    assert coloured.search(asked("claude-opus-5/low", SUM, environment=environment).seen)
    plain = {**environment, "NO_COLOR": "1"}
    assert not coloured.search(asked("claude-opus-5/low", SUM, environment=plain).seen)


def test_a_dumb_terminal_gets_the_words_and_no_sequence(service, environment):
    service.expect(ScriptedTurn(thinking="hm", text=MARKDOWN))
    dumb = {**environment, "TERM": "dumb", "NO_COLOR": "1"}
    seen = asked("claude-opus-5/low", SUM, environment=dumb, lines=40)
    assert b"\x1b" not in seen.seen
    assert "Some **bold** words" in seen.text


@pytest.mark.parametrize("plain", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_without_colours_words_tell_thinking_from_the_answer(service, environment, plain):
    service.expect(*(ScriptedTurn(thinking="hm", text="391") for _ in range(2)))
    lines = asked("claude-opus-5/low", SUM, environment={**environment, **plain}).text.split()
    assert lines == ["thinking:", "hm", "answer:", "391"]
    assert "answer:" not in asked("claude-opus-5/low", SUM, environment=environment).text


def test_an_answer_longer_than_the_screen_is_whole(service, environment):
    listed = "\n".join(f"- item {number}" for number in range(100))
    service.expect(ScriptedTurn(text=listed))
    seen = asked("claude-opus-5/off", SUM, environment=environment)
    screen = pyte.HistoryScreen(80, 24, history=1000, ratio=1)
    pyte.ByteStream(screen).feed(seen.seen)
    rows = [*screen.history.top, *(screen.buffer[y] for y in range(24))]
    texts = ["".join(row[x].data for x in range(80)).strip() for row in rows]
    assert [text for text in texts if text] == [f"• item {number}" for number in range(100)]


def test_a_value_is_indented_for_people(environment):
    seen = asked("--offline", "gpt-5.1", "--schema", "age int", "7?", environment=environment)
    assert seen.text.split() == ["{", '"age":', "7", "}"]


@pytest.mark.parametrize(("after", "doing"), [(None, "waiting"), (1500, "thinking")])
def test_a_wait_is_counted_and_leaves_no_trace(service, environment, after, doing):
    """It is called thinking once something came: a failed connection is no thinking."""
    service.faults.append(Fault(kind="hang", at=after))
    given = ("ask", "claude-opus-5/high", SUM, "--no-thinking")
    with running(*given, environment=environment) as terminal:
        terminal.until(f"{doing} ", " s")
        terminal.press("\x03")
        assert terminal.ended() == 130
        assert terminal.text.replace("^C", "").split() == ["interrupted"]
        assert terminal.seen.count(b"\x1b[?25l") == terminal.seen.count(b"\x1b[?25h")


def test_an_answer_that_is_interrupted_stands_and_is_kept_as_far_as_it_came(service, environment):
    service.expect(ScriptedTurn(text=WORDS, fault=Fault(kind="hang", at=4000)))
    with running("ask", "claude-opus-5/off", SUM, environment=environment) as terminal:
        terminal.until("word9")
        terminal.press("\x03")
        assert terminal.ended() == 130
        assert "word0 word1 word2" in terminal.text
        assert terminal.text.rstrip().endswith("interrupted")
    with Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db") as threads:
        _, answer = threads.load_messages("last")
    assert answer.partial
    assert WORDS.startswith(answer.message.text)
    assert "word9" in answer.message.text


@pytest.mark.parametrize(
    "how", [(), ("--json",), ("--json-lines",), ("--levels", "low,high"), ("--schema", "age int")]
)
def test_a_reader_that_has_gone_is_no_error(environment, how):
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-c", "from pondero.cli import main; main()", "ask", "--offline"]
    done = subprocess.run(
        [*program, *how, "claude-opus-5", SUM],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environment},
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


# -- several ---------------------------------------------------------------------------------------

BOTH = ("-m", "claude-opus-5/low", "-m", "gpt-5.1/high")


def test_two_answers_stand_side_by_side_with_their_figures(environment):
    seen = asked("--offline", *BOTH, SUM, environment=environment)
    assert re.search(r"claude-opus-5/low +gpt-5\.1/high\n", seen.text)
    assert re.search(r"17 \* 23 = 391 +17 \* 23 = 391\n", seen.text)
    assert re.search(r"thinking  \d+ +thinking  \d+\n", seen.text)
    assert re.search(r"cost +offline +cost +offline\n", seen.text)
    assert re.search(r"time +[\d.]+ s +time +[\d.]+ s\n", seen.text)
    assert re.search(r"verdict +as planned +verdict +as planned", seen.text)


def test_on_a_narrow_terminal_they_stand_one_below_the_other(environment):
    seen = asked("--offline", *BOTH, SUM, environment=environment, columns=40)
    lines = [line for line in seen.text.splitlines() if line]
    assert lines[0] == "claude-opus-5/low"
    assert lines[1] == "17 * 23 = 391"
    assert "gpt-5.1/high" in lines
    assert seen.text.count("17 * 23 = 391") == 2


def test_one_that_failed_stands_beside_the_other(environment):
    with running("ask", "--offline", "-m", "claude-opus-5", "-m", "gpt-5.1", "--levels", "low",
                 "-a", "https://example.com/a.png", SUM, environment=environment) as terminal:  # fmt: skip
        assert terminal.ended() == 0
    given = ("-m", "claude-opus-5", "-m", "no-such-model-anywhere")
    with running("ask", *given, SUM, environment=environment) as terminal:
        assert terminal.ended() == 2
        assert "ANTHROPIC_API_KEY" in terminal.text.replace("\n", "")


def test_answers_that_are_whole_are_shown_when_the_others_are_interrupted(service, environment):
    service.expect(
        ScriptedTurn(text="Whole."), ScriptedTurn(text=WORDS, fault=Fault(kind="hang", at=4000))
    )
    given = ("claude-opus-5", "--levels", "off,low")
    with running("ask", *given, SUM, environment=environment) as terminal:
        terminal.until("done", "answering")
        terminal.press("\x03")
        assert terminal.ended() == 130
        assert "Whole." in terminal.text
        assert "answering" not in terminal.text
    with Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db") as threads:
        kept = [threads.load_messages(thread.id)[1] for thread in threads.list()]
    assert sorted(each.partial for each in kept) == [False, True]


def test_columns_wait_until_something_came(service, environment):
    service.faults += [Fault(kind="hang"), Fault(kind="hang")]
    given = ("claude-opus-5", "--levels", "low,high")
    with running("ask", *given, SUM, environment=environment) as terminal:
        terminal.until("low   waiting ", " s")
        terminal.press("\x03")
        assert terminal.ended() == 130
        assert "thinking" not in terminal.text


# -- laws ------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["# a\n", "b *c* d\n", "\n", "- e\n", "  - f\n", "1. g\n", "```\n", "h = 1\n", "| i | j |\n",
     "|---|---|\n", "> k\n", "---\n", "===\n", "\x1b[2J", "\x1b]0;x\x07", "\r", "m\r\n", "l", " ", "\u202e"]
)  # fmt: skip


class _Screen(io.StringIO):
    def isatty(self):
        return True


def drawn(pieces, monkeypatch):
    """What a terminal shows of an answer that came in these pieces, each of them drawn."""
    stream = _Screen()
    monkeypatch.setattr("sys.stdout", stream)
    typeset = Typeset()
    for piece in pieces:
        typeset.write(piece)
    typeset.end()
    screen = pyte.Screen(60, 60)
    pyte.Stream(screen).feed(stream.getvalue().replace("\n", "\r\n"))
    return "\n".join(line.rstrip() for line in screen.display).rstrip(), stream.getvalue()


@given(st.lists(PIECES, max_size=12))
def test_a_document_in_pieces_is_drawn_like_the_whole_and_steers_nothing(pieces):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "60")
        patch.setenv("LINES", "60")
        patch.setattr("pondero.cli.output.live._OFTEN", 0)
        whole, _ = drawn(["".join(pieces)], patch)
        came, written = drawn(pieces, patch)
    assert came == whole
    assert "\x1b[2J" not in written
    assert "\x1b]" not in written
    assert "\u202e" not in written


@given(st.lists(PIECES, max_size=12), PIECES)
def test_more_text_changes_the_last_block_only(pieces, more):
    before, after = list(blocks("".join(pieces))), list(blocks("".join([*pieces, more])))
    settled = before[:-1]
    assert after[: len(settled)] == settled


def test_a_block_is_what_markdown_takes_for_one():
    fence, item, words = "```\na\n\nb\n```\n\n", "- c\n\n  d\n\n", "e\nf\n"
    assert list(blocks(fence + item + words)) == [fence, item, words]
    assert list(blocks("")) == []


# -- terminals that are no usual ones ----------------------------------------------------------------


def test_a_terminal_without_a_size_gets_whole_words(service, environment):
    service.expect(ScriptedTurn(text="Yes.", thinking="Perhaps it is the umbrella."))
    made = asked("claude-opus-5/high", "--thinking", SUM, environment=environment, columns=0)
    plain = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", made.seen)
    assert b"Perhaps it is the umbrella." in plain


def test_a_table_that_is_too_wide_is_printed_as_records(service, environment):
    heads = [f"head{number}" for number in range(14)]
    rows = [[f"r{row}c{number}" for number in range(14)] for row in range(2)]
    lines = [heads, ["---"] * 14, *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    service.expect(ScriptedTurn(text=text))
    made = asked("claude-opus-5", SUM, environment=environment, lines=60)
    shown = [line.split() for line in made.text.splitlines() if line.strip()]
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            assert [head, cell] in shown


def test_usage_says_what_is_unknown(service, environment):
    service.expect(ScriptedTurn(text="Yes."))
    made = asked("claude-opus-5", "--usage", SUM, environment=environment, columns=120)
    line = next(line for line in made.text.splitlines() if " tokens" in line)
    assert not line.rstrip().endswith("· unknown")

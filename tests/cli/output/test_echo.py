"""What is printed: visible on a screen, exact in a pipe, and the pieces leave no trace."""

import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import escape_controls
from pondero.cli.app import run
from pondero.cli.output import echo as output

HOSTILE = "a\x1b]0;owned\x07b\x1b[31mred\x1b[0m\r\nc\rd\x9b2J\x1bc\u202e é\n"
TEXTS = st.text(st.sampled_from("a\x1b[31m;\r\n\t\x07\x9bé"), max_size=30)


class _Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__(newline="")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@contextmanager
def _stdout(*, terminal: bool) -> Iterator[_Stream]:
    with pytest.MonkeyPatch.context() as patch:
        stream = _Stream(terminal=terminal)
        patch.setattr("sys.stdout", stream)
        yield stream


@given(TEXTS | st.just(HOSTILE), st.lists(st.integers(0, 40), max_size=6), st.booleans())
def test_a_text_in_pieces_is_printed_like_the_whole(text, places, terminal):
    at = sorted({0, len(text), *(min(place, len(text)) for place in places)})
    with _stdout(terminal=terminal) as stream:
        typing = output.Typing()
        for begin, end in itertools.pairwise(at):
            typing.write(text[begin:end])
        typing.end()
    assert stream.getvalue() == (escape_controls(text) if terminal else text)


@given(TEXTS | st.just(HOSTILE), st.integers(0, 40), st.booleans())
def test_a_wrapped_text_is_as_visible_and_exact_in_a_pipe(text, place, terminal):
    with _stdout(terminal=terminal) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "8")
        typing = output.Typing(wrap=True)
        typing.write(text[:place])
        typing.write(text[place:])
        typing.end()
    written = stream.getvalue()
    if terminal:
        assert written.split() == escape_controls(written).split()
        assert "".join(written.split()) == "".join(escape_controls(text).split())
        assert all(len(line.expandtabs()) <= 8 for line in written.split("\n"))
    else:
        assert written == text


@pytest.mark.parametrize("terminal", [True, False])
def test_words_for_people_hold_no_control_character_anywhere(terminal):
    with _stdout(terminal=terminal) as stream:
        output.echo(HOSTILE, nl=False)
    assert stream.getvalue() == escape_controls(HOSTILE)


def test_colours_are_ours_and_only_on_a_screen():
    with _stdout(terminal=True) as screen:
        output.echo("[", output.style_text("\x1b[31mred", fg="green"), "]")
    assert screen.getvalue() == "[\x1b[32m\\u001b[31mred\x1b[0m]\n"
    with _stdout(terminal=False) as pipe:
        output.echo("[", output.style_text("green", fg="green"), "]")
    assert pipe.getvalue() == "[green]\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_no_word_of_an_error_is_cut_in_two_on_a_terminal(monkeypatch, terminal):
    monkeypatch.setenv("COLUMNS", "40")
    stream = _Stream(terminal=terminal)
    monkeypatch.setattr("sys.stderr", stream)
    said = "pondero: unknown model 'gtp-5'; did you mean 'gpt-5'? see 'pondero models'\n(a note)"
    output.say_error(said)
    lines = stream.getvalue().splitlines()
    if not terminal:
        assert stream.getvalue() == f"{said}\n"
    else:
        assert max(map(len, lines)) <= 40
        assert stream.getvalue().split() == said.split()
        assert lines[-1] == "(a note)"


def test_an_error_of_a_command_is_wrapped_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = _Stream(terminal=True)
    monkeypatch.setattr("sys.stderr", stream)
    assert run(["plan", "gtp-5555-which-is-no-model"]) == 2
    assert max(map(len, stream.getvalue().splitlines())) <= 40


def test_half_a_surrogate_pair_does_not_stop_a_pipe():
    with _stdout(terminal=False) as pipe:
        output.echo("a\ud800b", exact=True)
    assert pipe.getvalue() == "a?b\n"

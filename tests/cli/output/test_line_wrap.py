"""Laws of lines that are broken between words, however the text arrives."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import get_character_cell_size

from pondero.cli.output.line_wrap import LineWrap

WIDTHS = st.integers(4, 20)
WORDS = st.text(st.sampled_from("ab-,é漢字😀e\u0301"), min_size=1, max_size=12)
GAPS = st.sampled_from([" ", "  ", "\n", "\n\n", "\t", " \n", "\n    ", ""])
TEXTS = st.lists(st.tuples(GAPS, WORDS)).map(lambda pairs: "".join(map("".join, pairs)))
NARROW = st.lists(st.text("ab", min_size=1, max_size=4)).map(" ".join)


def cells(text):
    return sum(map(get_character_cell_size, text))


def wrapped(*pieces, width):
    wrap = LineWrap()
    return "".join(wrap.feed(piece, width) for piece in pieces) + wrap.end(width)


@given(TEXTS, WIDTHS)
def test_nothing_but_blanks_is_lost_or_added(text, width):
    assert "".join(wrapped(text, width=width).split()) == "".join(text.split())


@given(TEXTS, WIDTHS)
def test_no_line_is_longer_than_the_terminal_is_wide(text, width):
    assert all(cells(line) <= width for line in wrapped(text, width=width).split("\n"))


@given(TEXTS, WIDTHS, st.lists(st.integers(0, 80), max_size=6))
def test_pieces_leave_no_trace(text, width, places):
    at = sorted({0, len(text), *(min(place, len(text)) for place in places)})
    pieces = [text[begin:end] for begin, end in itertools.pairwise(at)]
    assert wrapped(*pieces, width=width) == wrapped(text, width=width)


@given(TEXTS, WIDTHS)
def test_lines_of_the_text_stay_lines_and_what_fits_stays_as_it_is(text, width):
    lines = text.split("\n")
    assert wrapped(text, width=width) == "\n".join(wrapped(line, width=width) for line in lines)
    for line in lines:
        seen = "".join(letter for letter in line if letter == "\t" or cells(letter))
        if cells(seen.expandtabs()) <= width:  # expandtabs counts an accent as a column
            assert wrapped(line, width=width) == line


@given(NARROW, WIDTHS)
def test_a_line_ends_only_before_a_word_that_has_no_room(text, width):
    lines = wrapped(text, width=width).split("\n")
    assert " ".join(lines) == text
    for line, after in itertools.pairwise(lines):
        assert len(line) + 1 + len(after.split()[0]) > width


@given(TEXTS, WIDTHS)
def test_at_most_one_word_waits(text, width):
    wrap = LineWrap()
    shown = "".join(wrap.feed(letter, width) for letter in text)
    rest = "".join(text.split()).removeprefix("".join(shown.split()))
    assert len(rest.split()) <= 1
    assert cells(rest) <= width
    last = text.split()[-1] if text.split() else ""
    assert last.endswith(rest)


def test_a_text_after_the_end_begins_a_line():
    wrap = LineWrap()
    assert wrap.feed("aaaa", 5) + wrap.end(5) == "aaaa"
    assert wrap.feed("bbbb", 5) + wrap.end(5) == "bbbb"

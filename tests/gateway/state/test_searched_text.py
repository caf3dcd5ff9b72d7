"""What is kept of a search is what a new search finds."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.gateway.state.searched_text import Mark, SearchedText


def _has_digit(text: bytes) -> bool:
    return any(48 <= each <= 57 for each in text)


MARKS: tuple[Mark, ...] = (b"a", b"bc", b"cab", _has_digit)
texts = st.lists(st.text("abc1", max_size=5).map(str.encode), max_size=4).map(tuple)
marks = st.lists(st.sampled_from(MARKS))


@given(texts, texts, st.integers(0, 4), marks, marks, marks, marks, st.booleans())
def test_a_longer_text_has_the_marks_that_a_search_of_it_finds(
    known, new, taken, asked_of_known, asked_of_new, asked_of_rest, asked_later, is_joined
):
    """Whatever was asked: of the beginning, before and after, of all new texts, and of them in one."""
    joined = b"\n".join(new) if is_joined else None
    before, all_new = SearchedText(known), SearchedText(new, joined=joined)
    rest = SearchedText((b"\n".join((*new, b"other 1")),))
    for text, asked in ((before, asked_of_known), (all_new, asked_of_new), (rest, asked_of_rest)):
        for mark in asked:
            text.contains(mark)
    longer = before.extend(new[:taken], (all_new, rest))
    for mark in asked_later:
        before.contains(mark)
    anew = SearchedText((*known, *new[:taken]))
    assert longer.texts == anew.texts
    assert [all_new.contains(mark) for mark in MARKS] == [
        SearchedText(new).contains(mark) for mark in MARKS
    ]
    assert [longer.contains(mark) for mark in MARKS] == [anew.contains(mark) for mark in MARKS]


def test_a_mark_that_the_new_texts_lack_is_not_looked_for_again():
    looked: list[bytes] = []

    def note(text: bytes) -> bool:
        looked.append(text)
        return False

    before, new = SearchedText(), SearchedText((b"one", b"two"))
    assert not before.contains(note)
    assert not new.contains(note)
    assert not before.extend(new.texts[:1], (new,)).contains(note)
    assert looked == [b"one", b"two"]


def test_a_mark_that_is_looked_for_later_is_looked_for_in_new_texts_alone():
    """A request remembers its turns first, and then looks for marks in those it knew."""
    looked: list[bytes] = []

    def note(text: bytes) -> bool:
        looked.append(text)
        return False

    known = SearchedText((b"one",))
    longer = known.extend((b"two",)).extend((b"three",))
    assert not known.contains(note)
    assert not longer.contains(note)
    assert looked == [b"one", b"two", b"three"]

"""Pieces of a text are joined while it still goes on: the same text, in few pieces."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import join_pieces

PIECES = st.lists(st.text(max_size=30), max_size=600)


@given(PIECES, st.integers(1, 40))
def test_a_text_stays_the_same_and_has_few_pieces(pieces, at_once):
    texts: list[str] = []
    for start in range(0, len(pieces), at_once):
        texts += pieces[start : start + at_once]
        join_pieces(texts)
        said = "".join(pieces[: start + at_once])
        assert "".join(texts) == said
        assert len(texts) <= max(64, len(said) // 64) + 1


def test_a_long_text_is_not_copied_for_every_piece():
    texts, copied = [], 0
    for _ in range(100_000):
        texts.append("five.")
        before = len(texts)
        join_pieces(texts)
        copied += len(texts[0]) if len(texts) < before else 0
    assert copied < 64 * 500_000

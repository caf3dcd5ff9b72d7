"""Lines broken between words at a terminal's edge, in a text that arrives in pieces."""

from rich.cells import get_character_cell_size

_TAB = 8
_WIDE = 2  # columns of a Chinese letter or an emoji, after each of which a line may end


class LineWrap:
    """Takes a text in any pieces, and returns it with a newline before each word that lacks room.

    A word and the blanks before it wait until its end is known; a longer one is broken.
    """

    def __init__(self) -> None:
        self._column = 0
        self._blanks = ""
        self._word = ""
        self._cells = 0  # the columns that the word takes
        self._is_wide = False

    def feed(self, text: str, width: int) -> str:
        """Return what can be printed now, on a terminal of this many columns."""
        return "".join(self._take(letter, width) for letter in text)

    def end(self, width: int) -> str:
        """Return what waits; the next text begins a line."""
        rest = self._place_word(width)
        if self._next_column() <= width:
            rest += self._blanks
        self._column, self._blanks = 0, ""
        return rest

    def _take(self, letter: str, width: int) -> str:
        if letter == "\n":
            return f"{self.end(width)}\n"
        if letter in " \t":
            done = self._place_word(width)
            self._blanks += letter
            return done
        size = get_character_cell_size(letter)
        is_wide = size == _WIDE or (self._is_wide and not size)  # an accent is of its letter
        apart = size and (is_wide or self._is_wide or self._cells + size > width)
        done = self._place_word(width) if apart else ""
        self._word += letter
        self._cells += size
        self._is_wide = is_wide
        return done

    def _place_word(self, width: int) -> str:
        if not self._word:
            return ""
        begin, before = self._next_column(), self._blanks
        if begin + self._cells > width:
            begin, before = 0, "\n" if self._column else ""
        placed = before + self._word
        self._column = begin + self._cells
        self._blanks, self._word, self._cells, self._is_wide = "", "", 0, False
        return placed

    def _next_column(self) -> int:
        column = self._column
        for blank in self._blanks:
            column += _TAB - column % _TAB if blank == "\t" else 1
        return column

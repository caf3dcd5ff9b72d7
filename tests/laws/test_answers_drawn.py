"""Law: what stands on the screen is what came, for any Markdown in any pieces."""

import asyncio
import itertools
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.pilot import Pilot

from pondero.tui._screen.app import ChatApp
from pondero.tui._screen.widgets.answer import AnswerView
from pondero.tui._screen.widgets.visible import document
from pondero.tui.state import AnswerCell

WIDTHS = (40, 80, 120)
HEIGHT = 100

WORD = st.integers(0, 99_999).map(lambda n: f"w{n:05}")
WORDS = st.lists(WORD, min_size=1, max_size=4).map(" ".join)
LINES = st.lists(WORDS, min_size=1, max_size=4)


def _prefixed(prefix: str) -> st.SearchStrategy[str]:
    return LINES.map(lambda lines: "".join(f"{prefix}{line}\n" for line in lines))


def _table(rows: list[tuple[str, str]]) -> str:
    lines = ["| left | right |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]
    return "".join(f"{line}\n" for line in lines)


def _nested(lines: list[str]) -> str:
    return "".join(f"{'  ' * (number % 3)}- {line}\n" for number, line in enumerate(lines))


BLOCKS = st.one_of(
    _prefixed(""),
    _prefixed("- "),
    _prefixed("1. "),
    _prefixed("> "),
    _prefixed("    "),
    LINES.map(_nested),
    LINES.map(lambda lines: "```python\n" + "\n".join(lines) + "\n```\n"),
    LINES.map(lambda lines: "~~~\n" + "\n\n".join(lines) + "\n~~~\n"),
    st.lists(st.tuples(WORD, WORD), max_size=4).map(_table),
    st.tuples(st.integers(1, 6), WORDS).map(lambda made: f"{'#' * made[0]} {made[1]}\n"),
    WORDS.map(lambda words: f"{words}\n===\n"),
    WORDS.map(lambda words: f"<div class='x'>\n{words}\n</div>\n"),
    WORDS.map(lambda words: f"**{words}** and `{words}` in <b>tags</b>\n"),
    st.just("---\n"),
)
DOCUMENTS = st.lists(
    st.tuples(BLOCKS, st.sampled_from(["", "\n"])).map("".join), min_size=1, max_size=5
).map("".join)


def _cut(text: str, places: list[int]) -> list[str]:
    """Return the text cut at these places, each a number that is taken by the text's length."""
    at = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[begin:end] for begin, end in itertools.pairwise(at)]


class Page(App[None]):
    """An answer on a page that looks like the chat's."""

    CSS_PATH = ChatApp.CSS_PATH

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        yield VerticalScroll(id="page")

    async def draw(self, pilot: Pilot[None]) -> str:
        """Wait until all is drawn, and return what stands there."""
        await self.workers.wait_for_complete()
        await pilot.pause()
        strips = self.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)


async def streamed(pieces: list[str], widths: list[int]) -> None:
    """Show an answer piece by piece while the window changes; look at it after each piece."""
    page, text = Page(), ""
    async with page.run_test(size=(widths[-1], HEIGHT)) as pilot:
        place = page.query_one("#page")
        view = AnswerView(AnswerCell(key=1, live=True))
        view._whole.set()  # no pause between two drawings
        await place.mount(view)
        for number, piece in enumerate(pieces):
            text += piece
            view.show(AnswerCell(key=1, text=text, live=True))
            shown = await page.draw(pilot)
            assert _words(shown) == _words(text)
            if number < len(widths):
                await pilot.resize_terminal(widths[number], HEIGHT)
        view.show(AnswerCell(key=1, text=text))
        shown = await page.draw(pilot)
        await view.remove()
        whole = document()
        await place.mount(Vertical(whole, classes="spoken"))
        await whole.update(text)
        assert shown == await page.draw(pilot)


def _words(text: str) -> list[str]:
    return re.findall(r"w\d{5}", text)


@settings(max_examples=25)
@example("```\nw00001\nw00002\n```\n", [8, 12], [80, 40])
@example("- w00001\n- w00002\n- w00003\n", [14, 20], [80])
@example("w00001\nw00002\nw00003 w00004\n", [10, 16], [120])
@example("|a|b|\n|-|-|\n|w00001|2|\n```\nw00002\n```\n", [24], [80])  # a row that was none
@example("- w00001\n**w00002** w00003\n", [10], [80])  # a second list that was none
@example("w00001 [x]\n\nw00002\n\n[x]: http://localhost\n", [9, 20], [40])
@given(
    DOCUMENTS,
    st.lists(st.integers(0, 9_999), max_size=4),
    st.lists(st.sampled_from(WIDTHS), min_size=1, max_size=3),
)
def test_an_answer_in_pieces_looks_like_the_whole(document, places, widths):
    asyncio.run(streamed(_cut(document, places), widths))

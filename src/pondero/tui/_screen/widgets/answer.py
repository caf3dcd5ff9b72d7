"""An answer as Markdown: drawn in chunks, of which only those near the window are laid out."""

import asyncio
from contextlib import suppress
from time import perf_counter

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Markdown, Static

from ....canon import escape_controls
from ...state import AnswerCell
from .chunks import draw_tables_as_text, split_answer
from .visible import content, document, is_safe_text

_BREATH = 0.05
"""Seconds between two drawings of an answer that is still coming, at least."""
_PADDING = 2
"""Columns at the sides of a document."""
_LONG = 8_000
"""Letters of an arriving answer from which on its finished chunks are laid aside."""


class Chunk(Vertical):
    """A part of an answer. Asleep it has no widgets, only a height: the last, or a guess.

    The page that it is on wakes it; elsewhere it is always awake.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(classes="chunk")
        self.text: str = text
        self.document: Markdown | None = None
        self.is_live: bool = not text
        self._shown = ""
        self._is_begun = False
        self._heights: dict[int, int] = {}

    async def on_mount(self) -> None:
        """Begin an answer that arrives, or take the room that the text will need."""
        self._is_begun = True
        if self.is_live or self._is_last or not self._is_on_page:
            await self.draw()
        else:
            self.fit()

    @property
    def _is_on_page(self) -> bool:
        return any(each.has_class("page") for each in self.ancestors)

    @property
    def _is_last(self) -> bool:
        """Return whether this is the end of the last answer, which is being read."""
        view = self.parent
        if not isinstance(view, AnswerView) or view.parent is None:
            return False
        last = [each for each in view.parent.children if isinstance(each, AnswerView)][-1:]
        return last == [view] and view.chunks[-1] is self

    def on_resize(self) -> None:
        """Draw a table in the other way, if that fits better now."""
        is_drawn = self.document is not None and self.document.is_attached and not self.is_live
        if is_drawn and self.to_draw() != self._shown:
            self.sleep()
            self.wake()

    def to_draw(self) -> str:
        """Return the text as it fits into the width there is now."""
        return draw_tables_as_text(self.text, self._width - _PADDING)

    @property
    def _width(self) -> int:
        return self.size.width or self.app.size.width

    def settle(self) -> None:
        """Stop being an answer that arrives: all of it is drawn."""
        self.is_live = False
        self._shown = self.to_draw()

    def fit(self) -> None:
        """Take the room that a sleeping text needs at the width there is now."""
        if self.document is None:
            width = self._width
            self.styles.height = self._heights.get(width) or _guess_height(self.text, width)

    def wake(self) -> None:
        """Draw the text soon; before it is mounted it is not asleep, and would be drawn twice."""
        if self.document is None and self._is_begun:
            self.document = document()
            self.run_worker(self.draw(self.document), name="_draw")

    def sleep(self) -> None:
        """Free what was drawn; an answer that arrives stays."""
        if self.document is not None and self.document.is_attached and not self.is_live:
            if self.size.height:
                self._heights = {self.size.width: self.outer_size.height}
            drawn, self.document = self.document, None
            self.fit()
            drawn.remove()

    async def draw(self, drawn: Markdown | None = None) -> None:
        """Draw the text at once, unless the page is gone: the chat is being left."""
        if not self.is_attached:
            return
        self.document = drawn = drawn or self.document or document()
        drawn.display = False
        await self.mount(drawn)
        if not drawn.is_attached:
            return
        self._shown = self.to_draw()
        if self._shown:
            await drawn.append(self._shown)
        drawn.display = True
        if self.document is drawn:  # it may have been put to sleep meanwhile
            self.styles.height = "auto"


def _guess_height(text: str, width: int) -> int:
    room = max(1, width - 2)
    return 1 + sum(1 + len(line) // room for line in text.splitlines())


class AnswerView(Vertical):
    """An answer; while it arrives, only what is new is parsed and drawn."""

    def __init__(self, cell: AnswerCell) -> None:
        super().__init__(classes="spoken")
        self._cell = cell
        self._drawn = ""
        self._pieced = False  # whether it was drawn in more than one piece
        self._drawing = True  # until it is mounted
        self._whole = asyncio.Event()
        texts = [""] if cell.live else split_answer(escape_controls(cell.text))
        self.chunks: list[Chunk] = [Chunk(text) for text in texts]
        self._below = Static(content(_cut(cell.cut)), classes="cut")
        if not cell.live:
            self._drawn = escape_controls(cell.text)

    def compose(self) -> ComposeResult:
        """Lay out the answer, and the line below it that says why it was cut."""
        yield from self.chunks
        yield self._below

    def on_mount(self) -> None:
        """Draw what there is."""
        self._drawing = False
        self.show(self._cell)

    def show(self, cell: AnswerCell) -> None:
        """Draw the cell as it is now."""
        if cell.cut != self._cell.cut:
            self._below.update(content(_cut(cell.cut)))
        self._cell = cell
        self._below.display = cell.cut is not None
        if not cell.live:
            self._whole.set()
        if not self._drawing and self._is_due():
            self._drawing = True
            self.run_worker(self._draw())

    def _is_due(self) -> bool:
        return escape_controls(self._cell.text) != self._drawn or (
            self._pieced and not self._cell.live
        )

    async def _draw(self) -> None:
        while self.is_attached and self._is_due():
            began = perf_counter()
            await self._add(escape_controls(self._cell.text), live=self._cell.live)
            if self._cell.live:
                await self._laid_out()
                # Laying out Markdown is slow: half of the time is left to everything else.
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(_BREATH, perf_counter() - began)):
                        await self._whole.wait()
        self._drawing = False

    async def _add(self, text: str, *, live: bool) -> None:
        """Append the new text; never ``update``: Textual 8.2 then loses the last block's start."""
        drawn, self._drawn = self._drawn, text
        tail = self.chunks[-1]
        if not text.startswith(drawn) or not tail.is_live or tail.document is None:
            await self._replace(split_answer(text), kept=0, live=live)
        elif text != drawn:
            self._pieced = self._pieced or bool(drawn)
            tail.text += text[len(drawn) :]
            try:
                await tail.document.append(text[len(drawn) :])
            except UnboundLocalError:  # Textual 8.2: the last row of a table turned out to be none
                await self._replace(split_answer(text), kept=0, live=live)
        if not live:
            await self._settle(text)
        elif len(self.chunks[-1].text) > _LONG:
            *done, last = split_answer(self.chunks[-1].text)
            if done:
                kept = len(self.chunks) - 1
                await self._replace([*self._texts()[:kept], *done, last], kept=kept, live=True)

    async def _settle(self, text: str) -> None:
        """Make sure that the pieces drew what the whole text says."""
        tail, pieced = self.chunks[-1], self._pieced
        self._pieced = False
        whole = split_answer(text)
        drawn = tail.document
        safe = not pieced or drawn is None or is_safe_text(drawn, tail.text)
        if whole != self._texts() or not safe or tail.to_draw() != tail.text:
            await self._replace(whole, kept=0, live=False)
        self.chunks[-1].settle()

    def _texts(self) -> list[str]:
        return [chunk.text for chunk in self.chunks]

    async def _replace(self, texts: list[str], *, kept: int, live: bool) -> None:
        """Draw into new chunks and swap: refilling an old one would move the page."""
        old, fresh = self.chunks[kept:], [Chunk(text) for text in texts[kept:]]
        fresh[-1].is_live = True  # drawn at once: it is what is being read
        for chunk in fresh:
            chunk.display = False
        await self.mount(*fresh, before=self._below)
        with self.app.batch_update():
            self.chunks[kept:] = fresh
            for chunk in fresh:
                chunk.display = True
            for chunk in old:
                await chunk.remove()
        fresh[-1].is_live = live

    async def _laid_out(self) -> None:
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()


def _cut(why: str | None) -> str:
    return f"— {why} —" if why else ""

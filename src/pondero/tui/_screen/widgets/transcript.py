"""The page: cells from top to bottom, redrawn only where they changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.containers import VerticalScroll
from textual.message import Message

from ...state import Cell, NoticeCell, ThinkingCell
from .answer import AnswerView, Chunk
from .views import View, view_of


class Transcript(VerticalScroll, can_focus=False):
    """Shows cells. It stays at its end while something is added there, unless it was scrolled."""

    @dataclass(kw_only=True)
    class AtEdge(Message):
        """An end of the page came into view: ``older`` is the top."""

        older: bool

    class BelowChange(Message):
        """There is more below what is seen now, or there is no more."""

    def __init__(self, id: str | None = "page", *, at_end: bool = True) -> None:
        super().__init__(id=id, classes="page")
        self._begins_at_end = at_end
        self._cells: dict[int, Cell] = {}
        self._views: dict[int, View] = {}
        self._held: tuple[View | Chunk, float] | None = None
        self._is_drawing = False  # whether it is held only while chunks are drawn
        self.has_more_below: bool = False

    def on_mount(self) -> None:
        """Keep to the end, unless it is to be read from the top; look again after each layout."""
        if self._begins_at_end:
            self.anchor()
        # Another thread can be as high as the one before it: no size and no scroll offset changes.
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self._look_below())

    def show(self, cells: Sequence[Cell], *, hidden: bool = False) -> None:
        """Draw these cells; ``hidden`` thoughts take no place."""
        now = {cell.key: cell for cell in cells}
        if now.keys() != self._views.keys():
            self._rearrange(now)
        for key, cell in now.items():
            if self._cells.get(key) is not cell:
                if key in self._cells:
                    self._views[key].show(cell)  # type: ignore[arg-type]  # a view of this kind
                self._cells[key] = cell
            if isinstance(cell, ThinkingCell):
                self._views[key].display = not hidden

    def to_end(self) -> None:
        """Go to the end, and stay there."""
        self._held = None
        self.anchor()
        self._look_below()

    def to_top(self) -> None:
        """Go to the top."""
        self._let_go()
        self.scroll_home(animate=False)

    def visit(self, number: int) -> None:
        """Go to the message of this number, or to the turn that it is part of."""
        before = [key for key, cell in self._cells.items() if _is_upto(cell, number)]
        if before:
            number = max(self._cells[key].number or 0 for key in before)
            first = next(key for key in before if self._cells[key].number == number)
            self._let_go()
            self._held, self._is_drawing = (self._views[first], 0.0), False
            self.call_after_refresh(self._hold)

    def begin_at_list(self, cells: Sequence[Cell]) -> None:
        """Go to the top of the last cell if it is a list that is higher than the window."""
        if cells and isinstance(last := cells[-1], NoticeCell) and last.items:
            self.call_after_refresh(self._begin_at, self._views[last.key])

    def _begin_at(self, view: View) -> None:
        if view.is_attached and view.outer_size.height > self.size.height:
            self._let_go()
            self._held, self._is_drawing = (view, 0.0), False
            self._hold()

    def turn(self, step: int) -> None:
        """Go up or down by a screen."""
        self._let_go()
        if step < 0:
            self.scroll_page_up(animate=False)
        else:
            self.scroll_page_down(animate=False)

    def on_mouse_scroll_up(self) -> None:
        """Let the reader go where they want."""
        self._held = None

    def on_mouse_scroll_down(self) -> None:
        """Let the reader go where they want."""
        self._held = None

    def watch_virtual_size(self) -> None:
        """Keep what is being read in its place while the cells above it are laid out."""
        if self._held is not None:
            self.call_after_refresh(self._hold)

    def on_resize(self) -> None:
        """Give the sleeping parts the height that they need at this width."""
        for view in self._views.values():
            if isinstance(view, AnswerView):
                for chunk in view.chunks:
                    chunk.fit()
        self.call_after_refresh(self._wake)

    def _wake(self) -> None:
        """Draw the answers near the window, and free those that are far from it."""
        height = max(1, self.size.height)
        near = (self.scroll_offset.y - height, self.scroll_offset.y + 2 * height)
        far = (near[0] - 2 * height, near[1] + 2 * height)
        for view in self._views.values():
            if isinstance(view, AnswerView):
                top = view.virtual_region.y
                for chunk in view.chunks:
                    place = chunk.virtual_region
                    first, last = top + place.y, top + place.bottom
                    if first < near[1] and last > near[0]:
                        self._hold_while_drawn(chunk)
                        chunk.wake()
                    elif first > far[1] or last < far[0]:
                        chunk.sleep()

    def _hold_while_drawn(self, chunk: Chunk) -> None:
        """Keep what is being read in its place: a sleeping chunk has a guessed height."""
        if chunk.document is None and self._held is None and not self._at_end():
            self._held, self._is_drawing = self._first_in_view(), True

    def _look_below(self) -> None:
        self._wake()
        more = not self._at_end() and self.scroll_offset.y < self.max_scroll_y
        if more != self.has_more_below:
            self.has_more_below = more
            self.post_message(self.BelowChange())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say so when an end comes into view; while it is drawn, a page kept to its end jumps."""
        super().watch_scroll_y(old_value, new_value)
        if self._is_drawing and self._held is not None:  # the reader has gone elsewhere
            self._held = self._first_in_view()
        self._look_below()
        if new_value < old_value and new_value <= 0 and not self._at_end():
            self.post_message(self.AtEdge(older=True))
        elif new_value > old_value and new_value >= self.max_scroll_y:
            self.post_message(self.AtEdge(older=False))

    def _rearrange(self, now: dict[int, Cell]) -> None:
        """Drop the views of gone cells and mount new ones; the text being read does not move."""
        self._held, self._is_drawing = None if self._at_end() else self._first_in_view(), False
        for key in [key for key in self._views if key not in now]:
            self._views.pop(key).remove()
            self._cells.pop(key, None)
        known, self._views = self._views, {}
        run: list[View] = []
        for key, cell in now.items():
            if key not in known:
                run.append(self._fresh(cell))
            elif run:
                self.mount_all(run, before=known[key])
                run = []
            self._views[key] = known.get(key) or run[-1]
        if run:
            self.mount_all(run)
        if self._held is not None:
            self.call_after_refresh(self._hold)

    def _fresh(self, cell: Cell) -> View:
        self._cells[cell.key] = cell
        return view_of(cell)

    def _at_end(self) -> bool:
        return self._anchored and not self._anchor_released

    def _first_in_view(self) -> tuple[View | Chunk, float] | None:
        for view in self._views.values():
            if view.virtual_region.bottom > self.scroll_y:
                parts = view.chunks if isinstance(view, AnswerView) else ()
                tops = ((chunk, self._top(chunk)) for chunk in parts)
                for chunk, top in tops:
                    if top + chunk.virtual_region.height > self.scroll_y:
                        return chunk, top - self.scroll_y
                return view, self._top(view) - self.scroll_y
        return None

    def _top(self, widget: View | Chunk) -> int:
        """Return how far a view, or a chunk of one, is below the top of the page."""
        inside = widget.parent if isinstance(widget, Chunk) else None
        above = inside.virtual_region.y if isinstance(inside, AnswerView) else 0
        return above + widget.virtual_region.y

    def _let_go(self) -> None:
        self._held = None
        self.release_anchor()

    def _hold(self) -> None:
        if self._held is not None and self._held[0].is_attached:
            view, offset = self._held
            is_drawing, self._is_drawing = self._is_drawing, False
            self.scroll_to(y=self._top(view) - offset, animate=False, immediate=True)
            self._is_drawing = is_drawing


def _is_upto(cell: Cell, number: int) -> bool:
    return cell.number is not None and cell.number <= number

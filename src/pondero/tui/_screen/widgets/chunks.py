"""A long Markdown text in chunks that can be drawn one by one."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len, set_cell_size

from .visible import make_parser

_SIZE = 3_000
"""Letters of a chunk from which on it ends with the block that it is in."""

_ROWS = 40
"""Rows of a table from which on it is drawn as text: each cell of a table is a widget."""


def split_answer(text: str) -> list[str]:
    """Return the text in pieces that end between blocks; together they are the text.

    A text with link definitions is one piece: they hold for all of it.
    """
    if len(text) <= _SIZE:
        return [text]
    definitions: dict[str, Any] = {}
    tokens = make_parser().parse(text, definitions)
    if definitions.get("references"):
        return [text]
    begins = sorted({token.map[0] for token in tokens if token.map and not token.level})
    return list(_cut_lines(text.splitlines(keepends=True), begins[1:]))


def _cut_lines(lines: list[str], begins: list[int]) -> Iterator[str]:
    first = size = at = 0
    for begin in begins:
        size += sum(len(line) for line in lines[at:begin])
        at = begin
        if size >= _SIZE:
            yield "".join(lines[first:begin])
            first, size = begin, 0
    yield "".join(lines[first:])


def draw_tables_as_text(text: str) -> str:
    """Return a text whose long tables are blocks of text with aligned columns."""
    lines = text.splitlines(keepends=True)
    tables = [token for token in make_parser().parse(text) if token.type == "table_open"]
    for token in reversed(tables):
        first, last = token.map or [0, 0]
        if last - first > _ROWS and not token.level:
            lines[first:last] = _align([line.strip() for line in lines[first:last]])
    return "".join(lines)


def _align(rows: list[str]) -> list[str]:
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    del cells[1]  # the line that makes it a table
    widths = [max(map(cell_len, column)) for column in zip_longest(*cells, fillvalue="")]
    drawn = [
        "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=False))
        for row in cells
    ]
    drawn.insert(1, "  ".join("─" * width for width in widths))
    return ["```text\n", *(f"{row.rstrip()}\n" for row in drawn), "```\n"]

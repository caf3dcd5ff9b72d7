"""A long Markdown text in chunks that can be drawn one by one."""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len, set_cell_size

from .visible import make_parser

_SIZE = 3_000
"""Letters of a chunk from which on it ends with the block that it is in."""

_ROWS = 40
"""Rows of a table from which on it is drawn as text: each cell of a table is a widget."""

_COLUMN = 8
"""Characters that a column needs, with its frame; with less, its words are cut."""

_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


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


def draw_tables_as_text(text: str, width: int) -> str:
    """Return a text whose tables that do not fit are blocks of text.

    A table with too many columns for this width becomes records, one line for each cell; one with
    many rows, aligned columns.
    """
    if "|" not in text:
        return text
    lines = text.splitlines(keepends=True)
    tables = [token for token in make_parser().parse(text) if token.type == "table_open"]
    for token in reversed(tables):
        first, last = token.map or [0, 0]
        if not token.level:
            lines[first:last] = _draw_table(lines[first:last], width)
    return "".join(lines)


def _draw_table(lines: list[str], width: int) -> list[str]:
    heads, _, *rows = [_split_row(line) for line in lines]
    widths = [max(map(cell_len, column)) for column in zip_longest(heads, *rows, fillvalue="")]
    is_long = len(lines) > _ROWS
    if len(heads) * _COLUMN > width or (is_long and sum(widths) + 2 * len(widths) > width):
        drawn = _list_records(heads, rows)
    elif is_long:
        drawn = _align([heads, *rows], widths)
    else:
        return lines
    return ["```text\n", *(f"{row.rstrip()}\n" for row in drawn), "```\n"]


def _split_row(line: str) -> list[str]:
    row = line.strip().removeprefix("|")
    cells = _BETWEEN_CELLS.split(row)
    return [cell.strip().replace("\\|", "|") for cell in (cells if cells[-1] else cells[:-1])]


def _list_records(heads: list[str], rows: list[list[str]]) -> Iterator[str]:
    room = max(map(cell_len, heads))
    for number, row in enumerate(rows):
        if number:
            yield ""
        for head, cell in zip(heads, row, strict=False):
            yield f"{set_cell_size(head, room)}  {cell}"


def _align(rows: list[list[str]], widths: list[int]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield "  ".join(set_cell_size(cell, room) for cell, room in zip(row, widths, strict=False))
        if not number:
            yield "  ".join("─" * room for room in widths)

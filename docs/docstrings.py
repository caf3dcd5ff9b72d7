"""Convert our docstrings to Markdown for the API reference; griffe loads it (see mkdocs.yml).

Examples and lines in columns, such as those of Policy, become code blocks. A class gets a table
of its fields.
"""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
_COLUMNS = re.compile(r"^\w+ {2,}\S.*(?:\n\w+ {2,}\S.*)+$", re.MULTILINE)


def markdown(text: str) -> str:
    """Return a docstring with its examples and columns as blocks of code."""
    fenced = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
    return _COLUMNS.sub(lambda found: f"```text\n{found[0]}\n```", fenced)


def fields(value: griffe.Class) -> str:
    """Return a table of the fields of a class that have no docstring of their own."""
    rows = [
        f"| `{name}` | {_cell(each.annotation)} | {_cell(each.value)} |"
        for name, each in value.members.items()
        if isinstance(each, griffe.Attribute) and each.annotation and each.docstring is None
        if not name.startswith("_") and "property" not in each.labels
    ]
    head = ["\n", "| field | type | default |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows]) if rows else ""


def _cell(code: Any) -> str:
    said = "" if code is None else str(code).replace("|", "&#124;").replace("<", "&lt;")
    return f"<code>{said}</code>" if said else "-"


class Docstrings(griffe.Extension):
    """Rewrites every docstring when griffe reads it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring; an alias has the docstring of its target."""
        if obj.docstring is not None:
            told = fields(obj) if isinstance(obj, griffe.Class) else ""
            obj.docstring.value = markdown(obj.docstring.value) + told

"""Makes our docstrings Markdown, for the API reference; griffe loads it (see mkdocs.yml).

Examples become blocks of code, and so do lines that are set in columns, such as those of Policy.
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


class Docstrings(griffe.Extension):
    """Rewrites every docstring as it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one; an alias has that of what it stands for."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)

"""Markup: ``element`` escapes every text but its own ``Html``; control characters are spelled."""

from collections.abc import Iterable
from html import escape

from ...canon import escape_controls

Attribute = str | int | float | bool | None


class Html(str):
    """Markup that is finished: whatever came from outside is escaped in it."""

    __slots__ = ()


def text(words: str) -> Html:
    """Return a text as markup; it reads the same, and nothing in it is obeyed."""
    return Html(escape(escape_controls(words), quote=True))


def element(kind: str, /, *children: str, **attributes: Attribute) -> Html:
    """Return an element; ``class_`` is class, ``_`` inside a hyphen; None and False are omitted."""
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    inside = join_markup(children)
    if not inside and kind in _ALONE:
        return Html(f"<{kind}{said}/>")
    return Html(f"<{kind}{said}>{inside}</{kind}>")


_ALONE = frozenset({"br", "circle", "input", "line", "path", "polygon", "rect"})


def join_markup(pieces: Iterable[str]) -> Html:
    """Return texts and markup one after another."""
    return Html("".join(piece if isinstance(piece, Html) else text(piece) for piece in pieces))


def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    said = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {_SPELLED.get(name, name)}="{text(said)}"'


_SPELLED = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}


def cut(words: str, most: int) -> str:
    """Return the beginning of a text, and how much is left out where it is longer."""
    if len(words) <= most:
        return words
    return f"{words[:most]}… ({len(words) - most:,} more characters)"

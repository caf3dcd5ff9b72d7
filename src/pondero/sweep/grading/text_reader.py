r"""How a judge reads an answer's text: Unicode forms, fences, ``\boxed{}`` and marked answers.

Every pattern here runs in linear time: answers are long, and may be written to stop a judge.
"""

import json
import re
import unicodedata
from collections.abc import Iterator

from ...canon import Json

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_INLINE = re.compile(r"```[ \t]*(?:[A-Za-z][\w+-]*(?=[\s{\[\"]))?((?:(?!```).)*)```", re.DOTALL)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_SPACES = re.compile(r"\s+")
_TRIES = 64  # places where JSON may begin in a text
_MARKED = re.compile(
    r"####|<answer>"
    r"|\b(?:final\s+answer|answer|result|solution|total)\b(?:\W{0,4}(?:is\b|equals\b|=|:|to\s+be\b))+"
    r"|\banswer\b[\s*_`\"'$(]{1,4}(?=[-+\d$.])",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;](?!\d)|[.!?](?!\d)(?=\s|$)|\n|<|\s(?:because|since|where|as|which|but\s+not)\s"
)


def normalize(text: str) -> str:
    """Return a text in one Unicode form, without CRLF and without blanks around it."""
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").strip()


def fold(text: str) -> str:
    """Return a text for comparison without case, Unicode form and width of blanks."""
    folded = unicodedata.normalize("NFC", normalize(text).casefold())
    return _SPACES.sub(" ", folded)


def find_fenced(text: str) -> list[str]:
    """Return the contents of the code fences: backticks or tildes, any language, closed or not."""
    found: list[str] = []
    opened, lines = "", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.fullmatch(line)
        if not opened and fence and "`" not in fence[2]:
            opened, lines = fence[1], []
        elif opened and fence and fence[1].startswith(opened) and not fence[2].strip():
            found.append("\n".join(lines))
            opened = ""
        elif opened:
            lines.append(line)
    if opened:
        found.append("\n".join(lines))
    return found or [each.strip() for each in _INLINE.findall(text)]


def find_boxed(text: str) -> str | None:
    r"""Return the content of the last ``\boxed{...}``, with its inner braces, or None."""
    starts = list(_BOXED.finditer(text))
    if not starts:
        return None
    begin = starts[-1].end()
    depth = 1
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[begin:at]
    return text[begin:]


def find_marked(text: str) -> str | None:
    """Return the clause after the last "answer is", "ANSWER:" or "####", or None."""
    marks = list(_MARKED.finditer(text))
    if not marks:
        return None
    rest = text[marks[-1].end() :].lstrip(" \t\n*_`:=")
    end = _CLAUSE_END.search(rest)
    return rest[: end.start()] if end else rest


def parse_json_answer(text: str) -> Json:
    """Return the JSON of an answer: whole, fenced, or within its words; raise ValueError."""
    try:
        return _load(text)
    except ValueError as error:
        problem = error
    for each in (*reversed(find_fenced(text)), *_iter_embedded(text)):
        try:
            return _load(each)
        except ValueError as error:
            problem = error
    raise problem


def _load(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _iter_embedded(text: str) -> Iterator[str]:
    """Yield the objects and lists inside a text, from the first one on."""
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(_TRIES):
        starts = [each for each in (text.find("{", at), text.find("[", at)) if each >= 0]
        if not starts:
            return
        begin = min(starts)
        try:
            _, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            at = begin + 1
            continue
        yield text[begin:end]
        at = end


def _reject_constant(word: str) -> Json:
    message = f"{word} is Python's"
    raise ValueError(message)

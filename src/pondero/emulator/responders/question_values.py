"""Finds the values of a tool's arguments in a question: by name, in quotes, after the tool."""

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_QUOTES = (
    r"\"([^\"]{1,200})\"|“([^”]{1,200})”|\u2018([^\u2019]{1,200})\u2019|«([^»]{1,200})»|"
    r"`([^`]{1,200})`|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_QUOTED = re.compile(_QUOTES)
_TOKEN = r"[^\s,;()]+"  # noqa: S105 - no password
_TELLING = r"(?=[^\s,;()]*\d)[^\s,;()]+|(?-i:[A-Z])[^\s,;()]*"  # has a digit or a capital
_IDENTIFIER = re.compile(r"(?<![\w.#-])#?((?=[\w-]*\d)[A-Za-z0-9][\w-]*)(?![\w-])")
_IDENTIFIERS = frozenset({
    "code", "id", "key", "no", "number", "ref", "reference", "sku", "ticket", "uuid",
})  # fmt: skip
_LONGEST = 80  # characters of a value that no quotes delimit
_REST = re.compile(
    r"[,;]|[.?!](?=\s|$)|\n|\s(?:please|then|with|using|and (?:then|tell|say|show|report|answer|"
    r"give|explain|reply|summari[sz]e))\b",
    re.IGNORECASE,
)


def find_quoted(question: str, tool: str = "") -> list[str]:
    """Return the quoted texts in a question, without the quoted name of the tool."""
    found = (_text_of(match) for match in _QUOTED.finditer(question))
    return [text for text in found if text != tool]


def find_named(question: str, name: str, *, quoted_only: bool = False) -> str | None:
    """Return the value that a question gives for an argument by its name, or None.

    It understands ``order_id=A17``, ``with order_id A17`` and ``order id 'A17'``.
    """
    spoken = r"[\s_-]*".join(map(re.escape, _WORD.findall(name)))
    if not spoken:
        return None
    begin = rf"(?<!\w){spoken}(?!\w)"
    forms = [rf"{begin}\s*[=:]\s*", rf"\bwith\s+(?:the\s+|an?\s+)?{begin}\s+(?:of\s+|is\s+)?"]
    if len(name) > 1:
        forms.append(rf"{begin}\s+(?:of\s+|is\s+)?")
    for form, bare in zip(forms, (_TOKEN, _TOKEN, _TELLING), strict=False):
        value = _QUOTES if quoted_only else rf"{_QUOTES}|({bare})"
        if match := re.search(rf"{form}(?:{value})", question, re.IGNORECASE):
            return _text_of(match).rstrip(".?!")
    return None


def find_after_tool(question: str, tool: str) -> str | None:
    """Return the text after a tool's name, as in ``the Read tool on notes.txt``, or None."""
    if not tool:
        return None
    name = rf"(?<!\w){re.escape(tool)}(?!\w)[`\"'”\u2019]?"
    if match := re.search(rf"{name}\s*\(([^()=,]{{1,{_LONGEST}}})\)", question, re.IGNORECASE):
        return match[1].strip().strip("`\"'") or None
    named = rf"{name}(?:\s+(?:tool|function))?\s*"
    quoted = rf"{named}(?::|(?:on|for|with|to|about|at|of)\b)\s*(?:{_QUOTES})"
    if match := re.search(quoted, question, re.IGNORECASE):
        return _text_of(match)
    rest = re.search(rf"{named}(?:on|for|about|at|of)\s+(.+)", question, re.IGNORECASE | re.DOTALL)
    said = _REST.split(rest[1], maxsplit=1)[0].strip() if rest else ""
    return said if 0 < len(said) <= _LONGEST else None


def find_identifier(question: str, name: str, tool: str = "") -> str | None:
    """Return the first word with a digit, for an argument such as ``order_id``, or None."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] not in _IDENTIFIERS:
        return None
    match = _IDENTIFIER.search(question.replace(tool, " ") if tool else question)
    return match[1] if match else None


def _text_of(match: re.Match[str]) -> str:
    return next(text for text in match.groups() if text is not None)

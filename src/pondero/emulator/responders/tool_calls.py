"""Chooses the tools to call for a question, and their arguments."""

import re
from collections.abc import Sequence

from ...canon import Json, Tool, ToolChoice
from .arithmetic import Calculation
from .question import ParsedQuestion
from .schema_values import FillMaterial, fill
from .side_effects import COMMANDS, is_shell, only_reads, properties_of

_MOST = 4  # calls for one question, in parallel and in turn
_PLAIN = 400  # characters of a plain request; a longer text is material
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_IDLE = frozenset({
    "get", "set", "the", "for", "and", "with", "from", "find", "fetch", "look", "make", "run",
    "use", "tool", "function", "call", "what", "this", "that", "given", "return", "returns",
    "current", "about", "into", "any", "all", "one",
})  # fmt: skip
_SUMS = frozenset({
    "calculator", "calculate", "calc", "compute", "evaluate", "arithmetic", "math", "add",
    "multiply",
})  # fmt: skip
_ASKED = r"(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|execut(?:e|ing)|try)"
_NOT = re.compile(
    r"\b(?:do not|don['’]?t|never|without|not to)\s+(?:\w+\s+){0,2}?"
    rf"(?:{_ASKED}|search\w*|look\w*|tools?|do|it)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:explain|describe|summari[sz]e|would|what (?:does|do|is|are)|how (?:does|do|is|are)|"
    r"why|whether|if)\b",
    re.IGNORECASE,
)
_QUOTE = re.compile(
    r"```.*?(?:```|\Z)|`[^`]*`|\"[^\"]*\"|“[^”]*”|\u2018[^’]*’|(?<!\w)'[^'\n]*'(?!\w)", re.DOTALL
)
_IN_TURN = re.compile(r"\b(?:then|after that|afterwards|first)\b", re.IGNORECASE)
_PLACES = re.compile(r"city|location|place|town|country|name|subject|topic|person|who|where")

Call = tuple[str, Json]


def calls(
    tools: Sequence[Tool],
    choice: ToolChoice | None,
    *,
    asked: ParsedQuestion,
    worked: Calculation | None,
) -> list[Call]:
    """Return the calls to make now: none, one, or several in parallel."""
    choice = choice or ToolChoice()
    room = _MOST - len(asked.calls)
    if choice.mode == "none" or room <= 0:
        return []
    allowed = [tool for tool in tools if not choice.allowed or tool.name in choice.allowed]
    usable = [tool for tool in allowed if tool.raw is None or tool.parameters is not None]
    if asked.orders:
        offered = {tool.name for tool in usable}
        ordered = () if asked.calls else asked.orders
        made = [(order.name, order.arguments) for order in ordered if order.name in offered]
    else:
        wanted = _choose_tools(usable, choice, asked=asked, worked=worked)
        made = [call for tool in wanted for call in _make_calls(tool, asked.question, worked)]
        if len(wanted) > 1 and _IN_TURN.search(asked.question):
            made = made[:1]
    return made[: 1 if choice.parallel is False else room]


def unmet(tools: Sequence[Tool], asked: ParsedQuestion) -> str | None:
    """Return the answer to an order to call a missing tool, or None."""
    offered = {tool.name for tool in tools}
    missing = next((order.name for order in asked.orders if order.name not in offered), None)
    if missing is None:
        return None
    there = ", ".join(sorted(offered)) or "none"
    return f"There is no tool {missing} to call; there is {there}."


def explain_uncalled(tools: Sequence[Tool], asked: ParsedQuestion) -> str | None:
    """Return the answer to a question that names a tool with side effects, or None."""
    own = _find_request(tools, asked.question)
    if own is None or _ABOUT.search(own):
        return None
    named = (tool.name for tool in tools if _is_named(tool, own) and not only_reads(tool))
    name = next(named, None)
    if name is None:
        return None
    return (
        f"{name} looks like a tool with side effects, so the emulator does not call it by itself; "
        f"use `[emulator: call {name} {{...}}]` with its arguments."
    )


def _choose_tools(
    tools: Sequence[Tool], choice: ToolChoice, *, asked: ParsedQuestion, worked: Calculation | None
) -> list[Tool]:
    done = {call.name for call in asked.calls}
    if choice.mode == "tool":
        return [tool for tool in tools if tool.name == choice.name and not done]
    fitting = [
        tool for tool in _find_fitting(tools, asked.question, worked) if tool.name not in done
    ]
    if choice.mode == "required" and not fitting and not done:
        return list(tools[:1])
    return fitting


def _find_fitting(tools: Sequence[Tool], question: str, worked: Calculation | None) -> list[Tool]:
    own = _find_request(tools, question)
    if own is None:
        return []
    about = _ABOUT.search(own) is not None
    named = [
        tool
        for tool in tools
        if _is_named(tool, own) and (only_reads(tool) or (is_shell(tool) and not about))
    ]
    if named:
        return named
    fits = {tool.name: _fit(tool, own, worked) for tool in tools if only_reads(tool)}
    best = max(fits.values(), default=0.0)
    return [tool for tool in tools if best and fits.get(tool.name) == best]


def _find_request(tools: Sequence[Tool], question: str) -> str | None:
    """Return the question without quoted text; None if it requests no tool."""
    names = {tool.name for tool in tools}

    def strip(match: re.Match[str]) -> str:
        # Other quoted text is talked about, not requested.
        return name if (name := match[0].strip("`\"'“”\u2018\u2019")) in names else " "

    own = _QUOTE.sub(strip, question)
    return None if len(own) > _PLAIN or _NOT.search(own) else own


def _is_named(tool: Tool, question: str) -> bool:
    name = re.escape(tool.name)
    if "_" in tool.name and re.search(rf"(?<!\w){name}(?!\w)", question, re.IGNORECASE):
        return True
    verb = rf"\b{_ASKED}\s+(?:the\s+|your\s+)?{name}\b(?!\s*[.,]?\w*/)"
    return re.search(rf"{verb}|\bthe {name} tool\b", question, re.IGNORECASE) is not None


def _fit(tool: Tool, question: str, worked: Calculation | None) -> float:
    asked = _words(question)
    named = _words(tool.name)
    if worked is not None and named & _SUMS:
        return 1.0
    found = sum(any(_share_stem(word, each) for each in asked) for word in named)
    return found / len(named) if found else 0.0


def _share_stem(word: str, known: str) -> bool:
    stem = max(4, min(len(word), len(known)) - 2)
    return word == known or (len(word) > 3 and len(known) > 3 and word[:stem] == known[:stem])


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text) if len(word) > 2} - _IDLE


def _make_calls(tool: Tool, question: str, worked: Calculation | None) -> list[Call]:
    schema = tool.parameters or {}
    if not only_reads(tool):
        return [(tool.name, _harmless(tool))]
    said = FillMaterial(question, expression=worked.text if worked else None, tool=tool.name)
    several = (
        said.subjects if any(_PLACES.search(key.lower()) for key in properties_of(tool)) else ()
    )
    if len(several) < 2:
        return [(tool.name, _arguments(schema, said))]
    each = [FillMaterial(question, expression=said.expression, subject=name) for name in several]
    return [(tool.name, _arguments(schema, one)) for one in each]


def _harmless(tool: Tool) -> Json:
    filled = _arguments(tool.parameters or {}, FillMaterial(""))
    for key in COMMANDS & filled.keys():
        filled[key] = ["echo", "hello"] if isinstance(filled[key], list) else "echo hello"
    return filled


def _arguments(schema: Json, said: FillMaterial) -> dict[str, Json]:
    filled = fill(schema, said)
    return filled if isinstance(filled, dict) else {}

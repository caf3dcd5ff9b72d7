"""Which of the offered tools a question calls for, and with which arguments."""

import re
from collections.abc import Sequence

from ..canon import Json, Tool, ToolChoice
from .arithmetic import Sum
from .schema_values import Said, fill

_WORD = re.compile(r"[a-z]{3,}|[A-Z][a-z]{2,}")
_IDLE = frozenset({
    "get", "set", "the", "for", "and", "with", "from", "find", "fetch", "look", "make", "run",
    "use", "tool", "function", "call", "what", "this", "that", "given", "return", "returns",
    "current", "about", "into", "any", "all", "one",
})  # fmt: skip
_SUMS = frozenset({
    "calculator", "calculate", "calc", "compute", "evaluate", "arithmetic", "math", "add",
    "multiply",
})  # fmt: skip
_IN_TURN = re.compile(r"\b(?:then|after that|afterwards|first)\b", re.IGNORECASE)
_PLACES = re.compile(r"city|location|place|town|country|name|subject|topic|person|who|where")

Call = tuple[str, Json]


def calls(
    tools: Sequence[Tool],
    choice: ToolChoice | None,
    *,
    question: str,
    worked: Sum | None,
    done: frozenset[str],
) -> list[Call]:
    """Return the calls to make now: none, one, or several side by side.

    ``done`` are tools that were called since the question was asked: they are not called again.
    """
    usable = [tool for tool in tools if tool.raw is None or tool.parameters is not None]
    wanted = _wanted(usable, choice or ToolChoice(), question=question, worked=worked, done=done)
    made = [call for tool in wanted for call in _made(tool, question, worked)]
    alone = choice is not None and choice.parallel is False
    return made[:1] if alone or (_IN_TURN.search(question) and len(wanted) > 1) else made


def _wanted(
    tools: Sequence[Tool],
    choice: ToolChoice,
    *,
    question: str,
    worked: Sum | None,
    done: frozenset[str],
) -> list[Tool]:
    if choice.mode == "none":
        return []
    if choice.mode == "tool":
        return [tool for tool in tools if tool.name == choice.name and not done]
    fitting = [tool for tool in tools if _fits(tool, question, worked) and tool.name not in done]
    if choice.mode == "required" and not fitting and not done:
        return list(tools[:1])
    return fitting


def _fits(tool: Tool, question: str, worked: Sum | None) -> bool:
    asked = _words(question)
    named = _words(tool.name)
    if worked is not None and (named | _words(tool.description)) & _SUMS:
        return True
    if any(_alike(word, other) for word in named for other in asked):
        return True
    return len(_words(tool.description) & asked) >= 2


def _alike(one: str, other: str) -> bool:
    """Return whether two words have the same stem: lookup and looking, forecast and forecasts."""
    stem = max(4, min(len(one), len(other)) - 2)
    return one == other or (len(one) > 3 and len(other) > 3 and one[:stem] == other[:stem])


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _IDLE


def _made(tool: Tool, question: str, worked: Sum | None) -> list[Call]:
    said = Said(question, expression=worked.text if worked else None)
    schema = tool.parameters or {}
    properties = schema.get("properties") or {} if isinstance(schema, dict) else {}
    several = said.subjects if any(_PLACES.search(name.lower()) for name in properties) else ()
    if len(several) < 2:
        return [(tool.name, _arguments(schema, said))]
    each = [Said(question, expression=said.expression, subject=name) for name in several]
    return [(tool.name, _arguments(schema, one)) for one in each]


def _arguments(schema: Json, said: Said) -> Json:
    filled = fill(schema, said)
    return filled if isinstance(filled, dict) else {}

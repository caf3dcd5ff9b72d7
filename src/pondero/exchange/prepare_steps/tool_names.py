"""Renames tools whose names a service does not take, in offers, choices, calls and results."""

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from msgspec.structs import replace

from ...canon import Message, Part, Request, ToolCall, ToolResult
from ...dialects import ToolRules
from ...handoff import list_tools
from ...thinking import Adjustment
from .draft import RequestDraft

_DIGITS = 8  # of the digest that tells apart names which would become equal


def fit_tool_names(draft: RequestDraft) -> RequestDraft:
    """Give every tool a name that the service takes; calls come back under the tool's own."""
    rules = draft.caller.tools
    names = _list_names(draft) if rules.name_letters else ()
    if not names:
        return draft
    takes, _ = _compile(rules)
    wrong = [name for name in names if not takes.fullmatch(name)]
    if not wrong:
        return draft
    taken = set(names)
    renamed: dict[str, str] = {}
    for name in wrong:
        renamed[name] = make_name(name, rules, taken)
        taken.add(renamed[name])
    request = _rename(draft.request, renamed)
    offered = {tool.name for tool in draft.request.tools}
    why = f"{draft.entry.provider.label} does not take its name; calls of it are renamed back"
    notes = [
        Adjustment("tool_renamed", "tools", name, other, why)
        for name, other in renamed.items()
        if name in offered
    ]
    names_back = {other: name for name, other in renamed.items()}
    return draft.but(request=request, calls=replace(draft.calls, names=names_back)).note(*notes)


def make_name(name: str, rules: ToolRules, taken: Iterable[str] = ()) -> str:
    """Return a name that the service takes, and that is not taken; equal names give equal ones."""
    _, letters = _compile(rules)
    made = letters.sub("_", name) or "tool"
    if not re.match(f"[{rules.name_begins}]", made):
        made = f"_{made}"
    if len(made) <= rules.name_length and made not in taken:
        return made
    digest = sha256(name.encode("utf-8", "replace")).hexdigest()
    room = rules.name_length - _DIGITS - 1
    unique = f"{made[:room]}_{digest[:_DIGITS]}"
    while unique in taken:
        digest = sha256(digest.encode()).hexdigest()
        unique = f"{made[:room]}_{digest[:_DIGITS]}"
    return unique


@lru_cache(64)
def _compile(rules: ToolRules) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pattern of a name that is taken, and of letters that are not."""
    letters, more = rules.name_letters or r"\s\S", rules.name_length - 1
    begins = rules.name_begins if rules.name_letters else letters
    return (
        re.compile(f"(?=[{begins}])[{letters}][{letters}]{{0,{more}}}"),
        re.compile(f"[^{letters}]"),
    )


def _list_names(draft: RequestDraft) -> tuple[str, ...]:
    """Return the names of functions on offer and in the history, each once."""
    tools = draft.request.tools
    rest, known = draft.find_rest()
    found = dict.fromkeys((*[tool.name for tool in tools], *known, *list_tools(rest)))
    if not found:
        return ()
    own = {tool.name for tool in tools if tool.raw is not None}
    return tuple(name for name in found if name not in own)


def _rename(request: Request, renamed: dict[str, str]) -> Request:
    choice = request.tool_choice
    if choice is not None and choice.name in renamed:
        choice = replace(choice, name=renamed[choice.name])
    return replace(
        request,
        tools=tuple(
            replace(tool, name=renamed[tool.name]) if tool.name in renamed else tool
            for tool in request.tools
        ),
        tool_choice=choice,
        messages=tuple(_rename_in(message, renamed) for message in request.messages),
    )


def _rename_in(message: Message, renamed: dict[str, str]) -> Message:
    parts = tuple(_rename_part(part, renamed) for part in message.parts)
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


def _rename_part(part: Part, renamed: dict[str, str]) -> Part:
    if isinstance(part, ToolCall | ToolResult) and part.name in renamed:
        return replace(part, name=renamed[part.name])
    return part

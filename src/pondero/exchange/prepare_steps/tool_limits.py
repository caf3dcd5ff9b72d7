"""Leaves out tools, and choices among them, that a model does not take, or not together."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from ...canon import Request, Tool, ToolChoice
from ...errors import BadParameter
from ...thinking import LEVELS, Adjustment, parse_intent
from ..planner import plan as make_plan
from .draft import RequestDraft

_Fitted = tuple[Request, tuple[Adjustment, ...]]
_BESIDE_FUNCTIONS = "code_execution"  # answered beside functions by Gemini 2.5 too (recordings)


def fit_tools(draft: RequestDraft) -> RequestDraft:
    """Leave out tools and choices that this model rejects, alone or together."""
    request = draft.request
    if not request.tools and request.tool_choice is None:
        return draft
    request, notes = _leave_out_doubles(request)
    request, more = _leave_out_missing(request, draft.target.quirks.get("missing_tools", ()))
    notes += more
    for word, fit in _FITS.items():
        if word in draft.unsupported:
            request, more = fit(request)
            notes += more
    request, more = _fit_choice(request)
    return draft.but(request=request).note(*notes, *more)


def check_tool_count(draft: RequestDraft) -> RequestDraft:
    """Raise BadParameter if there are more functions than the service takes.

    None is left out: which of them the answer needs is not for us to say.
    """
    tools = draft.request.tools
    most = draft.entry.max_tools if tools else None
    if most is None or len(tools) <= most:
        return draft
    count = sum(tool.raw is None or tool.kind == "text" for tool in tools)
    if count <= most:
        return draft
    message = (
        f"tools: {draft.entry.id} takes at most {most} functions, and this request has {count}; "
        "offer fewer"
    )
    raise BadParameter(message)


def offer_allowed(draft: RequestDraft) -> RequestDraft:
    """Offer only the tools that may be called; few services take the others along with a list."""
    request, choice = draft.request, draft.request.tool_choice
    if choice is None or not choice.allowed:
        return draft
    kept = tuple(tool for tool in request.tools if tool.name in choice.allowed)
    free = replace(choice, allowed=()) if kept else None
    changed = draft.but(request=replace(request, tools=kept, tool_choice=free))
    if kept == request.tools:
        return changed
    why = "only the tools that may be called are offered"
    asked, offered = ", ".join(choice.allowed), ", ".join(tool.name for tool in kept)
    note = Adjustment("tool_choice_adjusted", "tool_choice", asked, offered or None, why)
    return changed.note(note)


def raise_level(draft: RequestDraft) -> RequestDraft:
    """Raise a level at which a tool on offer does not work to the least at which it does."""
    least: Mapping[str, str] = draft.target.quirks.get("tools_from", {})
    if not least or not draft.request.tools:
        return draft
    names = [_wire_name(tool) for tool in draft.request.tools]
    needed = [least[start] for start in least if any(name.startswith(start) for name in names)]
    level = draft.plan.level
    if not needed or level not in LEVELS or not draft.plan.will_think:
        return draft
    wanted = max(needed, key=LEVELS.index)
    if LEVELS.index(level) >= LEVELS.index(wanted):
        return draft
    rules = draft.policy.but(unsupported="adjust")
    plan = make_plan(draft.entry, parse_intent(wanted), asked=draft.parameters, policy=rules)
    why = "a tool on offer does not work at this level here"
    note = Adjustment("unsupported_level", "level", draft.plan.asked, plan.level, why)
    return draft.but(plan=replace(plan, asked=draft.plan.asked)).note(note)


def _leave_out_doubles(request: Request) -> _Fitted:
    """Leave out tools whose name another has: two searches become one at a service with one."""
    kept: dict[str, Tool] = {}
    for tool in request.tools:
        kept.setdefault(tool.name, tool)
    lost = [tool for tool in request.tools if kept[tool.name] != tool]
    why = "another tool has its name here"
    notes = tuple(Adjustment("tool_left_out", "tools", tool.name, None, why) for tool in lost)
    return replace(request, tools=tuple(kept.values())), notes


def _leave_out_missing(request: Request, missing: tuple[str, ...]) -> _Fitted:
    """Leave out tools of the service that the model does not have; ``missing``: beginnings."""
    lost = [tool for tool in request.tools if _wire_name(tool).startswith(tuple(missing))]
    return _remove_tools(request, lost if missing else [], "this model does not have the tool")


def _leave_out_all(request: Request) -> _Fitted:
    """Offer no tools to a model that takes none."""
    return _remove_tools(request, list(request.tools), "this model takes no tools")


def _leave_out_hosted(request: Request) -> _Fitted:
    if all(tool.raw is not None for tool in request.tools):
        return request, ()
    hosted = [
        tool for tool in request.tools if tool.raw is not None and tool.kind != _BESIDE_FUNCTIONS
    ]
    return _remove_tools(request, hosted, "this model does not take it beside functions")


def _fit_choice_of_functions(request: Request) -> _Fitted:
    """Drop a choice where only functions can be chosen, and there are none."""
    choice = request.tool_choice
    if choice is None or any(tool.raw is None for tool in request.tools):
        return request, ()
    if choice.mode == "none":  # no tool may be called: so none is offered
        return replace(request, tools=(), tool_choice=None), ()
    return _drop_choice(request, "only a function can be forced here")


def _fit_named_choice(request: Request) -> _Fitted:
    """Force a tool by offering no other, where none can be named."""
    choice = request.tool_choice
    if choice is None or choice.mode != "tool":
        return request, ()
    named = tuple(tool for tool in request.tools if tool.name == choice.name)
    why = "this model takes no tool by its name; it is the only one on offer, and required"
    note = Adjustment("tool_choice_adjusted", "tool_choice", choice.name, "required", why)
    required = ToolChoice("required", None, choice.parallel)
    return replace(request, tools=named, tool_choice=required), (note,)


def _fit_choice_in_words(request: Request) -> _Fitted:
    """Drop a choice where there is no field for it; without tools none is called."""
    choice = request.tool_choice
    if choice is not None and choice.mode == "none":
        return replace(request, tools=(), tool_choice=None), ()
    return _drop_choice(request, "no tool can be forced here")


def _fit_strict(request: Request) -> _Fitted:
    """Let tools be called freely where their schemas cannot be enforced."""
    strict = [tool.name for tool in request.tools if tool.strict is not None]
    if not strict:
        return request, ()
    why = "this model does not enforce the schemas of tools"
    notes = (Adjustment("dropped_parameter", "strict", ", ".join(strict), None, why),)
    loose = tuple(replace(tool, strict=None) for tool in request.tools)
    enforced = any(tool.strict for tool in request.tools)
    return replace(request, tools=loose), notes if enforced else ()


_FITS: dict[str, Callable[[Request], _Fitted]] = {
    "tools": _leave_out_all,
    "choice": _fit_choice_in_words,
    "hosted_beside_functions": _leave_out_hosted,
    "choice_without_functions": _fit_choice_of_functions,
    "named_choice": _fit_named_choice,
    "strict": _fit_strict,
}


def _fit_choice(request: Request) -> _Fitted:
    """Drop a choice of a tool that is not on offer, and any choice without tools."""
    choice = request.tool_choice
    if choice is None or (choice.mode != "tool" and request.tools):
        return request, ()
    if any(tool.name == choice.name for tool in request.tools):
        return request, ()
    return _drop_choice(request, "the tool that must be called is not on offer here")


def _drop_choice(request: Request, why: str) -> _Fitted:
    choice = request.tool_choice
    if choice is None or not choice.forced:
        return replace(request, tool_choice=None), ()
    asked = choice.name or choice.mode
    note = Adjustment("dropped_parameter", "tool_choice", asked, None, why)
    return replace(request, tool_choice=None), (note,)


def _remove_tools(request: Request, lost: list[Tool], why: str) -> _Fitted:
    if not lost:
        return request, ()
    kept = tuple(tool for tool in request.tools if tool not in lost)
    notes = tuple(Adjustment("tool_left_out", "tools", tool.name, None, why) for tool in lost)
    return replace(request, tools=kept), notes


def _wire_name(tool: Tool) -> str:
    """Return what the service calls a tool of its own: its type, or its only field."""
    if not isinstance(tool.raw, dict):
        return ""
    return str(tool.raw.get("type") or next(iter(tool.raw), ""))

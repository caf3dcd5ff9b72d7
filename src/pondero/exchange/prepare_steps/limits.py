"""Drops parameters that a model or service rejects, other than those tied to thinking."""

from collections.abc import Sequence

from msgspec.structs import replace

from ...canon import Json, Message, Part, Text, Thinking, Tool, ToolChoice
from ...catalog import ModelEntry
from ...thinking import Adjustment, Plan, read_thinking
from .draft import RequestDraft

GO_ON = Text("[Go on from where the answer above ends.]")
_EMPTY: dict[str, Json] = {"tools": (), "stop": ()}


def drop_unsupported(draft: RequestDraft) -> RequestDraft:
    """Leave out parameters that the plan dropped, or that the API or the model does not take."""
    request, plan, unsupported = draft.request, draft.plan, draft.unsupported
    if not (plan.dropped or request.stop or request.tool_choice):
        return draft
    less: dict[str, Json] = {
        name: _EMPTY.get(name) for name in plan.dropped if name in request.__struct_fields__
    }
    notes: list[Adjustment] = []

    def leave_out(name: str, asked: Json, why: str) -> None:
        less[name] = None
        notes.append(Adjustment("dropped_parameter", name, asked, None, why))

    if request.stop:
        _limit_stop(draft, less, notes)
    choice = request.tool_choice
    if "tool_choice" in unsupported and choice is not None and choice.forced:
        leave_out("tool_choice", choice.name or choice.mode, "no tool can be forced here")
    if "hosted_choice" in unsupported and choice is not None and _is_hosted(choice, request.tools):
        why = "a tool that the service runs itself cannot be forced here"
        leave_out("tool_choice", choice.name, why)
    kept = choice is not None and "tool_choice" not in less
    if kept and "parallel" in unsupported and choice is not None and choice.parallel is False:
        why = "this service has no word for one call at a time"
        less["tool_choice"] = replace(choice, parallel=None)
        notes.append(
            Adjustment("dropped_parameter", "parallel_tool_calls", "one at a time", None, why)
        )
    return (draft.but(request=replace(request, **less)) if less else draft).note(*notes)


def fold_system(draft: RequestDraft) -> RequestDraft:
    """Put the system prompt before the first user turn of a model that takes none."""
    request = draft.request
    if "system" not in draft.unsupported or not request.system:
        return draft
    first, rest = Message("user", ()), request.messages
    if rest and rest[0].role == "user":
        first, rest = rest[0], rest[1:]
    first = replace(first, parts=(*request.system, *first.parts))
    why = "this model takes no system prompt; the first user turn begins with it"
    note = Adjustment("system_turn_folded", "system", "system prompt", "in a user turn", why)
    return draft.but(request=replace(request, system=(), messages=(first, *rest))).note(note)


def _is_hosted(choice: ToolChoice, tools: Sequence[Tool]) -> bool:
    return choice.mode == "tool" and any(
        tool.name == choice.name and tool.raw is not None and tool.parameters is None
        for tool in tools
    )


def _limit_stop(draft: RequestDraft, less: dict[str, Json], notes: list[Adjustment]) -> None:
    asked = list(draft.request.stop)
    why = "this service has no stop sequences" if "stop" in draft.unsupported else ""
    if not why and "stop" in draft.entry.capability.forbids:
        why = "this model refuses stop sequences"
    if why:
        less["stop"] = ()
        notes.append(Adjustment("dropped_parameter", "stop", asked, None, why))
        return
    if "blank_stop" in draft.unsupported:
        asked = _drop_blank_stops(asked, less, notes)
    most = int(draft.entry.provider.surface.clamp("stop", len(asked)))
    if most < len(asked):
        less["stop"] = tuple(asked[:most])
        why = f"this service takes at most {most} stop sequences"
        notes.append(Adjustment("parameter_clamped", "stop", asked, asked[:most], why))


def _drop_blank_stops(
    asked: list[str], less: dict[str, Json], notes: list[Adjustment]
) -> list[str]:
    kept = [each for each in asked if each.strip()]
    if len(kept) < len(asked):
        less["stop"] = tuple(kept)
        blanks = [each for each in asked if not each.strip()]
        why = "this service takes no stop sequence of blanks alone"
        notes.append(Adjustment("dropped_parameter", "stop", blanks, None, why))
    return kept


# -- an answer begun for the model ---------------------------------------------------------------


def apply_prefill(draft: RequestDraft) -> RequestDraft:
    """Fit a prefill; if the model takes none, keep it and add a user message to continue it."""
    messages = draft.request.messages
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.tool_calls:
        return draft
    if why := _find_objection(last, draft.plan, draft.entry):
        messages = (*messages, Message("user", (GO_ON,)))
        note = Adjustment("prefill_adjusted", "prefill", last.text, GO_ON.text, why)
    elif not draft.replay_rules.trailing_space and (parts := _trim(last.parts)) is not None:
        begun = (Message("assistant", parts, last.origin),) if parts else ()
        messages = (*messages[:-1], *begun)
        why = "an answer begun for the model may not end in blanks here"
        note = Adjustment("prefill_adjusted", "prefill", last.text, last.text.rstrip(), why)
    else:
        return draft
    return draft.but(request=replace(draft.request, messages=messages)).note(note)


def _find_objection(last: Message, plan: Plan, entry: ModelEntry) -> str:
    rule = entry.capability.prefill
    if rule == "refused":
        return "this model continues no answer that was begun for it"
    if rule == "ok":
        return ""
    thought = any(isinstance(part, Thinking) for part in last.parts)
    if not _thinks(plan, entry):
        return "an answer begun with thinking is refused while thinking is off" if thought else ""
    if isinstance(last.parts[0], Thinking):
        return ""
    return "this model continues no answer while it thinks, unless it began with thinking"


def _thinks(plan: Plan, entry: ModelEntry) -> bool:
    if plan.will_think is not None:
        return plan.will_think
    said = read_thinking(plan.fields, entry.placement, entry.provider.parameters).intent
    return said.kind not in ("unset", "off")


def _trim(parts: tuple[Part, ...]) -> tuple[Part, ...] | None:
    """Return the parts without trailing blanks; None if there are none to trim."""
    last = parts[-1]
    if not isinstance(last, Text) or last.text == (text := last.text.rstrip()):
        return None
    return (*parts[:-1], *((replace(last, text=text),) if text else ()))

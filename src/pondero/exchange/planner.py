"""Makes the plan: the fields for a requested level, from the catalog's facts."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ..canon import merge_json
from ..catalog import ModelEntry, ShortName, describe_meaning
from ..errors import Unsupported
from ..thinking import (
    BENIGN,
    Adjustment,
    Decision,
    Intent,
    Plan,
    PlanSources,
    Policy,
    RequestParameters,
    place_fields,
    place_headers,
    read_native,
    resolve,
)

_STANDS_IN = {
    "nearest": "the closest earlier version",
    "oldest": "the oldest known version",
    "newest": "the newest known version",
    "word": "for a word in its name",
    "any": "as every unknown name of this provider is",
}
_THOUGH_OFF = ("cannot_disable", "off_floor")  # it thinks although off was requested


def plan(entry: ModelEntry, intent: Intent, *, asked: RequestParameters, policy: Policy) -> Plan:
    """Plan one model and intent; raises Unsupported only under a strict policy."""
    facts, surface = entry.capability, entry.provider.surface
    decision = resolve(intent, facts, policy=policy, asked=asked, surface=surface)
    adjustments = (
        *_note_name(entry),
        *_note_calibration(intent, decision),
        *_note_visibility(entry, decision, policy),
    )
    if policy.unsupported == "strict":
        insist(entry, adjustments)
    return Plan(
        model=entry.id,
        dialect=entry.provider.dialect,
        family=entry.family,
        asked=intent.as_text,
        level=decision.level,
        budget=decision.budget,
        nominal=decision.nominal,
        will_think=decision.will_think,
        fields=_fields(entry, intent, decision),
        headers=place_headers(decision, entry.placement),
        dropped=decision.dropped,
        adjustments=adjustments,
        facts=PlanSources(
            facts.source, facts.checked, entry.inferred, entry.evidence, entry.like or None
        ),
        typical=decision.typical,
    )


def _note_calibration(intent: Intent, decision: Decision) -> tuple[Adjustment, ...]:
    if intent.auto is None:
        return ()
    found = intent.auto.found or (("no_calibration", "no calibration was looked up"),)
    measured = intent.auto.measured
    sent = (decision.level, decision.budget)
    is_stale = any(code == "calibration_stale" for code, _ in found)
    if measured and sent != (measured.level, measured.budget) and not is_stale:
        # Whatever the cause: max_tokens, a long context or tools can lower a token budget.
        now = "no budget" if decision.budget is None else f"{decision.budget:,} tokens"
        why = f"this request has {now} for thinking, and {measured.words}"
        if decision.budget == measured.budget:
            why = f"this request is sent at {decision.level}, and {measured.words}"
        found = (*found, ("calibration_stale", why))
    got = decision.level if decision.budget is None else decision.budget
    return tuple(Adjustment(code, "level", intent.as_text, got, why) for code, why in found)


def merge_native_fields(
    entry: ModelEntry,
    made: Plan,
    extras: Mapping[str, Any],
    *,
    asked: RequestParameters,
    policy: Policy,
) -> Plan:
    """Let thinking in the service's own fields win over the plan."""
    said = read_native(extras, entry.placement)
    if said.depth and merge_json(made.fields, said.depth) != made.fields:
        intent = Intent("native", fields=said.depth)
        native = plan(entry, intent, asked=asked, policy=policy.but(unsupported="adjust"))
        if made.asked is None:
            return native
        why = f"extras says it in the service's own fields: {' '.join(said.depth)}"
        note = Adjustment("native_wins", "thinking", made.asked, "native", why)
        notes = (*native.adjustments, note)
        return msgspec.structs.replace(native, asked=made.asked, adjustments=notes)
    if said.shown:
        return msgspec.structs.replace(made, fields=merge_json(made.fields, said.shown))
    return made


def _fields(entry: ModelEntry, intent: Intent, decision: Decision) -> dict[str, Any]:
    placed = place_fields(decision, entry.placement, entry.provider.parameters)
    if intent.kind != "native":
        return placed
    from copy import deepcopy  # noqa: PLC0415 - only for native fields

    return merge_json(placed, deepcopy(dict(intent.fields or {})))


def _note_visibility(
    entry: ModelEntry, decision: Decision, policy: Policy
) -> tuple[Adjustment, ...]:
    notes, shown = decision.adjustments, entry.capability.shown
    unasked = decision.mode == "unset" and decision.will_think is not False
    if decision.show is not False and not unasked:
        return notes
    if entry.placement.hide is not None and not unasked:
        return tuple(
            msgspec.structs.replace(note, why=f"{note.why}; it is hidden, and still billed")
            if note.code in _THOUGH_OFF
            else note
            for note in notes
        )
    if policy.show != "none" or shown not in ("full", "summary"):
        return notes
    why = "this service has no word for it, and the thinking comes by itself"
    if unasked:
        why = "nothing is sent about thinking, and it comes by itself"
    return (*notes, Adjustment("cannot_hide", "show", "none", shown, why))


def _note_name(entry: ModelEntry) -> tuple[Adjustment, ...]:
    if entry.short:
        why = describe_meaning(entry.short, ShortName(entry.id, entry.line))
        return (Adjustment("model_short", "model", entry.short, entry.id, why),)
    if entry.typed:
        why = f"{entry.provider.label} spells it {entry.model}"
        return (Adjustment("model_spelt", "model", entry.typed, entry.model, why),)
    if entry.asked_of:
        why = f"{entry.provider.label} is another deployment; it is sent to {entry.provider.name}"
        asked = f"{entry.asked_of}:{entry.model}"
        return (Adjustment("model_spelt", "model", asked, entry.id, why),)
    if not (entry.inferred or entry.begins_like):
        return _note_maker(entry)
    if entry.begins_like:
        why = f"not in the catalog; treated like {entry.begins_like}, with which it begins"
    elif entry.family == "unknown":
        why = "not in the catalog; nothing is sent for a level, and its own fields pass through"
    elif entry.like:
        why = f"not in the catalog; treated like {entry.like}, {_STANDS_IN[entry.why]}"
    else:
        why = f"not in the catalog; treated like {entry.family}, {_STANDS_IN[entry.why]}"
    if entry.near is not None:
        why += f"; did you mean {entry.near!r}?"
    return (
        *_note_maker(entry),
        Adjustment("unknown_model", "model", entry.model, entry.family, why),
    )


def _note_maker(entry: ModelEntry) -> tuple[Adjustment, ...]:
    if not entry.maker:
        return ()
    own = f"{entry.maker}:{entry.model.removeprefix(f'{entry.maker}/')}"
    why = f"{entry.provider.label} answers to this name; for {entry.maker} itself use {own}"
    return (Adjustment("model_spelt", "model", entry.model, entry.id, why),)


def insist(entry: ModelEntry, adjustments: tuple[Adjustment, ...]) -> None:
    """Raise Unsupported for adjustments that a strict policy forbids."""
    refused = [note for note in adjustments if note.code not in BENIGN]
    if refused:
        raise Unsupported(f"{entry.id} {'; it '.join(map(_describe_refused, refused))}")


def _describe_refused(note: Adjustment) -> str:
    if note.code != "cannot_disable":
        return f"cannot do exactly this: {note.why} ({note.code})"
    least = f"{note.got:,} tokens" if isinstance(note.got, int) else note.got
    return f"cannot switch thinking off; its minimum is {least} ({note.code})"

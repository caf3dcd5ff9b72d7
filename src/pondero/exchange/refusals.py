"""What services refused once, so that it is not sent to them again.

A refusal is a value. ``refusal_of`` makes it when a repaired request was taken, chats and threads
keep it, and ``without_refused`` leaves out what it names when the next request is prepared.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ..canon import HttpRequest, Json, Origin
from ..catalog import Entry
from ..dialects import Repair, dialect
from ..errors import BadRequest, ServiceError
from ..handoff import REFUSED, UNSEEN, Field, Manifest, Refusal, mark
from ..thinking import Adjustment, Plan, closest, offered_levels, why_substituted

Path = tuple[str, ...]
_ABSENT = msgspec.UNSET


def refusal_of(
    origin: Origin, refused: HttpRequest, error: ServiceError, repair: Repair
) -> Refusal:
    """Return what to remember of a refusal whose repair was taken."""
    if repair.unsealed:
        marks = tuple(dict.fromkeys(map(mark, repair.unsealed)))
        return Refusal(origin.provider, origin.model, seals=marks)
    field = _field(refused, error, repair)
    if field is not None:
        return Refusal(origin.provider, origin.model, field=field)
    return Refusal(origin.provider, origin.model, error.message)


def refused_by(entry: Entry, refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Return the refusals of one model at one provider."""
    here = (entry.provider.name, entry.model)
    return tuple(each for each in refusals if (each.provider, each.model) == here)


def seals_of(refusals: Iterable[Refusal]) -> frozenset[str]:
    """Return the marks of all refused seals."""
    return frozenset(seal for each in refusals for seal in each.seals)


def without_refused(
    name: str, http: HttpRequest, plan: Plan, refusals: Iterable[Refusal]
) -> tuple[HttpRequest, Plan]:
    """Return a request of this dialect without what was refused before; the plan says what."""
    for each in refusals:
        if each.field is not None:
            changed = _without(http, each.field)
        elif each.message:
            changed = _cured(name, http, each.message)
        else:
            continue  # seals: the handoff withholds them
        if changed is not None:
            http, note = changed
            plan = msgspec.structs.replace(plan, adjustments=(*plan.adjustments, note))
    return http, plan


def noting_withheld(plan: Plan, manifest: Manifest) -> Plan:
    """Return the plan with adjustments for what the service's rules withheld from the model.

    Another model's thinking is not among it: the manifest lists that.
    """
    whys = {change.why for change in manifest.changes}
    notes = tuple(note for why, note in _WITHHELD.items() if why in whys)
    if not notes:
        return plan
    return msgspec.structs.replace(plan, adjustments=(*plan.adjustments, *notes))


_WITHHELD = {
    REFUSED: Adjustment(
        "seal_refused",
        "thinking",
        "replayed",
        "dropped",
        "earlier thinking was not accepted by the service before; it is not sent again",
    ),
    UNSEEN: Adjustment(
        "medium_unseen",
        "media",
        "shown",
        "described",
        "this model takes no such picture or file; words stand in its place",
    ),
}


# -- the field that a repair changed -------------------------------------------------------------


def _field(refused: HttpRequest, error: ServiceError, repair: Repair) -> Field | None:
    """Return the one field that was left out, or given another word; None where it was more."""
    if dict(refused.headers) != dict(repair.request.headers):
        return None
    before, after = (msgspec.json.decode(each.body) for each in (refused, repair.request))
    differences = list(_differences(before, after))
    if len(differences) != 1:
        return None
    path, was, now = differences[0]
    note, takes = repair.adjustment, offered_levels(error.message)
    if now is _ABSENT:
        got = note.got if isinstance(note.got, str) else None
        return Field(path, (), note.code, note.what, got, note.why)
    if isinstance(was, str) and now in takes:
        return Field(path, takes, note.code, note.what)
    return None


def _differences(before: Json, after: Json, at: Path = ()) -> Iterator[tuple[Path, Json, Json]]:
    """Yield the places where two bodies differ; an object that is gone differs in its fields."""
    gone = after is _ABSENT and isinstance(before, Mapping) and before
    if isinstance(before, Mapping) and (gone or isinstance(after, Mapping)):
        inner = {} if gone else after
        for key in dict.fromkeys((*before, *inner)):
            yield from _differences(before.get(key, _ABSENT), inner.get(key, _ABSENT), (*at, key))
    elif before != after:
        yield at, before, after


def _without(http: HttpRequest, field: Field) -> tuple[HttpRequest, Adjustment] | None:
    """Return a request as its field is taken; None where nothing in it is refused."""
    body = msgspec.json.decode(http.body)
    holders = [body]
    for key in field.path[:-1]:
        inner = holders[-1].get(key)
        if not isinstance(inner, dict):
            return None
        holders.append(inner)
    asked = holders[-1].get(field.path[-1])
    if field.takes:
        if not isinstance(asked, str) or asked in field.takes:
            return None
        note = _nearest(asked, field)
        holders[-1][field.path[-1]] = note.got
    else:
        if not asked:
            return None
        _take_out(holders, field.path)
        said = "on" if asked is True else asked
        note = Adjustment(field.code, field.what, said, field.got, field.why)
    return msgspec.structs.replace(http, body=msgspec.json.encode(body)), note


def _nearest(asked: str, field: Field) -> Adjustment:
    words = field.takes
    got = closest(asked, words)
    why = f"the service takes {' '.join(words)} of this model; {why_substituted(got, asked, words)}"
    return Adjustment(field.code, field.what, asked, got, why)


def _take_out(holders: list[dict[str, Json]], path: Path) -> None:
    """Take a field out, and the objects that are empty without it."""
    for holder, key in zip(reversed(holders), reversed(path), strict=True):
        del holder[key]
        if holder:
            return


def _cured(name: str, http: HttpRequest, message: str) -> tuple[HttpRequest, Adjustment] | None:
    """Return a request as its dialect repairs it after such a refusal."""
    repair = dialect(name).caller().repair
    made = repair(http, BadRequest(message, status=400)) if repair is not None else None
    return None if made is None else (made.request, made.adjustment)

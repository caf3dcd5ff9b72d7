"""Edits of the context that a service takes only while the model thinks.

Claude Code asks for one with every request. If thinking is off, the service would reject it.
"""

from msgspec.structs import replace

from ...canon import Json
from ...catalog import ModelEntry
from ...dialects import DepthPlaces, get_dialect
from ...exchange import Exchange, with_fields
from ...framing import parse_json_or_none
from ...thinking import Adjustment

_WHY = "the service takes this edit of the context only while the model thinks"


def drop_thinking_edits(exchange: Exchange, entry: ModelEntry) -> Exchange:
    """Return the request without edits of thinking if the model does not think."""
    places = get_dialect(entry.provider.dialect).service().depth
    body = exchange.http.body
    if exchange.plan.will_think is not False or not any(
        edit.encode() in body for edit in places.thinking_edits
    ):
        return exchange
    fields = parse_json_or_none(body)
    if not isinstance(fields, dict) or _thinks_natively(fields, places):
        return exchange
    top, name = places.edits_at
    holder = fields.get(top)
    if not isinstance(holder, dict) or not isinstance(edits := holder.get(name), list):
        return exchange
    kept = [edit for edit in edits if _kind(edit) not in places.thinking_edits]
    if len(kept) == len(edits):
        return exchange
    others = {key: value for key, value in holder.items() if key != name}
    left = {**others, name: kept} if kept else others
    http = replace(exchange.http, body=with_fields(body, ((top,),), {top: left} if left else {}))
    dropped = next(_kind(edit) for edit in edits if _kind(edit) in places.thinking_edits)
    note = Adjustment("dropped_parameter", f"{top}.{name}", dropped, None, _WHY)
    plan = replace(exchange.plan, adjustments=(*exchange.plan.adjustments, note))
    return replace(exchange, http=http, plan=plan)


def _thinks_natively(fields: dict[str, Json], places: DepthPlaces) -> bool:
    """Return whether the body itself switches thinking on, whatever the plan says."""
    thinking = fields.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in places.thinking_on


def _kind(edit: Json) -> Json:
    return edit.get("type") if isinstance(edit, dict) else None

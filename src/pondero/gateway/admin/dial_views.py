"""The admin API's dial: which names are served, and what a level would send."""

from collections.abc import Sequence

from msgspec import Struct

from ...errors import BadParameter
from ...thinking import LEVELS
from ..requests.requester import find_end
from ..server.context import GatewayContext
from .actor import AdminCall
from .preview import PlanPreview, ServedName, list_served_names, preview
from .request_views import read_query


class ServedNames(Struct, frozen=True):
    """The names that are served, and all levels."""

    models: list[ServedName]
    levels: Sequence[str]


async def list_models(gateway: GatewayContext, _call: AdminCall) -> ServedNames:
    """Return the model names that clients can use."""
    return ServedNames(list_served_names(gateway.routing), LEVELS)


async def show_plan(gateway: GatewayContext, call: AdminCall) -> PlanPreview:
    """Return what would be sent for a model, a level and a key."""
    query = read_query(call.http)
    named = query.get("key")
    key = next((each for each in await gateway.keys.all() if each.name == named), None)
    if named and key is None:
        message = f"unknown key {named!r}"
        raise BadParameter(message)
    if key is not None and (end := find_end(key, gateway.now())) is not None:
        message = f"the gateway key {key.name!r} {end}, so its requests are rejected"
        raise BadParameter(message)
    model, wish = query.get("model") or "", query.get("thinking")
    return preview(gateway.config, gateway.routing, model, wish, key=key)

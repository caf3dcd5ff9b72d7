"""The table of the admin API: its router and its OpenAPI document are both made of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ...canon import Json
from ...thinking import LEVELS
from ..observability.audit_log import ACTIONS, OUTCOMES
from ..observability.audit_pages import AuditPage
from ..observability.feed import KEPT
from ..observability.request_filter import ANSWERS, ENDS, TOKENS, UNSET
from ..observability.request_pages import CURSOR, RequestPage
from ..observability.time_range import SPANS
from ..server.context import GatewayContext
from ..sign_in.cookies import SESSION, name_cookie
from . import openapi
from .access import is_guarded
from .actor import Actor, AdminCall
from .alerts import Alert, find_alerts
from .audit_views import list_audit, stream_audit_csv
from .dial_views import ServedNames, list_models, show_plan
from .key_views import (
    CreatedKey,
    GroupList,
    KeyList,
    KeyRevision,
    KeySettings,
    NamedKey,
    NewKey,
    change_key,
    create_key,
    remove_key,
    show_groups,
    show_keys,
)
from .operation import HOME, Operation, Parameter
from .preview import PlanPreview
from .request_views import (
    ChoicesAnswer,
    FiguresAnswer,
    LiveRequests,
    RequestDetail,
    count_requests,
    list_choices,
    list_requests,
    show_request,
    stream_csv,
    stream_live,
)

_Moment = Annotated[float, Meta(ge=0, lt=1e11)] | Annotated[datetime, Meta(tz=True)]
_CURSOR = Annotated[str, Meta(pattern=f"^{CURSOR}$")]
_SINCE = Parameter(name="since", kind=_Moment, description="Not before: seconds or a time.")
_UNTIL = Parameter(name="until", kind=_Moment, description="Before: seconds or a time.")
_SPAN = Parameter(name="span", kind=Literal[tuple(SPANS)], description="The time up to now; a day.")
_COUNT = Parameter(
    name="count", kind=Annotated[int, Meta(ge=1, le=KEPT)], description="Rows on a page."
)
_BEFORE = Parameter(name="before", kind=_CURSOR, description="The next of the page before.")
_ANSWERS = Parameter(
    name="answers",
    kind=Literal[ANSWERS],
    description="Whose: those of services, of the emulator, or all. Default: those that this "
    "gateway gives.",
)
_FILTER = (
    Parameter(name="key", description="The name of a key."),
    Parameter(name="group", description="The name of a group."),
    Parameter(name="model", description="provider:model, as it answered."),
    Parameter(name="route", description="The match of a route."),
    Parameter(name="end", kind=Literal[ENDS], description="How the request ended."),
    Parameter(
        name="status", kind=Annotated[int, Meta(ge=0, le=999)], description="The HTTP status."
    ),
    Parameter(
        name="level",
        kind=Literal[(*LEVELS, TOKENS, UNSET)],
        description="The level that was sent; tokens: a number of them, none: nothing.",
    ),
    Parameter(name="purpose", description="What the request was for."),
    _ANSWERS,
    Parameter(name="search", description="Words that its names, its reason or its id contain."),
    _SINCE,
    _UNTIL,
)
_AUDIT_FILTER = (
    Parameter(name="actor", description="Who acted."),
    Parameter(name="action", kind=Literal[ACTIONS], description="What was done."),
    Parameter(name="subject", description="The key or file that was changed."),
    Parameter(name="outcome", kind=Literal[OUTCOMES], description="How it ended."),
    _SINCE,
    _UNTIL,
)
_KEY = Parameter(name="name", description="The name of the key.", required=True)


class AlertList(Struct, frozen=True):
    """What needs attention now."""

    alerts: list[Alert]


async def _list_alerts(gateway: GatewayContext, _call: AdminCall) -> AlertList:
    return AlertList(await find_alerts(gateway))


class SessionAnswer(Struct, frozen=True):
    """Who calls; ``offline``: the emulator answers here."""

    actor: Actor
    offline: bool


async def _show_session(gateway: GatewayContext, call: AdminCall) -> SessionAnswer:
    return SessionAnswer(call.actor, gateway.is_offline)


async def _show_document(gateway: GatewayContext, _call: AdminCall) -> Json:
    guarded = is_guarded(gateway.config, await gateway.keys.all())
    sign_in = gateway.config.sign_in
    cookie = None if sign_in is None else name_cookie(SESSION, sign_in)
    return openapi.describe(OPERATIONS, guarded=guarded, cookie=cookie)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        method="GET",
        path="requests",
        id="listRequests",
        summary="List requests, newest first",
        handler=list_requests,
        answer=RequestPage,
        parameters=(*_FILTER, _BEFORE, _COUNT),
    ),
    Operation(
        method="GET",
        path="requests/{id}",
        id="showRequest",
        summary="Show one request, and where its time went",
        handler=show_request,
        answer=RequestDetail,
        name=Parameter(name="id", description="The id of the request.", required=True),
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="requests.csv",
        id="exportRequests",
        summary="Export requests as CSV",
        stream=stream_csv,
        media="text/csv",
        parameters=_FILTER,
    ),
    Operation(
        method="GET",
        path="live",
        id="followRequests",
        summary="Follow requests as they end, as server-sent events that never end",
        stream=stream_live,
        answer=LiveRequests,
        media="text/event-stream",
        parameters=_FILTER,
    ),
    Operation(
        method="GET",
        path="figures",
        id="countRequests",
        summary="Add up use and spend by time, model, key and group",
        handler=count_requests,
        answer=FiguresAnswer,
        parameters=(_SPAN, *_FILTER),
    ),
    Operation(
        method="GET",
        path="choices",
        id="listChoices",
        summary="List what requests can be filtered by",
        handler=list_choices,
        answer=ChoicesAnswer,
        parameters=(_SPAN, _ANSWERS),
    ),
    Operation(
        method="GET",
        path="alerts",
        id="listAlerts",
        summary="List what needs attention now",
        handler=_list_alerts,
        answer=AlertList,
    ),
    Operation(
        method="GET",
        path="keys",
        id="listKeys",
        summary="List keys with their rules and quota use",
        handler=show_keys,
        answer=KeyList,
    ),
    Operation(
        method="POST",
        path="keys",
        id="createKey",
        summary="Create a key, which this answer alone shows",
        handler=create_key,
        answer=CreatedKey,
        body=NewKey,
        errors=(409,),
        action="key.create",
    ),
    Operation(
        method="PATCH",
        path="keys/{name}",
        id="changeKey",
        summary="Change settings of a key, or block it at once",
        handler=change_key,
        answer=KeyRevision,
        name=_KEY,
        body=KeySettings,
        errors=(404, 409),
        action="key.change",
    ),
    Operation(
        method="DELETE",
        path="keys/{name}",
        id="removeKey",
        summary="Remove a key that was created at run time",
        handler=remove_key,
        answer=NamedKey,
        name=_KEY,
        errors=(404, 409),
        action="key.remove",
    ),
    Operation(
        method="GET",
        path="groups",
        id="listGroups",
        summary="List groups with their keys and quota use",
        handler=show_groups,
        answer=GroupList,
    ),
    Operation(
        method="GET",
        path="models",
        id="listModels",
        summary="List the names that are served",
        handler=list_models,
        answer=ServedNames,
    ),
    Operation(
        method="GET",
        path="plan",
        id="showPlan",
        summary="Show what would be sent for a model and a level",
        handler=show_plan,
        answer=PlanPreview,
        parameters=(
            Parameter(
                name="model",
                kind=Annotated[str, Meta(min_length=1)],
                description="A name that is served.",
                required=True,
            ),
            Parameter(name="thinking", description="A level, or a number of tokens."),
            Parameter(name="key", description="The name of the key whose rules hold."),
        ),
    ),
    Operation(
        method="GET",
        path="audit",
        id="listAudit",
        summary="List who changed what, newest first",
        handler=list_audit,
        answer=AuditPage,
        parameters=(*_AUDIT_FILTER, _BEFORE, _COUNT),
    ),
    Operation(
        method="GET",
        path="audit.csv",
        id="exportAudit",
        summary="Export the audit log as CSV",
        stream=stream_audit_csv,
        media="text/csv",
        parameters=_AUDIT_FILTER,
    ),
    Operation(
        method="GET",
        path="session",
        id="showSession",
        summary="Show who calls, and what they may do",
        handler=_show_session,
        answer=SessionAnswer,
    ),
    Operation(
        method="GET",
        path="openapi.json",
        id="describeApi",
        summary="Describe this API",
        handler=_show_document,
        answer=dict[str, Any],
    ),
)
"""All operations of the admin API."""


def find_operations(path: str) -> tuple[Mapping[str, Operation], str]:
    """Return the operations of a path by method, and the name that the path ends with."""
    place, _, name = path.removeprefix(f"{HOME}/").partition("/")
    return _PLACES.get((place, bool(name)), {}), name


def _find_places() -> dict[tuple[str, bool], dict[str, Operation]]:
    places: dict[tuple[str, bool], dict[str, Operation]] = {}
    for each in OPERATIONS:
        place = each.path.partition("/")[0]
        places.setdefault((place, each.name is not None), {})[each.method] = each
    return places


_PLACES = _find_places()
"""By the path, and whether a name follows it."""

"""The admin API's keys and groups: what they may use and have used, and every change of a key.

Only the answer that creates a key shows it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, MsgspecError, Struct, defstruct, json
from msgspec.structs import FieldInfo, fields

from ...canon import HttpRequest, Json
from ...errors import BadParameter
from ..config.endpoint_section import list_endpoints
from ..config.model import LONGEST_KEY_NAME, GatewayKey, LevelRules
from ..config.routing import allows
from ..observability.audit_log import describe_key
from ..quotas.admission import USEFUL_ANSWER
from ..quotas.quota import BILLION, Quota, Unit, find_quotas
from ..quotas.quota_preview import LoweredLimit, find_lowered_limits, list_budgets
from ..server.context import GatewayContext
from ..state.keys import find_revision
from .access import is_guarded
from .actor import AdminCall
from .operation import JSON, ActionResult

_LOWERED = 3  # models whose answers a budget shortens, as examples
_FIXED = ("name", "hash")  # of a key
_SETTINGS: Sequence[FieldInfo] = [each for each in fields(GatewayKey) if each.name not in _FIXED]
_NAMES = frozenset(each.name for each in _SETTINGS)
_TIMES = {"anyOf": [{"format": "date-time"}, {"format": "date"}]}  # a day ends in UTC
_INPUTS = {"expires": Annotated[str, Meta(extra_json_schema=_TIMES)] | None}
_OPTIONAL: list[tuple[str, Any, Any]] = [
    (each.name, _INPUTS.get(each.name, each.type | None), None) for each in _SETTINGS
]

KeyName = Annotated[str, Meta(min_length=1, max_length=LONGEST_KEY_NAME)]


class QuotaView(Struct, frozen=True):
    """A quota and how much of it is used; cost in dollars.

    ``rolling``: it holds for any time span of this length, else for the calendar's.
    """

    unit: Unit
    most: float
    taken: float
    per: str
    rolling: bool


# These are made of the settings of ``[[key]]``: a new setting needs no second list.
KeyView: Any = defstruct(
    "KeyView",
    [
        ("name", str),
        *((each.name, each.type) for each in _SETTINGS),
        ("made_here", bool),
        ("bounds", list[QuotaView]),
        ("lowered", list[LoweredLimit]),
        ("without_room", list[LoweredLimit]),
        ("has_room", bool),
        ("revision", str),
    ],
    namespace={
        "__doc__": (
            "A key without its text and hash; made_here: not in gateway.toml. lowered: models "
            "whose answers the rest of its budgets shortens; without_room: models for whose "
            "shortest useful answer too little is left; has_room: it is left for some model. "
            "revision: another one after each change."
        )
    },
    frozen=True,
)
NewKey: Any = defstruct(
    "NewKey",
    [("name", KeyName), *_OPTIONAL],
    namespace={"__doc__": "A key to create, with the settings of [[key]]; null: the default."},
    frozen=True,
    forbid_unknown_fields=True,
)
KeySettings: Any = Annotated[
    defstruct(
        "KeySettings",
        [*_OPTIONAL, ("revision", str | None, None)],
        namespace={
            "__doc__": (
                "Settings to change; null: the default. What is missing stays. revision: that of "
                "the key that was seen; if it has another, nothing is changed."
            )
        },
        frozen=True,
        forbid_unknown_fields=True,
    ),
    Meta(extra_json_schema={"minProperties": 1}),
]


KeyList: Any = defstruct(
    "KeyList",
    [("keys", list[KeyView]), ("guarded", bool), ("endpoints", list[str])],
    namespace={
        "__doc__": (
            "All keys; guarded: an admin key exists or people sign in. endpoints: the names that "
            "endpoints of a key can have."
        )
    },
    frozen=True,
)


class CreatedKey(Struct, frozen=True):
    """A new key, whose text is shown only here."""

    name: str
    key: str


class NamedKey(Struct, frozen=True):
    """The key that was removed."""

    name: str


class KeyRevision(Struct, frozen=True):
    """The key that was changed, and its revision now."""

    name: str
    revision: str


class GroupView(Struct, frozen=True):
    """A group of gateway.toml, its keys, and what they have used together."""

    name: str
    keys: list[str]
    thinking: LevelRules
    bounds: list[QuotaView]


class GroupList(Struct, frozen=True):
    """All groups."""

    groups: list[GroupView]


async def show_keys(gateway: GatewayContext, _call: AdminCall) -> Any:
    """Return all keys with their rules and quota use."""
    every = await gateway.keys.all()
    rows = [await _describe_key(gateway, key) for key in every]
    return KeyList(rows, is_guarded(gateway.config, every), list(list_endpoints()))


async def _describe_key(gateway: GatewayContext, key: GatewayKey) -> Any:
    group = gateway.config.find_group(key.group) if key.group is not None else None
    rules = {each.name: getattr(key, each.name) for each in _SETTINGS}
    budgets = list_budgets(key, group)
    used = await gateway.state.current_use(budgets)
    taken = {quota.name: amount for quota, amount in zip(budgets, used, strict=True)}
    lowered = find_lowered_limits(key, gateway.routing, group, taken)
    useful = [each for each in lowered if each.max_tokens >= USEFUL_ANSWER]
    full = [each for each in lowered if each.max_tokens < USEFUL_ANSWER]
    models = {
        each.entry.id
        for each in (gateway.routing.names() if full else ())
        if allows(key, gateway.routing.resolve(each.name))
    }
    return KeyView(
        name=key.name,
        **rules,
        made_here=not gateway.keys.is_configured(key.name),
        bounds=await _list_quotas(gateway, find_quotas(key)),
        lowered=useful[:_LOWERED],
        without_room=full[:_LOWERED],
        has_room=not full or bool(models - {each.model for each in full}),
        revision=find_revision(key),
    )


async def _list_quotas(gateway: GatewayContext, quotas: Sequence[Quota]) -> list[QuotaView]:
    taken = await gateway.state.current_use(quotas)
    return [_describe_quota(*pair) for pair in zip(quotas, taken, strict=True)]


def _describe_quota(bound: Quota, taken: int) -> QuotaView:
    unit = BILLION if bound.unit == "money" else 1
    return QuotaView(bound.unit, bound.most / unit, taken / unit, bound.per, bound.rolling)


async def show_groups(gateway: GatewayContext, _call: AdminCall) -> GroupList:
    """Return all groups with their keys and quota use."""
    keys = await gateway.keys.all()
    return GroupList(
        [
            GroupView(
                group.name,
                [key.name for key in keys if key.group == group.name],
                group.thinking,
                await _list_quotas(gateway, find_quotas(group)),
            )
            for group in gateway.config.groups
        ]
    )


async def create_key(gateway: GatewayContext, call: AdminCall) -> ActionResult:
    """Create a key."""
    rules = read_object(call.http)
    name = rules.pop("name", None)
    _check_names(rules, _NAMES)
    if not isinstance(name, str) or not name.strip():
        raise BadParameter("a key needs a name that says whose it is")
    name = name.strip()
    given = {setting: value for setting, value in rules.items() if value is not None}
    text = await gateway.keys.make(name, given)
    made = next((key for key in await gateway.keys.all() if key.name == name), None)
    answer = CreatedKey(name, text)
    return ActionResult(answer=answer, action="key.create", subject=name, after=describe_key(made))


async def change_key(gateway: GatewayContext, call: AdminCall) -> ActionResult:
    """Change settings of a key, or block it."""
    rules, action = read_object(call.http), "key.change"
    revision = rules.pop("revision", None)
    if revision is not None and not isinstance(revision, str):
        raise BadParameter("invalid revision; send that of the key, or none")
    _check_names(rules, _NAMES.union(_FIXED))
    if not rules:
        raise BadParameter('name what to change, such as {"blocked": true}')
    if rules.keys() == {"blocked"}:  # also possible for a key of gateway.toml
        blocked = rules["blocked"] or False
        if not isinstance(blocked, bool):
            raise BadParameter('invalid blocked; use {"blocked": true} or {"blocked": false}')
        action = "key.block" if blocked else "key.unblock"
        edit = await gateway.keys.block(call.name, blocked=blocked, revision=revision)
    else:
        edit = await gateway.keys.change(call.name, rules, revision=revision)
    return ActionResult(
        answer=KeyRevision(call.name, edit.revision),
        action=action,
        subject=call.name,
        before=describe_key(edit.before),
        after=describe_key(edit.after),
    )


async def remove_key(gateway: GatewayContext, call: AdminCall) -> ActionResult:
    """Delete a key."""
    edit = await gateway.keys.remove(call.name)
    return ActionResult(
        answer=NamedKey(call.name),
        action="key.remove",
        subject=call.name,
        before=describe_key(edit.before),
    )


def _check_names(rules: Mapping[str, Json], known: frozenset[str]) -> None:
    """Raise BadParameter for a setting that a key does not have, whatever its value."""
    for name in rules.keys() - known:
        raise BadParameter(f"a key has no setting {name[:100]!r}; use {' '.join(sorted(known))}")


def read_object(http: HttpRequest) -> dict[str, Json]:
    """Return the JSON body; its content type makes browsers ask before other sites send it.

    Raises BadParameter.
    """
    if http.headers.get("content-type", "").partition(";")[0].strip() != JSON:
        raise BadParameter("send JSON, as content-type application/json")
    try:
        found = json.decode(http.body)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadParameter("the body is not a JSON object")
    return found

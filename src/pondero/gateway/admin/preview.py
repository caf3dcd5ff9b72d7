"""Previews a level for a model: the plan and the body that would be sent; nothing is sent."""

from functools import partial

from msgspec import Struct, json

from ...canon import Json, Message, Request
from ...canon import Text as Words
from ...catalog import ModelEntry
from ...errors import BadParameter, UnknownModel
from ...exchange import plan as make_plan
from ...exchange import prepare
from ...store import load_catalog, resolve_auto
from ...thinking import LEVELS, UNSET, Plan, Policy, RequestParameters, parse_intent
from ..config.model import GatewayConfig, GatewayKey, GatewayRoute
from ..config.routing import Routing, allows
from ..config.secrets import find_provider_url
from ..levels.level_rules import AppliedLevel, RequestedLevel, apply_rules

QUESTION = "What is heavier, a pound of feathers or a pound of lead?"
"""What the body that is shown asks."""


class ServedName(Struct, frozen=True, kw_only=True):
    """A model name that clients can use, the first model that answers it, and its levels."""

    name: str
    model: str
    label: str
    levels: tuple[str, ...]
    default: str | None


class PlanPreview(Struct, frozen=True, kw_only=True):
    """A plan as ``pondero plan --json`` prints it, and the body to send.

    ``requested`` is the level of the name, else the one given; ``said`` the ``x-pondero-thinking``
    header of the answer; ``rule`` the rule of the route or key that changed the level.
    """

    name: str
    served: bool
    requested: str | None
    said: str
    rule: str | None
    method: str
    url: str
    plan: Json
    body: Json


def list_served_names(routing: Routing) -> list[ServedName]:
    """Return the model names that this gateway serves."""
    return [
        ServedName(
            name=each.name,
            model=each.entry.id,
            label=each.entry.provider.label,
            levels=tuple(word for word in each.entry.capability.levels if word in LEVELS),
            default=each.entry.capability.default,
        )
        for each in routing.names()
    ]


def preview(
    config: GatewayConfig,
    routing: Routing,
    name: str,
    level_text: str | None,
    *,
    key: GatewayKey | None = None,
) -> PlanPreview:
    """Return the plan and body; without rules for a model not served; raises UsageError.

    A level in the name goes before ``level_text``, as it does in a request.
    """
    entry, route, served, level = _resolve(routing, name, key)
    words = entry.capability.extra_words
    said = level or level_text
    wanted = RequestedLevel(
        parse_intent(said, words=words) if said else UNSET, "name" if said else "unset"
    )
    group = config.find_group(key.group) if key is not None and key.group is not None else None
    rules = [each.thinking for each in (route, group, key) if each is not None]
    found = partial(resolve_auto, entry, policy=Policy())
    applied = apply_rules(wanted, entry, rules, policy=Policy(), resolve=found)
    made = make_plan(entry, applied.intent, asked=RequestParameters(), policy=Policy())
    return _write_preview(config, entry, applied, made, name=name, served=served, requested=said)


def _resolve(
    routing: Routing, name: str, key: GatewayKey | None
) -> tuple[ModelEntry, GatewayRoute | None, bool, str | None]:
    try:
        resolved = routing.resolve(name)
    except UnknownModel as unknown:
        split = load_catalog().split(name)
        try:
            return load_catalog().entry(name), None, False, split.level
        except UnknownModel:
            raise unknown from None  # it says what this gateway serves, as a client is told
    if key is not None and not allows(key, resolved):
        message = f"the key {key.name!r} may not use {name!r}"
        raise BadParameter(message)
    return resolved.entries[0], resolved.route, True, resolved.level


def _write_preview(
    config: GatewayConfig,
    entry: ModelEntry,
    applied: AppliedLevel,
    made: Plan,
    *,
    name: str,
    served: bool,
    requested: str | None,
) -> PlanPreview:
    request = Request(entry.model, (Message("user", (Words(QUESTION),)),))
    ready = prepare(
        entry,
        request,
        made,
        asked=RequestParameters(),
        policy=Policy(),
        url=find_provider_url(config, entry.provider, needed=False),
    )
    http = ready.exchange.http
    return PlanPreview(
        name=name,
        served=served,
        requested=requested,
        said=applied.header(made),
        rule=applied.why,
        method=http.method,
        url=http.url,
        plan=made.to_json(),
        body=json.decode(http.body),
    )

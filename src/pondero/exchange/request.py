"""A question, a plan and a deployment to one exchange: all that is needed to send and read it."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Json, Origin, Request, Target
from ..catalog import Entry, Provider
from ..dialects import NAMES, dialect, takes
from ..errors import MissingExtra, Unsupported
from ..handoff import Destination
from ..thinking import Adjustment, Plan, Policy

_HEADERS = {
    "bearer": ("authorization", "Bearer "),
    "none": ("authorization", "Bearer "),
    "aws": ("authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
    "api-key": ("api-key", ""),
}


class Exchange(Struct, frozen=True):
    """One request, ready to be sent, and what is needed to read its answer.

    ``origin`` is what the answer's message will say of itself; ``repairs`` is whether a refusal
    that names its own cure may be cured.
    """

    dialect: str
    http: HttpRequest
    plan: Plan
    origin: Origin
    quirks: Mapping[str, Json] = {}
    stream: bool = True
    repairs: bool = True


def compose(
    entry: Entry,
    request: Request,
    plan: Plan,
    *,
    url: str,
    key: str | None = None,
    at: float | None = None,
    repairs: bool = True,
) -> Exchange:
    """Return the exchange; ``at`` is when it is asked, in seconds since 1970."""
    provider = entry.provider
    wire = dialect(_spoken(provider))
    request, plan = _sayable(request, plan, getattr(wire.encode, "UNSAID", frozenset()))
    target = Target(
        route=provider.name,
        url=url,
        headers=_authorisation(provider, key),
        max_output=entry.capability.max_output,
        quirks=provider.quirks,
    )
    return Exchange(
        dialect=provider.dialect,
        http=wire.encode.request(request, plan, target),
        plan=plan,
        origin=Origin(provider.name, entry.model, plan.level, at),
        quirks=provider.quirks,
        stream=request.stream,
        repairs=repairs,
    )


def destination(entry: Entry, policy: Policy) -> Destination:
    """Return who will read a thread, for the handoff."""
    provider = entry.provider
    return Destination(
        dialect=provider.dialect,
        model=entry.model,
        provider=provider.name,
        route=provider.name,
        aliases=tuple(name for name, model in provider.aliases.items() if model == entry.model),
        foreign=policy.foreign,
        **takes(_spoken(provider), provider.quirks),
    )


def _spoken(provider: Provider) -> str:
    """Return the provider's dialect, if it can be talked to and not only planned for."""
    if provider.dialect in NAMES:
        return provider.dialect
    message = (
        f"{provider.label} speaks {provider.dialect!r}, which can be planned for and not yet "
        f"talked to; these can: {' '.join(NAMES)}"
    )
    raise Unsupported(message)


def _sayable(request: Request, plan: Plan, unsaid: frozenset[str]) -> tuple[Request, Plan]:
    """Return request and plan without what was dropped, or what the wire has no words for."""
    gone = {name: None for name in plan.dropped if name in request.__struct_fields__}
    if "stop" in unsaid and request.stop:
        why = "this service has no stop sequences"
        note = Adjustment("dropped_parameter", "stop", list(request.stop), None, why)
        plan = msgspec.structs.replace(plan, adjustments=(*plan.adjustments, note))
        request = msgspec.structs.replace(request, stop=())
    return (msgspec.structs.replace(request, **gone) if gone else request), plan


def _authorisation(provider: Provider, key: str | None) -> dict[str, str]:
    if key is None:
        if provider.auth == "aws":
            message = (
                f"{provider.label} without a bearer key needs signed requests; set "
                f"{provider.keys[0]}, or pip install 'pondero[bedrock]'"
            )
            raise MissingExtra(message)
        return {}
    name, before = _HEADERS[provider.auth]
    return {name: f"{before}{key}"}

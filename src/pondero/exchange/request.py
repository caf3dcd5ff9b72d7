"""A question, a plan and a deployment to one exchange: all that is needed to send and read it."""

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Json, Origin, Output, Request, Target, Text
from ..catalog import Entry, Provider
from ..dialects import NAMES, dialect
from ..errors import ServiceError, Unsupported
from ..handoff import Destination
from ..thinking import Adjustment, Plan, Policy

_BLANK = re.compile(r"\\\{(\w+)\\\}")  # of a template, after re.escape
_HEADERS = {
    "bearer": ("authorization", "Bearer "),
    "none": ("authorization", "Bearer "),
    "aws": ("authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
    "api-key": ("api-key", ""),
}


class Signing(Struct, frozen=True):
    """Under which name and in which region to sign; ``region`` is None where no address says it.

    ``label`` and ``keys`` are for who cannot sign: the provider's name, and what would do instead.
    """

    service: str
    region: str | None
    label: str
    keys: tuple[str, ...]


class Exchange(Struct, frozen=True):
    """One request, ready to be sent, and what is needed to read its answer.

    ``origin`` is what the answer's message will say of itself; ``repairs`` is whether a refusal
    that names its own cure may be cured; ``absent`` what to say where nobody answers, ``locked``
    where the key is not taken; ``signing`` how it is signed when it is sent, where no key does.
    """

    dialect: str
    http: HttpRequest
    plan: Plan
    origin: Origin
    quirks: Mapping[str, Json] = {}
    stream: bool = True
    repairs: bool = True
    absent: str = ""
    locked: str = ""
    signing: Signing | None = None


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
    wire = dialect(_spoken(provider)).caller()
    unsaid = wire.unsaid | frozenset(provider.quirks.get("unsaid", ()))
    request, plan = _sayable(request, plan, unsaid)
    request, plan = _ranged(request, plan, wire.ranges)
    target = Target(
        route=provider.name,
        url=url,
        headers=_authorisation(provider, key),
        max_output=entry.capability.max_output,
        quirks=provider.quirks,
    )
    signed = key is None and provider.auth == "aws"
    return Exchange(
        dialect=provider.dialect,
        http=wire.encode(request, plan, target),
        plan=plan,
        origin=Origin(provider.name, entry.model, plan.level, at),
        quirks=provider.quirks,
        stream=request.stream,
        repairs=repairs,
        signing=_signing(provider, url, service=wire.signed_as or provider.dialect)
        if signed
        else None,
        absent=f"{provider.label} does not answer at {url}: {provider.start}"
        if provider.start
        else "",
        locked=_locked(provider, signed=signed),
    )


def _locked(provider: Provider, *, signed: bool) -> str:
    if signed:
        return f"{provider.label} did not take the credentials that the request was signed with"
    if not provider.keys:
        return ""
    return (
        f"{provider.label} did not take the key: look at {' or '.join(provider.keys)}, or keep "
        f"another with 'pondero keys set {provider.name}'"
    )


def cured(exchange: Exchange, refusal: ServiceError) -> Exchange:
    """Return the exchange as it is taken where such a refusal is to be expected, if it would be."""
    repair = dialect(exchange.dialect).caller().repair
    made = repair(exchange.http, refusal) if repair is not None else None
    if made is None:
        return exchange
    notes = (*exchange.plan.adjustments, made.adjustment)
    plan = msgspec.structs.replace(exchange.plan, adjustments=notes)
    return msgspec.structs.replace(exchange, http=made.request, plan=plan)


def destination(
    entry: Entry, policy: Policy, *, refused: frozenset[str] = frozenset()
) -> Destination:
    """Return who will read a thread, for the handoff; ``refused`` marks seals it did not take."""
    provider = entry.provider
    return Destination(
        dialect=provider.dialect,
        model=entry.model,
        provider=provider.name,
        route=provider.name,
        aliases=tuple(name for name, model in provider.aliases.items() if model == entry.model),
        foreign=policy.foreign,
        refused=refused,
        takes=dialect(_spoken(provider)).caller().takes(provider.quirks),
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
    less: dict[str, Json] = {
        name: None for name in plan.dropped if name in request.__struct_fields__
    }
    notes: list[Adjustment] = []

    def leave_out(name: str, asked: Json, why: str, instead: Json = None) -> None:
        less[name] = instead
        notes.append(Adjustment("dropped_parameter", name, asked, None, why))

    choice, output = request.tool_choice, request.output
    if "stop" in unsaid and request.stop:
        leave_out("stop", list(request.stop), "this service has no stop sequences", ())
    if "tool_choice" in unsaid and choice is not None and choice.forced:
        leave_out("tool_choice", choice.name or choice.mode, "no tool can be forced here")
    if "output_beside_tools" in unsaid and output is not None and request.tools:
        why = "this service takes no shape for the answer while tools are on offer"
        leave_out("output", output.name, why)
    if "schema" in unsaid and output is not None and output.schema is not None:
        why = "this service takes no schema for the answer; the system prompt says it instead"
        leave_out("output", output.name, why, Output())
        words = f"Answer in JSON of this schema: {msgspec.json.encode(output.schema).decode()}"
        less["system"] = (*request.system, Text(words))
    if notes:
        plan = msgspec.structs.replace(plan, adjustments=(*plan.adjustments, *notes))
    return (msgspec.structs.replace(request, **less) if less else request), plan


def _ranged(
    request: Request, plan: Plan, ranges: Mapping[str, tuple[float, float]]
) -> tuple[Request, Plan]:
    """Return request and plan with every parameter inside what the wire takes of it."""
    for name, (least, most) in ranges.items():
        asked = getattr(request, name)
        if asked is None or least <= asked <= most:
            continue
        got = max(least, min(asked, most))
        why = f"this service takes {name} from {least:g} to {most:g}"
        note = Adjustment("parameter_clamped", name, asked, got, why)
        plan = msgspec.structs.replace(plan, adjustments=(*plan.adjustments, note))
        request = msgspec.structs.replace(request, **{name: got})
    return request, plan


def _authorisation(provider: Provider, key: str | None) -> dict[str, str]:
    if key is None:
        return {}
    name, before = _HEADERS[provider.auth]
    return {name: f"{before}{key}"}


def _signing(provider: Provider, url: str, *, service: str) -> Signing:
    """Return how requests to this address of a provider's are signed."""
    template = _BLANK.sub(r"(?P<\1>[^/.]+)", re.escape(provider.url))
    found = re.match(template, url)
    region = found.groupdict().get("region") if found else None
    return Signing(service, region, provider.label, provider.keys)

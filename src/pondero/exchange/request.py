"""A request made ready to be sent: fitted to the model that will read it, addressed and encoded.

The client calls ``prepare``, which does all of it. ``Chat.handoff`` and ``pondero doctor`` call
``make_destination`` alone. Addresses and keys are passed in: nothing here reads the environment.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..canon import (
    HIDDEN,
    LEAST_LEARNED,
    HttpRequest,
    Json,
    Origin,
    ReplayRules,
    Request,
    Target,
    convert_json,
)
from ..catalog import ModelEntry, Provider
from ..dialects import NAMES, Caller, get_dialect
from ..errors import BadParameter, Unsupported
from ..handoff import (
    Destination,
    Manifest,
    Rejection,
    handoff,
    replace_surrogates_in_json,
    retell_open_loop,
)
from ..thinking import OFF, Adjustment, Plan, Policy, RequestParameters
from .planner import insist, with_own_fields
from .planner import plan as make_plan
from .prepare_steps.foreign_tools import replace_foreign_tools
from .prepare_steps.limits import apply_prefill, drop_unsupported
from .prepare_steps.rejections import (
    note_withheld,
    rejected_signatures,
    rejections_for,
    without_refused,
)

_BLANK = re.compile(r"\\\{(\w+)\\\}")  # of a template, after re.escape
_HEADERS = {
    "bearer": ("authorization", "Bearer "),
    "none": ("authorization", "Bearer "),
    "aws": ("authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
    "api-key": ("api-key", ""),
}

_NONE: frozenset[str] = frozenset()
_Accepts = Callable[[Mapping[str, Json]], ReplayRules]
_MODELS = 512  # how many models at most something is remembered of

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = frozenset(
    (*(name for name, _ in _HEADERS.values()), "content-type", "content-length", "host")
)


class Signing(Struct, frozen=True):
    """How a request is signed that carries no key: under which name, and in which region.

    ``region`` is None where the address does not have it. ``label`` and ``keys`` are for the error
    where nothing can sign: the provider's name, and the variables that would do instead.
    """

    service: str
    region: str | None
    label: str
    keys: tuple[str, ...]


class Exchange(Struct, frozen=True):
    """One request, ready to be sent, and what is needed to read its answer.

    ``origin`` is what the answer's message will have as its origin. ``repairs`` is whether a
    refusal that names its own cure is repaired. ``no_server_hint`` is added to the error where no
    server answers, ``bad_key_hint`` where the key is refused. ``signing`` is there where the
    request is signed instead of bearing a key. ``texts`` are tools that take a text and are
    offered as functions.
    """

    dialect: str
    http: HttpRequest
    plan: Plan
    origin: Origin
    quirks: Mapping[str, Json] = {}
    stream: bool = True
    repairs: bool = True
    no_server_hint: str = ""
    bad_key_hint: str = ""
    signing: Signing | None = None
    texts: frozenset[str] = frozenset()


class Prepared(Struct, frozen=True):
    """An exchange that is ready: nothing has been sent yet.

    ``manifest`` is what the handoff did to the conversation for this model.

    >>> ready = client.prepare("claude-opus-5/high", "What is 17 * 23?")
    >>> ready.request.method, ready.request.url
    ('POST', 'https://api.anthropic.com/v1/messages')
    >>> ready.plan.level
    'high'
    """

    exchange: Exchange
    manifest: Manifest
    policy: Policy

    @property
    def request(self) -> HttpRequest:
        """Return the request as it would be sent, the key among its headers."""
        return self.exchange.http

    @property
    def plan(self) -> Plan:
        """Return what was asked, what will be sent, and every difference between the two."""
        return self.exchange.plan


def prepare(
    entry: ModelEntry,
    request: Request,
    plan: Plan,
    *,
    asked: RequestParameters,
    policy: Policy,
    url: str,
    key: str | None = None,
    at: float | None = None,
    refusals: Iterable[Rejection] = (),
    retells: bool = False,
) -> Prepared:
    """Return a request made ready for this model; raises under a strict policy.

    ``plan`` was made from ``asked`` and ``policy``; the conversation may add to it. ``refusals``
    are what any model refused before. Under a strict policy none of them is applied, and nothing is
    repaired. Where a model may not think in an open tool loop because another began it, with
    ``retells`` the loop is told in words, and the model thinks; else it does not think.
    """
    before, repairs = plan.adjustments, policy.unsupported != "strict"
    if request.extras and isinstance(request.extras, Mapping):
        plan = with_own_fields(entry, plan, request.extras, asked=asked, policy=policy)
    known = rejections_for(entry, refusals) if refusals and repairs else ()
    to = make_destination(entry, policy, refused=rejected_signatures(known) if known else _NONE)
    view = handoff(request.messages, to)
    messages = view.messages
    if _must_begin_thinking(entry, plan) and view.open_loop_without_thinking:
        if retells:
            messages, plan = retell_open_loop(messages), _plan_with_retold_loop(plan)
        else:
            plan = _plan_without_thinking(entry, plan, asked, policy)
    if view.manifest.changes:
        plan = note_withheld(plan, view.manifest)
    request = msgspec.structs.replace(request, model=entry.model, messages=messages)
    request, plan = apply_prefill(request, plan, entry, to.takes)
    exchange = compose(entry, request, plan, url=url, key=key, at=at, repairs=repairs)
    if known:
        http, plan = without_refused(exchange.dialect, exchange.http, exchange.plan, known)
        exchange = msgspec.structs.replace(exchange, http=http, plan=plan)
    if not repairs:
        notes = exchange.plan.adjustments
        insist(entry, tuple(note for note in notes if note not in before))
    return Prepared(exchange, view.manifest, policy)


def _must_begin_thinking(entry: ModelEntry, plan: Plan) -> bool:
    """Return whether this model, given a budget, wants its tool loops to begin with thinking."""
    facts = entry.capability
    return plan.budget is not None and facts.off and facts.replay in ("tools", "required")


def _plan_without_thinking(
    entry: ModelEntry, plan: Plan, asked: RequestParameters, policy: Policy
) -> Plan:
    without = make_plan(entry, OFF, asked=asked, policy=policy.but(unsupported="adjust"))
    why = "a tool loop is open that was begun without thinking; this model thinks again after it"
    note = Adjustment("open_tool_loop", "level", plan.asked, "off", why)
    return msgspec.structs.replace(
        without, asked=plan.asked, adjustments=(*without.adjustments, note)
    )


def _plan_with_retold_loop(plan: Plan) -> Plan:
    why = "another model began the open tool loop; told in words, it lets this model think"
    note = Adjustment("tool_loop_retold", "messages", "calls and results", "a note", why)
    return msgspec.structs.replace(plan, adjustments=(*plan.adjustments, note))


def compose(
    entry: ModelEntry,
    request: Request,
    plan: Plan,
    *,
    url: str,
    key: str | None = None,
    at: float | None = None,
    repairs: bool = True,
) -> Exchange:
    """Return a planned request addressed and encoded; ``at`` is now, in seconds since 1970."""
    try:
        return _composed(entry, request, plan, url=url, key=key, at=at, repairs=repairs)
    except UnicodeEncodeError:  # half a character somewhere, which no wire can carry
        request, plan = _whole(request, plan)
        return _composed(entry, request, plan, url=url, key=key, at=at, repairs=repairs)


def _composed(
    entry: ModelEntry,
    request: Request,
    plan: Plan,
    *,
    url: str,
    key: str | None,
    at: float | None,
    repairs: bool,
) -> Exchange:
    provider = entry.provider
    wire = _wire(provider)
    signed = key is None and provider.auth == "aws"
    known = _known(
        entry,
        url,
        wire.unsupported_parameters,
        wire.signing_name or provider.dialect if signed else None,
    )
    request, plan, texts = replace_foreign_tools(request, plan, provider, wire.hosted_tools)
    request, plan = drop_unsupported(request, plan, entry, known.unsaid)
    target = Target(
        route=provider.name,
        url=url,
        headers=auth_header(provider, key),
        max_output=entry.capability.max_output,
        quirks=provider.quirks,
    )
    return Exchange(
        dialect=provider.dialect,
        http=wire.encode(request, plan, target),
        plan=plan,
        origin=Origin(provider.name, entry.model, plan.level, at),
        quirks=provider.quirks,
        stream=request.stream,
        repairs=repairs,
        no_server_hint=known.no_server_hint,
        bad_key_hint=known.bad_key_hint,
        signing=known.signing,
        texts=texts,
    )


def _whole(request: Request, plan: Plan) -> tuple[Request, Plan]:
    """Return both with U+FFFD for each lone surrogate; the handoff did it to the messages."""
    bare = msgspec.structs.replace(request, messages=())
    whole = convert_json(
        replace_surrogates_in_json(msgspec.to_builtins(bare, builtin_types=(bytes,))), Request
    )
    return (
        msgspec.structs.replace(whole, messages=request.messages),
        msgspec.structs.replace(plan, fields=replace_surrogates_in_json(plan.fields)),
    )


# -- what is the same for every request to one model ---------------------------------------------


class _Known(Struct, frozen=True):
    """What is known of one model at one address: what goes unsaid there, signing, and hints."""

    unsaid: frozenset[str]
    no_server_hint: str
    bad_key_hint: str
    signing: Signing | None


@lru_cache(_MODELS)
def _known(entry: ModelEntry, url: str, unsaid: frozenset[str], signed_as: str | None) -> _Known:
    """``unsaid`` is the dialect's own; ``signed_as`` signs in place of a key."""
    provider = entry.provider
    start = f"{provider.label} does not answer at {url}: {provider.start}"
    return _Known(
        unsaid=unsaid | frozenset(provider.quirks.get("unsaid", ())),
        no_server_hint=start if provider.start else "",
        bad_key_hint=_bad_key_hint(provider, signed=signed_as is not None),
        signing=None if signed_as is None else _signing(provider, url, service=signed_as),
    )


def _bad_key_hint(provider: Provider, *, signed: bool) -> str:
    if signed:
        return f"{provider.label} did not take the credentials that the request was signed with"
    if not provider.keys:
        return ""
    return (
        f"{provider.label} did not take the key: look at {' or '.join(provider.keys)}, or keep "
        f"another with 'pondero keys set {provider.name}'"
    )


def make_destination(
    entry: ModelEntry, policy: Policy, *, refused: frozenset[str] = _NONE
) -> Destination:
    """Return who will read a thread, for the handoff; ``refused`` are marks of refused seals."""
    usual = _destination(entry, policy.foreign, _wire(entry.provider).replay_rules)
    return msgspec.structs.replace(usual, refused=refused) if refused else usual


@lru_cache(_MODELS)
def _destination(
    entry: ModelEntry, foreign: Literal["drop", "note"], takes: _Accepts
) -> Destination:
    provider = entry.provider
    return Destination(
        dialect=provider.dialect,
        model=entry.model,
        provider=provider.name,
        route=provider.name,
        aliases=tuple(name for name, model in provider.aliases.items() if model == entry.model),
        foreign=foreign,
        takes=_seen_by(entry, takes(provider.quirks)),
    )


def _seen_by(entry: ModelEntry, takes: ReplayRules) -> ReplayRules:
    """Return what the wire takes of a past, without the media that the model is not made for."""
    own = entry.capability.media
    if own is None:
        return takes
    return msgspec.structs.replace(
        takes,
        media=_both(takes.media, own),
        result_media=_both(takes.result_media, own),
        spoken_media=_both(takes.spoken_media, own),
    )


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the prefixes of what begins with one of these and one of those."""
    pairs = [(a, b) for a in one for b in other if a.startswith(b) or b.startswith(a)]
    return tuple(max(pair, key=len) for pair in pairs)


def _wire(provider: Provider) -> Caller:
    """Return the provider's wire; raises Unsupported for one that we can only plan for."""
    if provider.dialect in NAMES:
        return get_dialect(provider.dialect).caller()
    message = (
        f"{provider.label} speaks {provider.dialect!r}, which can be planned for and not yet "
        f"talked to; these can: {' '.join(NAMES)}"
    )
    raise Unsupported(message)


def add_headers(prepared: Prepared, given: Mapping[str, str]) -> Prepared:
    """Return a request with headers of the caller's own; raises BadParameter for a key's."""
    exchange = prepared.exchange
    headers = dict(exchange.http.headers)
    for named, value in given.items():
        _check_header(named, value)
        name = named.lower()
        before = headers.get(name)
        # A header of the plan is a list that both may add to; of another there is one.
        both = before and name in exchange.plan.headers and value not in before.split(",")
        headers[name] = f"{before},{value}" if both else value
    http = msgspec.structs.replace(exchange.http, headers=headers)
    return msgspec.structs.replace(prepared, exchange=msgspec.structs.replace(exchange, http=http))


def _check_header(name: Any, value: Any) -> None:
    if not (isinstance(name, str) and isinstance(value, str) and _HEADER_NAME.fullmatch(name)):
        message = f"headers have names and text, not {name!r}: {type(value).__name__}"
    elif name.lower() in _OURS:
        message = f"the header {name!r} is ours to set; keys are given to the client: keys={{...}}"
    elif not (value.isascii() and value.isprintable()):
        message = f"the header {name!r} has letters that no header can carry"
    else:
        return
    raise BadParameter(message)


def redact_key(error: BaseException | None, request: HttpRequest) -> None:
    """Take the key of a request out of an error, and of those behind it: some services echo it."""
    for name, before in _HEADERS.values():
        key = request.headers.get(name, "").removeprefix(before)
        if len(key) >= LEAST_LEARNED:
            behind = error
            while behind is not None:
                _without(behind, key)
                behind = behind.__cause__ or behind.__context__


def _without(error: BaseException, key: str) -> None:
    error.args = tuple(_hidden(each, key) for each in error.args)
    for name, value in vars(error).items():
        setattr(error, name, _hidden(value, key))


def _hidden(value: Json, key: str) -> Json:
    if isinstance(value, str):
        return value.replace(key, HIDDEN)
    return value.replace(key.encode(), HIDDEN.encode()) if isinstance(value, bytes) else value


def auth_header(provider: Provider, key: str | None) -> dict[str, str]:
    """Return the header that bears a provider's key; none where there is no key."""
    if key is None:
        return {}
    name, before = _HEADERS[provider.auth]
    return {name: f"{before}{key}"}


def _signing(provider: Provider, url: str, *, service: str) -> Signing:
    """Return how requests to this address of a provider are signed."""
    template = _BLANK.sub(r"(?P<\1>[^/.]+)", re.escape(provider.url))
    found = re.match(template, url)
    region = found.groupdict().get("region") if found else None
    return Signing(service, region, provider.label, provider.keys)

"""Makes a request ready to send: fits it to its model, addresses and encodes it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Required, TypedDict, Unpack

import msgspec
from msgspec import Struct

from ..canon import (
    HIDDEN,
    LEAST_LEARNED,
    OFFLINE,
    RECORDING,
    HttpRequest,
    Json,
    Origin,
    Request,
    Target,
    convert_json,
)
from ..catalog import ModelEntry, Provider
from ..dialects import AnswerContext, Caller
from ..errors import BadParameter
from ..handoff import Manifest, Rejection, replace_surrogates_in_json
from ..thinking import Plan, Policy, RequestParameters
from .output.calls import NO_RESTORE, CallRestore
from .output.restore import OutputRestore
from .prepare_steps.draft import EarlierRequests, RequestDraft
from .prepare_steps.foreign_tools import replace_foreign_tools
from .prepare_steps.history import find_caller
from .prepare_steps.limits import drop_unsupported
from .prepare_steps.rejections import rejections_for
from .prepare_steps.sequence import LONG_STEPS, STEPS, Step, encode_request, select_steps
from .prepare_steps.tool_limits import offer_allowed
from .work_steps import WorkSteps

_BLANK = re.compile(r"\\\{(\w+)\\\}")  # a {blank} of a URL template after re.escape
_HEADERS = {
    "bearer": ("authorization", "Bearer "),
    "none": ("authorization", "Bearer "),
    "aws": ("authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
    "api-key": ("api-key", ""),
}
_PLACES = tuple(dict.fromkeys(_HEADERS.values()))
_KEY_NAMES = tuple(name for name, _ in _PLACES)

_MODELS = 512  # a gateway that serves every model of the catalog stays below this
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = frozenset(
    (*(name for name, _ in _HEADERS.values()), "content-type", "content-length", "host")
)


class Signing(Struct, frozen=True):
    """How to sign a request without a key; ``label`` and ``keys`` are for the error."""

    service: str
    region: str | None
    label: str
    keys: tuple[str, ...]


class Exchange(Struct, frozen=True):
    """One request ready to send, with everything needed to read its answer.

    If ``repairs``, a rejection that names its fix is repaired. ``texts`` are tools offered as
    functions. ``restore``: how a JSON answer differs from the output; ``calls``: how calls differ
    from the tools. ``emulator``: the address in the answer's origin, if an emulator answers.
    ``logprobs``: the request asks for log probabilities.
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
    url_variables: tuple[str, ...] = ()
    signing: Signing | None = None
    texts: frozenset[str] = frozenset()
    restore: OutputRestore | None = None
    calls: CallRestore = NO_RESTORE
    emulator: str = OFFLINE
    logprobs: bool = False

    @property
    def context(self) -> AnswerContext:
        """Return what a decoder is told of the first answer."""
        origin = self.origin
        return AnswerContext(origin.model, origin.provider, self.quirks, logprobs=self.logprobs)

    @property
    def restores(self) -> bool:
        """Return whether the answer must be changed into the one that was asked for.

        A code fence does not count: the model was asked for none.
        """
        return self.restores_text or bool(self.texts) or self.calls != NO_RESTORE

    @property
    def restores_text(self) -> bool:
        """Return whether the text of an answer must be changed, so that it has other tokens."""
        return self.restore is not None and bool(self.restore.wrapped or self.restore.schema)


class Prepared(Struct, frozen=True):
    """A prepared exchange, not sent yet; ``manifest`` lists the changes of the handoff.

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
        """Return the HTTP request, with the key in its headers."""
        return self.exchange.http

    @property
    def plan(self) -> Plan:
        """Return the requested level, the fields to send, and every difference."""
        return self.exchange.plan


_COMPOSE: tuple[Step, ...] = (
    offer_allowed,
    replace_foreign_tools,
    *list(STEPS)[list(STEPS).index(drop_unsupported) : list(STEPS).index(encode_request) + 1],
)


class PrepareOptions(TypedDict, total=False):
    """The options of ``prepare``, besides the model, the request and its plan.

    A strict policy applies no ``refusals`` and repairs nothing. If another model began the open
    tool loop, ``retells`` has it told in words; otherwise thinking is off until the loop ends.
    ``emulator``: as ``find_emulator`` returns it. ``last_prompt``: the tokens of this
    conversation's last prompt, as the service counted them. ``views``: what is known of its earlier
    requests.
    """

    asked: Required[RequestParameters]
    policy: Required[Policy]
    url: Required[str]
    key: str | None
    at: float | None
    refusals: Iterable[Rejection]
    retells: bool
    emulator: str | None
    last_prompt: int | None
    views: EarlierRequests | None


def prepare(
    entry: ModelEntry, request: Request, plan: Plan, **options: Unpack[PrepareOptions]
) -> Prepared:
    """Return a request ready for this model; raises Unsupported under a strict policy."""
    draft, facts = _begin(entry, request, plan, options)
    return _end(_apply(select_steps(draft), draft), facts, options)


def prepare_in_steps(
    entry: ModelEntry, request: Request, plan: Plan, **options: Unpack[PrepareOptions]
) -> WorkSteps[Prepared]:
    """Return a request ready for this model, as ``prepare`` does; give way after long steps."""
    draft, facts = _begin(entry, request, plan, options)
    first, steps = draft, select_steps(draft)
    try:
        for step in steps:
            draft = step(draft)
            if step in LONG_STEPS:
                yield
    except UnicodeEncodeError:
        draft = _apply(steps, _replace_surrogates(first))
    return _end(draft, facts, options)


def _begin(
    entry: ModelEntry, request: Request, plan: Plan, options: PrepareOptions
) -> tuple[RequestDraft, "_ServiceFacts"]:
    policy, refusals = options["policy"], options.get("refusals")
    target, facts = _address(entry, options["url"], options.get("key"))
    repairs = policy.unsupported != "strict"
    draft = RequestDraft(
        entry=entry,
        request=request,
        plan=plan,
        caller=facts.caller,
        target=target,
        unsupported=facts.unsupported,
        parameters=options["asked"],
        policy=policy,
        rejections=rejections_for(entry, refusals) if refusals and repairs else (),
        allowed=plan.adjustments,
        retells=options.get("retells", False),
        emulator=options.get("emulator"),
        last_prompt=options.get("last_prompt"),
        views=options.get("views"),
    )
    return draft, facts


def _end(draft: RequestDraft, facts: "_ServiceFacts", options: PrepareOptions) -> Prepared:
    exchange = _make_exchange(draft, facts, options.get("at"))
    return Prepared(exchange, draft.view.manifest, draft.policy)


def compose(
    entry: ModelEntry,
    request: Request,
    plan: Plan,
    *,
    url: str,
    key: str | None = None,
    at: float | None = None,
    emulator: str | None = None,
) -> Exchange:
    """Address and encode a planned request; ``at`` is now, in seconds since 1970."""
    target, facts = _address(entry, url, key)
    draft = RequestDraft(
        entry=entry,
        request=request,
        plan=plan,
        caller=facts.caller,
        target=target,
        unsupported=facts.unsupported,
        emulator=emulator,
    )
    return _make_exchange(_apply(_COMPOSE, draft), facts, at)


def _address(entry: ModelEntry, url: str, key: str | None) -> tuple[Target, "_ServiceFacts"]:
    provider = entry.provider
    facts = _find_facts(entry, url, key is None and provider.auth == "aws")
    target = Target(
        route=provider.name,
        url=url,
        headers=auth_header(provider, key),
        max_output=entry.capability.max_output,
        quirks=facts.quirks,
    )
    return target, facts


def _apply(steps: Iterable[Step], draft: RequestDraft) -> RequestDraft:
    first = draft
    try:
        for step in steps:
            draft = step(draft)
    except UnicodeEncodeError:  # a lone surrogate, which JSON in UTF-8 cannot carry
        draft = _replace_surrogates(first)
        for step in steps:
            draft = step(draft)
    return draft


def _replace_surrogates(draft: RequestDraft) -> RequestDraft:
    bare = msgspec.structs.replace(draft.request, messages=())
    whole = convert_json(
        replace_surrogates_in_json(msgspec.to_builtins(bare, builtin_types=(bytes,))), Request
    )
    return draft.but(
        request=msgspec.structs.replace(whole, messages=draft.request.messages),
        plan=msgspec.structs.replace(
            draft.plan, fields=replace_surrogates_in_json(draft.plan.fields)
        ),
    )


def _make_exchange(draft: RequestDraft, facts: "_ServiceFacts", at: float | None) -> Exchange:
    provider = draft.entry.provider
    emulator, extras = draft.emulator, draft.request.extras
    known = OFFLINE if emulator == OFFLINE else None  # any other says so itself, when it answers
    return Exchange(
        dialect=provider.dialect,
        http=draft.http,
        plan=draft.plan,
        origin=Origin(
            provider.name,
            draft.entry.model,
            draft.plan.level,
            at,
            known,
            draft.entry.signer,
        ),
        quirks=facts.quirks,
        stream=draft.request.stream,
        repairs=draft.policy.unsupported != "strict",
        no_server_hint=facts.no_server_hint,
        bad_key_hint=facts.bad_key_hint,
        url_variables=provider.url_env,
        signing=facts.signing,
        texts=draft.text_tools,
        restore=draft.restore,
        calls=draft.calls,
        emulator=OFFLINE if emulator in (None, RECORDING) else emulator,
        logprobs=bool(extras) and draft.caller.answers.read(extras).top is not None,
    )


# -- the same for every request to one model -----------------------------------------------------


class _ServiceFacts(Struct, frozen=True):
    """Facts of one model at one address; ``unsupported`` are the parameters that it lacks."""

    caller: Caller
    unsupported: frozenset[str]
    quirks: Mapping[str, Json]
    no_server_hint: str
    bad_key_hint: str
    signing: Signing | None


@lru_cache(_MODELS)
def _find_facts(entry: ModelEntry, url: str, signed: bool) -> _ServiceFacts:  # noqa: FBT001 - a cache's key
    provider, quirks = entry.provider, entry.quirks
    caller = find_caller(provider)
    start = f"{provider.label} does not answer at {url}: {provider.start}"
    return _ServiceFacts(
        caller=caller,
        unsupported=caller.unsupported_parameters | frozenset(quirks.get("unsupported", ())),
        quirks=quirks,
        no_server_hint=start if provider.start else "",
        bad_key_hint=_make_key_hint(provider, signed=signed),
        signing=make_signing(provider, url) if signed else None,
    )


def _make_key_hint(provider: Provider, *, signed: bool) -> str:
    if signed:
        return f"{provider.label} rejected the credentials that the request was signed with"
    if not provider.keys:
        return ""
    return (
        f"{provider.label} rejected the key; check {' or '.join(provider.keys)}, or save "
        f"another with 'pondero keys set {provider.name}'"
    )


def make_signing(provider: Provider, url: str) -> Signing:
    """Return how requests to a provider without a key are signed."""
    service = find_caller(provider).signing_name or provider.dialect
    template = _BLANK.sub(r"(?P<\1>[^/.]+)", re.escape(provider.url))
    found = re.match(template, url)
    region = found.groupdict().get("region") if found else None
    return Signing(service, region, provider.label, provider.keys)


# -- headers -------------------------------------------------------------------------------------


def add_headers(prepared: Prepared, given: Mapping[str, str]) -> Prepared:
    """Add the caller's headers; raises BadParameter for one that carries a key."""
    exchange = prepared.exchange
    headers = dict(exchange.http.headers)
    for named, value in given.items():
        _check_header(named, value)
        name = named.lower()
        before = headers.get(name)
        # A header of the plan, or of betas, is a list to add to; of another there is one.
        listed = name in exchange.plan.headers or name.endswith("-beta")
        both = before and listed and value not in before.split(",")
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
    """Remove a request's key from an error and its causes: some services echo it."""
    for key in list_keys(request):
        behind = error
        while behind is not None:
            behind.args = tuple(_redact(each, key) for each in behind.args)
            for field, value in vars(behind).items():
                setattr(behind, field, _redact(value, key))
            behind = behind.__cause__ or behind.__context__


def list_keys(request: HttpRequest) -> frozenset[str]:
    """Return the keys that a request carries, except those as short as a word."""
    return _find_keys(tuple(map(request.headers.get, _KEY_NAMES)))


@lru_cache(maxsize=256)
def _find_keys(values: Sequence[str | None]) -> frozenset[str]:
    """Return the keys in the values of the headers that may have one."""
    shown = zip(values, _PLACES, strict=True)
    keys = (value.removeprefix(before) for value, (_, before) in shown if value is not None)
    return frozenset(key for key in keys if len(key) >= LEAST_LEARNED)


def _redact(value: Json, key: str) -> Json:
    if isinstance(value, str):
        return value.replace(key, HIDDEN)
    return value.replace(key.encode(), HIDDEN.encode()) if isinstance(value, bytes) else value


def auth_header(provider: Provider, key: str | None) -> dict[str, str]:
    """Return the header with a provider's key, empty without a key."""
    if key is None:
        return {}
    name, before = _HEADERS[provider.auth]
    return {name: f"{before}{key}"}

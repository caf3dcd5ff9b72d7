"""A conversation before a model is chosen, and the steps that lead there."""

from collections.abc import Iterable, Mapping
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import astuple, replace

from ...canon import HttpRequest, Json, Message, Request
from ...catalog import ModelEntry
from ...dialects import ParsedRequest, Service, get_dialect
from ...errors import PermissionDenied
from ...thinking import Plan, Policy, RequestParameters
from ..config.deployment_names import is_home
from ..config.model import GatewayKey
from ..config.routing import ResolvedRoute, allows
from ..deployments.conversation import Conversation, find_conversation
from ..hooks.chain import HookedRequest
from ..levels.level_rules import AppliedLevel, RequestedLevel, parse_requested_level
from ..purposes.rules import RequestPurpose, find_rule, recognise_purpose
from ..server.context import GatewayContext, Requester
from ..signatures.envelope import ClientEnvelopes
from ..signatures.known_answers import KnownAnswers
from ..signatures.restore import cache_keys, restore_in_steps
from ..signatures.turns import ClientTurn, are_questions, split_turns
from ..state.conversation_memo import ConversationMemo
from ..state.kept_store import KeptStore
from ..state.layered_store import LayeredStore
from .kept_history import resolve_kept
from .kept_items import StoredContent, resolve_stored
from .known_turns import parse_known_in_steps
from .long_bodies import give_way_after, give_way_between
from .repeated_fields import check_named_once, check_repeated
from .request_rules import RequestRules, find_rules
from .split_body import is_remembered, split_body
from .stored_addresses import add_addresses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .known_frames import FramedText

UNKNOWN_OUTPUT = 32_000
"""Tokens, for a model with an unknown maximum; under a budget it is sent as the limit."""


def find_usual_limit(entries: Iterable[ModelEntry]) -> int:
    """Return a limit for models whose own is not known: no more than public lists say of one."""
    return min([UNKNOWN_OUTPUT, *(entry.max_output for entry in entries if entry.max_output)])


_POLICIES = {
    (strict, hidden): Policy(
        unsupported="strict" if strict else "adjust", show="none" if hidden else "auto"
    )
    for strict in (False, True)
    for hidden in (False, True)
}


class ClientRequest(Struct, frozen=True, kw_only=True):
    """A request as it arrived, and who sent it.

    ``keys``: those among which this process found the requester, if the shared state may know more;
    ``lookup`` checks it before anything is sent. ``local``: answers that its connection has.
    """

    id: str
    client_dialect: str
    http: HttpRequest
    requester: Requester
    local: KeptStore | None = None
    keys: tuple[GatewayKey, ...] | None = None


class UnreadHistory(Struct, frozen=True):
    """Answers in a request that this process does not know: their ``keys`` in the answer cache.

    ``http`` and ``request`` are as ``restore`` got them. ``newest``: the keys of the last answer,
    if nothing of it is known. ``is_continued``: other answers are known.
    """

    keys: tuple[str, ...]
    http: HttpRequest
    request: Request
    newest: tuple[str, ...]
    is_continued: bool


class StoredLevel(Struct, frozen=True):
    """The level that a stored conversation ended with, if a turn of it set one and it is known.

    ``is_ours``: the gateway put that turn there, for a client that only sets levels at the top.
    """

    id: str
    word: str | None
    is_known: bool
    is_ours: bool = False

    @property
    def may_set(self) -> bool:
        """Return whether the service may apply another level than the request states."""
        return self.word is not None or not self.is_known


class RoutedRequest(Struct, frozen=True, kw_only=True):
    """A conversation and its models; ``parsed`` as sent, ``request`` with history restored.

    ``output_limit``: the most tokens of an answer, which quotas rely on; it is sent whatever the
    client said. ``is_lowered``: a budget covers no more than that. ``tool_uses``: the most uses of
    each tool that the service runs, if a budget covers no more; 0 leaves these tools out.
    ``rules``: what its route, its key's group and its key say of it. ``show``: where the Chat API
    puts thinking.
    ``withheld``: answers whose signatures a client put into another answer. ``stored``: the
    client's request with the items that its references mean, which ``parsed`` was read from.
    ``is_wrapped``: ``call`` has the request alone, without the wrapping that its answer needs.
    ``stored_level``: that of the stored conversation which this request continues. ``purpose``:
    what it is for, and the rule for such requests. ``is_retry``: an earlier answer was all
    thinking; ``lowered_to``: the highest level for this one. ``hooked``: what its hooks made of it,
    if there are any; ``request`` has their changes. ``unread``: what ``read_history`` may restore
    in addition. ``conversation``: what keeps it on one of several deployments; None if none of its
    models has several. ``memo``: what is known of its messages since earlier requests. ``framed``:
    the same request as a text in a known frame. ``bound``: ids of things that it can do without,
    and the accounts that have them.
    """

    call: ClientRequest
    stored: StoredContent
    service: Service[Json]
    parsed: ParsedRequest[Json]
    request: Request
    turns: tuple[ClientTurn, ...]
    resolved: ResolvedRoute
    rules: RequestRules
    show: str | None
    requested_level: RequestedLevel
    envelopes: ClientEnvelopes
    withheld: tuple[str, ...] = ()
    output_limit: int | None = None
    is_lowered: bool = False
    is_wrapped: bool = False
    stored_level: StoredLevel | None = None
    tool_uses: int | None = None
    purpose: RequestPurpose = RequestPurpose()
    lowered_to: str | None = None
    is_retry: bool = False
    conversation: Conversation | None = None
    hooked: HookedRequest | None = None
    unread: UnreadHistory | None = None
    memo: ConversationMemo | None = None
    framed: "FramedText | None" = None
    bound: tuple[tuple[str, str], ...] = ()

    @property
    def writes_answer(self) -> bool:
        """Return whether a hook changes the answer, or gives it."""
        return self.hooked is not None and self.hooked.writes_answer

    @property
    def is_hooked(self) -> bool:
        """Return whether a hook changes the request or the answer."""
        return self.hooked is not None and (self.hooked.is_changed or self.hooked.writes_answer)

    @property
    def is_background(self) -> bool:
        """Return whether the gateway itself works on the answer, which is fetched later."""
        return self.stored.said is not None and self.stored.said.is_background

    @property
    def is_limited(self) -> bool:
        """Return whether its key or route has rules that hold for its models only."""
        return self.rules.is_limited

    @property
    def hides_thinking(self) -> bool:
        """Return whether the client must not see thinking, on any API."""
        return self.show == "none"

    @property
    def policy(self) -> Policy:
        """Return the policy of the route and of the client's wish to see thinking."""
        route = self.resolved.route
        hidden = self.parsed.show is False or self.hides_thinking
        return _POLICIES[bool(route and route.strict), hidden]

    @property
    def parameters(self) -> RequestParameters:
        """Return the parameters that a plan depends on."""
        request = self.request
        choice = request.tool_choice
        return RequestParameters(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=request.top_k,
            tools=bool(request.tools),
            tool_choice=(choice.name or choice.mode) if choice else "auto",
        )


_OF_QUESTION = ("call", "stored", "parsed", "request", "envelopes", "framed")
# Of the tuple of a struct: to ask for its fields one by one takes ten times as long.
_get_rest = itemgetter(
    *(at for at, name in enumerate(RoutedRequest.__struct_fields__) if name not in _OF_QUESTION)
)
_get_fields = itemgetter(
    *(at for at, name in enumerate(Request.__struct_fields__) if name != "messages")
)


def list_decided(routed: RoutedRequest) -> tuple[object, ...]:
    """Return all that was decided about a request, besides the text of its question.

    What is found out about one question holds for all others in its frame with the same.
    """
    return (_get_fields(astuple(routed.request)), _get_rest(astuple(routed)))


def may_be_auto(routed: RoutedRequest) -> bool:
    """Return whether a calibration may decide the level: it may change at any time."""
    rule = routed.purpose.rule
    rules = routed.rules.levels if rule is None else (*routed.rules.levels, rule.thinking)
    words = [word for each in rules for word in (each.default, each.force) if word is not None]
    return routed.requested_level.intent.kind == "auto" or any("auto" in w.lower() for w in words)


class ModelTarget(Struct, frozen=True, kw_only=True):
    """One model to ask: its level and plan, and its provider's address and key.

    ``emulator``: what may answer in the place of the provider, as in a destination.
    """

    entry: ModelEntry
    level: AppliedLevel
    plan: Plan
    url: str
    key: str | None
    emulator: str | None = None


def route(
    gateway: GatewayContext, call: ClientRequest, parsed: ParsedRequest[Json]
) -> ResolvedRoute:
    """Return the models that may answer; raises UnknownModel and PermissionDenied."""
    resolved = gateway.routing.resolve(parsed.request.model)
    if call.requester.key is not None and not allows(call.requester.key, resolved):
        message = f"this key may not use {parsed.request.model!r}"
        raise PermissionDenied(message, status=403)
    return resolved


def read_level(
    call: ClientRequest, parsed: ParsedRequest[Json], resolved: ResolvedRoute
) -> RequestedLevel:
    """Return the level that the client asks for; raises BadThinking."""
    header = call.http.headers.get("x-pondero-thinking")
    is_said = header is not None or resolved.level is not None
    return parse_requested_level(
        header=header,
        suffix=resolved.level,
        body=parsed.intent,
        words=resolved.entries[0].capability.extra_words if is_said else (),
        kind=call.http.headers.get("x-pondero-kind"),
    )


def as_functions(
    service: Service[Json], request: Request, entries: tuple[ModelEntry, ...]
) -> Request:
    """Return the request with a vendor's own calls as functions, unless the vendor made them.

    If only other APIs read the request, they all are.
    """
    rewrite = service.portability.as_functions
    if rewrite is None:
        return request
    own = {
        entry.provider.name
        for entry in entries
        if get_dialect(entry.provider.dialect).service() is service
    }

    def is_foreign(message: Message) -> bool:
        return not own or (message.origin is not None and message.origin.provider not in own)

    return rewrite(request, is_foreign)


async def parse_and_route(
    gateway: GatewayContext, call: ClientRequest, service: Service[Json]
) -> RoutedRequest:
    """Return the conversation in a request; raises PonderoError, Rejected and RecursionError."""
    routed = await parse_locally(gateway, call, service)
    if routed.unread is None or (reading := gateway.memory.begin(routed.unread.keys)) is None:
        return routed
    return await read_history(gateway, routed, await reading)


async def parse_locally(
    gateway: GatewayContext, call: ClientRequest, service: Service[Json]
) -> RoutedRequest:
    """Return the conversation with the answers that this process knows; ``lookup`` reads on."""
    sent_http = call.http
    plain = sent_http if service.unwrap is None else service.unwrap(sent_http)
    is_wrapped = plain is not sent_http
    memo, client = gateway.conversations, call.requester.id
    plain = split_body(memo, plain, service.turn_form, client=client)
    if plain is not call.http:  # all that looks into the request sees what the service will get
        call = replace(call, http=plain)
    await give_way_after(plain.body)
    stored = await resolve_names(gateway, call, service)
    if stored.own is not None:
        call = replace(call, http=stored.own)
    http = stored.http
    if is_wrapped or gateway.hooks:  # a hook may change what it is shown, so it gets its own
        parsed = service.parse(sent_http if is_wrapped else http)
    else:
        await give_way_after(http.body)
        http = split_body(memo, http, service.turn_form, client=client)
        steps = parse_known_in_steps(memo, service, http)
        parsed = await give_way_between(steps, http.body)
    if stored.said is not None and service.kept_responses is not None:
        context = service.kept_responses.note(parsed.context, stored.said)
        parsed = replace(parsed, context=context)
    await give_way_after(http.body)
    resolved = route(gateway, call, parsed)
    purpose = recognise_purpose(call.http, parsed.request)
    if gateway.routing.rules:
        purpose, resolved = find_rule(gateway.routing, purpose, resolved, call.requester.key)
    level = read_level(call, parsed, resolved)  # ``make_attempt`` applies the rules of each model
    sent = as_functions(service, parsed.request, resolved.entries)
    conversation = find_conversation(
        call.http, parsed.request, service, client=call.requester.id, entries=resolved.entries
    )
    if conversation is not None:
        known = gateway.memory.find_known(conversation.keys.values())
        conversation = conversation.with_found(known)
    past = await restore(gateway, call if http is call.http else replace(call, http=http), sent)
    request = past.request
    if past.turns:
        request = as_functions(service, request, resolved.entries)  # now their makers are known
    entries, dialect = resolved.entries, call.client_dialect
    stored = add_addresses(stored, request.messages, entries, client_dialect=dialect)
    routed = RoutedRequest(
        call=call,
        stored=stored,
        service=service,
        parsed=parsed,
        request=request,
        turns=past.turns,
        resolved=resolved,
        rules=find_rules(resolved.route, call.requester.group, call.requester.key),
        show=_find_show(call, resolved),
        requested_level=level,
        envelopes=past.envelopes,
        withheld=past.withheld,
        is_wrapped=is_wrapped,
        purpose=purpose,
        unread=past.unread,
        conversation=conversation,
        memo=memo if is_remembered(http) else None,
    )
    _check_presets(routed)
    if routed.is_limited:
        await give_way_after(http.body)
        check_repeated(call.http.body, service.passthrough.hosted)
    key, is_named = call.requester.key, bool(stored.named)
    check_named_once(call.http.body, service.stored_ids, key=key, is_named=is_named)
    return _leave_out_unknown(routed)


def _find_show(call: ClientRequest, resolved: ResolvedRoute) -> str | None:
    """Return where the Chat API puts thinking: a route that hides it has the last word."""
    of_route = resolved.route.show if resolved.route is not None else None
    if of_route == "none":
        return of_route
    return call.http.headers.get("x-pondero-show") or of_route


def find_store(gateway: GatewayContext, call: ClientRequest) -> KeptStore | None:
    """Return the store in which a client finds its answers; None if none are kept."""
    return gateway.kept if call.local is None else LayeredStore(call.local, gateway.kept)


async def resolve_names(
    gateway: GatewayContext, call: ClientRequest, service: Service[Json]
) -> StoredContent:
    """Return a request with all that it names by its id, as far as that is kept here."""
    client, store = call.requester.id, find_store(gateway, call)
    if store is None or service.kept_responses is None:
        return await resolve_stored(gateway, call.http, service, client=client)
    return await resolve_kept(store, call.http, service, client=client)


def is_at_home(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a model's service stores all that a request names by its id."""
    homes = routed.stored.homes
    if homes is None:
        return True
    own = entry.provider.exact and entry.provider.dialect == routed.call.client_dialect
    return own and all(is_home(entry, each) for each in homes)


def address_history(routed: RoutedRequest, entry: ModelEntry) -> RoutedRequest:
    """Return the request for one model: with its history, unless the model's service has that."""
    if routed.stored.homes is None or is_at_home(routed, entry):
        return routed
    call = replace(routed.call, http=routed.stored.http)
    return replace(routed, call=call, stored_level=None)


def is_unknown(entry: ModelEntry) -> bool:
    """Return whether nothing is known of how a model is told how much to think."""
    return entry.inferred and entry.capability.thinks and entry.capability.style is None


def _leave_out_unknown(routed: RoutedRequest) -> RoutedRequest:
    """Return the request without models that no rule on levels can bind.

    Raises PermissionDenied if no other is left: a cap must not fail open.
    """
    if not routed.rules.binds or not any(map(is_unknown, routed.resolved.entries)):
        return routed
    known = tuple(entry for entry in routed.resolved.entries if not is_unknown(entry))
    if not known:
        unknown = routed.resolved.entries[0]
        message = (
            f"this key or route limits how much models think, and nothing is known of {unknown.id} "
            "that could be limited; the operator can say what it is like in models.toml "
            f'([[model]] provider = "{unknown.provider.name}", match = ["..."], like = "...")'
        )
        raise PermissionDenied(message, status=403)
    return replace(routed, resolved=replace(routed.resolved, entries=known))


def _check_presets(routed: RoutedRequest) -> None:
    """Raise PermissionDenied if a client names settings of the service that no rule limits."""
    if not routed.is_limited:
        return
    name = routed.parsed.request.model
    marks = (
        mark
        for entry in routed.resolved.entries
        for mark in get_dialect(entry.provider.dialect).service().passthrough.preset_marks
        if mark in entry.model.lower()
    )
    if any(mark in name.lower() for mark in marks):
        message = (
            f"this key or route has rules, and the preset in {name!r} may ask other models "
            "without them; name a model, or a route to the preset"
        )
        raise PermissionDenied(message, status=403)


async def read_history(
    gateway: GatewayContext, routed: RoutedRequest, found: Mapping[str, bytes]
) -> RoutedRequest:
    """Return the request with answers restored that the shared state knew."""
    unread = routed.unread
    if unread is None or not found:
        return routed
    past = await restore(gateway, replace(routed.call, http=unread.http), unread.request, found)
    return replace(
        routed,
        request=as_functions(routed.service, past.request, routed.resolved.entries),
        turns=past.turns,
        envelopes=past.envelopes,
        withheld=past.withheld,
        unread=None,
    )


class RestoredRequest(Struct, frozen=True):
    """A request with its answers restored; ``turns`` are the answers as sent.

    ``envelopes`` are those of the client, for the answer. ``withheld`` and ``unread`` are as in a
    routed request.
    """

    request: Request
    turns: tuple[ClientTurn, ...]
    envelopes: ClientEnvelopes
    withheld: tuple[str, ...]
    unread: UnreadHistory | None


async def restore(
    gateway: GatewayContext,
    call: ClientRequest,
    request: Request,
    found: Mapping[str, bytes] | None = None,
) -> RestoredRequest:
    """Return the request with its answers restored, from envelopes and the answer cache.

    Of the cache, what this process knows and what was ``found`` in the shared state.
    """
    client = call.requester.id
    envelopes = await gateway.envelopes.make_envelopes(client, call.http.body)
    if are_questions(request.messages):
        return RestoredRequest(request, (), envelopes, (), None)
    memo = gateway.conversations if is_remembered(call.http) else None
    turns = split_turns(request.messages, memo)
    keys = cache_keys(request, client=client, turns=turns, memo=memo)
    known = {**gateway.memory.find_known(keys), **(found or {})} if keys else {}
    await give_way_after(call.http.body)
    withheld: list[str] = []
    steps = restore_in_steps(
        request,
        call.client_dialect,
        client=client,
        found=known,
        open_envelope=envelopes.open,
        turns=turns,
        withheld=withheld,
        known=None if memo is None else KnownAnswers(memo, call.client_dialect, envelopes.key),
    )
    restored = await give_way_between(steps, call.http.body)
    missing = tuple(key for key in keys if key not in known)
    unread = None
    if missing:
        last = tuple(cache_keys(request, client=client, turns=turns[-1:]))
        newest = () if known.keys() & set(last) else last
        unread = UnreadHistory(missing, call.http, request, newest, bool(known))
    return RestoredRequest(restored, tuple(turns), envelopes, tuple(withheld), unread)

"""Translation: the conversation in the model's dialect, and its answer in the client's."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from ...canon import (
    Event,
    Finished,
    HttpRequest,
    HttpResponse,
    Json,
    Reply,
    Request,
    Started,
    merge_json,
)
from ...catalog import ModelEntry
from ...dialects import ParsedRequest, PassthroughRules, ReplyContext, Service, get_dialect
from ...errors import BadParameter, PonderoError
from ...exchange import (
    AsyncTransport,
    Exchange,
    add_cache_breakpoints,
    prepare,
    thinking_paths,
    with_fields,
    with_list_headers,
)
from ...thinking import Adjustment, Plan
from ..answers.thinking_filter import ThinkingFilter
from ..server.context import GatewayContext
from ..signatures.embedder import SignatureEmbedder, read_envelope
from ..signatures.part_order import WORDS
from ..state.answer_cache import CachedAnswer
from .portability import (
    carry_common,
    check_fields,
    check_files,
    check_tools,
    is_same_dialect,
    takes_field,
    with_user_turn,
)
from .routed_request import UNKNOWN_OUTPUT, ModelTarget, RoutedRequest, as_functions


def translate_request(
    gateway: GatewayContext, routed: RoutedRequest, target: ModelTarget
) -> Exchange:
    """Return the conversation as a request in the model's dialect; raises UsageError."""
    call, entry, plan = routed.call, target.entry, target.plan
    same = is_same_dialect(routed, entry)
    check_fields(routed, entry)
    if not same:
        check_translatable(routed)
    if entry.provider.dialect != call.client_dialect:
        check_files(routed)
        check_tools(routed, entry)
    request, notes = _carry_fields(routed, entry, plan)
    request = with_user_turn(routed, entry, request)
    if request.max_tokens is None and entry.capability.max_output is None:
        request, notes = _limit_unknown(request, entry, plan, notes)
    exchange = prepare(
        entry,
        add_cache_breakpoints(entry, request),
        replace(plan, adjustments=(*plan.adjustments, *notes)),
        asked=routed.parameters,
        policy=routed.policy,
        url=target.url,
        key=target.key,
        at=gateway.now(),
        refusals=gateway.refusals,
        retells=True,
    ).exchange
    if not same:
        return exchange
    rules = routed.service.passthrough
    http = copy_client_headers(call.http, rules, exchange.http, exchange.plan.headers)
    return replace(exchange, http=http)


def check_translatable(routed: RoutedRequest) -> None:
    """Raise BadParameter if a service of another API would have to know a stored id."""
    rules = routed.service.stored_ids
    for each in rules.find(routed.resolved_http) if rules is not None else ():
        if not each.may_be_dropped:
            message = (
                f"{each.field}: {routed.parsed.request.model!r} is served by another API, which "
                f"does not know {each.id!r}; send the conversation itself"
            )
            raise BadParameter(message)


def _carry_fields(
    routed: RoutedRequest, entry: ModelEntry, plan: Plan
) -> tuple[Request, list[Adjustment]]:
    """Return the request with those further fields that this provider takes.

    A note for each of the others.
    """
    parsed, rules = routed.parsed, routed.service.passthrough
    request = as_functions(routed.service, routed.request, (entry,))
    kept = _drop_thinking(routed, entry, plan) or {}
    taken = {name: kept[name] for name in kept if takes_field(routed, entry, name)}
    common, moved = carry_common(routed, entry)
    why = f"only the wire that the client speaks ({routed.call.client_dialect}) has it"
    lost = [name for name in parsed.request.extras or () if not takes_field(routed, entry, name)]
    names = [name for name in (*_name_fields(routed, lost), *parsed.unknown) if name not in moved]
    notes = [Adjustment("dropped_parameter", name, "set", None, why) for name in names]
    if routed.is_limited:
        limited = {n: v for n, v in (parsed.request.extras or {}).items() if n not in lost}
        notes += note_other_models(limited, rules)
    choice = request.tool_choice
    if choice is not None and not request.tools:  # no API takes one without tools
        what = "tool_choice" if choice.parallel is None else "tool_choice, parallel_tool_calls"
        notes.append(Adjustment("dropped_parameter", what, "set", None, "there are no tools"))
        choice = None
    extras = merge_json(common, taken) or None
    return replace(request, extras=extras, tool_choice=choice), notes


def _name_fields(routed: RoutedRequest, names: Iterable[str]) -> Iterator[str]:
    """Yield the names of fields; those of a group of settings each by its own."""
    extras = routed.parsed.request.extras
    for name in names:
        if name in routed.service.portability.groups and isinstance(extras[name], dict):
            yield from (f"{name}.{inner}" for inner in extras[name])
        else:
            yield name


def _limit_unknown(
    request: Request, entry: ModelEntry, plan: Plan, notes: list[Adjustment]
) -> tuple[Request, list[Adjustment]]:
    """Return the request with an output limit if the service needs one and the client's does not.

    Of a model outside the catalog the limit is not known.
    """
    if not entry.provider.max_tokens_required or plan.level in entry.capability.uncapped:
        return request, notes
    why = "the service needs a limit, and the model's own is not known"
    note = Adjustment("max_tokens_clamped", "max_tokens", None, UNKNOWN_OUTPUT, why)
    return replace(request, max_tokens=UNKNOWN_OUTPUT), [*notes, note]


def note_other_models(
    fields: Mapping[str, Json], rules: PassthroughRules
) -> tuple[Adjustment, ...]:
    """Note the fields that let a service ask other models, which no rule of the key limits."""
    why = "this key or route has rules, and other models would be asked without them"
    names = [path[0] for path in rules.models_at if len(path) == 1 and path[0] in fields]
    return tuple(Adjustment("dropped_parameter", name, "set", None, why) for name in names)


def _drop_thinking(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> Json:
    """Return extra fields without those that set how the model thinks."""
    extras, places = routed.parsed.request.extras, routed.service.depth
    if not extras:
        return None
    paths = (*thinking_paths(entry, plan), *places.fields, *places.more)
    if routed.is_limited:
        paths += routed.service.passthrough.models_at
    return msgspec.json.decode(with_fields(msgspec.json.encode(extras), paths, {})) or None


def copy_client_headers(
    http: HttpRequest, rules: PassthroughRules, ours: HttpRequest, headers: Mapping[str, str]
) -> HttpRequest:
    """Return our request with the client's headers and query that concern the service."""
    sent = {name: http.headers[name] for name in rules.headers if name in http.headers}
    url = ours.url
    if "beta=true" in http.url and "beta=true" in urlsplit(http.url).query and "?" not in url:
        url = f"{url}?beta=true"
    return replace(ours, url=url, headers={**ours.headers, **with_list_headers(sent, headers)})


def make_reply_context(
    service: Service[Json],
    parsed: ParsedRequest[Json],
    *,
    id: str,
    place: str | None = None,
    hidden: bool = False,
) -> ReplyContext[Json]:
    """Return how to write an answer; ``place`` is where the Chat API shows thinking."""
    shown = service.shows_thinking if parsed.show is None else parsed.show
    return ReplyContext(
        request=parsed.request,
        context=parsed.context,
        sign=read_envelope,
        seed=id.encode(),
        shown=shown and not hidden,
        place=place,
    )


def _make_filter(exchange: Exchange) -> ThinkingFilter:
    """Return the filter for thinking that this deployment puts into its text."""
    caller = get_dialect(exchange.dialect).caller()
    rule = caller.tags_left(exchange.quirks) if caller.tags_left is not None else "no"
    may_think = exchange.plan.will_think is not False
    return ThinkingFilter(rule, may_think=may_think, is_plan=caller.is_plan)


class Translation:
    """Writes one answer in the client's dialect."""

    def __init__(
        self, routed: RoutedRequest, exchange: Exchange, transport: AsyncTransport
    ) -> None:
        service, parsed, call = routed.service, routed.parsed, routed.call
        self.transport = transport
        self._service = service
        self._model = parsed.request.model
        self._stops = parsed.request.stop
        self._stop_words = get_dialect(exchange.plan.dialect).caller().stop_words
        self._context = make_reply_context(
            service, parsed, id=call.id, place=routed.show, hidden=routed.hides_thinking
        )
        self._embedder = SignatureEmbedder(
            service.slots,
            exchange.origin,
            pack=routed.envelopes.pack,
            seed=self._context.seed,
            call_id=service.call_id,
            # Else the client may not have it to send back.
            text_inside=parsed.show is not True or routed.hides_thinking,
            hide=_make_filter(exchange).feed if routed.hides_thinking else None,
        )
        self._writer = service.stream(self._context) if parsed.request.stream else None

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the stream."""
        return dict(self._writer.headers) if self._writer else {}

    @property
    def ping_headers(self) -> Mapping[str, str]:
        """Return the same: they do not depend on the model's answer."""
        return self.headers

    def feed(self, events: list[Event]) -> bytes:
        """Return the bytes for these events."""
        if self._writer is None:
            return b""
        write, adapt = self._writer.feed, self._adapt
        frames = [
            write(event if isinstance(event, WORDS) else adapt(event))
            for event in self._embedder.feed(events)
        ]
        return b"".join(frames)

    async def end(self) -> bytes:
        """Return the bytes that end the stream."""
        return self._writer.eof() if self._writer else b""

    def fail(self, response: HttpResponse, _error: PonderoError) -> bytes:
        """Return the bytes that report an error inside the stream."""
        return self._writer.fail(response) if self._writer else b""

    async def whole(self, reply: Reply) -> HttpResponse:
        """Return an answer in one piece."""
        adapted = replace(
            reply,
            message=self._embedder.whole(reply.message, reply.finish),
            model=self._model,
            request_id=None,
            raw_finish=None,
            grounding=None,
            safety=None,
            extras=self._find_stop_sequence(reply.raw_finish, reply.extras),
        )
        return self._service.reply(self._context, adapted)

    def make_cached_answer(self, _reply: Reply) -> CachedAnswer:
        """Return the answer for the answer cache, with the ids that the client knows."""
        return self._embedder.record

    def _adapt(self, event: Event) -> Event:
        """Return an event without the model's own name and ids."""
        if isinstance(event, Started):
            return Started(self._model)
        if isinstance(event, Finished):
            extras = self._find_stop_sequence(event.raw_finish, event.extras)
            return Finished(
                event.finish,
                event.usage,
                model=self._model,
                verdict=event.verdict,
                extras=extras,
            )
        return event

    def _find_stop_sequence(self, word: str | None, extras: Json) -> Json:
        """Return the stop sequence that ended an answer, empty if it is not known; else None."""
        if word not in self._stop_words:
            return None
        told = extras.get("stop_sequence") if isinstance(extras, dict) else None
        only = self._stops[0] if len(self._stops) == 1 else ""
        return {"stop_sequence": told or only}

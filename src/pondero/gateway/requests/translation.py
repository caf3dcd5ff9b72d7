"""Translation: the conversation in the model's dialect, and its answer in the client's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import time
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from ...canon import (
    Assembler,
    Event,
    Finished,
    HttpRequest,
    HttpResponse,
    Json,
    Reply,
    Request,
    Started,
    Usage,
    UsageUpdate,
    merge_json,
)
from ...catalog import ModelEntry
from ...dialects import (
    ByteStream,
    ParsedRequest,
    PassthroughRules,
    ReplyContext,
    Service,
    get_dialect,
)
from ...errors import BadParameter, PonderoError, Unsupported, UsageError
from ...exchange import (
    TURN_ADDED,
    AsyncTransport,
    Exchange,
    FurtherAnswers,
    WorkSteps,
    add_cache_breakpoints,
    prepare,
    prepare_in_steps,
    thinking_paths,
    with_fields,
    with_list_headers,
)
from ...handoff import holds_other_account, holds_other_kind
from ...thinking import Adjustment, Plan
from ..answers.tapped_transport import TappedTransport
from ..levels.stated_depth import drop_stated_turns, has_stated_turns
from ..observability.receipt import read_time
from ..server.context import GatewayContext
from ..signatures.embedder import SignatureEmbedder, read_envelope
from ..signatures.part_order import WORDS
from ..state.answer_cache import CachedAnswer
from .embedded_answer import embed_whole, make_embedder
from .known_views import find_views
from .other_models import note_other_models
from .portability import (
    asks_for_nothing,
    carry_answer_options,
    carry_common,
    check_fields,
    check_files,
    check_tools,
    find_answer_options,
    is_asked_for,
    is_same_dialect,
    is_translatable,
    keep_needed,
    list_rejected,
    name_own_answer,
    suits,
    takes_field,
    with_told_errors,
    with_user_turn,
)
from .routed_request import ModelTarget, RoutedRequest, as_functions, find_usual_limit


def translate_request(
    gateway: GatewayContext, routed: RoutedRequest, target: ModelTarget
) -> WorkSteps[Exchange]:
    """Return the conversation as a request in the model's dialect; raises UsageError."""
    call, entry, plan = routed.call, target.entry, target.plan
    same, views = is_same_dialect(routed, entry), find_views(routed, entry)
    simple = 0 if views is None else views.count_simple(routed.request.messages)
    check_fields(routed, entry, plan)
    if not same:
        check_translatable(routed)
    if entry.provider.dialect != call.client_dialect:
        check_files(routed, simple=simple)
        check_tools(routed, entry)
    request, notes = _carry_fields(routed, target)
    if request.messages is not routed.request.messages:
        simple = 0
    request = drop_stated_turns(request, routed.service.depth, simple=simple)
    if (spoken := with_user_turn(routed, request)) is not request:
        request, notes = spoken, [*notes, TURN_ADDED]
    request = with_told_errors(entry, request, simple=simple)
    if request.max_tokens is None and entry.capability.max_output is None:
        request, notes = _limit_unknown(request, entry, plan, notes)
    yield
    is_only_read = routed.hooked is not None and not routed.is_hooked
    if not (same and is_only_read):  # else the client itself says what is cached, as without hooks
        request = add_cache_breakpoints(entry, request, simple=simple)
    prepared = yield from prepare_in_steps(
        entry,
        request,
        replace(plan, adjustments=(*plan.adjustments, *notes)),
        asked=routed.parameters,
        policy=routed.policy,
        url=target.url,
        key=target.key,
        at=gateway.now(),
        refusals=gateway.refusals,
        retells=True,
        emulator=target.emulator,
        views=views,
    )
    exchange = prepared.exchange
    _check_tokens(routed, target, exchange)
    if not same:
        return exchange
    rules = routed.service.passthrough
    http = copy_client_headers(call.http, rules, exchange.http, exchange.plan.headers)
    return replace(exchange, http=http)


def fits_unchanged(routed: RoutedRequest, target: ModelTarget, *, begun: int = 0) -> bool:
    """Return whether a body in the model's dialect needs no fitting: it goes as it is.

    ``begun``: how many first messages are known to be of this kind and account.
    One that names the model is the client's own affair; so is one for a model of unknown facts.
    """
    entry, plan = target.entry, target.plan
    new = routed.request.messages[begun:]
    if holds_other_kind(new, target.emulator):
        return False  # a client kept what the emulator signed, and now a service is asked
    if holds_other_account(new, entry.reads_of):
        return False  # another account signed it, and this one's service would reject it
    if entry.inferred or is_asked_for(routed, entry):
        return True
    if not suits(routed, entry, plan):
        return False
    views, depth = find_views(routed, entry), routed.service.depth
    simple = 0 if views is None else views.count_simple(routed.request.messages)
    if not entry.takes_level_turns and has_stated_turns(routed.request, depth, simple=simple):
        return False
    try:
        fitted = prepare(
            entry,
            replace(routed.request, extras=None),
            plan,
            asked=routed.parameters,
            policy=routed.policy,
            url=target.url,
            retells=True,
            emulator=target.emulator,
            views=views,
        )
    except Unsupported:
        return False  # the route is strict; translated, it raises the same
    except UsageError:
        return True  # it cannot be written otherwise, such as a system prompt alone
    return fitted.plan.adjustments == plan.adjustments


def translate_for_own_answer(
    gateway: GatewayContext, routed: RoutedRequest, target: ModelTarget
) -> WorkSteps[Exchange]:
    """Return a fitted request whose answer is passed on unchanged; raises UsageError.

    One that must be changed is translated, if a translation has all that it asks for.
    """
    exchange = yield from translate_request(gateway, routed, target)
    if not exchange.restores or is_translatable(routed):
        return exchange
    message = (
        f"{name_own_answer(routed)}: an answer with it is passed on unchanged, and "
        f"{target.entry.id} needs other tools or another schema than those of the request, so that "
        "the answer would have to be changed; leave out one of the two"
    )
    raise BadParameter(message)


def _check_tokens(routed: RoutedRequest, target: ModelTarget, exchange: Exchange) -> None:
    """Raise BadParameter for log probabilities of a text that the client will not see."""
    if not exchange.restores_text or find_answer_options(routed).top is None:
        return
    message = (
        f"{name_own_answer(routed)}: {target.entry.id} needs another schema than that of the "
        "request, so that the answer has other tokens; leave out one of the two"
    )
    raise BadParameter(message)


def check_translatable(routed: RoutedRequest) -> None:
    """Raise BadParameter if a service of another API would have to know a stored id."""
    rules, stored = routed.service.stored_ids, routed.stored
    # What names nothing still names nothing; else, some are in their places now.
    named = rules.find(stored.http) if rules is not None and stored.named else ()
    for each in named:
        if not each.may_be_dropped:
            message = (
                f"{each.field}: {routed.parsed.request.model!r} is served by another API, which "
                f"does not know {each.id!r}; send the conversation itself"
            )
            raise BadParameter(message)


def _carry_fields(routed: RoutedRequest, target: ModelTarget) -> tuple[Request, list[Adjustment]]:
    """Return the request with those further fields that this provider takes.

    A note for each of the others.
    """
    parsed, rules, entry = routed.parsed, routed.service.passthrough, target.entry
    request = as_functions(routed.service, routed.request, (entry,))
    kept = _drop_thinking(routed, target) or {}
    taken = {name: kept[name] for name in kept if takes_field(routed, entry, name)}
    common, moved = carry_common(routed, entry)
    options, named = carry_answer_options(routed, entry)
    common, moved = merge_json(common, options), moved | named
    why = f"only the wire that the client speaks ({routed.call.client_dialect}) has it"
    lost = [name for name in parsed.request.extras or () if not takes_field(routed, entry, name)]
    taken, cut = keep_needed(routed, entry, taken)
    names = [name for name in (*_name_fields(routed, lost), *parsed.unknown) if name not in moved]
    notes = [Adjustment("dropped_parameter", name, "set", None, why) for name in (*names, *cut)]
    taken, rejected = _drop_rejected(routed, entry, target.plan, merge_json(common, taken))
    notes += rejected
    if routed.is_limited:
        limited = {n: v for n, v in (parsed.request.extras or {}).items() if n not in lost}
        notes += note_other_models(limited, rules)
    choice = request.tool_choice
    if choice is not None and not request.tools:  # no API takes one without tools
        what = "tool_choice" if choice.parallel is None else "tool_choice, parallel_tool_calls"
        notes.append(Adjustment("dropped_parameter", what, "set", None, "there are no tools"))
        choice = None
    return replace(request, extras=taken or None, tool_choice=choice), notes


def _drop_rejected(
    routed: RoutedRequest, entry: ModelEntry, plan: Plan, taken: dict[str, Json]
) -> tuple[dict[str, Json], list[Adjustment]]:
    """Return fields without those that this model's service rejects, with a note for each.

    A request for one that changes the answer has been rejected already.
    """
    if not taken:
        return taken, []
    paths = [path for path in list_rejected(routed, entry, plan) if path[0] in taken]
    if not paths:
        return taken, []
    why = "this model rejects it"
    notes = [
        Adjustment("dropped_parameter", ".".join(path), "set", None, why)
        for path in paths
        if not asks_for_nothing(routed, path)
    ]
    return msgspec.json.decode(with_fields(msgspec.json.encode(taken), paths, {})), notes


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

    Of a model outside the catalog the limit is not known. A service that needs none gets none: a
    number of ours may be more than the model writes, which some reject.
    """
    needed = get_dialect(entry.provider.dialect).caller().needs_max_tokens
    if not needed or plan.level in entry.capability.uncapped:
        return request, notes
    limit = find_usual_limit((entry,))
    why = "the service needs a limit, and the model's own is not known"
    note = Adjustment("max_tokens_clamped", "max_tokens", None, limit, why)
    return replace(request, max_tokens=limit), [*notes, note]


def _drop_thinking(routed: RoutedRequest, target: ModelTarget) -> Json:
    """Return extra fields without those that set how the model thinks."""
    extras, places = routed.parsed.request.extras, routed.service.depth
    if not extras:
        return None
    entry = target.entry
    fields = places.list_fields(entry.model) if target.level.is_binding else places.fields
    paths = (*thinking_paths(entry, target.plan), *fields, *places.more)
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
    more = with_list_headers(sent, headers) if headers else sent
    return replace(ours, url=url, headers={**ours.headers, **more})


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
        created=read_time(id),
        clock=time,
    )


def _build_reply(first: Reply, events: list[Event]) -> Reply:
    """Return a further answer to the request of the first, which has the counts of all."""
    assembler = Assembler()
    assembler.extend(events)
    end = assembler.finished or Finished("other")
    return replace(
        first,
        message=assembler.message(first.message.origin),
        finish=end.finish,
        usage=Usage(),
        raw_finish=end.raw_finish,
        extras=end.extras,
    )


def _leave_out_usage(event: Event) -> Event:
    """Return an event of a further answer without counts, which are those of the first."""
    if isinstance(event, UsageUpdate):
        return UsageUpdate(Usage())
    return replace(event, usage=Usage()) if isinstance(event, Finished) else event


class Translation:
    """Writes one answer in the client's dialect, or several to the same request."""

    def __init__(
        self, routed: RoutedRequest, exchange: Exchange, transport: AsyncTransport
    ) -> None:
        service, parsed, call = routed.service, routed.parsed, routed.call
        several = service.several
        options = find_answer_options(routed)
        count = options.count if several is not None else 1
        self._further = FurtherAnswers(exchange, count) if count > 1 else None
        self.transport: AsyncTransport = transport
        if self._further is not None:
            self.transport = TappedTransport(transport, self._further)
        self._service = service
        self._model = parsed.request.model
        self._stops = parsed.request.stop
        self._stop_words = get_dialect(exchange.plan.dialect).caller().stop_words
        context = make_reply_context(
            service, parsed, id=call.id, place=routed.show, hidden=routed.hides_thinking
        )
        if options.top is not None:
            context = replace(context, top_logprobs=options.top)
        self._context = context
        self.shows_thinking: bool = context.shown
        self._routed = routed
        self._exchange = exchange
        self._embedders: Sequence[SignatureEmbedder] = ()
        self._records: list[CachedAnswer] = []  # of answers in one piece
        self._writers: Sequence[ByteStream] = ()
        if parsed.request.stream:
            self._embedders = [make_embedder(routed, exchange, each) for each in range(count)]
            writers = (service.stream(self._context),)
            self._writers = several.streams(self._context, count) if several else writers

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the stream."""
        return dict(self._writers[0].headers) if self._writers else {}

    @property
    def ping_headers(self) -> Mapping[str, str]:
        """Return the same: they do not depend on the model's answer."""
        return self.headers

    def feed(self, events: list[Event]) -> bytes:
        """Return the bytes for these events."""
        if not self._writers:
            return b""
        if self._further is None:
            return self._write(0, events)
        last = events[-1:] if events and isinstance(events[-1], Finished) else []
        if last:
            self._further.check()  # before the client is told that the answers are complete
        frames = [self._write(0, events[: len(events) - len(last)])]
        for number, each in enumerate(self._further.take(), 1):
            frames.append(self._write(number, list(map(_leave_out_usage, each))))
        return b"".join((*frames, self._write(0, last)))

    def _write(self, number: int, events: list[Event]) -> bytes:
        """Return the bytes for events of one of the answers."""
        write, adapt = self._writers[number].feed, self._adapt
        frames = [
            write(event if isinstance(event, WORDS) else adapt(event))
            for event in self._embedders[number].feed(events)
        ]
        return b"".join(frames)

    async def end(self) -> bytes:
        """Return the bytes that end the stream."""
        return self._writers[0].eof() if self._writers else b""

    def fail(self, response: HttpResponse, _error: PonderoError) -> bytes:
        """Return the bytes that report an error inside the stream."""
        return self._writers[0].fail(response) if self._writers else b""

    async def whole(self, reply: Reply, _body: bytes) -> HttpResponse:
        """Return an answer in one piece, or all answers."""
        if self._further is None or self._service.several is None:
            return self._service.reply(self._context, self._adapt_reply(0, reply))
        self._further.check()
        others = [_build_reply(reply, events) for events in self._further.take()]
        replies = [self._adapt_reply(number, each) for number, each in enumerate((reply, *others))]
        return self._service.several.reply(self._context, replies)

    def _adapt_reply(self, number: int, reply: Reply) -> Reply:
        """Return a reply without the model's own name and ids."""
        message, record = embed_whole(self._routed, self._exchange, number, reply)
        self._records.append(record)
        return replace(
            reply,
            message=message,
            model=self._model,
            request_id=None,
            raw_finish=None,
            grounding=None,
            safety=None,
            extras=self._find_stop_sequence(reply.raw_finish, reply.extras),
        )

    def make_cached_answers(self, _reply: Reply) -> Sequence[CachedAnswer]:
        """Return the answers for the answer cache, with the ids that the client knows."""
        return self._records or [embedder.record for embedder in self._embedders]

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

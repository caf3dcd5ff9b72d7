"""Pass-through: the client's bytes, except the level, the model's name and the address."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct

from ...canon import (
    Event,
    HttpResponse,
    Json,
    Message,
    Reply,
    Request,
    Text,
    get_path,
    merge_json,
)
from ...catalog import ModelEntry
from ...dialects import DepthPlaces, PassthroughRules
from ...errors import PonderoError, ServiceError
from ...exchange import (
    AsyncTransport,
    Exchange,
    WorkSteps,
    change_fields,
    compose,
    depth_paths_of,
    fold_path,
    matches_plan,
    plan,
    states_only,
    thinking_paths,
)
from ...thinking import DEFAULT, UNSET, Adjustment, Plan, RequestParameters
from ..answers.model_name import ModelRenamer, rename_model
from ..answers.repeated_past import make_repeater
from ..answers.usage_filter import UsageFilter
from ..levels.level_plan import plan_attempt
from ..levels.level_rules import AppliedLevel, RequestedLevel, limit_value, limit_word
from ..levels.stated_depth import TurnLimits, limit_fields, limit_turns
from ..server.context import GatewayContext
from ..state.answer_cache import CachedAnswer
from .captured_transport import CapturingTransport
from .errors import SHUTDOWN, redact_bytes
from .local_history import find_signed_fields
from .other_models import note_other_models
from .routed_request import UNKNOWN_OUTPUT, ModelTarget, RoutedRequest, is_unknown
from .split_body import read_fields, renew_body
from .translation import (
    Translation,
    copy_client_headers,
)

_SENT_BACK = re.compile(
    r"content-type|.*request-?id|retry-after(?:-ms)?|x-should-retry|.*ratelimit.*|.*-processing-ms"
)
_NULL = Raw(b"null")
_SSE = "text/event-stream"
_GAPS = (b"\n\n", b"\n\r\n")
_MODEL = ("model",)  # in every spelling, so that no server reads another name


@lru_cache(maxsize=1024)
def _is_sent_back(name: str) -> bool:
    return _SENT_BACK.fullmatch(name) is not None


def readdress_request(
    _gateway: GatewayContext, routed: RoutedRequest, target: ModelTarget
) -> WorkSteps[Exchange]:
    """Return the client's request with the model's address, key, name, level, and own fields."""
    http, rules = routed.call.http, routed.service.passthrough
    address = (target.url, target.key, target.emulator)
    template, own = make_template(target.entry, address, stream=routed.request.stream)
    sent = read_fields(http.body)
    fields = {name: own[name] for name in rules.added_fields if name in own and name not in sent}
    if target.entry.capability.max_output is None:
        fields.pop("max_tokens", None)  # its service says what it needs
    if (place := rules.usage_at) is not None and routed.request.stream:
        options, option = place
        if options in own or bytes(sent.get(options, _NULL)) != b"null":
            fields[options] = {option: True}  # whatever the client says: the gateway counts
    if "model" in own:
        fields["model"] = own["model"]
    yield
    written = _write_level(routed, target, sent)
    untied = _list_untied(written, sent, routed.service.depth)
    without = (_MODEL, *written.without, *untied)
    adjustments = (*written.plan.adjustments, *map(_note_untied, untied))
    if routed.requested_level.intent.kind == "unset":
        adjustments += _note_unread(written, sent)
    rewritten = written.rewritten
    if routed.is_limited:
        without += rules.models_at
        adjustments += note_other_models(sent, rules)
        rewritten |= _list_ruled(rules)
    fields |= {**written.fields, **find_signed_fields(routed, target, sent, own)}
    if (limit := _find_sent_limit(routed, target, sent)) is not None:
        without += rules.limits_at
        fields = merge_json(fields, limit)
    known = sent if written.body is http.body else read_fields(written.body)
    changed = change_fields(known, without, fields, rewritten=rewritten)
    body = renew_body(http.body, changed)
    ours = msgspec.structs.replace(template.http, method=http.method, body=body)
    ours = copy_client_headers(http, rules, ours, written.headers)
    plan = written.plan
    if adjustments != plan.adjustments:
        plan = msgspec.structs.replace(plan, adjustments=adjustments)
    return msgspec.structs.replace(template, http=ours, plan=plan)


@lru_cache(maxsize=16)
def _list_ruled(rules: PassthroughRules) -> frozenset[str]:
    """Return the folded names of objects with places that rules are about.

    They are encoded again even if nothing in them changes: no name occurs twice in them, so the
    service reads the same values as the rules did.
    """
    edits = (rules.hosted.compacts_at,) if rules.hosted.compacts_at else ()
    paths = (*rules.models_at, *rules.limits_at, *rules.answers_at, *edits)
    return frozenset(fold_path(path)[0] for path in paths if len(path) > 1)


class _LevelEdit(Struct, frozen=True, kw_only=True):
    """How a body gets its level: what to remove, what to merge, what to encode again."""

    body: bytes
    plan: Plan
    without: tuple[tuple[str, ...], ...] = ()
    fields: Mapping[str, Json] = {}
    headers: Mapping[str, str] = {}
    rewritten: frozenset[str] = frozenset()


def _write_level(routed: RoutedRequest, target: ModelTarget, sent: Mapping[str, Raw]) -> _LevelEdit:
    """Return the changes that make a body ask for the plan, and for nothing else."""
    body, level, plan = routed.call.http.body, target.level, target.plan
    if not level.is_binding:
        if _keeps_level(routed, target, sent):
            return _LevelEdit(body=body, plan=plan)
        opening = plan
        if (turns := _limit_turns(routed, target, sent)) is not None and turns.stated:
            _, opening = _plan_opening(routed, target, turns.bare)  # the turns stay as they are
        paths = thinking_paths(target.entry, opening)
        return _LevelEdit(
            body=body, plan=plan, without=paths, fields=opening.fields, headers=opening.headers
        )
    places = routed.service.depth
    opening, turns = plan, _limit_turns(routed, target, sent)
    if turns is not None:
        if turns.stated and level.is_from_body:
            level, opening = _plan_opening(routed, target, turns.bare)
        sent = {**sent, places.turns: Raw(turns.limited)}
        body = msgspec.json.encode(sent)
    if is_unknown(target.entry):
        return _limit_in_place(body, target, places)
    paths, rewritten = _list_places(
        thinking_paths(target.entry, opening),
        places,
        model=target.entry.model,
        capped=level.has_maximum,
    )
    same = routed.parsed.request.model == target.entry.model and not _is_changed(opening)
    if level.why is None and level.is_from_body and same:
        depth = _list_depth(target.entry, places, capped=level.has_maximum)
        if states_only(sent, depth, opening):
            return _LevelEdit(body=body, plan=plan, rewritten=rewritten)
    return _LevelEdit(
        body=body,
        plan=plan,
        without=paths,
        fields=opening.fields,
        headers=opening.headers,
        rewritten=rewritten,
    )


def _list_untied(
    written: _LevelEdit, sent: Mapping[str, Raw], places: DepthPlaces
) -> tuple[tuple[str, ...], ...]:
    """Return the client's fields that the service does not take with the level we write."""
    if not written.without:
        return ()  # the client's own level stays
    return tuple(
        path
        for path, needed, value in places.tied
        if path[0] in sent
        and get_path(written.fields, needed) != value
        and get_path({path[0]: msgspec.json.decode(sent[path[0]])}, path) is not None
    )


def _note_untied(path: tuple[str, ...]) -> Adjustment:
    why = "the service takes it only with the kind of thinking that the client asked for"
    return Adjustment("dropped_parameter", ".".join(path), "set", None, why)


def _note_unread(written: _LevelEdit, sent: Mapping[str, Raw]) -> tuple[Adjustment, ...]:
    """Return an adjustment for each field that may say a level, but none that we know."""
    fields = {path[0]: sent[path[0]] for path in written.without if path[0] in sent}
    if not fields:
        return ()
    said = {name: msgspec.json.decode(value) for name, value in fields.items()}
    unread = [path for path in written.without if get_path(said, path) is not None]
    why = "its value is no level that this gateway knows"
    return tuple(
        Adjustment("dropped_parameter", ".".join(path), "set", None, why)
        for path in unread
        if not any(path[: len(each)] == each for each in unread if len(each) < len(path))
    )


def _limit_turns(
    routed: RoutedRequest, target: ModelTarget, sent: Mapping[str, Raw]
) -> TurnLimits | None:
    """Return the conversation with its own levels under the rules, or without them.

    They go if a header or the model's name says the level: that holds for the whole request.
    """
    entry, level = target.entry, target.level

    def limit(value: Json) -> Json:
        if not level.is_from_body or not isinstance(value, str):
            return None
        return limit_word(value, entry, level)

    return limit_turns(sent, routed.service.depth, limit, body=routed.call.http.body)


def _plan_opening(
    routed: RoutedRequest, target: ModelTarget, turns: bytes
) -> tuple[AppliedLevel, Plan]:
    """Plan the level with which a conversation began, before its turns changed it."""
    http = routed.call.http
    if turns == b"[]":
        return target.level, target.plan
    fields = {**read_fields(http.body), routed.service.depth.turns: Raw(turns)}
    body = msgspec.json.encode(fields)
    intent = routed.service.parse(msgspec.structs.replace(http, body=body)).intent
    said_in = "unset" if intent == UNSET else "body"
    return plan_attempt(routed, target.entry, RequestedLevel(intent, said_in))


def _limit_in_place(body: bytes, target: ModelTarget, places: DepthPlaces) -> _LevelEdit:
    """Limit the client's own fields for a model that no plan can be made for."""
    level, plan = target.level, target.plan

    def limit(value: Json) -> Json:
        return limit_value(value, target.entry, level) if level.is_from_body else None

    limited = limit_fields(body, places, limit)
    said = level.requested_level.said_in == "body" and level.why is None
    if said and level.intent.kind in ("level", "budget"):  # what the client's own fields say
        plan = msgspec.structs.replace(plan, level=level.intent.level, budget=level.intent.tokens)
    more = places.more if level.has_maximum else ()
    return _LevelEdit(body=limited, plan=plan, without=more)


@lru_cache(maxsize=512)
def _list_places(
    own: tuple[tuple[str, ...], ...], places: DepthPlaces, *, model: str, capped: bool
) -> tuple[tuple[tuple[str, ...], ...], frozenset[str]]:
    """Return the paths to remove, each once in all its spellings, and their first names."""
    more = places.more if capped else ()
    fields = places.list_fields(model)
    paths = {fold_path(path): path for path in (*own, *fields, *more)}
    return tuple(paths.values()), frozenset(folded[0] for folded in paths)


@lru_cache(maxsize=512)
def _list_depth(
    entry: ModelEntry, places: DepthPlaces, *, capped: bool
) -> tuple[tuple[str, ...], ...]:
    """Return every path with depth, each once in all its spellings."""
    more = places.more if capped else ()
    own, fields = depth_paths_of(entry), places.list_fields(entry.model)
    return tuple({fold_path(path): path for path in (*own, *fields, *more)}.values())


def _find_sent_limit(
    routed: RoutedRequest, target: ModelTarget, sent: Mapping[str, Raw]
) -> dict[str, Json] | None:
    """Return the output limit to write in place of the client's; None if no budget needs one.

    A client may write two limits, in two places or spellings, of which the service reads another
    than we do.
    """
    limit, path = routed.output_limit, target.entry.provider.parameters.get("max_tokens")
    if limit is None or path is None:
        return None
    places = routed.service.passthrough.limits_at
    tops = [place for place in places if place[0] in sent]
    most = target.entry.capability.max_output
    value: Json = limit if most is None else min(limit, most)
    spelt = next((place for place in tops if len(place) == len(path) > 1), path)
    for name in reversed(path if path[0] in sent else spelt):
        value = {name: value}
    return dict(value)


def _keeps_level(routed: RoutedRequest, target: ModelTarget, sent: Mapping[str, Raw]) -> bool:
    """Return whether the client's own thinking fields can stay if no rule binds them.

    For a model outside the catalog they stay: the client may know more than the plan.
    """
    level, entry = target.level, target.entry
    own = level.why is None and level.is_from_body
    if not own or routed.parsed.request.model != entry.model or _is_changed(target.plan):
        return False
    own = entry.inferred and not routed.is_lowered
    return own or matches_plan(routed.call.http.body, entry, target.plan, fields=sent)


def _is_changed(plan: Plan) -> bool:
    """Return whether a plan is not what was asked for; a warning alone changes nothing."""
    if not plan.adjustments:
        return False
    return any(note.asked != note.got for note in plan.adjustments)


@lru_cache(maxsize=256)
def make_template(
    entry: ModelEntry, address: tuple[str, str | None, str | None], *, stream: bool
) -> tuple[Exchange, Mapping[str, Json]]:
    """Return the shortest request to a model that pondero itself would write, and its fields."""
    url, key, emulator = address
    unknown = entry.capability.max_output is None
    request = Request(
        entry.model,
        (Message("user", (Text("."),)),),
        max_tokens=UNKNOWN_OUTPUT if unknown else None,
        stream=stream,
    )
    no_level = plan(entry, UNSET, asked=RequestParameters(), policy=DEFAULT)
    exchange = compose(entry, request, no_level, url=url, key=key, emulator=emulator)
    return exchange, msgspec.json.decode(exchange.http.body)


def _asks_for_usage(body: bytes, place: tuple[str, str] | None) -> bool:
    """Return whether the client itself asks for token counts in its stream."""
    if place is None or place[1].encode() not in body:
        return False
    options = msgspec.json.decode(read_fields(body).get(place[0], _NULL))
    return isinstance(options, dict) and bool(options.get(place[1]))


class Passthrough:
    """Passes one answer on, under the name that the client asked for."""

    ping_headers: Mapping[str, str] = {"content-type": _SSE}
    shows_thinking = True

    def __init__(
        self, routed: RoutedRequest, exchange: Exchange, transport: AsyncTransport
    ) -> None:
        self._routed = routed
        self._exchange = exchange
        self._capture = CapturingTransport(transport, keeps=routed.parsed.request.stream)
        self._renamer: ModelRenamer | None = None
        self._filter: UsageFilter | None = None
        self._repeater = make_repeater(routed)
        self._last = b""
        self.transport: AsyncTransport = self._capture

    @property
    def headers(self) -> dict[str, str]:
        """Return those headers of the model's answer that clients read."""
        headers = self._capture.head.headers.items()
        return {name: value for name, value in headers if _is_sent_back(name)}

    def feed(self, _events: list[Event]) -> bytes:
        """Return the bytes that arrived since the last call."""
        if self._renamer is None:
            content_type = self._capture.head.headers.get("content-type", "")
            rules = self._routed.service.passthrough
            model = self._routed.parsed.request.model
            self._renamer = ModelRenamer(rules.model_at, model, content_type)
            if content_type.startswith(_SSE) and rules.is_usage_event is not None:
                asked = _asks_for_usage(self._routed.call.http.body, rules.usage_at)
                self._filter = None if asked else UsageFilter(rules.is_usage_event)
        data = self._renamer.feed(self._capture.take())
        if self._repeater is not None:
            data = self._repeater.lines(data)
        if self._filter is not None:
            data = self._filter.feed(data)
        self._last = data[-4:] or self._last
        return data

    async def end(self) -> bytes:
        """Return the last bytes, also those after the answer's end."""
        rest = self.feed([])
        if self._renamer is None:
            return rest
        last = self._renamer.feed(await self._capture.rest()) + self._renamer.eof()
        if self._repeater is not None:
            last = self._repeater.lines(last)
        if self._filter is not None:
            last = self._filter.feed(last) + self._filter.eof()
        return rest + last

    def fail(self, response: HttpResponse, error: PonderoError) -> bytes:
        """Return the bytes that report an error inside the stream, once.

        The service's own error event is passed on unchanged if it has the client API's format.
        A broken connection has none.
        """
        told = Translation(self._routed, self._exchange, self._capture).fail(response, error)
        if isinstance(error, ServiceError) and error is not SHUTDOWN:
            sent, is_own = self.feed([]), response.body == redact_bytes(error.body)
            at = -1 if is_own else sent.find(error.body)
            return redact_bytes(sent if at < 0 else sent[: _find_event(sent, at)] + told)
        sse = self._capture.head.headers.get("content-type", "").startswith(_SSE)
        whole = not sse or not self._last or self._last.endswith((b"\n\n", b"\n\r\n"))
        return told if whole else b"\n\n" + told

    async def whole(self, reply: Reply, body: bytes) -> HttpResponse:
        """Return an answer in one piece."""
        model = self._routed.parsed.request.model
        if reply.model != model:
            body = rename_model(body, self._routed.service.passthrough.model_at, model)
        if self._repeater is not None:
            body = self._repeater.whole(body)
        return HttpResponse(self._capture.head.status, self.headers, body)

    def make_cached_answers(self, reply: Reply) -> Sequence[CachedAnswer]:
        """Return the answer for the answer cache; the client knows its calls by their own ids."""
        message = reply.message
        ids = tuple([call.id for call in message.tool_calls])
        return (CachedAnswer(self._routed.call.id, message, ids, message.text),)


def _find_event(sent: bytes, at: int) -> int:
    """Return where the server-sent event begins that a place is in."""
    ends = (sent.rfind(gap, 0, at) + len(gap) for gap in _GAPS if gap in sent[:at])
    return max(ends, default=0)

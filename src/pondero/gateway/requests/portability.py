"""What a model of another API or provider is told of a client's request, and what is rejected.

Nothing vanishes: a field is carried, noted as an adjustment, or the request is rejected because the
answer would be another one than the client asked for.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from ...canon import (
    Blob,
    Image,
    Json,
    Message,
    Part,
    Request,
    Text,
    ToolResult,
    UnknownPart,
    get_path,
)
from ...catalog import Lookup, ModelEntry
from ...dialects import AnswerOptions, NeededField, Portability, get_dialect
from ...errors import BadParameter, UsageError
from ...exchange import fold_path, make_destination, states_only
from ...store import load_catalog
from ...thinking import Plan, Policy
from .routed_request import RoutedRequest
from .split_body import read_fields

SILENCE = Message("user", (Text("[The user has not written anything yet.]"),))
"""The user turn of a conversation of empty ones, which most APIs reject."""
FAILED = Text("[The tool reports an error:]")
_POLICY = Policy()
_ONE_ANSWER = AnswerOptions()


def is_same_dialect(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a model speaks the client's API, and the body may be written for it."""
    provider = entry.provider
    same = provider.exact and provider.dialect == routed.call.client_dialect
    return same and _may_be_meant(load_catalog(), routed.resolved.name, entry)


@lru_cache(maxsize=1024)
def _may_be_meant(lookup: Lookup, name: str, entry: ModelEntry) -> bool:
    """Return whether a body that names this model may have been written for ``entry``.

    A body for another family of the same provider may have fields that ``entry`` rejects. A name
    that only this gateway knows says nothing.
    """
    try:
        named = lookup.entry(f"{entry.provider.name}:{name}", unknown="error")
    except UsageError:
        return True
    return named.family == entry.family


def is_asked_for(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether the client names this very model, so that the body was written for it.

    Without a provider, a name means the model at the home of the client's API.
    """
    home = routed.service.default_provider
    return routed.resolved.route is None or _is_name_of(
        load_catalog(), routed.resolved.name, entry, home
    )


@lru_cache(maxsize=1024)
def _is_name_of(lookup: Lookup, name: str, entry: ModelEntry, home: str) -> bool:
    if name == entry.id or (name == entry.model and entry.provider.name == home):
        return True
    names = (name, f"{home}:{name}") if entry.provider.name == home else (name,)
    for each in names:
        try:
            if lookup.entry(each, unknown="error").id == entry.id:
                return True
        except UsageError:
            continue
    return False


def takes_field(routed: RoutedRequest, entry: ModelEntry, name: str) -> bool:
    """Return whether a provider takes a field of the client's API under the same name."""
    provider = entry.provider
    if provider.dialect != routed.call.client_dialect:
        return False
    needed = [each for each in routed.service.portability.needed if each.path[0] == name]
    if provider.exact:
        return bool(needed) or is_same_dialect(routed, entry)
    if not provider.fields:  # nothing is known: its own 400 says what it lacks
        return any(each.in_answer for each in needed)
    return not {name, "*"}.isdisjoint(provider.fields)


def list_rejected(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> list[tuple[str, ...]]:
    """Return the paths of the request's fields that the model's service would reject."""
    extras = routed.parsed.request.extras
    if not extras or entry.provider.dialect != routed.call.client_dialect:
        return []
    return [path for path in _find_rejected(routed, entry, plan) if _is_set(extras, path)]


def _is_set(fields: Json, path: tuple[str, ...]) -> bool:
    return get_path(fields, path) is not None


def _find_rejected(
    routed: RoutedRequest, entry: ModelEntry, plan: Plan
) -> tuple[tuple[str, ...], ...]:
    thinking, stream = plan.will_think is not False, routed.parsed.request.stream
    return _list_all_rejected(entry, thinking=thinking, stream=stream)


@lru_cache(maxsize=1024)
def _list_all_rejected(
    entry: ModelEntry, *, thinking: bool, stream: bool
) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(entry.rejected_fields(thinking=thinking, stream=stream)))


def _is_rejected(routed: RoutedRequest, entry: ModelEntry, plan: Plan, field: NeededField) -> bool:
    """Return whether the model's service rejects a field of the client's API."""
    path = fold_path(field.like or field.path)
    return any(fold_path(each) == path for each in _find_rejected(routed, entry, plan))


def suits(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> bool:
    """Return whether a model takes all fields of a body in its dialect as they are."""
    if not {"tools", "tool_choice"}.isdisjoint(plan.dropped):
        return False
    sent = read_fields(routed.call.http.body)
    limit = entry.provider.parameters.get("max_tokens")
    others = [place for place in routed.service.passthrough.limits_at if len(place) == 1]
    if limit in others and any(place != limit and place[0] in sent for place in others):
        return False  # OpenAI: the older name is rejected, and so are both
    asked = [field for field, _ in _iter_asked(routed)]
    if any(_is_rejected(routed, entry, plan, field) for field in asked):
        return False
    needed = {fold_path(field.path) for field in routed.service.portability.needed}
    rejected = _find_rejected(routed, entry, plan)
    return states_only(sent, [path for path in rejected if fold_path(path) not in needed], plan)


def keep_needed(
    routed: RoutedRequest, entry: ModelEntry, taken: dict[str, Json]
) -> tuple[dict[str, Json], list[str]]:
    """Return fields with only those elements of lists that the client's API must honour.

    Also the names of lists that lost some. The others may be rejected by a model of another family.
    """
    if not taken or is_same_dialect(routed, entry):
        return taken, []
    asks = {each.path[0]: each.asks for each in routed.service.portability.needed if each.asks}
    lists = {name: value for name, value in taken.items() if name in asks and type(value) is list}
    kept = {name: [each for each in lists[name] if each in asks[name]] for name in lists}
    cut = [name for name in lists if kept[name] != lists[name]]
    return {**taken, **kept}, cut


def asks_for_nothing(routed: RoutedRequest, path: tuple[str, ...]) -> bool:
    """Return whether a field that the client's API must honour has a value that asks for nothing.

    Such a field can be left out without a word.
    """
    needed = [
        each
        for each in routed.service.portability.needed
        if fold_path(each.path) == fold_path(path)
    ]
    value = get_path(routed.parsed.request.extras, path)
    return bool(needed) and not needed[0].is_asked(value)


def passes_answer(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether the client needs the model's own answer, and may have it."""
    alike = entry.provider.dialect == routed.call.client_dialect
    hidden = routed.hides_thinking or routed.writes_answer
    return alike and not hidden and needs_own_answer(routed)


def needs_own_answer(routed: RoutedRequest) -> bool:
    """Return whether only an answer of the client's own API has what the client asks for."""
    return any(each.in_answer for each, _ in _iter_asked(routed))


def is_translatable(routed: RoutedRequest) -> bool:
    """Return whether a translated answer has all that needs an answer of the client's own API."""
    asked = [field for field, _ in _iter_asked(routed) if field.in_answer]
    return all(field.option is not None for field in asked)


def name_own_answer(routed: RoutedRequest) -> str:
    """Return the name of the first field for which the client needs an answer of its own API."""
    return next(".".join(each.path) for each, _ in _iter_asked(routed) if each.in_answer)


def check_fields(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> None:
    """Raise BadParameter for a field that a model's answer could not honour."""
    passed = passes_answer(routed, entry)
    for field, value in _iter_asked(routed):
        if not passed and field.option is not None:
            honoured = _carries_option(routed, entry, plan, field, value)
        else:
            lost = field.in_answer and not passed
            taken = takes_field(routed, entry, field.path[0])
            honoured = not lost and taken and not _is_rejected(routed, entry, plan, field)
        if not honoured:
            message = (
                f"{'.'.join(field.path)}: {entry.id} cannot honour it through this gateway, and "
                f"{field.why}; leave it out, or ask a model that has it"
            )
            raise BadParameter(message)


def _carries_option(
    routed: RoutedRequest, entry: ModelEntry, plan: Plan, field: NeededField, value: Json
) -> bool:
    """Return whether a translated answer can have what a field asks of the answers.

    Log probabilities tell the tokens, so they cannot be given where thinking is hidden. Raises
    BadParameter for a number that is too large.
    """
    option = field.option or "count"
    fields = get_dialect(entry.provider.dialect).caller().answers
    if option not in fields.places or not _has_field(entry, fields.places[option][0]):
        return False
    if option == "count" and routed.service.several is None:
        return False
    path = ".".join(field.path)
    if option != "count" and find_answer_options(routed).top is None:
        needed = ".".join(routed.service.portability.answers.places["logprobs"][0])
        raise BadParameter(f"{path}: it needs {needed}, which asks for log probabilities")
    if option != "count" and routed.hides_thinking:
        return False
    if isinstance(value, int) and value > (most := fields.most.get(option, value)):
        raise BadParameter(f"{path}: {value} is more than {entry.id} gives, which is {most}")
    tops = fields.places["top"] if option == "logprobs" and "top" in fields.places else ()
    paths = {fold_path(path) for path in (fields.places[option][0], *tops[:1])}
    return paths.isdisjoint(map(fold_path, _find_rejected(routed, entry, plan)))


def _has_field(entry: ModelEntry, path: tuple[str, ...]) -> bool:
    """Return whether a provider takes a field of its API, as far as it is known."""
    provider = entry.provider
    return provider.exact or not provider.fields or not {path[0], "*"}.isdisjoint(provider.fields)


def find_answer_options(routed: RoutedRequest) -> AnswerOptions:
    """Return how many answers a request asks for, and which log probabilities."""
    if routed.framed is None:
        return _read_answer_options(routed)
    return routed.framed.frame.find_fact("answer options", (), _read_answer_options, routed)


def _read_answer_options(routed: RoutedRequest) -> AnswerOptions:
    needed = routed.service.portability.needed
    sent = read_fields(routed.call.http.body)
    tops = [each.path[0] for each in needed if each.option is not None]
    if sent.keys().isdisjoint(tops):
        return _ONE_ANSWER  # nearly all requests
    asked = [field for field, _ in _iter_asked(routed) if field.option is not None]
    fields = {field.path[0]: msgspec.json.decode(sent[field.path[0]]) for field in asked}
    return routed.service.portability.answers.read(fields)


def carry_answer_options(
    routed: RoutedRequest, entry: ModelEntry
) -> tuple[dict[str, Json], set[str]]:
    """Return the fields by which a model's API asks for the same answers, and their names here."""
    if entry.provider.dialect == routed.call.client_dialect:
        return {}, set()
    options = find_answer_options(routed)
    if options is _ONE_ANSWER:
        return {}, set()
    carried: dict[str, Json] = {}
    for path, value in get_dialect(entry.provider.dialect).caller().answers.write(options).items():
        _put(carried, path, value)
    said = {"count": options.count > 1, "logprobs": options.top is not None}
    said["top"] = said["logprobs"]  # also 0 alternatives, which every API gives unless told
    places = routed.service.portability.answers.places
    return carried, {".".join(path) for name in places if said[name] for path in places[name]}


def _iter_asked(routed: RoutedRequest) -> Iterator[tuple[NeededField, Json]]:
    """Yield the fields of a request that its API must honour, with their values."""
    needed = routed.service.portability.needed
    if not needed:
        return
    sent = read_fields(routed.call.http.body)
    tops = sent.keys() & {field.path[0] for field in needed}
    if not tops:
        return
    values = {name: msgspec.json.decode(sent[name]) for name in tops}
    for field in needed:
        if field.path[0] in tops and field.is_asked(value := get_path(values, field.path)):
            yield field, value


def check_tools(routed: RoutedRequest, entry: ModelEntry) -> None:
    """Raise BadParameter for a tool that the client runs and no other API knows."""
    hosted = routed.service.portability.hosted
    for number, tool in enumerate(routed.parsed.request.tools if hosted else ()):
        kind = str(tool.raw.get("type")) if isinstance(tool.raw, dict) else ""
        if tool.kind == "other" and kind and not kind.startswith(hosted):
            text = (
                f"tools.{number}: {entry.id} knows no tool of type {kind!r} ({tool.name!r}), and "
                "this gateway has no schema for it; offer it as a function"
            )
            raise BadParameter(text)


def check_files(routed: RoutedRequest, *, simple: int = 0) -> None:
    """Raise BadParameter for a file that only the service of the client's API can read.

    ``simple``: how many first messages are known to have none.
    """
    rules = routed.service.portability
    for number, message in enumerate(routed.parsed.request.messages[simple:], simple):
        for part in message.parts if message.role == "user" else ():
            for inner in part.content if isinstance(part, ToolResult) else (part,):
                if (name := _find_file(inner, rules)) is not None:
                    text = (
                        f"messages.{number}: {rules.maker} has the file {name!r}, and "
                        f"{routed.parsed.request.model!r} is served by another API, which cannot "
                        "read it; send the file itself"
                    )
                    raise BadParameter(text)


def _find_file(part: Part, rules: Portability) -> str | None:
    if isinstance(part, UnknownPart):
        return _find_key(part.raw, rules.file_keys)
    if isinstance(part, Image | Blob) and part.url and rules.own_addresses:
        return part.url if part.url.startswith(rules.own_addresses) else None
    return None


def _find_key(value: Json, names: tuple[str, ...]) -> str | None:
    """Return the first file that a part names, at any depth."""
    inner: Any = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, Mapping):
        for name in names:
            if found := value.get(name):
                return found if isinstance(found, str) else msgspec.json.encode(found).decode()
    elif not isinstance(value, list):
        return None
    return next((found for each in inner if (found := _find_key(each, names))), None)


def with_user_turn(routed: RoutedRequest, request: Request) -> Request:
    """Return the request with a user turn if it has only empty ones and the client's API takes it.

    A system prompt alone is sent as the service takes it (``require_turn`` of the exchange).
    """
    if any(map(_says, request.messages)):  # nearly always
        return request
    if not routed.service.portability.answers_silence:
        raise BadParameter("messages: there is no message with anything in it")
    if request.system or not request.messages:
        return request
    return replace(request, messages=(*request.messages, SILENCE))


def with_told_errors(entry: ModelEntry, request: Request, *, simple: int = 0) -> Request:
    """Return the request with words for failed tool calls, if the model's API has no field.

    ``simple``: how many first messages are known to have no failed call.
    """
    if make_destination(entry, _POLICY).takes.result_errors:
        return request
    told = [
        replace(message, parts=tuple(map(_tell_error, message.parts)))
        if _has_error(message)
        else message
        for message in request.messages[simple:]
    ]
    return replace(request, messages=(*request.messages[:simple], *told))


def _has_error(message: Message) -> bool:
    for part in message.parts:  # noqa: SIM110 - thrice as fast, for each message of a request
        if isinstance(part, ToolResult) and part.error:
            return True
    return False


def _tell_error(part: Part) -> Part:
    if not isinstance(part, ToolResult) or not part.error:
        return part
    return replace(part, content=(FAILED, *part.content))


def _says(message: Message) -> bool:
    """Return whether a turn of user or assistant has anything in it."""
    if message.role == "system":
        return False
    return bool([part for part in message.parts if not isinstance(part, Text) or part.text])


def carry_common(routed: RoutedRequest, entry: ModelEntry) -> tuple[dict[str, Json], set[str]]:
    """Return the parameters that both APIs have, as the model's writes them, and their names here.

    A parameter under the same path in both is left to its API's own fields.
    """
    common = routed.service.portability.common
    carried: dict[str, Json] = {}
    names: set[str] = set()
    if not common:
        return carried, names
    sent = read_fields(routed.call.http.body)
    missing = entry.quirks.get("missing_fields", ())
    for name, places in common.items():
        target = entry.provider.parameters.get(name) if name not in missing else None
        for path in places if target is not None else ():
            if path[0] not in sent:
                continue
            value = _find_value(routed, sent, path)
            if value is not None and target is not None and _is_within(value, entry, name):
                _put(carried, target, value)
                names.add(".".join(path))
    return carried, names


def _find_value(routed: RoutedRequest, sent: Mapping[str, Raw], path: tuple[str, ...]) -> Json:
    """Return a parameter of a request; one that a hook was shown is as the hook left it."""
    hooked = routed.hooked
    if hooked is not None and hooked.is_changed:
        shown = hooked.calls[0][1].request.extras
        if get_path(shown, path) is not None:
            return get_path(routed.parsed.request.extras, path)
    return get_path({path[0]: msgspec.json.decode(sent[path[0]])}, path)


def _is_within(value: Json, entry: ModelEntry, name: str) -> bool:
    """Return whether a number is in the range that the provider has for it, if it has one."""
    known = entry.provider.ranges.get(name)
    return not known or not isinstance(value, int | float) or known[0] <= value <= known[-1]


def _put(fields: dict[str, Json], path: tuple[str, ...], value: Json) -> None:
    for name in path[:-1]:
        fields = fields.setdefault(name, {})
    fields[path[-1]] = value

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
    get_decoder,
    get_path,
)
from ...catalog import Lookup, ModelEntry
from ...dialects import NeededField, Portability
from ...errors import BadParameter, UsageError
from ...store import load_catalog
from .routed_request import RoutedRequest

SILENCE = Message("user", (Text("[The user has not written anything yet.]"),))
"""The user turn of a conversation without one; models of some APIs cannot begin alone."""
_FIELDS = get_decoder(dict[str, Raw])


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


def takes_field(routed: RoutedRequest, entry: ModelEntry, name: str) -> bool:
    """Return whether a provider takes a field of the client's API under the same name."""
    provider = entry.provider
    if provider.dialect != routed.call.client_dialect:
        return False
    if provider.exact:
        needed = any(each.path[0] == name for each in routed.service.portability.needed)
        return needed or is_same_dialect(routed, entry)
    return not {name, "*"}.isdisjoint(provider.fields)


def needs_own_answer(routed: RoutedRequest) -> bool:
    """Return whether only an answer of the client's own API has what the client asks for."""
    return any(each.in_answer for each, _ in _iter_asked(routed))


def check_fields(routed: RoutedRequest, entry: ModelEntry) -> None:
    """Raise BadParameter for a field that a model's answer could not honour, once translated."""
    for field, _ in _iter_asked(routed):
        if field.in_answer or not takes_field(routed, entry, field.path[0]):
            message = (
                f"{'.'.join(field.path)}: {entry.id} cannot honour it through this gateway, and "
                f"{field.why}; leave it out, or ask a model that has it"
            )
            raise BadParameter(message)


def _iter_asked(routed: RoutedRequest) -> Iterator[tuple[NeededField, Json]]:
    """Yield the fields of a request that its API must honour, with their values."""
    needed = routed.service.portability.needed
    if not needed:
        return
    sent = _FIELDS.decode(routed.call.http.body)
    tops = {field.path[0] for field in needed} & sent.keys()
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


def check_files(routed: RoutedRequest) -> None:
    """Raise BadParameter for a file that only the service of the client's API can read."""
    rules = routed.service.portability
    for number, message in enumerate(routed.parsed.request.messages):
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


def with_user_turn(routed: RoutedRequest, entry: ModelEntry, request: Request) -> Request:
    """Return the request with a user turn if it has none and the client's own API needs none.

    The APIs that take a system prompt alone, or an empty message, answer it; others reject it.
    """
    if not routed.service.portability.answers_silence or any(map(_says, request.messages)):
        return request
    alone = not request.messages and bool(request.system)
    same = entry.provider.exact and entry.provider.dialect == routed.call.client_dialect
    if alone and same:  # a host that only speaks the dialect may want a user's turn
        return request
    if not alone and not request.messages:
        return request  # nothing at all: every API rejects it
    return replace(request, messages=(*request.messages, SILENCE))


def _says(message: Message) -> bool:
    """Return whether a turn of user or assistant has anything in it."""
    return message.role != "system" and any(
        not isinstance(part, Text) or part.text for part in message.parts
    )


def carry_common(routed: RoutedRequest, entry: ModelEntry) -> tuple[dict[str, Json], set[str]]:
    """Return the parameters that both APIs have, as the model's writes them, and their names here.

    A parameter under the same path in both is left to its API's own fields.
    """
    common = routed.service.portability.common
    carried: dict[str, Json] = {}
    names: set[str] = set()
    if not common:
        return carried, names
    sent = _FIELDS.decode(routed.call.http.body)
    for name, places in common.items():
        target = entry.provider.parameters.get(name)
        for path in places if target is not None else ():
            if path[0] not in sent:
                continue
            value = get_path({path[0]: msgspec.json.decode(sent[path[0]])}, path)
            if value is not None and target is not None:
                _put(carried, target, value)
                names.add(".".join(path))
    return carried, names


def _put(fields: dict[str, Json], path: tuple[str, ...], value: Json) -> None:
    for name in path[:-1]:
        fields = fields.setdefault(name, {})
    fields[path[-1]] = value

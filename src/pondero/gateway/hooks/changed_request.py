"""What a hook may change in a request: texts, and what the gateway has not decided by.

Model, level, limits, quotas and the owners of stored things were found out from the client's own
request. So a hook may replace texts in further fields, and leave fields out; it adds only labels,
which say who asks and what for. It offers tools that the client runs, and no others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from ...canon import (
    Blob,
    HttpRequest,
    Image,
    Json,
    LevelUpdate,
    Message,
    OutputFormat,
    Part,
    Request,
    Text,
    Tool,
    ToolResult,
    UnknownPart,
    get_path,
    merge_json,
)
from ...dialects import Service, StoredId
from ...exchange import fold_name, fold_path, with_fields
from .results import WrongResult, convert_value, measure_result, name_result

_CHANGEABLE = frozenset(("messages", "system", "tools", "output", "stop", "extras"))
_KINDS: dict[str, Any] = {
    "system": tuple[Text, ...],
    "tools": tuple[Tool, ...],
    "output": OutputFormat | None,
    "stop": tuple[str, ...],
}
_RUN_BY_CLIENT = frozenset(("function", "text"))
_NAMING = ("id", "ids", "uri", "model", "models", "type")
"""Ends of folded names, in a tool or a part, of fields that name something, as ``file_id``."""
_FREE = frozenset(("input", "arguments", "headers"))
"""Fields of a tool or a part whose names are the client's own, as ``user_id`` of a call."""

Path = tuple[str, ...]


def read_changed_request(before: Request, result: Request, service: Service[Json]) -> Request:
    """Return a changed request as it may be sent, ``before`` if it is the same.

    Raises WrongResult.
    """
    names = before.__struct_fields__
    changed = {name for name in names if getattr(before, name) != getattr(result, name)}
    if other := sorted(changed - _CHANGEABLE):
        raise WrongResult(f"changed {' '.join(other)}, which no hook may")
    if not changed:
        return before
    fields = {
        name: convert_value(getattr(result, name), kind)
        for name, kind in _KINDS.items()
        if name in changed
    }
    if "messages" in changed:
        fields["messages"] = _read_messages(before.messages, result.messages, service)
    if "extras" in changed:
        fields["extras"] = _read_extras(before.extras, result.extras, service)
    read = replace(before, **fields)
    _check_tools(before.tools, read.tools, service)
    measure_result([getattr(read, name) for name in changed])
    return read


def _read_messages(
    before: Sequence[Message], after: Any, service: Service[Json]
) -> tuple[Message, ...]:
    if type(after) not in (list, tuple):
        raise WrongResult(name_result(after, "in place of messages"))
    known = {id(each) for each in before}
    read = tuple([each if id(each) in known else _read_message(each) for each in after])
    old, new = list(_iter_parts(before)), list(_iter_parts(read))
    rules = _Rules(service)
    unknown = [
        [part.raw for part in parts if isinstance(part, UnknownPart)] for parts in (old, new)
    ]
    stored = [rules.list_addresses(parts) for parts in (old, new)]
    if not rules.are_among(*unknown) or not set(stored[1]) <= set(stored[0]):
        raise WrongResult("added parts that only the client may send")
    levels = [[part for part in parts if isinstance(part, LevelUpdate)] for parts in (old, new)]
    if any(part not in levels[0] for part in levels[1]):
        raise WrongResult("added a level, which no hook may")
    return read


def _read_message(message: Any) -> Message:
    if not isinstance(message, Message):
        raise WrongResult(name_result(message, "in place of a message"))
    read: Message = convert_value(message, Message)
    return read


def _iter_parts(messages: Iterable[Message]) -> Iterator[Part]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                yield from part.content
            else:
                yield part


def _check_tools(before: Iterable[Tool], after: Iterable[Tool], service: Service[Json]) -> None:
    """Raise WrongResult for another tool that the service runs, or that only its API knows."""
    old, new = ([each for each in tools if _is_of_service(each)] for tools in (before, after))
    rules = _Rules(service)
    for name in {(each.kind, each.name, each.dialect) for each in new}:
        raws = [
            [each.raw for each in tools if (each.kind, each.name, each.dialect) == name]
            for tools in (old, new)
        ]
        if not rules.are_among(*raws):
            raise WrongResult("added or changed tools that only the client may send")


def _is_of_service(tool: Tool) -> bool:
    return tool.raw is not None or tool.kind not in _RUN_BY_CLIENT


def _read_extras(before: Json, after: Json, service: Service[Json]) -> Json:
    """Return further fields as they may be sent; a level in them stays the client's own."""
    new = convert_value(after, dict[str, Any] | None) or {}
    try:
        body = msgspec.json.encode(new)
    except (TypeError, ValueError, RecursionError):
        raise WrongResult("returned further fields that are no JSON") from None
    depth = service.depth
    levels = (*depth.fields, *depth.more, *[path for _, path in depth.of_models])
    old = msgspec.json.decode(with_fields(msgspec.json.encode(before or {}), levels, {}))
    new = msgspec.json.decode(with_fields(body, levels, {}))
    rules = _Rules(service)
    wrong = [name for name in new if not rules.may_write(name, old, new[name])]
    wrong += [name for name in old if name not in new and rules.is_fixed((name,))]
    if not wrong and rules.list_ids(old) != rules.list_ids(new):
        wrong = ["ids"]
    if wrong:
        raise WrongResult(f"changed {' '.join(sorted(wrong))} in further fields, which no hook may")
    for path in levels:
        if (value := get_path(before, path)) is not None:
            new = merge_json(new, _nest(path, value))
    return new or None


def _nest(path: Path, value: Json) -> dict[str, Json]:
    for name in reversed(path):
        value = {name: value}
    return {} if not path else cast("dict[str, Json]", value)


class _Rules:
    """Which fields of an API the gateway decides by."""

    def __init__(self, service: Service[Json]) -> None:
        self._service = service
        rules = service.passthrough
        places = (*rules.model_at, *rules.models_at, *rules.limits_at, *rules.answers_at)
        self._fixed = {fold_path(path) for path in places}
        self._fixed |= {fold_path(path) for path, _ in rules.background_at}
        self._stored = {fold_name(name) for name in rules.stored_at}

    def may_write(self, name: str, old: Mapping[str, Json], value: Json) -> bool:
        """Return whether a further field may have a value: a label any, others other texts."""
        if name in self._service.passthrough.labels:
            return True
        return name in old and self._is_same(old[name], value, (name,))

    def are_among(self, old: Sequence[Json], new: Sequence[Json]) -> bool:
        """Return whether each new value is one of the old ones, but for its texts."""
        left = list(old)
        for each in new:
            found = [at for at, known in enumerate(left) if self._is_same(known, each, ("",))]
            if not found:
                return False
            del left[found[0]]
        return True

    def list_addresses(self, parts: Iterable[Part]) -> list[str]:
        """Return the addresses of what only the service of this API can read."""
        own = self._service.portability.own_addresses
        urls = [part.url for part in parts if isinstance(part, Image | Blob) and part.url]
        return [url for url in urls if own and url.startswith(own)]

    def list_ids(self, extras: Json) -> tuple[StoredId, ...]:
        """Return the ids in further fields that stand for something stored."""
        if self._service.stored_ids is None:
            return ()
        body = msgspec.json.encode(extras)
        return self._service.stored_ids.find(HttpRequest("POST", "", {}, body))

    def is_fixed(self, path: Path) -> bool:
        """Return whether the gateway decides by the value at a path, or what it names."""
        folded = fold_path(path)
        if folded[-1] in self._stored:
            return True
        if not folded[0] and folded[-1].endswith(_NAMING):  # inside of a tool or a part
            return _FREE.isdisjoint(folded[:-1])
        return any(folded[: len(each)] == each for each in self._fixed)

    def _is_same(self, old: Json, new: Json, path: Path) -> bool:
        """Return whether two values differ in nothing but texts that no rule depends on."""
        if type(old) is not type(new):
            return False
        if old == new:
            return True
        if self.is_fixed(path):
            return False
        if isinstance(old, dict):
            items = zip(old.items(), new.items(), strict=True) if len(old) == len(new) else None
            return items is not None and all(
                self._is_same_item(first, second, path) for first, second in items
            )
        if isinstance(old, list):
            return len(old) == len(new) and all(
                self._is_same(first, second, path) for first, second in zip(old, new, strict=True)
            )
        return isinstance(old, str)

    def _is_same_item(self, old: tuple[str, Json], new: tuple[str, Json], path: Path) -> bool:
        at = (*path, new[0])
        if old[0] != new[0] and (self.is_fixed(at) or self.is_fixed((*path, old[0]))):
            return False
        return self._is_same(old[1], new[1], at)

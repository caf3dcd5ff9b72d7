"""Puts a plan into another program's request; other fields keep their bytes, as caches need."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product

import msgspec
from msgspec import Raw

from ..canon import HttpRequest, Json, get_decoder, get_path, merge_json
from ..catalog import ModelEntry
from ..thinking import Plan, depth_paths, visibility_paths

Path = tuple[str, ...]

_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")
_FIELDS = get_decoder(dict[str, Raw])


def apply_plan(request: HttpRequest, entry: ModelEntry, plan: Plan) -> HttpRequest:
    """Return the request with the plan's fields and headers; the body must be an object."""
    headers = with_list_headers(request.headers, plan.headers)
    body = with_fields(request.body, thinking_paths(entry, plan), plan.fields)
    return HttpRequest(request.method, request.url, headers, body)


def thinking_paths(entry: ModelEntry, plan: Plan) -> tuple[Path, ...]:
    """Return the paths that a plan replaces, with those for the provider's other models."""
    return _paths(entry, plan.dropped)


def matches_plan(body: bytes, entry: ModelEntry, plan: Plan) -> bool:
    """Return whether a body has the same depth of thinking as the plan, field for field."""
    fields = _FIELDS.decode(body)
    for path in _depth(entry):
        if path[0] in fields:
            said = get_path({path[0]: msgspec.json.decode(fields[path[0]])}, path)
            if said is not None and said != get_path(plan.fields, path):
                return False
    return True


@lru_cache(maxsize=512)
def _depth(entry: ModelEntry) -> tuple[Path, ...]:
    every = (entry.placement, *entry.provider.placement.values())
    paths = (spelt for each in every for path in depth_paths(each) for spelt in _spellings(path))
    return tuple(dict.fromkeys(paths))


@lru_cache(maxsize=512)
def _paths(entry: ModelEntry, dropped: tuple[str, ...]) -> tuple[Path, ...]:
    every = (entry.placement, *entry.provider.placement.values())
    paths = [path for each in every for path in (*depth_paths(each), *visibility_paths(each))]
    paths += [entry.provider.parameters.get(name, (name,)) for name in dropped]
    return tuple(dict.fromkeys(spelt for path in paths for spelt in _spellings(path)))


def _spellings(path: Path) -> Iterator[Path]:
    snake = (_CAPITAL.sub(lambda found: f"_{found[0].lower()}", name) for name in path)
    yield from product(*(dict.fromkeys(pair) for pair in zip(path, snake, strict=True)))


def with_fields(body: bytes, without: Iterable[Path], more: Mapping[str, Json]) -> bytes:
    """Remove paths from a body, then merge fields into it."""
    paths = tuple(without)
    fields = _FIELDS.decode(body)
    touched = {path[0] for path in paths} | more.keys()
    before = {name: msgspec.json.decode(fields[name]) for name in fields if name in touched}
    after: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(before))
    for path in paths:
        _remove(after, path)
    return _write_body(fields, before, merge_json(after, more))


def with_list_headers(headers: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Add headers; join the values of a header that both have, each word once."""
    both = dict(headers)
    for name, value in more.items():
        said = [word.strip() for word in both.get(name, "").split(",") if word.strip()]
        both[name] = ",".join((*said, *(word for word in value.split(",") if word not in said)))
    return both


def _write_body(
    fields: Mapping[str, Raw], before: Mapping[str, Json], after: Mapping[str, Json]
) -> bytes:
    pieces = []
    for name in (*fields, *(name for name in after if name not in fields)):
        if name in before and name not in after:
            continue
        same = name in fields and (name not in after or before[name] == after[name])
        value = bytes(fields[name]) if same else msgspec.json.encode(after[name])
        pieces.append(b"%b:%b" % (msgspec.json.encode(name), value))
    return b"{%b}" % b",".join(pieces)


def _remove(body: dict[str, Json], path: Path) -> None:
    inner = body.get(path[0])
    if len(path) == 1:
        body.pop(path[0], None)
    elif isinstance(inner, dict):
        _remove(inner, path[1:])
        if not inner:
            del body[path[0]]

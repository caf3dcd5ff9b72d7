"""Puts a plan into another program's request; other fields keep their bytes, as caches need."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
_GONE = object()
_SHORT = 64  # characters; caches keep no longer name of a client
_SHORT_NAMES = 512  # characters of all names of a body


def apply_plan(request: HttpRequest, entry: ModelEntry, plan: Plan) -> HttpRequest:
    """Return the request with the plan's fields and headers; the body must be an object."""
    headers = with_list_headers(request.headers, plan.headers)
    body = with_fields(request.body, thinking_paths(entry, plan), plan.fields)
    return HttpRequest(request.method, request.url, headers, body)


def thinking_paths(entry: ModelEntry, plan: Plan) -> tuple[Path, ...]:
    """Return the paths that a plan replaces, with those for the provider's other models."""
    return _paths(entry, plan.dropped)


def matches_plan(
    body: bytes, entry: ModelEntry, plan: Plan, *, fields: Mapping[str, Raw] | None = None
) -> bool:
    """Return whether a body has the same depth of thinking as the plan, field for field."""
    fields = _FIELDS.decode(body) if fields is None else fields
    for path in depth_paths_of(entry):
        if path[0] in fields:
            said = get_path({path[0]: msgspec.json.decode(fields[path[0]])}, path)
            if said is not None and said != get_path(plan.fields, path):
                return False
    return True


@lru_cache(maxsize=512)
def depth_paths_of(entry: ModelEntry) -> tuple[Path, ...]:
    """Return the paths of depth in the requests of a provider's models, in their spellings."""
    every = (entry.placement, *entry.provider.placement.values())
    paths = (spelt for each in every for path in depth_paths(each) for spelt in _spellings(path))
    return tuple(dict.fromkeys(paths))


@lru_cache(maxsize=512)
def _paths(entry: ModelEntry, dropped: tuple[str, ...]) -> tuple[Path, ...]:
    every = (entry.placement, *entry.provider.placement.values())
    paths = [path for each in every for path in (*depth_paths(each), *visibility_paths(each))]
    paths += [entry.provider.parameters.get(name, (name,)) for name in dropped]
    return tuple(dict.fromkeys(paths))


def _spellings(path: Path) -> Iterator[Path]:
    snake = (_CAPITAL.sub(lambda found: f"_{found[0].lower()}", name) for name in path)
    yield from product(*(dict.fromkeys(pair) for pair in zip(path, snake, strict=True)))


def states_only(fields: Mapping[str, Raw], places: Iterable[Path], plan: Plan) -> bool:
    """Return whether a body has no other depth than the plan's, in any spelling or twice."""
    names = group_names(fields)
    for path in places:
        folded = fold_path(path)
        if folded[0] not in names:
            continue
        said = [
            value
            for name in names[folded[0]]
            for value in _find_values(msgspec.json.decode(fields[name]), folded[1:])
        ]
        if said and said != list(_find_values(plan.fields, folded)):
            return False
    return True


def list_stated(fields: Mapping[str, Raw | Json], places: Iterable[Path]) -> list[Path]:
    """Return the paths at which a body has a value, in any spelling."""
    names = group_names(fields)
    return [
        path
        for path in places
        for name in names.get(fold_path(path)[0], ())
        if any(True for _ in _find_values(_decode_raw(fields[name]), fold_path(path)[1:]))
    ]


def group_names(fields: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return names by their folded form."""
    names = tuple(fields)
    return _group_short(names) if sum(map(len, names)) < _SHORT_NAMES else _group(names)


def _group(names: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(fold_name(name), []).append(name)
    return groups


_group_short = lru_cache(maxsize=512)(_group)  # clients send the same fields again and again


def _decode_raw(value: Raw | Json) -> Json:
    return msgspec.json.decode(value) if isinstance(value, Raw) else value


def fold_name(name: str) -> str:
    """Return a name as the most lenient service reads it.

    Go reads JSON names in any case (encoding/json), protobuf in snake_case and camelCase.
    """
    return _fold_short(name) if len(name) < _SHORT else name.replace("_", "").casefold()


@lru_cache(maxsize=4096)
def _fold_short(name: str) -> str:
    return name.replace("_", "").casefold()


@lru_cache(maxsize=4096)
def fold_path(path: Path) -> Path:
    """Return a path of folded names."""
    return tuple(map(fold_name, path))


def _find_values(value: Json, path: Path) -> Iterator[Json]:
    """Yield the values at a folded path; a plain value where an object belongs counts, too."""
    if path and isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping):
                yield from _find_values(each, path)
        return
    if not path or not isinstance(value, Mapping):
        if value is not None:
            yield value
        return
    for name, inner in value.items():
        if fold_name(name) == path[0]:
            yield from _find_values(inner, path[1:])


def _fold_paths(paths: Iterable[Path]) -> tuple[tuple[Path, ...], frozenset[str]]:
    """Return folded paths, each once, and their first names."""
    folded = tuple(dict.fromkeys(tuple(map(fold_name, path)) for path in paths))
    return folded, frozenset(path[0] for path in folded)


@lru_cache(maxsize=512)
def _fold_known(paths: tuple[Path, ...]) -> tuple[tuple[Path, ...], frozenset[str]]:
    return _fold_paths(paths)


def with_fields(
    body: bytes,
    without: Iterable[Path],
    more: Mapping[str, Json],
    *,
    rewritten: Collection[str] = (),
    fields: Mapping[str, Raw] | None = None,
) -> bytes:
    """Remove paths from a body in every spelling and list, then merge fields into it.

    ``rewritten`` names folded fields that are encoded again even if they stay, so that no name
    occurs twice in them. ``fields``: those of the body, for callers that have them already.
    """
    fields = _FIELDS.decode(body) if fields is None else fields
    return write_fields(change_fields(fields, without, more, rewritten=rewritten))


def write_fields(fields: Mapping[str, Raw]) -> bytes:
    """Return a body with these fields."""
    return b"{%b}" % b",".join([b"%b:%b" % (encode_name(name), fields[name]) for name in fields])


def change_fields(
    fields: Mapping[str, Raw],
    without: Iterable[Path],
    more: Mapping[str, Json],
    *,
    rewritten: Collection[str] = (),
) -> dict[str, Raw]:
    """Do what ``with_fields`` does; a field that stays as it is stays the same object."""
    # A tuple is the catalog's; other paths have a client's names, of any length.
    known = without if isinstance(without, tuple) else None
    paths, firsts = _fold_paths(without) if known is None else _fold_known(known)
    groups = group_names(fields)
    touched = groups.keys() & firsts.union(map(fold_name, more), rewritten)
    names = {name for folded in touched for name in groups[folded]}
    if names == more.keys() and touched.isdisjoint(rewritten) and _has_all(fields, more):
        return dict(fields)
    before = {name: msgspec.json.decode(fields[name]) for name in fields if name in names}
    after = {
        name: msgspec.json.decode(fields[name]) if isinstance(value, dict | list) else value
        for name, value in before.items()
    }
    for path in paths:
        if path[0] in touched:
            _remove(after, path)
    after = merge_json(_unify(after, more), more) if after else dict(more)
    same = {
        name
        for name, value in before.items()
        if after.get(name, _GONE) == value and fold_name(name) not in rewritten
    }
    return dict(_iter_fields(fields, after, changed=before.keys() - same))


def _has_all(fields: Mapping[str, Raw], more: Mapping[str, Json]) -> bool:
    """Return whether a body has these texts and numbers already, in the same bytes."""
    for name, value in more.items():
        if not isinstance(value, str | int) or name not in fields:
            return False
        if bytes(fields[name]) != msgspec.json.encode(value):
            return False
    return True


def _unify(body: dict[str, Json], more: Mapping[str, Json]) -> dict[str, Json]:
    """Return a body in which the names of fields to merge have the spelling of those."""
    unified = dict(body)
    for name, value in more.items():
        alike = [each for each in unified if fold_name(each) == fold_name(name)]
        if alike and alike != [name]:
            for each in alike:
                found = unified.pop(each)
                held = unified.get(name)
                if isinstance(held, dict) and isinstance(found, dict):
                    found = merge_json(held, found)
                unified[name] = found
        inner = unified.get(name)
        if isinstance(value, Mapping) and isinstance(inner, dict):
            unified[name] = _unify(inner, value)
    return unified


def with_list_headers(headers: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Add headers; join the values of a header that both have, each word once."""
    both = dict(headers)
    for name, value in more.items():
        said = [word.strip() for word in both.get(name, "").split(",") if word.strip()]
        both[name] = ",".join((*said, *(word for word in value.split(",") if word not in said)))
    return both


@lru_cache(maxsize=512)
def _encode_known(name: str) -> bytes:
    return msgspec.json.encode(name)


def encode_name(name: str) -> bytes:
    """Return a name in JSON."""
    return _encode_known(name) if len(name) < _SHORT else msgspec.json.encode(name)


def _iter_fields(
    fields: Mapping[str, Raw], after: Mapping[str, Json], *, changed: Collection[str]
) -> Iterator[tuple[str, Raw]]:
    for name, raw in fields.items():
        if name not in changed:
            yield name, raw
        elif name in after:
            yield name, Raw(msgspec.json.encode(after[name]))
    for name, value in after.items():
        if name not in fields:
            yield name, Raw(msgspec.json.encode(value))


def _remove(body: dict[str, Json], path: Path) -> None:
    for name in [name for name in body if fold_name(name) == path[0]]:
        inner = body[name]
        if len(path) > 1 and isinstance(inner, dict | list):
            for each in inner if isinstance(inner, list) else [inner]:
                if isinstance(each, dict):
                    _remove(each, path[1:])
            if inner:
                continue
        del body[name]

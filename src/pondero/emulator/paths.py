"""Which paths a service has: a request below a wrong base URL gets its 404."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from ..canon import convert_json
from ..catalog import Lookup, Provider, parse_toml
from ..dialects import NAMES, get_dialect
from ..store import load_catalog

ORIGIN = "http://emulator"
"""The address of an emulator that is a server. It is no provider's: the path names the provider."""
_BLANK = re.compile(r"\\{\w+\\}")  # a {blank} of a URL template after re.escape
_VERSION = re.compile(r"/v\d+$")
_ANY_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*(?=/|$)")
_DOUBLED = re.compile(r"(/v\d\w*)\1(?:/|$)")


class _Api(Struct, frozen=True, forbid_unknown_fields=True):
    """The paths of an API; paths.toml explains the fields."""

    talks: tuple[str, ...]
    others: tuple[str, ...]
    shared: tuple[str, ...] = ()
    versioned: bool = False
    any_version: bool = False


class _Table(Struct, frozen=True):
    api: Mapping[str, _Api]
    more: Mapping[str, Mapping[str, tuple[str, ...]]]


class _Patterns(NamedTuple):
    """The paths of a host: those that take conversations, and the others."""

    talks: re.Pattern[str]
    others: re.Pattern[str]


def has_path(url: str, *, provider: str | None, talks: bool) -> bool:
    """Return whether the service of a URL has its path; ``talks``: it takes conversations.

    An emulator that is a server has the paths of every provider, alone and after its name. The
    host of a user may have any path, but none has its version twice.
    """
    parts = urlsplit(url)
    if _DOUBLED.search(parts.path):
        return False
    found = _list_patterns(parts, provider)
    paths = [each.talks if talks else each.others for each in found]
    return not paths or any(each.fullmatch(parts.path) for each in paths)


def find_owner(path: str, api: str) -> str | None:
    """Return the provider whose own path this is, if it is like no other's: ``/api/v1/...``."""
    owners = _owners(load_catalog(), api)
    return next((name for name, pattern in owners if pattern.match(path)), None)


@cache
def _owners(finder: Lookup, api: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    known = finder.catalog.providers
    return tuple(
        (each.name, re.compile(rf"{root}(?=/)"))
        for each in known.values()
        for root in _roots(api, each)
        if each.name not in _homes() and _is_own(root) and root.split("/")[1] not in known
    )


@cache
def _homes() -> frozenset[str]:
    return frozenset(get_dialect(name).service().default_provider for name in NAMES)


def _is_own(root: str) -> bool:
    return bool(_VERSION.sub("", root))


def _list_patterns(parts: SplitResult, provider: str | None) -> list[_Patterns]:
    """Return the patterns of which one must match; none: the paths of this host are not known."""
    finder = load_catalog()
    origin = f"{parts.scheme}://{parts.netloc}"
    if origin != ORIGIN:
        here = _paths_at(finder, origin)
        return [] if here is None else [here]
    first = parts.path[1:].partition("/")[0]
    named = _named_paths(finder, provider or first)
    if provider is not None:
        return [] if named is None else [named]
    return [_unnamed_paths(finder), *(() if named is None else (named,))]


@cache
def _unnamed_paths(finder: Lookup) -> _Patterns:
    return _join(
        (api, root)
        for each in finder.catalog.providers.values()
        for api in NAMES
        for root in _roots(api, each)
        if each.name in _homes() or _is_own(root)
    )


@cache
def _named_paths(finder: Lookup, name: str) -> _Patterns | None:
    """A provider's own paths and those of the API's home, alone and after its name."""
    known = finder.catalog.providers
    if name not in known:
        return None
    return _join(
        (api, prefix + root)
        for api in NAMES
        if known[name].dialect in (api, *_table().api[api].shared)
        for each in (known[name], known[get_dialect(api).service().default_provider])
        for root in _roots(api, each)
        for prefix in ("", f"/{re.escape(name)}")
    )


@lru_cache(maxsize=256)
def _paths_at(finder: Lookup, origin: str) -> _Patterns | None:
    """Return the paths of a provider's host; None if the catalog does not have the host."""
    here = [each for each in finder.catalog.providers.values() if _origin(each).fullmatch(origin)]
    if not here:
        return None
    return _join((api, root) for each in here for api in NAMES for root in _roots(api, each))


def _origin(provider: Provider) -> re.Pattern[str]:
    parts = urlsplit(provider.url)
    whole = re.fullmatch(r"\{\w+\}", parts.netloc)  # any host at all
    return re.compile(r"(?!)" if whole else fill_blanks(f"{parts.scheme}://{parts.netloc}"))


def _roots(api: str, provider: Provider) -> Iterator[str]:
    """Yield the patterns of base paths that a provider has for an API."""
    path = urlsplit(provider.url).path.rstrip("/")
    table = _table().api[api]
    if provider.dialect == api:
        yield _make_pattern(api, path + provider.path)
    elif provider.dialect in table.shared:
        base = _VERSION.sub("", path)
        yield re.escape(base if table.versioned else path if base != path else f"{path}/v1")
    more = _table().more.get(provider.name, {})
    yield from (_make_pattern(api, root) for root in more.get(api, ()))


def _make_pattern(api: str, root: str) -> str:
    """Return the pattern of a root; the SDKs of some APIs choose its version."""
    pattern = fill_blanks(root)
    if not _table().api[api].any_version:
        return pattern
    return _ANY_VERSION.sub(lambda _: r"/v\d+(?:alpha|beta)?\d*", pattern)


def fill_blanks(template: str) -> str:
    """Return the pattern of a URL template: each {blank} is any name."""
    return _BLANK.sub("[^/]+", re.escape(template))


def _join(paths: Iterable[tuple[str, str]]) -> _Patterns:
    table, found = _table().api, list(dict.fromkeys(paths))
    talks = {f"{root}{tail}" for api, root in found for tail in table[api].talks}
    others = {f"{root}{tail}" for api, root in found for tail in table[api].others}
    return _Patterns(re.compile("|".join(sorted(talks))), re.compile("|".join(sorted(others))))


@cache
def _table() -> _Table:
    text = files(__package__).joinpath("paths.toml").read_text(encoding="utf-8")
    return convert_json(parse_toml(text, "paths.toml").values, _Table)

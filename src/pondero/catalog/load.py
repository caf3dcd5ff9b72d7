"""Reads catalog files into a catalog. A broken file is one error with file, line and key."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from ..canon import converted, decoded
from ..errors import BadCatalog
from ..thinking import Capability
from .schema import Catalog, Family, Group, Provider

DATA = f"{__file__.removesuffix('load.py')}data"
COMPILED = f"{DATA}/catalog.json"

_T = TypeVar("_T")
_KEY = re.compile(r"[\s\"'\[\]]")
_ROW = ("name", "match", "newest_of")
_INHERITED_TABLES = ("placement", "parameters", "aliases", "quirks", "override", "fill")


class _File(msgspec.Struct, frozen=True):
    """One TOML file: its name for messages, its text for line numbers, its values."""

    name: str
    text: str
    values: dict[str, Any]


def shipped() -> Catalog:
    """Return the catalog that came with the package."""
    with open(COMPILED, "rb") as file:
        return decoded(file.read(), Catalog)


def compiled() -> bytes:
    """Return the shipped TOML files as the one JSON file that loads in a few milliseconds."""
    return msgspec.json.format(msgspec.json.encode(from_files(_shipped_files())), indent=1)


def write_compiled() -> None:
    """Write that JSON file; ``make catalog`` calls it."""
    with open(COMPILED, "wb") as file:
        file.write(compiled())


def _shipped_files() -> dict[str, str]:
    from pathlib import Path  # noqa: PLC0415 - only to compile

    files = sorted(Path(DATA).rglob("*.toml"))
    return {str(path.relative_to(DATA)): path.read_text("utf-8") for path in files}


def from_files(files: Mapping[str, str]) -> Catalog:
    """Return the catalog in these files: families/NAME.toml and providers/NAME.toml."""
    parsed = {_stem(name): _toml(name, text) for name, text in files.items()}
    groups = {stem: _group(f) for (folder, stem), f in parsed.items() if folder == "families"}
    raw = {stem: f for (folder, stem), f in parsed.items() if folder == "providers"}
    providers = {name: _provider(name, raw, {}, groups) for name in raw}
    return Catalog(groups=groups, providers=providers)


def _stem(path: str) -> tuple[str, str]:
    """Return the folder a file is in, and its name without the ending."""
    *folders, name = path.replace("\\", "/").split("/")
    return (folders[-1] if folders else "", name.removesuffix(".toml"))


def extended(catalog: Catalog, files: Mapping[str, str]) -> Catalog:
    """Return the catalog with a user's files over it: models.toml and providers/NAME.toml.

    A ``[[model]]`` of models.toml says ``match`` and either all its facts or ``like`` another
    model and what is different.
    """
    parsed = {_stem(name): _toml(name, text) for name, text in files.items()}
    raw = {stem: f for (folder, stem), f in parsed.items() if folder == "providers"}
    built = dict(catalog.providers)
    built |= {name: _provider(name, raw, catalog.providers, catalog.groups) for name in raw}
    groups = dict(catalog.groups)
    for (folder, stem), file in parsed.items():
        if folder == "families":
            groups[stem] = _group(file)
        elif folder != "providers":
            _add_models(file, groups, built)
    return Catalog(groups=groups, providers=built)


def _toml(name: str, text: str) -> _File:
    import tomllib  # noqa: PLC0415 - the shipped catalog is JSON; few have files of their own

    try:
        return _File(name, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        number = line[1] if line else len(text.splitlines())
        message = f"{name}:{number}: this is not TOML: {error}"
        raise BadCatalog(message) from None


# -- families ---------------------------------------------------------------------------------


def _group(file: _File) -> Group:
    _only(file, file.values, ("home", "family"))
    rows = file.values.get("family", [])
    families = tuple(_family(file, row, number, "family") for number, row in enumerate(rows))
    return Group(home=file.values.get("home"), family=families)


def _family(
    file: _File, row: Mapping[str, Any], number: int, table: str, base: Capability | None = None
) -> Family:
    facts = {key: value for key, value in row.items() if key not in _ROW}
    if base is not None:
        facts = {**msgspec.to_builtins(base), **facts}
    head = {key: row[key] for key in _ROW if key in row}
    head.setdefault("name", next(iter(row.get("match", ())), ""))
    capability = _convert(file, facts, Capability, table, number)
    family = _convert(
        file, {**head, "capability": {"source": "", "checked": ""}}, Family, table, number
    )
    return msgspec.structs.replace(family, capability=capability)


# -- providers --------------------------------------------------------------------------------


def _provider(
    name: str,
    files: Mapping[str, _File],
    known: Mapping[str, Provider],
    groups: Mapping[str, Group],
) -> Provider:
    file = files[name]
    values = {**_liked(name, files, known), **file.values, "name": name}
    values.pop("like", None)
    paths = values.get("parameters", {})
    values["parameters"] = {
        key: path.split(".") if isinstance(path, str) else path for key, path in paths.items()
    }
    overrides = values.pop("override", {})
    provider = _convert(file, values, Provider, "", 0)
    facts = {
        family.name: family.capability
        for group in provider.families
        if group in groups
        for family in groups[group].family
    }
    merged = {}
    for family, changes in overrides.items():
        if isinstance(changes, Capability):
            merged[family] = changes
            continue
        if family not in facts:
            message = (
                f"{_place(file, f'override.{family}', 0, '')}: no family {family!r} is served here"
            )
            raise BadCatalog(message)
        full = {**msgspec.to_builtins(facts[family]), **changes}
        merged[family] = _convert(file, full, Capability, f"override.{family}", 0)
    return msgspec.structs.replace(provider, override=merged)


def _liked(name: str, files: Mapping[str, _File], known: Mapping[str, Provider]) -> dict[str, Any]:
    like = files[name].values.get("like")
    if like is None:
        return {}
    if like in files and like != name:
        base = {**_liked(like, files, known), **files[like].values}
    elif like in known:
        base = {field: getattr(known[like], field) for field in known[like].__struct_fields__}
        base |= {table: msgspec.to_builtins(base[table]) for table in ("placement", "fill")}
    else:
        message = f"{_place(files[name], '', 0, 'like')}: there is no provider {like!r} to be like"
        raise BadCatalog(message)
    own = files[name].values
    merged = {t: {**base.get(t, {}), **own[t]} for t in _INHERITED_TABLES if t in own}
    own.update(merged)
    return base


# -- a user's own models ----------------------------------------------------------------------


def _add_models(file: _File, groups: dict[str, Group], providers: dict[str, Provider]) -> None:
    _only(file, file.values, ("model",))
    for number, row in enumerate(file.values.get("model", [])):
        facts = dict(row)
        home, base = facts.pop("provider", None), None
        if like := facts.pop("like", None):
            liked_home, base = _find(file, like, number, groups)
            home = home or liked_home
        if home not in providers:
            known = " ".join(providers)
            where = _place(file, "model", number, "provider")
            message = f"{where}: no provider {home!r}; use one of {known}"
            raise BadCatalog(message)
        facts.setdefault("source", f"{file.name}")
        facts.setdefault("checked", "")
        family = _family(file, facts, number, "model", base)
        style = family.capability.style
        if style is not None and style not in providers[home].placement:
            message = (
                f"{_place(file, 'model', number, 'like')}: provider {home!r} cannot say it like "
                f"{like or style!r}; it has {' '.join(providers[home].placement) or 'no controls'}"
            )
            raise BadCatalog(message)
        own = f"{home} (yours)"
        mine = groups.get(own, Group(home=home))
        groups[own] = msgspec.structs.replace(mine, family=(*mine.family, family))
        if own not in providers[home].families:
            families = (own, *providers[home].families)
            providers[home] = msgspec.structs.replace(providers[home], families=families)


def _find(
    file: _File, like: str, number: int, groups: Mapping[str, Group]
) -> tuple[str | None, Capability]:
    for group in groups.values():
        for family in group.family:
            if like == family.name or like in family.match:
                return group.home, family.capability
    message = f"{_place(file, 'model', number, 'like')}: nothing in the catalog is called {like!r}"
    raise BadCatalog(message)


# -- errors that point ------------------------------------------------------------------------


def _only(file: _File, values: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for key in values:
        if key not in allowed:
            message = f"{_place(file, '', 0, key)}: unknown key {key!r}; use {' '.join(allowed)}"
            raise BadCatalog(message)


def _convert(file: _File, values: Any, type_: type[_T], table: str, number: int) -> _T:
    try:
        return converted(values, type_)
    except msgspec.ValidationError as error:
        text = str(error)
        key = _key_of(text)
        message = f"{_place(file, table, number, key)}: {text}"
        raise BadCatalog(message) from None


def _key_of(text: str) -> str:
    """Return the key a validation error speaks of: "... - at `$.budget.min`", "... `foo`"."""
    path = (
        text.rpartition("at `$.")[2].rstrip("`").split(".")[0].split("[")[0]
        if "at `$." in text
        else ""
    )
    if path:
        return path
    return text.split("`")[1] if "`" in text else ""


def _place(file: _File, table: str, number: int, key: str) -> str:
    line = _line(file.text.splitlines(), table, number, key)
    where = f"{file.name}:{line}" if line else file.name
    spot = ".".join(part for part in (f"{table}[{number}]" if table else "", key) if part)
    return f"{where}: {spot}" if spot else where


def _line(lines: list[str], table: str, number: int, key: str) -> int:
    """Return the line of a key within the nth table of that name, or of the table itself."""
    start = 0
    if table:
        heads = [
            n for n, line in enumerate(lines, 1) if line.strip() in (f"[[{table}]]", f"[{table}]")
        ]
        start = heads[number] if number < len(heads) else 0
    for n, line in enumerate(lines[start:], start + 1):
        if n > start + 1 and table and line.startswith("["):
            break
        if key and _KEY.sub("", line.split("=")[0]).split(".")[0] == key:
            return n
    return start

"""Reads catalog files. An error in a file names the file, the line and the key."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from ..canon import convert_json, decode_json
from ..errors import BadCatalog, UsageError
from ..thinking import LEVELS, BudgetRange, Capability
from .schema import Catalog, Family, FamilyGroup, NamePatterns, Provider, own_group

_T = TypeVar("_T")
_KEY = re.compile(r"[\s\"'\[\]]")
_AT = re.compile(r"line (\d+)")
_DEEPEST = 40  # tables in tables: no setting is that deep, and Python's own stack ends near 1,000


class TomlFile(msgspec.Struct, frozen=True):
    """A TOML file: its name for messages, its text for line numbers, its values."""

    name: str
    text: str
    values: dict[str, Any]

    def place(self, key: str = "", *, table: str = "", number: int = 0) -> str:
        """Describe the place of a key: file, line, table and key."""
        line = _line(self.text.splitlines(), table, number, key)
        where = f"{self.name}:{line}" if line else self.name
        spot = ".".join(part for part in (f"{table}[{number}]" if table else "", key) if part)
        return f"{where}: {spot}" if spot else where

    def line(self, *path: str | int) -> int:
        """Return the line of a path, else of the table around it, else 0."""
        lines = _lines(self)
        while path and path not in lines:
            path = path[:-1]
        return lines.get(path, 0)

    def only(self, *allowed: str) -> None:
        """Raise BadCatalog for any other key."""
        for key in self.values:
            if key not in allowed:
                raise BadCatalog(f"{self.place(key)}: unknown key {key!r}; use {' '.join(allowed)}")

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return an array of tables; raises BadCatalog for anything else."""
        rows = self.values.get(table, [])
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return rows
        raise BadCatalog(f"{self.place(table)}: this is not an array of tables; write [[{table}]]")

    def tables(self, *names: str) -> None:
        """Raise BadCatalog if one of these keys is not a table."""
        for name in names:
            value = self.values.get(name, {})
            if not isinstance(value, dict):
                raise BadCatalog(f"{self.place(name)}: this is not a table; write [{name}]")

    def convert(self, values: Any, type_: type[_T], *, table: str = "", number: int = 0) -> _T:
        """Convert values to a type; raises BadCatalog with the place of a wrong value."""
        try:
            return convert_json(values, type_)
        except msgspec.ValidationError as error:
            where = self.place(_key_of(str(error)), table=table, number=number)
            from .choices import describe_choices  # noqa: PLC0415 - only for an error

            choices = describe_choices(type_, str(error))
            raise BadCatalog(f"{where}: {error}{choices}") from None


def parse_toml(text: str, name: str, error: type[UsageError] = BadCatalog) -> TomlFile:
    """Parse the text of a TOML file; raises ``error`` with file and line if it is invalid."""
    import tomllib  # noqa: PLC0415 - the shipped catalog is JSON; few have files of their own

    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise error(_describe_too_deep(name, text)) from None
    except ValueError as problem:  # TOMLDecodeError, and numbers with thousands of digits
        line = _AT.search(str(problem))
        number = line[1] if line else len(text.splitlines())
        raise error(f"{name}:{number}: this is not TOML: {problem}") from None
    if _depth(values) > _DEEPEST:
        raise error(_describe_too_deep(name, text))
    return TomlFile(name, text, values)


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``did you mean 'x'? `` for the closest name, or an empty text."""
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

    close = get_close_matches(word, list(names), n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def _lines(file: TomlFile) -> dict[tuple[str | int, ...], int]:
    found: dict[tuple[str | int, ...], int] = {}
    seen: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for number, line in enumerate(file.text.splitlines(), 1):
        said = line.strip()
        if header := said.startswith("["):
            path: tuple[str | int, ...] = ()
            names = _names(said)
        else:
            path, names = table, _names(f"{said.partition('=')[0]} = 0" if "=" in said else "")
        for name in names:
            path = (*path, name)
            if path in seen and not (said.startswith("[[") and name == names[-1]):
                path = (*path, seen[path])
        if said.startswith("[[") and names:
            seen[path] = seen.get(path, -1) + 1
            path = (*path, seen[path])
        if names and _exists(file.values, path):
            found.setdefault(path, number)
            table = path if header else table
    return found


def _names(line: str) -> list[str]:
    """Return the dotted names of a table's header or of a key; none for any other line."""
    import tomllib  # noqa: PLC0415 - see parse_toml

    try:
        value: Any = tomllib.loads(line)
    except ValueError:  # a line inside a value of several lines
        return []
    names = []
    while isinstance(value, dict) and value:
        [(name, value)] = value.items()
        names.append(name)
        value = value[0] if isinstance(value, list) and value else value
    return names


def _exists(values: Any, path: tuple[str | int, ...]) -> bool:
    for step in path:
        inside = isinstance(values, dict if isinstance(step, str) else list)
        if not inside or (step not in values if isinstance(step, str) else step >= len(values)):
            return False
        values = values[step]
    return True


def _describe_too_deep(name: str, text: str) -> str:
    brackets = [sum(map(line.count, "[{.")) for line in text.splitlines()]
    line = brackets.index(max(brackets)) + 1
    return f"{name}:{line}: tables are nested more than {_DEEPEST} deep; flatten them"


def _depth(values: Any) -> int:
    depth, level = 0, [values]
    while level:
        depth += 1
        inner = (each.values() if isinstance(each, Mapping) else each for each in level)
        level = [value for each in inner for value in each if isinstance(value, Mapping | list)]
    return depth


def _key_of(text: str) -> str:
    path = (
        text.rpartition("at `$.")[2].rstrip("`").split(".")[0].split("[")[0]
        if "at `$." in text
        else ""
    )
    if path:
        return path
    return text.split("`")[1] if "`" in text else ""


def _line(lines: list[str], table: str, number: int, key: str) -> int:
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


DATA = f"{__file__.removesuffix('load.py')}data"
COMPILED = f"{DATA}/catalog.json"

QuirksOf = Callable[[str], type | None]

_UNASKED = ("on", "dynamic", "unaudited")
_UNKNOWN = "any"  # the family of every name that no other has
_ANY_NUMBER = BudgetRange(min=1, max=1_000_000)
_ROW = ("name", "match", "newest_of")
_NO_FACT = (*_ROW, "like")
_INHERITED_TABLES = ("placement", "parameters", "aliases", "quirks", "override", "fill")


def load_shipped() -> Catalog:
    """Load the catalog of the package."""
    with open(COMPILED, "rb") as file:
        return decode_json(file.read(), Catalog)


@lru_cache(maxsize=1)
def catalog_hash() -> str:
    """Return the hash of the package's catalog."""
    from hashlib import blake2b  # noqa: PLC0415 - a plan needs none

    with open(COMPILED, "rb") as file:
        return blake2b(file.read(), digest_size=8).hexdigest()


def from_files(files: Mapping[str, str]) -> Catalog:
    """Return the catalog in these files: families/NAME.toml, providers/NAME.toml, names.toml."""
    parsed = {_stem(name): parse_toml(text, name) for name, text in files.items()}
    groups = {stem: _group(f) for (folder, stem), f in parsed.items() if folder == "families"}
    raw = {stem: f for (folder, stem), f in parsed.items() if folder == "providers"}
    providers = {name: _provider(name, raw, {}, groups) for name in raw}
    names = parsed.get(("", "names"))
    known = names.convert(names.values, NamePatterns) if names is not None else NamePatterns()
    return Catalog(groups=groups, providers=providers, names=known)


def _stem(path: str) -> tuple[str, str]:
    *folders, name = path.replace("\\", "/").split("/")
    return (folders[-1] if folders else "", name.removesuffix(".toml"))


def add_user_files(
    catalog: Catalog, files: Mapping[str, str], quirks: QuirksOf | None = None
) -> Catalog:
    """Add a user's models.toml and providers/NAME.toml.

    A ``[[model]]`` has all its facts, or ``like`` another model and what differs. Without
    ``quirks``, the types of dialects' quirks, these are not checked.
    """
    parsed = {_stem(name): parse_toml(text, name) for name, text in files.items()}
    raw = {stem: f for (folder, stem), f in parsed.items() if folder == "providers"}
    own = {name: file.values.get("quirks", {}) for name, file in raw.items()}
    groups = dict(catalog.groups)
    groups |= {stem: _group(f) for (folder, stem), f in parsed.items() if folder == "families"}
    built = dict(catalog.providers)
    for name, file in raw.items():
        built[name] = _provider(name, raw, catalog.providers, groups, own=True)
        if quirks is not None:
            _check_quirks(file, own[name], built[name].dialect, quirks)
            for row in built[name].model_quirks:
                _check_quirks(file, row.quirks, built[name].dialect, quirks)
    for (folder, _), file in parsed.items():
        if folder not in ("families", "providers"):
            _add_models(file, groups, built)
    return msgspec.structs.replace(catalog, groups=groups, providers=built)


# -- families ---------------------------------------------------------------------------------


def _group(file: TomlFile) -> FamilyGroup:
    file.only("home", "words", "flagship", "family")
    families: list[Family] = []
    for number, row in enumerate(file.rows("family")):
        base = _base(file, row, number, families)
        families.append(_family(file, row, number, "family", base))
    head = {key: file.values[key] for key in ("home", "words", "flagship") if key in file.values}
    group = file.convert(head, FamilyGroup)
    return msgspec.structs.replace(group, family=tuple(families))


def _base(
    file: TomlFile, row: Mapping[str, Any], number: int, above: list[Family]
) -> Capability | None:
    if "like" not in row:
        return None
    for family in above:
        if family.name == row["like"]:
            return family.capability
    where = file.place("like", table="family", number=number)
    raise BadCatalog(f"{where}: no family {row['like']!r} above this one")


def _family(
    file: TomlFile, row: Mapping[str, Any], number: int, table: str, base: Capability | None = None
) -> Family:
    facts = {key: value for key, value in row.items() if key not in _NO_FACT}
    if base is not None:
        facts = {**msgspec.to_builtins(base), **facts}
    head = {key: row[key] for key in _ROW if key in row}
    match = row.get("match")
    head.setdefault("name", match[0] if isinstance(match, list) and match else "")
    capability = file.convert(facts, Capability, table=table, number=number)
    _check_facts(file, capability, table, number)
    unfilled = {**head, "capability": {"source": "", "checked": ""}}
    family = file.convert(unfilled, Family, table=table, number=number)
    return msgspec.structs.replace(family, capability=capability)


def _check_facts(file: TomlFile, facts: Capability, table: str, number: int) -> None:
    if (budget := facts.budget) is not None and budget.min > budget.max:
        where = file.place("budget", table=table, number=number)
        raise BadCatalog(f"{where}: min is {budget.min:,}, which is more than max, {budget.max:,}")
    levels = ("on", *LEVELS[1:], *facts.efforts)
    if odd := [word for word in facts.typical if word not in levels]:
        where = file.place("typical", table=table, number=number)
        use = " ".join(dict.fromkeys(levels))
        raise BadCatalog(f"{where}: typical has no level {odd[0]!r}; use {use}")
    words = (*_UNASKED, *LEVELS, *facts.efforts)
    if facts.default not in words:
        where = file.place("default", table=table, number=number)
        message = (
            f"{where}: invalid default {facts.default!r}; use {' '.join(dict.fromkeys(words))}"
        )
        raise BadCatalog(message)


# -- providers --------------------------------------------------------------------------------


def _provider(
    name: str,
    files: Mapping[str, TomlFile],
    known: Mapping[str, Provider],
    groups: Mapping[str, FamilyGroup],
    *,
    own: bool = False,
) -> Provider:
    """Return a provider of a file; the facts of a user's ``own`` are from the file's source."""
    file = files[name]
    values = {**_load_inherited(name, files, known), **file.values, "name": name}
    values.pop("like", None)
    paths = values.get("parameters", {})
    values["parameters"] = {
        key: path.split(".") if isinstance(path, str) else path for key, path in paths.items()
    }
    overrides = values.pop("override", {})
    provider = file.convert(values, Provider)
    _check_groups(file, provider, groups)
    facts = {
        family.name: family.capability
        for group in provider.families
        if group in groups
        for family in groups[group].family
    }
    merged = {}
    unknown = facts.get(_UNKNOWN)
    if unknown is not None and (told := _read_templates(unknown, provider)) != unknown:
        merged[_UNKNOWN] = facts[_UNKNOWN] = told
    for family, changes in overrides.items():
        if isinstance(changes, Capability):
            merged[family] = changes
            continue
        table = f"override.{family}"
        if family not in facts:
            raise BadCatalog(f"{file.place(table=table)}: no family {family!r} is served here")
        if not isinstance(changes, dict):
            message = f"{file.place(family)}: the facts of a family are a table, not {changes!r}"
            raise BadCatalog(message)
        credit = _credit(file, provider) if own else {}
        full = {**msgspec.to_builtins(facts[family]), **credit, **changes}
        merged[family] = file.convert(full, Capability, table=table)
        _check_facts(file, merged[family], table, 0)
    return msgspec.structs.replace(provider, override=merged)


def _credit(file: TomlFile, provider: Provider) -> dict[str, Any]:
    """Return how the facts of a file are known, if the file itself says from where."""
    if "source" not in file.values:
        return {}
    return {
        "source": provider.source,
        "checked": provider.checked,
        "evidence": "vendor page",
    }


def _read_templates(facts: Capability, provider: Provider) -> Capability:
    """Return the facts of an unknown model: what the provider has a template for."""
    said = provider.placement.get(facts.style or "")
    if said is None:
        return facts
    return msgspec.structs.replace(
        facts,
        toggle=said.on is not None,
        efforts=facts.efforts if said.level is not None else (),
        budget=_ANY_NUMBER if said.budget is not None else None,
    )


def _check_groups(file: TomlFile, provider: Provider, groups: Mapping[str, FamilyGroup]) -> None:
    for key, names in (("families", provider.families), ("prefix", tuple(provider.prefix))):
        for name in names:
            if name not in groups:
                guess = did_you_mean(name, groups)
                message = f"{file.place(key)}: there are no families {name!r}; {guess}"
                raise BadCatalog(f"{message}use {' '.join(groups)}")


def _check_quirks(file: TomlFile, own: Mapping[str, Any], dialect: str, quirks: QuirksOf) -> None:
    if (known := quirks(dialect)) is None:
        raise BadCatalog(f"{file.place('dialect')}: there is no dialect {dialect!r}")
    names = known.__struct_fields__  # type: ignore[attr-defined]  # it is a Struct
    for name in own:
        if name not in names:
            use = f"use {' '.join(names)}" if names else "this dialect has none"
            where = file.place(name, table="quirks")
            raise BadCatalog(f"{where}: unknown quirk {name!r}; {did_you_mean(name, names)}{use}")
    file.convert(own, known, table="quirks")


def _load_inherited(
    name: str,
    files: Mapping[str, TomlFile],
    known: Mapping[str, Provider],
    above: tuple[str, ...] = (),
) -> dict[str, Any]:
    file = files[name]
    file.tables(*_INHERITED_TABLES)
    if "name" in file.values:
        raise BadCatalog(f"{file.place('name')}: a provider has the name of its file")
    like = file.values.get("like")
    if like is None:
        return {}
    if not isinstance(like, str):
        message = f"{file.place('like')}: invalid value {like!r}; use the name of a provider"
        raise BadCatalog(message)
    if like in above:
        message = (
            f"{file.place('like')}: {' is like '.join((*above, name, like))}; break the circle"
        )
        raise BadCatalog(message)
    if like in files and like != name:
        base = {**_load_inherited(like, files, known, (*above, name)), **files[like].values}
    elif like in known:
        base = {field: getattr(known[like], field) for field in known[like].__struct_fields__}
        base |= {table: msgspec.to_builtins(base[table]) for table in ("placement", "fill")}
    else:
        raise BadCatalog(f"{file.place('like')}: there is no provider {like!r} to be like")
    base.pop("batch", None)  # another deployment is another service: it says so if it has batches
    own = file.values
    merged = {t: {**base.get(t, {}), **own[t]} for t in _INHERITED_TABLES if t in own}
    own.update(merged)
    return base


# -- a user's own models ----------------------------------------------------------------------


def _add_models(
    file: TomlFile, groups: dict[str, FamilyGroup], providers: dict[str, Provider]
) -> None:
    file.only("model")
    for number, row in enumerate(file.rows("model")):
        _check_row(file, row, number)
        facts = dict(row)
        home, base = facts.pop("provider", None), None
        if like := facts.pop("like", None):
            liked_home, base = _find_like(file, like, number, groups)
            home = home or liked_home
        if home not in providers:
            known = " ".join(providers)
            where = file.place("provider", table="model", number=number)
            raise BadCatalog(f"{where}: no provider {home!r}; use one of {known}")
        facts.setdefault("source", f"{file.name}")
        facts.setdefault("checked", "")
        family = _family(file, facts, number, "model", base)
        style = family.capability.style
        if style is not None and style not in providers[home].placement:
            where = file.place("like", table="model", number=number)
            message = (
                f"{where}: provider {home!r} cannot say it like "
                f"{like or style!r}; it has {' '.join(providers[home].placement) or 'no controls'}"
            )
            raise BadCatalog(message)
        own = own_group(home)
        mine = groups.get(own, FamilyGroup(home=home))
        groups[own] = msgspec.structs.replace(mine, family=(*mine.family, family))
        if own not in providers[home].families:
            families = (own, *providers[home].families)
            providers[home] = msgspec.structs.replace(providers[home], families=families)


def _check_row(file: TomlFile, row: Mapping[str, Any], number: int) -> None:
    for key in ("like", "provider"):
        if key in row and (not isinstance(row[key], str) or not row[key].strip()):
            where = file.place(key, table="model", number=number)
            raise BadCatalog(f"{where}: invalid value {row[key]!r}; use a name")
    match = row.get("match")
    if isinstance(match, list) and not all(
        isinstance(each, str) and each.strip(" *") for each in match or [0]
    ):
        where = file.place("match", table="model", number=number)
        raise BadCatalog(f"{where}: invalid value {match!r}; use prefixes of model names")


def _find_like(
    file: TomlFile, like: str, number: int, groups: Mapping[str, FamilyGroup]
) -> tuple[str | None, Capability]:
    for group in groups.values():
        for family in group.family:
            if like == family.name or like in family.match:
                return group.home, family.capability
    where = file.place("like", table="model", number=number)
    raise BadCatalog(f"{where}: nothing in the catalog is called {like!r}")

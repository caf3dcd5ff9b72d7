"""Reads config.toml and models.toml, and changes them without losing comments."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..canon import Json
from ..catalog import TomlFile, parse_toml
from ..errors import BadCatalog, BadConfig, BadPolicy, BadThinking, warn_caller
from ..thinking import CHOICES, TOKENS, Policy, parse_intent
from .files import config_folder, load_config_file, load_toml, write_atomic
from .secrets import holds_secret

FILE = "config.toml"
_POLICY = "policy."
_SERVERS = "mcp."

_WORD = re.compile(r"[a-z0-9-]{1,40}")
_SECRET = re.compile(r"(?:.*[._-])?(?:(?:api[_-]?)?keys?|token|secret|password)", re.IGNORECASE)


class Settings(Struct, frozen=True):
    """The user's settings.

    ``save``: whether threads are saved. ``theme``: the chat's colours. ``values``: the settings in
    the file, by dotted name; PONDERO_MODEL overrides its model.
    """

    model: str | None = None
    thinking: str | int | bool | None = None
    save: bool = True
    policy: Policy = Policy()
    values: dict[str, Any] = {}
    theme: str | None = None

    def level(self, *wishes: Json) -> Json:
        """Return the first level that is given, else the user's own; None if there is none."""
        return next((each for each in (*wishes, self.thinking) if each is not None), None)


def config_file() -> Path:
    """Return the path of config.toml."""
    return Path(config_folder()) / FILE


def load_settings() -> Settings:
    """Return the settings of config.toml; raises BadConfig for an invalid value."""
    flat = _known_values(_load_reported())
    plain = {name: value for name, value in flat.items() if "." not in name}
    if named := os.environ.get("PONDERO_MODEL", "").strip():
        plain["model"] = named
    return Settings(**plain, policy=_make_policy(flat), values=flat)


def configured_policy() -> Policy:
    """Return the policy of config.toml, all that the library reads of the settings."""
    return _make_policy(_known_values(_load_reported(), beginning=_POLICY))


def _make_policy(values: Mapping[str, Any]) -> Policy:
    choices = {n.removeprefix(_POLICY): v for n, v in values.items() if n.startswith(_POLICY)}
    return Policy.of(choices)


def _known_values(file: TomlFile, beginning: str = "") -> dict[str, Any]:
    """Return the known settings whose names begin so; raises BadConfig for an invalid value."""
    flat = _flat(file.values)
    found = {n: v for n, v in flat if n in _CHECKS and n.startswith(beginning)}
    for name, value in found.items():
        _check_in(file, name, value)
    return found


def _load_reported() -> TomlFile:
    """Return config.toml; an unknown name in it is a warning: a newer pondero may know it."""
    file = _file()
    for name, _ in _flat(file.values):
        if name not in _CHECKS and not f"{name}.".startswith(_SERVERS):
            _report_unknown(_place_of(file, name), name)
    return file


@lru_cache(maxsize=1024)
def _report_unknown(where: str, name: str) -> None:
    """Warn of a name, once in a process: many places read the file."""
    warn_caller(f"{where}: ignored: {_describe_unknown(name)}")


def check_config() -> None:
    """Raise BadConfig for an unknown name or an invalid value in config.toml."""
    from .tool_servers import load_tool_servers  # noqa: PLC0415 - it imports this file

    file = _file()
    for name, value in _flat(file.values):
        if not f"{name}.".startswith(_SERVERS):
            _check_in(file, name, value)
    load_tool_servers()


def config_table(name: str) -> Mapping[str, Any]:
    """Return a table of config.toml; raises BadConfig if it is a value."""
    table = _load_reported().values.get(name, {})
    if not isinstance(table, Mapping):
        message = f"{FILE}: {name} is not a table; write [{name}.NAME]"
        raise BadConfig(message)
    return table


def set_config(name: str, text: str) -> Any:
    """Change one setting and return its value; raises BadConfig."""
    check_setting(name)
    if holds_secret(text):
        raise _key_error(name)
    value = _literal(name, text)
    _check(name, value)
    document = _document()
    table, _, last = name.rpartition(".")
    place = document
    if table:
        import tomlkit  # noqa: PLC0415 - only to change the file

        place = document.setdefault(table, tomlkit.table())
    place[last] = value
    write_atomic(config_file(), document.as_string())
    return value


def unset_config(name: str) -> bool:
    """Remove one setting; return whether it was set. An unknown one is removed if it is there."""
    document = _document()
    table, _, last = name.rpartition(".")
    place = document.get(table, {}) if table else document
    if last not in place or isinstance(place[last], Mapping):
        check_setting(name)
        return False
    del place[last]
    write_atomic(config_file(), document.as_string())
    return True


def _file() -> TomlFile:
    """Return config.toml; raises BadConfig if it is not TOML, or has a table for a value."""
    file = load_config_file() or TomlFile(FILE, "", {})
    for name in sorted({name.partition(".")[0] for name in _CHECKS} & file.values.keys()):
        is_table = isinstance(file.values[name], Mapping)
        if is_table is not any(each.startswith(f"{name}.") for each in _CHECKS):
            say = f"write {name} = VALUE" if is_table else f"write [{name}]"
            message = f"{file.place(name)}: this is {'a' if is_table else 'not a'} table; {say}"
            raise BadConfig(message)
    return file


def _document() -> Any:
    import tomlkit  # noqa: PLC0415 - only where the file is changed

    return tomlkit.parse(_file().text)


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _literal(name: str, text: str) -> Any:
    """Return a value of the command line, read as TOML; a bare word is a string."""
    if name == "model":
        return text
    try:
        return parse_toml(f"value = {text}", name, BadConfig).values["value"]
    except BadConfig:
        return text


def _check_in(file: TomlFile, name: str, value: Any) -> None:
    try:
        _check(name, value)
    except BadConfig as error:
        message = f"{_place_of(file, name)}: {error}"
        raise BadConfig(message) from None


def _place_of(file: TomlFile, name: str) -> str:
    table, _, key = name.rpartition(".")
    return file.place(key, table=table).partition(": ")[0]


def _check(name: str, value: Any) -> None:
    check_setting(name)
    # Every command reads the settings, so that this does not open the keyring.
    if holds_secret(str(value), keyring=False):
        raise _key_error(name)
    _CHECKS[name](value)


def _key_error(name: str) -> BadConfig:
    return BadConfig(f"{name} would hold a key; save it with 'pondero keys set PROVIDER'")


def check_setting(name: str) -> None:
    """Raise BadConfig for an unknown name."""
    if name not in _CHECKS:
        raise BadConfig(_describe_unknown(name))


def _describe_unknown(name: str) -> str:
    if _SECRET.fullmatch(name):
        return f"config.toml holds no keys such as {name}; use 'pondero keys set PROVIDER'"
    table = f"{name.rstrip('.')}."
    if inside := [each for each in _CHECKS if each.startswith(table)]:
        return f"unknown setting {name!r}; use one of {' '.join(inside)}"
    from difflib import get_close_matches  # noqa: PLC0415 - only for an error

    if close := get_close_matches(name, _CHECKS, n=1, cutoff=0.5):
        return f"unknown setting {name!r}; did you mean {close[0]!r}?"
    return f"unknown setting {name!r}; use {' '.join(_CHECKS)}"


def _check_model(value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        message = f"invalid model={value!r}; use a name such as claude-opus-5/high"
        raise BadConfig(message)


def _check_thinking(value: Any) -> None:
    try:
        parse_intent(value)
    except BadThinking as error:
        message = f"thinking: {error}"
        raise BadConfig(message) from None


def _check_save(value: Any) -> None:
    if not isinstance(value, bool):
        message = f"invalid save={value!r}; use true or false"
        raise BadConfig(message)


def _check_theme(value: Any) -> None:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        message = f"invalid theme={value!r}; use a theme's name, such as nord (see /theme)"
        raise BadConfig(message)


def _check_approved(value: Any) -> None:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        message = f"invalid tools.approved={value!r}; use a list of SOURCE/TOOL"
        raise BadConfig(message)


def _check_policy(name: str, value: Any) -> None:
    try:
        Policy.of({name: value})
    except BadPolicy as error:
        raise BadConfig(str(error)) from None


_CHECKS: dict[str, Callable[[Any], None]] = {
    "model": _check_model,
    "thinking": _check_thinking,
    "save": _check_save,
    "theme": _check_theme,
    "tools.approved": _check_approved,
    **{f"policy.{name}": partial(_check_policy, name) for name in (*CHOICES, *TOKENS)},
}

SETTINGS = tuple(_CHECKS)
"""The names of all settings."""

MODELS_FILE = "models.toml"


def models_file() -> Path:
    """Return the path of models.toml."""
    return Path(config_folder()) / MODELS_FILE


def append_models(rows: Iterable[Mapping[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of models.toml with the rows of new models appended, and these rows."""
    import tomlkit  # noqa: PLC0415 - only to change the file

    path = models_file()
    file = load_toml(str(path), BadCatalog) if path.is_file() else TomlFile(MODELS_FILE, "", {})
    file.rows("model")  # raises BadCatalog if it is not an array of tables
    document = tomlkit.parse(file.text)
    table = document.setdefault("model", tomlkit.aot())
    own = {(row.get("provider"), name) for row in table for name in row.get("match", ())}
    added = []
    for row in rows:
        if any((at, name) in own for at in (row["provider"], None) for name in row["match"]):
            continue
        table.append(tomlkit.item(dict(row)))
        added.append(dict(row))
    return tomlkit.dumps(document), added


def write_models(text: str) -> Path:
    """Write models.toml and return its path; raises StoreError."""
    write_atomic(models_file(), text)
    return models_file()

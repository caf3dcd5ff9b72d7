"""Templates: TOML files with a prompt and ``$variables``, in the config folder.

``pondero ask --template`` fills one in; ``pondero templates`` lists and changes them. Options of
the command line override those of a template.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template as Pattern
from typing import Any

from msgspec import Struct

from ..canon import Json
from ..errors import BadConfig, BadThinking
from ..thinking import parse_intent
from .files import config_folder, load_toml, write_atomic
from .secrets import holds_secret

INPUT = "input"
"""The variable for the text of the command line and of a pipe."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_KEYS = ("prompt", "system", "model", "thinking", "schema", "schema_multi", "options", "defaults")
_TABLES = ("options", "defaults")


class Template(Struct, frozen=True, kw_only=True):
    """One template; ``defaults`` are the values of optional variables."""

    name: str
    prompt: str = ""
    system: str = ""
    model: str | None = None
    thinking: str | int | bool | None = None
    schema: str | dict[str, Json] | None = None
    schema_multi: str | dict[str, Json] | None = None
    options: dict[str, Any] = {}
    defaults: dict[str, str] = {}

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the variables of prompt and system prompt, without the input."""
        texts = (Pattern(self.prompt), Pattern(self.system))
        found = dict.fromkeys(name for text in texts for name in text.get_identifiers())
        return tuple(name for name in found if name != INPUT)

    def fill(self, values: Mapping[str, str], given: str) -> tuple[str, str]:
        """Return prompt and system prompt with all variables filled in; raises BadConfig.

        If the prompt has no place for the input, the input follows it.
        """
        known = self.variables
        if unknown := [name for name in values if name not in known]:
            has = " ".join(f"${name}" for name in known) or "none"
            message = f"template {self.name!r} has no ${unknown[0]}; its variables: {has}"
            raise BadConfig(message)
        values = {**self.defaults, **values, INPUT: given}
        if missing := [name for name in known if name not in values]:
            needs = " and ".join(f"${name}" for name in missing)
            use = " ".join(f"-p {name} VALUE" for name in missing)
            message = f"template {self.name!r} needs {needs}; use {use}"
            raise BadConfig(message)
        pattern = Pattern(self.prompt)
        prompt = pattern.substitute(values)
        if given and INPUT not in pattern.get_identifiers():
            prompt = f"{prompt}\n\n{given}" if prompt else given
        return prompt.strip(), Pattern(self.system).substitute(values).strip()


def template_file(name: str) -> Path:
    """Return the path of a template; raises BadConfig for an invalid name."""
    if not _NAME.fullmatch(name):
        message = f"invalid template name {name!r}; use letters, digits, - _ and ."
        raise BadConfig(message)
    return _folder() / f"{name}.toml"


def template_names() -> tuple[str, ...]:
    """Return the names of all templates, sorted."""
    folder = _folder()
    if not folder.is_dir():
        return ()
    found = (path.stem for path in folder.iterdir() if path.suffix == ".toml")
    return tuple(sorted(name for name in found if _NAME.fullmatch(name)))


def load_template(name: str) -> Template:
    """Return a template; raises BadConfig if it is missing or invalid."""
    path = template_file(name)
    if not path.is_file():
        known = " ".join(template_names())
        use = f"use {known}, or " if known else ""
        message = f"no template {name!r}; {use}create it with 'pondero templates edit {name}'"
        raise BadConfig(message)
    file = load_toml(str(path), BadConfig)
    _check_keyless(path, file.text)
    for key, value in file.values.items():
        if wrong := _wrong(key, value):
            message = f"{file.place(key)}: {wrong}"
            raise BadConfig(message)
    defaults = {key: str(value) for key, value in file.values.get("defaults", {}).items()}
    return Template(name=name, **{**file.values, "defaults": defaults})


def write_template(name: str, text: str) -> Path:
    """Write a template and return its path; raises StoreError, BadConfig if it holds a key."""
    path = template_file(name)
    _check_keyless(path, text)
    write_atomic(path, text)
    return path


def remove_template(name: str) -> bool:
    """Delete a template; return whether there was one."""
    path = template_file(name)
    there = path.is_file()
    path.unlink(missing_ok=True)
    return there


def _check_keyless(path: Path, text: str) -> None:
    if holds_secret(text):
        message = f"{path} holds a key; save it with 'pondero keys set PROVIDER'"
        raise BadConfig(message)


def _folder() -> Path:
    return Path(config_folder()) / "templates"


def _wrong(key: str, value: Any) -> str | None:
    if key not in _KEYS:
        return f"a template has no {key!r}; use {' '.join(_KEYS)}"
    if key in _TABLES:
        return None if isinstance(value, dict) else f"this is not a table; write [{key}]"
    if key == "thinking":
        try:
            parse_intent(value)
        except BadThinking as error:
            return str(error)
        return None
    if key in ("schema", "schema_multi") and isinstance(value, dict):
        return None
    if not isinstance(value, str):
        return f"{key} is a text"
    if key in ("prompt", "system") and not Pattern(value).is_valid():
        return "a $ without a name; write $$ for the sign itself"
    return None

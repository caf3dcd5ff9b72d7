"""The clients of ``pondero launch``; their own settings stay, ours are in a temporary folder."""

import re
import shutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...canon import HttpRequest, Json, convert_json
from ...catalog import Lookup, ModelEntry, parse_toml
from ...errors import UnknownModel
from ..config.model import GatewayConfig, GatewayKey, GatewayRoute, ServerConfig
from ..config.reader import default_config
from ..config.routing import ModelWithoutKey, ResolvedRoute, Routing
from ..config.secrets import hash_key
from ..requests.model_list import answer_model_list

_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_DIRECT = "127.0.0.1,localhost"  # the user's proxy must not be between client and gateway
_WINDOW, _OUTPUT = 128_000, 32_000  # if the catalog does not know them


class LaunchClient(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of clients.toml, which explains each field."""

    name: str
    label: str
    program: str
    install: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    files: Mapping[str, str] = {}
    lists: Mapping[str, str] = {}
    mirrored: str | None = None
    merged: Mapping[str, str] = {}
    model_arguments: tuple[str, ...] = ()
    model_env: Mapping[str, str] = {}
    needs_model: bool = False

    @property
    def is_told(self) -> bool:
        """Return whether the client accepts a model name."""
        return self.needs_model or bool(self.model_arguments or self.model_env)


class ChosenModel(Struct, frozen=True):
    """The model that a client is to request; ``name`` is what the client sends."""

    name: str
    entry: ModelEntry


class LaunchCommand(Struct, frozen=True):
    """The arguments and the whole environment of a client's process."""

    arguments: tuple[str, ...]
    env: Mapping[str, str]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    client: tuple[LaunchClient, ...]


@cache
def load_clients() -> Mapping[str, LaunchClient]:
    """Return the clients by name."""
    text = files(__package__).joinpath("clients.toml").read_text("utf-8")
    rows = convert_json(parse_toml(text, "clients.toml").values, _Table).client
    return {row.name: row for row in rows}


def _resolve(model: str, config: GatewayConfig, lookup: Lookup, *, offline: bool) -> ResolvedRoute:
    """Return the models of a route, else of pondero's own names; raises UnknownModel."""
    try:
        return Routing(config, lookup).resolve(model)
    except UnknownModel:
        pass
    try:
        return Routing(default_config(config, lookup, offline=offline), lookup).resolve(model)
    except ModelWithoutKey as error:
        error.add_note("launch --offline needs no network and no key")
        raise


def private_config(
    config: GatewayConfig,
    client: LaunchClient,
    *,
    key: str,
    model: str | None,
    lookup: Lookup,
    offline: bool,
) -> tuple[GatewayConfig, ChosenModel | None]:
    """Return the configuration of a gateway for one client, and the model to request.

    A chosen ``model`` answers every name, because clients ask small models for titles and
    summaries; its level applies to the name the client is given, else to every name.
    """
    server = ServerConfig(
        port=0,
        state=config.server.state,
        ledger=config.server.ledger,
        max_body=config.server.max_body,
        drain_seconds=0,
        log="off",
    )
    config = replace(
        config,
        server=server,
        keys=(GatewayKey("launch", hash_key(key)),),
        # Sessions outlive the key. In a shared state, "local" would be other users too.
        private=server.state == "memory",
    )
    if model is None:
        return config, None
    resolved = _resolve(model, config, lookup, offline=offline)
    entry = resolved.entries[0]
    usual = resolved.route or GatewayRoute("*", (entry.id,))
    name = _ODD.sub("-", entry.model)
    dialled = usual
    if resolved.level is not None:
        dialled = replace(usual, thinking=replace(usual.thinking, force=resolved.level))
    rest = usual if client.is_told else dialled
    routes = (replace(dialled, match=name), replace(rest, match="*"))
    return replace(config, routes=routes, open=frozenset()), ChosenModel(name, entry)


def prepare_launch(
    client: LaunchClient,
    chosen: ChosenModel | None,
    *,
    routing: Routing,
    url: str,
    key: str,
    folder: Path,
    environment: Mapping[str, str],
) -> LaunchCommand:
    """Write a client's files into the private folder and return how to start it."""
    words = {"url": url, "key": key, "folder": folder.as_posix(), **_facts(chosen)}

    def fill(text: str) -> str:
        return Template(text).substitute(words)

    for name, text in client.files.items():
        (folder / name).write_text(fill(text), encoding="utf-8")
    for name, address in client.lists.items():
        found = answer_model_list(HttpRequest("GET", f"{url}{address}", {}), routing)
        (folder / name).write_bytes(found.body if found is not None else b"")
    if client.mirrored is not None:
        _mirror(Path.home() / client.mirrored, folder / client.mirrored, client.merged)
    env = {name: value for name, value in environment.items() if name not in client.unset}
    for name in ("NO_PROXY", "no_proxy"):
        env[name] = ",".join(filter(None, (environment.get(name), _DIRECT)))
    own = {**client.env, **(client.model_env if chosen else {})}
    arguments: Iterable[str] = (*client.arguments, *(client.model_arguments if chosen else ()))
    return LaunchCommand(
        arguments=tuple(fill(each) for each in arguments),
        env=env | {name: fill(text) for name, text in own.items()},
    )


def _mirror(home: Path, here: Path, merged: Mapping[str, str]) -> None:
    """Link the files of a user's folder into the private one; merged files are our own."""
    here.mkdir()
    for each in home.iterdir() if home.is_dir() else ():
        if each.name not in merged:
            _link(here / each.name, each)
    for name, text in merged.items():
        own = msgspec.json.decode(text)
        theirs = _read_json(home / name)
        (here / name).write_bytes(msgspec.json.encode(_merge(theirs, own)))


def _link(place: Path, to: Path) -> None:
    """Link a file; where users may not make links, as on Windows, copy it."""
    try:
        place.symlink_to(to, target_is_directory=to.is_dir())
    except OSError:
        if to.is_dir():
            shutil.copytree(to, place, symlinks=True)
        else:
            shutil.copy2(to, place)


def copy_back(client: LaunchClient, folder: Path) -> None:
    """Copy a client's new files home; some replace a link, because clients write and rename."""
    if client.mirrored is None:
        return
    home = Path.home() / client.mirrored
    for each in (folder / client.mirrored).iterdir():
        if each.name in client.merged or each.is_symlink():
            continue
        home.mkdir(exist_ok=True)
        if each.is_dir():
            shutil.copytree(each, home / each.name, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(each, home / each.name)


def _read_json(path: Path) -> Json:
    """Return the object in a file; empty if it is missing or not plain JSON."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _merge(below: Json, above: Json) -> Json:
    """Merge two JSON values; ``above`` wins."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{name: _merge(below.get(name), above[name]) for name in above}}


def _facts(chosen: ChosenModel | None) -> Mapping[str, str]:
    if chosen is None:
        return {}
    facts = chosen.entry.capability
    return {
        "model": chosen.name,
        "context": str(facts.context or _WINDOW),
        "output": str(facts.max_output or _OUTPUT),
        "thinks": "true" if facts.thinks else "false",
    }

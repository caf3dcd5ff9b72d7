"""Tries what the settings name: the default model, the local engine, each MCP server, the disk.

``pondero doctor`` calls it. Only addresses on this machine are reached.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ..catalog import Provider
from ..errors import MissingExtra, PonderoError, TransportError, Unreachable
from ..exchange import Retry, Timeouts
from ..extras import install_hint
from ..store import data_folder, load_catalog, load_settings, load_tool_servers, resolve_url
from .client import Client
from .dial import plan
from .health_check import HealthCheck
from .tools.tool_servers import ToolServers
from .usual_model import explain_no_default, find_usual_model

_LOCAL = ("localhost", "127.0.0.1", "::1")
_PATIENCE = Timeouts(connect=1.0, first_byte=3.0, between_bytes=3.0)
_ONCE = Retry(attempts=1)
_LISTED = 5  # models of an engine
_LEAST_ROOM = 100_000_000  # bytes: below it a year of threads does not fit


def check_model() -> Iterator[HealthCheck]:
    """Resolve the model that is asked if none is named."""
    try:
        settings = load_settings()
        if (named := settings.model) is None:
            yield _describe_usual()
            return
        made = plan(named, settings.level(load_catalog().split(named).level))
    except PonderoError as error:
        yield HealthCheck("model", ok=False, value=str(error), fix="pondero config set model MODEL")
        return
    is_short = load_catalog().pin(named) != named
    meant = f"{named}: {made.model}" if is_short else made.model
    unknown = next((note.why for note in made.adjustments if note.code == "unknown_model"), None)
    if unknown is not None:
        yield HealthCheck("model", None, f"{meant}: {unknown}", "see 'pondero models'")
        return
    yield HealthCheck("model", ok=True, value=meant)


def _describe_usual() -> HealthCheck:
    if (usual := find_usual_model()) is None:
        reason = explain_no_default()
        if reason is not None:
            return HealthCheck("model", None, f"none is set; {reason}")
        fix = "pondero config set model MODEL, or set a key; --offline needs neither"
        return HealthCheck("model", None, "none is set, and there is no key", fix)
    return HealthCheck("model", None, f"none is set; {usual.model} is asked ({usual.why})")


def check_engines() -> Iterator[HealthCheck]:
    """Ask each local engine for its models; the one of the default model must answer."""
    wanted = _wanted_provider()
    for provider in load_catalog().catalog.providers.values():
        if provider.auth != "none":
            continue
        try:
            url = resolve_url(provider, {}, needed=True)
        except PonderoError:
            continue
        if urlsplit(url).hostname in _LOCAL:
            yield from _check_engine(provider, url, wanted=provider.name == wanted)


def check_engine(provider: Provider) -> None:
    """Raise Unreachable if a provider is a server on this machine that does not answer."""
    if provider.auth != "none":
        return
    url = resolve_url(provider, {}, needed=True)
    if urlsplit(url).hostname not in _LOCAL:
        return
    try:
        with Client(timeouts=_PATIENCE, retry=_ONCE) as client:
            client.models(provider.name)
    except TransportError:
        how = provider.start or "start it"
        raise Unreachable(f"{provider.label} does not answer at {url}: {how}") from None
    except PonderoError:
        return  # it answers, if only to say no


def _check_engine(provider: Provider, url: str, *, wanted: bool) -> Iterator[HealthCheck]:
    name = f"engine {provider.name}"
    try:
        with Client(timeouts=_PATIENCE, retry=_ONCE) as client:
            found = client.models(provider.name)
    except PonderoError as error:
        if wanted:
            yield HealthCheck(name, ok=False, value=str(error), fix=f"start it at {url}")
        return
    loaded = ", ".join(each.name for each in found[:_LISTED]) or "no model is loaded"
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    yield HealthCheck(name, ok=True, value=f"{url}: {loaded}{more}")


def _wanted_provider() -> str | None:
    try:
        named = load_settings().model
        return None if named is None else load_catalog().entry(named).provider.name
    except PonderoError:
        return None


def check_tool_servers() -> Iterator[HealthCheck]:
    """Start each MCP server of config.toml and list its tools."""
    for name, server in load_tool_servers().items():
        links = ToolServers((server,))
        try:
            tools = links.open()
        except PonderoError as error:
            missing = isinstance(error, MissingExtra)
            fix = install_hint("mcp") if missing else f"correct [mcp.{name}] in config.toml"
            yield HealthCheck(f"mcp {name}", ok=False, value=str(error), fix=fix)
        else:
            listed = ", ".join(tool.name for tool in tools) or "no tools"
            yield HealthCheck(f"mcp {name}", ok=True, value=listed)
        finally:
            links.close()


def check_disk() -> Iterator[HealthCheck]:
    """Report the room on the disk of the threads."""
    there = Path(data_folder())
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        free = shutil.disk_usage(there).free
    except OSError as error:
        yield HealthCheck("disk", ok=False, value=f"{there}: {error.strerror or error}")
        return
    ok = free >= _LEAST_ROOM
    fix = None if ok else "make room: 'pondero threads prune --older 90d', or empty the disk"
    yield HealthCheck("disk", ok=ok, value=f"{free / 1e9:,.1f} GB free at {there}", fix=fix)

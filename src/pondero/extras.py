"""Says how to install an extra, in the way in which pondero itself was installed.

An error that names a missing package calls it; the wrong command would find nothing.
"""

import os
import re
import sys
from pathlib import Path

_TOOLS = {
    "uv-receipt.toml": "uv tool install --force",
    "pipx_metadata.json": "pipx install --force",
}
"""Files that a tool writes into the environment of a program, and how it installs one."""

_EXTRA = re.compile(r"([A-Za-z0-9_.-]+).*extra\s*==\s*['\"]([\w-]+)['\"]")


def install_hint(extra: str) -> str:
    """Return the command that installs an extra.

    >>> install_hint("tui")
    "pip install 'pondero[tui] @ file:///home/ada/pondero'"
    """
    tool = _find_tool()
    # A tool makes the environment again: an extra that is not named would be gone.
    extras = ",".join([*_list_installed(), extra]) if tool else extra
    installer = tool or _find_installer()
    source, editable = _find_source()
    if editable:  # stays so: a changed file is used at once
        return f"{installer} -e '{source}[{extras}]'"
    return f"{installer} 'pondero[{extras}]{f' @ {source}' if source else ''}'"


def load_extras() -> dict[str, list[str]]:
    """Return the packages of each extra, without the extra that names the others."""
    from importlib import metadata  # noqa: PLC0415 - costs 20 ms, only for an error

    extras: dict[str, list[str]] = {}
    for line in metadata.requires("pondero") or ():
        if (match := _EXTRA.match(line)) and match[2] != "all":
            extras.setdefault(match[2], []).append(match[1])
    return extras


def find_missing(packages: list[str]) -> list[str]:
    """Return the packages that are not installed."""
    from importlib import metadata  # noqa: PLC0415

    missing = []
    for name in packages:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    return missing


def _list_installed() -> list[str]:
    return [extra for extra, packages in load_extras().items() if not find_missing(packages)]


def _find_tool() -> str:
    """Return how the tool that keeps this environment installs; "" if it is no tool's."""
    found = (command for name, command in _TOOLS.items() if (Path(sys.prefix) / name).exists())
    return next(found, "")


def _find_installer() -> str:
    """Return the installer of this environment, which is named if it is not the active one."""
    from shlex import quote  # noqa: PLC0415

    uv = _read("INSTALLER").strip() == "uv"
    if sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV")):
        return "uv pip install" if uv else "pip install"
    if uv:
        return f"uv pip install --python {quote(sys.prefix)}"
    return f"{quote(sys.executable)} -m pip install"


def _find_source() -> tuple[str, bool]:
    """Return where pondero was installed from, and whether it is a folder that is used in place.

    It is a folder, an archive or a repository; "" for an index.
    """
    from json import loads  # noqa: PLC0415 - only for an error
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    try:
        found = loads(_read("direct_url.json") or "{}")
        url, vcs = str(found.get("url", "")), found.get("vcs_info")
        if found.get("dir_info", {}).get("editable"):
            return url2pathname(urlsplit(url).path), True
        return (f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url), False
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", False


def _read(name: str) -> str:
    """Return a file of the installation; "" if there is none."""
    from importlib import metadata  # noqa: PLC0415 - costs 20 ms, only for an error

    try:
        return metadata.distribution("pondero").read_text(name) or ""
    except metadata.PackageNotFoundError:
        return ""

"""Says how to install an extra, in the way in which pondero itself was installed.

An error that names a missing package calls it; the wrong command would find nothing.
"""

import sys

_TOOLS = {
    ("uv", "tools"): "uv tool install --force",
    ("pipx", "venvs"): "pipx install --force",
}
"""Folders in which a tool keeps an environment for each program, and how it installs one."""


def install_hint(extra: str) -> str:
    """Return the command that installs an extra.

    >>> install_hint("tui")
    "pip install 'pondero[tui] @ file:///home/ada/pondero'"
    """
    source, editable = _find_source()
    if editable:  # stays so: a changed file is used at once
        return f"{_find_installer()} -e '{source}[{extra}]'"
    return f"{_find_installer()} 'pondero[{extra}]{f' @ {source}' if source else ''}'"


def _find_installer() -> str:
    parts = tuple(sys.prefix.replace("\\", "/").split("/"))
    for folders, command in _TOOLS.items():
        if any(parts[at : at + 2] == folders for at in range(len(parts))):
            return command
    return "uv pip install" if _read("INSTALLER").strip() == "uv" else "pip install"


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

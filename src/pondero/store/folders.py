"""Where the user's own files are, and what stands in them."""

import os
from pathlib import Path


def config_folder() -> Path:
    """Return the folder of config.toml and models.toml; PONDERO_CONFIG_DIR moves it."""
    if named := os.environ.get("PONDERO_CONFIG_DIR"):
        return Path(named)
    if os.name == "posix" and os.uname().sysname == "Linux":
        # What platformdirs says there, without the 20 ms of its import.
        base = os.environ.get("XDG_CONFIG_HOME", "").strip()
        return (Path(base) if base else Path.home() / ".config") / "pondero"
    from platformdirs import user_config_path  # noqa: PLC0415 - see above

    return user_config_path("pondero")


def catalog_files() -> dict[str, str]:
    """Return the user's catalog files by path: models.toml, families/*.toml, providers/*.toml."""
    folder = config_folder()
    if not folder.is_dir():
        return {}
    patterns = ("models.toml", "families/*.toml", "providers/*.toml")
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return {str(path): path.read_text("utf-8") for path in paths}


def config_text() -> tuple[str, str] | None:
    """Return the path and text of config.toml, if there is one."""
    path = config_folder() / "config.toml"
    return (str(path), path.read_text("utf-8")) if path.is_file() else None

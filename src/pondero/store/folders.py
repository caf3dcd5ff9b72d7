"""Where the user's own folders are, and the text of config.toml."""

import os
import sys


def config_folder() -> str:
    """Return the folder of config.toml and models.toml; PONDERO_CONFIG_DIR moves it."""
    if named := os.environ.get("PONDERO_CONFIG_DIR"):
        return named
    system: str = sys.platform
    if system == "linux":  # what platformdirs says there, without the 20 ms of its import
        base = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return os.path.join(base, "pondero")
    from platformdirs import user_config_dir  # noqa: PLC0415 - see above

    return user_config_dir("pondero")


def data_folder() -> str:
    """Return the folder of the threads; PONDERO_DATA_DIR moves it."""
    if named := os.environ.get("PONDERO_DATA_DIR"):
        return named
    from platformdirs import user_data_dir  # noqa: PLC0415 - only where threads are read

    return user_data_dir("pondero")


def config_text() -> tuple[str, str] | None:
    """Return the path and text of config.toml, if there is one."""
    path = os.path.join(config_folder(), "config.toml")
    return (path, text_of(path)) if os.path.isfile(path) else None


def text_of(path: str) -> str:
    """Return what stands in a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()

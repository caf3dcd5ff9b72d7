"""Keys the user asked us to keep: in the system's keyring, else in a file only they can read.

They are kept under the name of the variable they stand for, which always wins over them.
"""

from pathlib import Path
from types import ModuleType

import msgspec

from ..errors import StoreError
from .files import write_whole
from .folders import config_folder
from .secrets import remember

FILE = "keys.json"
KEYRING = "keyring"

_SERVICE = "pondero"


def keys_file() -> Path:
    """Return the file of the keys; one that is in the keyring is only named there."""
    return Path(config_folder()) / FILE


def saved_keys() -> dict[str, str]:
    """Return the variables keys are kept for, and where each is; no key."""
    path = keys_file()
    return {name: str(path) if key else KEYRING for name, key in _read().items()}


def saved_key(variable: str) -> str | None:
    """Return the key kept for a variable; None where there is none, or the keyring is shut."""
    kept = _read()
    if variable not in kept:
        return None
    key = kept[variable] or _from_keyring(variable)
    if key:
        remember(key)
    return key or None


def save_key(variable: str, key: str) -> str:
    """Keep a key and return where; raises StoreError."""
    remember(key)
    inside = _into_keyring(variable, key)
    _write({**_read(), variable: None if inside else key})
    return KEYRING if inside else str(keys_file())


def forget_key(variable: str) -> bool:
    """Forget a key; return whether there was one."""
    kept = _read()
    if variable not in kept:
        return False
    if kept.pop(variable) is None and (keyring := _keyring()) is not None:
        try:
            keyring.delete_password(_SERVICE, variable)
        except keyring.errors.KeyringError as error:
            message = f"the keyring did not let go of {variable}: {error}"
            raise StoreError(message) from None
    _write(kept)
    return True


def _read() -> dict[str, str | None]:
    path = keys_file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str | None])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        # What the file holds is not for an error message.
        message = f"{path} cannot be read as kept keys; repair or delete it"
        raise StoreError(message) from None


def _write(keys: dict[str, str | None]) -> None:
    write_whole(keys_file(), msgspec.json.encode(keys).decode() + "\n")


def _keyring() -> ModuleType | None:
    """Return the keyring library, if it is installed and has a keyring to speak to."""
    try:
        import keyring  # noqa: PLC0415 - slow, and may not be installed
        import keyring.errors  # noqa: PLC0415 - see above
    except ImportError:
        return None
    return keyring


def _into_keyring(variable: str, key: str) -> bool:
    if (keyring := _keyring()) is None:
        return False
    try:
        keyring.set_password(_SERVICE, variable, key)
        return bool(keyring.get_password(_SERVICE, variable) == key)
    except keyring.errors.KeyringError:
        return False


def _from_keyring(variable: str) -> str | None:
    if (keyring := _keyring()) is None:
        return None
    try:
        found: str | None = keyring.get_password(_SERVICE, variable)
    except keyring.errors.KeyringError:
        return None
    return found

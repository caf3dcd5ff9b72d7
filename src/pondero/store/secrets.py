"""Keys that are saved for the user, and the secrets that may stand in no file of ours.

Keys are saved in the system's keyring, else in a file only the user can read, under the name of the
variable they stand for; a variable that is set always wins. Everything written to disk goes through
``SecretRedactor`` or ``redact_secrets``, which take out every secret this process knows.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import msgspec

from ..canon import HIDDEN, LEAST_LEARNED, Json, convert_json, decode_json, find_secrets
from ..errors import StoreError
from .files import config_folder, write_atomic

Kind = TypeVar("Kind")

_in_use: set[str] = set()


def register_secret(secret: str) -> None:
    """Remember a secret for ``redact_secrets``; one as short as a word is ignored."""
    if len(secret) >= LEAST_LEARNED:
        _in_use.add(secret)


def redact_secrets(text: str) -> str:
    """Return a text without any secret this process knows."""
    return SecretRedactor().text(text)


class SecretRedactor:
    """Replaces these secrets, and those this process knows, in values that are written."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {*secrets, *find_secrets(os.environ), *_in_use}
        self._secrets = sorted(known, key=len, reverse=True)  # one may begin with another

    def text(self, text: str) -> str:
        """Return a text without them."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def value(self, value: Kind) -> Kind:
        """Return a value without them; the same object where it contains none."""
        if not self._secrets:
            return value
        plain = msgspec.to_builtins(value, builtin_types=(bytes,))
        clean = self._clean(plain)
        return value if clean == plain else convert_json(clean, type(value), builtins=(bytes,))

    def _clean(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            for secret in self._secrets:
                value = value.replace(secret.encode("utf-8", "surrogatepass"), HIDDEN.encode())
            return value
        if isinstance(value, dict):
            return {self.text(name): self._clean(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._clean(each) for each in value)
        return value


FILE = "keys.json"
KEYRING = "keyring"

_SERVICE = "pondero"


def keys_file() -> Path:
    """Return the file of the keys; for a key in the keyring it has the name only."""
    return Path(config_folder()) / FILE


def list_saved_keys() -> dict[str, str]:
    """Return the variables that have a saved key, each with the place of the key."""
    path = keys_file()
    return {name: str(path) if key else KEYRING for name, key in _read().items()}


def load_saved_key(variable: str) -> str | None:
    """Return the key saved for a variable; None where there is none, or the keyring is locked."""
    kept = _read()
    if variable not in kept:
        return None
    key = kept[variable] or _from_keyring(variable)
    if key:
        register_secret(key)
    return key or None


def save_key(variable: str, key: str) -> str:
    """Save a key and return where; raises StoreError."""
    register_secret(key)
    inside = _into_keyring(variable, key)
    _write({**_read(), variable: None if inside else key})
    return KEYRING if inside else str(keys_file())


def forget_key(variable: str) -> bool:
    """Delete a saved key; return whether there was one."""
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
        return decode_json(path.read_bytes(), dict[str, str | None])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        # The file holds keys: an error message must not quote it.
        message = f"{path} cannot be read as kept keys; repair or delete it"
        raise StoreError(message) from None


def _write(keys: dict[str, str | None]) -> None:
    write_atomic(keys_file(), msgspec.json.encode(keys).decode() + "\n")


def _keyring() -> ModuleType | None:
    """Return the keyring library, if it is installed."""
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

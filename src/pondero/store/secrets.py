"""Saved keys, and redaction of secrets in everything that is written to disk.

Keys are saved in the system's keyring, else in a file that only the user can read, by the name of
their variable; a variable that is set overrides them.
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
    """Register a secret for ``redact_secrets``; ignores one as short as a word."""
    if len(secret) >= LEAST_LEARNED:
        _in_use.add(secret)


def redact_secrets(text: str) -> str:
    """Redact every secret known to this process."""
    return SecretRedactor().text(text)


class SecretRedactor:
    """Redacts these secrets, and those known to this process."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {*secrets, *find_secrets(os.environ), *_in_use}
        self._secrets = sorted(known, key=len, reverse=True)  # one may begin with another

    def text(self, text: str) -> str:
        """Return a text, redacted."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def value(self, value: Kind) -> Kind:
        """Return a value, redacted; the same object if it contains no secret."""
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
    """Return the file of the keys; it has only the name of a key in the keyring."""
    return Path(config_folder()) / FILE


def list_saved_keys() -> dict[str, str]:
    """Return the variables that have a saved key, each with its place."""
    path = keys_file()
    return {name: str(path) if key else KEYRING for name, key in _read().items()}


def load_saved_key(variable: str) -> str | None:
    """Return the key saved for a variable; None if there is none, or the keyring is locked."""
    saved = _read()
    if variable not in saved:
        return None
    key = saved[variable] or _from_keyring(variable)
    if key:
        register_secret(key)
    return key or None


def save_key(variable: str, key: str) -> str:
    """Save a key and return its place; raises StoreError."""
    register_secret(key)
    inside = _into_keyring(variable, key)
    _write({**_read(), variable: None if inside else key})
    return KEYRING if inside else str(keys_file())


def forget_key(variable: str) -> bool:
    """Delete a saved key; return whether there was one."""
    saved = _read()
    if variable not in saved:
        return False
    if saved.pop(variable) is None and (keyring := _find_keyring()) is not None:
        try:
            keyring.delete_password(_SERVICE, variable)
        except keyring.errors.KeyringError as error:
            message = f"could not delete {variable} from the keyring: {error}"
            raise StoreError(message) from None
    _write(saved)
    return True


def _read() -> dict[str, str | None]:
    path = keys_file()
    try:
        return decode_json(path.read_bytes(), dict[str, str | None])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        # The file holds keys: an error message must not quote it.
        message = f"cannot read the saved keys in {path}; repair or delete it"
        raise StoreError(message) from None


def _write(keys: dict[str, str | None]) -> None:
    write_atomic(keys_file(), msgspec.json.encode(keys).decode() + "\n")


def _find_keyring() -> ModuleType | None:
    try:
        import keyring  # noqa: PLC0415 - slow, and may not be installed
        import keyring.errors  # noqa: PLC0415 - see above
    except ImportError:
        return None
    return keyring


def _into_keyring(variable: str, key: str) -> bool:
    if (keyring := _find_keyring()) is None:
        return False
    try:
        keyring.set_password(_SERVICE, variable, key)
        return bool(keyring.get_password(_SERVICE, variable) == key)
    except keyring.errors.KeyringError:
        return False


def _from_keyring(variable: str) -> str | None:
    if (keyring := _find_keyring()) is None:
        return None
    try:
        found: str | None = keyring.get_password(_SERVICE, variable)
    except keyring.errors.KeyringError:
        return None
    return found

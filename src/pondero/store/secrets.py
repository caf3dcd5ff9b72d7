"""Secrets that may stand in no file of ours: those of the environment, and saved keys in use."""

import os
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from ..canon import LEAST_LEARNED, Json, secrets_of

HIDDEN = "REDACTED"

Kind = TypeVar("Kind")

_in_use: set[str] = set()


def remember(secret: str) -> None:
    """Note a secret that this process came to know; a short one is a word, and is not noted."""
    if len(secret) >= LEAST_LEARNED:
        _in_use.add(secret)


def hidden(text: str) -> str:
    """Return a text without any secret this process knows."""
    return Hider().text(text)


class Hider:
    """Takes these secrets, and those this process knows, out of what is written."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {*secrets, *secrets_of(os.environ), *_in_use}
        self._secrets = sorted(known, key=len, reverse=True)  # one may begin with another

    def text(self, text: str) -> str:
        """Return a text without them."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def value(self, value: Kind) -> Kind:
        """Return a value without them: the very same where none is in it."""
        if not self._secrets:
            return value
        plain = msgspec.to_builtins(value, builtin_types=(bytes,))
        clean = self._clean(plain)
        return (
            value if clean == plain else msgspec.convert(clean, type(value), builtin_types=(bytes,))
        )

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

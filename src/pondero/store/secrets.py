"""Saved keys, and redaction of secrets in everything that is written or printed.

Keys are saved in the system's keyring, else in a file that only the user can read, by the name of
their variable; a variable that is set overrides them. What is sent to a model stays unchanged:
only what pondero stores, exports, prints and logs is redacted.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

import msgspec

from ..canon import HIDDEN, LEAST_LEARNED, Json, convert_json, decode_json, find_secrets
from ..errors import PonderoError, StoreError
from .files import config_folder, load_catalog, write_atomic
from .key_shapes import CONTEXT, find_key_shapes, find_open_key, list_encodings

Kind = TypeVar("Kind")
Span = tuple[int, int]

_SHORT = 80  # characters of a text that is remembered as clean
_CLEAN = 4096  # such texts

_in_use: set[str] = set()


def register_secret(secret: str) -> None:
    """Register a secret for ``redact_secrets``; ignores one as short as a word."""
    if len(secret) >= LEAST_LEARNED:
        _in_use.add(secret)


def known_secrets(*, keyring: bool = True) -> frozenset[str]:
    """Return the keys of variables, the saved ones and those in use.

    Only keys that pondero saved are read from the keyring, once per process: it may be slow, or
    ask the user. Without ``keyring``, it is not opened.
    """
    found = {*find_secrets(os.environ), *_in_use, *_provider_secrets(), *_saved_secrets(keyring)}
    return frozenset(each for each in found if len(each) >= LEAST_LEARNED and each != HIDDEN)


def redact_secrets(text: str) -> str:
    """Redact every known secret, and everything that looks like a key."""
    return SecretRedactor().text(text)


def holds_secret(text: str, *, keyring: bool = True) -> bool:
    """Return whether a text contains a known secret or something that looks like a key."""
    return SecretRedactor(keyring=keyring).finds(text)


class SecretRedactor:
    """Redacts these secrets, all known ones, and everything that looks like a key."""

    def __init__(self, secrets: Iterable[str] = (), *, keyring: bool = True) -> None:
        self._known = known_secrets(keyring=keyring) | frozenset(filter(None, secrets))
        self._encodings = _list_encodings(self._known)

    def finds(self, text: str) -> bool:
        """Return whether there is something to redact."""
        return next(self._find(text), None) is not None

    def knows_clean(self, texts: Iterable[str]) -> bool:
        """Return whether ``text`` was called with all of these, and left them as they are.

        Only short texts are remembered, such as names.
        """
        return self._encodings.clean.issuperset(texts)

    def text(self, text: str) -> str:
        """Return a text, redacted."""
        clean = self._encodings.clean
        if text in clean:
            return text
        spans = _merge_spans(self._find(text))
        if not spans and len(text) <= _SHORT:
            if len(clean) >= _CLEAN:
                clean.clear()
            clean.add(text)
        return "".join(_cut(text, spans, HIDDEN)) if spans else text

    def pieces(self, pieces: Sequence[str]) -> list[str]:
        """Return the pieces of one text, redacted, also a secret that spans several."""
        spans = _merge_spans(self._find("".join(pieces)))
        redacted, begin = [], 0
        for piece in pieces:
            end, at, shown = begin + len(piece), 0, ""
            for first, last in spans:
                if first < end and last > begin:
                    shown += piece[at : max(first - begin, at)] + HIDDEN * (first >= begin)
                    at = min(last, end) - begin
            redacted.append(shown + piece[at:])
            begin = end
        return redacted

    def rest(self, text: str, at: int) -> str:
        """Return a text from a place on, redacted; the text before it is context."""
        spans = [(max(begin, at), end) for begin, end in _merge_spans(self._find(text)) if end > at]
        return "".join(_cut(text, spans, HIDDEN, at))

    def data(self, data: bytes) -> bytes:
        """Return bytes, redacted: texts in UTF-8 or UTF-16, and base64."""
        spans = _merge_spans(self._find_in_bytes(data))
        return b"".join(_cut(data, spans, HIDDEN.encode())) if spans else data

    def value(self, value: Kind) -> Kind:
        """Return a value, redacted; the same object if it contains no secret."""
        plain = msgspec.to_builtins(value, builtin_types=(bytes,))
        clean = self._clean(plain)
        return value if clean == plain else convert_json(clean, type(value), builtins=(bytes,))

    def find_open(self, text: str) -> int:
        """Return where a secret may begin that is not complete at the end; else the length."""
        begin = find_open_key(text)
        for secret in self._known:
            at = text.find(secret[0], max(0, len(text) - len(secret) + 1))
            while 0 <= at < begin:
                if secret.startswith(text[at:]):
                    begin = at
                at = text.find(secret[0], at + 1)
        # A secret that is complete, but could go on, is not cut in two.
        inside = (first for first, last in self._find(text) if first < begin < last)
        return min(inside, default=begin)

    def _clean(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.data(value)
        if isinstance(value, dict):
            return {self.text(name): self._clean(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._clean(each) for each in value)
        return value

    def _find(self, text: str) -> Iterator[Span]:
        for form in self._encodings.texts:
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = text.find(form, at + 1)
        yield from ((found.start, found.end) for found in find_key_shapes(text))

    def _find_in_bytes(self, data: bytes) -> Iterator[Span]:
        for form in self._encodings.raw:
            at = data.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = data.find(form, at + 1)
        # Shapes have ASCII letters alone, so that one byte is one character.
        shapes = find_key_shapes(data.decode("latin-1"))
        yield from ((found.start, found.end) for found in shapes)


class StreamRedactor:
    """Redacts a text that arrives in pieces; holds back an end that may become a secret."""

    def __init__(self) -> None:
        self._redactor = SecretRedactor()
        self._before = ""  # the last characters given back: a key begins where a word begins
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text so far that cannot become a secret, redacted."""
        whole = self._before + self._held + text
        return self._release(whole, max(self._redactor.find_open(whole), len(self._before)))

    def end(self) -> str:
        """Return the rest."""
        whole = self._before + self._held
        return self._release(whole, len(whole))

    def _release(self, whole: str, end: int) -> str:
        shown = self._redactor.rest(whole[:end], len(self._before))
        self._held = whole[end:]
        self._before = whole[max(0, end - CONTEXT) : end]
        return shown


class _Encodings(NamedTuple):
    """What is searched for; ``clean`` are short texts without it, such as the names of models."""

    texts: tuple[str, ...]
    raw: tuple[bytes, ...]
    clean: set[str]


@lru_cache(maxsize=8)
def _list_encodings(secrets: frozenset[str]) -> _Encodings:
    raw = sorted({form for secret in secrets for form in list_encodings(secret)})
    texts = (form.decode("utf-8", "surrogatepass") for form in raw if b"\0" not in form)
    return _Encodings(tuple(texts), tuple(raw), set())


def _merge_spans(spans: Iterator[Span]) -> list[Span]:
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


_Whole = TypeVar("_Whole", str, bytes)


def _cut(whole: _Whole, spans: list[Span], mark: _Whole, at: int = 0) -> Iterator[_Whole]:
    for begin, end in spans:
        yield whole[at:begin]
        yield mark
        at = end
    yield whole[at:]


def _provider_secrets() -> Iterator[str]:
    """Yield the values of variables that the user's own providers name as keys.

    Those of pondero's providers are all named like keys.
    """
    if (Path(config_folder()) / "providers").is_dir():
        try:
            providers = load_catalog().catalog.providers.values()
        except PonderoError:
            return
        for provider in providers:
            yield from (os.environ.get(name, "").strip() for name in provider.keys)


def _saved_secrets(keyring: bool) -> Iterator[str]:  # noqa: FBT001 - passed on
    path = keys_file()
    try:
        about = path.stat()
    except OSError:
        return
    saved = _read_once(path, (about.st_mtime_ns, about.st_size, about.st_ino))
    for name, key in saved:
        if key is not None:
            yield key
        elif keyring and (found := _read_keyring_once(name)):
            yield found


@lru_cache(maxsize=1)
def _read_once(path: Path, _version: tuple[int, int, int]) -> tuple[tuple[str, str | None], ...]:
    """Return the saved keys; of a broken file, all that could be one."""
    _read_keyring_once.cache_clear()
    try:
        return tuple(_read().items())
    except StoreError:
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            return ()
        return tuple((found, found) for found in _VALUE.findall(text))


@lru_cache(maxsize=64)
def _read_keyring_once(name: str) -> str | None:
    return _from_keyring(name)


_VALUE = re.compile(r'"(?![A-Z0-9_]+")([^"\\]+)')  # a string that is no variable's name

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

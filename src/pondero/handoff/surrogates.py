"""Replaces lone surrogates in texts and JSON: a Python string may hold them, UTF-8 cannot."""

from collections.abc import Iterator

from msgspec.json import Encoder

from ..canon import Json

_ENCODER = Encoder()


def has_no_surrogates(text: str) -> bool:
    """Return whether a text can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def replace_surrogates(text: str) -> str:
    """Return a text with surrogate pairs joined and lone surrogates as U+FFFD."""
    if text.isascii() or has_no_surrogates(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def replace_surrogates_in_json(value: Json) -> Json:
    """Return JSON with lone surrogates replaced; the same object if there are none."""
    try:
        _ENCODER.encode(value)  # a hundred times quicker than a look at every text
    except UnicodeEncodeError:
        return _replace_in_json(value)
    except (OverflowError, RecursionError, TypeError, ValueError):
        return value if all(map(has_no_surrogates, iter_texts(value))) else _replace_in_json(value)
    return value


def iter_texts(value: Json) -> Iterator[str]:
    """Yield every text in a JSON value, keys included."""
    waiting = [value]  # a stack of our own: arguments may be nested deeper than Python calls
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += each
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each


def _replace_in_json(value: Json) -> Json:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {replace_surrogates(key): _replace_in_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_in_json(each) for each in value]
    return value

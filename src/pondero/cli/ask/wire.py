"""``ask --wire``: each raw request and response on stderr, without keys."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from ...canon import Json
from ...cassettes import RecordedExchange, Redactor
from ...store import SecretRedactor, redact_secrets
from ..output.echo import echo, style_text


class WirePrinter:
    """Prints exchanges that are over: JSON indented on a terminal unless ``plain``, else as is."""

    def __init__(self, *, plain: bool) -> None:
        self._exact = plain or not sys.stderr.isatty()

    def print(self, exchange: RecordedExchange) -> None:
        """Print one exchange; a request's lines begin with >, an answer's with <, as with curl."""
        request, head = exchange.request, exchange.head
        named = Redactor()  # by the names of headers and parameters, however short a key is
        url = named.url(request.url)
        self._head(">", f"{request.method} {url}", named.headers(request.headers))
        self._body(request.body)
        if head is not None:
            self._head("<", str(head.status), named.headers(head.headers))
            self._body(exchange.body)
        if exchange.end is not None and exchange.end.message:
            self._head("<", exchange.end.message, {})

    def _head(self, mark: str, first: str, headers: Mapping[str, str]) -> None:
        for line in (first, *(f"{name}: {value}" for name, value in headers.items())):
            echo(style_text(f"{mark} {redact_secrets(line)}", fg="cyan"), err=True)
        echo(err=True)

    def _body(self, body: bytes) -> None:
        text = _redact_stream(body.decode("utf-8", "replace"))
        if not self._exact:
            with suppress(msgspec.DecodeError):
                text = msgspec.json.format(text, indent=2)
        if text:
            echo(style_text(redact_secrets(text).rstrip("\n"), dim=True), err=True, exact=True)
        echo(err=True)


def _redact_stream(text: str) -> str:
    """Return a stream's events without the secrets that a model spread over several of them.

    Strings at the same path of the events are one text; lines without such a secret stay.
    """
    lines = text.split("\n")
    events = {number: _read_event(line) for number, line in enumerate(lines)}
    texts: dict[str, list[tuple[int, str]]] = {}
    for number, event in events.items():
        for path, each in _iter_strings("", event):
            texts.setdefault(path, []).append((number, each))
    redactor, changed = SecretRedactor(), dict[int, dict[str, str]]()
    for path, found in texts.items():
        clean = redactor.pieces([each for _, each in found]) if len(found) > 1 else ()
        for (number, before), after in zip(found, clean, strict=False):
            if after != before:
                changed.setdefault(number, {})[path] = after
    for number, new in changed.items():
        begin = "data: " if lines[number].startswith("data:") else ""
        lines[number] = begin + msgspec.json.encode(_replace("", events[number], new)).decode()
    return "\n".join(lines)


def _read_event(line: str) -> Json:
    try:
        return msgspec.json.decode(line.removeprefix("data:")) if "{" in line else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _iter_strings(path: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _iter_strings(f"{path}.{name}", inner)


def _replace(path: str, value: Json, new: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return {name: _replace(f"{path}.{name}", inner, new) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replace(f"{path}.{place}", inner, new) for place, inner in enumerate(value)]
    return new.get(path, value) if isinstance(value, str) else value

"""``ask --wire``: each raw request and response on stderr, without keys."""

import sys
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from ...cassettes import RecordedExchange, Redactor
from ...store import redact_secrets
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
        text = body.decode("utf-8", "replace")
        if not self._exact:
            with suppress(msgspec.DecodeError):
                text = msgspec.json.format(text, indent=2)
        if text:
            echo(style_text(redact_secrets(text).rstrip("\n"), dim=True), err=True, exact=True)
        echo(err=True)

"""Checks what a client is made of, when it is made: one error for each, which names the fix."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadParameter, UsageError
from ..exchange import Retry, Timeouts
from ..store import load_catalog
from .prompts.option_names import explain_unknown, find_ours
from .prompts.options import ChatOptions

_KNOWN = ("policy", "transport", "retry", "timeouts", "keys", "urls", "on_request", "on_reply")
_INSTEAD = {
    "timeout": "use timeouts=pondero.Timeouts(...), or timeout= of a call",
    "retries": "use retry=pondero.Retry(attempts=...)",
    "headers": "use transport=pondero.HttpTransport(headers=...), or headers= of a call",
    "http_client": "use transport=pondero.HttpTransport(...)",
    **{
        name: f"use transport=pondero.HttpTransport({name}=...)"
        for name in ("proxy", "verify", "cert", "limits", "http2")
    },
}
_OF_CALLS = frozenset(("model", "thinking", *ChatOptions.__annotations__, "tools", "mcp"))
_LOCAL = ("localhost", "127.", "0.0.0.0", "[::1]")  # noqa: S104 - compared, not bound


def reject_unknown(given: Mapping[str, object]) -> None:
    """Raise BadParameter for an argument that no client has; it names the right place."""
    for name in given:
        of_calls = (find_ours(name) or name) in _OF_CALLS
        advice = _INSTEAD.get(name) or ("give it to ask, stream or Chat" if of_calls else None)
        said = f"unknown option {name!r}; {advice}" if advice else explain_unknown(name, _KNOWN)
        raise BadParameter(said)


def read_retry(given: Any) -> Retry:
    """Return the retry policy of a client."""
    if given is None or isinstance(given, Retry):
        return given or Retry()
    attempts = given if type(given) is int and given > 0 else 1
    raise BadParameter(f"invalid retry={given!r}; use pondero.Retry(attempts={attempts})")


def read_timeouts(given: Any) -> Timeouts:
    """Return the timeouts of a client."""
    if given is None or isinstance(given, Timeouts):
        return given or Timeouts()
    number = isinstance(given, int | float) and not isinstance(given, bool)
    shape = f"first_byte={given!r}" if number else "connect=10, first_byte=60, between_bytes=300"
    raise BadParameter(f"invalid timeouts={given!r}; use pondero.Timeouts({shape})")


def check_transport(transport: Any, *, is_async: bool) -> None:
    """Raise UsageError for a transport that this kind of client cannot call."""
    if transport is None:
        return
    blocks, awaits = hasattr(transport, "close"), hasattr(transport, "aclose")
    kind = "AsyncHttpTransport" if is_async else "HttpTransport"
    if isinstance(transport, type):
        message = f"transport= takes an object, not a class; use {transport.__name__}()"
        raise BadParameter(message)
    if not callable(getattr(transport, "send", None)) or not (blocks or awaits):
        example = kind + (f"(proxy={transport!r})" if isinstance(transport, str) else "()")
        message = f"invalid transport={transport!r}; use pondero.{example}, or an emulator"
        raise BadParameter(message)
    name = type(transport).__name__
    if is_async and not awaits:
        raise UsageError(f"{name} blocks, and an AsyncClient awaits; use Async{name}")
    if not is_async and not blocks:
        message = f"{name} awaits, and a Client blocks; use {_find_waiting_twin(name)}"
        raise UsageError(message)


def check_keys(keys: Any) -> dict[str, str]:
    """Return the keys by provider; raises BadParameter or UnknownProvider."""
    return _read_by_provider("keys", keys, "sk-...")


def check_urls(urls: Any) -> dict[str, str]:
    """Return the addresses by provider; raises BadParameter or UnknownProvider."""
    read = _read_by_provider("urls", urls, "http://localhost:8080")
    for provider, url in read.items():
        scheme, mark, _ = url.strip().partition("://")
        if mark and scheme.lower() in ("http", "https"):
            _check_host(provider, url)
            continue
        named = f"invalid address {url!r} of {provider!r}: it begins with http:// or https://"
        if url.strip() and not mark:
            usual = "http" if url.strip().startswith(_LOCAL) else "https"
            named += f"; write {usual}://{url.strip()}"
        raise BadParameter(named)
    return read


def _check_host(provider: str, url: str) -> None:
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadParameter(f"invalid address {url!r} of {provider!r}: {error}") from None
    if not host or len(host.split()) > 1:
        message = f"invalid address {url!r} of {provider!r}: it has no host, or a space in it"
        raise BadParameter(message)


def _read_by_provider(name: str, given: Any, example: str) -> dict[str, str]:
    shape = f"{name}={{'anthropic': {example!r}}}"
    if not isinstance(given, Mapping | None):
        raise BadParameter(f"{name}= takes a mapping by provider, such as {shape}")
    for provider, value in (given or {}).items():
        load_catalog().provider(provider)
        if not isinstance(value, str):
            message = f"{name}= of {provider!r} is text, not {type(value).__name__}: {shape}"
            raise BadParameter(message)
    return dict(given or {})


def _find_waiting_twin(name: str) -> str:
    return name.removeprefix("Async") if name.startswith("Async") else "HttpTransport"

"""Reads vcrpy's cassettes (YAML with ``interactions``); it writes none.

A hostile file may be nested deep enough to crash the process, or have aliases that unfold to more
than the memory. Both are found in the YAML events, before any value is built.
"""

import zlib
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import msgspec

from ..canon import HttpRequest, Json, ResponseHead
from ..errors import CassetteError, MissingExtra
from ..framing import MAX_FRAME
from .file_format import WIRE_HEADERS, RecordedExchange

_DEEPEST = 200  # levels; 100,000 crash the C part of PyYAML
_UNFOLDED = 8 * 1024 * 1024  # characters that aliases may add; vcrpy's repeat small lists


def parse(data: bytes, name: str) -> tuple[RecordedExchange, ...]:
    """Return the exchanges of a vcrpy cassette; ``name`` appears in errors."""
    content = _yaml(data, name)
    interactions = content.get("interactions") if isinstance(content, dict) else None
    if not isinstance(interactions, list):
        _reject_file(name, "it has no list of interactions, so it is not one of vcrpy's")
    return tuple(
        _build_exchange(each, f"{name}: interactions[{n}]") for n, each in enumerate(interactions)
    )


def _yaml(data: bytes, name: str) -> Json:
    try:
        import yaml  # noqa: PLC0415 - only for these cassettes
    except ImportError:
        message = f"{name} is YAML, which needs pyyaml: pip install pyyaml"
        raise MissingExtra(message) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_unfolded(yaml, yaml.parse(data, Loader=loader), len(data) + _UNFOLDED, name)
        return yaml.load(data, Loader=loader)  # noqa: S506 - both loaders are safe ones
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        _reject_file(f"{name}:{line}", f"this is not YAML: {error.problem or error.context}")
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        _reject_file(name, f"this is not YAML: {error}")


def _check_unfolded(yaml: Any, events: Iterable[Any], most: int, name: str) -> None:
    sizes: dict[str, int] = {}  # characters behind each anchor
    inside: list[tuple[str | None, int]] = [("", 0)]  # anchors and sizes of the open nodes
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            inside.append((event.anchor, 0))
            if len(inside) > _DEEPEST:
                _reject_file(f"{name}:{line}", f"it is more than {_DEEPEST} levels deep")
            continue
        anchor, size = event.anchor if isinstance(event, yaml.NodeEvent) else None, 1
        if isinstance(event, yaml.ScalarEvent):
            size += len(event.value)
        elif isinstance(event, yaml.AliasEvent):
            if anchor in (each for each, _ in inside):
                _reject_file(f"{name}:{line}", f"the alias {anchor!r} contains itself")
            size += sizes.get(anchor or "", 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = inside.pop()
        if anchor is not None and not isinstance(event, yaml.AliasEvent):
            sizes[anchor] = size
        inside[-1] = (inside[-1][0], inside[-1][1] + size)
        if inside[-1][1] > most:
            _reject_file(f"{name}:{line}", f"its aliases add more than {_UNFOLDED:,} characters")


def _build_exchange(interaction: Json, where: str) -> RecordedExchange:
    try:
        asked, answered = interaction["request"], interaction["response"]
        headers = _headers(asked.get("headers"))
        request = HttpRequest(asked["method"], asked["uri"], headers, _body(asked, where))
        status = answered["status"]
        code = int(status["code"] if isinstance(status, dict) else status)
        told = _headers(answered.get("headers"))
        body = _decompress(_body(answered, where), told.get("content-encoding", ""), where)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        _reject_file(where, f"it is not an interaction ({type(error).__name__}: {error})")
    kept = {name: value for name, value in told.items() if name not in WIRE_HEADERS}
    return RecordedExchange(request, ResponseHead(code, kept), (body,) if body else ())


def _headers(raw: Json) -> dict[str, str]:
    """Return the headers; vcrpy stores a list of values for each."""
    return {
        str(name).lower(): ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in (raw or {}).items()
    }


def _body(message: Mapping[str, Json], where: str) -> bytes:
    if "parsed_body" in message:
        return msgspec.json.encode(message["parsed_body"])
    body = message.get("body")
    if isinstance(body, dict):
        if (packed := body.get("base64_string")) is not None:
            return b64decode(packed)
        body = body.get("string")
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode("utf-8")
    if not isinstance(body, bytes):
        _reject_file(where, f"a body cannot be {type(body).__name__}")
    return body


def _decompress(body: bytes, encoding: str, where: str) -> bytes:
    """Decompress the body; some cassettes hold it decompressed already."""
    try:
        if body.startswith(b"\x1f\x8b"):
            return _inflate(body, zlib.MAX_WBITS | 16, where)
        if encoding == "deflate" and body[:1] == b"\x78":
            return _inflate(body, zlib.MAX_WBITS, where)
    except zlib.error as error:
        _reject_file(where, f"its body is not {encoding or 'gzip'}: {error}")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        if encoding not in ("", "identity"):
            _reject_file(
                where, f"its body is packed with {encoding!r}; record it with gzip or none"
            )
    return body


def _inflate(body: bytes, bits: int, where: str) -> bytes:
    """Return the body unpacked; a small one that would fill the memory is refused."""
    unpacker = zlib.decompressobj(bits)
    found = unpacker.decompress(body, MAX_FRAME)
    if unpacker.unconsumed_tail:
        _reject_file(where, f"its body unpacks to more than {MAX_FRAME:,} bytes")
    if not unpacker.eof:
        raise zlib.error("it is cut")
    return found


def _reject_file(where: str, why: str) -> NoReturn:
    message = f"{where}: {why}"
    raise CassetteError(message)

"""Fields that are there twice: services differ in which one they read, so no rule can hold."""

import json
import re
from functools import cache, partial

from msgspec import DecodeError, Raw

from ...canon import Json, get_decoder
from ...dialects import HostedTools, StoredIds, may_escape_names
from ...errors import BadParameter
from ..config.model import GatewayKey

_FIELDS = get_decoder(dict[str, Raw])
_TURNS = get_decoder(list[Raw])
_TYPE = re.compile(rb'"type"\s*:\s*"([^"\\]*)"')
# A list of tools, or one by value (Anthropic's tool_addition).
_MARKS = (b'"tools"', b'"toolConfig"', b'"definition"')
_SCHEMA_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})


def check_repeated(body: bytes, rules: HostedTools) -> None:
    """Raise BadParameter if a tool has a field twice, and one of its types is of the service."""
    if not _may_offer(body):
        return
    try:
        fields = _FIELDS.decode(body)
        held = bytes(fields.get(rules.turns, b""))
        turns = _TURNS.decode(held) if held.startswith(b"[") else []
    except DecodeError:
        return
    for top in {path[0] for path in rules.tools_at}:
        _check_tools(bytes(fields.get(top, b"")), rules)
    for turn in map(bytes, turns):
        if _may_offer(turn):
            _check(turn)


def check_named_once(
    body: bytes, rules: StoredIds | None, *, key: GatewayKey | None, is_named: bool
) -> None:
    """Raise BadParameter if a request that may name something stored has a field twice.

    ``key``: the client's, which may have to name its own things alone. ``is_named``: something was
    found. Else only the fields of files are looked for, in whose places another may be read.
    """
    if rules is None or key is None or key.account_state:
        return
    if is_named or mentions(body, rules.named_at):
        check_no_repeats(body)


def mentions(body: bytes, names: tuple[str, ...]) -> bool:
    """Return whether JSON may have one of these fields."""
    return any(map(body.__contains__, _quote(names))) or may_escape_names(body.__contains__)


def check_no_repeats(body: bytes, holder: str = "the request") -> None:
    """Raise BadParameter if any object of a body has a field twice.

    An object around a name may be there twice too, and services differ in which one they read.
    """
    try:
        json.loads(body, object_pairs_hook=partial(_check_fields, holder))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        return  # the rules of its API read it too, and reject it


@cache
def _quote(names: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(b'"%b"' % name.encode() for name in names)


def _check_fields(holder: str, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        message = f'{holder} has the field "{twice}" twice; send it once'
        raise BadParameter(message)
    return fields


def _may_offer(data: bytes) -> bool:
    """Return whether tools may be offered; most turns have no such mark, and those are quick."""
    return any(map(data.__contains__, _MARKS)) or may_escape_names(data.__contains__)


def _check_tools(tools: bytes, rules: HostedTools) -> None:
    kinds = {kind.decode("utf-8", "replace") for kind in _TYPE.findall(tools)}
    if may_escape_names(tools.__contains__) or kinds - _SCHEMA_TYPES - rules.client_run:
        _check(tools or b"[]")


def _check(text: bytes) -> None:
    try:
        json.loads(text, object_pairs_hook=partial(_check_fields, "a tool"))
    except RecursionError as error:
        message = "a tool is nested too deeply"
        raise BadParameter(message) from error

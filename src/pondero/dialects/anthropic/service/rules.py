"""The service reads a request, strictly: what the real one refuses is refused, in its own words."""

from collections.abc import Mapping

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import Accepted
from pondero.thinking import Intent

from . import conversation
from . import types as wire
from .errors import refuse
from .models import Family, family
from .parse import read
from .predicting import predicts, usual
from .schema import check_shape, check_tools
from .thinking import check, wish
from .typing import typed

HOUSE = "anthropic"
_VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith("/messages") or predicts(path)


def request(http: HttpRequest, _service: str) -> Accepted[Json]:
    """Return what was asked, or raise Rejected with the service's status and body."""
    path = http.url.split("?")[0]
    _check_head(http, path)
    sent = usual(http) if predicts(path) else http.body
    raw: Json = typed(sent, dict)
    body = typed(sent, wire.Body)
    row = family(body.model)
    if row is None:
        raise refuse(f"model: {body.model}", status=404)
    betas = frozenset(
        beta.strip() for beta in http.headers.get("anthropic-beta", "").split(",") if beta.strip()
    )
    _check_betas(raw, betas)
    asked = read(body, raw)
    check(body, row, betas=betas)
    _check_tools(raw, body)
    thinks = wish(body, row)
    dropped = _check_conversation(body, raw, row, thinks=thinks.thinks)
    return Accepted(
        request=asked,
        intent=Intent(thinks.kind, thinks.level, thinks.budget),
        thinks=thinks.thinks,
        shown=thinks.shown,
        context={"body": raw, "dropped": dropped, "bound": row.bound},
        caches="marked",
    )


def _check_head(http: HttpRequest, path: str) -> None:
    if http.method != "POST" or not serves(path):
        raise refuse("Not Found", status=404)
    check_key(http)
    version = http.headers.get("anthropic-version")
    if predicts(path):
        return
    if version is None:
        raise refuse("anthropic-version: header is required")
    if version not in _VERSIONS:
        raise refuse(f'anthropic-version: "{version}" is not a valid version')


def check_key(http: HttpRequest) -> None:
    """Refuse a request without a key, and one with two."""
    key = http.headers.get("x-api-key")
    bearer = http.headers.get("authorization", "")
    if not key and not bearer.startswith("Bearer "):
        raise refuse("x-api-key header is required", status=401)
    if key and bearer:
        raise refuse("only one of x-api-key and authorization may be sent", status=401)


def _check_betas(raw: Json, betas: frozenset[str]) -> None:
    for path, begins in wire.BETAS.items():
        if _has(raw, path.split(".")) and not any(beta.startswith(begins) for beta in betas):
            raise refuse(f"{path}: Extra inputs are not permitted")


def _has(raw: Json, names: list[str]) -> bool:
    """Whether the body has this; a union's tag in the path is the value of its type."""
    for name in names:
        if not isinstance(raw, Mapping):
            return False
        if raw.get("type") != name:
            raw = raw.get(name)
    return raw is not None


def _check_tools(raw: Json, body: wire.Body) -> None:
    tools = raw.get("tools") or []
    names = [tool.get("name") for tool in tools if tool.get("name")]
    if len(set(names)) < len(names):
        raise refuse("tools: Tool names must be unique.")
    check_tools(tools)
    if isinstance(body.tool_choice, wire.OneTool) and body.tool_choice.name not in names:
        raise refuse(f"Tool '{body.tool_choice.name}' not found in provided tools")
    if isinstance(body.tool_choice, wire.AnyTool | wire.Auto) and not tools:
        raise refuse("tool_choice may only be specified while providing tools")
    if body.output_config and body.output_config.format:
        check_shape(body.output_config.format.schema, "output_config.format.schema")
    if body.output_format:
        check_shape(body.output_format.schema, "output_format.schema")


def _check_conversation(body: wire.Body, raw: Json, row: Family, *, thinks: bool) -> list[str]:
    found = conversation.turns(body)
    conversation.check_texts(found)
    conversation.check_pairs(found)
    if isinstance(body.thinking, wire.Enabled):
        conversation.check_begin(found)
    if conversation.ends_with_words(found):
        if row.prefill == "never":
            raise refuse(
                "This model does not support assistant message prefill. The conversation must end "
                "with a user message."
            )
        conversation.check_prefill(found, thinks=thinks)
    return conversation.check_seals(found, raw, drops=_drops(body.thinking))


def _drops(thinking: wire.Thinking | None) -> bool:
    if not isinstance(thinking, wire.Adaptive) or thinking.block_binding is None:
        return False
    return thinking.block_binding.prefix_mismatch_behavior == "drop_block"

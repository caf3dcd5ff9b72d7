"""Checks a request as the service does, in its order; the emulator calls ``accept``."""

import re
from urllib.parse import urlsplit

from msgspec.json import encode
from msgspec.structs import replace

from pondero.canon import HttpRequest, Json, Request, ToolChoice
from pondero.dialects import claude
from pondero.dialects.dialect import AcceptedRequest
from pondero.dialects.prompt_cache import (
    PromptPrefix,
    describe_level,
    find_account,
    find_cache_rules,
    render_request,
)

from . import makers, parse, types
from .address import address_of
from .checks import conversation
from .checks.media import check_media
from .checks.schemas import check_schemas
from .checks.system_turns import check_system_turns
from .checks.thinking import ResolvedThinking, resolve_thinking
from .errors import reject
from .models import Family, family
from .parse import Context
from .signatures import make_signer

_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/,\s]+/\d{8}/[a-z0-9-]+/bedrock/aws4_request, *"
    r"SignedHeaders=[a-z0-9;-]+, *Signature=[0-9a-f]{64}"
)
_BINDING = "thinking-binding-controls-"
_GOVCLOUD = re.compile(r"(?:us-gov\.|arn:aws-us-gov:)")


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Read a request strictly; raises Rejected with the service's status and body."""
    _check_auth(http)
    address = address_of(http)
    if http.method != "POST" or address is None:
        reject("no_path")
    row = family(address.model)
    if row is None:
        reject("unknown_model")
    raw: Json = types.decode_strict(http.body, dict)
    body = parse.body(http.body)
    own = parse.own_fields(body.additional_model_request_fields, row.control)
    if _GOVCLOUD.match(address.model) or ".us-gov-" in (urlsplit(http.url).hostname or ""):
        _check_govcloud(own)
    request = parse.canon(body, raw, address, own=own)
    choice = request.tool_choice or ToolChoice()
    resolved = resolve_thinking(body, own, row, forced=choice.forced)
    _check_tool_use(body, row)
    _check_choice(choice.name, [tool.name for tool in request.tools])
    check_schemas(body, row)
    _check_conversation(body, raw, own, row)
    if row.system == "ignored":
        request = replace(
            request, messages=tuple(m for m in request.messages if m.role != "system")
        )
    return AcceptedRequest(
        request=request,
        intent=resolved.intent,
        thinks=resolved.thinks,
        shown=resolved.shown,
        sign=make_signer(address.model, raw if row.bound else None),
        seed=encode(raw),
        prefix=_make_prefix(http, provider, request, own, resolved),
        context=replace(
            parse.context_of(body), display=row.display, signed=row.control == "claude"
        ),
    )


def _make_prefix(
    http: HttpRequest,
    provider: str,
    request: Request,
    own: makers.Own | None,
    resolved: ResolvedThinking,
) -> PromptPrefix:
    """Return what the cached prefix depends on."""
    rules, intent = find_cache_rules(provider, request.model), resolved.intent
    level = describe_level(intent)
    if isinstance(own, makers.Claude):
        thinking = own.thinking or own.reasoning_config
        kind = thinking.type if thinking is not None else None
        level = claude.describe_thinking(
            kind, intent.tokens, intent.level, thinks=resolved.thinks, rules=rules
        )
    return PromptPrefix(
        rules=rules,
        account=find_account(http),
        settings={**render_request(request), "level": level},
        mark_field="cachePoint",
    )


def _check_auth(http: HttpRequest) -> None:
    given = http.headers.get("authorization", "")
    if not given:
        reject("no_key")
    if given.startswith("Bearer ") and given.removeprefix("Bearer ").strip():
        return
    if not _SIGNED.fullmatch(given) or "x-amz-date" not in http.headers:
        reject("bad_signature")


def _check_govcloud(own: makers.Own | None) -> None:
    thinking = own.thinking if isinstance(own, makers.Claude) else None
    if thinking is not None and thinking.display is not None:
        reject("govcloud", kind=thinking.type)


def _check_tool_use(body: types.Body, row: Family) -> None:
    """Reject tools, or a choice among them, that the model does not have."""
    if body.tool_config is None:
        return
    if not row.tools:
        reject("no_tool_use")
    for kind in body.tool_config.tool_choice or ():
        if row.choices == "auto" and kind != "auto":
            reject("choice_field", kind=kind)


def _check_choice(name: str | None, names: list[str]) -> None:
    if len(set(names)) < len(names):
        reject("tool_names")
    if name is not None and name not in names:
        reject("chosen_tool", name=name)


def _check_conversation(body: types.Body, raw: Json, own: makers.Own | None, row: Family) -> None:
    check_system_turns(body.messages, row)
    known = conversation.turns(body)
    conversation.check_turns(known, row, tools=body.tool_config is not None)
    check_media(known, row)
    if row.prefill == "never" and known[-1].role == "assistant":
        reject("no_prefill")
    thinking = own.thinking or own.reasoning_config if isinstance(own, makers.Claude) else None
    if thinking is not None and thinking.type == "enabled":
        conversation.check_begin(known)
    conversation.check_signatures(known, raw, row, drops=_drops(own, thinking))


def _drops(own: makers.Own | None, thinking: makers.ClaudeThinking | None) -> bool:
    if not isinstance(own, makers.Claude) or thinking is None or thinking.block_binding is None:
        return False
    if not any(beta.startswith(_BINDING) for beta in own.anthropic_beta or ()):
        reject("binding_beta")
    return thinking.block_binding.prefix_mismatch_behavior == "drop_block"

"""Checks a request as the service does, in its order; the emulator calls ``accept``."""

import re
from urllib.parse import urlsplit

from msgspec.json import encode
from msgspec.structs import replace

from pondero.canon import HttpRequest, Json, ToolChoice
from pondero.dialects.dialect import AcceptedRequest

from . import conversation, makers, parse, types
from .address import address_of
from .errors import reject, reject_by_model
from .models import Family, family
from .parse import Context
from .signatures import make_signer
from .thinking import resolve_thinking

_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/,\s]+/\d{8}/[a-z0-9-]+/bedrock/aws4_request, *"
    r"SignedHeaders=[a-z0-9;-]+, *Signature=[0-9a-f]{64}"
)
_BINDING = "thinking-binding-controls-"
_GOVCLOUD = re.compile(r"(?:us-gov\.|arn:aws-us-gov:)")


def accept(http: HttpRequest, _provider: str) -> AcceptedRequest[Context]:
    """Read a request strictly; raises Rejected with the service's status and body."""
    _check_auth(http)
    address = address_of(http)
    if http.method != "POST" or address is None:
        # AWS, bedrock-runtime: no such operation (botocore 1.44.0, 2026-11-15; text not recorded)
        raise reject("Not Found", status=404, code="UnknownOperationException")
    row = family(address.model)
    if row is None:
        # AWS, Converse: unknown model (OpenTelemetry test_converse_with_invalid_model, 2026-11-15)
        raise reject("The provided model identifier is invalid.")
    raw: Json = types.decode_strict(http.body, dict)
    body = parse.body(http.body)
    own = parse.own_fields(body.additional_model_request_fields, row.control)
    if _GOVCLOUD.match(address.model) or ".us-gov-" in (urlsplit(http.url).hostname or ""):
        _check_govcloud(own)
    request = parse.canon(body, raw, address, own=own)
    choice = request.tool_choice or ToolChoice()
    resolved = resolve_thinking(body, own, row, forced=choice.forced)
    _check_choice(choice.name, [tool.name for tool in request.tools])
    _check_conversation(body, raw, own, row)
    return AcceptedRequest(
        request=request,
        intent=resolved.intent,
        thinks=resolved.thinks,
        shown=resolved.shown,
        sign=make_signer(address.model, raw if row.bound else None),
        seed=encode(raw),
        context=replace(
            parse.context_of(body), display=row.display, signed=row.control == "claude"
        ),
    )


def _check_auth(http: HttpRequest) -> None:
    # AWS, common errors: MissingAuthenticationToken, IncompleteSignature (vendor page, 2026-11-16)
    given = http.headers.get("authorization", "")
    if not given:
        code = "MissingAuthenticationTokenException"
        raise reject("Missing Authentication Token", status=403, code=code)
    if given.startswith("Bearer ") and given.removeprefix("Bearer ").strip():
        return
    if not _SIGNED.fullmatch(given) or "x-amz-date" not in http.headers:
        code = "IncompleteSignatureException"
        raise reject("Authorization header requires a good signature", status=403, code=code)


def _check_govcloud(own: makers.Own | None) -> None:
    thinking = own.thinking if isinstance(own, makers.Claude) else None
    if thinking is not None and thinking.display is not None:
        # AWS, GovCloud: no thinking.display (pi-ai 1.5.0, 2026-11-15; text is the Messages API's)
        raise reject_by_model(f"thinking.{thinking.type}.display: Extra inputs are not permitted")


def _check_choice(name: str | None, names: list[str]) -> None:
    # AWS, ToolConfiguration: distinct; both (inferred from Messages API, 2026-11-15; no recording)
    if len(set(names)) < len(names):
        raise reject("The toolConfig field has tools with the same name.")
    if name is not None and name not in names:
        raise reject(f"The tool {name} of toolConfig.toolChoice is not among the tools.")


def _check_conversation(body: types.Body, raw: Json, own: makers.Own | None, row: Family) -> None:
    known = conversation.turns(body)
    conversation.check_turns(known, row, tools=body.tool_config is not None)
    if row.control == "claude":
        conversation.check_sources(known)
    thinking = own.thinking or own.reasoning_config if isinstance(own, makers.Claude) else None
    if thinking is not None and thinking.type == "enabled":
        conversation.check_begin(known)
    conversation.check_signatures(known, raw, row, drops=_drops(own, thinking))


def _drops(own: makers.Own | None, thinking: makers.ClaudeThinking | None) -> bool:
    if not isinstance(own, makers.Claude) or thinking is None or thinking.block_binding is None:
        return False
    if not any(beta.startswith(_BINDING) for beta in own.anthropic_beta or ()):
        # Anthropic, beta headers: the field needs its beta (Wei-Shaw/sub2api#6677, 2026-11-15)
        raise reject("thinking.adaptive.block_binding: Extra inputs are not permitted")
    return thinking.block_binding.prefix_mismatch_behavior == "drop_block"

"""Checks a request as the service does, in its order; ``accept`` raises Rejected."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from msgspec import json
from msgspec.structs import replace

from pondero.canon import HttpRequest, Json, Request
from pondero.dialects.dialect import AcceptedRequest

from . import parse, types
from .address import check_any_key, check_key, predicts, serves, streams, usual
from .checks import conversation
from .checks.betas import check_betas
from .checks.context import check_edits, check_files, check_marks
from .checks.documents import check_documents, check_server_tools
from .checks.facts import RequestFacts
from .checks.fields import check_metadata, check_stops, check_system
from .checks.media import check_pictures
from .checks.schemas import check_schemas
from .checks.system_turns import check_turns
from .checks.thinking import check, shows, thinks
from .checks.tools import check_tools
from .checks.vendor_tools import Platform
from .decode import decode_strict
from .errors import reject
from .models import Family, Host, family, find_ignored, host_of
from .parse import Context
from .prefix import make_prefix
from .signatures import make_signer

_VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")
_VERSIONS_IN_BODY = ("vertex-2023-10-16", "2023-06-01", "2026-10-21")


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Read a request strictly; raises Rejected with the service's status and body."""
    path = http.url.split("?")[0]
    host, ignored = host_of(provider), find_ignored(http.url, provider)
    _check_head(http, path, host, ignored)
    sent = _check_predict(http, path) if predicts(path) else http.body
    if host.lenient:
        sent = parse.without_unknown(sent)
    raw: dict[str, Json] = decode_strict(sent, dict)
    body = parse.body(sent, budgets="budget_tokens" not in ignored)
    row = family(body.model, http.url, provider)
    if row is None:
        reject("unmapped_model" if ignored else "unknown_model", model=body.model)
    betas = frozenset(
        beta.strip() for beta in http.headers.get("anthropic-beta", "").split(",") if beta.strip()
    )
    asked = RequestFacts(body, raw, row, _platform(path, provider), betas)
    if "anthropic-beta" not in ignored:
        check_betas(betas)
        _check_betas(asked)
    request = parse.canon(body, raw)
    check(asked)
    check_system(body)
    check_stops(body)
    check_metadata(asked)
    check_turns(asked)
    check_tools(asked)
    check_schemas(asked)
    check_marks(asked)
    thinking = thinks(body, row)
    check_edits(asked, thinks=thinking)
    dropped = _check_conversation(asked, thinks=thinking, host=host)
    check_files(body)
    seed = json.encode(raw)
    return AcceptedRequest(
        request=_without_ignored(request, row),
        intent=parse.intent(body),
        thinks=thinking,
        shown=shows(body, row),
        context=Context(dropped=tuple(dropped)),
        sign=make_signer(raw, bound=row.bound, seed=seed),
        seed=seed,
        prefix=make_prefix(http, provider, asked, request, seed),
    )


def _check_head(http: HttpRequest, path: str, host: Host, ignored: AbstractSet[str]) -> None:
    if http.method != "POST" or not serves(path):
        reject("no_path")
    if host.lenient:
        if not host.keyless:
            check_any_key(http)
        return
    check_key(http)
    version = http.headers.get("anthropic-version")
    if predicts(path) or "anthropic-version" in ignored:
        return
    if version is None:
        reject("no_version")
    if version not in _VERSIONS:
        reject("unknown_version", version=version)


def _check_predict(http: HttpRequest, path: str) -> bytes:
    body: dict[str, Json] = decode_strict(http.body, dict)
    version = body.get("anthropic_version")
    if version is None:
        reject("no_body_version")
    if version not in _VERSIONS_IN_BODY:
        reject("unknown_body_version", version=version)
    if "model" in body:
        reject("model_in_body")
    if bool(body.get("stream")) != streams(path):
        reject("predict_stream")
    return json.encode(usual(path, body))


def _platform(path: str, provider: str) -> Platform:
    if predicts(path):
        return "vertex"
    return "foundry" if provider == "azure-anthropic" else "anthropic"


def _without_ignored(request: Request, row: Family) -> Request:
    """Return the request without the system turns that the model accepts and does not follow."""
    if row.system != "ignored":
        return request
    return replace(request, messages=tuple(m for m in request.messages if m.role != "system"))


def _check_betas(asked: RequestFacts) -> None:
    for path, begins in types.BETAS.items():
        if _has(asked.raw, path.split(".")) and not asked.has_beta(begins):
            reject("beta_field", path=path)
    if asked.body.diagnostics is not None and asked.platform != "anthropic":
        reject("beta_field", path="diagnostics")


def _has(raw: Json, names: list[str]) -> bool:
    for name in names:
        if not isinstance(raw, Mapping):
            return False
        if raw.get("type") != name:
            raw = raw.get(name)
    return raw is not None


def _check_conversation(asked: RequestFacts, *, thinks: bool, host: Host) -> list[str]:
    found = conversation.turns(asked.body)
    conversation.check_texts(asked.body, found)
    check_pictures(asked)
    check_documents(asked, found)
    check_server_tools(found)
    conversation.check_pairs(found, asked.row)
    if isinstance(asked.body.thinking, types.Enabled):
        conversation.check_begin(found)
    if conversation.ends_with_words(found):
        if asked.row.prefill == "never":
            reject("no_prefill")
        if asked.formats:
            reject("prefill_format")
        conversation.check_prefill(found, thinks=thinks)
    if not host.signatures:
        return []
    return conversation.check_signatures(found, asked.raw, drops=_drops(asked.body.thinking))


def _drops(thinking: types.Thinking | None) -> bool:
    if not isinstance(thinking, types.Adaptive) or thinking.block_binding is None:
        return False
    return thinking.block_binding.prefix_mismatch_behavior == "drop_block"

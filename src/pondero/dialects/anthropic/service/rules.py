"""Checks a request as the service does, in its order; ``accept`` raises Rejected."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import json

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import AcceptedRequest

from . import conversation, parse, types
from .address import check_key, predicts, serves, streams, usual
from .errors import reject
from .models import Family, family
from .parse import Context, decode_strict
from .signatures import make_signer
from .thinking import check, shows, thinks

_VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")
_VERSIONS_IN_BODY = ("vertex-2023-10-16", "2023-06-01", "2026-10-21")


def accept(http: HttpRequest, _provider: str) -> AcceptedRequest[Context]:
    """Read a request strictly; raises Rejected with the service's status and body."""
    path = http.url.split("?")[0]
    _check_head(http, path)
    sent = _check_predict(http, path) if predicts(path) else http.body
    raw: dict[str, Json] = decode_strict(sent, dict)
    body = parse.body(sent)
    row = family(body.model, http.url)
    if row is None:
        # Anthropic, errors: unknown model (recording Mirascope test_model_not_found, 2026-11-15)
        raise reject(f"model: {body.model}", status=404)
    betas = frozenset(
        beta.strip() for beta in http.headers.get("anthropic-beta", "").split(",") if beta.strip()
    )
    _check_betas(raw, betas)
    request = parse.canon(body, raw)
    check(body, row, betas=betas)
    _check_tools(raw, body)
    thinking = thinks(body, row)
    dropped = _check_conversation(body, raw, row, thinks=thinking)
    seed = json.encode(raw)
    return AcceptedRequest(
        request=request,
        intent=parse.intent(body),
        thinks=thinking,
        shown=shows(body, row),
        context=Context(dropped=tuple(dropped)),
        sign=make_signer(raw, bound=row.bound, seed=seed),
        seed=seed,
        caches="marked",
    )


def _check_head(http: HttpRequest, path: str) -> None:
    if http.method != "POST" or not serves(path):
        # Anthropic, errors: 404 not_found_error (SDK 2.8.0, 2026-11-10; text not recorded)
        raise reject("Not Found", status=404)
    check_key(http)
    version = http.headers.get("anthropic-version")
    if predicts(path):
        return
    # Anthropic, versioning: required, known (envoyproxy/ai-gateway#1909; vendor page, 2026-11-15)
    if version is None:
        raise reject("anthropic-version: header is required")
    if version not in _VERSIONS:
        raise reject(f'anthropic-version: "{version}" is not a valid version')


def _check_predict(http: HttpRequest, path: str) -> bytes:
    # Anthropic, Vertex AI: version in the body; all four (vendor page, 2026-11-16; not recorded)
    body: dict[str, Json] = decode_strict(http.body, dict)
    version = body.get("anthropic_version")
    if version is None:
        raise reject("anthropic_version: Field required")
    if version not in _VERSIONS_IN_BODY:
        raise reject(f'anthropic_version: "{version}" is not a valid version')
    if "model" in body:
        raise reject("model: Extra inputs are not permitted")
    if bool(body.get("stream")) != streams(path):
        raise reject("stream: must be true with streamRawPredict, and only there")
    return json.encode(usual(path, body))


def _check_betas(raw: Json, betas: frozenset[str]) -> None:
    # Anthropic, beta headers: a beta's field needs its header (Wei-Shaw/sub2api#6677, 2026-11-15)
    for path, begins in types.BETAS.items():
        if _has(raw, path.split(".")) and not any(beta.startswith(begins) for beta in betas):
            raise reject(f"{path}: Extra inputs are not permitted")


def _has(raw: Json, names: list[str]) -> bool:
    for name in names:
        if not isinstance(raw, Mapping):
            return False
        if raw.get("type") != name:
            raw = raw.get(name)
    return raw is not None


def _check_tools(raw: Json, body: types.Body) -> None:
    tools = raw.get("tools") or []
    names = [tool.get("name") for tool in tools if tool.get("name")]
    if len(set(names)) < len(names):
        # Anthropic, tool use: names are unique (danny-avila/LibreChat#13162, 2026-05-17)
        raise reject("tools: Tool names must be unique.")
    check_tools(tools)
    # Anthropic, tool_choice: needs its tools (texts of both from public clients, 2026-11-16)
    if isinstance(body.tool_choice, types.OneTool) and body.tool_choice.name not in names:
        raise reject(f"Tool '{body.tool_choice.name}' not found in provided tools")
    if isinstance(body.tool_choice, types.AnyTool | types.Auto) and not tools:
        raise reject("tool_choice may only be specified while providing tools")
    if body.output_config and body.output_config.format:
        check_shape(body.output_config.format.schema, "output_config.format.schema")
    if body.output_format:
        check_shape(body.output_format.schema, "output_format.schema")


def _check_conversation(body: types.Body, raw: Json, row: Family, *, thinks: bool) -> list[str]:
    found = conversation.turns(body)
    conversation.check_texts(found)
    conversation.check_pairs(found)
    if isinstance(body.thinking, types.Enabled):
        conversation.check_begin(found)
    if conversation.ends_with_words(found):
        if row.prefill == "never":
            # Anthropic, migration to 4.6: no prefill (vendor page and public clients, 2026-11-15)
            raise reject(
                "This model does not support assistant message prefill. The conversation must end "
                "with a user message."
            )
        conversation.check_prefill(found, thinks=thinks)
    return conversation.check_signatures(found, raw, drops=_drops(body.thinking))


def _drops(thinking: types.Thinking | None) -> bool:
    if not isinstance(thinking, types.Adaptive) or thinking.block_binding is None:
        return False
    return thinking.block_binding.prefix_mismatch_behavior == "drop_block"


_UNSUPPORTED: Mapping[str, Sequence[str]] = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength"),
    "array": ("maxItems", "uniqueItems"),
}
_OPTIONALS, _UNIONS, _STRICT_TOOLS = 24, 16, 20


def check_tools(tools: Sequence[Json]) -> None:
    """Reject functions whose schema is no object, and strict ones that are too complex."""
    # Anthropic, strict tools: object root, at most 20; all (rig strict_schema_*, 2026-11-16)
    strict = []
    for at, tool in enumerate(tools):
        if tool.get("type") not in (None, "custom"):
            continue
        schema, path = tool["input_schema"], f"tools.{at}.custom"
        if "type" not in schema:
            raise reject(f"{path}.input_schema.type: Field required")
        if schema["type"] != "object":
            raise reject(f"{path}.input_schema.type: Input should be 'object'")
        if tool.get("strict"):
            check_shape(schema, path)
            strict.append(schema)
    if len(strict) > _STRICT_TOOLS:
        raise reject(
            f"Too many strict tools ({len(strict)}). The maximum number of strict tools supported "
            f"is {_STRICT_TOOLS}. Try reducing the number of tools marked as strict."
        )
    _check_size([inner for schema in strict for inner in _iter_schemas(schema)])


def check_shape(schema: Json, at: str) -> None:
    """Reject a schema that cannot be compiled to a grammar."""
    _check_circles(schema, at)
    # Anthropic, structured outputs: closed objects (recording maruel/genai claude-opus-5_thinking
    # GenStream-JSON), no boolean schemas (recording rig strict_schema_matrix), no limits of
    # numbers (recording req_llm claude_3_5_haiku object_basic; all 2026-11-16)
    for inner in _iter_schemas(schema):
        kind = inner.get("type")
        if kind == "object" and inner.get("additionalProperties") is not False:
            raise reject(
                f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
        properties = inner.get("properties", {})
        if not _is_plain(properties):
            raise reject(f"{at}: For 'object' type, property 'properties' is not supported")
        for name in _UNSUPPORTED.get(str(kind), ()):
            if name in inner:
                raise reject(f"{at}: For '{kind}' type, property '{name}' is not supported")


def _is_plain(properties: Json) -> bool:
    return isinstance(properties, Mapping) and all(
        isinstance(each, Mapping) for each in properties.values()
    )


def _check_size(schemas: Sequence[Mapping[str, Json]]) -> None:
    # Anthropic, strict tools: 24 optional, 16 unions; both (rig strict_schema_limits, 2026-11-16)
    optional = unions = 0
    for schema in schemas:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        optional += sum(name not in required for name in properties)
        unions += sum(
            isinstance(each.get("type"), list) or "anyOf" in each for each in properties.values()
        )
    if optional > _OPTIONALS:
        raise reject(
            f"Schemas contains too many optional parameters ({optional}), which would make grammar "
            "compilation inefficient. Reduce the number of optional parameters in your tool "
            f"schemas (limit: {_OPTIONALS})."
        )
    if unions > _UNIONS:
        raise reject(
            f"Schemas contains too many parameters with union types ({unions} parameters with type "
            "arrays or anyOf). This causes exponential compilation cost. Reduce the number of "
            f"nullable or union-typed parameters (limit: {_UNIONS} parameters with unions)."
        )


def _iter_schemas(schema: Json) -> Iterator[Mapping[str, Json]]:
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        for each in inner.values() if isinstance(inner, Mapping) else ():
            yield from _iter_schemas(each)
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        inner = schema.get(key)
        for each in inner if isinstance(inner, list) else ():
            yield from _iter_schemas(each)
    yield from _iter_schemas(schema.get("items"))


def _check_circles(schema: Json, at: str) -> None:
    defined = schema.get("$defs") if isinstance(schema, Mapping) else None
    if not isinstance(defined, Mapping):
        return
    meant = {
        name: [
            str(each["$ref"]).rpartition("/")[2] for each in _iter_schemas(inner) if "$ref" in each
        ]
        for name, inner in defined.items()
    }
    for name in meant:
        chain, seen = [name], {name}
        while chain:
            for other in meant.get(chain.pop(), ()):
                if other == name:
                    # Anthropic, strict tool use: no recursion (recording rig
                    # strict_schema_matrix/recursive_ref_is_rejected, 2026-11-16)
                    raise reject(
                        f"{at}: Invalid schema: Circular reference detected in schema definitions: "
                        f"{name} -> {name}. Self-referencing or mutually-referencing definitions "
                        "are not supported."
                    )
                if other not in seen:
                    seen.add(other)
                    chain.append(other)

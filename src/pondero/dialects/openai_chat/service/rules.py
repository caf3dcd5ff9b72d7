"""The emulated service's checks; their order is behaviour: the first fault is the one reported."""

import re

import msgspec

from pondero.canon import HttpRequest, Json, Request
from pondero.dialects.dialect import AcceptedRequest
from pondero.dialects.prompt_cache import describe_level

from . import parse
from .address import default_model, serves
from .checks.capabilities import check_capabilities
from .checks.field_types import check_field_types
from .checks.messages import Conversation
from .checks.output import check_output, check_tools
from .checks.parameters import check_exclusive_fields, check_parameters, check_thinking
from .checks.providers import check_provider
from .input.lenient import FIELDS
from .models import Model, Provider, check_key, provider_of
from .parse import Context
from .prefix import make_prefix
from .signatures import make_signer
from .thinking import apply_updates, parse_thinking

_ID = re.compile(r"\S+")  # no provider has an id with a space


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Read a request, or raise Rejected as the emulated provider of this name would."""
    table = provider_of(provider)
    _check_address(http, table)
    check_key(http, table)
    raw = parse.load_body(http.body, table)
    _check_fields(raw, table)
    named = default_model(http.url, keyless=table.keyless)
    body = parse.body(raw, table, named=named)
    check_field_types(raw, table)
    model = _find_model(body.model, table)
    check_provider({**raw, "model": body.model}, table, model)
    rest = parse.rest_of(raw)
    check_exclusive_fields(body, rest, table)
    stated = parse_thinking(body, rest, table, model)
    settings = apply_updates(stated, body, raw["messages"], table, model)
    check_parameters(body, rest, table, model)
    check_capabilities(body, rest, table, model)
    if settings.thinks:
        check_thinking(body, rest, table, model)
    check_output(body, table)
    check_tools(body, rest, table)
    Conversation(table, model, body.model).check(body.messages)
    request = parse.canon(body, raw, table)
    return AcceptedRequest(
        request=request,
        intent=settings.intent,
        thinks=settings.thinks,
        shown=settings.thinks and settings.place != "none",
        context=parse.context_of(body, table, settings),
        sign=make_signer(body.model),
        seed=_seed(request),
        prefix=make_prefix(
            http, provider, raw, request, describe_level(stated.intent, model.default)
        ),
    )


def _seed(request: Request) -> bytes:
    if not request.tools:
        return msgspec.json.encode(request)
    fields: dict[str, Json] = msgspec.to_builtins(request)
    for tool in fields["tools"]:
        del tool["dialect"], tool["kind"]
    return msgspec.json.encode(fields)


def _check_address(http: HttpRequest, provider: Provider) -> None:
    path = http.url.partition("?")[0]
    if http.method != "POST" or not serves(path):
        provider.rejecter.reject("no_path", method=http.method, path=path)


def _find_model(name: str, provider: Provider) -> Model:
    if not provider.keyless and not _ID.fullmatch(name):
        known = provider.rejecter.knows("no_model")
        provider.rejecter.reject("no_model" if known else "model_id", param="model", model=name)
    model = provider.find(name)
    if model is None:
        provider.rejecter.reject("no_model", param="model", model=name)
    if model.elsewhere:
        provider.rejecter.reject("other_api", param="model")
    return model


# -- fields, before they are typed ---------------------------------------------------------------


def _check_fields(raw: dict[str, Json], provider: Provider) -> None:
    knobs = {knob.path[0] for knob in provider.knob}
    for key in parse.rest_of(raw) if provider.strict else ():
        if key not in provider.fields and key not in knobs:
            provider.rejecter.reject_unknown(key)
    _check_known(raw, provider, knobs)
    messages = raw.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        _check_message(message, index, provider)
    tools = raw.get("tools")
    for index, tool in enumerate(tools if provider.tools and isinstance(tools, list) else ()):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if kind is not None and kind not in provider.tools:
            provider.rejecter.reject("tool", index=index, kind=kind)


def _check_known(raw: dict[str, Json], provider: Provider, knobs: set[str]) -> None:
    rest = parse.rest_of(raw) if provider.knows else {}
    for key in (key for key, value in raw.items() if value is not None):
        if key in provider.unknown or (key in rest and key not in {*provider.knows, *knobs}):
            provider.rejecter.reject("unknown_argument", param=key)
        if key in provider.gone:
            provider.rejecter.reject("gone", param=key)


def _check_message(message: Json, index: int, provider: Provider) -> None:
    role = str(message.get("role")) if isinstance(message, dict) else ""
    known = set(provider.message_fields.get(role, ())) or FIELDS.get(role, set())
    for key in message if known else ():
        if key in provider.foreign or (provider.closed and key not in known):
            where = f"messages.{index}.{key}"
            provider.rejecter.reject("field", param=where, index=index, role=role, field=key)
    content = message.get("content") if known else None
    for part in content if provider.parts and isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in provider.parts:
            provider.rejecter.reject("part", index=index, kind=kind)
        if (field := provider.part_strings.get(str(kind))) is None:
            continue
        where = f"messages.{index}.content.{field}"
        if field not in part:
            provider.rejecter.reject("missing", param=where)
        if not isinstance(part[field], str):
            provider.rejecter.reject("wrong_type", param=where, why="expected a string")

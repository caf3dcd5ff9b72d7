"""The service reads a request, strictly: what it refuses, it refuses in its own words."""

import re
from typing import NoReturn

from pondero.canon import HttpRequest, Json, Output, Request, Tool, ToolChoice
from pondero.dialects.dialect import Accepted
from pondero.thinking import Intent

from . import types
from .errors import Denier
from .messages import Reader
from .models import Service
from .models import service as table_of
from .parse import parse
from .rules import check, check_apart
from .thinking import Wish, wish_of

HOUSE = "openai-chat"
_PATH = "/chat/completions"
_DEPLOYMENT = re.compile(r"/deployments/([^/?]+)/")


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith(_PATH)


def request(http: HttpRequest, service: str) -> Accepted[Json]:
    """Return what was asked, or raise Rejected. ``service`` names the emulated deployment."""
    table = table_of(service)
    denier = Denier(table)
    _check_door(http, table, denier)
    body, beside = parse(http.body, table, denier, named=_named(http.url, table))
    model = table.find(body.model)
    if model is None:
        _not_found(body.model, denier)
    if model.elsewhere:
        text = "This model is only supported in v1/responses and not in v1/chat/completions."
        denier.deny(text, status=404, param="model")
    check_apart(body, beside, table, denier)
    wish = wish_of(body, beside, table, model, denier)
    check(body, beside, table, model, denier, thinks=wish.thinks)
    return _accepted(body, beside, table, wish, denier)


def _named(url: str, service: Service) -> str | None:
    """Return the model an address names, or the only one of an engine that is asked for none."""
    found = _DEPLOYMENT.search(url)
    return found[1] if found else "default" if service.keyless else None


def _check_door(http: HttpRequest, service: Service, denier: Denier) -> None:
    path = http.url.partition("?")[0]
    if http.method != "POST" or not serves(path):
        denier.deny(f"Invalid URL ({http.method} {path})", status=404)
    check_key(http, service, denier)


def check_key(http: HttpRequest, service: Service, denier: Denier) -> None:
    """Refuse a request without a key, where one is asked for."""
    if service.keyless:
        return
    key = http.headers.get("authorization", "")
    scheme, _, token = key.partition(" ")
    if not http.headers.get("api-key") and (scheme.lower() != "bearer" or not token.strip()):
        denier.deny(service.key_missing, status=401)


def _not_found(model: str, denier: Denier) -> NoReturn:
    denier.say("no_model", param="model", model=model)
    text = f"The model `{model}` does not exist or you do not have access to it."
    denier.deny(text, status=404, code="model_not_found")


def _accepted(
    body: types.Body, beside: dict[str, Json], service: Service, wish: Wish, denier: Denier
) -> Accepted[Json]:
    system, messages = Reader(service, denier, model=body.model).read(body.messages)
    knobs = {knob.path[0] for knob in service.knob}
    extras = {key: value for key, value in beside.items() if key not in knobs}
    options = body.stream_options
    stop = body.stop or ()
    return Accepted(
        request=Request(
            model=body.model,
            messages=tuple(messages),
            system=system,
            tools=tuple(_tool(tool) for tool in body.tools or ()),
            tool_choice=_choice(body),
            output=_output(body),
            max_tokens=body.max_completion_tokens or body.max_tokens,
            temperature=body.temperature,
            top_p=body.top_p,
            top_k=body.top_k,
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            stream=bool(body.stream),
            extras=extras or None,
        ),
        intent=Intent(wish.kind, wish.level, wish.budget),
        thinks=wish.thinks,
        shown=wish.thinks and wish.place != "none",
        context={
            "service": service.name,
            "place": wish.place if wish.thinks else "none",
            "include_usage": bool(options and options.include_usage),
            "include_obfuscation": not options or options.include_obfuscation is not False,
        },
        caches="always",
    )


def _tool(tool: types.OfferedFunction | types.OfferedCustom) -> Tool:
    if isinstance(tool, types.OfferedCustom):
        raw = {"type": "custom", "custom": tool.custom}
        return Tool(str(tool.custom.get("name", "")), raw=raw)
    function = tool.function
    return Tool(function.name, function.description or "", function.parameters, function.strict)


def _choice(body: types.Body) -> ToolChoice | None:
    choice, parallel = body.tool_choice, body.parallel_tool_calls
    if choice is None:
        return None if parallel is None else ToolChoice(parallel=parallel)
    if isinstance(choice, types.ChosenFunction):
        return ToolChoice("tool", choice.function.name, parallel)
    if isinstance(choice, types.ChosenCustom):
        return ToolChoice("tool", choice.custom.name, parallel)
    if isinstance(choice, str):
        return ToolChoice(choice, None, parallel)
    return ToolChoice(parallel=parallel)


def _output(body: types.Body) -> Output | None:
    match body.response_format:
        case types.ObjectFormat():
            return Output()
        case types.SchemaFormat(json_schema=schema):
            return Output(schema.schema, schema.name, schema.strict)
        case _:
            return None

"""The service reads a request, strictly: address, key, fields, rules, then what it means."""

import re
from typing import Literal, NamedTuple

import msgspec

from pondero.canon import HttpRequest, Json, Output, Request, Tool, ToolChoice
from pondero.dialects.dialect import Accepted
from pondero.thinking import Intent, Kind

from . import types
from .models import Model, invalid, refuse, rules
from .parse import Reader

HOME = "cohere"
_PATH = "/v2/chat"
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
_CHOICES: dict[str, Literal["none", "required"]] = {"NONE": "none", "REQUIRED": "required"}
_SAID = (
    *("model", "messages", "stream", "tools", "strict_tools", "tool_choice", "response_format"),
    *("max_tokens", "temperature", "p", "k", "stop_sequences", "thinking"),
)


class _Wish(NamedTuple):
    kind: Kind
    budget: int | None
    thinks: bool


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith(_PATH)


def accept(http: HttpRequest, service: str) -> Accepted[Json]:
    """Return what was asked, or raise Rejected in the service's own words."""
    del service
    _check_door(http)
    raw, body = _parsed(http.body)
    model = rules().model(body.model)
    if model is None:
        refuse(
            f"model '{body.model}' not found, make sure the correct model ID was used and that you "
            "have access to the model.",
            status=404,
        )
    wish = _wish(body.thinking, model)
    _check_company(body)
    system, messages = Reader(images=model.images).read(body.messages)
    extras = {name: value for name, value in raw.items() if name not in _SAID}
    return Accepted(
        request=Request(
            model=body.model,
            messages=messages,
            system=system,
            tools=tuple(_tool(tool, strict=body.strict_tools) for tool in body.tools or ()),
            tool_choice=_choice(body.tool_choice),
            output=_output(body.response_format),
            max_tokens=body.max_tokens,
            temperature=body.temperature,
            top_p=body.p,
            top_k=body.k,
            stop=tuple(body.stop_sequences or ()),
            stream=bool(body.stream),
            extras=extras or None,
        ),
        intent=Intent(wish.kind, tokens=wish.budget),
        thinks=wish.thinks,
        shown=wish.thinks,
        context=None,
    )


def _check_door(http: HttpRequest) -> None:
    if http.method != "POST" or not serves(http.url.partition("?")[0]):
        refuse("not found", status=404)
    scheme, _, token = http.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        refuse("no api key supplied", status=401)
    if token.strip() == "invalid":
        refuse("invalid api token", status=401)


def _parsed(data: bytes) -> tuple[dict[str, Json], types.Body]:
    try:
        raw = msgspec.json.decode(data)
    except _UNREADABLE:
        invalid("the body is not JSON")
    try:
        return raw, msgspec.convert(raw, types.Body)
    except msgspec.ValidationError as error:
        said = str(error)
        if found := _UNKNOWN.search(said):
            invalid(f"unknown field '{found[1]}'")
        invalid(said)


def _wish(said: types.Thinking | None, model: Model) -> _Wish:
    if said is None:
        return _Wish("unset", None, model.thinks)
    if not model.thinks:
        invalid("thinking is not supported for this model")
    if said.type == "disabled":
        return _Wish("off", None, thinks=False)
    if said.token_budget is None:
        return _Wish("on", None, thinks=True)
    return _Wish("budget", said.token_budget, thinks=True)


def _check_company(body: types.Body) -> None:
    """Parameters that go only with others, or only without them."""
    choice = body.tool_choice
    if choice is not None and choice.upper() not in _CHOICES:
        invalid(f"tool_choice must be one of REQUIRED, NONE, not {choice}")
    if choice is not None and choice.upper() == "REQUIRED" and not body.tools:
        invalid("tool_choice REQUIRED needs tools")
    shaped = isinstance(body.response_format, types.ObjectFormat)
    if shaped and (body.tools or body.documents):
        invalid("response_format is not supported with tools or documents")


def _tool(tool: types.Tool, *, strict: bool | None) -> Tool:
    offered = tool.function
    return Tool(offered.name, offered.description or "", offered.parameters, strict or None)


def _choice(said: str | None) -> ToolChoice | None:
    return None if said is None else ToolChoice(_CHOICES[said.upper()])


def _output(said: types.TextFormat | types.ObjectFormat | None) -> Output | None:
    return Output(said.json_schema) if isinstance(said, types.ObjectFormat) else None

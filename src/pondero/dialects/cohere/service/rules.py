"""Every check of the service, in its order: address, key, JSON, fields, model, then every rule."""

from collections.abc import Iterator

import msgspec

from pondero.canon import HttpRequest
from pondero.dialects.dialect import AcceptedRequest

from . import types
from .errors import reject
from .models import Model, check_key, table
from .parse import CHOICES, body, canon, image_of, intent_of, json_value, serves

_BYTES = 4  # of a token, as the emulator counts them
_IMAGES = 20
_CITATIONS = ("ENABLED", "DISABLED", "FAST", "ACCURATE", "OFF")


def accept(http: HttpRequest, _provider: str) -> AcceptedRequest[None]:
    """Return what was asked, or raise Rejected in the service's own words."""
    _check_door(http)
    raw = json_value(http.body)
    read = body(raw)
    model = table().model(read.model)
    if model is None:
        reject("unknown_model", model=read.model)
    thinks = _thinks(read.thinking, model)
    _check_dependent_fields(read)
    _check_abilities(read, model)
    _check_messages(read.messages, model)
    _check_length(read, model, len(http.body))
    request = canon(read, raw)
    return AcceptedRequest(
        request=request,
        intent=intent_of(read.thinking),
        thinks=thinks,
        shown=thinks,
        context=None,
        seed=msgspec.json.encode([request.model, request.messages]),
    )


def _check_door(http: HttpRequest) -> None:
    if http.method != "POST" or not serves(http.url.partition("?")[0]):
        reject("no_path")
    check_key(http)


def _thinks(asked: types.Thinking | None, model: Model) -> bool:
    if asked is None:
        return model.thinks
    if not model.thinks:
        reject("thinking")
    return asked.type != "disabled"


def _check_dependent_fields(body: types.Body) -> None:
    choice = body.tool_choice
    if choice is not None and choice.upper() not in CHOICES:
        reject("choice", choice=choice)
    if choice is not None and choice.upper() == "REQUIRED" and not body.tools:
        reject("choice_without_tools")
    cited = body.citation_options.mode if body.citation_options else None
    if cited is not None and cited.upper() not in _CITATIONS:
        reject("citation_mode", mode=cited)
    shaped = isinstance(body.response_format, types.ObjectFormat)
    if shaped and (body.tools or body.documents):
        reject("format_with_tools")


def _check_abilities(body: types.Body, model: Model) -> None:
    if body.tools and not model.tools:
        reject("tools")
    if body.tool_choice is not None and not model.chooses:
        reject("choice_model")
    if body.strict_tools and not (model.strict and model.tools):
        reject("strict_tools")
    shape = body.response_format
    if isinstance(shape, types.ObjectFormat) and shape.json_schema is not None:
        if not model.strict:
            reject("json_schema")
        if shape.json_schema.get("type", "object") != "object":
            reject("json_root")
    if body.max_tokens is not None and body.max_tokens > model.output:
        reject("max_tokens", most=model.output, tokens=body.max_tokens)


def _check_length(body: types.Body, model: Model, size: int) -> None:
    """Count only what could be too long: a token is four bytes here."""
    if size <= model.window * _BYTES:
        return
    texts = (text for message in body.messages for text in _texts(message))
    tokens = sum(len(text.encode("utf-8", "replace")) for text in texts) // _BYTES
    if tokens > model.window:
        reject("too_long", most=model.window, tokens=tokens)


def _texts(message: types.Message) -> Iterator[str]:
    content = message.content
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, types.TextPart):
            yield part.text


def _check_messages(messages: list[types.Message], model: Model) -> None:
    called: set[str] = set()
    images = sum(
        isinstance(part, types.ImagePart)
        for message in messages
        for part in (message.content if isinstance(message.content, list) else ())
    )
    if images > _IMAGES and model.images:
        reject("many_images", count=images)
    for message in messages:
        match message:
            case types.ToolAnswer() if message.tool_call_id not in called:
                reject("result_without_call", id=message.tool_call_id)
            case types.Assistant():
                if not message.content and not message.tool_calls:
                    reject("empty_assistant")
                called |= {call.id for call in message.tool_calls or ()}
            case types.User():
                _check_images(message, model)


def _check_images(message: types.User, model: Model) -> None:
    for part in message.content if isinstance(message.content, list) else ():
        if isinstance(part, types.ImagePart):
            if not model.images:
                reject("images")
            image_of(part)  # raises if its data is not base64

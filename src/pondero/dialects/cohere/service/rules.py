"""Every check of the service, in its order: address, key, JSON, fields, model, then every rule."""

import msgspec

from pondero.canon import HttpRequest
from pondero.dialects.dialect import AcceptedRequest

from . import types
from .errors import invalid, reject
from .models import Model, check_key, table
from .parse import CHOICES, body, canon, image_of, intent_of, json_value, serves


def accept(http: HttpRequest, _provider: str) -> AcceptedRequest[None]:
    """Return what was asked, or raise Rejected in the service's own words."""
    _check_door(http)
    raw = json_value(http.body)
    read = body(raw)
    model = table().model(read.model)
    if model is None:
        # Cohere, models: an unknown one is 404 (recording rig cohere/errors)
        reject(
            f"model '{read.model}' not found, make sure the correct model ID was used and that you "
            "have access to the model.",
            status=404,
        )
    thinks = _thinks(read.thinking, model)
    _check_dependent_fields(read)
    _check_messages(read.messages, model)
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
        # Cohere, errors: an unknown path is 404 (SDK 7.3.1 error classes; the text is inferred)
        reject("not found", status=404)
    check_key(http)


def _thinks(asked: types.Thinking | None, model: Model) -> bool:
    if asked is None:
        return model.thinks
    if not model.thinks:
        # Cohere, thinking: reasoning models only (vendor page, 2026-11-15; the text is inferred)
        invalid("thinking is not supported for this model")
    return asked.type != "disabled"


def _check_dependent_fields(body: types.Body) -> None:
    choice = body.tool_choice
    if choice is not None and choice.upper() not in CHOICES:
        # Cohere, tool_choice: REQUIRED or NONE (SDK 7.3.1; the text is inferred)
        invalid(f"tool_choice must be one of REQUIRED, NONE, not {choice}")
    if choice is not None and choice.upper() == "REQUIRED" and not body.tools:
        # Cohere, tool_choice: REQUIRED needs tools (vendor page v2 chat; the text is inferred)
        invalid("tool_choice REQUIRED needs tools")
    shaped = isinstance(body.response_format, types.ObjectFormat)
    if shaped and (body.tools or body.documents):
        # Cohere, response_format: not with tools or documents (SDK 7.3.1; the text is inferred)
        invalid("response_format is not supported with tools or documents")


def _check_messages(messages: list[types.Message], model: Model) -> None:
    called: set[str] = set()
    for message in messages:
        match message:
            case types.ToolAnswer() if message.tool_call_id not in called:
                id = message.tool_call_id
                # Cohere, results: each follows its call (text quoted by public clients, 2026-11-16)
                invalid(f"tool call id not found in previous tool calls: {id}")
            case types.Assistant():
                if not message.content and not message.tool_calls:
                    # Cohere, assistant: content or calls (pydantic-ai 2.66.0; the text is inferred)
                    invalid("an assistant message must have content or tool_calls")
                called |= {call.id for call in message.tool_calls or ()}
            case types.User():
                _check_images(message, model)


def _check_images(message: types.User, model: Model) -> None:
    for part in message.content if isinstance(message.content, list) else ():
        if isinstance(part, types.ImagePart):
            if not model.images:
                # Cohere, images: vision models only (recording maruel/genai command-a-reasoning)
                invalid("image content is not supported for this model")
            image_of(part)  # raises if its data is not base64

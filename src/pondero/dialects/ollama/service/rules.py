"""Every check of the server, in its own words, and how much each model thinks when asked to."""

import re

from pondero.canon import HttpRequest
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import AcceptedRequest

from . import parse, types
from .errors import reject
from .models import Model, check_key, table

_DURATION = re.compile(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+)")  # Go's


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[parse.Context]:
    """Return what was asked, or raise Rejected in the server's own words."""
    _check_door(http, provider)
    body = parse.body(http)
    typed = body.typed
    if not typed.model:
        reject("no_model")
    model = table().model(typed.model, provider)
    if model is None:
        reject("unknown_model", model=typed.model)
    _check_values(typed)
    if parse.context_of(http).generates:
        _check_generate(body)
    _check_think(typed, model)
    request = parse.canon(body)  # raises if an image cannot be read
    _check_abilities(typed)
    return AcceptedRequest(
        request=request,
        intent=parse.intent_of(typed.think, UnknownFields()),
        thinks=_thinks(typed, model),
        context=parse.context_of(http),
        shown=True,  # thinking is always shown, also where it was not asked for
    )


def _check_door(http: HttpRequest, provider: str) -> None:
    if not parse.serves(http.url.partition("?")[0]):
        reject("no_path")
    if http.method != "POST":
        reject("method")
    check_key(http, provider)


def _check_generate(body: parse.Body) -> None:
    raw, typed = body
    system = any(message.role == "system" for message in typed.messages or ())
    if raw.get("raw") is True and (system or raw.get("template") or raw.get("context")):
        reject("raw_mode")
    if raw.get("suffix") and not table().ability(typed.model).inserts:
        reject("insert", model=_with_tag(typed.model))


def _with_tag(model: str) -> str:
    return model if ":" in model else f"{model}:latest"


def _check_values(body: types.Body) -> None:
    if body.top_logprobs is not None and not 0 <= body.top_logprobs <= 20:
        reject("top_logprobs")
    if isinstance(body.keep_alive, str) and not _DURATION.fullmatch(body.keep_alive):
        reject("keep_alive", value=body.keep_alive)


def _check_abilities(body: types.Body) -> None:
    able = table().ability(body.model)
    messages = body.messages or []
    if body.tools and not able.tools:
        reject("tools", model=_with_tag(body.model))
    if not able.images and any(message.images for message in messages):
        reject("images")
    if able.strict and any(message.role == "system" for message in messages[1:]):
        reject("strict_system")


def _check_think(body: types.Body, model: Model) -> None:
    think, words = body.think, table().words
    if think is not None and not isinstance(think, bool) and think not in words:
        if not isinstance(think, str):
            reject("think_type")
        listed = ", ".join(f'"{word}"' for word in words)
        reject("think_word", think=think, words=listed)
    if think not in (None, False) and model.thinks == "no":
        reject("thinking", model=body.model)


def _thinks(body: types.Body, model: Model) -> bool:
    if body.think is None:
        return model.thinks != "no"
    return body.think is not False or model.thinks == "always"

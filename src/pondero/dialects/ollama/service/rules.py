"""Every check of the server, in its own words, and how much each model thinks when asked to."""

from pondero.canon import HttpRequest
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import AcceptedRequest

from . import parse, types
from .errors import reject
from .models import Model, check_key, table


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[parse.Context]:
    """Return what was asked, or raise Rejected in the server's own words."""
    _check_door(http, provider)
    body = parse.body(http)
    typed = body.typed
    if not typed.model:
        reject("no_model")
    model = table().model(typed.model)
    if model is None:
        reject("unknown_model", model=typed.model)
    _check_think(typed, model)
    return AcceptedRequest(
        request=parse.canon(body),
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

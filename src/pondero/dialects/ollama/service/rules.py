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
        # Ollama, chat: model is required (server/routes.go, 2026-08-21)
        reject("model is required")
    model = table().model(typed.model)
    if model is None:
        # Ollama, models: an unknown one is 404 (recording maruel/genai ollama errors/bad_model)
        reject(f"model '{typed.model}' not found", status=404)
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
        # Ollama, paths: those of its router, gin (server/routes.go, 2026-08-21)
        reject("404 page not found", status=404)
    if http.method != "POST":
        # Ollama, methods: 405 for any but POST (server/routes.go, 2026-08-21)
        reject("405 method not allowed", status=405)
    check_key(http, provider)


def _check_think(body: types.Body, model: Model) -> None:
    think, words = body.think, table().words
    if think is not None and not isinstance(think, bool) and think not in words:
        if not isinstance(think, str):
            # Ollama, think: a boolean or a string (api/types.go, 2026-08-21)
            reject("think must be a boolean or string")
        listed = ", ".join(f'"{word}"' for word in words)
        # Ollama, think: a known word (api/types.go, 2026-08-21)
        reject(f'invalid think value: "{think}" (must be {listed}, true, or false)')
    if think not in (None, False) and model.thinks == "no":
        # Ollama, think: 400 on a model that cannot think (server/routes.go, 2026-08-21)
        reject(f'"{body.model}" does not support thinking')


def _thinks(body: types.Body, model: Model) -> bool:
    if body.think is None:
        return model.thinks != "no"
    return body.think is not False or model.thinks == "always"

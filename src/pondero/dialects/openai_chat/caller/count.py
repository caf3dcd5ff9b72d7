"""Counts of prompts. The API itself has none; some servers have one of their own."""

from collections.abc import Mapping

import msgspec

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import PromptCount

from .quirks import quirks_of

_TEMPLATED = ("model", "messages", "tools", "chat_template_kwargs")


def count_by(quirks: Mapping[str, Json]) -> PromptCount | None:
    """Return how a deployment counts prompts; None if it does not."""
    own = quirks_of(quirks)
    if own.count == "no":
        return None
    if own.count == "input_tokens":
        return PromptCount(_ask_input_tokens, "input_tokens")
    return PromptCount(lambda http: _ask_tokenize(http, own.path), "count")


def _ask_input_tokens(http: HttpRequest) -> HttpRequest:
    """Return llama.cpp's request: the conversation's own, at another address."""
    return msgspec.structs.replace(http, url=f"{http.url}/input_tokens")


def _ask_tokenize(http: HttpRequest, path: str) -> HttpRequest:
    """Return vLLM's request, whose address is outside the versioned API."""
    body: dict[str, Json] = msgspec.json.decode(http.body)
    kept = {name: body[name] for name in _TEMPLATED if name in body}
    root = http.url.removesuffix(path).removesuffix("/v1")
    return msgspec.structs.replace(http, url=f"{root}/tokenize", body=msgspec.json.encode(kept))

"""What the cached prefix of a request depends on (docs/wires/in-band.md)."""

from pondero.canon import HttpRequest, Json, Request
from pondero.dialects.prompt_cache import (
    PromptPrefix,
    find_account,
    find_cache_rules,
    render_request,
)

_SYSTEM = ("system", "developer")


def make_prefix(
    http: HttpRequest, provider: str, raw: dict[str, Json], request: Request, level: Json
) -> PromptPrefix:
    """Return the settings of a request and those inside its conversation."""
    options = raw.get("prompt_cache_options")
    options = options if isinstance(options, dict) else {}
    retention = raw.get("prompt_cache_retention")
    return PromptPrefix(
        rules=find_cache_rules(provider, request.model),
        account=find_account(http),
        settings={**render_request(request), "level": level},
        updates=_find_updates(raw["messages"], request),
        explicit=options.get("mode") == "explicit",
        lifetime=options.get("ttl") or (None if retention == "in_memory" else retention),
    )


def _find_updates(messages: list[Json], request: Request) -> dict[int, Json]:
    """Return updates by their messages; a system message at the very front is none of them."""
    later = [each for each in messages[1:] if each.get("role") in _SYSTEM]
    places = [n for n, message in enumerate(request.messages) if message.role == "system"]
    return {
        place: each["configuration_update"]
        for place, each in zip(places, later, strict=False)
        if each.get("configuration_update") is not None
    }

"""The list of models in Codex's format (``?client_version=``), tried with Codex 0.166."""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

import msgspec

from pondero.canon import HttpResponse, Json
from pondero.dialects.dialect import ServedModel

_EFFORTS: Mapping[str, str] = {
    "minimal": "Almost no reasoning",
    "low": "Fast responses with lighter reasoning",
    "medium": "Balances speed and reasoning depth for everyday tasks",
    "high": "Greater reasoning depth for complex problems",
    "xhigh": "Extra high reasoning depth for complex problems",
    "max": "All the reasoning the model has",
}
_OFF = {"effort": "none", "description": "No reasoning"}
_USUAL = ("medium", "high", "low")
_OUTPUT = 10_000  # tokens of a tool's output that it keeps, as for all of its own models
_WINDOW = 128_000  # if a model's own is unknown: nearly every model has it


def codex_list(known: Sequence[ServedModel]) -> HttpResponse:
    """Write the list; its ETag tells Codex whether it changed."""
    models = [_model(each, place) for place, each in enumerate(known)]
    body = msgspec.json.encode({"models": models})
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    return HttpResponse(200, {"content-type": "application/json", "etag": tag}, body)


def _model(facts: ServedModel, place: int) -> dict[str, Json]:
    window = facts.context or _WINDOW
    levels = _levels(facts)
    return {
        "slug": facts.name,
        "display_name": facts.name,
        "description": f"{facts.name}, through this gateway",
        "default_reasoning_level": _default(facts),
        "supported_reasoning_levels": levels,
        "shell_type": "shell_command",
        "visibility": "list",
        "supported_in_api": True,
        "priority": place,
        "availability_nux": None,
        "upgrade": None,
        "supports_reasoning_summaries": bool(levels),
        "default_reasoning_summary": "auto" if levels else "none",
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": "freeform",
        "web_search_tool_type": "text",
        "truncation_policy": {"mode": "tokens", "limit": _OUTPUT},
        "supports_parallel_tool_calls": True,
        "supports_image_detail_original": False,
        "context_window": window,
        "max_context_window": window,
        "effective_context_window_percent": 95,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"] if facts.sees else ["text"],
        "supports_search_tool": False,
        "prefer_websockets": False,
        "base_instructions": _instructions(),
    }


@cache
def _instructions() -> str:
    return files(__package__).joinpath("codex.md").read_text(encoding="utf-8")


def _levels(facts: ServedModel) -> list[Json]:
    known = [
        {"effort": level, "description": _EFFORTS[level]}
        for level in facts.levels
        if level in _EFFORTS
    ]
    return [_OFF, *known] if known and "off" in facts.levels else known


def _default(facts: ServedModel) -> str | None:
    if facts.default in _EFFORTS:
        return facts.default
    if facts.default == "off" and "off" in facts.levels and facts.thinks:
        return "none"
    return next((level for level in _USUAL if level in facts.levels), None)

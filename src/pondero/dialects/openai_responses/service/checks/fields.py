"""Checks the parameters themselves: whose they are, which a deployment needs, and limits."""

from collections.abc import Iterable, Iterator
from typing import Any

from pondero.canon import Json

from ..errors import reject
from ..models import Deployment
from ..types import Create

PENALTIES = ("presence_penalty", "frequency_penalty")
SAMPLING = ("temperature", "top_p", *PENALTIES)
_MOVED = {
    "messages": "input",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
}
_STATE = ("store", "background", "previous_response_id", "conversation", "prompt", "moderation")
_PROMPTS_MODEL = "gpt-5.5"  # a stored prompt has its own, which is not known here
_MOST_METADATA = 16
_LONGEST_KEY, _LONGEST_VALUE = 64, 512
_FAR = 2  # a name with more different letters is not suggested


def check_required_values(raw: dict[str, Json], deployment: Deployment) -> None:
    """Reject a request that lacks a deployment's required values, or has one that it refuses."""
    for name, (value, rule) in _INSISTED.items():
        said = raw.get(name)
        if name in deployment.insists and (not said if value is None else said is not value):
            reject(rule)
    for name in deployment.refuses:
        if raw.get(name) is not None:
            reject("codex_parameter", name=name)
    for name in _STATE if deployment.stateless else ():
        if raw.get(name):
            reject("stateless", param=name)


# ChatGPT's Codex backend names these one after the other.
_INSISTED: dict[str, tuple[bool | None, str]] = {
    "instructions": (None, "codex_instructions"),
    "store": (False, "codex_store"),
    "stream": (True, "codex_stream"),
}


def take_known(raw: dict[str, Json], deployment: Deployment) -> dict[str, Any]:
    """Return the parameters that the API has; reject others, unless the deployment takes them."""
    known = Create.__struct_fields__
    body = {name: value for name, value in raw.items() if name in known}
    _check_present(body)
    body.setdefault("model", _PROMPTS_MODEL)
    for name in raw if not deployment.ignores_unknown else ():
        if name not in known and name not in PENALTIES:
            _reject_unknown(name, raw)
    for name in PENALTIES:
        _check_penalty(name, raw.get(name))
    return body


def check_limits(create: Create, deployment: Deployment) -> None:
    """Reject numbers and sizes out of bounds."""
    cap, least = create.max_output_tokens, deployment.min_output
    if cap is not None and cap < least:
        reject("integer_below", param="max_output_tokens", bound=least, value=cap)
    if create.metadata is not None and len(create.metadata) > _MOST_METADATA:
        count = len(create.metadata)
        reject("metadata_size", param="metadata", most=_MOST_METADATA, count=count)
    for param, text, most in _strings(create) if deployment.bounded else ():
        if len(text) > most:
            reject("long_string", param=param, most=most, length=len(text))


def _strings(create: Create) -> Iterator[tuple[str, str, int]]:
    yield "prompt_cache_key", create.prompt_cache_key or "", _LONGEST_KEY
    for name, value in (create.metadata or {}).items():
        yield "metadata", name, _LONGEST_KEY
        yield f"metadata.{name}", str(value), _LONGEST_VALUE


def _check_present(body: dict[str, Any]) -> None:
    stored = any(body.get(name) is not None for name in ("prompt", "conversation"))
    if "model" not in body and body.get("prompt") is None:
        reject("missing", param="model")
    if "input" not in body and not stored:
        reject("missing", param="input")


def _reject_unknown(name: str, raw: Iterable[str]) -> None:
    if name in _MOVED:
        reject("moved_parameter", name=name, to=_MOVED[name])
    near = sorted(
        (far, each)
        for each in Create.__struct_fields__
        if each not in raw and (far := _distance(name, each)) <= _FAR
    )
    if near:
        words = " or ".join(f"'{each}'" for _, each in near)
        reject("near_parameter", param=name, near=words)
    reject("unknown_parameter", param=name)


def _check_penalty(name: str, value: Json) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        reject("invalid_type", param=name, wanted="a decimal", got="another type")
    if value < -2:
        reject("decimal_below", param=name, bound=-2, value=value)
    if value > 2:
        reject("decimal_above", param=name, bound=2, value=value)


def _distance(written: str, known: str) -> int:
    """Return how many letters must be added, removed or changed; more than two is three."""
    if abs(len(written) - len(known)) > _FAR:
        return _FAR + 1
    row = list(range(len(known) + 1))
    for number, letter in enumerate(written, 1):
        before, row[0] = row[0], number
        for place, there in enumerate(known, 1):
            swap = before + (letter != there)
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, swap)
    return min(row[-1], _FAR + 1)

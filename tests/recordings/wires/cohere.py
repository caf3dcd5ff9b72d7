"""The v2 chat wire, read the dumb way; and what of its recordings is left out."""

from typing import Any

from pondero.canon import Target

from ..corpus import Exchange, objects
from ..extract import Extract, Unit, json_or_text

Json = Any

# By id, with the reason. An entry that is no longer needed fails the test.
_OLDER = "v1 of the API, which is another wire"
_FAILED = "ends in an error, which is raised; the recording is not marked as one"
UNDECODED: dict[str, str] = {
    "fe8e8e11aa-7d7cae62bb": _OLDER,
    "1f19d8e0bc-b9fcfa70d5": _OLDER,
    "1f19d8e0bc-60058bb379": _OLDER,
    "39cf395a4e-a94e359de1": _OLDER,
    "39cf395a4e-71d3fb17bc": _OLDER,
    "a557d8e0ee-27ba4cd7b7": _OLDER,
    "946d1412c8-f47b03ef78": _OLDER,
    "a557d8e0ee-8f8eeacd73": _OLDER,
    "d9ccaaa89e-2e9609c63c": _FAILED,
    "d9ccaaa89e-f60a6dcbf9": _FAILED,
    "cebd64713e-c270e5d86f": _FAILED,
}
UNREPLAYED: dict[str, str] = {
    "868db2ee28-839818e32f": "the thinking it sends is another vendor's, put in by hand",
}


def target(exchange: Exchange) -> Target:
    """Return where such an exchange goes."""
    return Target(exchange.provider, "https://example.invalid", {"authorization": "Bearer k"})


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds; a plan before a call is words too."""
    found = objects(exchange)
    message, usage = _message(found) if exchange.stream is not None else _whole(found[0])
    tokens = usage.get("tokens") or {}
    text = "".join(part.get("text") or "" for part in message["content"])
    counts: list[Json] = [tokens.get(name) for name in ("input_tokens", "output_tokens")]
    return Extract(
        text={text + message["tool_plan"], message["tool_plan"] + text},
        thinking={"".join(part.get("thinking") or "" for part in message["content"])},
        calls=[
            (call["name"], json_or_text(call["arguments"] or "{}") or {})
            for call in message["tool_calls"]
        ],
        total=None if None in counts else sum(counts) + (tokens.get("image_tokens") or 0),
    )


def turns(body: Json) -> list[list[Unit]]:
    """Return the assistant's turns of a request."""
    return [
        _units(message) for message in body.get("messages") or [] if message["role"] == "assistant"
    ]


def _units(message: Json) -> list[Unit]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    units = [Unit("thinking", part["thinking"]) for part in parts if part["type"] == "thinking"]
    for call in message.get("tool_calls") or []:
        function = call["function"]
        value = (call["id"], function["name"], json_or_text(function["arguments"]))
        units.append(Unit("call", value))
    return units


def _whole(body: Json) -> tuple[Json, Json]:
    message = body["message"]
    return {
        "content": message.get("content") or [],
        "tool_plan": message.get("tool_plan") or "",
        "tool_calls": [call["function"] for call in message.get("tool_calls") or []],
    }, body.get("usage") or {}


def _message(found: list[Json]) -> tuple[Json, Json]:
    message: Json = {"content": [], "tool_plan": "", "tool_calls": []}
    usage: Json = {}
    for event in found:
        if not isinstance(event, dict) or event["type"] == "message-start":
            continue
        delta = event.get("delta") or {}
        inner = delta.get("message") or {}
        usage = delta.get("usage") or usage
        if inner.get("content"):
            message["content"].append(inner["content"])
        message["tool_plan"] += inner.get("tool_plan") or ""
        if calls := inner.get("tool_calls"):
            function = calls["function"]
            if "name" in function:
                message["tool_calls"].append(dict(function))
            else:
                message["tool_calls"][-1]["arguments"] += function["arguments"]
    return message, usage

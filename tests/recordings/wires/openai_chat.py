"""The Chat Completions wire, read the dumb way; and what of its recordings is left out."""

import json
from typing import Any

from pondero.canon import Target

from ..corpus import Exchange, objects
from ..extract import Extract, Unit, json_or_text

Json = Any

# By id, with the reason. An entry that is no longer needed fails the test.
UNDECODED: dict[str, str] = {
    "5e8c161730-ebd736a1b2": "the counts are followed by zeros; counts only grow, so they stay",
}
_ELSEWHERE = "the answer it sends back is not among the recordings"
_FIRST_WORD = "the recorded client lost the first delta of the thinking; ours goes back whole"
UNREPLAYED: dict[str, str] = {
    "171c3c326b-7f2947aaf4": _ELSEWHERE,
    "97e9aad8d3-e8d337c150": _ELSEWHERE,
    "97e9aad8d3-d422fe0476": _ELSEWHERE,
    "f87361383e-ee4319f5a4": _ELSEWHERE,
    "868db2ee28-dcd97dc7d1": "the thinking it sends is another vendor's, put in by hand",
    "1246299d9a-93910c7d0e": _FIRST_WORD,
    "53dc1f20e6-b4ebb1ee67": _FIRST_WORD,
    "941f9077c5-7ca20e3a68": _FIRST_WORD,
}


def target(exchange: Exchange) -> Target:
    """Return where such an exchange goes."""
    return Target(exchange.provider, "https://example.invalid/v1", {"authorization": "Bearer k"})


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds."""
    found = objects(exchange)
    if exchange.stream is None:
        message, usage = found[0]["choices"][0]["message"], found[0].get("usage") or {}
    else:
        message, usage = _message(found)
    text = _text(message.get("content"))
    details = message.get("reasoning_details") or []
    thoughts = {
        message.get("reasoning_content") or "",
        message.get("reasoning") if isinstance(message.get("reasoning"), str) else "",
        "".join(d.get("text") or d.get("summary") or "" for d in details),
        _thinking(message.get("content")),
    }
    functions = [call["function"] for call in message.get("tool_calls") or []]
    if message.get("function_call"):  # the older form of a call
        functions.append(message["function_call"])
    return Extract(
        text={text, text + (message.get("refusal") or "")},
        thinking={thought for thought in thoughts if thought} or {""},
        calls=[(f["name"], json_or_text(f.get("arguments") or "{}")) for f in functions],
        opaque=[d[key] for d in details for key in ("signature", "data") if d.get(key)],
        total=usage.get("total_tokens"),
    )


def turns(body: Json) -> list[list[Unit]]:
    """Return the assistant's turns of a request."""
    return [
        _units(message) for message in body.get("messages", []) if message["role"] == "assistant"
    ]


def _units(message: Json) -> list[Unit]:
    """The words of a turn's thinking, whichever field a client chose, then its seals and calls."""
    details = message.get("reasoning_details") or []
    thought = (
        message.get("reasoning_content")
        or message.get("reasoning")
        or "".join(d.get("text") or d.get("summary") or "" for d in details)
        or _thinking(message.get("content"))
    )
    units = [Unit("thinking", thought.strip())] if thought else []
    for detail in details:
        units += [Unit("thinking", detail[k]) for k in ("signature", "data") if detail.get(k)]
    for call in message.get("tool_calls") or []:
        function = call["function"]
        value = (call["id"], function["name"], json_or_text(function["arguments"]))
        units.append(Unit("call", (*value, call.get("extra_content"))))
    return units


def _text(content: Json) -> str:
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    if isinstance(content, dict):  # structured output, not written out by its sender
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return content or ""


def _thinking(content: Json) -> str:
    if not isinstance(content, list):
        return ""
    thoughts = [part["thinking"] for part in content if part["type"] == "thinking"]
    return "".join(t if isinstance(t, str) else _text(t) for t in thoughts)


def _message(found: list[Json]) -> tuple[Json, Json]:
    message: Json = {"content": [], "tool_calls": {}, "reasoning_details": []}
    usage: Json = {}
    for each in found:
        usage = each.get("usage") or (each.get("x_groq") or {}).get("usage") or usage
        for choice in each.get("choices") or []:
            if not choice.get("index"):
                _merge(message, choice.get("delta") or {})
    message["tool_calls"] = list(message["tool_calls"].values())
    return message, usage


def _merge(message: Json, delta: Json) -> None:
    for key in ("reasoning_content", "reasoning", "refusal"):
        if isinstance(delta.get(key), str):
            message[key] = message.get(key, "") + delta[key]
    content = delta.get("content") or []
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    message["content"] += content
    for position, call in enumerate(delta.get("tool_calls") or []):
        new = {"id": None, "function": {"name": "", "arguments": ""}}
        merged = message["tool_calls"].setdefault(call.get("index", position), new)
        for key in ("name", "arguments"):
            merged["function"][key] += (call.get("function") or {}).get(key) or ""
    message["reasoning_details"] += delta.get("reasoning_details") or []

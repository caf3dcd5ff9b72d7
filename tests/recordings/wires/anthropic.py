"""The Messages wire, read the dumb way; and what of its recordings is left out."""

from typing import Any

from pondero.canon import Target

from ..corpus import Exchange, objects
from ..extract import Extract, Unit, json_or_text

Json = Any

# By id, with the reason. An entry that is no longer needed fails the test.
UNDECODED: dict[str, str] = {}
UNREPLAYED: dict[str, str] = {}


def target(exchange: Exchange) -> Target:
    """Return where such an exchange goes."""
    return Target(exchange.provider, "https://example.invalid", {"x-api-key": "k"})


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds."""
    blocks, usage = _blocks(objects(exchange))
    counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Extract(
        text={"".join(b["text"] for b in blocks if b["type"] == "text")},
        thinking={"".join(b["thinking"] for b in blocks if b["type"] == "thinking")},
        calls=[(b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"],
        opaque=[b[key] for b in blocks for key in ("signature", "data") if b.get(key)],
        total=sum(usage.get(key) or 0 for key in (*counts, "output_tokens"))
        if "output_tokens" in usage
        else None,
    )


def turns(body: Json) -> list[list[Unit]]:
    """Return the assistant's turns of a request."""
    return [
        [unit for block in message["content"] for unit in _units(block)]
        for message in body.get("messages", [])
        if message["role"] == "assistant" and isinstance(message["content"], list)
    ]


def _units(block: Json) -> list[Unit]:
    match block["type"]:
        case "thinking":
            return [Unit("thinking", (block["thinking"], block["signature"]))]
        case "redacted_thinking":
            return [Unit("thinking", block["data"])]
        case "tool_use" | "server_tool_use":
            return [Unit("call", (block["id"], block["name"], block["input"]))]
    return []


def _blocks(found: list[Json]) -> tuple[list[Json], Json]:
    if found[0]["type"] == "message":
        return found[0]["content"], found[0].get("usage") or {}
    blocks: dict[int, Json] = {}
    usage: Json = {}
    for each in found:
        match each["type"]:
            case "message_start":
                usage |= each["message"].get("usage") or {}
            case "content_block_start":
                blocks[each["index"]] = {**each["content_block"], "json": ""}
            case "content_block_delta":
                _merge(blocks[each["index"]], each["delta"])
            case "message_delta":
                usage |= {key: n for key, n in (each.get("usage") or {}).items() if n is not None}
    for block in blocks.values():
        if block["json"]:
            block["input"] = json_or_text(block["json"])
    return list(blocks.values()), usage


def _merge(block: Json, delta: Json) -> None:
    for key in ("text", "thinking", "signature"):
        if key in delta:
            block[key] = block.get(key, "") + delta[key]
    block["json"] += delta.get("partial_json", "")

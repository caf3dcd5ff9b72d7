"""The Converse wire, read the dumb way; and what of its recordings is left out."""

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
    return Target(exchange.provider, "https://example.invalid", {"authorization": "Bearer k"})


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds."""
    blocks, usage = _blocks(objects(exchange))
    thoughts = [block["reasoningContent"] for block in blocks if "reasoningContent" in block]
    texts = [thought["reasoningText"] for thought in thoughts if "reasoningText" in thought]
    calls = [block["toolUse"] for block in blocks if "toolUse" in block]
    hidden = [thought.get("redactedContent") for thought in thoughts]
    return Extract(
        text={"".join(map(_words, blocks))},
        thinking={"".join(text["text"] for text in texts)},
        calls=[
            (call["name"], call["input"])
            for call in calls
            if call.get("type") in (None, "tool_use")
        ],
        opaque=[each for each in (*hidden, *(t.get("signature") for t in texts)) if each],
        total=usage.get("totalTokens"),
    )


def turns(body: Json) -> list[list[Unit]]:
    """Return the assistant's turns of a request."""
    return [
        [unit for block in message["content"] for unit in _units(block)]
        for message in body.get("messages", [])
        if message["role"] == "assistant"
    ]


def _units(block: Json) -> list[Unit]:
    if thought := block.get("reasoningContent"):
        text = thought.get("reasoningText") or {}
        proof = text.get("signature") or thought.get("redactedContent")
        return [Unit("thinking", (text.get("text"), proof))]
    if call := block.get("toolUse"):
        return [Unit("call", (call["toolUseId"], call["name"], call["input"]))]
    return []


def _words(block: Json) -> str:
    cited = block.get("citationsContent") or {}
    return block.get("text", "") + "".join(each["text"] for each in cited.get("content") or [])


def _blocks(found: list[Json]) -> tuple[list[Json], Json]:
    if "output" in found[0]:
        return found[0]["output"]["message"]["content"], found[0].get("usage") or {}
    blocks: dict[int, Json] = {}
    usage: Json = {}
    for event in found:
        for kind, said in event.items():
            match kind:
                case "contentBlockStart":
                    blocks[said["contentBlockIndex"]] = {
                        k: dict(v) for k, v in said["start"].items()
                    }
                case "contentBlockDelta":
                    _merge(blocks.setdefault(said["contentBlockIndex"], {}), said["delta"])
                case "metadata":
                    usage = said["usage"]
    for block in blocks.values():
        if call := block.get("toolUse"):
            call["input"] = json_or_text(call.get("input") or "{}")
    return list(blocks.values()), usage


def _merge(block: Json, delta: Json) -> None:
    block["text"] = block.get("text", "") + delta.get("text", "")
    if "toolUse" in delta:
        call = block["toolUse"]
        call["input"] = call.get("input", "") + delta["toolUse"]["input"]
    if more := delta.get("reasoningContent"):
        thought = block.setdefault("reasoningContent", {})
        if "redactedContent" in more:
            thought["redactedContent"] = more["redactedContent"]
            return
        text = thought.setdefault("reasoningText", {"text": "", "signature": ""})
        text["text"] += more.get("text", "")
        text["signature"] += more.get("signature", "")

"""The Responses wire, read the dumb way; and what of its recordings is left out."""

from typing import Any

from pondero.canon import Target

from ..corpus import Exchange, objects
from ..extract import Extract, Unit, json_or_text

Json = Any

# By id, with the reason. An entry that is no longer needed fails the test.
_SCRUBBED = "the recorder rewrote the arguments where the call ends, and not in their pieces"
_JOINED = "four answers in one file: the first is the answer"
UNDECODED: dict[str, str] = {
    "3c827077c8-d9a51f4702": _SCRUBBED,
    "3c827077c8-06087d2eb9": _SCRUBBED,
    "3c827077c8-615eae1668": _SCRUBBED,
    "3c827077c8-04fe4608d4": _SCRUBBED,
    "3c827077c8-426895d7be": _SCRUBBED,
    "6404d03518-2f53a02ef3": "the service wrote its summary anew under way: the end has another text",
    "0e17571176-f171898b52": "filed wrongly: a chat completion",
    "14cfe9d209-ccbc2001c0": _JOINED,
    "500d075494-ae3b37e354": _JOINED,
}
UNREPLAYED: dict[str, str] = {
    "8787095a92-2402790cd6": "the recorder emptied the arguments of the call that was sent back",
    "59279dd651-bc977fbd24": "the client renamed the calls, whose ids this server gives twice",
    "050a59bb6b-f97e998743": "the client sent the item's id in place of the call's",
}


def target(exchange: Exchange) -> Target:
    """Return where such an exchange goes."""
    return Target(exchange.provider, "https://example.invalid/v1", {"authorization": "Bearer k"})


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds."""
    items, usage = _items(objects(exchange))
    messages = [item for item in items if item["type"] == "message"]
    contents = [part for item in messages for part in item.get("content") or []]
    spoken = "".join(part["text"] for part in contents if part["type"] == "output_text")
    refused = "".join(part.get("refusal") or "" for part in contents)
    thoughts = [item for item in items if item["type"] == "reasoning"]
    summaries = "".join(_texts(item.get("summary")) for item in thoughts)
    raw = "".join(_texts(item.get("content")) for item in thoughts)
    both = "".join(_texts(item.get("content")) + _texts(item.get("summary")) for item in thoughts)
    mixed = "".join(_texts(item.get("summary")) + _texts(item.get("content")) for item in thoughts)
    return Extract(
        text={spoken, spoken + refused},
        thinking={both, mixed, summaries or raw, raw or summaries},
        calls=[
            (item["name"], json_or_text(item["arguments"]))
            for item in items
            if item["type"] == "function_call"
        ],
        opaque=[i["encrypted_content"] for i in thoughts if i.get("encrypted_content")],
        total=usage.get("total_tokens"),
    )


def turns(body: Json) -> list[list[Unit]]:
    """Return the assistant's turns of a request: items up to the next one of the user's."""
    found: list[list[Unit]] = [[]]
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        match item.get("type", "message"):
            case "reasoning":
                # Sealed thinking may go back without its id; what is not sealed is known by it.
                known = item.get("encrypted_content") or item.get("id")
                found[-1].append(Unit("thinking", (known, _texts(item.get("summary")))))
            case "function_call":
                value = (item["name"], json_or_text(item["arguments"]))
                found[-1].append(Unit("call", (item["call_id"], *value)))
            case "message" if item["role"] == "assistant":
                pass
            case "message" | "function_call_output":
                found.append([])
    return found


def _texts(parts: Json) -> str:
    return "".join(part.get("text") or "" for part in parts or [])


def _items(found: list[Json]) -> tuple[list[Json], Json]:
    if "type" not in found[0] and "output" in found[0]:
        return found[0]["output"], found[0].get("usage") or {}
    done = {
        e["output_index"]: e["item"] for e in found if e.get("type") == "response.output_item.done"
    }
    last = next(e["response"] for e in reversed(found) if "response" in e)
    items = [done[index] for index in sorted(done)] or last.get("output") or []
    return items, last.get("usage") or {}

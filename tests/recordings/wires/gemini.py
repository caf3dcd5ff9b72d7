"""The generateContent wire, read the dumb way; and what of its recordings is left out."""

import itertools
import re
from typing import Any

from pondero.canon import Target

from ..corpus import Exchange, objects
from ..extract import Extract, Unit

Json = Any

# By id, with the reason. An entry that is no longer needed fails the test.
UNDECODED: dict[str, str] = {}
_COPIED = "the recorded client copied one signature onto a call that came without; ours does not"
UNREPLAYED: dict[str, str] = {
    "93b1d517cf-a042c9b2cd": _COPIED,
    "dce7389870-b627727f8f": _COPIED,
    "fa27e22a4f-11c068a9d8": "the recorded client rewrote a date in the call's arguments",
}
# Says that there is no signature, in base64 as some clients write it.
_STAND_IN = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I"


def target(exchange: Exchange) -> Target:
    """Return where such an exchange goes."""
    return Target(exchange.provider, "https://example.invalid/v1beta", {"x-goog-api-key": "k"})


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds."""
    parts: list[Json] = []
    total = None
    for each in objects(exchange):
        inner = each.get("response", each)
        for candidate in (inner.get("candidates") or [])[:1]:
            parts += (candidate.get("content") or {}).get("parts") or []
        total = (inner.get("usageMetadata") or {}).get("totalTokenCount", total)
    return Extract(
        text={"".join(p["text"] for p in parts if "text" in p and not p.get("thought"))},
        thinking={"".join(p["text"] for p in parts if "text" in p and p.get("thought"))},
        calls=_calls([p["functionCall"] for p in parts if "functionCall" in p]),
        opaque=[p["thoughtSignature"] for p in parts if p.get("thoughtSignature")],
        total=total,
    )


def turns(body: Json) -> list[list[Unit]]:
    """Return the model's turns of a request."""
    return [
        [unit for part in content.get("parts") or [] for unit in _units(part)]
        for content in body.get("contents", [])
        if content.get("role") == "model"
    ]


def _units(part: Json) -> list[Unit]:
    """Ids are left aside: where the service gave none, recorded clients made up their own."""
    signature = part.get("thoughtSignature") or part.get("thought_signature")
    call = part.get("functionCall") or part.get("function_call")
    if signature:  # some clients write the same bytes in the other alphabet
        signature = signature.replace("-", "+").replace("_", "/").rstrip("=")
    if signature == _STAND_IN:
        signature = None
    if call:
        value = (call["name"], call.get("args") or {}, signature)
        return [Unit("thinking" if signature else "call", value)]
    kinds = sorted(part.keys() - {"thoughtSignature", "thought_signature", "thought"})
    return [Unit("thinking", (kinds, signature))] if signature else []


def _calls(calls: list[Json]) -> list[tuple[str, Json]]:
    """Whole calls, and those that came as values at paths."""
    found: list[tuple[str, Json]] = []
    for call in calls:
        if "name" in call:
            found.append((call["name"], call.get("args") or {}))
        for piece in call.get("partialArgs") or []:
            _put(found[-1][1], re.findall(r"\w+", piece["jsonPath"]), piece)
    return found


def _put(into: Json, path: list[str], piece: Json) -> None:
    for key, below in itertools.pairwise(path):
        into = _in(into, key, [] if below.isdigit() else {})
    value = next(v for k, v in piece.items() if k.endswith("Value"))
    old = into.get(path[-1]) if isinstance(into, dict) else None
    into[path[-1]] = old + value if isinstance(old, str) else value


def _in(into: Json, key: str, new: Json) -> Json:
    if isinstance(into, dict):
        return into.setdefault(key, new)
    if int(key) == len(into):
        into.append(new)
    return into[int(key)]

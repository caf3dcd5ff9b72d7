"""The /api/chat wire, read the dumb way; and what of its recordings is left out."""

import json
from typing import Any

from pondero.canon import Target

from ..corpus import Exchange, objects
from ..extract import Extract, Unit

Json = Any

# By id, with the reason. An entry that is no longer needed fails the test.
UNDECODED: dict[str, str] = {}
UNREPLAYED: dict[str, str] = {}


def target(exchange: Exchange) -> Target:
    """Return where such an exchange goes."""
    return Target(exchange.provider, "http://example.invalid:11434")


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds; four recordings are of /api/generate."""
    found = objects(exchange)
    messages = [each.get("message") or {} for each in found]
    last = found[-1]
    counts = (last.get("prompt_eval_count"), last.get("eval_count"))
    text = "".join(m.get("content") or "" for m in messages)
    return Extract(
        text={text or "".join(each.get("response") or "" for each in found)},
        thinking={"".join(m.get("thinking") or "" for m in messages)},
        calls=[
            (call["function"]["name"], call["function"]["arguments"])
            for message in messages
            for call in message.get("tool_calls") or []
        ],
        total=None if None in counts else sum(counts),
    )


def turns(body: Json) -> list[list[Unit]]:
    """Return the assistant's turns of a request."""
    return [
        _units(message) for message in body.get("messages") or [] if message["role"] == "assistant"
    ]


def _units(message: Json) -> list[Unit]:
    """Ids are left aside: the recorded clients did not send them all back."""
    thinking = message.get("thinking")
    units = [Unit("thinking", thinking)] if thinking else []
    for call in message.get("tool_calls") or []:
        function = call["function"]
        value = (function["name"], json.dumps(function["arguments"], sort_keys=True))
        units.append(Unit("call", value))
    return units

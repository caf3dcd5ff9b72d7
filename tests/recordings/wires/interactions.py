"""The Interactions wire, read the dumb way; and what of its recordings is left out."""

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
    return Target(exchange.provider, "https://example.invalid/v1beta", {"x-goog-api-key": "k"})


def extract(exchange: Exchange) -> Extract:
    """Return what the answer holds."""
    steps, usage = _steps(objects(exchange))
    contents = [part for step in steps for part in step.get("content") or []]
    summaries = [part for step in steps for part in step.get("summary") or []]
    return Extract(
        text={"".join(part.get("text", "") for part in contents)},
        thinking={"".join(part.get("text", "") for part in summaries)},
        calls=[
            (step["name"], step["arguments"]) for step in steps if step["type"] == "function_call"
        ],
        opaque=[step["signature"] for step in steps if step.get("signature")],
        total=usage.get("total_tokens"),
    )


def _steps(found: list[Json]) -> tuple[list[Json], Json]:
    """Return whole steps, put together from their pieces if they came in pieces."""
    if "steps" in found[0]:
        return found[0]["steps"], found[0]["usage"]
    steps: dict[int, Json] = {}
    usage: Json = {}
    for each in found:
        kind = each["event_type"]
        if kind == "step.start":
            steps[each["index"]] = dict(each["step"])
        elif kind == "step.delta":
            _add(steps[each["index"]], each["delta"])
        elif kind == "interaction.completed":
            usage = each["interaction"]["usage"]
    for step in steps.values():
        if isinstance(step.get("arguments"), str):
            step["arguments"] = json_or_text(step["arguments"])
    return list(steps.values()), usage


def _add(step: Json, delta: Json) -> None:
    match delta["type"]:
        case "text":
            step.setdefault("content", []).append(delta)
        case "thought_summary":
            step.setdefault("summary", []).append(delta["content"])
        case "thought_signature":
            step["signature"] = delta["signature"] or step.get("signature")
        case "arguments_delta":
            step["arguments"] = (step["arguments"] or "") + delta["arguments"]
        case _:
            step |= {key: value for key, value in delta.items() if key != "type"}


def turns(body: Json) -> list[list[Unit]]:
    """Return the model's turns of a request: steps up to the next one of the user's."""
    found: list[list[Unit]] = [[]]
    steps = body.get("input")
    for step in steps if isinstance(steps, list) else []:
        match step.get("type"):
            case "thought":
                found[-1].append(Unit("thinking", step.get("signature")))
            case "function_call":
                found[-1].append(Unit("call", (step["id"], step["name"], step["arguments"])))
            case "user_input" | "function_result":
                found.append([])
    return found

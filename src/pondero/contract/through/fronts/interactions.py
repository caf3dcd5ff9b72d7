"""Gemini's Interactions API, as Google's SDK uses it with ``api_version="v1beta"``.

Nothing is stored: every step goes back, each signature with its own. The API has no word for off.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import msgspec

from ....canon import Json
from ....exchange import Response
from .front import DESCRIPTION, NAME, SCHEMA, Answer, Call, Front, FrontOptions, join_texts
from .gemini import find_retry_delay

_ENDED = ("failed", "cancelled")


class Interactions(Front):
    """``/v1beta/interactions``."""

    name: ClassVar[str] = __name__.rpartition(".")[2]
    has_off: ClassVar[bool] = False
    is_usual: ClassVar[bool] = False

    def path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002 - the body says it
        """Return the path."""
        return "/v1beta/interactions"

    def auth(self) -> dict[str, str]:
        """Return the header with the key."""
        return {"x-goog-api-key": self.key}

    def user(self, text: str) -> list[Any]:
        """Return a user's turn."""
        return [_input({"type": "text", "text": text})]

    def body(self, model: str, history: list[Any], options: FrontOptions, *, stream: bool) -> Json:
        """Return the body of a request."""
        fields: dict[str, Json] = {"model": model, "input": history, "store": False}
        if options.level is not None:
            config = {"thinking_level": options.level, "thinking_summaries": "auto"}
            fields["generation_config"] = config
        if options.schema is not None:
            form = {"type": "text", "mime_type": "application/json"}
            fields["response_format"] = {**form, "schema": options.schema}
        if options.tools:
            tool = {"type": "function", "name": NAME, "description": DESCRIPTION}
            fields["tools"] = [{**tool, "parameters": SCHEMA}]
        if options.system:
            fields["system_instruction"] = "\n\n".join(options.system)
        if stream:
            fields["stream"] = True
        return fields

    def read(self, answer: Json) -> Answer:
        """Read an answer in one piece."""
        if answer["status"] in _ENDED:
            raise ValueError(msgspec.json.encode(answer.get("errors")).decode())
        steps, usage = answer["steps"], answer.get("usage") or {}
        thoughts = usage.get("total_thought_tokens")
        return Answer(
            _texts(steps, "model_output", "content"),
            _texts(steps, "thought", "summary"),
            [
                Call(step["id"], step["name"], step["arguments"])
                for step in steps
                if step["type"] == "function_call"
            ],
            list(steps),
            {
                "input": usage.get("total_input_tokens"),
                "output": (usage.get("total_output_tokens") or 0) + (thoughts or 0),
                "thinking": thoughts,
            },
            answer.get("model"),
        )

    def read_stream(self, events: list[Json]) -> Answer:
        """Read the steps that the events build; the last event has the rest."""
        steps: dict[int, dict[str, Json]] = {}
        written: dict[int, str] = {}
        done = None
        for event in events:
            match event["event_type"]:
                case "step.start":
                    steps[event["index"]] = dict(event["step"])
                case "step.delta":
                    _add(steps[event["index"]], event["delta"], written, event["index"])
                case "interaction.completed":
                    done = event["interaction"]
                case "error":
                    raise ValueError(msgspec.json.encode(event["error"]).decode())
        if done is None:
            raise ValueError("the stream has no interaction.completed")
        for index, text in written.items():
            steps[index]["arguments"] = msgspec.json.decode(text)
        return self.read({**done, "steps": [steps[index] for index in sorted(steps)]})

    def retry_delay(self, response: Response, body: bytes) -> str | None:
        """Return the delay of the error's details."""
        return find_retry_delay(body) or super().retry_delay(response, body)

    def results(self, calls: list[Call], texts: list[str]) -> list[Any]:
        """Return the results of tool calls."""
        return [
            {"type": "function_result", "call_id": call.id, "name": call.name, "result": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def image(self, text: str, data: str) -> list[Any]:
        """Return a user's turn with a PNG."""
        picture = {"type": "image", "data": data, "mime_type": "image/png"}
        return [_input(picture, {"type": "text", "text": text})]

    def system_turns(self, lead: Sequence[str], later: str) -> tuple[FrontOptions, list[Any]]:
        """Return the one place of this API, a string."""
        return FrontOptions(system=(*lead, later)), [
            *self.user("Hello."),
            {"type": "model_output", "content": [{"type": "text", "text": "Hello!"}]},
            *self.user("What is 17 * 23?"),
        ]


def _input(*content: Json) -> Json:
    return {"type": "user_input", "content": list(content)}


def _texts(steps: Iterable[Json], kind: str, field: str) -> str:
    found = [step.get(field) or () for step in steps if step["type"] == kind]
    return join_texts(block.get("text") for blocks in found for block in blocks)


def _add(step: dict[str, Json], delta: Json, written: dict[int, str], index: int) -> None:
    """Add a delta to its step, as the API's pages tell clients to."""
    match delta["type"]:
        case "thought_summary":
            step.setdefault("summary", []).append(delta["content"])
        case "thought_signature":
            step["signature"] = delta.get("signature") or step.get("signature")
        case "arguments_delta":
            written[index] = written.get(index, "") + delta["arguments"]
        case "text":
            _add_text(step.setdefault("content", []), delta["text"])
        case _:
            step.setdefault("content", []).append(delta)


def _add_text(content: list[Json], text: str) -> None:
    if content and content[-1]["type"] == "text":
        content[-1]["text"] += text
    else:
        content.append({"type": "text", "text": text})

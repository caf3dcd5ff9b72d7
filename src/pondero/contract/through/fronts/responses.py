"""The Responses API, as OpenAI's SDK uses it; nothing is stored on the server."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from ....canon import Json
from .front import DESCRIPTION, NAME, SCHEMA, Answer, Call, Front, FrontOptions, join_texts


class Responses(Front):
    """``/v1/responses``."""

    name: ClassVar[str] = "responses"

    def path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002 - the body says it
        """Return the path."""
        return "/v1/responses"

    def body(self, model: str, history: list[Any], options: FrontOptions, *, stream: bool) -> Json:
        """Return the body of a request."""
        fields: dict[str, Json] = {
            "model": model,
            "input": history,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if options.level is not None:
            effort = "none" if options.level == "off" else options.level
            fields["reasoning"] = {"effort": effort, "summary": "detailed"}
        if options.schema is not None:
            form = {"type": "json_schema", "name": "answer", "schema": options.schema}
            fields["text"] = {"format": {**form, "strict": True}}
        if options.tools:
            tool = {"type": "function", "name": NAME, "description": DESCRIPTION}
            fields["tools"] = [{**tool, "parameters": SCHEMA, "strict": False}]
        if stream:
            fields["stream"] = True
        return fields

    def read(self, answer: Json) -> Answer:
        """Read an answer in one piece."""
        items, usage = answer["output"], answer.get("usage") or {}
        if answer.get("status") == "failed":
            raise ValueError(msgspec.json.encode(answer.get("error")).decode())
        messages = [item for item in items if item["type"] == "message"]
        reasoning = [item for item in items if item["type"] == "reasoning"]
        return Answer(
            join_texts(p.get("text") for item in messages for p in item["content"]),
            join_texts(_thinking(item) for item in reasoning),
            [
                Call(item["call_id"], item["name"], msgspec.json.decode(item["arguments"]))
                for item in items
                if item["type"] == "function_call"
            ],
            list(items),
            {
                "input": usage.get("input_tokens"),
                "output": usage.get("output_tokens"),
                "thinking": (usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
            },
            answer.get("model"),
        )

    def read_stream(self, events: list[Json]) -> Answer:
        """Read the response that a terminal event has, and hold it to its deltas."""
        ends = ("response.completed", "response.incomplete", "response.failed")
        done = [event["response"] for event in events if event["type"] in ends]
        if not done:
            raise ValueError("the stream has no response.completed")
        answer = self.read(done[-1])
        deltas = join_texts(e["delta"] for e in events if e["type"] == "response.output_text.delta")
        if deltas != answer.text:
            raise ValueError(f"the deltas are {deltas!r}, and the answer is {answer.text!r}")
        return answer

    def results(self, calls: list[Call], texts: list[str]) -> list[Any]:
        """Return the results of tool calls."""
        return [
            {"type": "function_call_output", "call_id": call.id, "output": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def image(self, text: str, data: str) -> list[Any]:
        """Return a user's turn with a PNG."""
        content = [
            {"type": "input_image", "image_url": f"data:image/png;base64,{data}", "detail": "auto"},
            {"type": "input_text", "text": text},
        ]
        return [{"role": "user", "content": content}]

    def system_turns(self, lead: Sequence[str], later: str) -> tuple[FrontOptions, list[Any]]:
        """Return developer items: first, as Codex does, and in the middle."""
        return FrontOptions(), [
            *({"role": "developer", "content": text} for text in lead),
            *self.user("Hello."),
            {"role": "assistant", "content": "Hello!"},
            {"role": "developer", "content": later},
            *self.user("What is 17 * 23?"),
        ]


def _thinking(item: Json) -> str:
    """Return the summary of a reasoning item; else its content, as open models have it."""
    return join_texts(part.get("text") for part in item.get("summary") or item.get("content") or ())

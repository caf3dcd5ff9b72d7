"""Gemini's generateContent, as Google's SDK uses it with ``api_version="v1beta"``.

Gateways serve that version; ``v1``, the default of newer SDKs, is not served by all of them.
The SDK writes some names in snake case, which the service reads as well.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from ....canon import Json
from ....exchange import Response
from ....framing import parse_json_or_none
from .front import DESCRIPTION, NAME, SCHEMA, Answer, Call, Front, FrontOptions, join_texts


class GenerateContent(Front):
    """``/v1beta/models/MODEL:generateContent``."""

    name: ClassVar[str] = __name__.rpartition(".")[2]

    def path(self, model: str, *, stream: bool) -> str:
        """Return the path: model and stream are in it."""
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{model}:{method}"

    def auth(self) -> dict[str, str]:
        """Return the header with the key."""
        return {"x-goog-api-key": self.key}

    def user(self, text: str) -> list[Any]:
        """Return a user's turn."""
        return [{"role": "user", "parts": [{"text": text}]}]

    def body(self, model: str, history: list[Any], options: FrontOptions, *, stream: bool) -> Json:  # noqa: ARG002 - the path says it
        """Return the body of a request."""
        fields: dict[str, Json] = {"contents": history}
        config: dict[str, Json] = {}
        if options.level == "off":
            config["thinkingConfig"] = {"thinking_budget": 0}
        elif options.level is not None:
            level = options.level.upper()
            config["thinkingConfig"] = {"include_thoughts": True, "thinking_level": level}
        if options.schema is not None:
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = options.schema
        if options.tools:
            tool = {"name": NAME, "description": DESCRIPTION, "parameters_json_schema": SCHEMA}
            fields["tools"] = [{"functionDeclarations": [tool]}]
        if options.system:
            fields["systemInstruction"] = {
                "role": "user",
                "parts": [{"text": text} for text in options.system],
            }
        if config:
            fields["generationConfig"] = config
        return fields

    def read(self, answer: Json) -> Answer:
        """Read an answer in one piece."""
        return self.read_stream([answer])

    def read_stream(self, events: list[Json]) -> Answer:
        """Read every chunk; the SDK's own chat keeps contents without thoughts."""
        contents = [
            event["candidates"][0]["content"]
            for event in events
            if event.get("candidates") and event["candidates"][0].get("content")
        ]
        parts = [part for content in contents for part in content.get("parts") or ()]
        kept = [
            [p for p in content.get("parts") or () if not p.get("thought")] for content in contents
        ]
        called = [part["functionCall"] for part in parts if part.get("functionCall")]
        usage = events[-1].get("usageMetadata") or {}
        thoughts = usage.get("thoughtsTokenCount")
        return Answer(
            join_texts(p.get("text") for p in parts if not p.get("thought")),
            join_texts(p.get("text") for p in parts if p.get("thought")),
            [Call(call.get("id") or "", call["name"], call.get("args") or {}) for call in called],
            [{"role": "model", "parts": each} for each in kept if each],
            {
                "input": usage.get("promptTokenCount"),
                "output": (usage.get("candidatesTokenCount") or 0) + (thoughts or 0),
                "thinking": thoughts,
            },
            events[-1].get("modelVersion"),
        )

    def retry_delay(self, response: Response, body: bytes) -> str | None:
        """Return the delay of the error's details: the SDK shows no header."""
        return find_retry_delay(body) or super().retry_delay(response, body)

    def results(self, calls: list[Call], texts: list[str]) -> list[Any]:
        """Return the results of tool calls."""
        parts = [
            {"functionResponse": {**_id(call), "name": call.name, "response": {"result": text}}}
            for call, text in zip(calls, texts, strict=True)
        ]
        return [{"role": "user", "parts": parts}]

    def image(self, text: str, data: str) -> list[Any]:
        """Return a user's turn with a PNG."""
        inline = {"data": data, "mimeType": "image/png"}
        return [{"role": "user", "parts": [{"inlineData": inline}, {"text": text}]}]

    def system_turns(self, lead: Sequence[str], later: str) -> tuple[FrontOptions, list[Any]]:
        """Return the one place of this API, with several parts."""
        return FrontOptions(system=(*lead, later)), [
            *self.user("Hello."),
            {"role": "model", "parts": [{"text": "Hello!"}]},
            *self.user("What is 17 * 23?"),
        ]


def _id(call: Call) -> dict[str, str]:
    return {"id": call.id} if call.id else {}


def find_retry_delay(body: bytes) -> str | None:
    """Return the seconds to wait in the details of one of Google's errors; None if it has none."""
    found = parse_json_or_none(body)
    error = found.get("error") if isinstance(found, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    delays = (each["retryDelay"] for each in details or () if "retryDelay" in each)
    return next((str(delay).rstrip("s") for delay in delays), None)

"""Real exchanges from the folder that PONDERO_RECORDINGS names: which file holds which wire.

Nothing of a recording is kept in this repository; a test that needs them skips without the folder.
"""

import json
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.framing.aws import aws_objects, aws_stream

Json = Any

FILES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("anthropic",),
    "openai_responses": ("openai-responses",),
    "openai_chat": (
        *("openai-chat", "openai-compat"),
        *("groq", "cerebras", "mistral", "xai", "deepseek", "zai", "openrouter"),
    ),
    "gemini": ("gemini",),
    "cohere": ("cohere",),
    "ollama": ("ollama",),
    "bedrock": ("bedrock-converse",),
    "interactions": ("gemini-interactions",),
}
# Calls that are not an exchange with a model: there is no answer in them to decode.
NOT_AN_ANSWER = frozenset({"count_tokens", "models"})


@dataclass(frozen=True)
class Exchange:
    """One line of a file, with the response as the bytes that came."""

    id: str
    source: str
    provider: str
    model: str | None
    kind: frozenset[str]
    request: Json
    status: int
    headers: Mapping[str, str]
    stream: bytes | None
    body: bytes
    framing: str | None

    @property
    def conversation(self) -> str:
        """What all exchanges of one cassette, and of one conversation, have in common."""
        return self.id.partition("-")[0]

    @property
    def asked(self) -> Json:
        """The body that was sent, or an empty one where it was not recorded."""
        return (self.request or {}).get("body") or {}

    @property
    def failed(self) -> bool:
        """Whether the service said no, be it after a good status."""
        return self.status >= 400 or bool(self.kind & {"error", "midstream_error"})


@cache
def exchanges(folder: Path, name: str) -> tuple[Exchange, ...]:
    """Return what one file holds, or nothing where it is not there."""
    file = folder / f"{name}.jsonl"
    if not file.exists():
        return ()
    with file.open(encoding="utf-8") as lines:
        found = [_exchange(json.loads(line)) for line in lines]
    return tuple(each for each in found if not each.kind & NOT_AN_ANSWER)


def _exchange(line: Json) -> Exchange:
    response = line["response"]
    stream, body = response.get("stream"), response.get("body")
    if not isinstance(body, str):
        body = "" if body is None else json.dumps(body, ensure_ascii=False)
    return Exchange(
        id=line["id"],
        source=line["source"],
        provider=line["provider"],
        model=line["model"],
        kind=frozenset(line["kind"]),
        request=line["request"],
        status=response["status"],
        headers={name.lower(): value for name, value in (response.get("headers") or {}).items()},
        stream=None if stream is None else _stream(stream, response, line["dialect"]),
        body=body.encode(),
        framing=response.get("stream_format"),
    )


def _stream(text: str, response: Json, wire: str) -> bytes:
    """Return the bytes that came; bare events of a binary stream get their frames again."""
    if response.get("stream_encoding") == "base64":
        return b64decode(text)
    return aws_stream(_data(text)) if wire.startswith("bedrock") else text.encode()


def objects(exchange: Exchange) -> list[Json]:
    """Return the JSON of an answer by the shortest way there is, none of it ours."""
    if exchange.stream is None:
        return [json.loads(exchange.body)]
    if exchange.stream.startswith(b"\0"):
        return aws_objects(exchange.stream)
    text = exchange.stream.decode()
    if exchange.framing == "array":
        return list(json.loads(text))
    if exchange.framing == "ndjson":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return _data(text)


def _data(text: str) -> list[Json]:
    data = (line[5:].strip() for line in re.split(r"\r\n|\n|\r", text) if line.startswith("data:"))
    return [json.loads(line) for line in data if line not in ("", "[DONE]")]

"""Recorded requests, sent to the emulator again: does it decide as the real service did?

Left out are requests that need what only the service has (stored answers, files, its own
signatures), and answers that say nothing about the request (keys, quotas, failed downloads).
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from tests.recordings.corpus import Exchange, Json

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

# The emulated provider of a file and of the service that answered; services that are not here
# (small hosts of open models) are emulated by the most lenient provider of the dialect.
PROVIDERS: Mapping[tuple[str, str], str] = {
    ("anthropic", "azure"): "azure-anthropic",
    ("anthropic", "vertex"): "vertex-anthropic",
    ("gemini", "vertex"): "vertex",
    ("openai-chat", "azure"): "azure-chat",
    ("openai-compat", "alibaba"): "dashscope",
    ("openai-responses", "azure"): "azure",
    ("openai-responses", "chatgpt"): "chatgpt",
    ("openai-responses", "deepseek"): "deepseek",
    ("openai-responses", "llamacpp"): "llamacpp",
    ("openai-responses", "openrouter"): "openrouter",
    ("openai-responses", "xai"): "xai-responses",
}
FALLBACKS: Mapping[str, str] = {
    "anthropic": "anthropic",
    "bedrock-converse": "bedrock",
    "gemini": "google",
    "gemini-interactions": "google-interactions",
    "openai-chat": "openai-chat",
    "openai-compat": "compatible",
    "openai-responses": "openai",
}
KNOWN_COMPATIBLE = frozenset(
    {
        *("baseten", "huggingface", "llamacpp", "nvidia", "perplexity", "together"),
        *("vercel-gateway", "xiaomi"),
    }
)
# What the emulator does not play: other engines, and sandboxes of clouds with rules of their own.
ELSEWHERE: Mapping[str, str] = {
    "local": "another engine on somebody's machine",
    "mistralrs": "another engine on somebody's machine",
    "bedrock-mantle": "a deployment that the catalog does not have",
    "github": "a deployment that the catalog does not have",
}
# Fields whose value stands for something that the service stores, or that only it can make.
STORED = frozenset(
    {
        *(
            "previous_response_id",
            "previous_interaction_id",
            "conversation",
            "cachedContent",
            "file_id",
            "fileUri",
        ),
        *("signature", "thoughtSignature", "thought_signature", "encrypted_content", "container"),
        *("reasoningContent", "vector_store_ids", "item_reference", "redacted_thinking"),
        *("encryptedContent", "encrypted_stdout", "reasoning_details", "server_label"),
    }
)
# Words of answers that say nothing about the form of the request.
_NOT_THE_REQUEST = re.compile(
    r"download|failed_generation|Failed to call a function|Failed to generate JSON"
    r"|decommissioned|deprecated|no longer|does not exist|not found|No endpoints|API key|api[- ]key"
    r"|credit|quota|billing|balance|rate.limit|unable to fetch|Unable to process input image"
    r"|timed? ?out|overloaded",
    re.IGNORECASE,
)


# Rejections of a model's name.
_MODEL = re.compile(
    r"invalid model|model: |valid model|model identifier|model name|supported API model|requested model"
    r"|model_not_found|alpha period",
    re.IGNORECASE,
)
# One client's recorder writes this for a text of a million characters (ten of them are about 2.5
# million tokens, says the answer).
MASSIVE = b"<MASSIVE_TEXT>"
# Recordings of some clients lack the header that says which betas were on.
BETAS = (
    "mcp-client-2025-04-04,context-management-2025-06-27,task-budgets-2026-03-13,"
    "structured-outputs-2025-11-13,compact-2026-01-12,"
    "computer-use-2025-11-24,advisor-tool-2026-03-01,"
    "mid-conversation-tool-changes-2026-07-01"
)


class Verdict(NamedTuple):
    """The service's status, and the emulator's answer to the same request."""

    status: int
    emulated: int
    text: str

    @property
    def agrees(self) -> bool:
        """Return whether both accepted, or both rejected with one status."""
        return self.emulated == self.status if self.status >= 400 else self.emulated < 400


def can_be_sent_again(each: Exchange) -> bool:
    """Return whether the request stands on its own, and the answer is about it."""
    if not each.asked or each.provider in ELSEWHERE or each.request["method"] != "POST":
        return False
    if {"stateful", "replay"} & each.kind or STORED & set(_names(each.asked)):
        return False
    if each.status < 400:
        return True
    return each.status in (400, 404, 422) and not _NOT_THE_REQUEST.search(each.body.decode())


def _names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name == "type" and isinstance(inner, str):
                yield inner
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def provider_of(file: str, each: Exchange) -> str:
    """Return the emulated provider that plays the service of an exchange."""
    if (file, each.provider) in PROVIDERS:
        return PROVIDERS[file, each.provider]
    if file == "openai-compat" and each.provider in KNOWN_COMPATIBLE:
        return each.provider
    return FALLBACKS.get(file, file)


def send_again(file: str, each: Exchange) -> Verdict:
    """Send a recorded request to the emulator.

    A model that the service knew then is known to the emulator by its relatives. If the service
    rejected the request, only a rejection that is about the model's name may be about it here.
    """
    provider, request = provider_of(file, each), _request(each)
    about_name = each.status >= 400 and _MODEL.search(each.body.decode()) is not None
    emulator = Emulator(service=provider, any_model=not about_name)
    answer = emulator.send(request)
    text = b"".join(answer).decode("utf-8", "replace") if answer.head.status >= 400 else ""
    answer.close()
    return Verdict(each.status, answer.head.status, text)


def _request(each: Exchange) -> HttpRequest:
    recorded = each.request
    headers = {
        "content-type": "application/json",
        "authorization": "Bearer key",
        **{name.lower(): value for name, value in (recorded.get("headers") or {}).items()},
    }
    if recorded["path"].endswith("/messages"):
        headers.setdefault("anthropic-version", "2023-06-01")
        headers["x-api-key"] = headers.pop("authorization").partition(" ")[2]
        headers["anthropic-beta"] = headers.get("anthropic-beta", BETAS)
    query = {**(recorded.get("query") or {})}
    url = f"https://service.test{recorded['path']}" + (f"?{urlencode(query)}" if query else "")
    body = json.dumps(each.asked).encode().replace(MASSIVE, b"word " * 200_000)
    return HttpRequest("POST", url, headers, body)

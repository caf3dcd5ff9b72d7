"""Sends a request of the corpus with a vendor's SDK; each raises the SDK's own errors.

A call returns the answer, read to its end. It raises NotSendable if the SDK has no way to send the
request: one that is no JSON, has no key, or lacks what the SDK itself asks for.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import anthropic
import boto3
import botocore.config
import botocore.exceptions
import cerebras.cloud.sdk as cerebras
import cohere
import groq
import mistralai.client as mistralai
import ollama
import openai
from anthropic.types import Message
from cerebras.cloud.sdk.types.chat.chat_completion import (
    ChatCompletionResponse as CerebrasAnswer,
)
from cohere.core.api_error import ApiError
from google import genai
from google.genai import types as google_types
from google.genai._gaos.lib import compat_errors as interaction_errors
from google.genai._gaos.types.interactions import GenerationConfig as SentConfig
from google.genai.errors import APIError
from groq.types.chat import ChatCompletion as GroqAnswer
from mistralai.client.errors import MistralError
from mistralai.client.models import ChatCompletionRequest
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from tests.referee.cases import cases_of

from pondero.canon import HttpRequest

Json = Any
_AUTH = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_OF_THE_SDK = ("content-type", "anthropic-version", *_AUTH)


class NotSendable(Exception):
    """The SDK cannot send this request."""


@dataclass(frozen=True)
class Sdk:
    """An SDK: the dialect and the provider that it asks, how, and its error with a status."""

    name: str
    dialect: str
    provider: str
    call: Callable[[str, HttpRequest, Json], Json]
    error: type[Exception]
    status: Callable[[Any], int]
    classes: Mapping[int, type[Exception]]

    def send(self, url: str, request: HttpRequest) -> Json:
        """Return the answer; raises the SDK's error, or NotSendable."""
        try:
            body = json.loads(request.body)
        except ValueError:
            raise NotSendable from None
        if request.method != "POST" or not isinstance(body, dict):
            raise NotSendable
        return self.call(url, request, body)


def head_of(request: HttpRequest) -> list[str | None]:
    """Return the headers that the SDKs set themselves: the key, and the version."""
    return [request.headers.get(name) for name in _OF_THE_SDK]


def _headers(request: HttpRequest) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name not in _OF_THE_SDK}


def _path(request: HttpRequest) -> str:
    return urlsplit(request.url).path


def _generated(module: Any, client: Callable[[str], Any], kinds: Mapping[str, Any]) -> Any:
    """Return the call of an SDK with a raw post, for the paths by whose kind it reads answers."""

    def call(url: str, request: HttpRequest, body: Json) -> Json:
        kind = kinds.get(_path(request))
        if kind is None:
            raise NotSendable
        at = client(url)
        options = {"headers": _headers(request)}
        # The clients' own addresses end before or after the version.
        path = _path(request).removeprefix("/v1") if "/v1" in str(at.base_url) else _path(request)
        if body.get("stream") is not True:
            answer = at.post(path, cast_to=kind, body=body, options=options)
            assert answer.id
            return answer
        stream = module.Stream[object]
        read = at.post(
            path, cast_to=object, body=body, options=options, stream=True, stream_cls=stream
        )
        return list(read)

    return call


def _errors(module: Any) -> Mapping[int, type[Exception]]:
    return {
        400: module.BadRequestError,
        401: module.AuthenticationError,
        403: module.PermissionDeniedError,
        404: module.NotFoundError,
        422: module.UnprocessableEntityError,
    }


def _with_sdk(
    name: str, dialect: str, provider: str, module: Any, prefix: str, kinds: Mapping[str, Any]
) -> Sdk:
    """Return an SDK of the usual generator, whose clients have the same raw post."""
    kind = {
        "anthropic": "Anthropic",
        "foundry": "Anthropic",
        "groq": "Groq",
        "cerebras": "Cerebras",
    }.get(name, "OpenAI")
    at = {"warm_tcp_connection": False} if name == "cerebras" else {}

    @cache
    def client(url: str) -> Any:
        return getattr(module, kind)(api_key="k", base_url=f"{url}{prefix}", max_retries=0, **at)

    call = _generated(module, client, kinds)
    classes = _errors(module)
    error = module.APIStatusError
    return Sdk(name, dialect, provider, call, error, lambda each: each.status_code, classes)


@cache
def _mistral_client(url: str) -> mistralai.Mistral:
    return mistralai.Mistral(api_key="k", server_url=f"{url}/mistral")


def _is_within(asked: Json, sent: Json) -> bool:
    """Say whether JSON is sent as it is, perhaps with more."""
    if isinstance(asked, dict) and isinstance(sent, dict):
        return all(name in sent and _is_within(each, sent[name]) for name, each in asked.items())
    if isinstance(asked, list) and isinstance(sent, list):
        return len(asked) == len(sent) and all(map(_is_within, asked, sent))
    return asked == sent


def _mistral(url: str, request: HttpRequest, body: Json) -> Json:
    if _path(request) != "/v1/chat/completions" or _headers(request):
        raise NotSendable
    client = _mistral_client(url)
    asked = {name: value for name, value in body.items() if name != "stream"}
    try:
        typed = ChatCompletionRequest.model_validate(asked)
        if not _is_within(asked, typed.model_dump(mode="json", by_alias=True)):
            raise NotSendable
        if body.get("stream"):
            with client.chat.stream(**asked) as stream:
                return list(stream)
        answer = client.chat.complete(**asked)
    except (TypeError, ValueError):  # its own types do not allow it
        raise NotSendable from None
    assert answer.id
    return answer


@cache
def _google_client(url: str) -> genai.Client:
    return genai.Client(api_key="k", http_options={"base_url": url})


def _google(url: str, request: HttpRequest, body: Json) -> Json:
    *before, last = _path(request).split("/")
    model, _, method = last.partition(":")
    if before != ["", "v1beta", "models"] or not body.get("contents"):
        raise NotSendable
    client = _google_client(url)
    options = {"extra_body": body, "headers": _headers(request)}
    asked: Json = {"model": model, "contents": "hi", "config": {"http_options": options}}
    if method == "streamGenerateContent":
        return list(client.models.generate_content_stream(**asked))
    if method != "generateContent":
        raise NotSendable
    answer = client.models.generate_content(**asked)
    assert answer.response_id
    return answer


@cache
def _interactions_client(url: str) -> genai.Client:
    once = google_types.HttpRetryOptions(attempts=1)
    options = google_types.HttpOptions(base_url=url, api_version="v1beta", retry_options=once)
    return genai.Client(api_key="k", http_options=options)


def _interactions(url: str, request: HttpRequest, body: Json) -> Json:
    if _path(request) != "/v1beta/interactions" or not ({"model", "agent"} & body.keys()):
        raise NotSendable
    contents = body.get("input")
    if isinstance(contents, list) and any(
        "processing" in each for each in contents if isinstance(each, dict)
    ):
        raise NotSendable  # it puts such a video into a step, where the field is known
    create = _interactions_client(url).interactions.create
    config = body.get("generation_config")
    try:
        typed = SentConfig.model_validate(config or {})
        if config and not _is_within(config, typed.model_dump(mode="json")):
            raise NotSendable  # it sends "1" as 1
        answer = create(**body, extra_headers=_headers(request))
    except (TypeError, ValueError):  # its types do not have it
        raise NotSendable from None
    if body.get("stream"):
        return list(answer)
    assert answer.status
    return answer


@cache
def _cohere_client(url: str) -> cohere.ClientV2:
    return cohere.ClientV2(api_key="k", base_url=url)


def _cohere(url: str, request: HttpRequest, body: Json) -> Json:
    if _path(request) != "/v2/chat" or not {"model", "messages"} <= body.keys():
        raise NotSendable
    client = _cohere_client(url)
    options: Json = {
        "additional_body_parameters": body,
        "additional_headers": _headers(request),
        "max_retries": 0,
    }
    if body.get("stream"):
        return list(client.chat_stream(model="m", messages=[], request_options=options))
    answer = client.chat(model="m", messages=[], request_options=options)
    assert answer.id
    return answer


@cache
def _ollama_client(url: str) -> ollama.Client:
    return ollama.Client(host=url)


def _ollama(url: str, request: HttpRequest, body: Json) -> Json:
    if _path(request) != "/api/chat" or _headers(request):
        raise NotSendable
    ask: Any = _ollama_client(url)._request  # its public methods judge a request themselves
    stream = body.get("stream") is not False
    answer = ask(ollama.ChatResponse, "POST", "/api/chat", json=body, stream=stream)
    return list(answer) if stream else answer


_BYTES = ("bytes", "redactedContent")


def _from_json(value: Json) -> Json:
    """Return JSON with bytes where the SDK takes bytes."""
    if isinstance(value, list):
        return [_from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, each in value.items():
        found[name] = _from_json(each)
        if name in _BYTES and isinstance(each, str):
            try:
                found[name] = b64decode(each, validate=True)
            except ValueError:  # the SDK writes base64 itself
                raise NotSendable from None
    return found


@cache
def _bedrock_client(url: str) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="k",
        aws_secret_access_key="s",
        config=botocore.config.Config(retries={"total_max_attempts": 1}),
    )


def _bedrock(url: str, request: HttpRequest, body: Json) -> Json:
    _, place, model, method = (*_path(request).split("/"), "", "", "")[:4]
    if place != "model" or method not in ("converse", "converse-stream"):
        raise NotSendable
    send = getattr(_bedrock_client(url), method.replace("-", "_"))
    try:
        answer = send(**{**_from_json(body), "modelId": unquote(model)})
    except (botocore.exceptions.ParamValidationError, TypeError):
        raise NotSendable from None
    return list(answer["stream"]) if "stream" in answer else answer["output"]


_PATH = "/v1/chat/completions"
_OWN = ("", "cerebras", "groq", "mistral")  # providers with another SDK


def _hosts() -> list[str]:
    """Return the other providers of whose cases one is not about the key."""
    kept = {
        case.provider for case in cases_of("openai_chat") if head_of(case.bad) == head_of(case.good)
    }
    return sorted(kept - {*_OWN})


SDKS = [
    _with_sdk("anthropic", "anthropic", "", anthropic, "", {"/v1/messages": Message}),
    _with_sdk("openai", "openai_responses", "", openai, "/v1", {"/v1/responses": Response}),
    _with_sdk("openai-chat", "openai_chat", "", openai, "/v1", {_PATH: ChatCompletion}),
    *(
        _with_sdk(name, "openai_chat", name, openai, f"/{name}/v1", {_PATH: ChatCompletion})
        for name in _hosts()
    ),
    *(
        _with_sdk(
            f"{name}-r",
            "openai_responses",
            name,
            openai,
            f"/{name}/v1",
            {"/v1/responses": Response},
        )
        for name in ("azure", "xai-responses")  # the others have no path in the emulator
    ),
    _with_sdk(
        "foundry",
        "anthropic",
        "azure-anthropic",
        anthropic,
        "/azure-anthropic",
        {"/v1/messages": Message},
    ),
    _with_sdk(
        "cerebras", "openai_chat", "cerebras", cerebras, "/cerebras", {_PATH: CerebrasAnswer}
    ),
    _with_sdk("groq", "openai_chat", "groq", groq, "/groq", {_PATH: GroqAnswer}),
    Sdk("mistral", "openai_chat", "mistral", _mistral, MistralError, lambda e: e.status_code, {}),
    Sdk("google", "gemini", "", _google, APIError, lambda each: each.code, {}),
    Sdk(
        "google-interactions",
        "interactions",
        "",
        _interactions,
        interaction_errors.APIStatusError,
        lambda each: each.status_code,
        {400: interaction_errors.BadRequestError, 404: interaction_errors.NotFoundError},
    ),
    Sdk(
        "cohere",
        "cohere",
        "",
        _cohere,
        ApiError,
        lambda each: each.status_code,
        {
            400: cohere.BadRequestError,
            401: cohere.UnauthorizedError,
            404: cohere.NotFoundError,
            422: cohere.UnprocessableEntityError,
        },
    ),
    Sdk("ollama", "ollama", "", _ollama, ollama.ResponseError, lambda each: each.status_code, {}),
    Sdk(
        "bedrock",
        "bedrock",
        "",
        _bedrock,
        botocore.exceptions.ClientError,
        lambda each: each.response["ResponseMetadata"]["HTTPStatusCode"],
        {},
    ),
]

"""``plan.fields`` merged into a call of the vendors' own SDKs arrives on the wire unchanged."""

import json
from contextlib import suppress

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import types

import pondero
from pondero.catalog import load_shipped

_CATALOG = load_shipped()
_REFUSAL = {"error": {"message": "no", "code": 400, "status": "INVALID_ARGUMENT"}}
_WISHES = (True, "off", "minimal", "low", "medium", "high", "xhigh", "max", 8000)

# The Anthropic SDK reminds of retirements and of older shapes that are still taken.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using Claude with:UserWarning"),
]


class _Wire:
    """A transport that keeps the body it was given and refuses the request."""

    def __init__(self):
        self.body, self.headers = None, {}
        self.client = httpx2.Client(transport=httpx2.MockTransport(self._take))

    def _take(self, request):
        self.body, self.headers = json.loads(request.content), request.headers
        return httpx2.Response(400, json=_REFUSAL)


@pytest.fixture(scope="module")
def wire():
    return _Wire()


def _anthropic(wire, model, fields, headers):
    client = anthropic.Anthropic(api_key="k", http_client=wire.client, max_retries=0)
    messages = [{"role": "user", "content": "hi"}]
    asked = {"max_tokens": 99, **fields}
    with suppress(anthropic.APIStatusError):
        client.messages.create(
            model=model, messages=messages, stream=True, extra_headers=headers, **asked
        )


def _responses(wire, model, fields, headers):
    client = openai.OpenAI(api_key="k", http_client=wire.client, max_retries=0)
    with suppress(openai.APIStatusError):
        client.responses.create(model=model, input="hi", extra_headers=headers, **fields)


def _chat(wire, model, fields, headers):
    client = openai.OpenAI(api_key="k", http_client=wire.client, max_retries=0)
    messages = [{"role": "user", "content": "hi"}]
    with suppress(openai.APIStatusError):
        client.chat.completions.create(
            model=model, messages=messages, extra_headers=headers, **fields
        )


def _genai(wire, model, fields, headers):
    options = types.HttpOptions(httpx_client=wire.client)
    client = genai.Client(api_key="k", http_options=options)
    config = {"http_options": {"extra_body": fields, "headers": headers}}
    with suppress(genai.errors.APIError):
        client.models.generate_content(model=model, contents="hi", config=config)


_CALLS = {
    "anthropic": _anthropic,
    "openai": _responses,
    "openai-chat": _chat,
    "google": _genai,
}


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        (provider, family.match[0])
        for provider in _CALLS
        for group in _CATALOG.providers[provider].families
        for family in _CATALOG.groups[group].family
    ],
)
def test_the_fields_arrive_unchanged(wire, provider, model):
    for wish in _WISHES:
        made = pondero.plan(f"{provider}:{model}", wish, tools=True)
        _CALLS[provider](wire, model, made.fields, made.headers)
        assert made.fields.items() <= wire.body.items()
        assert all(wire.headers[name] == value for name, value in made.headers.items())


@pytest.mark.parametrize("provider", _CALLS)
def test_nothing_is_added_for_an_unset_wish(wire, provider):
    model = {"anthropic": "claude-opus-5", "google": "gemini-2.5-pro"}.get(provider, "gpt-5")
    _CALLS[provider](wire, model, pondero.plan(f"{provider}:{model}").fields, {})
    assert not any(word in str(wire.body) for word in ("thinking", "output_config", "reasoning"))

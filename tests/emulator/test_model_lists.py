"""Lists of models and counts of tokens, in each service's shape and for whoever asks there."""

import json

import pytest

from pondero.canon import HttpRequest
from pondero.client import load_catalog
from pondero.emulator import Emulator

CLAUDE = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
BEARER = {"authorization": "Bearer k"}
GOOGLE = {"x-goog-api-key": "k"}
LOCAL = "http://localhost:9100"


def got(url, headers, body=None, **options):
    method = "GET" if body is None else "POST"
    data = b"" if body is None else json.dumps(body).encode()
    answer = Emulator(**options).send(HttpRequest(method, url, headers, data))
    return answer.head.status, json.loads(b"".join(answer))


def ids(body):
    return [each["id"] for each in body["data"]]


@pytest.mark.parametrize(
    ("url", "headers", "model"),
    [
        ("https://api.anthropic.com/v1/models?limit=1000", CLAUDE, "claude-opus-5"),
        (f"{LOCAL}/v1/models?limit=1000", CLAUDE, "claude-opus-5"),
        ("https://api.openai.com/v1/models", BEARER, "gpt-5.1"),
        (f"{LOCAL}/v1/models", BEARER, "gpt-5.1"),
        ("https://api.groq.com/openai/v1/models", BEARER, "openai/gpt-oss-120b"),
        (f"{LOCAL}/groq/v1/models", BEARER, "openai/gpt-oss-120b"),
        ("https://api.deepseek.com/models", BEARER, "deepseek-v4-pro"),
    ],
)
def test_models_are_listed_by_whoever_lives_there_or_takes_the_key(url, headers, model):
    status, body = got(url, headers)
    assert status == 200
    assert model in ids(body)


@pytest.mark.parametrize(
    "url", ["https://generativelanguage.googleapis.com/v1beta", f"{LOCAL}/v1beta", f"{LOCAL}/v1"]
)
def test_gemini_models_have_limits_and_say_whether_they_think(url):
    status, body = got(f"{url}/models?pageSize=1000", GOOGLE)
    assert status == 200
    (model,) = [each for each in body["models"] if each["name"] == "models/gemini-2.5-pro"]
    assert model["thinking"] is True
    assert (model["inputTokenLimit"], model["outputTokenLimit"]) == (1_048_576, 65_536)
    assert "countTokens" in model["supportedGenerationMethods"]
    assert got(f"{url}/models/gemini-2.5-pro", GOOGLE) == (200, model)


def test_claude_models_say_what_they_take_and_it_is_what_the_catalog_says():
    _, body = got("https://api.anthropic.com/v1/models?limit=1000", CLAUDE)
    for listed in body["data"]:
        entry = load_catalog().entry(f"anthropic:{listed['id']}")
        takes = {word for word, how in listed["capabilities"]["effort"].items()
                 if isinstance(how, dict) and how["supported"]}  # fmt: skip
        assert listed["capabilities"]["thinking"]["supported"] == entry.capability.thinks
        assert listed["max_tokens"] == entry.capability.max_output
        if takes:
            assert takes == set(entry.capability.levels) & {*takes, "low", "medium", "high"}


def test_a_long_list_comes_in_pages():
    found, after = [], ""
    while True:
        _, body = got(f"https://api.anthropic.com/v1/models?limit=7{after}", CLAUDE)
        found += ids(body)
        if not body["has_more"]:
            break
        after = f"&after_id={body['last_id']}"
    assert found == ids(got("https://api.anthropic.com/v1/models?limit=1000", CLAUDE)[1])
    _, body = got(f"https://api.anthropic.com/v1/models?limit=7&before_id={found[9]}", CLAUDE)
    assert ids(body) == found[2:9]
    assert body["has_more"]


@pytest.mark.parametrize(
    ("url", "headers", "status", "words"),
    [
        (f"{LOCAL}/v1/models/claude-nope", CLAUDE, 404, "model: claude-nope"),
        (f"{LOCAL}/v1/models/gpt-nope", BEARER, 404, "The model 'gpt-nope' does not exist"),
        (f"{LOCAL}/v1beta/models/gemini-nope", GOOGLE, 404, "models/gemini-nope is not found"),
        (f"{LOCAL}/groq/v1/models/nope", BEARER, 404, "The model 'nope' does not exist"),
        (f"{LOCAL}/v1/models", {}, 401, "You didn't provide an API key"),
        (f"{LOCAL}/v1beta/models", {}, 403, "unregistered callers"),
        (f"{LOCAL}/v1/models?limit=0", CLAUDE, 400, "limit"),
        (f"{LOCAL}/nowhere", BEARER, 404, "the emulator serves no GET"),
    ],
)
def test_what_cannot_be_had_is_refused_in_the_services_words(url, headers, status, words):
    answered, body = got(url, headers)
    assert answered == status
    assert words in body["error"]["message"]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://emulator/v1/embeddings?key=k3y", "POST /v1/embeddings;"),
        ("https://api.openai.com/v1/embeddings", "POST https://api.openai.com/v1/embeddings;"),
    ],
)
def test_an_endpoint_that_is_not_emulated_is_named_with_those_that_are(url, named):
    status, body = got(url, BEARER, {"model": "text-embedding-3-small", "input": "owl"})
    assert status == 404
    served = "it serves answers, token counts, model lists and batches"
    assert body["error"]["message"] == f"the emulator serves no {named} {served}"


def test_the_deployment_that_was_named_answers_whatever_the_address():
    _, body = got(f"{LOCAL}/v1/models", BEARER, service="groq")
    assert {each["owned_by"] for each in body["data"]} == {"groq"}


# -- tokens --------------------------------------------------------------------------------------

ASKED = {"model": "claude-opus-5", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}


def test_a_count_is_what_the_same_request_costs():
    counted = got(f"{LOCAL}/v1/messages/count_tokens", CLAUDE, ASKED)
    _, answer = got(f"{LOCAL}/v1/messages", CLAUDE, {**ASKED, "max_tokens": 100})
    assert counted == (200, {"input_tokens": answer["usage"]["input_tokens"]})


def test_a_count_is_as_strict_as_an_answer():
    url = f"{LOCAL}/v1/messages/count_tokens"
    unthinkable = {"thinking": {"type": "enabled", "budget_tokens": 2_000}}
    assert got(url, CLAUDE, {**ASKED, "max_tokens": 100})[0] == 400
    assert got(url, CLAUDE, {**ASKED, "model": "claude-nope"})[0] == 404
    assert got(url, CLAUDE, {**ASKED, **unthinkable})[0] == 400
    assert got(url, {"anthropic-version": "2023-06-01"}, ASKED)[0] == 401


@pytest.mark.parametrize("wrapped", [False, True])
def test_gemini_counts_a_request_bare_or_wrapped(wrapped):
    asked = {"contents": [{"role": "user", "parts": [{"text": "What is 17 * 23?"}]}]}
    body = {"generateContentRequest": {"model": "models/gemini-2.5-pro", **asked}}
    url = f"{LOCAL}/v1beta/models/gemini-2.5-pro"
    status, counted = got(f"{url}:countTokens", GOOGLE, body if wrapped else asked)
    _, answer = got(f"{url}:generateContent", GOOGLE, asked)
    assert status == 200
    assert counted["totalTokens"] == answer["usageMetadata"]["promptTokenCount"]
    assert counted["promptTokensDetails"] == [
        {"modality": "TEXT", "tokenCount": counted["totalTokens"]}
    ]


def test_gemini_refuses_to_count_for_a_model_that_is_not_there():
    assert got(f"{LOCAL}/v1beta/models/nope:countTokens", GOOGLE, {"contents": []})[0] == 404


def test_gemini_counts_any_piece_of_a_conversation():
    """Gemini CLI counts the results of its tools alone, with the picture that one of them brought."""
    parts = [
        {"functionResponse": {"id": "a", "name": "read_file", "response": {"output": "binary"}}},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
    ]
    asked = {"contents": [{"role": "user", "parts": parts}]}
    url = f"{LOCAL}/v1beta/models/gemini-2.5-pro"
    status, counted = got(f"{url}:countTokens", GOOGLE, asked)
    assert (status, counted["totalTokens"] > 0) == (200, True)
    assert got(f"{url}:generateContent", GOOGLE, asked)[0] == 400

"""The vendors' own SDKs use endpoints through the gateway; both sides are compared byte by byte."""

import io
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import cohere
import httpx
import ollama
import openai
import pytest
from google import genai
from google.genai import types
from google.genai.errors import ClientError
from mistralai.client import Mistral
from tests.gateway.endpoint_gateway import both, secret, serving
from tests.gateway.endpoint_service import KEY, Served, until

from pondero.gateway.config.model import EndpointRoute


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both() as found:
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    gateway.service.reset()
    gateway.seen.clear()


@pytest.fixture
def client(gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{gateway.url}/v1", api_key=secret("plain"), max_retries=0
    ) as made:
        yield made


def row(gateway: Any) -> Any:
    """Return the one record, once it is there."""
    until(lambda: gateway.seen)
    (found,) = gateway.seen
    return found


def asked(gateway: Any) -> Any:
    """Return the one request that left, which has no key of the gateway's."""
    (found,) = gateway.service.asked
    assert secret("plain") not in " ".join(found.headers.values())
    assert secret("plain") not in found.query
    return found


def test_embeddings_of_openai(gateway, client):
    raw = client.embeddings.with_raw_response.create(model="text-embedding-3-small", input="hi")
    assert raw.parse().usage.prompt_tokens == 8
    assert raw.content == gateway.service.served[0].body
    assert asked(gateway).path == "/openai/v1/embeddings"
    assert asked(gateway).headers["authorization"] == f"Bearer {KEY}"
    found = row(gateway)
    assert (found.endpoint, found.status, found.end, found.key) == (
        "embeddings",
        200,
        "done",
        "plain",
    )
    assert (found.usage.input, found.usage.output, found.estimated) == (8, 0, False)
    assert found.answered_by == "openai:text-embedding-3-small"
    assert found.cost is not None
    assert found.said == "text-embedding-3-small"


def test_legacy_completions_whole_and_streamed(gateway, client):
    whole = client.completions.create(model="gpt-3.5-turbo-instruct", prompt="2+2?")
    assert whole.choices[0].text == "four"
    found = row(gateway)
    assert (found.endpoint, found.usage.input, found.usage.output) == ("completions", 5, 2)
    gateway.seen.clear()
    options: Any = {"include_usage": True}
    stream = client.completions.create(
        model="gpt-3.5-turbo-instruct", prompt="2+2?", stream=True, stream_options=options
    )
    assert "".join(each.choices[0].text for each in stream if each.choices) == "four"
    assert (row(gateway).usage.input, row(gateway).usage.output) == (5, 2)


def test_images(gateway, client):
    made = client.images.generate(model="gpt-image-1", prompt="a cat")
    assert made.data
    assert made.data[0].b64_json == "aGk="
    assert (row(gateway).usage.input, row(gateway).usage.output) == (9, 100)
    edited = client.images.edit(
        model="gpt-image-1", image=("a.png", b"\x89PNG", "image/png"), prompt="x"
    )
    assert edited.usage
    assert edited.usage.total_tokens == 109
    assert gateway.service.asked[1].path == "/openai/v1/images/edits"
    assert b"\x89PNG" in gateway.service.asked[1].body


def test_audio(gateway, client):
    sound = bytes(range(256)) * 2000
    said = client.audio.transcriptions.create(model="gpt-4o-transcribe", file=("a.wav", sound))
    assert said.text == "hello"
    assert sound in asked(gateway).body
    assert (row(gateway).usage.input, row(gateway).model) == (14, "gpt-4o-transcribe")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        client.audio.translations.create(model="whisper-1", file=("a.wav", sound))
    spoken = client.audio.speech.create(model="tts-1", input="hi", voice="alloy")
    assert spoken.content == gateway.service.served[2].body


def test_moderations_without_a_model_go_to_the_provider_of_the_path(gateway, client):
    assert client.moderations.create(input="hi").results[0].flagged is False
    assert asked(gateway).path == "/openai/v1/moderations"
    assert row(gateway).provider == "openai"


def test_files_and_vector_stores(gateway, client):
    made = client.files.create(file=("a.txt", b"abc"), purpose="assistants")
    assert client.files.retrieve(made.id).id == made.id
    assert client.files.content(made.id).content == bytes(range(256)) * 300
    store = client.vector_stores.create(name="n", file_ids=[made.id])
    assert client.vector_stores.retrieve(store.id).id == "vs_1"
    client.vector_stores.files.create(store.id, file_id=made.id)
    found = client.vector_stores.search(store.id, query="q")
    assert [each.file_id for each in found.data] == ["file-abc"]
    client.vector_stores.delete(store.id)
    assert client.files.delete(made.id).id == made.id
    until(lambda: len(gateway.seen) == 9)
    assert [each.endpoint for each in gateway.seen].count("vector_stores") == 5
    assert {each.status for each in gateway.seen} == {200}


def test_files_and_batches_of_anthropic(gateway):
    with anthropic.Anthropic(
        base_url=gateway.url, api_key=secret("plain"), max_retries=0
    ) as client:
        _use_anthropic(gateway, client)


def _use_anthropic(gateway: Any, client: anthropic.Anthropic) -> None:
    made = client.beta.files.upload(file=("a.txt", b"abc", "text/plain"))
    assert client.beta.files.retrieve_metadata(made.id).id == "file_011"
    assert [each.path for each in gateway.service.asked] == [
        "/anthropic/v1/files",
        "/anthropic/v1/files/file_011",
    ]
    assert gateway.service.asked[0].headers["x-api-key"] == KEY
    assert gateway.service.asked[0].headers["anthropic-version"]
    params: Any = {
        "model": "claude-opus-5",
        "max_tokens": 9000,
        "messages": [{"role": "user", "content": "hi"}],
    }
    batch = client.messages.batches.create(requests=[{"custom_id": "a", "params": params}])
    assert client.messages.batches.retrieve(batch.id).id == "msgbatch_01"


def test_embeddings_and_files_of_google(gateway):
    client = genai.Client(
        api_key=secret("plain"), http_options=types.HttpOptions(base_url=gateway.url)
    )
    found = client.models.embed_content(model="gemini-embedding-001", contents="hi")
    assert found.embeddings
    assert found.embeddings[0].values == [0.5, 0.25]
    assert asked(gateway).path.startswith("/google/v1beta/models/gemini-embedding-001:")
    assert asked(gateway).headers["x-goog-api-key"] == KEY
    assert row(gateway).usage.input == 6
    made = client.files.upload(file=io.BytesIO(b"abc"), config={"mime_type": "text/plain"})
    assert made.name == "files/g1"
    assert [each.body for each in gateway.service.asked][-1] == b"abc"
    assert client.files.get(name="files/g1").name == "files/g1"
    client.close()


def test_google_uploads_into_a_file_search_store(gateway):
    options = types.HttpOptions(base_url=gateway.url)
    client = genai.Client(api_key=secret("plain"), http_options=options)
    other = genai.Client(api_key=secret("second"), http_options=options)
    store = client.file_search_stores.create().name
    upload = {"file": io.BytesIO(b"abc"), "file_search_store_name": store}
    config = {"mime_type": "text/plain", "display_name": "a"}
    with pytest.raises(ClientError, match="was not found"):
        other.file_search_stores.upload_to_file_search_store(**upload, config=config)
    begun = client.file_search_stores.upload_to_file_search_store(**upload, config=config)
    assert [each.body for each in gateway.service.asked][-1] == b"abc"
    assert (
        gateway.service.asked[-1].path == f"/google/upload/v1beta/{store}:uploadToFileSearchStore"
    )
    ended = client.operations.get(begun)
    assert ended.response.document_name == f"{store}/documents/d1"
    with pytest.raises(ClientError, match="was not found"):
        other.operations.get(begun)
    assert {each.endpoint for each in gateway.seen} == {"vector_stores"}
    client.close()
    other.close()


def test_embeddings_and_rerank_of_cohere(gateway):
    with httpx.Client() as http:
        _use_cohere(gateway, http)


def _use_cohere(gateway: Any, http: httpx.Client) -> None:
    client = cohere.ClientV2(base_url=gateway.url, api_key=secret("plain"), httpx_client=http)
    found = client.embed(
        model="embed-v4.0", texts=["hi"], input_type="search_query", embedding_types=["float"]
    )
    assert found.embeddings.float_ == [[0.5]]
    assert row(gateway).usage.input == 4
    gateway.seen.clear()
    ranked = client.rerank(model="rerank-v3.5", query="q", documents=["a"])
    assert ranked.results[0].index == 0
    assert (row(gateway).endpoint, row(gateway).units) == ("rerank", "search_units=1")


def test_embeddings_of_ollama(gateway):
    client = ollama.Client(host=gateway.url, headers={"authorization": f"Bearer {secret('plain')}"})
    assert client.embed(model="nomic-embed-text", input="hi")["embeddings"] == [[0.5]]
    assert client.embeddings(model="nomic-embed-text", prompt="hi")["embedding"] == [0.5]
    assert gateway.service.asked[0].path == "/ollama/api/embed"
    client._client.close()
    until(lambda: len(gateway.seen) == 2)
    assert [each.usage.input for each in gateway.seen] == [3, 3]


def test_mistrals_own_endpoints_and_a_provider_chosen_by_path(gateway):
    chosen = (EndpointRoute("*", "mistral"),)
    with (
        serving(gateway.service, endpoints=chosen, providers=("openai", "mistral")) as other,
        ExitStack() as stack,
    ):
        client = stack.enter_context(Mistral(api_key=secret("plain"), server_url=other.url))
        assert client.embeddings.create(model="mistral-embed", inputs=["hi"]).data[0].embedding
        done = client.fim.complete(model="codestral-latest", prompt="def f(")
        assert done is not None
        read = client.ocr.process(
            model="mistral-ocr-latest",
            document={"type": "document_url", "document_url": "https://x/y"},
        )
        assert read.usage_info.pages_processed == 2
        client.files.upload(file={"file_name": "a.jsonl", "content": b"{}"}, purpose="ocr")
        until(lambda: len(other.seen) == 4)
        assert {each.path.split("/")[1] for each in gateway.service.asked} == {"mistral"}
        assert other.seen[2].units == "pages=2"
        account = stack.enter_context(Mistral(api_key=secret("account"), server_url=other.url))
        jobs = b'{"data": [], "object": "list", "total": 0}'
        gateway.service.answer = lambda _: Served(200, "application/json", jobs)
        account.batch.jobs.list(model="codestral-latest", agent_id="a", order_by="-created")
        query = gateway.service.asked[-1].query
        assert ("model=codestral-latest" in query, "order_by=-created" in query) == (True, True)


def test_a_plain_client_sees_the_services_bytes_and_headers(gateway):
    answer = httpx.post(
        f"{gateway.url}/v1/embeddings",
        headers={"authorization": f"Bearer {secret('plain')}"},
        content=b'{ "model":\t"text-embedding-3-small" , "input":"\\u00e9" }',
    )
    assert asked(gateway).body == b'{ "model":\t"text-embedding-3-small" , "input":"\\u00e9" }'
    assert answer.content == gateway.service.served[0].body
    assert answer.headers["x-pondero-id"] == row(gateway).id

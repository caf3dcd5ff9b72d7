"""What a job made belongs to the key that made the job."""

import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from google import genai
from tests.gateway.endpoint_gateway import both, secret
from tests.gateway.endpoint_service import Asked, Served

GEMINI = "/v1beta/models/gemini-3-flash-preview"
VEO = "/v1beta/models/veo-3.1-generate-preview"
HOST = "https://generativelanguage.googleapis.com/v1beta"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both() as found, httpx.Client(base_url=found.url, timeout=60) as http:
        found.http = http
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    gateway.service.reset()


def ask(gateway: Any, method: str, path: str, key: str, made: Any, body: Any = None) -> int:
    data = json.dumps(made).encode()
    gateway.service.answer = lambda _: Served(200, "application/json", data)
    headers = {"authorization": f"Bearer {secret(key)}"}
    return gateway.http.request(method, path, headers=headers, json=body).status_code


FILM = {"video": {"uri": f"{HOST}/files/film:download?alt=media"}}
JOBS: dict[str, tuple[Any, ...]] = {
    "a film": (
        (f"{VEO}:predictLongRunning", {"instances": [{"prompt": "x"}]}),
        {"name": "models/veo-3.1-generate-preview/operations/o1"},
        f"{VEO}/operations/o1",
        {"done": True, "response": {"generateVideoResponse": {"generatedSamples": [FILM]}}},
        "/download/v1beta/files/film:download?alt=media",
    ),
    "a batch": (
        (f"{GEMINI}:batchGenerateContent", {"batch": {"displayName": "x"}}),
        {"name": "batches/b1"},
        "/v1beta/batches/b1",
        {"name": "batches/b1", "metadata": {"output": {"responsesFile": "files/batch-b1"}}},
        "/v1beta/files/batch-b1:download?alt=media",
    ),
    "a batch, as its answer says": (
        (f"{GEMINI}:batchGenerateContent", {"batch": {"displayName": "x"}}),
        {"name": "batches/b2"},
        "/v1beta/batches/b2",
        {"name": "batches/b2", "response": {"responsesFile": "files/batch-b2"}},
        "/v1beta/files/batch-b2:download?alt=media",
    ),
    "a tuned model": (
        ("/v1/fine_tuning/jobs", {"model": "gpt-5.5"}),
        {"id": "ftjob-1", "result_files": []},
        "/v1/fine_tuning/jobs/ftjob-1",
        {"id": "ftjob-1", "result_files": ["file-r0", "file-result"]},
        "/v1/files/file-result/content",
    ),
    "embeddings of Cohere": (
        ("/v1/embed-jobs", {"model": "embed-v4.0"}),
        {"job_id": "job-1"},
        "/v1/embed-jobs/job-1",
        {"job_id": "job-1", "output_dataset_id": "ds-out"},
        "/v1/datasets/ds-out",
    ),
    "a batch of Cohere": (
        ("/v2/batches", {"model": "command-a"}),
        {"batch": {"id": "cb-1"}},
        "/v2/batches/cb-1",
        {"batch": {"id": "cb-1", "output_dataset_id": "ds-batch"}},
        "/v1/datasets/ds-batch",
    ),
}


@pytest.mark.parametrize("case", JOBS)
def test_a_result_is_of_the_key_that_made_its_job(gateway, case):
    (path, body), made, poll, found, result = JOBS[case]
    assert ask(gateway, "POST", path, "plain", made, body) == 200
    assert ask(gateway, "GET", poll, "second", found) == 404
    assert ask(gateway, "GET", poll, "account", found) == 200  # it does not become its own
    assert ask(gateway, "GET", result, "plain", {}) == 200
    gateway.service.asked.clear()
    assert ask(gateway, "GET", result, "second", {}) == 404
    assert gateway.service.asked == []


def test_a_conversation_of_another_key_does_not_name_a_result(gateway):
    (path, body), made, poll, found, _ = JOBS["a film"]
    ask(gateway, "POST", path, "plain", made, body)
    ask(gateway, "GET", poll, "plain", found)
    gateway.service.asked.clear()
    part = {"fileData": {"fileUri": FILM["video"]["uri"], "mimeType": "video/mp4"}}
    named = {"contents": [{"role": "user", "parts": [part]}]}
    assert ask(gateway, "POST", f"{GEMINI}:generateContent", "second", {}, named) == 403
    assert gateway.service.asked == []


def test_a_long_answer_passes_whole(gateway):
    ask(gateway, "POST", *_plain("a batch"))
    found = {"name": "batches/b1", "response": {"inlinedResponses": "x" * (9 << 20)}}
    data = json.dumps(found).encode()
    gateway.service.answer = lambda _: Served(200, "application/json", data)
    headers = {"authorization": f"Bearer {secret('plain')}"}
    answer = gateway.http.get("/v1beta/batches/b1", headers=headers)
    assert answer.status_code == 200
    assert answer.content == data


def _plain(case: str) -> tuple[Any, ...]:
    (path, body), made, *_ = JOBS[case]
    return path, "plain", made, body


def test_google_genai_downloads_a_file_of_its_key(gateway):
    def answer(asked: Asked) -> Served:
        if "start" in asked.headers.get("x-goog-upload-command", ""):
            at = {"x-goog-upload-url": "https://g/upload/v1beta/files?upload_id=up-7"}
            return Served(200, "application/json", b"{}", at)
        if asked.path.endswith(":download"):
            return Served(200, "text/plain", b"hello")
        made = {"file": {"name": "files/mine", "uri": f"{HOST}/files/mine"}}
        final = {"x-goog-upload-status": "final"}
        return Served(200, "application/json", json.dumps(made).encode(), final)

    gateway.service.answer = answer
    options = genai.types.HttpOptions(base_url=gateway.url)
    client = genai.Client(api_key=secret("plain"), http_options=options)
    file = client.files.upload(file=io.BytesIO(b"hello"), config={"mime_type": "text/plain"})
    assert file.name is not None
    assert client.files.download(file=file.name) == b"hello"

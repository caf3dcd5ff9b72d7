"""What one key made reaches the service for no other key, from any API that could name it."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.gateway.endpoint_gateway import both, secret
from tests.gateway.endpoint_service import Asked, Served

HOST = "https://generativelanguage.googleapis.com"
FILE = "files/ofplain"
URI = f"{HOST}/v1beta/{FILE}"
STORE = "fileSearchStores/ofplain"
CACHE = "cachedContents/ofplain"
GEMINI = "/v1beta/models/gemini-3-flash-preview"
PROVIDERS = ("openai", "anthropic", "google", "google-interactions", "cohere", "ollama")


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both(providers=PROVIDERS) as found, httpx.Client(base_url=found.url, timeout=60) as http:
        found.http = http
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    gateway.service.reset()
    make(gateway, "/upload/v1beta/files", {"file": {"name": FILE, "uri": URI}})
    make(gateway, "/v1beta/fileSearchStores", {"name": STORE})
    make(gateway, "/v1beta/cachedContents", {"name": CACHE}, model="models/gemini-3-flash-preview")
    make(gateway, "/v1/vector_stores", {"id": "vs_ofplain"})
    gateway.service.reset()


def ask(gateway: Any, path: str, key: str, body: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret(key)}"}
    return gateway.http.post(path, headers=headers, json=body)


def make(gateway: Any, path: str, made: dict[str, Any], key: str = "plain", **body: Any) -> None:
    data = json.dumps(made).encode()
    gateway.service.answer = lambda _: Served(200, "application/json", data)
    assert ask(gateway, path, key, body).status_code == 200


def gemini(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [*parts, {"text": "Hi"}]}], **more}


def file(uri: str, name: str = "fileUri") -> dict[str, Any]:
    return {"fileData": {name: uri, "mimeType": "application/pdf"}}


def chat(*parts: Any) -> dict[str, Any]:
    turn = {"role": "user", "content": [*parts, {"type": "text", "text": "Hi"}]}
    return {"model": "gemini-3-flash-preview", "messages": [turn], "max_tokens": 99}


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def document(kind: str, url: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "url", "url": url}}


def interaction(**more: Any) -> dict[str, Any]:
    return {"model": "google-interactions:gemini-3-flash-preview", "input": "Hi", **more}


def image(uri: str) -> dict[str, Any]:
    return {"type": "image", "uri": uri, "mime_type": "image/png"}


SEARCH = {"type": "file_search", "vector_store_ids": ["vs_ofplain"]}
RESULT = {
    "functionResponse": {"name": "f", "response": {"output": "x"}, "parts": [file(URI)]},
}
CONVERSATIONS = {
    "a vector store": (
        "/v1/responses",
        {"model": "gpt-5.5", "input": "Hi", "tools": [SEARCH]},
    ),
    "a thing in another field": (
        "/v1/responses",
        {
            "model": "gpt-5.5",
            "input": "Hi",
            "instructions": [
                {"role": "user", "content": [{"type": "input_file", "file_id": "vs_ofplain"}]}
            ],
        },
    ),
    "a thing in another field of Messages": (
        "/v1/messages",
        {
            "model": "claude-opus-5",
            "max_tokens": 99,
            "messages": [{"role": "user", "content": "Hi"}],
            "context_management": {"edits": [{"type": "x", "file_id": "vs_ofplain"}]},
        },
    ),
    "a vector store with an escaped name": (
        "/v1/responses",
        (
            '{"model": "gpt-5.5", "input": "Hi", "tools": [{"type": "file_search", '
            '"vector_\\u0073tore_ids": ["vs_ofplain"]}]}'
        ),
    ),
    "a file by its address": (f"{GEMINI}:generateContent", gemini(file(URI))),
    "a file by its name": (f"{GEMINI}:generateContent", gemini(file(FILE))),
    "a file in the other spelling": (f"{GEMINI}:generateContent", gemini(file(URI, "file_uri"))),
    "a file at another version": (
        f"{GEMINI}:generateContent",
        gemini(file(f"{HOST}/v1alpha/{FILE}")),
    ),
    "the content of a file": (
        f"{GEMINI}:generateContent",
        gemini(file(f"{URI}:download?alt=media")),
    ),
    "a file in a coded address": (
        f"{GEMINI}:generateContent",
        gemini(file(URI.replace("/files/", "/%66iles%2F"))),
    ),
    "a file by both": (f"{GEMINI}:generateContent", gemini(file(FILE), file(URI))),
    "a file in a result": (f"{GEMINI}:generateContent", gemini(RESULT)),
    "a file that is streamed about": (f"{GEMINI}:streamGenerateContent", gemini(file(URI))),
    "a file that is counted": (f"{GEMINI}:countTokens", gemini(file(URI))),
    "a store": (
        f"{GEMINI}:generateContent",
        gemini(tools=[{"fileSearch": {"fileSearchStoreNames": [STORE]}}]),
    ),
    "a store in the other spelling": (
        f"{GEMINI}:generateContent",
        gemini(tools=[{"file_search": {"file_search_store_names": [STORE]}}]),
    ),
    "a cache": (f"{GEMINI}:generateContent", gemini(cachedContent=CACHE)),
    "a file in an interaction": ("/v1beta/interactions", interaction(input=[image(URI)])),
    "a store in an interaction": (
        "/v1beta/interactions",
        interaction(tools=[{"type": "file_search", "file_search_store_names": [STORE]}]),
    ),
    "a picture of Chat": ("/v1/chat/completions", chat(picture(URI))),
    "a picture of Messages": ("/v1/messages", chat(document("image", URI))),
    "a document of Messages": ("/v1/messages", chat(document("document", URI))),
    "a picture of Responses": (
        "/v1/responses",
        {
            "model": "gemini-3-flash-preview",
            "input": [{"role": "user", "content": [{"type": "input_image", "image_url": URI}]}],
        },
    ),
}


def converse(gateway: Any, path: str, key: str, body: Any) -> httpx.Response:
    text = body if isinstance(body, str) else json.dumps(body)
    headers = {
        "authorization": f"Bearer {secret(key)}",
        "content-type": "application/json",
        **({"anthropic-version": "2023-06-01"} if path == "/v1/messages" else {}),
    }
    return gateway.http.post(path, headers=headers, content=text)


@pytest.mark.parametrize("case", CONVERSATIONS)
def test_a_conversation_names_nothing_that_another_key_made(gateway, case):
    path, body = CONVERSATIONS[case]
    gateway.service.answer = lambda _: Served(422, "application/json", b'{"error": {}}')
    taken = converse(gateway, path, "second", body)
    assert gateway.service.asked == []
    assert taken.status_code in (403, 404), taken.text
    assert "not found" in taken.text
    for key in ("plain", "account"):
        gateway.service.asked.clear()
        converse(gateway, path, key, body)
        assert gateway.service.asked, key


SPELLINGS = {
    "without a host": f"v1beta/{FILE}",
    "with an empty step": URI.replace("/files/", "/files//"),
    "with a dot": URI.replace("/files/", "/files/./"),
    "with two dots": URI.replace("/files/", "/x/../files/"),
    "without a version": f"{HOST}/{FILE}",
    "with a port": f"{HOST}:443/{FILE}",
    "with a tab": URI.replace("files", "fi\tles"),
    "with a backslash": URI.replace("/files/", "\\files\\"),
    "coded six times": URI.replace("files", "%25252525252566iles".replace("2525", "25", 1)),
    "in another case": URI.replace("/v1beta/files", "/V1beta/Files"),
    "of an upload": f"/upload/{FILE}",
    "with one slash": f"https:/generativelanguage.googleapis.com/{FILE}",
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_no_spelling_of_an_address_is_open_to_another_key(gateway, case):
    gateway.service.answer = lambda _: Served(422, "application/json", b'{"error": {}}')
    path, body = f"{GEMINI}:generateContent", gemini(file(SPELLINGS[case]))
    assert converse(gateway, path, "second", body).status_code == 403
    asked = interaction(input=[image(SPELLINGS[case])])
    assert "not found" in converse(gateway, "/v1beta/interactions", "second", asked).text
    assert gateway.service.asked == []
    converse(gateway, path, "plain", body)
    assert gateway.service.asked


def test_an_address_elsewhere_is_no_stored_file(gateway):
    gateway.service.answer = lambda _: Served(422, "application/json", b'{"error": {}}')
    hosts = ("https://example.com", "gs://bucket", "https://storage.googleapis.com/bucket")
    for host in hosts:
        converse(gateway, f"{GEMINI}:generateContent", "second", gemini(file(f"{host}/{FILE}")))
    assert len(gateway.service.asked) == len(hosts)


def test_an_upload_is_completed_with_parts_of_its_key_alone(gateway):
    for key, id in (("plain", "part_ofplain"), ("second", "part_ofsecond")):
        make(gateway, "/v1/uploads", {"id": f"upload_{key}"}, key=key, purpose="user_data")
        make(gateway, f"/v1/uploads/upload_{key}/parts", {"id": id}, key=key)
    gateway.service.asked.clear()
    path = "/v1/uploads/upload_second/complete"
    taken = ask(gateway, path, "second", {"part_ids": ["part_ofsecond", "part_ofplain"]})
    assert (taken.status_code, gateway.service.asked) == (404, [])
    assert ask(gateway, path, "second", {"part_ids": ["part_ofsecond"]}).status_code == 200


OF_ACCOUNT = [
    ("/v1/chat", {"message": "hi", "conversation_id": "team-chat"}),
    ("/v1/chat", {"message": "hi", "connectors": [{"id": "company-drive"}]}),
    ("/v1/chat", {"message": "hi", "Connectors": [{"id": "company-drive"}]}),
    ("/v1/chat", {"message": "hi", "conversation_ID": "team-chat"}),
    ("/v1/generate", {"preset": "ours"}),
    ("/v1/classify", {"preset": "ours"}),
]


@pytest.mark.parametrize(("path", "body"), OF_ACCOUNT)
def test_things_of_the_account_are_for_keys_with_account_state_alone(gateway, path, body):
    gateway.service.answer = lambda _: Served(200, "application/json", b'{"text": "hi"}')
    whole = {"model": "cohere:command-r", "max_tokens": 9, **body}
    taken = ask(gateway, path, "second", whole)
    assert (taken.status_code, gateway.service.asked) == (404, [])
    assert "account_state" in taken.text
    name = next(name for name in body if name != "message")
    assert ask(gateway, path, "second", {**whole, name: None}).status_code == 200
    hidden = json.dumps(whole)[:-1] + f', "{name}": null}}'
    assert converse(gateway, path, "second", hidden).status_code == 400
    assert ask(gateway, path, "account", whole).status_code == 200
    assert len(gateway.service.asked) == 2


@pytest.mark.parametrize("name", ["input_dataset_id", "Input_Dataset_ID"])
def test_a_dataset_is_of_its_key_in_whatever_case_its_name_is_written(gateway, name):
    make(gateway, "/v1/datasets", {"id": "ds-1"})
    gateway.service.reset()
    body = {"model": "embed-v4.0", "input_type": "search_document", name: "ds-1"}
    taken = ask(gateway, "/v1/embed-jobs", "second", body)
    assert (taken.status_code, gateway.service.asked) == (404, [])
    gateway.service.answer = lambda _: Served(200, "application/json", b'{"job_id": "j"}')
    assert ask(gateway, "/v1/embed-jobs", "plain", body).status_code == 200
    assert json.loads(gateway.service.asked[0].body) == body


ENDPOINTS = {
    "a film": (
        "/v1beta/models/veo-3.1-generate-preview:predictLongRunning",
        {"instances": [{"prompt": "x", "video": {"uri": URI}}]},
    ),
    "a cache": (
        "/v1beta/cachedContents",
        {"model": "models/gemini-3-flash-preview", **gemini(file(URI))},
    ),
    "an embedding": (
        "/v1beta/models/gemini-embedding-001:embedContent",
        {"content": {"parts": [file(URI)]}},
    ),
    "a batch": (
        f"{GEMINI}:batchGenerateContent",
        {"batch": {"inputConfig": {"requests": {"requests": [{"request": gemini(file(URI))}]}}}},
    ),
    "an import": (f"/v1beta/{STORE}:importFile", {"fileName": FILE}),
}


@pytest.mark.parametrize("case", ENDPOINTS)
def test_the_address_of_a_file_is_for_its_key_alone(gateway, case):
    path, body = ENDPOINTS[case]
    gateway.service.answer = lambda _: Served(200, "application/json", b"{}")
    assert ask(gateway, path, "second", body).status_code == 404
    assert gateway.service.asked == []
    for key in ("plain", "account"):
        answer = ask(gateway, path, key, body)
        assert answer.status_code == 200, answer.text
    assert [json.loads(each.body) for each in gateway.service.asked] == [body, body]


def test_what_was_made_elsewhere_is_for_every_key_in_a_conversation(gateway):
    bodies = [
        gemini(file(f"{HOST}/v1beta/files/elsewhere")),
        gemini(file("https://example.com/v1beta/report.pdf")),
        gemini(tools=[{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/elsewhere"]}}]),
    ]
    gateway.service.answer = lambda _: Served(422, "application/json", b'{"error": {}}')
    for body in bodies:
        converse(gateway, f"{GEMINI}:generateContent", "second", body)
    assert [json.loads(each.body)["contents"] for each in gateway.service.asked] == [
        body["contents"] for body in bodies
    ]


def test_words_that_look_like_a_name_are_only_words(gateway):
    said: list[Asked] = gateway.service.asked
    gateway.service.answer = lambda _: Served(422, "application/json", b'{"error": {}}')
    converse(gateway, f"{GEMINI}:generateContent", "second", gemini({"text": URI}, {"text": FILE}))
    text = {"type": "text", "text": URI}
    converse(gateway, "/v1/chat/completions", "second", chat(text))
    assert len(said) == 2


def test_a_cache_that_no_key_made_is_for_keys_with_account_state_alone(gateway):
    body = gemini(cachedContent="cachedContents/elsewhere")
    assert converse(gateway, f"{GEMINI}:generateContent", "plain", body).status_code == 403
    assert gateway.service.asked == []
    converse(gateway, f"{GEMINI}:generateContent", "account", body)
    assert gateway.service.asked


TWICE = {
    "a file": (
        "/v1/responses",
        (
            '{"model": "gpt-5.5", "input": [{"role": "user", "content": [{"type": "input_file", '
            '"file_id": "file-a", "file_id": null}]}]}'
        ),
    ),
    "the turns around it": (
        "/v1/responses",
        (
            '{"model": "gpt-5.5", "input": [{"role": "user", "content": [{"type": "input_file", '
            '"file_id": "file-a"}]}], "input": "Hi"}'
        ),
    ),
    "an escaped name": (
        "/v1/responses",
        (
            '{"model": "gpt-5.5", "input": [{"role": "user", "content": [{"type": "input_file", '
            '"file_id": "file-a", "f\\u0069le_id": "x"}]}]}'
        ),
    ),
    "an address": (
        f"{GEMINI}:generateContent",
        (
            f'{{"contents": [{{"role": "user", "parts": [{{"fileData": {{"fileUri": "{URI}", '
            '"fileUri": "https://example.com/a.pdf", "mimeType": "a/b"}}]}]}'
        ),
    ),
}


@pytest.mark.parametrize("case", TWICE)
def test_a_request_that_names_something_has_no_field_twice(gateway, case):
    path, body = TWICE[case]
    answer = converse(gateway, path, "second", body)
    assert answer.status_code == 400, answer.text
    assert "twice" in answer.text
    assert gateway.service.asked == []


def twice(name: str, first: Any, second: Any, **more: Any) -> str:
    """Return an object that has a field twice."""
    text = json.dumps({**more, "FIRST": first, name: second})
    return text.replace('"FIRST"', f'"{name}"', 1)


PICTURE = {"file_id": "vs_ofplain"}
ONE = {"request": gemini(file(URI))}
REQUESTS = {"inputConfig": {"requests": {"requests": [ONE]}}}
HELD = {"fileSearchStoreNames": [STORE]}
AROUND = {
    "a picture of a film": ("/v1/videos", twice("input_reference", PICTURE, {}, model="sora-2")),
    "pictures": ("/v1/images/edits", twice("images", [PICTURE], [], model="gpt-image-1")),
    "turns of a cache": (
        "/v1beta/cachedContents",
        twice("contents", gemini(file(URI))["contents"], [], model="models/gemini-3-flash-preview"),
    ),
    "a batch": (f"{GEMINI}:batchGenerateContent", twice("batch", REQUESTS, {})),
    "a film": (
        "/v1beta/models/veo-3.1-generate-preview:predictLongRunning",
        twice("instances", [{"video": {"uri": URI}}], []),
    ),
    "an escaped name": (
        "/v1/videos",
        twice("input_reference", PICTURE, {}, model="sora-2").replace("file_id", "fil\\u0065_id"),
    ),
    "stores of a tool": (
        f"{GEMINI}:generateContent",
        twice("tools", [{"fileSearch": HELD}], [], **gemini()),
    ),
    "names of stores": (
        f"{GEMINI}:generateContent",
        json.dumps(gemini(tools=[{"fileSearch": {"HELD": 1}}])).replace(
            '{"HELD": 1}', twice("fileSearchStoreNames", [STORE], [])
        ),
    ),
    "names of stores with escapes": (
        f"{GEMINI}:generateContent",
        json.dumps(gemini(tools=[{"fileSearch": {"HELD": 1}}]))
        .replace('{"HELD": 1}', twice("fileSearchStoreNames", [STORE], []))
        .replace("fileSearchStoreNames", "fileSearch\\u0053toreNames"),
    ),
    "a cache of a conversation": (
        f"{GEMINI}:generateContent",
        twice("cachedContent", CACHE, None, **gemini()),
    ),
    "stores of an interaction": (
        "/v1beta/interactions",
        json.dumps(interaction(tools=[{"HELD": 1}])).replace(
            '{"HELD": 1}', twice("file_search_store_names", [STORE], [], type="file_search")
        ),
    ),
}


@pytest.mark.parametrize("case", AROUND)
def test_no_object_around_a_name_is_there_twice(gateway, case):
    path, body = AROUND[case]
    answer = converse(gateway, path, "second", body)
    assert answer.status_code == 400, answer.text
    assert "twice" in answer.text
    assert gateway.service.asked == []


def test_a_field_twice_is_no_matter_in_a_request_that_names_nothing(gateway):
    body = '{"model": "gpt-5.5", "input": "Hi", "metadata": {"a": "1", "a": "2"}}'
    converse(gateway, "/v1/responses", "second", body)
    assert gateway.service.asked

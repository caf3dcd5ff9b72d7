"""A service with the endpoints of all vendors, in their own shapes, that keeps what it is asked.

The shapes are those of the vendors' SDKs (openai 3.49.0, anthropic 2.8.0, google-genai 3.1.0,
cohere 7.3.1, mistralai 3.7.0, ollama 0.6.3). It accepts one key, wherever a vendor puts it.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

import uvicorn

from pondero.asgi import address, bind

KEY = "sk-provider-secret-0123456789abcdef"
WAIT = 30.0


class Asked(NamedTuple):
    """A request as the service got it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class Served(NamedTuple):
    """What the service answers: status, content type, bytes, and headers."""

    status: int
    kind: str
    body: bytes
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


def _json(value: Any, status: int = 200, **headers: str) -> Served:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Served(status, "application/json", json.dumps(value).encode(), named)


def _embedding(asked: Asked) -> Served:
    row = {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return _json({"object": "list", "data": [row], "model": "m", "usage": usage, "id": "e"})


def _completion(asked: Asked) -> Served:
    wanted = json.loads(asked.body)
    choice = {"index": 0, "text": "four", "finish_reason": "stop", "logprobs": None}
    whole = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": wanted["model"]}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    if not wanted.get("stream"):
        return _json({**whole, "choices": [choice], "usage": usage})
    events = [{**whole, "choices": [choice]}, {**whole, "choices": [], "usage": usage}]
    text = "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"
    return Served(200, "text/event-stream", text.encode())


def _image(asked: Asked) -> Served:
    details = {"image_tokens": 0, "text_tokens": 9}
    usage = {
        "input_tokens": 9,
        "output_tokens": 100,
        "total_tokens": 109,
        "input_tokens_details": details,
    }
    return _json({"created": 1, "data": [{"b64_json": "aGk="}], "usage": usage})


def _transcript(asked: Asked) -> Served:
    usage = {"type": "tokens", "input_tokens": 14, "output_tokens": 4, "total_tokens": 18}
    return _json({"text": "hello", "usage": usage})


def _speech(asked: Asked) -> Served:
    return Served(200, "audio/mpeg", bytes(range(256)) * 300)


def _file(asked: Asked) -> Served:
    return _json(
        {
            "id": f"file-{asked.headers.get('x-made', 'abc')}",
            "object": "file",
            "bytes": 3,
            "created_at": 1,
            "filename": "a.txt",
            "purpose": "assistants",
            "status": "processed",
            "deleted": True,
            "sample_type": "ocr_input",
            "source": "upload",
        }
    )


def _anthropic_file(asked: Asked) -> Served:
    return _json(
        {
            "id": "file_011",
            "type": "file",
            "filename": "a.txt",
            "mime_type": "text/plain",
            "size_bytes": 3,
            "created_at": "2026-11-17T00:00:00Z",
            "downloadable": False,
        }
    )


def _anthropic_batch(asked: Asked) -> Served:
    counts = {"processing": 1, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    return _json(
        {
            "id": "msgbatch_01",
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": counts,
            "created_at": "2026-11-17T00:00:00Z",
            "ended_at": None,
            "expires_at": "2026-11-18T00:00:00Z",
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": None,
        }
    )


def _store(asked: Asked) -> Served:
    counts = {"in_progress": 0, "completed": 1, "failed": 0, "cancelled": 0, "total": 1}
    return _json(
        {
            "id": "vs_1",
            "object": "vector_store",
            "created_at": 1,
            "name": "n",
            "usage_bytes": 0,
            "file_counts": counts,
            "status": "completed",
            "last_active_at": 1,
            "metadata": {},
            "deleted": True,
        }
    )


def _store_file(asked: Asked) -> Served:
    return _json(
        {
            "id": "file-abc",
            "object": "vector_store.file",
            "created_at": 1,
            "usage_bytes": 0,
            "vector_store_id": "vs_1",
            "status": "completed",
            "last_error": None,
        }
    )


def _search(asked: Asked) -> Served:
    row = {"file_id": "file-abc", "filename": "a", "score": 0.5, "attributes": {}, "content": []}
    return _json(
        {
            "object": "vector_store.search_results.page",
            "search_query": ["q"],
            "data": [row],
            "has_more": False,
            "next_page": None,
        }
    )


def _moderation(asked: Asked) -> Served:
    row = {
        "flagged": False,
        "categories": {},
        "category_scores": {},
        "category_applied_input_types": {},
    }
    return _json({"id": "modr-1", "model": "omni-moderation-latest", "results": [row]})


def _list(asked: Asked) -> Served:
    return _json({"object": "list", "data": [], "has_more": False})


def _batch(asked: Asked) -> Served:
    return _json(
        {
            "id": "batch_1",
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "created_at": 1,
            "input_file_id": "file-abc",
            "completion_window": "24h",
            "status": "completed",
            "output_file_id": "file-out",
        }
    )


def _gemini_embedding(asked: Asked) -> Served:
    one = {"values": [0.5, 0.25]}
    many = asked.path.endswith("batchEmbedContents")
    usage = {"promptTokenCount": 6}
    return _json(
        {"embeddings": [one], "usageMetadata": usage}
        if many
        else {"embedding": one, "usageMetadata": usage}
    )


def _gemini_upload(asked: Asked) -> Served:
    command = asked.headers.get("x-goog-upload-command", "")
    if "start" in command:
        path = asked.path.removeprefix("/google")
        at = f"https://{asked.headers['host']}{path}?upload_id=up-1&upload_protocol=resumable"
        return _json({}, x_goog_upload_url=at, x_goog_upload_status="active")
    found = {
        "name": "files/g1",
        "mimeType": "text/plain",
        "uri": "https://g/v1beta/files/g1",
        "state": "ACTIVE",
    }
    if "fileSearchStores" in asked.path:
        operation = {"name": "fileSearchStores/s1/upload/operations/o1", "done": False}
        return _json(operation, x_goog_upload_status="final")
    return _json({"file": found}, x_goog_upload_status="final")


def _gemini_file(asked: Asked) -> Served:
    return _json({"name": "files/g1", "mimeType": "text/plain", "state": "ACTIVE"})


def _gemini_store(asked: Asked) -> Served:
    if "operations" in asked.path:
        found = {
            "parent": "fileSearchStores/s1",
            "documentName": "fileSearchStores/s1/documents/d1",
        }
        return _json({"name": asked.path.partition("v1beta/")[2], "done": True, "response": found})
    return _json({"name": "fileSearchStores/s1", "displayName": "ours"})


def _cohere_embed(asked: Asked) -> Served:
    meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 4}}
    return _json(
        {
            "id": "c1",
            "embeddings": {"float": [[0.5]]},
            "texts": ["hi"],
            "meta": meta,
            "response_type": "embeddings_by_type",
        }
    )


def _rerank(asked: Asked) -> Served:
    meta = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
    return _json({"id": "r1", "results": [{"index": 0, "relevance_score": 0.9}], "meta": meta})


def _ollama(asked: Asked) -> Served:
    return _json({"model": "m", "embeddings": [[0.5]], "embedding": [0.5], "prompt_eval_count": 3})


def _ocr(asked: Asked) -> Served:
    return _json(
        {
            "pages": [],
            "model": "mistral-ocr-latest",
            "usage_info": {"pages_processed": 2, "doc_size_bytes": 3},
        }
    )


ROUTES = [
    (r"POST /(openai|mistral)/v1/embeddings", _embedding),
    (r"POST .*/completions", _completion),
    (r"POST .*/images/\w+", _image),
    (r"POST .*/audio/trans\w+", _transcript),
    (r"POST .*/audio/speech", _speech),
    (r"POST .*/moderations", _moderation),
    (r"(POST|GET|DELETE) /anthropic/v1/files(/[\w-]+)?", _anthropic_file),
    (r"(POST|GET) /anthropic/v1/messages/batches.*", _anthropic_batch),
    (r"GET .*/files/[\w-]+/content", _speech),
    (r"GET /openai/v1/(files|vector_stores|batches)", _list),
    (r"(POST|GET|DELETE) /(openai|mistral)/v1/files(/[\w-]+)?", _file),
    (r"POST .*/vector_stores/\w+/search", _search),
    (r"POST .*/vector_stores/\w+/files", _store_file),
    (r"(POST|GET|DELETE) .*/vector_stores(/\w+)?", _store),
    (r"(POST|GET) .*/batches(/\w+)?", _batch),
    (r"POST .*:(batchE|e)mbedContents?", _gemini_embedding),
    (r"POST /google/upload/v1beta/(files|fileSearchStores/s1:uploadTo\w+)", _gemini_upload),
    (r"(GET|DELETE) /google/v1beta/files/\w+", _gemini_file),
    (r"(POST|GET) /google/v1beta/fileSearchStores(/s1/upload/.*)?", _gemini_store),
    (r"POST /cohere/v[12]/embed", _cohere_embed),
    (r"POST /cohere/v[12]/rerank", _rerank),
    (r"POST /ollama/api/embed\w*", _ollama),
    (r"POST .*/ocr", _ocr),
]


class EndpointService:
    """The service; ``asked`` has its requests, ``served`` its answers, ``sockets`` its messages."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.served: list[Served] = []
        self.sockets: list[list[Any]] = []
        self.opened: list[Asked] = []
        self.ended: list[tuple[int, str]] = []
        self.answer: Any = None  # in place of the usual answers
        self.url = ""
        self.say: list[str] = []
        self.speak: Any = None  # makes the events after a client's, in place of the usual ones
        self.close_with: tuple[int, str] | None = None
        self.pieces = 0
        self.held = ""  # the method whose requests are done, and not answered yet

    def reset(self) -> None:
        for each in (self.asked, self.served, self.sockets, self.opened, self.ended, self.say):
            each.clear()
        self.answer = self.close_with = self.speak = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await self._open(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self.pieces += 1
            body += message.get("body", b"")
            more = message.get("more_body", False)
        asked = _read(scope, scope["method"], body)
        self.asked.append(asked)
        served = self._find(asked)
        self.served.append(served)
        await auntil(lambda: self.held != asked.method)
        headers = {"content-type": served.kind, **served.headers}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": served.status, "headers": pairs})
        half = len(served.body) // 2
        await send({"type": "http.response.body", "body": served.body[:half], "more_body": True})
        await send({"type": "http.response.body", "body": served.body[half:]})

    def _find(self, asked: Asked) -> Served:
        is_local = asked.path.startswith(("/ollama/", "/llamacpp/"))
        if KEY not in " ".join(asked.headers.values()) and not is_local:
            return _json({"error": {"message": "no key"}}, 401)
        if self.answer is not None:
            return self.answer(asked)
        for pattern, make in ROUTES:
            if re.fullmatch(pattern, f"{asked.method} {asked.path}"):
                return make(asked)
        return _json({"error": {"message": f"no {asked.path}"}}, 404)

    async def _open(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        self.opened.append(_read(scope, "GET", b""))
        if KEY not in " ".join(self.opened[-1].headers.values()):
            await send({"type": "websocket.close"})
            return
        offered = [each for each in scope["subprotocols"] if "." not in each]
        await send({"type": "websocket.accept", "subprotocol": offered[0] if offered else None})
        got: list[Any] = []
        speaking: list[Any] = []
        self.sockets.append(got)
        for text in self.say:
            await send({"type": "websocket.send", "text": text})
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                self.ended.append((message["code"], message.get("reason") or ""))
                return
            kind = "text" if message.get("text") is not None else "bytes"
            got.append(message[kind])
            if self.close_with is not None:
                code, reason = self.close_with
                await send({"type": "websocket.close", "code": code, "reason": reason})
                return
            if self.speak is not None:
                speaking.append(asyncio.ensure_future(self.speak(message[kind], send)))
                continue
            for text in _answer_event(message[kind]):
                await send({"type": "websocket.send", "text": text})


def _answer_event(message: Any) -> list[str]:
    """Return the events after a client's: OpenAI's answer, or Gemini's."""
    try:
        event = json.loads(message)
    except ValueError:
        return []
    if event.get("type") == "response.create":
        details = {"cached_tokens": 2, "text_tokens": 8, "audio_tokens": 2}
        usage = {
            "total_tokens": 17,
            "input_tokens": 10,
            "output_tokens": 7,
            "input_token_details": details,
            "output_token_details": {"text_tokens": 7, "audio_tokens": 0},
        }
        response = {
            "object": "realtime.response",
            "id": "resp_1",
            "status": "completed",
            "usage": usage,
            "output": [],
        }
        return [json.dumps({"type": "response.done", "event_id": "e1", "response": response})]
    if "setup" in event:
        return [json.dumps({"setupComplete": {}})]
    if "clientContent" in event or "client_content" in event:
        turn = {"modelTurn": {"parts": [{"text": "hi"}]}, "turnComplete": True}
        usage = {"promptTokenCount": 5, "responseTokenCount": 3, "totalTokenCount": 8}
        return [json.dumps({"serverContent": turn, "usageMetadata": usage})]
    return []


def _read(scope: Any, method: str, body: bytes) -> Asked:
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    path = scope["raw_path"].decode()
    return Asked(method, path, scope["query_string"].decode(), headers, body)


@contextmanager
def serving_endpoints() -> Iterator[EndpointService]:
    """Serve in a thread."""
    service = EndpointService()
    bound = bind("127.0.0.1", 0)
    config = uvicorn.Config(
        service, log_level="critical", lifespan="off", ws="websockets-sansio", ws_max_size=1 << 26
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    end = monotonic() + WAIT
    while not server.started:
        assert monotonic() < end
        sleep(0.01)
    service.url = address(bound)
    try:
        yield service
    finally:
        server.should_exit = True
        thread.join()


def until(check: Any) -> None:
    """Wait for a fact."""
    end = monotonic() + WAIT
    while not check():
        assert monotonic() < end, "it did not happen"
        sleep(0.01)


async def auntil(check: Any) -> None:
    """Wait for a fact without stopping the loop."""
    end = monotonic() + WAIT
    while not check():
        assert monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)

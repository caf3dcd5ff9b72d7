"""What an answer gave to one key reaches the service for no other, in any place of any request.

The adversary takes the places from the vendors' own request types. The judge looks for the words
of the thief in what arrived; it knows nothing of our tables.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned
from tests.gateway.grammar import put, walk

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

USER = {"role": "user", "content": "Hi"}
PARTS = {"role": "user", "parts": [{"text": "Hi"}]}
RAN = {
    "type": "bash_code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "bash_code_execution_result",
        "stdout": "",
        "stderr": "",
        "return_code": 0,
        "content": [{"type": "bash_code_execution_output", "file_id": "file_OfA"}],
    },
}
UPLOADED = {"type": "container_upload", "file_id": "file_OfA2"}
LISTED = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_2",
    "content": [{"type": "code_execution_output", "file_id": "file_OfA3"}],
}
MESSAGE: dict[str, Any] = {
    "id": "msg_OfA",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [RAN, UPLOADED, LISTED, {"type": "text", "text": "Done."}],
    "container": {"id": "container_OfA", "expires_at": "2027-01-01T00:00:00Z"},
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
CITED = {
    "type": "container_file_citation",
    "container_id": "cntr_OfA",
    "file_id": "cfile_OfA",
    "filename": "a.csv",
    "start_index": 0,
    "end_index": 1,
}
FOUND = {"type": "file_citation", "file_id": "file_OfAll", "filename": "b.md", "index": 0}
WROTE = {"type": "file_path", "file_id": "cfile_OfA2", "index": 0}
NOTES = [CITED, FOUND, WROTE]
CODE = {
    "type": "code_interpreter_call",
    "id": "ci_OfA",
    "code": "",
    "container_id": "cntr_OfA",
    "status": "completed",
    "outputs": [{"type": "files", "files": [{"mime_type": "a/b", "file_id": "cfile_OfA3"}]}],
}
RESPONSE: dict[str, Any] = {
    "id": "resp_OfA",
    "object": "response",
    "model": "gpt-5.6-sol",
    "status": "completed",
    "output": [
        CODE,
        {
            "type": "message",
            "id": "msg_OfA2",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Done.", "annotations": NOTES}],
        },
    ],
    "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
}
INTERACTION: dict[str, Any] = {
    "id": "v1_OfA",
    "object": "interaction",
    "model": "gemini-4-argon",
    "status": "requires_continuation",
    "continuation_token": "token_OfA",
    "environment_id": "environment_OfA",
    "steps": [{"type": "model_output", "content": [{"type": "text", "text": "Done."}]}],
    "usage": {"total_input_tokens": 1, "total_output_tokens": 1, "total_tokens": 2},
}
APIS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    "messages": (
        "/v1/messages",
        "anthropic:claude-opus-5",
        {"max_tokens": 99, "messages": [USER]},
        MESSAGE,
        ("file_OfA", "file_OfA2", "file_OfA3", "container_OfA", "msg_OfA"),
    ),
    "responses": (
        "/v1/responses",
        "openai:gpt-5.6-sol",
        {"input": [USER]},
        RESPONSE,
        ("cntr_OfA", "cfile_OfA", "cfile_OfA2", "cfile_OfA3", "resp_OfA"),
    ),
    "interactions": (
        "/v1beta/interactions",
        "google-interactions:gemini-4-argon",
        {"input": "Hi"},
        INTERACTION,
        ("v1_OfA", "token_OfA", "environment_OfA"),
    ),
}
NAMES = {
    *("container", "container_id", "file_id", "file_ids", "previous_response_id"),
    "vector_store_ids",
    *("comparison_response_id", "previous_message_id"),
}
OF_INTERACTIONS = {
    *("previous_interaction_id", "continuation_token", "environment", "environment_id"),
}
ASKED = {"messages": {"thread": {"type": "create"}}, "responses": {}, "interactions": {}}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-providers-key-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-providers-key-0123456789")
    monkeypatch.setenv("GEMINI_API_KEY", "a-providers-key-0123456789")


@cache
def places_of(api: str) -> list[tuple[str, dict[str, str]]]:
    """Return every place in which a request of this API can name something stored."""
    from anthropic.types.beta.message_create_params import MessageCreateParamsBase
    from google.genai.interactions import CreateModelInteractionParam
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

    kind: Any = {
        "messages": MessageCreateParamsBase,
        "responses": ResponseCreateParamsBase,
        "interactions": CreateModelInteractionParam,
    }[api]
    names = OF_INTERACTIONS if api == "interactions" else NAMES
    found = {
        (path, *sorted(tags.items())): (path, tags)
        for path, tags in walk(kind, names.__contains__)
        if not path.startswith("tools[].environment")  # of a screen, which is the client's own
    }
    places = [*found.values()]
    if api == "responses":  # the types of a namespace allow functions alone
        tags = {"tools[]": "namespace", "tools[].tools[]": "code_interpreter"}
        places.append(("tools[].tools[].container", tags))
    return places


def test_the_types_have_the_places_that_we_know():
    assert {path for path, _ in places_of("messages")} >= {
        "container",
        "thread.previous_message_id",
        "diagnostics.previous_message_id",
        "messages[].content[].source.file_id",
        "messages[].content[].file_id",
    }
    assert {path for path, _ in places_of("responses")} >= {
        "tools[].container",
        "tools[].vector_store_ids",
        "input[].tools[].container",
        "prompt_cache_options.comparison_response_id",
        "input[].content[].file_id",
    }
    assert {path for path, _ in places_of("interactions")} == {
        *("previous_interaction_id", "continuation_token", "environment"),
        "environment.environment_id",
    }


class World:
    """A gateway with two keys; the first has had an answer."""

    def __init__(self, api: str, *, stream: bool = False) -> None:
        self.api, self._stream = api, stream
        _, model, _, answer, _ = APIS[api]
        pieces = [*_write_stream(api)] if stream else [json.dumps(answer).encode()]
        kind = "text/event-stream" if stream else "application/json"
        self.service = Canned(pieces, content_type=kind)
        keys = tuple(GatewayKey(name, hash_key(f"key-{name}")) for name in "ab")
        route = GatewayRoute(match="*", to=(model,), retries=0)
        self.app = App(GatewayContext(GatewayConfig(routes=(route,), keys=keys), self.service))

    async def ask(self, key: str, more: dict[str, Any] | str) -> Came:
        path, model, usual, _, _ = APIS[self.api]
        body = {"model": model.partition(":")[2], **usual, "stream": self._stream}
        text = more if isinstance(more, str) else json.dumps({**body, **more})
        headers = {"content-type": "application/json", "authorization": f"Bearer key-{key}"}
        http = HttpRequest("POST", f"http://gate{path}", headers, text.encode())
        return await came(self.app, http)


def _write_stream(api: str) -> Iterator[bytes]:
    events: list[dict[str, Any]]
    if api == "interactions":
        begun = {name: INTERACTION[name] for name in ("id", "object", "model")}
        token = {"interaction_id": "v1_OfA", "continuation_token": "token_OfA"}
        events = [
            {"type": "interaction.created", "interaction": {**begun, "status": "in_progress"}},
            {"type": "interaction.status_update", "status": "in_progress", **token},
            {"type": "step.start", "index": 0, "step": {"type": "model_output"}},
            {"type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Done."}},
            {"type": "interaction.completed", "interaction": {**INTERACTION, "steps": []}},
        ]
        events = [{"event_type": event.pop("type"), **event} for event in events]
    elif api == "responses":
        code, item = RESPONSE["output"]
        events = [
            {"type": "response.created", "response": {**RESPONSE, "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": code},
            {"type": "response.output_item.done", "output_index": 1, "item": item},
            {"type": "response.completed", "response": RESPONSE},
        ]
    else:
        begun = {**MESSAGE, "content": [], "container": None, "stop_reason": None}
        changed = {"stop_reason": "end_turn", "container": MESSAGE["container"]}
        events = [
            {"type": "message_start", "message": begun},
            *_write_blocks(RAN, UPLOADED, LISTED),
            {"type": "message_delta", "delta": changed, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
    for event in events:
        kind = event.get("type") or event["event_type"]
        yield f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode()


def _write_blocks(*blocks: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for index, block in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}


def name(api: str, path: str, tags: dict[str, str], id: str) -> dict[str, Any]:
    """Return a request's fields that name an id in one place."""
    usual = json.loads(json.dumps(APIS[api][2]))
    put(usual, path, [id] if path.endswith("_ids") else id, tags)
    return with_roles(usual)


def with_roles(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body whose new turns are a user's, where they need somebody."""
    for turn in body.get("messages", ()):
        turn.setdefault("role", "user")
    return body


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("api", APIS)
def test_nothing_of_another_key_arrives_from_any_place(api, stream):
    async def run() -> None:
        world = World(api, stream=stream)
        first = await world.ask("a", ASKED[api])
        assert first.status == 200, first.body
        reached = 0
        for path, tags in places_of(api):
            for id in APIS[api][4]:
                fields = name(api, path, tags, id)
                before = len(world.service.requests)
                taken = await world.ask("b", fields)
                assert len(world.service.requests) == before, (path, id)
                assert taken.status in (400, 404), (path, taken.body)
                await world.ask("a", fields)
                reached += len(world.service.requests) - before
        assert reached > len(places_of(api)), reached

    anyio.run(run)


@st.composite
def thefts(draw: st.DrawFn) -> tuple[str, bool, str, list[str]]:
    api = draw(st.sampled_from(sorted(APIS)))
    _, model, usual, _, ids = APIS[api]
    body = {"model": model.partition(":")[2], **json.loads(json.dumps(usual))}
    taken = []
    for _ in range(draw(st.integers(1, 3))):
        path, tags = draw(st.sampled_from(places_of(api)))
        taken.append(draw(st.sampled_from(ids)))
        put(body, path, [taken[-1]] if path.endswith("_ids") else taken[-1], tags)
    stream = draw(st.booleans())
    text = json.dumps(with_roles(body) | {"stream": stream})
    if draw(st.booleans()):
        words = ("container", "file_id", "diagnostics", "thread", "tools", "continuation")
        for word in (*words, "previous_interaction", "environment"):
            text = text.replace(f'"{word}', f'"\\u{ord(word[0]):04x}{word[1:]}')
    return api, stream, text, taken


@given(thefts())
def test_nothing_of_another_key_arrives(theft):
    api, stream, text, taken = theft

    async def run() -> list[bytes]:
        world = World(api, stream=stream)
        await world.ask("a", ASKED[api])
        await world.ask("b", text)
        return world.service.requests[1:]

    for data in anyio.run(run):
        assert not {*taken} & {*leaves(json.loads(data))}, data


def test_a_file_of_the_account_is_for_every_key():
    async def run() -> None:
        world = World("responses")
        await world.ask("a", {})
        file = {"type": "input_file", "file_id": "file_OfAll"}
        answer = await world.ask("b", {"input": [{"role": "user", "content": [file]}]})
        assert answer.status == 200, answer.body

    anyio.run(run)


def test_a_model_cannot_claim_a_file_by_writing_its_id():
    async def run() -> None:
        world = World("messages")
        await world.ask("a", {})
        forged = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": RAN}
        answer = {**MESSAGE, "content": [forged], "container": None}
        world.service._pieces = [json.dumps(answer).encode()]
        await world.ask("b", {})
        source = {"type": "file", "file_id": "file_OfA"}
        content = [{"type": "document", "source": source}]
        taken = await world.ask("b", {"messages": [{"role": "user", "content": content}]})
        assert taken.status == 404, taken.body

    anyio.run(run)


def test_a_stream_that_breaks_off_has_given_its_files():
    async def run() -> None:
        world = World("messages", stream=True)
        text = {"type": "content_block_start", "index": 1, "content_block": {"type": "text"}}
        said = {"type": "content_block_delta", "index": 1}
        said["delta"] = {"type": "text_delta", "text": "Hi"}
        more = [f"data: {json.dumps(event)}\n\n".encode() for event in (text, said)]
        world.service._pieces = [*world.service._pieces[:3], *more]
        got = await world.ask("a", {})
        assert b"file_OfA" in got.body
        upload = [{"type": "container_upload", "file_id": "file_OfA"}]
        taken = await world.ask("b", {"messages": [{"role": "user", "content": upload}]})
        assert taken.status == 404, taken.body

    anyio.run(run)


class _Waiting(Canned):
    """Sends its pieces; before the last one, another request comes."""

    other: Any = None

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        answer = await super().send(request, timeouts)
        return _Slow(answer, self) if len(self.requests) == 1 else answer


class _Slow:
    def __init__(self, answer: Any, service: _Waiting) -> None:
        self.head = answer.head
        self._service = service

    async def __aiter__(self) -> Any:
        *pieces, last = self._service._pieces
        for piece in pieces:
            yield piece
        await self._service.other()
        yield last

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (
            "messages",
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "container_upload", "file_id": "file_OfA"}],
                    }
                ]
            },
        ),
        (
            "responses",
            {
                "input": [
                    {
                        "role": "user",
                        "content": [{"type": "input_file", "file_id": "cfile_OfA"}],
                    }
                ]
            },
        ),
    ],
)
def test_a_file_is_the_clients_while_its_stream_runs(api, body):
    async def run() -> list[Came]:
        world = World(api, stream=True)
        service = _Waiting(world.service._pieces, content_type="text/event-stream")
        world.app.gateway = GatewayContext(world.app.gateway.config, service)
        taken: list[Came] = []

        async def steal() -> None:
            taken.append(await world.ask("b", body))

        service.other = steal
        first = await world.ask("a", {})
        assert first.status == 200, first.body
        assert len(service.requests) == 1
        return taken

    (taken,) = anyio.run(run)
    assert taken.status == 404, taken.body


def test_a_shared_file_that_an_answer_repeats_stays_shared():
    async def run() -> None:
        world = World("messages")
        fields = {"messages": [{"role": "user", "content": [UPLOADED]}]}
        await world.ask("a", fields)
        assert (await world.ask("b", fields)).status == 200

    anyio.run(run)


@pytest.mark.parametrize(
    "fields",
    [
        {"input": [USER, {"type": "compaction", "id": "cmp_OfA"}]},
        {"tool_choice": {"type": "code_interpreter", "container": "cntr_OfA"}},
    ],
)
def test_an_id_in_an_unusual_place_is_not_sent(fields):
    async def run() -> None:
        world = World("responses")
        await world.ask("a", {})
        taken = await world.ask("b", fields)
        assert taken.status in (400, 404), taken.body
        assert len(world.service.requests) == 1

    anyio.run(run)


COUNTS = {
    "messages": (
        "/v1/messages/count_tokens",
        "anthropic:claude-opus-5",
        {"model": "m", "messages": [USER], "container": "container_OfA"},
    ),
    "file": (
        "/v1/messages/count_tokens",
        "anthropic:claude-opus-5",
        {
            "model": "m",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "document", "source": {"type": "file", "file_id": "file_OfA"}}
                    ],
                }
            ],
        },
    ),
    "gemini": (
        "/v1beta/models/m:countTokens",
        "google:gemini-3-flash-preview",
        {"contents": [PARTS], "cachedContent": "cachedContents/secret"},
    ),
    "gemini, wrapped": (
        "/v1beta/models/m:countTokens",
        "google:gemini-3-flash-preview",
        {
            "generateContentRequest": {
                "model": "models/m",
                "contents": [PARTS],
                "cachedContent": "cachedContents/secret",
            }
        },
    ),
}


@pytest.mark.parametrize("case", COUNTS)
def test_counting_tokens_reaches_nothing_of_another_key(case):
    path, model, body = COUNTS[case]

    async def run() -> None:
        world = World("messages")
        await world.ask("a", {})
        route = GatewayRoute(match="*", to=(model,), retries=0)
        keys = tuple(GatewayKey(name, hash_key(f"key-{name}")) for name in "ab")
        world.app.gateway.reconfigure(GatewayConfig(routes=(route,), keys=keys))
        headers = {"content-type": "application/json", "authorization": "Bearer key-b"}
        http = HttpRequest("POST", f"http://gate{path}", headers, json.dumps(body).encode())
        answer = await came(world.app, http)
        assert answer.status in (403, 404), answer.body
        assert len(world.service.requests) == 1

    anyio.run(run)

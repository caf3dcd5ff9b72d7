"""The two worked examples of hooks: masking, and a cache of answers."""

import asyncio
import base64
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pondero_mask import Mask
from pondero_reply_cache import ReplyCache
from tests.gateway.hooks.gates import FRONTS, Gate, Through, make_post
from tests.gateway.upstream import BACKS

import pondero
from pondero.canon import (
    Blob,
    Finished,
    HttpRequest,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Request,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    ToolResult,
    Usage,
)
from pondero.errors import BadConfig
from pondero.gateway import HookCall
from pondero.gateway.config.model import (
    GatewayRoute,
    HookConfig,
    LevelRules,
    PurposeRule,
    RuleMatch,
)

ADDRESS = "ann.lee+x@mail.example.com"
KEY = "sk-" + "proj-abcdefghijklmnopqrstuvwx"
QUESTION = f"Please write to {ADDRESS} with the key {KEY} [or not]"
PLACEHOLDER = re.compile(r"\[(?:email|key)#[0-9a-f]{16}\]")
MASK = HookConfig(use="pondero_mask:Mask", name="mask", settings={"secret": "env:MASK_SECRET"})
CACHE = HookConfig(use="pondero_reply_cache:ReplyCache", name="cache")


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    monkeypatch.setenv("MASK_SECRET", "a secret of more than sixteen")


def send_mail(address: str) -> str:
    """Send a mail to an address."""
    return f"sent to {address}"


def _talk(gate: Gate, front: str, *, stream: bool) -> list[pondero.Reply]:
    async def talk() -> list[pondero.Reply]:
        replies = []
        async with pondero.AsyncClient(transport=Through(gate.app)) as client:
            chat = pondero.AsyncChat(f"{FRONTS[front]}/low", client=client, tools=[send_mail])
            for question in (QUESTION, f"And again: {ADDRESS}?"):
                if stream:
                    async with chat.stream(question) as turn:
                        async for _ in turn:
                            pass
                    replies.append(turn.reply)
                else:
                    replies.append(await chat.send(question))
        return replies

    return asyncio.run(talk())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("front", FRONTS)
def test_no_service_reads_what_is_hidden_and_every_client_reads_it(front, back, stream):
    gate = Gate(MASK, to=BACKS[back])

    replies = _talk(gate, front, stream=stream)

    sent = b"".join(gate.upstream.requests)
    assert ADDRESS.encode() not in sent
    assert KEY.encode() not in sent
    assert PLACEHOLDER.search(sent.decode())
    assert not gate.upstream.refusals()
    assert ADDRESS in replies[-1].text
    assert not any(PLACEHOLDER.search(reply.text + reply.thinking) for reply in replies)


def _make_call(request: Request) -> HookCall:
    return HookCall(
        id="1",
        key="local",
        client="local",
        client_api="anthropic",
        model="m",
        level=None,
        route=None,
        purpose="main",
        request=request,
        body=b"",
        notes={},
    )


_words = st.text(st.characters(codec="utf-8"), max_size=20)
_values = st.sampled_from([ADDRESS, KEY, "b@example.org"])
_texts = st.lists(_words | _values, min_size=1, max_size=6).map("".join)


@given(
    texts=st.lists(_texts, min_size=1, max_size=3),
    kind=st.sampled_from([TextDelta, ThinkingDelta, ToolDelta]),
    data=st.data(),
)
def test_values_return_whole_wherever_the_deltas_are_cut(texts, kind, data):
    hook = _make_mask()
    call = _make_call(Request("m", (Message("user", tuple(map(Text, texts))),)))
    masked = "".join(part.text for part in hook.on_request(call).messages[0].parts)
    text = json.dumps({"a": masked}) if kind is ToolDelta else masked
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    part = {TextDelta: Text(masked), ThinkingDelta: Thinking(masked)}.get(kind) or ToolCall(
        "1", "t", {"a": masked}
    )

    events = [PartStart(0, "text"), *(kind(0, piece) for piece in pieces), PartEnd(0, part)]
    shown = [each for event in [*events, Finished("stop")] for each in hook.on_event(call, event)]

    got = "".join(getattr(e, "json", None) or getattr(e, "text", "") for e in shown[1:-2])
    whole = "".join(texts)
    assert (json.loads(got)["a"] if kind is ToolDelta else got) == whole
    told = shown[-2].part
    assert (told.arguments["a"] if isinstance(told, ToolCall) else told.text) == whole


@pytest.mark.parametrize("size", [1, 5, 30, 100])
def test_values_return_as_they_are_in_the_calls_of_a_tool_that_takes_text(size):
    value = '<<a "quoted" \\ line\n>>'
    settings = {"secret": "env:MASK_SECRET", "patterns": {"name": "<<[^>]*>>"}}
    hook = Mask(settings)
    tools = (pondero.Tool("shell", kind="text"), pondero.Tool("send_mail"))
    call = _make_call(Request("m", (Message("user", (Text(value),)),), tools=tools))
    masked = hook.on_request(call).messages[0].parts[0].text
    command = f"echo {masked} {masked}"

    def show(index: int, name: str, text: str) -> str:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        start = PartStart(index, "tool_call", "1", name)
        end = PartEnd(index, ToolCall("1", name, {}))
        events = [start, *(ToolDelta(index, piece) for piece in pieces), end]
        shown = [each for event in events for each in hook.on_event(call, event)]
        return "".join(each.json for each in shown if isinstance(each, ToolDelta))

    assert show(0, "shell", command) == f"echo {value} {value}"
    assert json.loads(show(1, "send_mail", json.dumps([command]))) == [f"echo {value} {value}"]


def test_what_is_held_of_a_text_comes_before_the_call_behind_it():
    hook = _make_mask()
    call = _make_call(Request("m", (Message("user", (Text(ADDRESS),)),)))
    hook.on_request(call)
    begun = PartStart(1, "tool_call", "1", "send_mail")

    # Chat has the end of a text behind the calls.
    events = [PartStart(0, "text"), TextDelta(0, "a list: [a"), begun, PartEnd(0, Text("b"))]
    shown = [each for event in events for each in hook.on_event(call, event)]

    assert shown == [events[0], TextDelta(0, "a list: "), TextDelta(0, "[a"), *events[2:]]


def test_a_stop_sequence_is_told_as_the_client_wrote_it():
    hook = _make_mask()
    call = _make_call(Request("m", (Message("user", (Text("hi"),)),), stop=(ADDRESS,)))
    (masked,) = hook.on_request(call).stop
    assert PLACEHOLDER.fullmatch(masked)

    end = Finished("stop", Usage(output=1), extras={"stop_sequence": masked})

    assert hook.on_event(call, end) == [replace(end, extras={"stop_sequence": ADDRESS})]


def _make_mask() -> Mask:
    import os

    os.environ["MASK_SECRET"] = "a secret of more than sixteen"
    return Mask({"secret": "env:MASK_SECRET"})


def test_every_text_of_a_request_is_masked_and_its_signatures_are_not():
    signature = pondero.Signature("anthropic", ADDRESS)
    request = Request(
        "m",
        (
            Message("user", (Text(ADDRESS), Blob("text/plain", ADDRESS.encode()))),
            Message(
                "assistant",
                (Thinking(ADDRESS, signature), ToolCall("1", "t", {"to": [ADDRESS]})),
            ),
            Message("user", (ToolResult("1", (Text(ADDRESS),)),)),
        ),
        system=(Text(ADDRESS),),
        tools=(pondero.Tool("t", ADDRESS, {"description": ADDRESS}),),
        stop=(ADDRESS,),
        extras={"user": ADDRESS},
    )

    masked = _make_mask().on_request(_make_call(request))

    thinking = masked.messages[1].parts[0]
    assert thinking.signature == signature
    without = pondero.Message("assistant", (Thinking(thinking.text), *masked.messages[1].parts[1:]))
    texts = (masked.messages[0], without, masked.messages[2:], masked.system, masked.tools)
    assert ADDRESS not in repr((*texts, masked.stop, masked.extras))


@pytest.mark.parametrize(
    ("reference", "secret", "said"),
    [
        ("env:MASK_SECRET", None, "MASK_SECRET is not set; set that variable to 16 characters or"),
        ("env:MASK_SECRET", "short", "MASK_SECRET has 5 characters; use 16 or more"),
        ("a secret in the file itself", None, 'invalid secret; write secret = "env:NAME"'),
    ],
)
def test_a_mask_without_a_secret_does_not_start(monkeypatch, reference, secret, said):
    monkeypatch.delenv("MASK_SECRET")
    if secret is not None:
        monkeypatch.setenv("MASK_SECRET", secret)
    hook = HookConfig(use="pondero_mask:Mask", name="mask", settings={"secret": reference})

    with pytest.raises(BadConfig, match=re.escape(f"the hook 'mask' cannot be made: {said}")):
        Gate(hook)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(['\"])secret\1", "has a group by its number"),
        ("x*", "also matches no letters at all"),
        ("(", "invalid pattern quoted: "),
        ("(?i)x", "invalid pattern quoted: "),
    ],
)
def test_a_mask_does_not_start_with_a_pattern_that_hides_nothing_or_everything(pattern, said):
    patterns = {"email": "[a-z]+@x", "quoted": pattern}
    with pytest.raises(ValueError, match=re.escape(said)):
        Mask({"secret": "env:MASK_SECRET", "patterns": patterns})


def _ask(gate: Gate, text: str, *, stream: bool = False, **headers: str):
    body = {
        "model": "claude-opus-5",
        "max_tokens": 2000,
        "stream": stream,
        "messages": [{"role": "user", "content": text}],
    }
    data = json.dumps(body).encode()
    sent = {"content-type": "application/json", "host": "127.0.0.1", **headers}
    return gate.ask(HttpRequest("POST", "http://127.0.0.1/v1/messages", sent, data))


@pytest.mark.parametrize("stream", [False, True])
def test_the_second_of_two_equal_requests_is_answered_without_a_service(stream):
    gate = Gate(CACHE)

    first, second = (_ask(gate, "What is 17 * 23?", stream=stream) for _ in range(2))

    assert len(gate.upstream.requests) == 1
    assert b"391" in first.body
    assert b"391" in second.body
    assert second.headers["x-pondero-hook"] == "cache"
    asked, given_ = gate.receipts
    assert (asked.road, asked.usage.output is not None) == ("passed", True)
    assert (given_.road, given_.model, given_.cost, given_.tries) == ("hook", None, None, 0)
    assert given_.usage.known_total == 0


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("What is 17 * 24?", {}),
        ("What is 17 * 23?", {"x-pondero-thinking": "low"}),
        ("What is 17 * 23?", {"x-pondero-kind": "proofs"}),
        ("What is 17 * 23?", {"user-agent": "claude-cli/2.1.197 (external, cli)"}),
    ],
)
def test_another_question_or_level_is_asked(text, headers):
    gate = Gate(CACHE)
    rule = PurposeRule(RuleMatch(client="claude-code"), LevelRules(force="off"), name="off")
    gate.context.reconfigure(replace(gate.context.config, rules=(rule,)))

    _ask(gate, "What is 17 * 23?")
    answer = _ask(gate, text, **headers)

    assert "x-pondero-hook" not in answer.headers
    assert len(gate.upstream.requests) == 2


def test_a_name_that_has_another_model_since_a_reload_is_asked_again():
    gate = Gate(CACHE)
    _ask(gate, "What is 17 * 23?")
    routes = (GatewayRoute(match="*", to=("google:gemini-3-flash-preview",)),)

    gate.context.reconfigure(replace(gate.context.config, routes=routes))
    answer = _ask(gate, "What is 17 * 23?")

    assert "x-pondero-hook" not in answer.headers
    assert "gemini" in answer.headers["x-pondero-model"]


@pytest.mark.parametrize(
    ("parts", "finish", "is_kept"),
    [
        ((Text("391"),), "stop", True),
        ((Text("39"),), "length", False),
        ((Text("39"),), "refusal", False),
        ((ToolCall("1", "send_mail", {}),), "stop", False),
        ((Text("I write."), ToolCall("1", "send_mail", {})), "stop", False),
        ((Thinking("hm"),), "stop", False),
        ((Text(""),), "stop", False),
    ],
)
def test_the_cache_keeps_complete_answers_in_words_alone(parts, finish, is_kept):
    cache = ReplyCache({})
    call = _make_call(Request("m", (Message("user", (Text("What is 17 * 23?"),)),)))

    async def ask_twice():
        assert await cache.on_request(call) is None
        await cache.on_reply(call, Reply(Message("assistant", parts), finish))
        return await cache.on_request(call)

    assert (asyncio.run(ask_twice()) is not None) is is_kept


def test_a_cache_before_a_mask_keeps_no_placeholder_and_one_behind_it_no_value():
    for hooks in ((CACHE, MASK), (MASK, CACHE)):
        gate = Gate(*hooks)

        answers = [_ask(gate, QUESTION) for _ in range(2)]

        assert len(gate.upstream.requests) == 1
        assert all(ADDRESS.encode() in answer.body for answer in answers)


def test_both_hooks_are_offered_by_name():
    text = Path(__file__).parents[2].joinpath("plugins/gateway-hooks/pyproject.toml").read_text()
    assert 'mask = "pondero_mask:Mask"' in text
    assert 'reply_cache = "pondero_reply_cache:ReplyCache"' in text


def _post(gate: Gate, path: str, body) -> bytes:
    """Return all that the service got for a request, with what is in base64 decoded."""
    sent = {"content-type": "application/json", "host": "127.0.0.1"}
    data = json.dumps(body).encode()
    answer = gate.ask(HttpRequest("POST", f"http://127.0.0.1{path}", sent, data))
    assert answer.status == 200, answer.body
    (got,) = gate.upstream.requests
    runs = re.findall(rb"[A-Za-z0-9+/]{24,}={0,2}", got)
    return got + b"".join(base64.b64decode(each[: len(each) // 4 * 4]) for each in runs)


@pytest.mark.parametrize("back", BACKS)
def test_the_title_of_a_document_is_hidden_like_its_text(back):
    text = {"type": "text", "media_type": "text/plain", "data": QUESTION}
    part = {"type": "document", "source": text, "title": ADDRESS, "context": KEY}
    said = [{"role": "user", "content": [part, {"type": "text", "text": "And?"}]}]
    body = {"model": "m", "max_tokens": 9000, "messages": said}

    got = _post(Gate(MASK, to=BACKS[back]), "/v1/messages", body)

    assert ADDRESS.encode() not in got
    assert KEY.encode() not in got


@pytest.mark.parametrize(
    "kind",
    ["TEXT/Plain", "application/yaml", "application/x-javascript", "application/octet-stream"],
)
def test_a_document_is_read_whatever_type_it_says_it_has(kind):
    data = base64.b64encode(QUESTION.encode()).decode()
    file = {"filename": f"{ADDRESS}.txt", "file_data": f"data:{kind};base64,{data}"}
    parts = [{"type": "file", "file": file}, {"type": "text", "text": "And?"}]
    body = {"model": "m", "messages": [{"role": "user", "content": parts}]}

    got = _post(Gate(MASK, to="openai:gpt-5.5"), "/v1/chat/completions", body)

    assert ADDRESS.encode() not in got
    assert KEY.encode() not in got


def test_bytes_that_are_no_text_stay_as_they_are():
    blobs = (
        Blob("application/octet-stream", b"\xff\x00" + ADDRESS.encode()),
        Blob("application/pdf", ADDRESS.encode()),
    )
    call = _make_call(Request("m", (Message("user", blobs),)))
    assert _make_mask().on_request(call).messages[0].parts == blobs


def test_a_call_that_the_service_ran_is_hidden_whatever_its_fields_are_called():
    call = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "q", "server_name": "s"}
    result = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False}
    said = [{**call, "input": {"user_id": ADDRESS}}, {**result, "content": []}]
    gate = Gate(MASK)
    body = {
        "model": "claude-opus-5",
        "max_tokens": 9_000,
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [*said, {"type": "text", "text": "ok"}]},
            {"role": "user", "content": "y"},
        ],
        "mcp_servers": [{"type": "url", "url": "https://s.example/", "name": "s"}],
        "tools": [{"type": "mcp_toolset", "mcp_server_name": "s"}],
    }

    post = make_post("/v1/messages", body)
    post.headers["anthropic-beta"] = "mcp-client-2025-11-20"

    assert gate.ask(post).status == 200
    (sent,) = gate.upstream.requests
    (masked,) = json.loads(sent)["messages"][1]["content"][0]["input"].values()
    assert PLACEHOLDER.fullmatch(masked)


def test_parameters_that_both_apis_have_are_hidden_too():
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "metadata": {"who": ADDRESS},
        "safety_identifier": ADDRESS,
        "prompt_cache_key": KEY,
        "service_tier": "flex",
    }
    got = _post(Gate(MASK, to="openai:gpt-5.5"), "/v1/chat/completions", body)

    assert ADDRESS.encode() not in got
    assert KEY.encode() not in got
    assert PLACEHOLDER.search(json.loads(got[: got.rindex(b"}") + 1])["metadata"]["who"])
    assert b'"service_tier":"flex"' in got


def test_labels_of_a_request_are_hidden_so_that_aws_takes_them():
    gate = Gate(MASK, to=FRONTS["bedrock"])
    said = [{"role": "user", "content": [{"text": "Hi"}]}]

    answer = gate.post(
        "/model/m/converse", {"messages": said, "requestMetadata": {"user": ADDRESS}}
    )

    assert answer.status == 200
    (sent,) = gate.upstream.requests
    assert re.fullmatch("email#[0-9a-f]{16}", json.loads(sent)["requestMetadata"]["user"])


def test_the_cache_reads_what_a_request_only_names():
    gate = Gate(CACHE)
    sent = {"content-type": "application/json", "host": "127.0.0.1"}

    def post(path: str, body):
        http = HttpRequest("POST", f"http://127.0.0.1/v1{path}", sent, json.dumps(body).encode())
        return gate.ask(http)

    kept = json.loads(post("/conversations", {}).body)["id"]
    body = {"model": "m", "input": "How many words?", "conversation": kept}
    first, second = post("/responses", body), post("/responses", body)

    assert (first.status, second.status) == (200, 200)
    assert "x-pondero-hook" not in second.headers
    assert len(gate.upstream.requests) == 2

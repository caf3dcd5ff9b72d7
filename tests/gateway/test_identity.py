"""No key reaches what belongs to another: signatures, cached and stored answers, ids, thinking.

The thief has every byte that the other client sent and got. The judge knows nothing of envelopes:
it compares what arrived at the service with what the thief sent, and with what arrives there from
a gateway that the other client never used.
"""

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.test_laws import FRONTS, LOOK, Answer
from tests.gateway.upstream import BACKS, Upstream, seals_of

from pondero import AsyncClient, Retry
from pondero.canon import HttpRequest, Message, Text, ToolResult
from pondero.emulator import ScriptedCall, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.shared_state import make_shared_state

HIDDEN = "A thought about clouds that nobody may see but the model and its gateway."
SETTINGS = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)


def _key(name: str, text: str) -> GatewayKey:
    return GatewayKey(name, hash_key(text))


class Tapped:
    """A client's transport into a gateway, with a key; it keeps every byte in both directions."""

    needs_key = False

    def __init__(self, app: App, key: str) -> None:
        self._app = app
        self._key = key
        self.sent: list[HttpRequest] = []
        self.got: list[bytearray] = []

    async def send(self, request, timeouts) -> "_Tap":
        bare = {
            name: value
            for name, value in request.headers.items()
            if name not in ("authorization", "x-api-key", "x-goog-api-key")
        }
        request = replace(request, headers={**bare, "x-api-key": self._key})
        self.sent.append(request)
        self.got.append(bytearray())
        answer = Answer()
        await answer.begin(self._app, request)
        return _Tap(answer, self.got[-1])

    async def aclose(self) -> None:
        pass


class _Tap:
    def __init__(self, answer: Answer, kept: bytearray) -> None:
        self.head = answer.head
        self._answer = answer
        self._kept = kept

    async def __aiter__(self):
        async for piece in self._answer:
            self._kept.extend(piece)
            yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


def leaves(value: Any) -> Iterator[str]:
    """Yield every string in JSON, also in JSON inside of strings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)


def changed(value: Any, change) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: changed(each, change) for name, each in value.items()}
    return [changed(each, change) for each in value] if isinstance(value, list) else value


def documents(data: bytes) -> Iterator[Any]:
    """Yield the JSON of an answer: whole, or line by line of a stream."""
    for line in (data, *data.split(b"\n")):
        try:
            yield json.loads(line.removeprefix(b"data:"))
        except ValueError:
            continue


def spelt_with_escapes(body: Any) -> bytes:
    """Return a body whose long strings begin with an escape: the same JSON in other letters."""
    marked = changed(body, lambda each: f"\x01{each}" if len(each) > 40 else each)
    pieces = json.dumps(marked).split("\\u0001")
    spelt = [pieces[0]]
    for piece in pieces[1:]:
        plain = piece[0] not in '\\"'
        spelt.append(f"\\u{ord(piece[0]):04x}{piece[1:]}" if plain else piece)
    return "".join(spelt).encode()


@st.composite
def thefts(draw, stolen: HttpRequest, got: bytes) -> HttpRequest:
    """Return the other client's request as the thief sends it: changed, or not at all."""
    body = json.loads(stolen.body)
    words = [word for each in documents(got) for word in leaves(each) if len(word) >= 12]
    how = draw(st.sampled_from(["same", "alphabet", "escapes", "stripped", "spliced"]))
    if how == "alphabet":
        table = str.maketrans("+/", "-_")
        body = changed(body, lambda w: w.translate(table).rstrip("=") if len(w) > 40 else w)
    elif how == "stripped":  # a client that lost what it does not understand
        body = changed(body, lambda word: "x" if len(word) > 40 and " " not in word else word)
    elif how == "spliced" and words:
        places = [at for at, word in enumerate(leaves(body)) if len(word) >= 3]
        chosen = set(draw(st.lists(st.sampled_from(places), min_size=1, max_size=4)))
        count = iter(range(10**6))
        new = draw(st.lists(st.sampled_from(words), min_size=4, max_size=4))
        name = body.get("model")

        def splice(word: str) -> str:
            at = next(count)
            return new[at % 4] if at in chosen and word != name else word

        body = changed(body, splice)
    data = spelt_with_escapes(body) if how == "escapes" else json.dumps(body).encode()
    return replace(stolen, body=data)


class World:
    """A gateway with two keys in front of an upstream."""

    def __init__(self, *, state: str = "memory", same_name: bool = False) -> None:
        self.upstream = Upstream()
        names = ("one", "one") if same_name else ("one", "two")
        self.keys = (_key(names[0], "key-a"), _key(names[1], "key-b"))
        self._same_name = same_name
        self._server = ServerConfig(state=state)
        config = GatewayConfig(server=self._server, keys=self.keys[:1])
        self.gate = GatewayContext(config, self.upstream, shared=make_shared_state(self._server))
        self.app = App(self.gate)

    def serve(self, back: str, *, thief: bool, show: Any = None) -> None:
        """Answer with this model; the second key may have the name of the first, removed one."""
        keys = self.keys[1:] if thief and self._same_name else self.keys[: 1 + thief]
        route = GatewayRoute(match="*", to=(BACKS[back],), retries=0, show=show)
        self.gate.reconfigure(GatewayConfig(server=self._server, routes=(route,), keys=keys))

    async def aclose(self) -> None:
        await self.gate.shared.aclose()


TURNS = st.lists(
    st.builds(
        ScriptedTurn,
        thinking=st.just((HIDDEN,)),
        text=st.sampled_from(["It is seven.", "Wait and see, then."]),
        tool_calls=st.lists(
            st.sampled_from(["a", "b"]).map(lambda at: ScriptedCall("look", {"at": at})), max_size=2
        ).map(tuple),
    ),
    min_size=1,
    max_size=2,
)


async def _steal(front: str, case: dict[str, Any], data, state: str) -> None:
    world, fresh = World(state=state, same_name=case["same_name"]), World(same_name=True)
    try:
        await _try_to_steal(world, fresh, front, case, data)
    finally:  # a draw that is rejected ends the example too
        await world.aclose()
        await fresh.aclose()


async def _try_to_steal(world: World, fresh: World, front: str, case: dict[str, Any], data) -> None:
    tapped = Tapped(world.app, "key-a")
    client = AsyncClient(transport=tapped, retry=Retry(attempts=1))
    messages = [Message("user", (Text("Begin."),))]
    for turn in (*case["turns"], ScriptedTurn(text="Done.")):
        world.serve(case["back"], thief=False, show=case["show"])
        world.upstream.emulator.expect(turn)
        reply = await client.ask(
            FRONTS[front], messages, "low", tools=[LOOK], stream=case["stream"]
        )
        messages.append(reply.message)
        results = [
            ToolResult(call.id, (Text("seen"),), name=call.name) for call in reply.tool_calls
        ]
        messages.append(Message("user", tuple(results) or (Text("Go on."),)))
    if case["show"] == "none":
        assert all(HIDDEN.encode() not in got for got in tapped.got)
    secrets = [
        each
        for number in range(len(case["turns"]))
        for each in seals_of(world.upstream.said(number))
    ]
    theft = data.draw(thefts(tapped.sent[-1], b"\n".join(map(bytes, tapped.got))))
    theft = replace(theft, headers={**theft.headers, "x-api-key": "key-b"})

    arrived = []
    for each in (world, fresh):
        each.serve(case["then"], thief=True)
        each.upstream.emulator.expect(ScriptedTurn(text="Nothing for you."))
        before = len(each.upstream.requests)
        answer = await came(each.app, theft)
        assert answer.status in (200, 400, 404, 422), answer.body
        arrived.append(each.upstream.requests[before:][:1])
    assert arrived[0] == arrived[1], "what the thief's service gets depends on the other client"

    theirs = "\0".join(leaves(json.loads(theft.body)))
    for body in arrived[0]:
        service = "\0".join(leaves(json.loads(body)))
        for secret in (*secrets, HIDDEN):
            assert secret in theirs or secret not in service
        seen = {_fit(word) for word in _visible(theft.body)}
        for word in leaves(json.loads(body)):
            assert not word.startswith("cG5kRXY") or _fit(word) in seen


def _fit(word: str) -> str:
    """Return the beginning of a word as a name of a tool: such names are fitted to the service."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", word)[:48]


def _visible(body: bytes) -> list[str]:
    """Return the words that a thief put where everybody reads them: texts, names and arguments."""
    found: list[str] = []

    def look(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for each, inner in value.items():
                look(inner, each)
        elif isinstance(value, list):
            for inner in value:
                look(inner, name)
        elif isinstance(value, str) and name not in ("signature", "thoughtSignature"):
            found.append(value)

    look(json.loads(body), "")
    return found


CASES = st.fixed_dictionaries(
    {
        "turns": TURNS,
        "back": st.sampled_from(list(BACKS)),
        "then": st.sampled_from(list(BACKS)),
        "same_name": st.booleans(),
        "stream": st.booleans(),
        "show": st.sampled_from([None, "none"]),
    }
)


@pytest.mark.parametrize("front", FRONTS)
@given(case=CASES, data=st.data())
@SETTINGS
def test_nothing_of_another_key_arrives_whatever_its_client_lost(front, case, data):
    anyio.run(_steal, front, case, data, "memory")


@pytest.mark.parametrize("front", ["messages", "responses", "chat", "gemini"])
@given(case=CASES, data=st.data())
@SETTINGS
def test_nothing_of_another_key_arrives_from_a_shared_state(redis, front, case, data):
    redis.empty()
    anyio.run(_steal, front, case, data, redis.url)


# -- what the service stores ---------------------------------------------------------------------

GPT = GatewayRoute("gpt", ("openai:gpt-5.5",))
NAMED = {
    "previous_response_id": lambda ids: {"previous_response_id": ids["response"]},
    "nested tool": lambda ids: {
        "tools": [
            {
                "type": "namespace",
                "name": "n",
                "description": "d",
                "tools": [{"type": "code_interpreter", "container": ids["conversation"]}],
            }
        ]
    },
    "offered tool": lambda ids: {
        "input": [
            {
                "type": "additional_tools",
                "role": "developer",
                "tools": [{"type": "code_interpreter", "container": ids["conversation"]}],
            }
        ]
    },
    "item_reference": lambda ids: {"input": [{"type": "item_reference", "id": ids["item"]}]},
    "reasoning": lambda ids: {
        "input": [{"type": "reasoning", "id": ids["reasoning"], "summary": []}]
    },
    "image": lambda ids: {"input": [{"type": "image_generation_call", "id": ids["item"]}]},
    "conversation": lambda ids: {"conversation": ids["conversation"]},
    "conversation object": lambda ids: {"conversation": {"id": ids["conversation"]}},
    "prompt": lambda ids: {"prompt": {"id": ids["conversation"], "variables": {}}},
    "container": lambda ids: {
        "tools": [{"type": "code_interpreter", "container": ids["conversation"]}]
    },
}
"""Where openai 3.49.0 lets a request name what the account stores."""


async def _ask(world: World, key: str, **fields: object) -> Came:
    body = {"model": "gpt", "input": "Hello, you.", "reasoning": {"effort": "low"}, **fields}
    if isinstance(body["input"], list):
        body["input"] = [*body["input"], {"role": "user", "content": "Go on."}]
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    data = json.dumps(body).encode()
    return await came(world.app, HttpRequest("POST", "http://gate/v1/responses", headers, data))


def _ids(answer: Came, *, stream: bool) -> dict[str, str]:
    said = json.loads(answer.body) if not stream else list(documents(answer.body))[-1]["response"]
    kinds = {item["type"]: item["id"] for item in said["output"]}
    return {
        "response": said["id"],
        "item": kinds["message"],
        "reasoning": kinds["reasoning"],
        "conversation": "conv_0123456789abcdef",
    }


@pytest.mark.parametrize("shared", [False, True], ids=["memory", "redis"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_id_of_the_service_is_only_for_the_key_that_got_it(request, shared, stream):
    state = request.getfixturevalue("redis").url if shared else "memory"

    async def run() -> None:
        world = World(state=state)
        config = GatewayConfig(routes=(GPT,), keys=world.keys)
        world.gate.reconfigure(replace(config, server=ServerConfig(state=state)))
        turn = ScriptedTurn(thinking=("Hm.",), text="Hello.")
        world.upstream.emulator.expect(turn)
        ids = _ids(await _ask(world, "key-a", stream=stream), stream=stream)
        for name, fields in NAMED.items():
            before = len(world.upstream.requests)
            taken = await _ask(world, "key-b", **fields(ids))
            assert taken.status in (400, 404), name
            assert json.loads(taken.body)["error"]["param"] in ("input", "tools", *NAMED)
            assert len(world.upstream.requests) == before, name
            own = await _ask(world, "key-a", **fields(ids))
            mine = ids["conversation"] not in str(fields(ids))
            assert (len(world.upstream.requests) > before) == mine, (name, own.body)
        taken = await _ask(world, "key-b", input=[{"id": ids["item"]}])  # also a reference
        assert taken.status == 400
        taken = await _ask(world, "key-b", previous_response_id=[ids["response"]])
        assert taken.status == 400
        world.upstream.emulator.expect(ScriptedTurn(text="Again."))
        again = await _ask(world, "key-a", previous_response_id=ids["response"])
        assert again.status == 200, again.body
        # An id that a client makes the service repeat is not an id that the service gave.
        echo = {"id": ids["response"], "response": ids["response"]}
        await _ask(world, "key-b", metadata=echo, stream=stream)
        taken = await _ask(world, "key-b", previous_response_id=ids["response"])
        assert json.loads(taken.body)["error"]["code"] == "previous_response_not_found"
        await world.aclose()

    anyio.run(run)


@pytest.mark.parametrize("key", [None, "key-a"], ids=["keyless", "allowed"])
def test_without_keys_or_with_leave_the_account_is_open(key):
    async def run() -> None:
        world = World()
        keys = (replace(_key("one", "key-a"), account_state=True),) if key else ()
        world.gate.reconfigure(GatewayConfig(routes=(GPT,), keys=keys))
        for number, fields in enumerate(NAMED.values(), 1):
            await _ask(world, "key-a", **fields(dict.fromkeys(_PLACES, "resp_0123")))
            assert len(world.upstream.requests) == number

    anyio.run(run)


_PLACES = ("response", "item", "reasoning", "conversation")


@pytest.mark.parametrize(
    "name", ["previous_response_id", "conversation", "prompt", "item_reference"]
)
def test_an_id_that_another_api_cannot_know_is_an_error_and_no_lost_history(name):
    async def run() -> None:
        world = World()
        to = (BACKS["opus"],)
        world.gate.reconfigure(GatewayConfig(routes=(GatewayRoute("gpt", to),)))
        answer = await _ask(world, "any", **NAMED[name](dict.fromkeys(_PLACES, "resp_0123")))
        is_missing = name in ("conversation", "item_reference")  # as the service has it
        assert answer.status == (404 if is_missing else 400)
        assert (name if name != "item_reference" else "input") in answer.body.decode()
        assert world.upstream.requests == []

    anyio.run(run)


# -- envelopes that nobody made ------------------------------------------------------------------


@pytest.mark.parametrize("keyed", [False, True], ids=["keyless", "keyed"])
@pytest.mark.parametrize("accepts", ["local", "never", "always"])
@pytest.mark.parametrize("back", ["opus", "gemini"])
def test_a_plain_envelope_counts_only_where_it_is_allowed(keyed, accepts, back):
    """Anybody can write one; without keys, the only client is the user, who has old histories."""
    forged = "Rm9yZ2Vk" * 12
    provider, model = BACKS[back].split(":")
    dialect = {"opus": "anthropic", "gemini": "gemini"}[back]
    seal = {"dialect": dialect, "value": forged, "model": model, "route": provider}
    entry = {"is": "thinking", "at": 0, "seal": seal, "text": "Hm."}
    envelope = {
        "origin": {"provider": provider, "model": model},
        "answer": "0123456789ab",
        "entries": [entry],
    }
    deflate = zlib.compressobj(6, wbits=-15)
    data = deflate.compress(json.dumps(envelope).encode()) + deflate.flush()
    text = b64encode(b"pndEv1" + data).decode()
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": text}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hello"}]},
        {"role": "user", "content": "Go on."},
    ]
    body = {"model": "m", "max_tokens": 4000, "messages": messages}

    async def run() -> list[bytes]:
        world = World()
        config = GatewayConfig(
            server=ServerConfig(accept_plain_envelopes=accepts),
            routes=(GatewayRoute("m", (BACKS[back],), retries=0),),
            keys=world.keys[:1] if keyed else (),
        )
        world.gate.reconfigure(config)
        headers = {"content-type": "application/json", "x-api-key": "key-a"}
        http = HttpRequest("POST", "http://g/v1/messages", headers, json.dumps(body).encode())
        await came(world.app, http)
        return world.upstream.requests

    arrived = anyio.run(run)[0]
    assert b"cG5kRXY" not in arrived
    assert (forged.encode() in arrived) == (
        accepts == "always" or (accepts == "local" and not keyed)
    )


@pytest.mark.parametrize("before", [" ", "\n", "\ufeff", '"', "data:;base64,", "QUJD"])
@pytest.mark.parametrize("mark", [b"pndEv1", b"pndEv2"])
def test_an_envelope_after_anything_else_is_no_signature(before, mark):
    text = before + b64encode(mark + bytes(range(90))).decode()
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": text}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hello"}]},
        {"role": "user", "content": "Go on."},
    ]
    body = {"model": "m", "max_tokens": 4000, "messages": messages}

    async def run() -> list[bytes]:
        world = World()
        routes = (GatewayRoute("m", (BACKS["opus"],), retries=0),)
        world.gate.reconfigure(GatewayConfig(routes=routes))
        headers = {"content-type": "application/json", "x-api-key": "key-a"}
        http = HttpRequest("POST", "http://g/v1/messages", headers, json.dumps(body).encode())
        await came(world.app, http)
        return world.upstream.requests

    assert b"cG5kRXY" not in anyio.run(run)[0]


@pytest.mark.parametrize("back", ["deepseek", "opus"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_client_cannot_ask_for_thinking_that_a_route_hides(back, stream):
    """DeepSeek shows it whatever it is asked for, and speaks the client's API."""

    async def run() -> Came:
        world = World()
        world.serve(back, thief=False, show="none")
        world.upstream.emulator.expect(ScriptedTurn(thinking=(HIDDEN,), text="Seven."))
        messages = [{"role": "user", "content": "Hi"}]
        body = {"model": "m", "messages": messages, "stream": stream, "reasoning_effort": "high"}
        headers = {"x-api-key": "key-a", "x-pondero-show": "both"}
        data = json.dumps(body).encode()
        return await came(
            world.app, HttpRequest("POST", "http://g/v1/chat/completions", headers, data)
        )

    answer = anyio.run(run)
    assert answer.status == 200
    shown = "".join(word for each in documents(answer.body) for word in leaves(each))
    assert "Seven." in shown
    assert "clouds" not in shown

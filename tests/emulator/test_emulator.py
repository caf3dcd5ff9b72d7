"""The emulator as a transport: where requests go, what is logged, with and without asyncio."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.emulator.talking import MODELS, encoded, said, talk
from tests.laws.wire import wire
from tests.plans import plan

from pondero.canon import HttpRequest, Request
from pondero.client import load_catalog
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator, home_providers
from pondero.emulator.routes import find_route
from pondero.errors import AuthFailed, NotFound, PermissionDenied, Timeout
from pondero.exchange import AsyncTransport, Timeouts, Transport

each_wire = pytest.mark.parametrize("model", MODELS)


def url_of(name: str, base: str) -> str:
    """Return where a dialect's caller sends a request, at a deployment with this address."""
    row = wire(name)
    target = msgspec.structs.replace(row.target, url=base)
    request = Request(row.model, (said("Hello"),), max_tokens=64)
    return get_dialect(name).caller().encode(request, plan(name, {}), target).url


def path_of(name: str) -> str:
    """Return the path of a dialect's requests, as its home provider has it."""
    home = load_catalog().catalog.providers[get_dialect(name).service().default_provider]
    return urlsplit(url_of(name, home.url)).path


def without_key(request: HttpRequest) -> HttpRequest:
    keys = ("authorization", "x-api-key", "x-goog-api-key")
    kept = {name: value for name, value in request.headers.items() if name not in keys}
    return msgspec.structs.replace(request, headers=kept)


def test_it_is_a_transport_with_and_without_asyncio() -> None:
    emulator = Emulator()
    one: Transport = emulator
    other: AsyncTransport = emulator
    assert isinstance(one, Emulator)
    assert isinstance(other, Emulator)


@each_wire
def test_for_asyncio_it_gives_the_same_bytes(model):
    request = encoded(model, "high", "What is 17 * 23?")

    async def main() -> bytes:
        emulator = Emulator()
        answer = await emulator.send(request, Timeouts())
        data = b"".join([piece async for piece in answer])
        await answer.aclose()
        await emulator.aclose()
        return data

    assert asyncio.run(main()) == b"".join(Emulator().send(request))


def test_a_thousand_streams_side_by_side_are_all_whole():
    requests = [encoded(model, "low", "What is 17 * 23?") for model in MODELS]
    expected = [b"".join(Emulator().send(request)) for request in requests]

    async def one(emulator: Emulator, request: HttpRequest) -> bytes:
        return b"".join([piece async for piece in await emulator.send(request, Timeouts())])

    async def main() -> list[bytes]:
        emulator = Emulator()
        turns = (requests[n % len(requests)] for n in range(1_000))
        return await asyncio.gather(*(one(emulator, request) for request in turns))

    assert asyncio.run(main()) == [expected[n % len(expected)] for n in range(1_000)]


def test_a_script_shared_by_threads_loses_and_doubles_nothing():
    emulator = Emulator(script=[str(n) for n in range(100)])
    request = encoded(MODELS[0], None, "x", stream=False)
    with ThreadPoolExecutor(8) as pool:
        bodies = list(pool.map(lambda _: b"".join(emulator.send(request)), range(100)))
    texts = [msgspec.json.decode(body)["content"][0]["text"] for body in bodies]
    assert sorted(texts, key=int) == [str(n) for n in range(100)]


# -- where a request goes ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_path_says_which_wire_and_nobody_in_particular_is_the_first_of_it(name):
    found = find_route(f"http://127.0.0.1:9100{path_of(name)}")
    assert found is not None
    assert name == found.wire.name
    assert found.provider == get_dialect(name).service().default_provider


def test_the_wires_do_not_quarrel_over_a_path():
    for name in NAMES:
        path = path_of(name)
        serving = [each for each in NAMES if get_dialect(each).service().matches_path(path)]
        assert serving == [name]


def test_every_provider_is_found_by_where_it_lives_and_by_name():
    catalog = load_catalog().catalog
    shared = {"azure", "azure-chat", "compatible", "vllm"}  # one address, two providers
    for provider in catalog.providers.values():
        if provider.dialect not in NAMES or "{" in provider.url or provider.name in shared:
            continue
        there = find_route(url_of(provider.dialect, provider.url))
        assert there is not None
        assert (there.wire.name, there.provider) == (provider.dialect, provider.name)
        named = find_route(f"http://127.0.0.1:9100/{provider.name}{path_of(provider.dialect)}")
        assert named is not None
        assert named.provider == provider.name


# The vendors' pages: which hosts serve an API that is not their own, where, and with which model.
GUESTS = [
    ("openai_responses", "groq", "https://api.groq.com/openai/v1/responses", "openai/gpt-oss-120b"),
    ("openai_responses", "mistral", "https://api.mistral.ai/v1/responses", "mistral-small-latest"),
    ("openai_responses", "deepseek", "https://api.deepseek.com/responses", "deepseek-v4-pro"),
    ("openai_responses", "openrouter", "https://openrouter.ai/api/v1/responses", "z-ai/glm-5.2"),
    ("openai_responses", "ollama", "http://localhost:11434/v1/responses", "qwen3:4b"),
    ("openai_responses", "xai-responses", "http://h/xai/v1/responses", "grok-4.6"),
    ("openai_responses", "groq", "http://h/groq/openai/v1/responses", "llama-3.3-70b-versatile"),
    ("anthropic", "openrouter", "https://openrouter.ai/api/v1/messages", "openai/gpt-5"),
    ("anthropic", "openrouter", "http://h/openrouter/api/v1/messages", "anthropic/claude-opus-5"),
    ("anthropic", "ollama", "http://h/ollama/v1/messages", "qwen3:4b"),
    ("openai_chat", "ollama", "http://localhost:11434/v1/chat/completions", "qwen3:4b"),
    ("openai_chat", "ollama", "http://h/ollama/v1/chat/completions", "llama3.2"),
]


@pytest.mark.parametrize(("name", "provider", "url", "model"), GUESTS)
def test_a_host_of_another_api_answers_with_its_own_models(name, provider, url, model):
    route = find_route(url)
    assert route is not None
    assert (route.wire.name, route.provider) == (name, provider)
    said = [{"role": "user", "content": "hi"}]
    fields = {"input": said} if name == "openai_responses" else {"messages": said, "max_tokens": 64}
    body = msgspec.json.encode({"model": model, **fields})
    key = {} if provider == "ollama" else {"authorization": "Bearer key"}
    assert Emulator().send(HttpRequest("POST", url, key, body)).head.status == 200


def test_a_deployment_with_a_name_in_its_address_is_found():
    found = find_route("https://mine.openai.azure.com/openai/v1/responses")
    assert found is not None
    assert found.provider == "azure"


def test_the_deployment_can_be_said():
    found = find_route("http://localhost/v1/chat/completions", provider="groq")
    assert found is not None
    assert found.provider == "groq"


def test_there_is_a_house_for_every_wire():
    assert [house.dialect for house in home_providers()] == list(NAMES)


def test_an_address_of_no_service_is_not_found():
    answer = Emulator().send(HttpRequest("GET", "http://x/v1/nothing", {}))
    assert answer.head.status == 404
    assert b"/v1/nothing" in b"".join(answer)


# -- the services' own refusals ----------------------------------------------------------------


@each_wire
def test_without_a_key_the_service_says_so(model):
    answer = Emulator().send(without_key(encoded(model, None, "x")))
    wire = get_dialect(load_catalog().entry(model).provider.dialect)
    error = wire.caller().error(answer.head, b"".join(answer))
    assert isinstance(error, AuthFailed | PermissionDenied)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("anthropic:claude-nobody", NotFound),
        ("openai:gpt-nobody", NotFound),
        ("openai-chat:gpt-nobody", NotFound),
        ("google:nobody", NotFound),
    ],
)
def test_an_unknown_model_is_refused_as_the_service_does_it(model, kind):
    with pytest.raises(kind, match="nobody"):
        talk(Emulator(), model, None, "x", max_tokens=99)


# -- the log -----------------------------------------------------------------------------------


@each_wire
def test_the_log_tells_what_was_asked_and_what_came_of_it(model):
    emulator = Emulator()
    talk(emulator, model, "low", "What is 2 + 2?")
    (entry,) = emulator.log.entries
    assert entry.method == "POST"
    assert entry.status == 200
    assert entry.end == "complete"
    assert entry.sent > 0
    assert "2 + 2" in str(entry.body)
    assert entry.model == load_catalog().entry(model).model


def test_the_log_holds_no_key_wherever_it_stood():
    secret = "sk-very-secret-indeed"
    request = HttpRequest(
        "POST",
        f"https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?key={secret}&a=1",
        {"authorization": f"Bearer {secret}", "x-api-key": secret, "accept": "*/*"},
        msgspec.json.encode({"note": f"my key is {secret}"}),
    )
    emulator = Emulator()
    emulator.send(request)
    (entry,) = emulator.log.entries
    assert secret not in str(msgspec.to_builtins(entry))
    assert entry.headers["accept"] == "*/*"
    assert entry.path.endswith("&a=1")


def test_a_key_that_is_a_word_leaves_the_words_of_a_body_alone():
    said = msgspec.json.encode({"messages": "many words, if any"})
    emulator = Emulator()
    emulator.send(HttpRequest("POST", "https://x/v1/messages", {"x-api-key": "any"}, said))
    (entry,) = emulator.log.entries
    assert (entry.headers["x-api-key"], entry.body["messages"]) == ("***", "many words, if any")


def test_the_log_tells_of_refusals_and_of_answers_not_read_to_the_end():
    emulator = Emulator(faults=[None, "hang"])
    emulator.send(HttpRequest("POST", "https://api.anthropic.com/v1/messages", {}))
    answer = emulator.send(encoded(MODELS[0], "low", "x"))
    next(iter(answer))
    answer.close()
    answer.close()
    with pytest.raises(Timeout):
        emulator.send(encoded(MODELS[0], "low", "x"))
    refused, closed, hung = emulator.log.entries
    assert refused.status == 401
    assert refused.refusal["error"]["type"] == "authentication_error"
    assert closed.end == "closed"
    assert (hung.end, hung.fault) == ("timed out", "hang")
    assert list(answer) == []


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", ["gpt-6-sol", "openai-chat:gpt-5"])
def test_a_refusal_is_said_where_the_wire_has_a_place_for_it(model, stream):
    question = "[emulator: refuse] Tell me."
    got = talk(Emulator(), model, "low", question, stream=stream)
    assert got.text == "I cannot help with that."
    assert got.end.finish == "refusal"
    data = b"".join(Emulator().send(encoded(model, "low", question, stream=stream)))
    assert b'"content":"I cannot' not in data
    assert b"output_text.delta" not in data


@pytest.mark.parametrize(
    ("model", "level"),
    [
        (entry.id, entry.capability.default)
        for name in NAMES
        for entry in {
            e.family: e
            for e in load_catalog().entries(get_dialect(name).service().default_provider)
        }.values()
        if entry.capability.default in ("minimal", "low", "medium", "high", "xhigh", "max")
    ],
)
def test_thinking_that_nobody_asked_for_is_at_the_models_stated_default(model, level):
    """Of a level that the wire can also be asked for, as much comes unasked."""
    unasked = talk(Emulator(), model, None, "Tell me about owls.").end.usage.thinking
    asked = talk(Emulator(), model, level, "Tell me about owls.").end.usage.thinking
    assert unasked == asked


def test_gemini_counts_thoughts_and_words_before_the_end_of_a_stream():
    request = encoded("gemini-3-flash-preview", "high", "Tell me about owls.")
    frames = b"".join(Emulator().send(request)).split(b"\r\n\r\n")[:-1]
    chunks = [msgspec.json.decode(frame.removeprefix(b"data: ")) for frame in frames]
    spoken = [c for c in chunks if "thought" not in c["candidates"][0]["content"]["parts"][0]]
    thought = [c for c in chunks if c not in spoken]
    assert thought
    assert all("thoughtsTokenCount" not in chunk["usageMetadata"] for chunk in thought[:-1])
    assert len(spoken) > 2
    for chunk in spoken:
        assert chunk["usageMetadata"]["thoughtsTokenCount"] > 0
        assert chunk["usageMetadata"]["candidatesTokenCount"] > 0


@pytest.mark.parametrize("question", ["Hello.", "[emulator: signature-only] Hello."])
def test_gemini_3_signs_an_answer_without_a_call(question):
    got = talk(Emulator(), "gemini-3-flash-preview", "high", question)
    assert got.message.parts[-1].text == ""
    assert got.message.parts[-1].signature is not None
    again = talk(Emulator(), "gemini-3-flash-preview", "high", question, got.message, "And?")
    assert again.end.finish == "stop"


@pytest.mark.parametrize("base", ["http://emulator/deepseek", "https://api.deepseek.com"])
def test_deepseek_answers_on_its_anthropic_address(base):
    body = {
        "model": "deepseek-v4-flash",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "What is 17 * 23?"}],
    }
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}

    def asked(url: str, **fields: object) -> tuple[int, bytes]:
        data = msgspec.json.encode(body | fields)
        answer = Emulator().send(HttpRequest("POST", url, headers, data))
        return answer.head.status, b"".join(answer)

    status, said = asked(f"{base}/anthropic/v1/messages")
    assert (status, b"391" in said, b'"thinking"' in said) == (200, True, True)
    off = asked(f"{base}/anthropic/v1/messages", thinking={"type": "disabled"})
    assert (off[0], b'"thinking"' in off[1]) == (200, False)
    assert asked(f"{base}/anthropic/v1/messages", model="claude-opus-5")[0] == 200
    assert asked(f"{base}/anthropic/v1/messages", model="gpt-4o")[0] == 400
    assert asked("http://emulator/v1/messages")[0] == 404

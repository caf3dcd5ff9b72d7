"""Lists of models: each vendor's own SDK reads ours, with names that are no vendor's."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import anthropic
import cohere
import ollama
import openai
import pytest
from cohere.core.api_error import ApiError
from google import genai
from google.genai import errors as genai_errors
from msgspec.structs import replace

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway import hash_key, make_key, run_gateway_in_thread
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    ServerConfig,
)
from pondero.gateway.config.routing import Routing
from pondero.gateway.requests.model_list import answer_model_list
from pondero.store import load_catalog

OPUS = GatewayRoute("opus", ("anthropic:claude-opus-5",))
FLASH = GatewayRoute("team/flash", ("google:gemini-3-flash-preview",))
SWITCH = GatewayRoute("switch", ("deepseek:deepseek-v4-flash",))
PLAIN = GatewayRoute("plain", ("openai:gpt-4.1",))
REST = GatewayRoute("*", ("google:gemini-3-flash-preview",))
NAMES = ["opus", "team/flash", "switch", "plain"]
ROUTING = Routing(GatewayConfig(routes=(OPUS, FLASH, SWITCH, PLAIN)), load_catalog())
ANYTHING = Routing(GatewayConfig(routes=(OPUS, REST)), load_catalog())


class _Handler(BaseHTTPRequestHandler):
    def _answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        url = f"http://{headers['host']}{self.path}"
        response = answer_model_list(HttpRequest(self.command, url, headers, body), ROUTING)
        assert response is not None
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)

    do_GET = do_POST = _answer  # noqa: N815 - the names that http.server calls

    def log_message(self, *_):
        pass


@contextmanager
def _serving():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def url():
    with _serving() as url:
        yield url


@pytest.mark.judge
def test_anthropics_sdk_reads_pages_and_one_model(url):
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        assert [each.id for each in client.models.list(limit=2)] == NAMES, "page after page"
        one = client.models.retrieve("opus")
        with pytest.raises(anthropic.NotFoundError, match="did you mean 'opus'"):
            client.models.retrieve("opsu")

    facts = load_catalog().entry("claude-opus-5").capability
    assert (one.id, one.type) == ("opus", "model")
    assert (one.max_input_tokens, one.max_tokens) == (facts.context, facts.max_output)
    assert one.capabilities.thinking.supported
    assert one.capabilities.effort.high.supported


@pytest.mark.judge
def test_openais_sdk_reads_the_list_and_one_model(url):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        assert [each.id for each in client.models.list()] == NAMES
        assert client.models.retrieve("team/flash").owned_by == "google"
        with pytest.raises(openai.NotFoundError, match="did you mean 'opus'") as caught:
            client.models.retrieve("opsu")
    assert caught.value.code == "model_not_found"


@pytest.mark.judge
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_googles_sdk_reads_the_list_and_one_model(url):
    client = genai.Client(api_key="k", http_options={"base_url": url})

    assert [each.name for each in client.models.list()] == [f"models/{each}" for each in NAMES]
    one = client.models.get(model="opus")
    assert one.output_token_limit == load_catalog().entry("claude-opus-5").capability.max_output
    assert "generateContent" in one.supported_actions
    with pytest.raises(genai_errors.ClientError, match="did you mean 'opus'") as caught:
        client.models.get(model="opsu")
    assert caught.value.code == 404


@pytest.mark.judge
def test_ollamas_client_reads_the_list_and_what_a_model_can_do(url):
    client = ollama.Client(host=url)

    assert [each.model for each in client.list().models] == NAMES
    assert client.show("opus").capabilities == ["completion", "tools", "vision", "thinking"]
    assert client.show("plain").capabilities == ["completion", "tools", "vision"]
    with pytest.raises(ollama.ResponseError, match="did you mean 'opus'") as caught:
        client.show("opsu")
    assert caught.value.status_code == 404


@pytest.mark.judge
def test_coheres_client_reads_the_list_and_one_model(url):
    client = cohere.ClientV2(api_key="k", base_url=url)

    assert [each.name for each in client.models.list().models] == NAMES
    assert client.models.get("opus").endpoints == ["chat"]
    with pytest.raises(ApiError) as caught:
        client.models.get("opsu")
    assert caught.value.status_code == 404


def ask(path: str, routing=ROUTING, method="GET", body=b"", key=None, group=None, **headers):
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer_model_list(
        HttpRequest(method, f"http://127.0.0.1:8787{path}", sent, body), routing, key, group=group
    )


def test_codex_gets_the_levels_of_each_model_and_a_tag_of_the_list():
    response = ask("/v1/models?client_version=0.166.0", authorization="Bearer k")
    models = {each["slug"]: each for each in json.loads(response.body)["models"]}

    assert list(models) == NAMES
    assert [each["priority"] for each in models.values()] == [0, 1, 2, 3]
    for name, model in models.items():
        entry = ROUTING.resolve(name).entries[0]
        efforts = [each["effort"] for each in model["supported_reasoning_levels"]]
        assert ("none" in efforts) == (entry.capability.off and entry.capability.thinks)
        if entry.capability.levels and entry.capability.levels != ("on",):
            assert [each for each in efforts if each != "none"] == list(entry.capability.levels)
        assert model["default_reasoning_level"] in (*efforts, None)
        assert model["context_window"] == (entry.capability.context or 128_000)
    assert models["plain"]["supported_reasoning_levels"] == []
    assert models["plain"]["default_reasoning_level"] is None

    tag = response.headers["etag"]
    assert ask("/v1/models?client_version=0.200.0").headers["etag"] == tag
    assert ask("/v1/models?client_version=1", ANYTHING).headers["etag"] != tag


@pytest.mark.parametrize(
    ("rules", "default"),
    [
        (LevelRules(), "high"),
        (LevelRules(default="low"), "low"),
        (LevelRules(default="off"), "none"),
        (LevelRules(force="medium"), "medium"),
        (LevelRules(default="max", cap="medium"), "medium"),
        (LevelRules(default="auto:nobody-made-it"), "medium"),
    ],
)
@pytest.mark.parametrize("holder", ["route", "key"])
def test_codex_asks_by_itself_for_the_level_that_the_rules_give(rules, default, holder):
    route = replace(OPUS, thinking=rules) if holder == "route" else OPUS
    key = GatewayKey("ci", "hash", thinking=rules) if holder == "key" else None
    routing = Routing(GatewayConfig(routes=(route,)), load_catalog())
    (model,) = json.loads(ask("/v1/models?client_version=0", routing, key=key).body)["models"]
    assert model["default_reasoning_level"] == default


@pytest.mark.parametrize(
    ("rules", "levels"),
    [
        (LevelRules(), "none low medium high xhigh max"),
        (LevelRules(default="low"), "none low medium high xhigh max"),
        (LevelRules(cap="high"), "none low medium high"),
        (LevelRules(floor="medium", cap="high"), "medium high"),
        (LevelRules(force="medium"), "medium"),
        (LevelRules(cap="off"), ""),
    ],
)
@pytest.mark.parametrize("holder", ["route", "group", "key"])
def test_the_list_has_only_levels_that_the_rules_allow(rules, levels, holder):
    """A user who picks one of the others would get less, and few clients show the header."""
    route = replace(OPUS, thinking=rules) if holder == "route" else OPUS
    group = GatewayGroup("research", thinking=rules if holder == "group" else LevelRules())
    own = rules if holder == "key" else LevelRules()
    key = GatewayKey("ci", "hash", thinking=own, group="research")
    routing = Routing(GatewayConfig(routes=(route,), groups=(group,)), load_catalog())

    response = ask("/v1/models?client_version=0", routing, key=key, group=group)
    (model,) = json.loads(response.body)["models"]
    assert [each["effort"] for each in model["supported_reasoning_levels"]] == levels.split()
    assert model["default_reasoning_level"] in (levels.split() or [None])

    response = ask("/v1/models", routing, key=key, group=group, x_api_key="k")
    (model,) = json.loads(response.body)["data"]
    effort = model["capabilities"]["effort"]
    offered = {name for name in effort if name != "supported" and effort[name]["supported"]}
    assert offered == set(levels.split()) - {"none"}


@pytest.mark.parametrize("rules", [LevelRules(cap="off"), LevelRules(floor="max")])
def test_a_model_that_cannot_keep_a_rule_has_the_level_that_it_gets(rules):
    route = replace(FLASH, thinking=rules)
    routing = Routing(GatewayConfig(routes=(route,)), load_catalog())
    (model,) = json.loads(ask("/v1/models?client_version=0", routing).body)["models"]

    (level,) = model["supported_reasoning_levels"]
    assert model["default_reasoning_level"] == level["effort"]


@pytest.mark.parametrize(
    ("path", "headers", "member"),
    [
        ("/v1/models", {"authorization": "Bearer k"}, "object"),
        ("/v1/models", {"x_api_key": "k"}, "has_more"),
        ("/v1/models", {"authorization": "Bearer k", "anthropic_version": "1"}, "has_more"),
        ("/v1/models", {"x_goog_api_key": "k"}, "models"),
        ("/v1/models?key=k", {}, "models"),
        ("/v1beta/models", {"authorization": "Bearer k"}, "models"),
        ("/models", {}, "object"),
        ("/api/tags", {}, "models"),
        ("/api/version", {}, "version"),
    ],
)
def test_the_list_comes_in_the_shape_of_who_asks(path, headers, member):
    assert member in json.loads(ask(path, **headers).body)


def test_a_name_that_only_a_glob_matches_is_found_and_not_listed():
    listed_ids = [each["id"] for each in json.loads(ask("/v1/models", ANYTHING).body)["data"]]
    found = ask("/v1/models/whatever%2Fthey%20say", ANYTHING)

    assert listed_ids == ["opus"]
    assert json.loads(found.body)["id"] == "whatever/they say"


def test_a_key_sees_only_its_own_models():
    key = GatewayKey("ci", "", models=("opus", "team/*"))
    ids = [each["id"] for each in json.loads(ask("/v1/models", key=key).body)["data"]]

    assert ids == ["opus", "team/flash"]
    assert ask("/v1/models/plain", key=key).status == 404
    assert ask("/v1/models/opus", key=key).status == 200


@pytest.mark.parametrize("path", ["/", "/v1/messages", "/v1/chat/completions", "/api/chat"])
def test_other_addresses_are_no_list(path):
    assert ask(path, x_api_key="k") is None
    assert ask(path, method="POST") is None


@pytest.mark.judge
def test_a_gateway_with_keys_lists_to_each_its_own():
    shown = make_key()
    key = GatewayKey("ci", hash_key(shown), models=("opus",))
    config = GatewayConfig(server=ServerConfig(port=0), routes=(OPUS, FLASH), keys=(key,))
    with run_gateway_in_thread(config, transport=Emulator()) as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key=shown, max_retries=0) as client:
            assert [each.id for each in client.models.list()] == ["opus"]
        with (
            anthropic.Anthropic(base_url=url, api_key="another", max_retries=0) as client,
            pytest.raises(anthropic.AuthenticationError),
        ):
            client.models.list()

"""A cap does not fail open: a model of which nothing is known is not asked under one."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned
from tests.gateway.recorder import Recorder

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, LevelRules
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.store import load_catalog

PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
USER = {"role": "user", "content": "Hi"}
BLOCKS = {"role": "user", "content": [{"text": "Hi"}]}
ADAPTIVE = {"thinking": {"type": "adaptive"}}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    f"bedrock:{PROFILE}": (
        "/model/x/converse",
        "",
        {"messages": [BLOCKS], "additionalModelRequestFields": ADAPTIVE},
    ),
    "anthropic:opus-5": (
        "/v1/messages",
        "opus-5",
        {"max_tokens": 9000, "messages": [USER], **ADAPTIVE},
    ),
    "openai:deepthink": ("/v1/responses", "deepthink", {"input": "Hi"}),
    "cohere:own": ("/v2/chat", "own", {"messages": [USER]}),
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-providers-key-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-providers-key-0123456789")


def ask(target: str, service: Any, *to: str, rules: LevelRules) -> Came:
    path, name, body = CASES[target]
    route = GatewayRoute(match="*", to=to or (target,), thinking=rules, retries=0)
    app = App(GatewayContext(GatewayConfig(routes=(route,)), service))
    sent = json.dumps(body | ({"model": name} if name else {})).encode()
    headers = {"content-type": "application/json", "x-api-key": "k"}
    return anyio.run(came, app, HttpRequest("POST", f"http://gate{path}", headers, sent))


@pytest.mark.parametrize("target", CASES)
@pytest.mark.parametrize(
    "rules", [LevelRules(cap="low"), LevelRules(floor="high"), LevelRules(force="medium")]
)
def test_it_is_refused_and_the_operator_reads_what_to_do(target, rules):
    recorder = Recorder()
    answer = ask(target, recorder, rules=rules)
    assert answer.status == 403, answer.body
    assert b"models.toml" in answer.body
    assert recorder.bodies == []


def test_another_model_of_the_route_answers():
    recorder = Recorder()
    to = ("openai:deepthink", "openai:gpt-5.5")
    ask("openai:deepthink", recorder, *to, rules=LevelRules(cap="low"))
    assert json.loads(recorder.bodies[0])["model"] == "gpt-5.5"


def test_a_declared_model_is_asked_with_the_cap(request, tmp_path, monkeypatch):
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))
    declared = (
        '[[model]]\nprovider = "bedrock"\nmatch = ["*inference-profile/abc"]\n'
        'like = "claude-opus-5"\n'
    )
    (tmp_path / "models.toml").write_text(declared, encoding="utf-8")
    recorder = Recorder()
    load_catalog.cache_clear()
    request.addfinalizer(load_catalog.cache_clear)
    answer = ask(f"bedrock:{PROFILE}", recorder, rules=LevelRules(cap="low"))
    assert recorder.bodies, answer.body
    fields = json.loads(recorder.bodies[0])["additionalModelRequestFields"]
    assert fields["output_config"] == {"effort": "low"}


ANSWER = {
    "id": "resp_1",
    "object": "response",
    "model": "deepthink",
    "status": "completed",
    "output": [],
    "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
}


@pytest.mark.parametrize("rules", [LevelRules(default="low"), LevelRules()])
def test_no_header_claims_a_level_that_was_not_sent(rules):
    service = Canned([json.dumps(ANSWER).encode()], content_type="application/json")
    answer = ask("openai:deepthink", service, rules=rules)
    assert answer.status == 200, answer.body
    assert b"low" not in service.requests[0]
    assert "sent=nothing" in answer.headers["x-pondero-thinking"]

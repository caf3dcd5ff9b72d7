"""Spans and metrics as the SDK receives them, held against OpenTelemetry's conventions.

gen_ai_conventions.toml has the registry as data; its names are compared with the SDK's package.
"""

import inspect
import re

import pytest
from tests.client.tracing.programs import CAPTURE, DEEDS

from pondero.store import load_catalog

pytest.importorskip("opentelemetry.sdk")
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes, openai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from tests.client.tracing.judge import CONVENTIONS, find_faults

pytestmark = pytest.mark.judge


@pytest.mark.parametrize("content", [False, True], ids=["quiet", "content"])
@pytest.mark.parametrize("deed", DEEDS)
def test_every_span_follows_the_conventions(deed, content, observed, monkeypatch):
    if content:
        monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    DEEDS[deed]()
    assert observed.spans
    assert [(s.name, find_faults(s, content=content)) for s in observed.spans] == [
        (s.name, []) for s in observed.spans
    ]
    chats = [s for s in observed.spans if s.attributes["gen_ai.operation.name"] == "chat"]
    assert len(observed.events) == (len(chats) if content else 0)


@pytest.mark.parametrize("deed", DEEDS)
def test_every_metric_follows_the_conventions(deed, observed):
    DEEDS[deed]()
    assert "gen_ai.client.operation.duration" in observed.metrics
    for name, metric in observed.metrics.items():
        rules = CONVENTIONS["metrics"][name]
        assert metric.unit == rules["unit"]
        for point in metric.data.data_points:
            assert list(point.explicit_bounds) == rules["boundaries"]
            assert set(rules["required"]) <= set(point.attributes)
            assert set(point.attributes) <= {*rules["required"], *rules["others"]}


# What no exchange of ours has: an agent's name and a chat's id are not in our vocabulary, Responses
# has conversations (a test of their own is below), and the fingerprint is not read from answers.
_NEVER = {
    ("chat", "gen_ai.conversation.id"),
    ("chat", "openai.response.system_fingerprint"),
    ("invoke_agent", "gen_ai.agent.name"),
    ("invoke_agent", "gen_ai.conversation.id"),
}


def test_every_attribute_of_the_conventions_is_told_by_somebody(observed, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    for deed in DEEDS.values():
        deed()
    told = {
        (s.attributes["gen_ai.operation.name"], a) for s in observed.spans for a in s.attributes
    }
    rows = {
        (kind, row["name"]) for kind, r in CONVENTIONS["spans"].items() for row in r["attributes"]
    }
    assert rows - told == _NEVER
    assert set(observed.metrics) == set(CONVENTIONS["metrics"])


def _constants(module):
    """Return the names of a module of the package, each with its deprecation note."""
    found = re.findall(
        r'^[A-Z_]+: Final = (?:\(\s*)?"(.*?)"\s*\)?\n"""\n(.*?)\n',
        inspect.getsource(module),
        re.MULTILINE,
    )
    return dict(found)


def test_our_table_has_the_names_of_their_package():
    names = {**_constants(gen_ai_attributes), **_constants(openai_attributes)}
    assert len(names) > 50
    gone = {n for n, why in names.items() if re.match(r"Deprecated: (Replaced|Removed)", why)}
    assert {"gen_ai.system", "gen_ai.prompt", "gen_ai.usage.prompt_tokens"} <= gone
    rows = [row for rules in CONVENTIONS["spans"].values() for row in rules["attributes"]]
    ours = {row["name"] for row in rows if row["name"].startswith(("gen_ai.", "openai."))}
    younger = {row["name"] for row in rows if row.get("since") == "genai"}
    assert not ours & gone
    assert ours - set(names) <= younger
    assert set(CONVENTIONS["metrics"]) <= set(_constants(gen_ai_metrics))


# The providers that the conventions name and the catalog has, by their hosts.
_HOSTS = {
    "api.anthropic.com": "anthropic",
    "api.cohere.com": "cohere",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.openai.com": "openai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "bedrock-runtime.": "aws.bedrock",
    "generativelanguage.googleapis.com": "gcp.gemini",
    ".openai.azure.com": "azure.ai.openai",
}


def test_a_provider_has_the_name_of_the_conventions():
    theirs = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
    assert set(_HOSTS.values()) <= theirs
    assert {
        load_catalog().telemetry_name("vertex"),
        load_catalog().telemetry_name("vertex-anthropic"),
    } == {"gcp.vertex_ai"}
    providers = {entry.provider.name: entry.provider for entry in load_catalog().entries()}
    checked = set()
    for name, provider in providers.items():
        for host in (host for host in _HOSTS if host in provider.url):
            assert load_catalog().telemetry_name(name) == _HOSTS[host], name
            checked.add(host)
    assert checked == set(_HOSTS)

"""From entry, plan and key to the request that is sent."""

import msgspec
import pytest
from msgspec.structs import replace

from pondero.canon import Message, OutputFormat, Request, Text, Tool, ToolChoice
from pondero.client import load_catalog
from pondero.dialects import NAMES
from pondero.exchange import compose, make_destination, plan
from pondero.thinking import Policy, RequestParameters, parse_intent

KEY = "sk-very-secret"
ONE_OF_EACH = (
    "claude-opus-5",
    "gpt-5.1",
    "deepseek:deepseek-v4-flash",
    "gemini-3-flash-preview",
    "bedrock:anthropic.claude-opus-4-5-20251101-v1:0",
    "cohere:command-a-reasoning-08-2025",
    "ollama:qwen3",
    "google-interactions:gemini-3-flash-preview",
)


def composed(model, key=KEY, level=None, asked=None, **fields):
    entry = load_catalog().entry(model)
    made = plan(entry, parse_intent(level), asked=asked or RequestParameters(), policy=Policy())
    request = Request(entry.model, (Message("user", (Text("hi"),)),), **fields)
    return compose(entry, request, made, url=entry.provider.url, key=key, at=12.5)


@pytest.mark.parametrize(
    ("model", "header", "value"),
    [
        ("gpt-5.1", "authorization", f"Bearer {KEY}"),
        ("claude-opus-5", "x-api-key", KEY),
        ("gemini-3-flash-preview", "x-goog-api-key", KEY),
        ("azure:gpt-5.1", "api-key", KEY),
        ("llamacpp:any", "authorization", f"Bearer {KEY}"),
    ],
)
def test_each_provider_gets_its_key_where_it_looks_for_it(model, header, value):
    assert composed(model).http.headers[header] == value


def test_without_a_key_nothing_is_said_of_one():
    assert "authorization" not in composed("llamacpp:any", key=None).http.headers


def test_a_key_is_in_no_repr():
    made = composed("gpt-5.1")
    assert KEY not in repr(made)
    assert KEY not in str(made.http.__rich_repr__())


def test_the_origin_says_who_at_which_level_and_when():
    origin = composed("claude-opus-5", level="low").origin
    assert (origin.provider, origin.model, origin.level, origin.at) == ("anthropic", "claude-opus-5", "low", 12.5)  # fmt: skip


def test_what_the_plan_drops_is_not_sent():
    made = composed(
        "claude-opus-5", level="low", asked=RequestParameters(temperature=0.2), temperature=0.2
    )
    assert "temperature" not in msgspec.json.decode(made.http.body)


def test_stop_sequences_where_the_wire_has_none_are_dropped_and_recorded():
    made = composed("gpt-5.1", stop=("END",))
    assert b"END" not in made.http.body
    assert [note.what for note in made.plan.adjustments] == ["stop"]


def test_a_forced_tool_where_none_can_be_forced_is_left_to_the_model_and_recorded():
    forced = {"tools": (Tool("f"),), "tool_choice": ToolChoice("tool", "f")}
    made = composed("ollama:llama3.2", **forced)
    assert b"tool_choice" not in made.http.body
    assert [(note.code, note.what, note.asked) for note in made.plan.adjustments] == [
        ("dropped_parameter", "tool_choice", "f")
    ]


def test_a_shape_that_does_not_go_with_tools_is_dropped_beside_them_and_recorded():
    shaped = {"output": OutputFormat({"type": "object"})}
    assert b"response_format" in composed("cohere:command-a-03-2025", **shaped).http.body
    made = composed("cohere:command-a-03-2025", tools=(Tool("f"),), **shaped)
    assert b"response_format" not in made.http.body
    assert [note.what for note in made.plan.adjustments] == ["output"]


@pytest.mark.parametrize(("asked", "got"), [(1.0, 0.99), (0.0, 0.01), (0.5, 0.5)])
def test_a_parameter_outside_what_the_wire_takes_is_brought_inside_and_recorded(asked, got):
    made = composed("cohere:command-a-03-2025", asked=RequestParameters(top_p=asked), top_p=asked)
    assert msgspec.json.decode(made.http.body)["p"] == got
    codes = [note.code for note in made.plan.adjustments]
    assert codes == ([] if asked == got else ["parameter_clamped"])


def unkeyed(model, url):
    entry = load_catalog().entry(model)
    made = plan(entry, parse_intent(None), asked=RequestParameters(), policy=Policy())
    question = Request(entry.model, (Message("user", (Text("hi"),)),))
    return compose(entry, question, made, url=url)


def test_without_a_key_a_request_is_to_be_signed_for_the_region_of_its_address():
    url = "https://bedrock-runtime.eu-west-3.amazonaws.com"
    made = unkeyed("bedrock:eu.anthropic.claude-opus-5", url)
    assert "authorization" not in made.http.headers
    assert made.signing is not None
    assert (made.signing.service, made.signing.region) == ("bedrock", "eu-west-3")
    assert made.signing.keys == ("AWS_BEARER_TOKEN_BEDROCK",)


def test_an_address_of_ones_own_does_not_say_its_region():
    made = unkeyed("bedrock:eu.anthropic.claude-opus-5", "http://localhost:9")
    assert made.signing is not None
    assert made.signing.region is None


def test_where_there_is_nothing_to_sign_with_nothing_is_signed():
    assert unkeyed("llamacpp:qwen3", "http://localhost:9").signing is None
    assert composed("bedrock:us.anthropic.claude-opus-5").signing is None


def test_a_destination_knows_the_other_names_of_its_model():
    to = make_destination(load_catalog().entry("google:gemini-3.0-flash"), Policy(foreign="note"))
    assert to.model == "gemini-3-flash-preview"
    assert "gemini-3.0-flash" in to.aliases
    assert to.foreign == "note"


def test_nothing_remembered_of_a_model_is_used_for_another_of_the_same_name():
    usual = load_catalog().entry("llamacpp:any")
    own = msgspec.structs.replace(
        usual.provider, start="run mine", keys=("MY_KEY",), aliases={"mine": "any"}, quirks={}
    )
    other = msgspec.structs.replace(usual, provider=own)
    assert (usual.id, hash(usual)) == (other.id, hash(other))
    made = plan(usual, parse_intent(None), asked=RequestParameters(), policy=Policy())
    question = Request(usual.model, (Message("user", (Text("hi"),)),))
    for entry, start, aliases in ((usual, "llama-server", ()), (other, "run mine", ("mine",))) * 2:
        exchange = compose(entry, question, made, url="http://localhost:9", key=KEY)
        assert start in exchange.no_server_hint
        assert ("MY_KEY" in exchange.bad_key_hint) is (entry is other)
        assert make_destination(entry, Policy()).aliases == aliases
    assert make_destination(other, Policy(foreign="note")).foreign == "note"


HALF = "a\ud800b"


@pytest.mark.parametrize(
    "fields",
    [
        {"system": (Text(HALF),)},
        {"tools": (Tool("f", HALF, {"type": "object", "properties": {HALF: {}}}),)},
        {"output": OutputFormat({"type": "object", "description": HALF})},
        {"stop": (HALF,)},
        {"extras": {"metadata": {"note": HALF}}},
    ],
    ids=lambda fields: next(iter(fields)),
)
@pytest.mark.parametrize("provider", ONE_OF_EACH)
def test_half_a_character_is_sent_as_a_whole_one_on_every_wire(provider, fields):
    body = composed(provider, **fields).http.body.decode()
    assert HALF not in body
    assert "\\ud800" not in body


def test_these_models_speak_every_wire():
    assert {load_catalog().entry(model).provider.dialect for model in ONE_OF_EACH} == {*NAMES}


def test_a_catalog_that_was_read_again_is_believed_at_once():
    entry = load_catalog().entry("claude-opus-5")
    other = replace(entry, provider=replace(entry.provider, quirks={"unsupported": ["stop"]}))
    request = Request(entry.model, (Message("user", (Text("hi"),)),), stop=("end",))
    made = plan(entry, parse_intent(None), asked=RequestParameters(), policy=Policy())
    bodies = [
        msgspec.json.decode(compose(each, request, made, url="http://a", key=KEY).http.body)
        for each in (entry, other, entry)
    ]
    assert ["stop_sequences" in body for body in bodies] == [True, False, True]


def test_an_address_and_a_key_are_those_of_their_request():
    entry = load_catalog().entry("llamacpp:any")
    request = Request(entry.model, (Message("user", (Text("hi"),)),))
    made = plan(entry, parse_intent(None), asked=RequestParameters(), policy=Policy())
    for url, key in (("http://a/v1", "one"), ("http://b/v1", "two"), ("http://a/v1", None)):
        sent = compose(entry, request, made, url=url, key=key)
        assert sent.http.url.startswith(url)
        assert url in sent.no_server_hint
        assert sent.http.headers.get("authorization") == (key and f"Bearer {key}")

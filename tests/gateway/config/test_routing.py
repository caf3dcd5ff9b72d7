"""Names that clients say, and the models that answer them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.catalog import Lookup, index
from pondero.errors import BadThinking, UnknownModel, UnknownProvider, UsageError
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute
from pondero.gateway.config.reader import default_config
from pondero.gateway.config.routing import Routing, allows
from pondero.store import load_catalog
from pondero.thinking import LEVELS

OPUS = GatewayRoute("opus", ("anthropic:claude-opus-5", "bedrock:anthropic.claude-opus-5-v1:0"))
CLAUDE = GatewayRoute("claude-*", ("google:gemini-3-flash-preview",))
SLASHED = GatewayRoute("openai/gpt-5.5", ("openrouter:openai/gpt-5.5",))
BRACKETED = GatewayRoute("gpt-5.5[1m]", ("openai:gpt-5.5",))
ODD = GatewayRoute("team/high", ("mistral:mistral-large-latest",))
REST = GatewayRoute("*", ("deepseek:deepseek-v4-flash",))


def routing(*routes: GatewayRoute) -> Routing:
    return Routing(GatewayConfig(routes=routes), load_catalog())


ALL = routing(OPUS, CLAUDE, SLASHED, BRACKETED, ODD, REST)
OFFLINE = Routing(default_config(GatewayConfig(), load_catalog(), offline=True), load_catalog())


@pytest.mark.parametrize(
    ("said", "name", "route", "level"),
    [
        ("opus", "opus", OPUS, None),
        ("opus/high", "opus", OPUS, "high"),
        ("opus@low", "opus", OPUS, "low"),
        ("opus/8000", "opus", OPUS, "8000"),
        ("claude-haiku-4-5", "claude-haiku-4-5", CLAUDE, None),
        ("claude-haiku-4-5/off", "claude-haiku-4-5", CLAUDE, "off"),
        ("openai/gpt-5.5", "openai/gpt-5.5", SLASHED, None),
        ("openai/gpt-5.5/xhigh", "openai/gpt-5.5", SLASHED, "xhigh"),
        ("team/high", "team/high", ODD, None),
        ("team/high/low", "team/high", ODD, "low"),
        ("gpt-5.5[1m]", "gpt-5.5[1m]", BRACKETED, None),
        ("anything", "anything", REST, None),
        ("anything/of/theirs", "anything/of/theirs", REST, None),
    ],
)
def test_the_first_route_that_matches_answers(said, name, route, level):
    resolved = ALL.resolve(said)

    assert (resolved.name, resolved.route) == (name, route)
    assert resolved.level == level
    expected = [load_catalog().entry(model).id for model in route.to]
    assert [each.id for each in resolved.entries] == expected


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20))
def test_a_route_for_everything_answers_every_name_that_can_be_said(said):
    try:
        name = load_catalog().split(said)
    except (UnknownModel, BadThinking):
        return
    resolved = routing(REST).resolve(said)
    assert resolved.route == REST
    assert resolved.level == name.level
    assert resolved.name + said[len(resolved.name) :] == said


@given(st.sampled_from(OFFLINE.names()), st.sampled_from((None, *LEVELS, "8000")))
def test_every_name_that_is_listed_is_served_with_and_without_a_level(served, level):
    resolved = OFFLINE.resolve(served.name if level is None else f"{served.name}/{level}")

    assert resolved.level == level
    assert resolved.route is None
    assert [entry.id for entry in resolved.entries] == [served.entry.id]


def test_an_unknown_name_says_what_was_meant_and_what_is_served():
    with pytest.raises(UnknownModel) as caught:
        routing(OPUS, CLAUDE).resolve("opsu/high")

    assert str(caught.value) == (
        "unknown model 'opsu/high'; did you mean 'opus'? this gateway serves opus claude-*"
    )


def test_without_routes_a_provider_without_a_key_says_so(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-mine")
    here = Routing(default_config(GatewayConfig(), load_catalog()), load_catalog())

    assert here.resolve("gemini-3-flash-preview/high").entries[0].provider.name == "google"
    with pytest.raises(UnknownModel, match="set ANTHROPIC_API_KEY where the gateway runs"):
        here.resolve("claude-opus-5")
    with pytest.raises(UnknownModel, match="did you mean 'gemini-3-flash-preview'"):
        here.resolve("gemini-3-flsah-preview")


def test_a_name_with_two_levels_is_refused():
    with pytest.raises(BadThinking, match="names two levels"):
        OFFLINE.resolve("claude-opus-5/high/low")


def test_the_list_has_exact_names_and_the_catalogued_ones_of_a_glob():
    names = [served.name for served in ALL.names()]

    assert names[0] == "opus"
    assert {"claude-opus-5", "claude-sonnet-4-5", "openai/gpt-5.5", "team/high"} <= set(names)
    assert len(names) == len(set(names))
    assert all(ALL.resolve(name).route != REST for name in names)
    for served in ALL.names():
        assert ALL.resolve(served.name).entries[0] == served.entry


def test_local_servers_are_reached_by_name_and_not_listed():
    assert OFFLINE.resolve("ollama:anything:7b").entries[0].id == "ollama:anything:7b"
    assert not [each for each in OFFLINE.names() if each.entry.provider.auth == "none"]


def test_a_key_may_ask_only_for_its_models():
    key = GatewayKey("ci", "", models=("opus", "claude-*"))

    assert allows(key, ALL.resolve("opus/high"))
    assert allows(key, ALL.resolve("claude-haiku-4-5"))
    assert not allows(key, ALL.resolve("gpt-5.5"))
    assert allows(GatewayKey("all", ""), ALL.resolve("gpt-5.5"))
    assert not allows(GatewayKey("none", "", models=()), ALL.resolve("opus"))


INVENTED = {
    "short": "abcdefghij",
    "misspelt": "claude-opsu-5",
    "long": "a" * 512,
    "of known words": "claude-" * 73,
    "of slashes": "ab/" * 170 + "ab",
    "of levels": "ab/high" * 70,
    "of signs": "a/@/@8",
    "of new words": "-".join(f"clau{a}{b}" for a in "abcdefgh" for b in "abcdefgh"),
    "with a level that is none": "claude-opus-5/" + "highh" * 90,
    "of a provider": "openai:" + "gtp-" * 120,
}


@pytest.mark.parametrize("name", INVENTED)
def test_an_invented_name_costs_little(monkeypatch, name):
    """Work is counted, not timed: searches of an index, and names compared letter by letter."""
    with pytest.raises((UnknownModel, UnknownProvider)):
        OFFLINE.resolve("something-that-nobody-has")  # the lists of names are made once
    searches, compared, listed = [], [], []
    longest, close, entries = index._longest, index._close, Lookup.entries
    monkeypatch.setattr(index, "_longest", lambda *a, **k: searches.append(a) or longest(*a, **k))
    monkeypatch.setattr(index, "_close", lambda *a: compared.extend(a[1]) or close(*a))
    monkeypatch.setattr(Lookup, "entries", lambda *a: listed.append(a) or entries(*a))
    with suppress(UsageError):
        OFFLINE._resolve(INVENTED[name])
    assert len(INVENTED[name]) <= 512
    assert (len(searches) < 600, len(compared) < 600, len(listed)) == (True, True, 0)


@pytest.mark.parametrize("name", ["a" * 513, "claude-opus-5/" + "a" * 500, "auto:" + "a" * 600])
def test_a_name_that_is_too_long_is_not_looked_up(monkeypatch, name):
    monkeypatch.setattr(Lookup, "split", None)
    with pytest.raises(UnknownModel, match="characters") as caught:
        ALL.resolve(name)
    assert len(str(caught.value)) < 200


def test_a_short_name_is_routed_and_allowed_as_the_model_it_means():
    full = load_catalog().entry("opus").model
    route = GatewayRoute(match="claude-*", to=("gpt-5.1",))
    routing = Routing(GatewayConfig(routes=(route,)), load_catalog())
    for typed in ("opus", "opus/high"):
        found = routing.resolve(typed)
        assert (found.name, found.route) == (full, route)
        assert found.entries[0].model == "gpt-5.1"
    own = GatewayRoute(match="opus", to=("gpt-5.1",))
    assert Routing(GatewayConfig(routes=(own,)), load_catalog()).resolve("opus").name == "opus"
    everything = Routing(GatewayConfig(open=frozenset({"anthropic"})), load_catalog())
    found = everything.resolve("opus")
    assert allows(GatewayKey(name="k", hash="", models=("claude-*",)), found)
    assert not allows(GatewayKey(name="k", hash="", models=("gpt-*",)), found)


@pytest.mark.parametrize("requested", ["opus/mx", "opus@mx"])
def test_a_misspelt_level_after_a_served_name_is_named_with_all_levels(requested):
    with pytest.raises(UnknownModel) as error:
        routing(OPUS).resolve(requested)
    said = f"unknown model {requested!r}: 'opus' is served, but unknown level 'mx'; did you mean"
    assert said in str(error.value)
    assert all(level in str(error.value) for level in LEVELS)


def test_a_route_may_have_a_space_in_its_name_and_a_model_has_none():
    route = GatewayRoute("our model", ("anthropic:claude-opus-5",))
    routed = Routing(GatewayConfig(routes=(route,)), load_catalog())
    assert routed.resolve("our model/high").level == "high"
    with pytest.raises(UnknownModel, match="a name has no spaces"):
        OFFLINE.resolve("claude-opus-5 and more")

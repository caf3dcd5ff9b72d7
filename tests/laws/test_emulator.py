"""Promise 1: for every catalogued model and every level, what we send is accepted."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.targets import target

import pondero
from pondero.canon import HttpRequest, Message, Request, Text, Tool, ToolChoice
from pondero.catalog import ModelEntry
from pondero.client import load_catalog
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator
from pondero.exchange import plan as make_plan
from pondero.thinking import CHOICES, LEVELS, Policy, RequestParameters, parse_intent

PROVIDERS = ("anthropic", "openai", "openai-chat", "google", "bedrock")
ENTRIES = [entry for provider in PROVIDERS for entry in pondero.models(provider)]
WEATHER = Tool(
    "get_weather",
    "Tells the weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
QUESTION = (Message("user", (Text("What is the weather in Paris?"),)),)


def encoded(
    entry: ModelEntry,
    wish: object,
    asked: RequestParameters,
    policy: Policy,
    *,
    stream: bool = True,
) -> HttpRequest:
    made = make_plan(
        entry, parse_intent(wish, words=entry.capability.extra_words), asked=asked, policy=policy
    )
    kept = {
        name: getattr(asked, name)
        for name in ("temperature", "top_p", "top_k")
        if name not in made.dropped and name in entry.provider.parameters
    }
    refused = entry.quirks.get("unsupported", ())  # the steps before encoding leave those out
    choice, tools = None, asked.tools and "tools" not in made.dropped and entry.takes_tools
    if tools and "tool_choice" not in made.dropped and "tool_choice" not in refused:
        modes = {
            "auto": ToolChoice(),
            "none": ToolChoice("none"),
            "required": ToolChoice("required"),
        }
        choice = modes.get(asked.tool_choice or "auto", ToolChoice("tool", WEATHER.name))
    request = Request(
        entry.model,
        QUESTION,
        tools=(WEATHER,) if tools else (),
        tool_choice=choice,
        max_tokens=asked.max_tokens,
        stream=stream,
        **kept,
    )
    return get_dialect(entry.provider.dialect).caller().encode(request, made, target(entry))


def refusal(http: HttpRequest) -> str | None:
    answer = Emulator().send(http)
    body = b"".join(answer)
    return None if answer.head.status == 200 else body.decode()


@pytest.mark.parametrize("provider", load_catalog().catalog.providers)
def test_every_name_that_is_listed_is_served(provider):
    refused = {
        entry.id: words
        for entry in pondero.models(provider)
        if (words := refusal(encoded(entry, None, RequestParameters(), Policy()))) is not None
    }
    assert refused == {}


@pytest.mark.parametrize(
    "provider", load_catalog().catalog.providers.values(), ids=lambda p: p.name
)
def test_what_is_absent_is_a_name_of_its_families_and_not_listed(provider):
    groups = [load_catalog().catalog.groups[name] for name in provider.families]
    known = {name for group in groups for family in group.family for name in family.match}
    needless = [each for each in provider.absent if not any(fnmatchcase(n, each) for n in known)]
    assert needless == []
    listed = [entry.model for entry in pondero.models(provider.name)]
    assert [n for n in listed if any(fnmatchcase(n, each) for each in provider.absent)] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_level_of_every_model_is_accepted(entry):
    for wish in (None, True, *LEVELS, *entry.capability.extra_words, 1, 1024, 8000, 200_000):
        for tools in (False, True):
            http = encoded(entry, wish, RequestParameters(tools=tools), Policy())
            assert refusal(http) is None, (wish, tools, http.body)


OTHERS = [
    provider.name
    for provider in load_catalog().catalog.providers.values()
    if provider.dialect in NAMES and provider.name not in PROVIDERS
]


@pytest.mark.parametrize("provider", OTHERS)
def test_every_level_is_accepted_by_everyone_else_on_these_wires(provider):
    """One model a family: `--offline` works under any of their names."""
    families = {entry.family: entry for entry in reversed(pondero.models(provider))}
    for entry in families.values():
        for wish in (None, True, *LEVELS, *entry.capability.extra_words, 8000):
            http = encoded(entry, wish, RequestParameters(tools=True), Policy())
            assert refusal(http) is None, (entry.id, wish, http.body)


_policies = st.builds(
    Policy,
    **{name: st.sampled_from(words) for name, words in CHOICES.items() if name != "unsupported"},
    answer_room=st.sampled_from([0, 1, 512, 4096, 20_000]),
)
_asked = st.builds(
    RequestParameters,
    max_tokens=st.none() | st.integers(1, 200_000) | st.sampled_from([1, 16, 1024, 1025, 2048]),
    temperature=st.none() | st.sampled_from([0.0, 0.2, 1.0, 2.0]),
    top_p=st.none() | st.sampled_from([0.5, 1.0]),
    top_k=st.none() | st.sampled_from([1, 40]),
    tools=st.just(value=True),
    tool_choice=st.sampled_from(["auto", "none", "required", "get_weather"]),
).flatmap(lambda asked: st.sampled_from([asked, replace(asked, tools=False, tool_choice="auto")]))
_wishes = (
    st.sampled_from([None, True, False, *LEVELS])
    | st.integers(0, 200_000)
    | st.sampled_from([1, 127, 128, 512, 1023, 1024, 63_999, 64_000])
)


@given(st.sampled_from(ENTRIES), _wishes, _policies, _asked)
def test_no_policy_cap_or_parameter_makes_it_refused(entry, wish, policy, asked):
    http = encoded(entry, wish, asked, policy)
    assert refusal(http) is None, http.body


@pytest.mark.parametrize("provider", load_catalog().catalog.providers, ids=str)
def test_a_tool_may_be_forced_wherever_a_model_does_not_think(provider):
    """Off unasked is off: services that refuse a forced tool refuse it while the model thinks."""
    for entry in pondero.models(provider):
        if entry.capability.forced_tools == "refused":
            continue
        if entry.capability.default != "off" and entry.capability.thinks:
            continue
        http = encoded(entry, None, RequestParameters(tools=True, tool_choice="required"), Policy())
        assert refusal(http) is None, (entry.id, http.body)

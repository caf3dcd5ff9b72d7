"""Promise 1: for every catalogued model and every level, what we send is accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.targets import target

import pondero
from pondero.canon import HttpRequest, Message, Request, Text, Tool, ToolChoice
from pondero.catalog import Entry
from pondero.client import lookup
from pondero.dialects import NAMES, dialect
from pondero.emulator import Emulator
from pondero.exchange import plan as make_plan
from pondero.thinking import CHOICES, LEVELS, Asked, Policy, parse

PROVIDERS = ("anthropic", "openai", "openai-chat", "google", "bedrock")
ENTRIES = [entry for provider in PROVIDERS for entry in pondero.models(provider)]
# Beginnings of names in the catalog that are no ids themselves, and an id they stand for.
IDS = {
    "chatgpt-4o": "chatgpt-4o-latest",
    "codex-mini": "codex-mini-latest",
    "gpt-3.5": "gpt-3.5-turbo",
    "gpt-4.5": "gpt-4.5-preview",
    "gpt-5-chat": "gpt-5-chat-latest",
    "gpt-5.1-chat": "gpt-5.1-chat-latest",
    "gpt-5.2-chat": "gpt-5.2-chat-latest",
    "gpt-5.3": "gpt-5.3-codex",
    "gpt-5.3-chat": "gpt-5.3-chat-latest",
    "gpt-daybreak": "gpt-daybreak-blue-latest",
}
# What the catalog knows of and the service itself does not serve, or no longer.
UNSERVED = {
    "anthropic": {
        *("claude-2", "claude-2.0", "claude-2.1", "claude-3-sonnet", "claude-instant"),
        # Spelt so by resellers only.
        *("claude-4-opus", "claude-4-sonnet", "claude-4-5-haiku", "claude-4-5-opus"),
        *("claude-4-5-sonnet", "claude-4-6-opus", "claude-4-6-sonnet"),
    },
    "openai": {"babbage-002", "davinci-002", "o1-mini", "o1-preview"},
    "openai-chat": {
        *("babbage-002", "davinci-002", "gpt-4.5", "o1-mini", "o1-preview"),
        # On the other surface only.
        *("codex-mini", "gpt-5-pro", "gpt-5.2-codex", "gpt-5.2-pro", "gpt-5.4-pro", "gpt-5.5-pro"),
        *("gpt-5.6-cyber", "gpt-6-cyber", "gpt-6-rosalind", "gpt-daybreak"),
        *("gpt-rosalind-research", "o1-pro", "o3-pro", "o3-deep-research", "o4-mini-deep-research"),
    },
    "google": set(),
    "bedrock": {
        *("claude-4-opus", "claude-4-sonnet", "claude-4-5-haiku", "claude-4-5-opus"),
        *("claude-4-5-sonnet", "claude-4-6-opus", "claude-4-6-sonnet"),
        *("openai.gpt-oss-20b-1", "openai.gpt-oss-120b-1"),  # a version follows
    },
}
# Models that take no function tools at all, whatever is said about thinking.
TOOLLESS = {
    "openai": {"o3-deep-research", "o4-mini-deep-research"},
    "openai-chat": {"gpt-6-astra", "gpt-6.1-sol"},
    "azure-chat": {"gpt-6-astra", "gpt-6.1-sol"},
}
SERVED = [e for e in ENTRIES if e.model not in UNSERVED[e.provider.name]]
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
    entry: Entry, wish: object, asked: Asked, policy: Policy, *, stream: bool = True
) -> HttpRequest:
    made = make_plan(
        entry, parse(wish, words=entry.capability.extra_words), asked=asked, policy=policy
    )
    kept = {
        name: getattr(asked, name)
        for name in ("temperature", "top_p", "top_k")
        if name not in made.dropped and name in entry.provider.parameters
    }
    choice = None
    if asked.tools and "tool_choice" not in made.dropped:
        modes = {
            "auto": ToolChoice(),
            "none": ToolChoice("none"),
            "required": ToolChoice("required"),
        }
        choice = modes.get(asked.tool_choice or "auto", ToolChoice("tool", WEATHER.name))
    request = Request(
        IDS.get(entry.model, entry.model),
        QUESTION,
        tools=(WEATHER,) if asked.tools else (),
        tool_choice=choice,
        max_tokens=asked.max_tokens,
        stream=stream,
        **kept,
    )
    return dialect(entry.provider.dialect).encode.request(request, made, target(entry))


def refusal(http: HttpRequest) -> str | None:
    answer = Emulator().send(http)
    body = b"".join(answer)
    return None if answer.head.status == 200 else body.decode()


def takes_tools(entry: Entry) -> bool:
    return entry.model not in TOOLLESS.get(entry.provider.name, ())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_models_a_service_does_not_serve_are_those_we_wrote_down(provider):
    refused = {
        entry.model
        for entry in pondero.models(provider)
        if refusal(encoded(entry, None, Asked(), Policy())) is not None
    }
    assert refused == UNSERVED[provider]


@pytest.mark.parametrize("entry", SERVED, ids=lambda entry: entry.id)
def test_every_level_of_every_model_is_accepted(entry):
    for wish in (None, True, *LEVELS, *entry.capability.extra_words, 1, 1024, 8000, 200_000):
        for tools in (False, True) if takes_tools(entry) else (False,):
            http = encoded(entry, wish, Asked(tools=tools), Policy())
            assert refusal(http) is None, (wish, tools, http.body)


OTHERS = [
    provider.name
    for provider in lookup().catalog.providers.values()
    if provider.dialect in NAMES and provider.name not in PROVIDERS
]


@pytest.mark.parametrize("provider", OTHERS)
def test_every_level_is_accepted_by_everyone_else_on_these_wires(provider):
    """One model a family: `--offline` works under any of their names."""
    families = {entry.family: entry for entry in reversed(pondero.models(provider))}
    for entry in families.values():
        for wish in (None, True, *LEVELS, *entry.capability.extra_words, 8000):
            if entry.model not in UNSERVED["anthropic"] | UNSERVED["openai-chat"]:
                http = encoded(entry, wish, Asked(tools=takes_tools(entry)), Policy())
                assert refusal(http) is None, (entry.id, wish, http.body)


_policies = st.builds(
    Policy,
    **{name: st.sampled_from(words) for name, words in CHOICES.items() if name != "unsupported"},
    answer_room=st.sampled_from([0, 1, 512, 4096, 20_000]),
)
_asked = st.builds(
    Asked,
    max_tokens=st.none() | st.integers(16, 200_000) | st.sampled_from([16, 1024, 1025, 2048]),
    temperature=st.none() | st.sampled_from([0.0, 0.2, 1.0]),
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


@given(st.sampled_from(SERVED), _wishes, _policies, _asked)
def test_no_policy_cap_or_parameter_makes_it_refused(entry, wish, policy, asked):
    if asked.tools and not takes_tools(entry):
        return
    http = encoded(entry, wish, asked, policy)
    assert refusal(http) is None, http.body

"""Every row of the table of providers: what on, off and each level become, and that it is taken.

Written by hand from the wire sheets, which correct the first table: one line a model, its fields
for on, off, low, medium, high, xhigh, max. Caps are not part of it.
"""

from typing import Any

import pytest

import pondero
from pondero.client import load_catalog
from pondero.dialects import NAMES
from pondero.emulator import Emulator
from pondero.exchange import Retry

Fields = dict[str, Any]
WISHES = (True, "off", "low", "medium", "high", "xhigh", "max")
LADDER = ("low", "medium", "high", "xhigh", "max")
NOTHING: Fields = {}


def ladder(say, *words: str) -> list[Fields]:
    """Return what is said for low to max, where the service's own words are these five."""
    assert len(words) == len(LADDER)
    return [say(word) for word in words]


def effort(word: str) -> Fields:
    return {"reasoning_effort": word}


def nested(word: str, **more: str) -> Fields:
    return {"reasoning": {"effort": word, **more}}


def routed(word: str) -> Fields:
    return {"reasoning": {"effort": word, "enabled": True}}


def hidden(word: str) -> Fields:
    return {"reasoning": {"effort": word, "enabled": True, "exclude": True}}


def parsed(word: str) -> Fields:
    return {"reasoning_effort": word, "reasoning_format": "parsed"}


def kind(word: str, **more: int | str) -> Fields:
    return {"thinking": {"type": word, **more}}


def nova(word: str) -> Fields:
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": word}}


def think(said: bool | str) -> Fields:
    return {"think": said}


def adaptive(word: str) -> Fields:
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}}


def glm(word: str) -> Fields:
    return {"thinking": {"type": "enabled"}, "reasoning_effort": word}


def gemini(*, shown: bool = True, **more: str | int) -> Fields:
    shows = {"includeThoughts": True} if shown else {}
    return {"generationConfig": {"thinkingConfig": {**more, **shows}}}


def converse(fields: Fields) -> Fields:
    return {"additionalModelRequestFields": fields}


UP_TO_HIGH = ("low", "medium", "high", "high", "high")
UP_TO_XHIGH = ("low", "medium", "high", "xhigh", "xhigh")
ALL_FIVE = LADDER
WITH_MAX = ("low", "medium", "high", "max", "max")
LOW_HIGH_MAX = ("low", "high", "high", "max", "max")
ONLY_HIGH = ("high",) * 5
ON, OFF = {"reasoning": {"enabled": True}}, nested("none")
PARSED = {"reasoning_format": "parsed"}

ROWS: dict[str, list[Fields]] = {
    # Anthropic
    "anthropic:claude-opus-4-6": [kind("adaptive"), kind("disabled"), *ladder(adaptive, *WITH_MAX)],
    "anthropic:claude-opus-4-8": [
        {"thinking": {"type": "adaptive", "display": "summarized"}},
        kind("disabled"),
        *[
            {**adaptive(word), "thinking": {"type": "adaptive", "display": "summarized"}}
            for word in ALL_FIVE
        ],
    ],
    "anthropic:claude-sonnet-4-5": [
        kind("enabled", budget_tokens=43_008),
        kind("disabled"),
        *[
            kind("enabled", budget_tokens=tokens)
            for tokens in (22_016, 43_008, 59_904, 59_904, 59_904)
        ],
    ],
    # Google
    "google:gemini-3-flash-preview": [
        gemini(),
        gemini(shown=False, thinkingLevel="MINIMAL"),
        *[gemini(thinkingLevel=word.upper()) for word in UP_TO_HIGH],
    ],
    "google:gemini-3-pro-preview": [
        gemini(),
        gemini(shown=False, thinkingLevel="LOW"),
        *[gemini(thinkingLevel=word) for word in ("LOW", "HIGH", "HIGH", "HIGH", "HIGH")],
    ],
    "google:gemini-2.5-flash": [
        gemini(),
        gemini(shown=False, thinkingBudget=0),
        *[gemini(thinkingBudget=n) for n in (8192, 16_384, 24_576, 24_576, 24_576)],
    ],
    "google:gemini-2.5-pro": [
        gemini(),
        gemini(shown=False, thinkingBudget=128),
        *[gemini(thinkingBudget=n) for n in (11_008, 21_888, 32_768, 32_768, 32_768)],
    ],
    # OpenAI: o-series, GPT-5 (always on), GPT-5.1 and later
    "openai-chat:o3": [NOTHING, effort("low"), *ladder(effort, *UP_TO_HIGH)],
    "openai-chat:gpt-5": [NOTHING, effort("minimal"), *ladder(effort, *UP_TO_HIGH)],
    "openai-chat:gpt-5.1": [effort("medium"), effort("none"), *ladder(effort, *UP_TO_HIGH)],
    "openai:gpt-5.1": [
        nested("medium", summary="auto"),
        nested("none"),
        *[nested(word, summary="auto") for word in UP_TO_HIGH],
    ],
    # Bedrock: Claude's own fields inside Converse; DeepSeek R1 has no knob
    "bedrock:us.anthropic.claude-opus-4-6-v1": [
        converse(kind("adaptive")),
        converse(kind("disabled")),
        *[converse(adaptive(word)) for word in WITH_MAX],
    ],
    "bedrock:us.anthropic.claude-opus-4-8": [
        converse(kind("adaptive", display="summarized")),
        converse(kind("disabled")),
        *[converse({**adaptive(w), **kind("adaptive", display="summarized")}) for w in ALL_FIVE],
    ],
    "bedrock:us.anthropic.claude-sonnet-5-5": [
        converse(kind("adaptive", display="summarized")),
        converse(kind("between_tools")),
        *[converse({**adaptive(w), **kind("adaptive", display="summarized")}) for w in ALL_FIVE],
    ],
    "bedrock:us.anthropic.claude-opus-5-5": [
        converse(kind("adaptive", display="summarized")),
        converse(adaptive("low")),
        *[converse({**adaptive(w), **kind("adaptive", display="summarized")}) for w in ALL_FIVE],
    ],
    "bedrock:us-gov.anthropic.claude-opus-5": [
        converse(kind("adaptive")),
        converse(kind("disabled")),
        *[converse(adaptive(word)) for word in ALL_FIVE],
    ],
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0": [
        converse(kind("enabled", budget_tokens=43_008)),
        converse(kind("disabled")),
        *[
            converse(kind("enabled", budget_tokens=tokens))
            for tokens in (22_016, 43_008, 59_904, 59_904, 59_904)
        ],
    ],
    # Bedrock: the other makers' spellings
    "bedrock:amazon.nova-2-lite-v1:0": [
        converse(nova("medium")),
        converse({"reasoningConfig": {"type": "disabled"}}),
        *[converse(nova(word)) for word in UP_TO_HIGH],
    ],
    "bedrock:openai.gpt-oss-120b-1:0": [
        *(NOTHING, converse(effort("low"))),
        *[converse(effort(word)) for word in UP_TO_HIGH],
    ],
    "bedrock:openai.gpt-6-sol": [
        *(NOTHING, converse(nested("none"))),
        *[converse(nested(word)) for word in UP_TO_XHIGH],
    ],
    "bedrock:openai.gpt-6-astra": [
        *(NOTHING, converse(nested("low"))),
        *[converse(nested(word)) for word in UP_TO_XHIGH],
    ],
    "bedrock:us.xai.grok-4.7": [
        *(NOTHING, converse(nested("low"))),
        *[converse(nested(word)) for word in UP_TO_XHIGH],
    ],
    "bedrock:qwen.qwen3-32b-v1:0": [
        converse({"reasoning_config": "high"}),
        converse({"reasoning_config": "none"}),
        *[converse({"reasoning_config": word}) for word in ONLY_HIGH],
    ],
    "bedrock:deepseek.v3-v1:0": [
        *(converse(effort("high")), converse(effort("none"))),
        *[converse(effort(word)) for word in ONLY_HIGH],
    ],
    "bedrock:us.deepseek.r1-v1:0": [NOTHING] * 7,
    "bedrock:moonshot.kimi-k2-thinking": [NOTHING] * 7,
    "bedrock:amazon.nova-pro-v1:0": [NOTHING] * 7,
    # OpenRouter: what each model takes; some cannot be off
    "openrouter:anthropic/claude-opus-4.8": [ON, OFF, *ladder(routed, *ALL_FIVE)],
    "openrouter:anthropic/claude-fable-5": [ON, hidden("low"), *ladder(routed, *ALL_FIVE)],
    "openrouter:x-ai/grok-4.5": [ON, hidden("low"), *ladder(routed, *UP_TO_HIGH)],
    "openrouter:z-ai/glm-5.2": [
        *(ON, OFF),
        *ladder(routed, "high", "high", "high", "xhigh", "xhigh"),
    ],
    "openrouter:anthropic/claude-sonnet-5.5": [ON, hidden("low"), *ladder(routed, *ALL_FIVE)],
    "openrouter:deepseek/deepseek-v4-pro-0813": [ON, OFF, *ladder(routed, *LOW_HIGH_MAX)],
    "openrouter:qwen/qwen3.8-27b": [
        *(ON, OFF),
        *ladder(routed, "low", "medium", "xhigh", "xhigh", "xhigh"),
    ],
    # Groq
    "groq:openai/gpt-oss-120b": [
        PARSED,
        {"reasoning_effort": "low", "reasoning_format": "hidden"},
        *ladder(parsed, *UP_TO_HIGH),
    ],
    "groq:qwen/qwen3.8-27b": [PARSED, effort("none"), *ladder(parsed, *UP_TO_HIGH)],
    "groq:qwen/qwen3-32b": [parsed("default"), effort("none"), *[parsed("default")] * 5],
    "groq:llama-3.3-70b-versatile": [NOTHING] * 7,
    # Cerebras: GLM (only a switch), GPT-OSS (only levels), Qwen (both)
    "cerebras:zai-glm-4.7": [NOTHING, effort("none"), *[NOTHING] * 5],
    "cerebras:gpt-oss-120b": [
        NOTHING,
        {"reasoning_effort": "low", "reasoning_format": "hidden"},
        *ladder(effort, *UP_TO_HIGH),
    ],
    "cerebras:qwen-3.8-27b": [PARSED, effort("none"), *ladder(parsed, *UP_TO_HIGH)],
    # Mistral has none and high, and hosts a model that has more
    "mistral:magistral-medium-latest": [
        effort("high"),
        effort("none"),
        *ladder(effort, *ONLY_HIGH),
    ],
    "mistral:zai-glm-5-3": [NOTHING, effort("low"), *ladder(effort, *LOW_HIGH_MAX)],
    "mistral:mistral-small-latest": [effort("high"), effort("none"), *ladder(effort, *ONLY_HIGH)],
    "mistral:mistral-large-latest": [NOTHING] * 7,
    # Cohere: a switch and a number
    "cohere:command-a-reasoning-08-2025": [
        kind("enabled"),
        kind("disabled"),
        *[kind("enabled", token_budget=n) for n in (10_674, 20_837, 31_000, 31_000, 31_000)],
    ],
    "cohere:command-a-03-2025": [NOTHING] * 7,
    # xAI: two levels, four, four and more, none at all
    "xai:grok-3-mini": [
        *(NOTHING, effort("none")),
        *ladder(effort, "low", "low", "high", "high", "high"),
    ],
    "xai:grok-4": [NOTHING, effort("none"), *ladder(effort, *UP_TO_HIGH)],
    "xai:grok-4.6": [NOTHING, effort("low"), *ladder(effort, *UP_TO_XHIGH)],
    "xai:grok-4.20-0309-reasoning": [NOTHING] * 7,
    "xai:grok-4.20-0309-non-reasoning": [NOTHING] * 7,
    "xai-responses:grok-4.6": [NOTHING, nested("low"), *ladder(nested, *UP_TO_XHIGH)],
    # DeepSeek
    "deepseek:deepseek-v4-flash": [
        *(kind("enabled"), kind("disabled")),
        *ladder(glm, *LOW_HIGH_MAX),
    ],
    # Ollama: a switch, words, or neither
    "ollama:qwen3:8b": [think(True), think(False), *ladder(think, *WITH_MAX)],
    "ollama:gpt-oss:20b": [NOTHING, think("low"), *ladder(think, *UP_TO_HIGH)],
    "ollama:llama3.2": [NOTHING] * 7,
    "ollama-cloud:deepseek-v4-pro": [
        *(think(True), think(False)),
        *ladder(think, "high", "high", "high", "max", "max"),
    ],
    # the same models elsewhere
    "azure:gpt-5.1": [
        nested("medium", summary="auto"),
        nested("none"),
        *[nested(word, summary="auto") for word in UP_TO_HIGH],
    ],
    "azure-chat:gpt-5": [NOTHING, effort("minimal"), *ladder(effort, *UP_TO_HIGH)],
    "vertex:gemini-3-flash-preview": [
        gemini(),
        gemini(shown=False, thinkingLevel="MINIMAL"),
        *[gemini(thinkingLevel=word.upper()) for word in UP_TO_HIGH],
    ],
    "vertex-anthropic:claude-opus-4-6": [
        *(kind("adaptive"), kind("disabled")),
        *ladder(adaptive, *WITH_MAX),
    ],
    # Those the first table does not have
    "zai:glm-5.3": [kind("enabled"), glm("low"), *ladder(glm, *LOW_HIGH_MAX)],
    "zai:glm-4.6": [kind("enabled"), kind("disabled"), *[kind("enabled")] * 5],
    "moonshot:kimi-k3": [NOTHING, effort("low"), *ladder(effort, *LOW_HIGH_MAX)],
    "moonshot:kimi-k2.5": [kind("enabled"), kind("disabled"), *[kind("enabled")] * 5],
    "dashscope:qwen3.8-27b": [
        *({"enable_thinking": True}, effort("none")),
        *ladder(effort, "low", "medium", "xhigh", "xhigh", "xhigh"),
    ],
    "dashscope:qwen3.8-max": [
        *({"enable_thinking": True}, effort("none")),
        *ladder(effort, "low", "medium", "xhigh", "xhigh", "xhigh"),
    ],
    "dashscope:qwen3.8-max-preview": [
        *({"enable_thinking": True}, effort("low")),
        *ladder(effort, "low", "medium", "xhigh", "xhigh", "xhigh"),
    ],
    "minimax:MiniMax-M3": [kind("adaptive"), kind("disabled"), *[kind("adaptive")] * 5],
    "together:openai/gpt-oss-120b": [NOTHING, effort("low"), *ladder(effort, *UP_TO_HIGH)],
    "together:deepseek-ai/DeepSeek-V3.1": [ON, {"reasoning": {"enabled": False}}, *[ON] * 5],
    "huggingface:openai/gpt-oss-120b": [NOTHING, effort("low"), *ladder(effort, *UP_TO_HIGH)],
    "zai:glm-5.2": [
        *(kind("enabled"), kind("disabled")),
        *ladder(glm, "high", "high", "high", "max", "max"),
    ],
    "moonshot:kimi-k2-thinking": [NOTHING] * 7,
    "minimax:MiniMax-M2.7": [NOTHING] * 7,
    "fireworks:accounts/fireworks/models/gpt-oss-120b": [
        *(NOTHING, effort("low")),
        *ladder(effort, *UP_TO_HIGH),
    ],
    "lmstudio:some-model": [effort("medium"), effort("none"), *ladder(effort, *UP_TO_XHIGH)],
    "vllm:some-model": [
        {"chat_template_kwargs": {"enable_thinking": True}},
        effort("none"),
        *ladder(effort, *ALL_FIVE),
    ],
    "sglang:some-model": [
        {"reasoning": {"enabled": True}},
        effort("none"),
        *ladder(effort, *ALL_FIVE),
    ],
    "llamacpp:some-model": [
        {"chat_template_kwargs": {"enable_thinking": True}},
        effort("none"),
        *ladder(effort, *ALL_FIVE),
    ],
    "compatible:some-model": [effort("medium"), effort("none"), *ladder(effort, *UP_TO_HIGH)],
}
CASES = [
    pytest.param(model, wish, fields, id=f"{model}/{wish}")
    for model, row in ROWS.items()
    for wish, fields in zip(WISHES, row, strict=True)
]


def without_cap(model: str, fields: Fields) -> Fields:
    path = load_catalog().entry(model).provider.parameters["max_tokens"]
    *above, last = path
    if not above:
        return {key: value for key, value in fields.items() if key != last}
    return {key: value for key, value in fields.items() if key != above[0] or last not in value}


def within(fields: Fields, body: Fields) -> bool:
    return all(
        within(value, body.get(key, {})) if isinstance(value, dict) else body.get(key) == value
        for key, value in fields.items()
    )


@pytest.mark.parametrize(("model", "wish", "fields"), CASES)
def test_the_wish_becomes_what_the_sheet_says(model, wish, fields):
    assert without_cap(model, dict(pondero.plan(model, wish).fields)) == fields


@pytest.mark.parametrize(("model", "wish", "fields"), CASES)
def test_what_is_said_is_taken_and_told_where_it_is_not_what_was_asked(model, wish, fields):
    if load_catalog().entry(model).provider.dialect not in NAMES:
        pytest.skip("this wire can be planned for and not yet talked to")
    emulator = Emulator()
    client = pondero.Client(transport=emulator, retry=Retry(attempts=1))
    reply = client.ask(model, "What is 2 + 2?", wish)
    (entry,) = emulator.log.entries
    assert (entry.status, "4" in reply.text) == (200, True)
    assert within(fields, entry.body)
    if wish == "off" and reply.thinking:
        assert "cannot_disable" in {note.code for note in reply.plan.adjustments}

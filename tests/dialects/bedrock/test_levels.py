"""Off is off, and a level is that level, in every maker's own spelling: as the service reads it."""

import pytest
from msgspec import json
from tests.targets import target

import pondero
from pondero.canon import Message, Request, Text
from pondero.client import load_catalog
from pondero.exchange import plan
from pondero.thinking import Policy, RequestParameters, parse_intent

from .making import WIRE

FAMILIES = {entry.family: entry for entry in reversed(pondero.models("bedrock"))}
SILENT = {"bedrock-deepseek-r1", "bedrock-kimi-k2-thinking", "bedrock-minimax", "bedrock-unaudited"}
"""Families that have no control at all."""


def read(entry, level):
    made = plan(entry, parse_intent(level), asked=RequestParameters(), policy=Policy())
    question = (Message("user", (Text("hi"),)),)
    request = Request(entry.model, question, stream=False)
    http = WIRE.caller().encode(request, made, target(entry))
    return made, WIRE.service().accept(http, "bedrock"), json.decode(http.body)


@pytest.mark.parametrize("entry", FAMILIES.values(), ids=lambda entry: entry.family)
def test_off_is_off_or_the_plan_says_what_it_is_instead(entry):
    made, accepted, _ = read(entry, "off")
    assert not accepted.thinks or made.adjustments
    if not made.adjustments:
        assert not made.will_think


@pytest.mark.parametrize("level", ["low", "medium", "high", "xhigh", "max"])
@pytest.mark.parametrize("entry", FAMILIES.values(), ids=lambda entry: entry.family)
def test_a_level_is_read_as_the_plan_means_it(entry, level):
    made, accepted, _ = read(entry, level)
    if made.budget is not None:
        assert (accepted.intent.kind, accepted.intent.tokens) == ("budget", made.budget)
    elif entry.capability.efforts:
        assert accepted.intent.kind == "level"
        assert accepted.intent.level == made.level
    if made.will_think is not None and entry.family not in SILENT:
        assert accepted.thinks == made.will_think


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("us.anthropic.claude-opus-4-8", {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}}),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"thinking": {"type": "enabled", "budget_tokens": 59904}}),
        ("us.amazon.nova-2-lite-v1:0", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}),
        ("openai.gpt-oss-120b-1:0", {"reasoning_effort": "high"}),
        ("openai.gpt-6-sol", {"reasoning": {"effort": "high"}}),
        ("global.xai.grok-4.7", {"reasoning": {"effort": "high"}}),
        ("qwen.qwen3-32b-v1:0", {"reasoning_config": "high"}),
        ("deepseek.v3-v1:0", {"reasoning_effort": "high"}),
        ("us.deepseek.r1-v1:0", None),
        ("amazon.nova-pro-v1:0", None),
    ],
)  # fmt: skip
def test_high_is_said_in_the_makers_own_words(model, fields):
    _, _, body = read(load_catalog().entry(f"bedrock:{model}"), "high")
    assert body.get("additionalModelRequestFields") == fields

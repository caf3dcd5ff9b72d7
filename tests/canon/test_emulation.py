"""The emulator's marks: every signature and item id that it makes has one, and a gateway's has none."""

from typing import Any

import pytest

from pondero.canon import Origin, Signature, is_emulated
from pondero.dialects.anthropic.service.signatures import _KEY as ANTHROPIC
from pondero.dialects.bedrock.service.signatures import KEY as BEDROCK
from pondero.dialects.bedrock.service.signatures import make_redacted
from pondero.dialects.gemini.service.signatures import sign
from pondero.dialects.openai_chat.service.signatures import stamp
from pondero.dialects.openai_responses.service.signatures import (
    ItemId,
    ThinkingContent,
    encrypt,
    stem_of,
    write_id,
)

FACTS: dict[str, Any] = {"model": "m", "thought": "hm", "prefix": bytes(16)}
MADE = {
    "anthropic": ANTHROPIC.sign("", **FACTS),
    "bedrock": BEDROCK.sign("", **FACTS),
    "bedrock, redacted": make_redacted(BEDROCK.sign("", **FACTS)),
    "gemini": sign("google", "words"),
    "openai_chat": stamp("words", model="m"),
    "openai_responses": encrypt(ThinkingContent("rs_1", "", "m")),
    "an id": write_id("rs", ItemId(stem_of(b"", emulated=True), 0, None, stored=False)),
}


@pytest.mark.parametrize("name", MADE)
def test_whatever_the_emulator_makes_is_recognised(name):
    for value in (MADE[name], {"a": [{"b": MADE[name]}]}):
        assert is_emulated(value)
        assert Signature("any", value, "m", "somewhere").emulated


def test_an_id_that_a_gateway_writes_is_no_emulators():
    id = write_id("rs", ItemId(stem_of(b"", emulated=False), 0, None, stored=False))
    assert not is_emulated({"id": id, "encrypted_content": "gAAAAABmRlcm8="})


@pytest.mark.parametrize("value", [None, 1, "", "EpMC", {"a": None}, [True]])
def test_other_values_are_not(value):
    assert not is_emulated(value)


def test_an_origin_without_a_mark_is_a_services():
    assert Origin("anthropic", "claude-opus-5").emulator is None

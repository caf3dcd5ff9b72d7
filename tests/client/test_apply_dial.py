"""A level set in a request that an SDK wrote."""

import json

import pytest

from pondero.canon import HttpRequest
from pondero.client import set_level
from pondero.thinking import Policy

TOOL = {"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}
ASKED = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 9000,
    "messages": [{"role": "user", "content": "What is the weather?"}],
    "tools": [TOOL],
}


def dialled(level="high", url="https://api.anthropic.com/v1/messages", **fields):
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    body = json.dumps({**ASKED, **fields}).encode()
    made, plan = set_level(HttpRequest("POST", url, headers, body), level, Policy())
    return json.loads(made.body), plan


def test_the_levels_fields_are_set_and_the_rest_stays():
    body, plan = dialled()
    assert body == {**ASKED, **plan.fields}
    assert plan.level == "high"


@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"temperature": 7.5},  # the service's rules refuse it
        {"tools": []},  # and this: nothing could be called
        {"shiny_new_field": {"of": "next year"}},  # and so do its types
    ],
    ids=["alone", "beside a number out of range", "without tools", "beside an unknown field"],
)
def test_a_tool_that_must_be_called_is_seen_whatever_else_is_wrong(beside):
    body, plan = dialled(tool_choice={"type": "any"}, **beside)
    assert "forced_tool_choice" in [note.code for note in plan.adjustments]
    assert body.get("thinking", {}).get("type") != "enabled"


def test_what_goes_elsewhere_passes_untouched():
    body, plan = dialled(url="https://api.anthropic.com/v1/elsewhere")
    assert (body, plan) == (ASKED, None)


def test_the_schema_of_an_answer_stays_next_to_the_effort():
    shape = {"type": "json_schema", "schema": {"type": "object", "additionalProperties": False}}
    body, _ = dialled(model="claude-opus-5", output_config={"format": shape})
    assert body["output_config"] == {"format": shape, "effort": "high"}

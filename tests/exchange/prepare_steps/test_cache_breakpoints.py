"""Marks for prompt caches: where a model's cache works by them, and the client set none."""

import json

import pytest
from msgspec.structs import replace

from pondero.canon import (
    CacheBreakpoint,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.client import load_catalog
from pondero.exchange import add_cache_breakpoints, plan, prepare
from pondero.thinking import Policy, RequestParameters, parse_intent

CLAUDE, CONVERSE = "anthropic:claude-opus-5", "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOL = Tool("look", "Looks.", {"type": "object", "properties": {}})
MARK = CacheBreakpoint()
TALK = Request(
    "m",
    (
        Message("user", (Text("first"),)),
        Message("assistant", (Text("yes"),)),
        Message("user", (Text("second"),)),
        Message("assistant", (Thinking("hm"), ToolCall("c", "look", {}))),
        Message("user", (ToolResult("c", (Text("seen"),)), Text(""))),
    ),
    system=(Text("Be brief."), Text("Be kind.")),
    tools=(TOOL,),
    max_tokens=2000,
)


def marks(request):
    """Return everything in a request that has a mark."""
    parts = [part for message in request.messages for part in message.parts]
    holders = [*request.system, *request.tools, *parts]
    return [each for each in holders if not isinstance(each, Thinking) and each.cache == MARK]


@pytest.mark.parametrize("model", [CLAUDE, CONVERSE])
def test_the_ends_of_system_and_of_the_last_two_questions_are_marked(model):
    made = add_cache_breakpoints(load_catalog().entry(model), TALK)
    assert marks(made) == [
        Text("Be kind.", cache=MARK),
        Text("second", cache=MARK),
        ToolResult("c", (Text("seen"),), cache=MARK),
    ]


def test_without_a_system_prompt_the_tools_are_marked():
    talk = Request("m", (Message("user", (Text("a"), Image("image/png", b"1"))),), tools=(TOOL,))
    assert [
        type(each) for each in marks(add_cache_breakpoints(load_catalog().entry(CLAUDE), talk))
    ] == [
        Tool,
        Image,
    ]


@pytest.mark.parametrize(
    "model",
    ["openai:gpt-5.5", "google:gemini-3-flash-preview", "deepseek:deepseek-v4-flash"],
)
def test_where_the_service_caches_by_itself_nothing_is_marked(model):
    assert add_cache_breakpoints(load_catalog().entry(model), TALK) is TALK


def test_a_client_that_marks_knows_best():
    own = Request("m", (Message("user", (Text("a", cache=CacheBreakpoint("1h")), Text("b"))),))
    assert add_cache_breakpoints(load_catalog().entry(CLAUDE), own) is own


def test_what_was_written_to_the_cache_is_read_from_it_a_turn_later():
    """The prefix up to a turn's last mark stands marked in the next turn too."""
    entry = load_catalog().entry(CLAUDE)

    def sent(request):
        planned = plan(entry, parse_intent("low"), asked=RequestParameters(), policy=Policy())
        how = {"asked": RequestParameters(), "policy": Policy(), "url": "https://x", "key": "k"}
        body = json.loads(
            prepare(entry, add_cache_breakpoints(entry, request), planned, **how).request.body
        )
        blocks = [block for message in body["messages"] for block in message["content"]]
        ends = [n for n, block in enumerate(blocks) if "cache_control" in block]
        plain = [
            {key: value for key, value in block.items() if key != "cache_control"}
            for block in blocks
        ]
        return [json.dumps(plain[: end + 1]) for end in ends]

    earlier = Request("m", TALK.messages[:3], TALK.system, TALK.tools, max_tokens=2000)
    assert sent(earlier)[-1] in sent(TALK)


def test_a_catalog_that_was_read_again_says_whether_they_are_needed():
    entry = load_catalog().entry(CONVERSE)
    other = replace(entry, provider=replace(entry.provider, dialect="openai_chat"))
    marked = [bool(marks(add_cache_breakpoints(each, TALK))) for each in (entry, other, entry)]
    assert marked == [True, False, True]

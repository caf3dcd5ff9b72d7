"""A request whose first turns are known from an earlier one is the same as one written whole."""

from operator import is_
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.plans import plan

from pondero.canon import (
    CacheBreakpoint,
    HttpRequest,
    LevelUpdate,
    Message,
    Part,
    Request,
    Signature,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
    WrittenBody,
    WrittenTurns,
)
from pondero.dialects import get_dialect
from pondero.errors import BadParameter

WRITERS = ("anthropic", "openai_chat", "openai_responses")
MARK = CacheBreakpoint()
TEXT_TOOL = Tool("patch", raw={"type": "custom", "name": "patch"}, kind="text")
TOOLS = st.sampled_from(((), (Tool("look", "Looks."),), (Tool("look"), TEXT_TOOL)))
SYSTEM = st.sampled_from(((), (Text("Be brief."),), (Text("Be"), Text("brief.", cache=MARK))))
CHAT_QUIRKS = st.fixed_dictionaries(
    {},
    optional={
        "replay_field": st.sampled_from(["same", "reasoning_content", "none"]),
        "replay_when": st.sampled_from(["tools", "always", "never"]),
        "replay_missing": st.just(" "),
        "replay_with": st.just({"reasoning": {"kept": True}}),
        "results_by_place": st.booleans(),
        "prefill_field": st.just("prefix"),
        "bridge": st.just("Noted."),
        "cache_marks": st.just("cache_control"),
        "tool_call_ids": st.just("9 alphanumerics"),
        "text_tools": st.booleans(),
        "refusals": st.just(True),
    },
)
QUIRKS = {
    "anthropic": st.just({}),
    "openai_chat": CHAT_QUIRKS,
    "openai_responses": st.fixed_dictionaries(
        {}, optional={"pairing": st.just(False), "system": st.just("message")}
    ),
}


class Earlier:
    """All turns that were kept, of any request; ``end`` is what a request keeps."""

    def __init__(self) -> None:
        self.end = 0
        self.kept: list[WrittenTurns] = []
        self.taken = 0

    def find_end(self, messages: tuple[Message, ...]) -> int:
        return min(self.end, len(messages))

    def find_written(self, messages: tuple[Message, ...], by: object) -> WrittenTurns | None:
        for each in reversed(self.kept):
            is_short = len(each.messages) <= len(messages)
            if is_short and each.by == by and all(map(is_, each.messages, messages)):
                self.taken += 1
                return each
        return None

    def keep_written(self, written: WrittenTurns, *, new: int) -> None:
        before = self.find_written(written.messages, written.by)
        known = 0 if before is None else sum(map(len, before.turns))
        assert new == sum(map(len, written.turns)) - known
        self.kept.append(written)


def _sign(dialect: str, value: Any) -> Signature:
    return Signature(dialect, value)


def _parts(dialect: str) -> dict[str, st.SearchStrategy[Part]]:
    ids = st.sampled_from(["call_1", "call_2", "abcdefghi"])
    odd: dict[str, list[Any]] = {
        "anthropic": [{"caller": {"type": "direct"}}],
        "openai_chat": [{"function_call": True}, {"type": "custom"}, {"id": None}, {"id": "x"}],
        "openai_responses": [{"type": "custom_tool_call", "item": {"id": "ct_1"}, "after": "rs_1"}],
    }
    thought = {
        "anthropic": "c2lnbmVk",
        "openai_chat": {"reasoning_content": True},
        "openai_responses": {"id": "rs_1", "encrypted_content": "x"},
    }[dialect]
    signed = st.sampled_from([None, *(_sign(dialect, each) for each in odd[dialect])])
    texts = st.builds(Text, st.sampled_from(["Hm.", " ", "", "\u00e9"]))
    marked = st.builds(Text, st.just("Marked."), cache=st.just(MARK))
    return {
        "said": texts,
        "marked": marked,
        "thought": st.builds(
            Thinking, st.just("hm"), signature=st.sampled_from([None, _sign(dialect, thought)])
        ),
        "call": st.builds(
            ToolCall,
            ids,
            st.sampled_from(["look", "patch"]),
            st.sampled_from([{"path": "/a"}, "text"]),
            signature=signed,
        ),
        "result": st.builds(ToolResult, ids, st.lists(texts, min_size=1, max_size=2).map(tuple)),
        "raw": st.just(UnknownPart(dialect, {"type": "other", "x": 1})),
    }


@st.composite
def talks(draw: st.DrawFn, dialect: str) -> tuple[Message, ...]:
    """Return a conversation, however odd."""
    parts, messages = _parts(dialect), list[Message]()
    for _ in range(draw(st.integers(1, 7))):
        role = draw(st.sampled_from(["user", "assistant", "assistant", "level", "system"]))
        if role == "level":
            messages.append(Message("system", (LevelUpdate("low"),)))
            continue
        kinds = {
            "assistant": ["said", "thought", "call", "call", "raw"],
            "user": ["said", "result", "result", "marked"],
            "system": ["said"],
        }[role]
        several = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
        messages.append(Message(role, tuple(draw(parts[kind]) for kind in several)))  # type: ignore[arg-type]
    return tuple(messages)


def _encode(dialect: str, request: Request, target: Target) -> HttpRequest | str:
    try:
        return get_dialect(dialect).caller().encode(request, plan(dialect), target)
    except BadParameter as error:
        return str(error)


def _check_written(body: WrittenBody) -> None:
    """What a body says it was made of is what a reader finds in it."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    turns = msgspec.json.decode(fields.pop(body.name), type=list[msgspec.Raw])
    assert tuple(map(bytes, turns)) == body.turns
    assert [(name, bytes(raw)) for name, raw in fields.items()] == [
        (name, bytes(raw)) for name, raw in body.fields.items()
    ]


@pytest.mark.parametrize("dialect", WRITERS)
@given(st.data())
@settings(max_examples=300, deadline=None)
def test_known_turns_change_no_byte(dialect, data):
    messages = data.draw(talks(dialect))
    earlier = Earlier()
    for _ in range(data.draw(st.integers(1, 4))):
        target = Target("r", "http://x", max_output=9, quirks=data.draw(QUIRKS[dialect]))
        system, tools = data.draw(SYSTEM), data.draw(TOOLS)
        request = Request("m", messages, system=system, tools=tools)
        earlier.end = data.draw(st.integers(0, len(messages)))
        whole = _encode(dialect, request, target)
        again = _encode(dialect, request, replace(target, earlier=earlier))
        assert again == whole
        if isinstance(again, HttpRequest) and isinstance(again.body, WrittenBody):
            _check_written(again.body)
        messages = (*messages, *data.draw(talks(dialect)))


ASK, SAID = Message("user", (Text("Why?"),)), Message("assistant", (Text("So."),))
THOUGHT = Thinking("hm", signature=_sign("openai_chat", {"reasoning_content": True}))
SEEN = Message("user", (ToolResult("call_1", (Text("seen"),)),))


def _called(dialect: str, value: Any, *before: Part) -> Message:
    signature = None if value is None else _sign(dialect, value)
    return Message("assistant", (*before, ToolCall("call_1", "look", {}, signature=signature)))


# What the turns after the known ones depend on: the quirks, the known messages, and the others.
BOUND = {
    "a result of the older kind": (
        "openai_chat",
        {},
        (ASK, _called("openai_chat", {"function_call": True}), ASK),
        (SEEN,),
    ),
    "a result without an id": (
        "openai_chat",
        {"results_by_place": True},
        (ASK, _called("openai_chat", {"id": None}), ASK),
        (SEEN,),
    ),
    "an answer that is begun": ("openai_chat", {"prefill_field": "prefix"}, (ASK, SAID), ()),
    "words after a result": (
        "openai_chat",
        {"bridge": "Noted."},
        (ASK, _called("openai_chat", None), SEEN),
        (ASK,),
    ),
    "thinking after a call": (
        "openai_chat",
        {"replay_when": "tools"},
        (ASK, _called("openai_chat", None), SEEN),
        (Message("assistant", (THOUGHT, Text("So."))), ASK),
    ),
    "thinking that needs a field": (
        "openai_chat",
        {"replay_with": {"reasoning": {"kept": True}}},
        (ASK, Message("assistant", (THOUGHT, Text("So."))), ASK),
        (SAID, ASK),
    ),
    "a mark too many": (
        "anthropic",
        {},
        (Message("user", (Text("Why?", cache=MARK),)),),
        (SAID, *[Message("user", (Text("Why?", cache=MARK),))] * 4),
    ),
    "a level after a level": (
        "openai_responses",
        {},
        (ASK, Message("system", (LevelUpdate("low"),))),
        (Message("system", (LevelUpdate("high"),)), ASK),
    ),
    "a result of a text tool": (
        "openai_responses",
        {},
        (ASK, _called("openai_responses", {"type": "custom_tool_call"}), ASK),
        (SEEN,),
    ),
}


@pytest.mark.parametrize(("dialect", "quirks", "known", "more"), BOUND.values(), ids=BOUND)
def test_what_depends_on_known_turns_is_the_same(dialect, quirks, known, more):
    target = Target("r", "http://x", max_output=9, quirks=quirks)
    earlier = Earlier()
    earlier.end = len(known)
    for messages in (known, (*known, *more)):
        request = Request("m", messages)
        whole = _encode(dialect, request, target)
        again = _encode(dialect, request, replace(target, earlier=earlier))
        assert again == whole
        if isinstance(again, HttpRequest) and isinstance(again.body, WrittenBody):
            _check_written(again.body)


def test_what_else_the_turns_depend_on_is_asked_for():
    filled = {"replay_field": "reasoning_content", "replay_missing": " "}
    made: dict[str, Any] = {"openai_chat": ({}, filled), "openai_responses": ({}, {})}
    for dialect, (first, second) in made.items():
        earlier = Earlier()
        earlier.end = 2
        call = Message("assistant", (ToolCall("call_1", "patch", "text"),))
        for quirks, tools in ((first, ()), (second, (TEXT_TOOL,))):
            target = Target("r", "http://x", max_output=9, quirks=quirks)
            request = Request("m", (call, SEEN, SAID, ASK), tools=tools)
            whole = _encode(dialect, request, target)
            again = _encode(dialect, request, replace(target, earlier=earlier))
        assert again == whole
        if isinstance(again, HttpRequest) and isinstance(again.body, WrittenBody):
            _check_written(again.body)


@pytest.mark.parametrize("dialect", WRITERS)
def test_known_turns_are_taken_as_they_are(dialect):
    messages, earlier = (ASK, SAID, ASK, SAID, ASK), Earlier()
    target = Target("r", "http://x", max_output=9, earlier=earlier)
    for _ in range(2):
        earlier.end = len(messages) - 2
        _encode(dialect, Request("m", messages), target)
        messages = (*messages, SAID, ASK)
    assert earlier.taken
    first = earlier.kept[0]
    earlier.kept = [replace(first, turns=(b'{"known":1}',))]
    sent = _encode(dialect, Request("m", messages), target)
    assert isinstance(sent, HttpRequest)
    assert sent.body.count(b'{"known":1}') == 1
    assert sent.body.count(b"Why?") == 3

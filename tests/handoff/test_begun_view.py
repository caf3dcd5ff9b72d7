"""A conversation whose beginning was handed over before has the same view as one that was not."""

from collections.abc import Sequence
from operator import is_

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.handoff.services import ALL, USUAL, conversation

from pondero.canon import (
    CacheBreakpoint,
    Image,
    LevelUpdate,
    Message,
    Origin,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_simple,
)
from pondero.handoff import BegunView, begun_view, continue_handoff, handoff, list_tools

STRICT = {"merges": True, "begins_with_user": True, "id_pattern": "[a-zA-Z0-9]{9}", "id_length": 9}
IDS = ("callnumb1", "callnumb2", "callnumb3", "callnumb4", "call number 5", "")
MAKER = Origin("anthropic", "claude-opus-5", "anthropic")


class Views:
    """All views that were kept."""

    def __init__(self) -> None:
        self.kept: list[tuple[tuple[Message, ...], BegunView]] = []

    def find(self, messages: Sequence[Message]) -> tuple[int, BegunView] | None:
        for before, begun in reversed(self.kept):
            if len(before) <= len(messages) and all(map(is_, before, messages)):
                return len(before), begun
        return None

    def keep(self, messages: tuple[Message, ...], begun: BegunView) -> None:
        seen = begun.view.messages
        assert begun.is_simple == all(map(is_simple, (*messages, *seen)))
        assert begun.tools == tuple(dict.fromkeys(list_tools(seen)))
        self.kept.append((messages, begun))


def _call(id: str) -> ToolCall:
    return ToolCall(id, "weather", {"city": "Rome"})


def _result(id: str) -> ToolResult:
    return ToolResult(id, (Text("Sunny."),))


ROUNDS = st.sampled_from(IDS).map(
    lambda id: [
        Message("assistant", (Thinking("hm", Signature("z" * 99, "anthropic")), _call(id)), MAKER),
        Message("user", (_result(id),)),
    ]
)
ODD = st.sampled_from(
    [
        Message("user", (Text("And now?"),)),
        Message("user", (Text(" "),)),
        Message("user", (Text("Marked.", cache=CacheBreakpoint()),)),
        Message("user", (Image(url="https://example.com/a.png"),)),
        Message("user", (_result("callnumb1"), Text("Late."))),
        Message("user", ()),
        Message("assistant", (Text("Well."),)),
        Message("assistant", (Thinking("hm"),)),
        Message("assistant", (_call("callnumb1"), _call("callnumb2"))),
        Message("assistant", (_call("callnumb1"), _call("callnumb1"))),
        Message("user", (_call("callnumb3"),)),
        Message("assistant", (_call("callnumb3"), Text("Wait."))),
        Message("user", (_result("callnumb3"),)),
        Message("user", (_result("callnumb2"), _result("callnumb1"))),
        Message("system", (Text("Be brief."),)),
        Message("system", (LevelUpdate("low"),)),
    ]
).map(lambda message: [message])
UNIQUE = st.integers(100, 999).map(
    lambda number: [
        Message("assistant", (Thinking("hm"), Text("I look."), _call(f"callno{number}"))),
        Message("user", (_result(f"callno{number}"),)),
    ]
)
TARGETS = st.one_of(
    *[
        st.builds(each.destination, foreign=st.sampled_from(["drop", "note"]), **more)
        for each in ALL
        for more in ({}, {name: st.just(value) for name, value in STRICT.items()})
    ]
)


@given(
    st.lists(UNIQUE | ROUNDS | ODD | ODD, min_size=2, max_size=9),
    st.lists(TARGETS, min_size=1, max_size=2),
    st.lists(st.integers(1, 12), min_size=9, max_size=9) | st.none(),
)
@settings(max_examples=600, deadline=None)
def test_the_view_is_the_same_whatever_was_handed_over_before(rounds, targets, ends):
    messages, views = (Message("user", (Text("Weather?"),)),), [Views() for _ in targets]
    for number, more in enumerate(rounds):
        messages = (*messages, *more)
        for target, known in zip(targets, views, strict=True):
            with pytest.MonkeyPatch.context() as patch:
                if ends is not None:  # wherever a beginning ends
                    end = min(ends[number], len(messages))
                    patch.setattr(begun_view, "_find_end", lambda _, end=end: end)
                assert continue_handoff(messages, target, known) == handoff(messages, target)
                other = targets[0]  # what was handed to another is not used
                assert continue_handoff(messages, other, known) == handoff(messages, other)


ASKED = Message("user", (Text("Weather?"),))
SAID = Message("assistant", (Text("Well."),))
LOOKS, SEEN = Message("assistant", (_call("callnumb1"),)), Message("user", (_result("callnumb1"),))
LOOKS_ELSEWHERE = Message("assistant", (_call("callnumb2"),))
SYSTEM = Message("system", (Text("Be brief."),))
LOWER = Message("system", (LevelUpdate("low"),))
TWO = Message("assistant", (_call("callnumb1"), _call("callnumb1")))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((ASKED, LOOKS, ASKED), (LOOKS_ELSEWHERE, SEEN)),  # the result comes later
        ((ASKED, LOOKS, SEEN), (LOOKS, SEEN)),  # an id is used again
        ((ASKED, LOOKS, SEEN), (TWO, SEEN)),
        ((ASKED, TWO, SEEN, SEEN), (LOOKS_ELSEWHERE, ASKED)),
        ((ASKED, SAID, ASKED), (SAID, ASKED)),
        ((ASKED, SAID, ASKED), (SAID, SYSTEM, ASKED)),
        ((ASKED, SAID, ASKED), (SYSTEM, SAID, ASKED)),
        ((ASKED, SYSTEM, ASKED), (SAID, ASKED)),
        ((SYSTEM, ASKED), (SAID, ASKED)),
        ((SYSTEM,), (SAID, ASKED)),
        ((ASKED, SYSTEM), (SAID, ASKED)),
        ((ASKED, SAID), (SAID, ASKED)),
        ((ASKED, LOOKS), (SEEN, SAID, ASKED)),
        ((ASKED, SAID, ASKED), (ASKED, SAID)),
        ((ASKED, SAID, ASKED), (LOWER, SAID, ASKED)),
        ((ASKED, LOWER, ASKED), (SAID, ASKED)),
        ((ASKED, SAID, ASKED), (Message("assistant", (Thinking("hm"),)), ASKED)),
        ((Message("user", (_call("callnumb1"),)), ASKED), (LOOKS, SEEN)),
        ((ASKED, Message("assistant", (_call(""),)), Message("user", (_result(""),))), (SAID,)),
        ((ASKED,), (Message("assistant", (_call(""),)), Message("user", (_result(""),)))),
        ((ASKED, LOOKS, ASKED, SEEN), (SAID, ASKED)),
        ((ASKED,), (LOOKS, ASKED, SEEN)),
    ],
)
@pytest.mark.parametrize("foreign", ["drop", "note"])
def test_a_rest_that_depends_on_what_is_before_it_is_handed_over_with_it(before, after, foreign):
    for reader in ALL:
        for rules in ({}, STRICT, {"answers_calls": False}, {"system_turns": "anywhere"}):
            target = replace(reader.destination(foreign=foreign, **rules), updates_from=1)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(begun_view, "_find_end", lambda _: len(before))
                known = continue_handoff((*before, *after), target, Views())
            assert known == handoff((*before, *after), target)


def test_only_new_messages_are_handed_over():
    for reader in USUAL:
        for maker in USUAL:
            known, target = Views(), reader.destination()
            first = conversation(maker)
            messages = tuple(first)
            for number in range(3):
                call = ToolCall(f"callnumb{number}", "weather", {})
                more = Message("assistant", (call,)), Message("user", (_result(call.id),))
                messages = (*messages, *more)
                continue_handoff(messages, target, known)
            assert [len(before) for before, _ in known.kept][-2:] == [len(first), len(first) + 2]

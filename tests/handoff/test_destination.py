"""A seal its own maker did not take back: withheld from it, and said so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import (
    Image,
    Json,
    Message,
    Origin,
    ReplayRules,
    Signature,
    Text,
    Thinking,
    ToolCall,
)
from pondero.handoff import REFUSED, Destination, handoff, signature_digest

ORIGIN = Origin("p", "m")


def sealed(value: Json) -> Signature:
    return Signature("wire", value, "m", "p")


def seen(refused: set[str], *parts) -> tuple[tuple, dict[str, str]]:
    """Return the parts of an answer as they may go back, and why others may not."""
    to = Destination(
        dialect="wire",
        model="m",
        provider="p",
        route="p",
        takes=ReplayRules(spoken_media=("",)),
        refused=frozenset(map(signature_digest, refused)),
    )
    view = handoff([Message("assistant", parts, ORIGIN)], to)
    shown = view.messages[0].parts if view.messages else ()
    return shown, {change.what: change.why for change in view.manifest.changes}


def test_thinking_goes_with_its_seal():
    kept = Thinking("and so", sealed("good"))
    parts, why = seen({"bad"}, Thinking("I see", sealed("bad")), kept, Text("Yes."))
    assert parts == (kept, Text("Yes."))
    assert why == {"thinking": REFUSED}


@pytest.mark.parametrize(
    "part",
    [Text("Yes.", sealed("bad")), Image("image/png", b"x", signature=sealed({"a": ["bad"]}))],
)
def test_whatever_else_has_such_a_seal_stays_without_it(part):
    parts, why = seen({"bad"}, part)
    assert [each.signature for each in parts] == [None]
    assert why == {"seal": REFUSED}


def test_a_call_stays_a_call():
    parts, why = seen({"bad"}, ToolCall("id", "look", {}, sealed("bad")))
    assert parts[0] == ToolCall("id", "look", {})
    assert why["seal"] == REFUSED


def test_a_foreign_seal_is_foreign_whatever_was_refused():
    foreign = Thinking("I see", Signature("other", "bad", "m", "p"))
    _, why = seen({"bad"}, foreign, Text("Yes."))
    assert why["thinking"] != REFUSED


texts = st.text(max_size=5)


@given(st.lists(texts), st.sets(texts))
def test_no_refused_seal_is_in_the_view_and_no_other_is_missing(values, refused):
    thoughts = [Thinking("x", sealed({"seal": value})) for value in values]
    parts, _ = seen(refused - {"seal"}, *thoughts, Text("Yes."))
    assert list(parts[:-1]) == [
        each for each in thoughts if each.signature.value["seal"] not in refused - {"seal"}
    ]

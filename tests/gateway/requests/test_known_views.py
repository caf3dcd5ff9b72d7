"""The views of a conversation that are kept say which of its messages are simple."""

from types import SimpleNamespace
from typing import Any

import pytest

from pondero.canon import Image, Message, Text
from pondero.gateway.requests.known_views import EarlierViews
from pondero.gateway.state.conversation_memo import ConversationMemo, KnownConversation
from pondero.gateway.state.searched_text import SearchedText
from pondero.handoff import BegunView, Manifest, View

ENTRY: Any = SimpleNamespace(
    provider=SimpleNamespace(name="anthropic"), deployment="", model="claude-opus-5"
)
WORDS = tuple(Message("user", (Text(str(number)),)) for number in range(3))
SHOWN = (*WORDS[:1], Message("user", (Image(url="https://example.com/a.png"),)), *WORDS[2:])


def _keep(sent: tuple[Message, ...], restored: tuple[Message, ...], *, simple: bool) -> Any:
    memo = ConversationMemo(1 << 20)
    turns = SearchedText(tuple(b"%d" % number for number in range(len(sent))))
    memo.keep(KnownConversation(b"", sent, (9,) * len(sent), turns))
    target: Any = None
    view = View(restored, Manifest())
    EarlierViews(memo, sent, ENTRY).keep(
        restored, BegunView(target, view, frozenset(), (), ("look",), simple)
    )
    return EarlierViews(memo, sent, ENTRY)


@pytest.mark.parametrize(
    ("sent", "simple", "count"), [(WORDS, True, 3), (WORDS, False, 0), (SHOWN, True, 0)]
)
def test_messages_are_simple_if_they_are_as_sent_and_as_restored(sent, simple, count):
    views = _keep(sent, WORDS, simple=simple)
    assert views.count_simple((*WORDS, WORDS[0])) == count
    assert views.find_simple((*WORDS, WORDS[0])) == ((3, ("look",)) if count else (0, ()))


def test_other_messages_are_not_known_to_be_simple():
    views = _keep(WORDS, WORDS, simple=True)
    assert views.count_simple(WORDS) == 3
    assert views.find_simple((*WORDS[:2], SHOWN[1])) == (0, ())
    assert views.count_simple((*WORDS[:2], SHOWN[1])) == 0

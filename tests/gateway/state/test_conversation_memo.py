"""The memo of conversations: what it keeps, what it forgets, and that it never holds too much."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import Message, Text
from pondero.gateway.state.conversation_memo import ConversationMemo, KnownConversation


def _message(text: str) -> Message:
    return Message("user", (Text(text),))


def _conversation(*messages: Message) -> KnownConversation:
    return KnownConversation(messages, tuple(len(each.text) for each in messages))


def test_messages_of_several_conversations_count_once():
    memo = ConversationMemo(1 << 20)
    shared = _message("x" * 10_000)
    memo.keep(b"one", _conversation(shared))
    alone = memo.used
    memo.keep(b"two", _conversation(shared, _message("y")))
    assert memo.used - alone < 10_000


def test_a_fact_is_known_of_this_message_and_no_equal_one():
    memo = ConversationMemo(1 << 20)
    kept, equal = _message("x"), _message("x")
    memo.keep(b"one", _conversation(kept))
    memo.note(kept, "digest", (), "abc")
    assert memo.recall(kept, "digest", ()) == "abc"
    assert memo.recall(kept, "digest", ("other",)) is None
    assert memo.recall(equal, "digest", ()) is None


def test_the_oldest_conversation_is_forgotten_first():
    memo = ConversationMemo(12_000)
    memo.keep(b"one", _conversation(_message("x" * 1_000)))
    memo.keep(b"two", _conversation(_message("y" * 1_000)))
    memo.find(b"one")
    memo.keep(b"three", _conversation(_message("z" * 1_000)))
    found = [key for key in (b"one", b"two", b"three") if memo.find(key) is not None]
    assert found == [b"one", b"three"]


@given(
    size=st.integers(0, 20_000),
    steps=st.lists(
        st.tuples(st.sampled_from("ckfs"), st.integers(0, 5), st.integers(0, 3_000)), max_size=40
    ),
)
def test_it_holds_no_more_than_its_size_and_nothing_when_empty(size, steps):
    memo = ConversationMemo(size)
    messages = [_message(f"{number}") for number in range(6)]
    for number, (kind, at, weight) in enumerate(steps):
        key = b"%d" % (number if kind == "c" else at)
        if kind in "ck":
            taken = messages[: at + 1]
            sizes = tuple(weight for _ in taken)
            memo.keep(key, KnownConversation(tuple(taken), sizes))
        elif kind == "f":
            memo.note(messages[at], "fact", weight, "x", weight=weight)
        else:
            memo.keep_state(key, "x", weight=weight)
        assert 0 <= memo.used <= size


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 12))
def test_what_is_known_of_a_beginning_holds_for_these_messages_in_this_order(known, more, changed):
    memo = ConversationMemo(1 << 20)
    messages = tuple(_message(f"{number}") for number in range(known + more))
    memo.keep(b"one", _conversation(*messages))
    memo.note_prefix(messages[:known], "state", "key", "abc")
    reached = more < 8  # it looks no further back
    assert memo.find_prefix(messages, "state", "key") == ((known, "abc") if reached else None)
    assert memo.find_prefix(messages, "state", "other") is None
    assert memo.find_prefix(messages[: known - 1], "state", "key") is None
    at = changed % len(messages)
    other = (*messages[:at], _message(f"{at}"), *messages[at + 1 :])
    is_same = reached and at >= known
    assert memo.find_prefix(other, "state", "key") == ((known, "abc") if is_same else None)

"""The memo of conversations: what it keeps, what it forgets, and that it never holds too much."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import Message, Text
from pondero.gateway.state.conversation_memo import ConversationMemo, KnownConversation
from pondero.gateway.state.searched_text import SearchedText


def _message(text: str) -> Message:
    return Message("user", (Text(text),))


def _conversation(about: bytes, *messages: Message) -> KnownConversation:
    turns = tuple(each.text.encode() for each in messages)
    return KnownConversation(about, messages, tuple(map(len, turns)), SearchedText(turns))


def test_messages_of_several_conversations_count_once():
    memo = ConversationMemo(1 << 20)
    shared = _message("x" * 10_000)
    memo.keep(_conversation(b"one", shared))
    alone = memo.used
    memo.keep(_conversation(b"two", shared, _message("y")))
    assert memo.used - alone < 10_000


def test_a_fact_is_known_of_this_message_and_no_equal_one():
    memo = ConversationMemo(1 << 20)
    kept, equal = _message("x"), _message("x")
    memo.keep(_conversation(b"one", kept))
    memo.note(kept, "digest", (), "abc")
    assert memo.recall(kept, "digest", ()) == "abc"
    assert memo.recall(kept, "digest", ("other",)) is None
    assert memo.recall(equal, "digest", ()) is None


def test_the_oldest_conversation_is_forgotten_first():
    memo = ConversationMemo(14_000)
    for letter in ("x", "y"):
        memo.keep(_conversation(b"", _message(letter * 1_000)))
    memo.find(b"", [b"x" * 1_000], 1)
    memo.keep(_conversation(b"", _message("z" * 1_000)))
    found = [each for each in "xyz" if memo.find(b"", [each.encode() * 1_000], 1) is not None]
    assert found == ["x", "z"]


@given(st.lists(st.integers(0, 1), min_size=1, max_size=6), st.integers(0, 5))
def test_a_conversation_is_known_by_all_its_turns(numbers, changed):
    memo = ConversationMemo(1 << 20)
    kept = _conversation(b"ours", *(_message(f"{number}") for number in numbers))
    memo.keep(kept)
    turns = [b"%d" % number for number in numbers]
    assert memo.find(b"ours", [*turns, b"more"], len(turns)) is kept
    assert memo.find(b"theirs", turns, len(turns)) is None
    turns[changed % len(turns)] = b"another"
    assert memo.find(b"ours", turns, len(turns)) is None


def test_another_conversation_with_the_same_last_turn_takes_its_place():
    memo = ConversationMemo(1 << 20)
    first = memo.keep(_conversation(b"", _message("a"), _message("z")))
    memo.note_conversation(first, "fact", "key", "x", weight=100)
    used = memo.used
    memo.keep(_conversation(b"", _message("b"), _message("z")))
    assert memo.find(b"", [b"a", b"z"], 2) is None
    assert memo.find(b"", [b"b", b"z"], 2) is not None
    memo.note_conversation(first, "late fact", "key", "x", weight=100)  # it is gone
    assert memo.used == used - 100


@given(
    size=st.integers(0, 20_000),
    steps=st.lists(
        st.tuples(st.sampled_from("cknfs"), st.integers(0, 5), st.integers(0, 3_000)), max_size=40
    ),
)
def test_it_holds_no_more_than_its_size_and_nothing_when_empty(size, steps):
    memo = ConversationMemo(size)
    kept: list[KnownConversation] = []
    messages = [_message(f"{number}") for number in range(6)]
    for number, (kind, at, weight) in enumerate(steps):
        key = b"%d" % (number if kind == "c" else at)
        if kind in "ck":
            taken = messages[: at + 1]
            sizes = tuple(weight for _ in taken)
            turns = SearchedText(tuple(each.text.encode() for each in taken))
            kept.append(memo.keep(KnownConversation(key, tuple(taken), sizes, turns)))
        elif kind == "n" and kept:
            memo.note_conversation(kept[at % len(kept)], "fact", number, "x", weight=weight)
        elif kind == "f":
            memo.note(messages[at], "fact", weight, "x", weight=weight)
        else:
            memo.search(b"%d" % at * weight)
        assert 0 <= memo.used <= size


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 12))
def test_what_is_known_of_a_beginning_holds_for_these_messages_in_this_order(known, more, changed):
    memo = ConversationMemo(1 << 20)
    messages = tuple(_message(f"{number}") for number in range(known + more))
    memo.keep(_conversation(b"one", *messages))
    memo.note_prefix(messages[:known], "state", "key", "abc")
    reached = more < 8  # it looks no further back
    assert memo.find_prefix(messages, "state", "key") == ((known, "abc") if reached else None)
    assert memo.find_prefix(messages, "state", "other") is None
    assert memo.find_prefix(messages[: known - 1], "state", "key") is None
    at = changed % len(messages)
    other = (*messages[:at], _message(f"{at}"), *messages[at + 1 :])
    is_same = reached and at >= known
    assert memo.find_prefix(other, "state", "key") == ((known, "abc") if is_same else None)

"""Turns: the turn that an answer makes is the last one of the conversation with it."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import Message, Text, ToolCall
from pondero.gateway.signatures.turns import digest_answer, split_turns

CALLS = st.lists(
    st.builds(ToolCall, st.just("call_1"), st.just("look"), st.sampled_from(({}, {"at": 1}))),
    max_size=2,
)
TEXTS = st.sampled_from(("", "yes", "no"))
MESSAGES = st.one_of(
    st.builds(
        lambda role, text: Message(role, (Text(text),)),
        st.sampled_from(("user", "assistant", "system")),
        TEXTS,
    ),
    st.builds(lambda text, calls: Message("assistant", (Text(text), *calls)), TEXTS, CALLS),
)


@given(st.lists(MESSAGES, max_size=9), TEXTS, CALLS)
def test_an_answer_is_the_last_turn(said: list[Message], text: str, calls: list[ToolCall]) -> None:
    """Whatever was said before, the same twice or in several messages, both ways agree."""
    answer = Message("assistant", (Text(text), *calls))
    digest = digest_answer(said, split_turns(said), text=text, calls=calls)
    assert digest == split_turns([*said, answer])[-1].digest

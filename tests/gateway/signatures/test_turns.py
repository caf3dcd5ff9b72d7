"""Turns: the turn that an answer makes is the last one of the conversation with it."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import Message, Text
from pondero.gateway.signatures.turns import digest_answer, split_turns

MESSAGES = st.builds(
    lambda role, text: Message(role, (Text(text),)),
    st.sampled_from(("user", "assistant", "system")),
    st.sampled_from(("", "yes", "no")),
)


@given(st.lists(MESSAGES, max_size=9), st.sampled_from(("", "yes", "no")))
def test_an_answer_is_the_last_turn(said: list[Message], text: str) -> None:
    """Whatever was said before, the same twice or in several messages, both ways agree."""
    answer = Message("assistant", (Text(text),))
    digest = digest_answer(said, split_turns(said), text=text, calls=())
    assert digest == split_turns([*said, answer])[-1].digest

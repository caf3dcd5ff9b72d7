"""How the messages of a request are told apart before they are read."""

from pondero.dialects.turn_forms import TurnForm, read_role

# Not ``function``, which is another role if any message does not fit the types.
_ANSWERS = {
    b'"assistant"': True,
    **dict.fromkeys((b'"user"', b'"tool"', b'"system"', b'"developer"'), False),
}


def _is_answer(turn: bytes) -> bool | None:
    return _ANSWERS.get(read_role(turn))


TURN_FORM = TurnForm(
    field="messages",
    is_answer=_is_answer,
    stand_in=b'{"role":"user","content":"."}',
    apart=frozenset({"tools"}),
    joined=frozenset({"functions"}),  # without tools, calls are read in the older form
)

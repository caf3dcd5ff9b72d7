"""How the contents of a request are told apart before they are read."""

from pondero.dialects.turn_forms import TurnForm, read_role

_ANSWERS = {b'"model"': True, b'"user"': False}


def _is_answer(turn: bytes) -> bool | None:
    return _ANSWERS.get(read_role(turn))


TURN_FORM = TurnForm(
    field="contents",
    is_answer=_is_answer,
    stand_in=b"{}",
    apart=frozenset({"tools", "systemInstruction"}),
)

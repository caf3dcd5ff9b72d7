"""How the messages of a request are told apart before they are read."""

from msgspec import DecodeError, Raw, Struct

from pondero.canon import get_decoder
from pondero.dialects.turn_forms import TurnForm

_NOTHING = Raw(b"")
_ANSWERS = {b'"assistant"': True, b'"user"': False, b'"system"': False}


class _Turn(Struct):
    role: Raw = _NOTHING
    output_config: Raw = _NOTHING
    clear_at: Raw = _NOTHING


_TURN = get_decoder(_Turn)


def _is_answer(turn: bytes) -> bool | None:
    """Return whose a message is; one that sets a level holds for those after it."""
    try:
        read = _TURN.decode(turn)
    except DecodeError:
        return None
    if bytes(read.output_config) or bytes(read.clear_at):
        return None
    return _ANSWERS.get(bytes(read.role))


TURN_FORM = TurnForm(field="messages", is_answer=_is_answer, apart=frozenset({"tools", "system"}))

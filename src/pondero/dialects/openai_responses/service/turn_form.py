"""How the items of a request are told apart before they are read."""

from msgspec import DecodeError, Raw, Struct

from pondero.canon import get_decoder
from pondero.dialects.turn_forms import TurnForm

# Other items offer tools, set levels, or name something that the service has stored.
_ANSWERS = {
    **dict.fromkeys((b'"reasoning"', b'"function_call"', b'"custom_tool_call"'), True),
    **dict.fromkeys((b'"function_call_output"', b'"custom_tool_call_output"'), False),
}
_SPEAKERS = {
    b'"assistant"': True,
    **dict.fromkeys((b'"user"', b'"system"', b'"developer"'), False),
}


class _Item(Struct):
    type: Raw = Raw(b'"message"')
    role: Raw = Raw(b"")


_ITEM = get_decoder(_Item)


def _is_answer(turn: bytes) -> bool | None:
    try:
        item = _ITEM.decode(turn)
    except DecodeError:
        return None
    kind = bytes(item.type)
    return _SPEAKERS.get(bytes(item.role)) if kind == b'"message"' else _ANSWERS.get(kind)


TURN_FORM = TurnForm(field="input", is_answer=_is_answer, apart=frozenset({"tools"}))

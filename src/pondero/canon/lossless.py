"""Canon values as JSON text, and back: every seal, every number and every half of a character.

Two halves of a character that stand side by side come back as the one character they are.
"""

from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind")


def dumped(value: Any) -> str:
    """Return a value as JSON, lone halves of characters and huge numbers included."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        import json  # noqa: PLC0415 - only for what msgspec refuses

        return json.dumps(msgspec.to_builtins(value, builtin_types=()), separators=(",", ":"))


def loaded(text: str | bytes, kind: type[Kind]) -> Kind:
    """Return what was dumped; raises ValueError for what is none of that kind."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError):
            raise
        import json  # noqa: PLC0415 - only for what msgspec refuses

        return msgspec.convert(json.loads(text), kind)

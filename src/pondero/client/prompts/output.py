"""The options ``output`` and ``retries``: the schema to ask for, and asking again.

The answer is always checked against the original type or schema, whatever the service was given.
"""

from collections.abc import Mapping
from types import FunctionType, UnionType
from typing import Any

from msgspec.structs import replace

from ...canon import Json, OutputFormat, Reply, V, decode_json
from ...errors import BadParameter, Malformed
from ...store import TokenBill
from ..tools.schema_check import SchemaCheck
from ..tools.schemas import make_schema

OutputLike = type[V] | UnionType | Mapping[str, Any] | OutputFormat | bool | None
"""What an answer must be: a type, a union of types, a JSON schema, or True for any JSON."""

_ASKED_FOR = ("stop", "other")  # an answer that ended otherwise was not meant to be the value


class JsonOfSchema:
    """Reads JSON that fits a schema, as a pydantic model reads its own."""

    __name__ = "JSON"

    def __init__(self, schema: Json) -> None:
        self._check = SchemaCheck(schema, ignores_unknown=True)

    def model_validate_json(self, text: str) -> Json:
        """Return the value; raises ValueError if it is no JSON, or does not fit."""
        value: Json = decode_json(text, object)
        if problem := self._check.find_problem(value):
            raise ValueError(f"the answer does not fit the schema: {problem}")
        return value


def parse_output(given: Any) -> OutputFormat | None:
    """Return the output format of a type, a schema, or True for any JSON."""
    if given is None or given is False or isinstance(given, OutputFormat):
        return given or None
    if given is True:
        return OutputFormat()
    if isinstance(given, Mapping):
        return OutputFormat(dict(given))
    if isinstance(given, str | FunctionType):
        what = f"the text {given!r}" if isinstance(given, str) else "a function"
        raise BadParameter(f"output is a type or a JSON schema, not {what}; pass the class itself")
    return OutputFormat(make_schema(given), getattr(given, "__name__", "answer"))


def output_kind(given: Any) -> Any:
    """Return the type that reads the answer; None for any JSON."""
    if given is None or isinstance(given, bool):
        return None
    if isinstance(given, Mapping | OutputFormat):
        schema = given.schema if isinstance(given, OutputFormat) else dict(given)
        return None if schema is None else JsonOfSchema(schema)
    return given


def parse_retries(given: object, output: object) -> int:
    """Return how often to ask again; raises BadParameter."""
    if given is None or given == 0:
        return 0
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise BadParameter(f"invalid retries={given!r}; use 0 or more")
    if output is None or output is False:
        raise BadParameter("retries needs output: it asks again if the value does not fit")
    return given


def find_correction(reply: Reply) -> str | None:
    """Return the words that ask again for a value; None if it fits, or none was to be expected."""
    if reply.finish not in _ASKED_FOR or reply.tool_calls:
        return None
    try:
        _ = reply.value
    except Malformed as error:
        cause = error.__cause__ or error
        return (
            f"This answer cannot be used: {str(cause)[:_LONGEST]}\n"
            "Answer again, with the corrected JSON and nothing else."
        )
    return None


_LONGEST = 2_000


def add_spent(reply: Reply, earlier: Reply) -> Reply:
    """Return a reply whose usage and bill include those of an earlier try."""
    bills = [each for each in (earlier.bill, reply.bill) if isinstance(each, TokenBill)]
    bill = sum(bills[1:], bills[0]) if bills else None
    return replace(reply, usage=earlier.usage + reply.usage, bill=bill)

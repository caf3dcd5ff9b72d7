"""The whole answer, with the plan behind it and how the two compare."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal

from msgspec import MsgspecError, Struct

from ..errors import Malformed
from .decoder import decode_json, pydantic_adapter
from .events import Finish, Usage
from .parts import Json, Message, Part, Text, Thinking, ToolCall

Verdict = Literal[
    "as_planned",
    "did_not_think",
    "thought_though_off",
    "overran_budget",
    "exhausted",
    "unknown",
]


if TYPE_CHECKING:
    from typing_extensions import TypeVar  # Python's own has ``default`` from 3.13 on

    from ..thinking import Adjustment, Plan  # a room above: for type checkers, never loaded here

    V = TypeVar("V", default=Any)
else:
    from typing import TypeVar

    Adjustment = Plan = Any
    V = TypeVar("V")


class Reply(Struct, Generic[V], frozen=True):
    """One answer. ``verdict`` says how it compares with ``plan``, which a client's answers have.

    ``cap`` is the max_tokens to retry with, where all output was spent on thinking. ``kind`` is
    the type that was asked for with ``output=``, and that ``value`` has.

    >>> reply = client.ask("claude-opus-5/low", "What is 17 * 23?")
    >>> reply.text, reply.finish, reply.verdict
    ('17 * 23 = 391', 'stop', 'as_planned')
    >>> reply.usage.thinking, reply.plan.level
    (53, 'low')
    """

    message: Message
    finish: Finish
    usage: Usage = Usage()
    plan: Plan | None = None
    verdict: Verdict = "unknown"
    raw_finish: str | None = None
    request_id: str | None = None
    model: str | None = None
    grounding: Json = None
    safety: Json = None
    extras: Json = None
    cap: int | None = None
    kind: Any = None

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        """Return the answer for a notebook: its thinking folded, and escaped, before it."""
        return "\n\n".join((*_folded(self.thinking, self.usage), self.text))

    @property
    def text(self) -> str:
        """Return the visible words."""
        return self.message.text

    @property
    def thinking(self) -> tuple[str, ...]:
        """Return the readable thinking, one string a part."""
        return self.message.thinking

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls in order."""
        return self.message.tool_calls

    @property
    def adjustments(self) -> tuple[Adjustment, ...]:
        """Return the differences between what was asked and what was sent, repairs included."""
        return () if self.plan is None else self.plan.adjustments

    @property
    def value(self) -> V:
        """Return the answer's JSON as the type that was asked for, or raise Malformed.

        A type that has ``model_validate_json``, as pydantic's have, reads the answer by that, and
        pydantic reads a type that has such types inside. Where no type was asked for, any JSON is
        a value.
        """
        value: V = _read(self.text, Any if self.kind is None else self.kind)
        return value


def _folded(thinking: tuple[str, ...], usage: Usage) -> tuple[str, ...]:
    """Return the thinking as a part of the page that unfolds; nothing where there is none.

    A blank line would end the block of HTML, but not inside of <pre>.
    """
    if not thinking:
        return ()
    from html import escape  # noqa: PLC0415 - only in notebooks

    count = f" ({usage.thinking:,} tokens)" if usage.thinking else ""
    words = escape("\n\n".join(thinking), quote=False)
    return (
        f"<details><summary>Thinking{count}</summary>",
        f"<pre>{words}</pre>",
        "</details>",
    )


def _read(text: str, kind: Any) -> Any:
    validate = getattr(kind, "model_validate_json", None)
    if validate is None and (inside := pydantic_adapter(kind)) is not None:
        validate = inside.validate_json
    try:
        return decode_json(text, kind) if validate is None else validate(text)
    except (MsgspecError, ValueError, RecursionError) as error:
        name = "JSON" if kind is Any else getattr(kind, "__name__", repr(kind))
        message = f"the answer is not the {name} that was asked for ({error}): {text[:60]!r}"
        raise Malformed(message) from error


def is_thinking_only(parts: Iterable[Part], usage: Usage) -> bool:
    """Return whether an answer holds thinking, but no words and no tool call."""
    thought = bool(usage.thinking)
    for part in parts:
        match part:
            case Thinking():
                thought = True
            case Text() if not part.text.strip():
                pass
            case Text() | ToolCall():
                return False
    return thought

"""The whole answer, with its plan and the verdict on it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal

from msgspec import MsgspecError, Struct, to_builtins

from ..errors import Malformed
from .decoder import decode_json, pydantic_adapter, union_members
from .events import Finish, Usage
from .parts import Json, Message, Part, Text, Thinking, ToolCall

Verdict = Literal[
    "as_planned", "did_not_think", "thought_though_off", "overran_budget", "exhausted", "unknown"
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
    """One answer. ``verdict`` compares it with ``plan``, which every answer of a client has.

    ``cap``: the max_tokens to retry with, if thinking used all output. ``kind``: the type given
    with ``output=``, which ``value`` has.

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
        return "\n\n".join((*_fold_thinking(self.thinking, self.usage), self.text))

    @property
    def text(self) -> str:
        """Return the visible text."""
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
        """Return the differences between the requested and the sent level, with repairs."""
        return () if self.plan is None else self.plan.adjustments

    @property
    def value(self) -> V:
        """Return the answer's JSON as the type given with ``output=``, or raise Malformed.

        pydantic reads its models, and types that contain them. Without a type, any JSON is valid.
        """
        value: V = _read(self.text, Any if self.kind is None else self.kind)
        return value


def _fold_thinking(thinking: tuple[str, ...], usage: Usage) -> tuple[str, ...]:
    """Return the thinking as an HTML block that unfolds; empty if there is no thinking."""
    if not thinking:
        return ()
    from html import escape  # noqa: PLC0415 - only in notebooks

    count = f" ({usage.thinking:,} tokens)" if usage.thinking else ""
    text = escape("\n\n".join(thinking), quote=False)
    # <pre>, because a blank line would end any other block of HTML in Markdown.
    return (f"<details><summary>Thinking{count}</summary>", f"<pre>{text}</pre>", "</details>")


def _read(text: str, kind: Any) -> Any:
    try:
        return _read_as(text, kind)
    except (MsgspecError, ValueError, RecursionError) as error:
        name = "JSON" if kind is Any else getattr(kind, "__name__", repr(kind))
        message = f"the answer is not the {name} that was asked for ({error}): {text[:60]!r}"
        raise Malformed(message) from error


def _read_as(text: str, kind: Any) -> Any:
    validate = getattr(kind, "model_validate_json", None)
    if validate is None and (inside := pydantic_adapter(kind)) is not None:
        validate = inside.validate_json
    if validate is not None:
        return validate(text)
    try:
        return decode_json(text, kind)
    except TypeError:  # a union of types that msgspec cannot tell apart
        return _read_union(text, union_members(kind))


def _read_union(text: str, members: tuple[Any, ...]) -> Any:
    """Read one of several types: the one that keeps every key, else the first that fits."""
    raw, found, reasons = decode_json(text, object), [], []
    for each in members:
        try:
            found.append(_read_as(text, each))
        except (MsgspecError, ValueError) as error:
            reasons.append(f"{getattr(each, '__name__', each)}: {error}")
    if not found:
        raise ValueError("; ".join(reasons))
    return next((value for value in found if _count_keys(value) == _count_keys(raw)), found[0])


def _count_keys(value: Any) -> int:
    plain = to_builtins(value)
    return len(plain) if isinstance(plain, dict) else 0


def is_thinking_only(parts: Iterable[Part], usage: Usage) -> bool:
    """Return whether an answer has thinking, but no text and no tool call."""
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

"""The whole answer, with its plan and the verdict on it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from msgspec import MsgspecError, Struct, to_builtins
from msgspec.structs import replace

from ..errors import BadParameter, Malformed, UsageError
from .cost import Cost
from .decoder import convert_json, decode_json, pydantic_adapter, union_members
from .events import Finish, Usage
from .parts import Json, Message, Origin, Part, Text, Thinking, ToolCall
from .saved_form import dump_saved, load_saved

Verdict = Literal[
    "as_planned", "did_not_think", "thought_though_off", "overran_budget", "exhausted", "unknown"
]


if TYPE_CHECKING:
    from typing_extensions import TypeVar  # Python's own has ``default`` from 3.13 on

    from ..thinking import Adjustment, Plan  # a room above: for type checkers, never loaded here
    from .cost import Bill

    V = TypeVar("V", default=Any)
else:
    from typing import TypeVar

    Adjustment = Bill = Plan = Any  # a saved reply is converted without them, then by _OF_ABOVE
    V = TypeVar("V")


class Reply(Struct, Generic[V], frozen=True):
    """One answer. ``verdict`` compares it with ``plan``, which every answer of a client has.

    ``cap``: the max_tokens to retry with, if thinking used all output. ``kind``: the type given
    with ``output=``, which ``value`` has. ``bill``: the tokens of each try, for ``cost``.

    >>> reply = client.ask("claude-opus-5/low", "What is 17 * 23?")
    >>> reply.text, reply.finish, reply.verdict
    ('17 * 23 = 391', 'stop', 'as_planned')
    >>> reply.usage.thinking, reply.plan.level
    (53, 'low')
    """

    message: Message
    finish: Finish
    usage: Usage = Usage()
    plan: Plan = cast("Plan", None)  # None only in a reply that a program builds itself
    verdict: Verdict = "unknown"
    raw_finish: str | None = None
    request_id: str | None = None
    model: str | None = None
    grounding: Json = None
    safety: Json = None
    extras: Json = None
    cap: int | None = None
    kind: Any = None
    bill: Bill | None = None

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return "\n\n".join((*_fold_thinking(self.thinking, self.usage), self.text))

    @property
    def text(self) -> str:
        """Return the visible text."""
        return self.message.text

    @property
    def thinking(self) -> str:
        """Return the readable thinking; empty if the service showed none."""
        return self.message.thinking

    @property
    def thinking_parts(self) -> tuple[Thinking, ...]:
        """Return the parts of the thinking in order, also those that are a signature alone."""
        return self.message.thinking_parts

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls in order."""
        return self.message.tool_calls

    @property
    def cost(self) -> Cost | None:
        """Return what ``usage`` cost; None if that is unknown: ``cost_unknown`` says why."""
        found = self._add_up()
        return found if isinstance(found, Cost) else None

    @property
    def cost_unknown(self) -> str | None:
        """Return why there is no cost, in one sentence; None if there is one.

        >>> client.ask("claude-opus-5/low", "What is 17 * 23?").cost_unknown  # of an emulator
        'the emulator or a recording answered, and nothing is paid'
        """
        found = self._add_up()
        return None if isinstance(found, Cost) else found

    @property
    def list_price(self) -> Cost | None:
        """Return what a service charges for ``usage``, also if an emulator answered.

        None if the price is unknown. Of an answer that was paid, it is ``cost``.

        >>> client.ask("claude-opus-5/low", "What is 17 * 23?").list_price.usd
        Decimal('0.00...')
        """
        found = None if self.bill is None else self.bill.list_price()
        return found if isinstance(found, Cost) else None

    def _add_up(self) -> Cost | str:
        return "no client asked for this reply" if self.bill is None else self.bill.total()

    @property
    def adjustments(self) -> tuple[Adjustment, ...]:
        """Return the differences between the requested and the sent level, with repairs."""
        noted: tuple[Adjustment, ...] = getattr(self.plan, "adjustments", ())
        return noted

    @property
    def origin(self) -> Origin:
        """Return the provider and model that gave the answer, with its level and time."""
        if self.message.origin is None:
            raise UsageError("this reply was built by a program; only an answer has an origin")
        return self.message.origin

    @property
    def value(self) -> V:
        """Return the answer's JSON as the type given with ``output=``, or raise Malformed.

        pydantic reads its models, and types that contain them. Without a type, any JSON is valid.
        """
        value: V = _read(self.text, Any if self.kind is None else self.kind)
        return value

    def to_json(self) -> str:
        """Return the reply as JSON text, with its plan and signatures; without ``kind``.

        >>> reply = client.ask("claude-opus-5/low", "What is 17 * 23?")
        >>> again = pondero.Reply.from_json(reply.to_json())
        >>> again == reply, again.plan.level
        (True, 'low')
        """
        return dump_saved("reply", replace(self, kind=None), without=("kind",))

    @classmethod
    def from_json(cls, text: str | bytes, *, output: Any = None) -> "Reply[Any]":
        """Return a saved reply; ``output`` is the type that ``value`` has.

        Raises UsageError for another text or a newer format.
        """
        reply: Reply[Any] = load_saved("reply", text, Reply)
        plan, bill = (_convert(name, getattr(reply, name)) for name in ("plan", "bill"))
        return replace(reply, plan=plan, bill=bill, kind=output)


_OF_ABOVE = {"plan": ("pondero.thinking", "Plan"), "bill": ("pondero.store", "TokenBill")}
"""Fields of saved replies whose types are in rooms above."""


def _convert(name: str, raw: Json) -> Any:
    """Return a field of a saved reply as its type, which is found by name."""
    if raw is None:
        return None
    from importlib import import_module  # noqa: PLC0415 - only for saved replies

    room, kind = _OF_ABOVE[name]
    try:
        return convert_json(raw, getattr(import_module(room), kind))
    except MsgspecError as error:
        raise BadParameter(f"this is not a saved reply: {error}") from None


def _fold_thinking(thinking: str, usage: Usage) -> tuple[str, ...]:
    """Return the thinking as an HTML block that unfolds; empty if there is no thinking."""
    if not thinking:
        return ()
    from html import escape  # noqa: PLC0415 - only in notebooks

    count = f" ({usage.thinking:,} tokens)" if usage.thinking else ""
    text = escape(thinking, quote=False)
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

"""The events of an answer; a whole response decodes to the same events as a stream."""

from typing import Literal

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from .media_tokens import MediaKind, MediaTokens, add_media
from .parts import Json, Part, Signature, TokenLogprob


class Usage(Struct, frozen=True):
    """Token counts: ``input + cache_read + cache_write + output + thinking = total``.

    An unknown count is None, never 0. ``output`` is the visible answer. If a service does not
    report thinking separately, ``thinking`` is None and ``output`` includes it. ``media``: how many
    of these tokens are audio, images or video, by medium (``input_audio``, ``cache_read_image``,
    ``output_video`` and so on); None if the service reports none.

    >>> usage = client.ask("claude-opus-5/low", "What is 17 * 23?").usage
    >>> usage.total == usage.input + usage.output + usage.thinking
    True
    >>> (usage + usage).total == 2 * usage.total
    True
    """

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    thinking: int | None = None
    total: int | None = None
    media: MediaTokens | None = None

    @property
    def known_total(self) -> int:
        """Return the sum of the known buckets."""
        prompt = (self.input or 0) + (self.cache_read or 0) + (self.cache_write or 0)
        return prompt + (self.output or 0) + (self.thinking or 0)

    def to_json(self) -> dict[str, Json]:
        """Return the counts as plain JSON values; ``media`` only if there are some."""
        found: dict[str, Json] = to_builtins(self)
        if self.media is None:
            del found["media"]
        return found

    def __add__(self, other: "Usage") -> "Usage":
        """Return the counts of both together; unknown ones count nothing."""
        return Usage(
            input=_add(self.input, other.input),
            cache_read=_add(self.cache_read, other.cache_read),
            cache_write=_add(self.cache_write, other.cache_write),
            output=_add(self.output, other.output),
            thinking=_add(self.thinking, other.thinking),
            total=_add(self.total, other.total),
            media=add_media(self.media, other.media),
        )


COUNTS = tuple(name for name in Usage.__struct_fields__ if name != "media")
"""The names of the counts of a ``Usage``."""


def assume_medium(usage: Usage, medium: MediaKind) -> Usage:
    """Return the counts of an answer in this medium: all of it, if the service says nothing."""
    known = usage.media or MediaTokens()
    if usage.output is None or any(known.sum_counts("output").values()):
        return usage
    return replace(usage, media=replace(known, **{f"output_{medium}": usage.output}))


def _add(first: int | None, second: int | None) -> int | None:
    known = [count for count in (first, second) if count is not None]
    return sum(known) if known else None


_MOST = 10**12


def known_count(value: Json) -> int | None:
    """Return a reported count; None if it is no count: negative, boundless or not a number."""
    if type(value) is int:  # nearly always
        return value if 0 <= value <= _MOST else None
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MOST else None


Finish = Literal[
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "refusal",
    "paused",
    "context_full",
    "exhausted",
    "error",
    "other",
]
PartKind = Literal["text", "thinking", "tool_call", "image", "blob", "other"]


class Started(Struct, frozen=True, tag="started"):
    """The answer began.

    >>> next(iter(client.stream("claude-opus-5/low", "What is 17 * 23?"))).model
    'claude-opus-5'
    """

    model: str | None = None
    id: str | None = None


class PartStart(Struct, frozen=True, tag="part_start"):
    """A part began, with a tool call's name; ``PartEnd`` has the final ``signature``.

    >>> stream = client.stream("claude-opus-5/low", "What is 17 * 23?")
    >>> [event.kind for event in stream if isinstance(event, pondero.PartStart)]
    ['thinking', 'text']
    """

    index: int
    kind: PartKind
    id: str | None = None
    name: str | None = None
    signature: Signature | None = field(default=None, name="seal")


class ThinkingDelta(Struct, frozen=True, tag="thinking_delta"):
    """More of the thinking.

    >>> stream = client.stream("claude-opus-5/low", "What is 17 * 23?")
    >>> deltas = [event.text for event in stream if isinstance(event, pondero.ThinkingDelta)]
    >>> "".join(deltas) == stream.reply.thinking
    True
    """

    index: int
    text: str


class TextDelta(Struct, frozen=True, tag="text_delta", omit_defaults=True):
    """More of the answer, with its tokens if the request asked for log probabilities.

    >>> for event in client.stream("claude-opus-5/low", "What is 17 * 23?"):
    ...     if isinstance(event, pondero.TextDelta):
    ...         print(event.text, end="")
    17 * 23 = 391
    """

    index: int
    text: str
    logprobs: tuple[TokenLogprob, ...] = ()


class ToolDelta(Struct, frozen=True, tag="tool_delta"):
    """More of a tool call's arguments, as JSON text.

    >>> stream = client.stream("gpt-5.5/low", "What is the weather in Bern?", tools=[get_weather])
    >>> "".join([event.json for event in stream if isinstance(event, pondero.ToolDelta)])
    '{"city":"Bern"}'
    """

    index: int
    json: str


class PartEnd(Struct, frozen=True, tag="part_end"):
    """A complete part, with its signature.

    >>> for event in client.stream("claude-opus-5/low", "What is 17 * 23?"):
    ...     if isinstance(event, pondero.PartEnd) and isinstance(event.part, pondero.Text):
    ...         event.part.text
    '17 * 23 = 391'
    """

    index: int
    part: Part


class UsageUpdate(Struct, frozen=True, tag="usage_now"):
    """Token counts so far.

    >>> stream = client.stream("claude-opus-5/low", "What is 17 * 23?")
    >>> [event.usage.input for event in stream if isinstance(event, pondero.UsageUpdate)][0]
    7
    """

    usage: Usage


class AdjustmentNote(Struct, frozen=True, tag="note"):
    """An adjustment made during the exchange, as JSON.

    >>> note = pondero.AdjustmentNote({"code": "fell_back", "why": "the first did not answer"})
    >>> note.adjustment["code"]
    'fell_back'
    """

    adjustment: Json


class Finished(Struct, frozen=True, tag="finished"):
    """The answer is complete.

    >>> *_, last = client.stream("claude-opus-5/low", "What is 17 * 23?")
    >>> last.finish, last.verdict
    ('stop', 'as_planned')
    """

    finish: Finish
    usage: Usage = Usage()
    raw_finish: str | None = None
    model: str | None = None
    grounding: Json = None
    safety: Json = None
    extras: Json = None
    verdict: str | None = None


Event = (
    Started
    | PartStart
    | ThinkingDelta
    | TextDelta
    | ToolDelta
    | PartEnd
    | UsageUpdate
    | AdjustmentNote
    | Finished
)
"""What a stream yields: for type annotations, and for a ``match``.

>>> def show(event: pondero.Event) -> str:
...     match event:
...         case pondero.TextDelta() | pondero.ThinkingDelta():
...             return event.text
...         case _:
...             return ""
>>> "".join(map(show, client.stream("claude-opus-5/off", "What is 17 * 23?")))
'17 * 23 = 391'
"""

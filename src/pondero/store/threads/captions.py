"""Writes the captions of messages and threads, for exports and for ``pondero threads``."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from ...canon import Blob, Image, LevelUpdate, Thinking, UnknownPart
from .records import StoredMessage, Thread, ThreadEnd


def speaker_name(kept: StoredMessage) -> str:
    """Return who spoke."""
    message = kept.message
    if is_level_change(kept):
        return "Level"
    if message.role != "assistant":
        return "You" if message.role == "user" else "System"
    if message.origin is None:
        return "Assistant"
    level = f" · {message.origin.level}" if message.origin.level else ""
    return f"{message.origin.provider}:{message.origin.model}{level}"


def thread_caption(thread: Thread, end: ThreadEnd | None) -> str:
    """Return the title of a thread; with its last question and level, if it has copies."""
    title = thread.title or "(untitled)"
    if end is None:
        return title
    # a copy of a comparison is called by its level, or by its model and level
    is_named = title.endswith((f"({end.level})", f"/{end.level})"))
    level = f" ({end.level})" if end.level and not is_named else ""
    asked = "" if not end.question or title.startswith(end.question) else f" … {end.question}"
    return f"{title}{asked}{level}"


def is_level_change(kept: StoredMessage) -> bool:
    """Return whether a message only changes the level; such a message has no writer."""
    parts = kept.message.parts
    return bool(parts) and all(isinstance(part, LevelUpdate) for part in parts)


def thinking_caption(part: Thinking, kept: StoredMessage) -> str:
    """Return a caption for thinking: whether it is shown, and how many tokens it took."""
    if part.redacted:
        return "Thinking, withheld by the service"
    tokens = kept.usage.thinking if kept.usage else None
    many = sum(isinstance(each, Thinking) for each in kept.message.parts) > 1
    count = "" if tokens is None or many else f" · {tokens:,} tokens"
    return f"Thinking{count}" if part.text else f"Thinking, not shown{count}"


def media_caption(part: Image | Blob | UnknownPart) -> str:
    """Return a caption for a part that is not text."""
    if isinstance(part, UnknownPart):
        return "something only its maker can read"
    kind = part.media_type or "image"
    return f"{kind}, {len(part.data):,} bytes" if part.data is not None else f"{kind}: {part.url}"


def reply_caption(kept: StoredMessage) -> str:
    """Return what is known about a reply: tokens, time, price, and how it ended if not normally."""
    usage = kept.usage
    counts = (
        (("in", usage.input), ("thinking", usage.thinking), ("answer", usage.output))
        if usage
        else ()
    )
    said = [f"{count:,} {name}" for name, count in counts if count is not None]
    if kept.seconds is not None:
        said.append(f"{kept.seconds:,.1f} s")
    if kept.cost is not None:
        said.append(f"{'at least ' if kept.partial else ''}{format_dollars(kept.cost)}")
    if kept.offline:
        said.append("offline")
    if kept.partial:
        said.append("cut off")
    elif kept.finish not in (None, "stop", "tool_calls"):
        said.append(str(kept.finish))
    return " · ".join(said)


def format_dollars(cost: str | None) -> str:
    """Return an amount of dollars; below $1, with two significant digits."""
    if cost is None:
        return "unknown"
    amount = float(cost)
    if amount >= 1 or amount == 0:
        return f"${amount:,.2f}"
    return f"${Decimal(f'{amount:.2g}'):f}"  # a float alone would be 6.5e-06


def format_time(seconds: float, *, zone: bool = False) -> str:
    """Return the day and minute of a time where the user is; with ``zone``, also where that is."""
    return (
        datetime.fromtimestamp(seconds, UTC)
        .astimezone()
        .strftime("%Y-%m-%d %H:%M %Z" if zone else "%Y-%m-%d %H:%M")
    )


def heading(thread: Thread) -> str:
    """Return a thread's title, or its id where it has none."""
    return thread.title or f"Thread {thread.id}"


def summary(thread: Thread, kept: Iterable[StoredMessage]) -> str:
    """Return one line about a thread with these messages; changes of the level are not counted."""
    used = format_time(thread.updated, zone=True)
    count = sum(not is_level_change(each) for each in kept)
    parts = [thread.model, used, f"{count:,} messages"]
    return " · ".join(parts if thread.cost is None else [*parts, format_dollars(thread.cost)])

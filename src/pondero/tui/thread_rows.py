"""Threads, and messages in them, as the rows of lists."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from time import time

from ..canon import Message, ToolResult, Usage
from ..store import (
    SearchHit,
    StoredMessage,
    Thread,
    ThreadEnd,
    as_number,
    format_time,
    thread_caption,
)
from .state import (
    AnswerCell,
    ChatState,
    Choice,
    SavedThread,
    ThinkingCell,
    ThreadMessage,
    UserCell,
    place_value,
)

_BEFORE, _LENGTH = 18, 80
"""Letters of a found text before the word, so that narrow lists show it, and in all."""
_TITLE = 60
RUNNING, SHOWN = "… ", "● "
"""Marks of a thread with a running answer, and of the one on the screen."""


def describe_thread(thread: Thread, end: ThreadEnd | None = None) -> Choice:
    """Return a thread as a choice in a list; its id can be typed, and must be seen."""
    return _make_row(thread, end, (thread.id, _name_model(thread)))


def describe_in_pane(thread: Thread, end: ThreadEnd | None = None, mark: str = "") -> Choice:
    """Return a thread as a choice in the narrow pane; ``mark`` goes before its title."""
    return _make_row(thread, end, (_name_model(thread), thread.id), mark)


def describe_tab(place: str, state: ChatState, *, is_shown: bool) -> Choice:
    """Return a conversation that is no thread yet as a choice, with its first words as title."""
    mark = SHOWN if is_shown else RUNNING if state.busy else ""
    what = "answering now" if state.busy else "not saved" if state.count else "not sent"
    title = " ".join(next(_list_texts(state), "").split())[:_TITLE] or "(untitled)"
    return Choice(place, f"{mark}{title}", f"{what} · {state.name}")


def has_words(state: ChatState, words: str) -> bool:
    """Return whether a conversation has all these words, in whatever order."""
    text = "\n".join(_list_texts(state)).lower()
    return all(word in text for word in words.lower().split())


def _list_texts(state: ChatState) -> Iterator[str]:
    for cell in (*state.page, *state.live):
        if isinstance(cell, UserCell | AnswerCell | ThinkingCell):
            yield cell.text
    yield from (asked.words for asked in state.queue)


def _make_row(
    thread: Thread, end: ThreadEnd | None, names: tuple[str, str], mark: str = ""
) -> Choice:
    copy = "↳ " if thread.parent else ""
    known = (format_when(thread.updated), *names, f"{thread.messages:,} messages")
    return Choice(thread.id, f"{mark}{copy}{thread_caption(thread, end)}", " · ".join(known))


def _name_model(thread: Thread) -> str:
    return thread.model.partition(":")[2] or thread.model


def order_copies(threads: Iterable[Thread]) -> list[Thread]:
    """Return each thread once, copies that were not used since below their original."""
    found = {thread.id: thread for thread in threads}
    groups: dict[str, dict[str, Thread]] = {}
    for thread in found.values():
        original = _find_original(thread, found)
        groups.setdefault(original.id, {original.id: original})[thread.id] = thread
    return [thread for group in groups.values() for thread in group.values()]


def _find_original(thread: Thread, found: Mapping[str, Thread]) -> Thread:
    original = found.get(thread.parent or "")
    if original is None or original.updated <= thread.updated:
        return thread
    return _find_original(original, found)


def format_when(seconds: float, now: float | None = None) -> str:
    """Return the day and minute of a time where the user is; the last two days by their names."""
    when = datetime.fromtimestamp(seconds).astimezone()
    today = datetime.fromtimestamp(time() if now is None else now).astimezone().date()
    days = {today: "today", today - timedelta(days=1): "yesterday"}
    named = days.get(when.date())
    return f"{named} {when:%H:%M}" if named else format_time(seconds)


def make_hit(found: SearchHit) -> Choice:
    """Return a message that was found."""
    number = found.thread.messages - 1 if found.number is None else found.number
    title = found.thread.title or "(untitled)"
    # the words are the second line, which is shortened at its end
    return Choice(place_value(max(0, number), found.thread.id), title, found.snippet)


def shorten(text: str, word: str) -> str:
    """Return a line of the text around a word."""
    begin = max(0, text.lower().find(word) - _BEFORE)
    return " ".join(text[begin : begin + _LENGTH].split())


def is_question(message: Message) -> bool:
    """Return whether the user asked this: it is no tool result."""
    return message.role == "user" and not any(isinstance(p, ToolResult) for p in message.parts)


def make_message(number: int, stored: StoredMessage) -> ThreadMessage:
    """Return a stored message with its number, usage, time and cost."""
    seconds = stored.seconds if stored.message.role == "assistant" else None
    usage = stored.usage or Usage()
    return ThreadMessage(
        number,
        stored.message,
        usage,
        seconds,
        stored.partial,
        price_stored(stored),
        offline=stored.offline,
    )


def price_stored(stored: StoredMessage) -> Decimal | None:
    """Return the cost of a stored reply; None if unknown. The emulator's cost nothing."""
    return Decimal(0) if stored.offline else as_number(stored.cost)


def make_saved(thread: Thread) -> SavedThread:
    """Return a thread as the chat knows the one that it is saved in."""
    return SavedThread(thread.id, thread.title)

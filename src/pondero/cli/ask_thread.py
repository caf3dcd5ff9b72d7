"""The thread of an ``ask``: a new one or one that goes on, saved when the turn ends.

Saving never makes ``ask`` fail: what goes wrong is one line on stderr.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from msgspec import Struct

from ..canon import Json, Message, Usage
from ..client import Chat, Client, Recorder, Turn, cost, lookup
from ..errors import UnknownThread, UsageError
from ..handoff import Refusal
from ..store import Kept, Thread, Threads, settings
from .command import warn
from .thread_output import opened

_ID = re.compile(r"(?=.*\d)[0-9a-z]{6}")
_LEAST = 4  # letters of an id that are enough to tell it from a word of the question


class Start(Struct, frozen=True):
    """What a question starts from: a model and a wish, and the thread it goes on with."""

    model: str
    thinking: Json = None
    system: str = ""
    thread: Thread | None = None
    messages: tuple[Message, ...] = ()

    def chat(self, client: Client, **options: Any) -> Chat:
        """Return the conversation, ready to go on."""
        chat = Chat(
            self.model,
            self.thinking,
            messages=self.messages,
            client=client,
            system=self.system or None,
            **options,
        )
        if self.thread is not None:
            chat.refusals = self.thread.refusals
        return chat

    def price(self, usage: Usage) -> str | None:
        """Return what these tokens cost here, in dollars; None where that is not known."""
        entry = lookup().entry(self.model)
        price = cost(entry.provider.name, entry.model, usage)
        return None if price is None else f"{price.normalize():f}"


def begun(words: tuple[str, ...]) -> tuple[Start, tuple[str, ...]]:
    """Return the start of a new thread, with the model in the first word, and the other words."""
    if not words:
        raise click.UsageError("there is no MODEL; 'pondero models' lists them")
    model, *prompt = words
    wish = lookup().split(model).wish
    return Start(model, None if wish else settings().thinking), tuple(prompt)


def continued(words: tuple[str, ...]) -> tuple[Start, tuple[str, ...]]:
    """Return the start from an existing thread, and the words that name neither it nor a model."""
    with opened() as threads:
        thread, rest = _named(threads, words)
        messages = threads.messages(thread.id)
    model, thinking = thread.model, thread.thinking
    if rest and _is_model(rest[0]):
        model, *prompt = rest
        rest = tuple(prompt)
        thinking = None if lookup().split(model).wish else thinking
    return Start(model, thinking, thread.system, thread, messages), rest


def _named(threads: Threads, words: tuple[str, ...]) -> tuple[Thread, tuple[str, ...]]:
    first = words[0] if words else ""
    if first == "last" or _ID.fullmatch(first):
        return threads.get(first), words[1:]
    if len(first) >= _LEAST and first.isalnum():
        try:
            return threads.get(first), words[1:]
        except UnknownThread:
            pass
    return threads.get("last"), words


def _is_model(word: str) -> bool:
    if not word or word.split() != [word]:
        return False
    try:
        lookup().entry(word, unknown="family" if ":" in word else "error")
    except UsageError:
        return False
    return True


@contextmanager
def saved(
    start: Start, chat: Chat, stream: Turn, recorder: Recorder, *, save: bool
) -> Iterator[None]:
    """Save the turn when it ends, as far as it came; what goes wrong is one line on stderr."""
    save = save and settings().save
    try:
        yield
    finally:
        added = chat.messages[len(start.messages) :]
        if save and added:
            try:
                _write(start, recorder.kept(added, stream.replies), chat.refusals)
            except Exception as problem:  # noqa: BLE001 - the answer was given, whatever this is
                warn(f"this was not kept: {problem}")


def _write(start: Start, turn: Sequence[Kept], refusals: tuple[Refusal, ...]) -> None:
    said = {
        "model": start.model,
        "thinking": start.thinking,
        "system": start.system,
        "refusals": refusals,
    }
    with opened() as threads:
        if start.thread is None:
            id = threads.start(**said).id
        else:
            id = start.thread.id
            threads.set(id, **said)
        threads.add(id, turn)

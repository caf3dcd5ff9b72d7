"""A question as part of a thread: how it begins or goes on, and what is kept of it.

Keeping is a service to the user, never a reason to fail: what goes wrong is one line on stderr.
"""

import re
from time import monotonic
from types import TracebackType
from typing import Any, Self

import click
from msgspec import Struct

from ..canon import Event, Json, Message, TextDelta, ThinkingDelta, Usage
from ..client import Chat, Client, TurnStream, cost, kept_turn, lookup
from ..errors import UnknownThread, UsageError
from ..store import Thread, Threads, settings
from .shelf import opened, warn

_ID = re.compile(r"(?=.*\d)[0-9a-z]{6}")
_LEAST = 4  # so many letters of an id, and it is not a word of the question


class Start(Struct, frozen=True):
    """Where a question starts from: a model and a wish, and the thread it goes on with."""

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
    """Return a new start with the model that the first word names, and the other words."""
    if not words:
        raise click.UsageError("there is no MODEL; 'pondero models' lists them")
    model, *prompt = words
    wish = lookup().split(model).wish
    return Start(model, None if wish else settings().thinking), tuple(prompt)


def continued(words: tuple[str, ...]) -> tuple[Start, tuple[str, ...]]:
    """Return where a thread stopped, and the words that name neither it nor a model."""
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


class Keeper:
    """Follows one turn and keeps it when it ends, as far as it came."""

    def __init__(self, start: Start, chat: Chat, *, paid: bool, save: bool) -> None:
        self._start = start
        self._chat = chat
        self._paid = paid
        self._save = save and settings().save
        self._began = monotonic()
        self._first: float | None = None
        self._stream: TurnStream | None = None

    def follow(self, stream: TurnStream) -> None:
        """Note where the replies of the turn will be."""
        self._stream = stream

    def see(self, event: Event) -> None:
        """Take one event: the first that can be read is timed."""
        if self._first is None and isinstance(event, TextDelta | ThinkingDelta) and event.text:
            self._first = monotonic() - self._began

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        added = self._chat.messages[len(self._start.messages) :]
        if self._save and added:
            try:
                self._keep(added)
            except Exception as problem:  # noqa: BLE001 - the answer was given, whatever this is
                warn(f"this was not kept: {problem}")

    def _keep(self, added: tuple[Message, ...]) -> None:
        turn = kept_turn(
            added,
            self._stream.replies if self._stream else (),
            seconds=monotonic() - self._began,
            first=self._first,
            paid=self._paid,
        )
        start = self._start
        said = {
            "model": start.model,
            "thinking": start.thinking,
            "system": start.system,
            "refusals": self._chat.refusals,
        }
        with opened() as threads:
            if start.thread is None:
                id = threads.start(**said).id
            else:
                id = start.thread.id
                threads.set(id, **said)
            threads.add(id, turn)

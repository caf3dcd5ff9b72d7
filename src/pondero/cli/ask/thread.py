"""The thread of an ``ask``, saved when the turn ends; saving never makes ``ask`` fail."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from msgspec import Struct

from ...canon import Json, Message, Usage
from ...client import (
    AsyncChat,
    AsyncClient,
    AsyncTurn,
    Chat,
    Client,
    Turn,
    TurnRecorder,
    count_prompt_tokens,
    load_catalog,
)
from ...errors import BadThinking, UnknownThread, UsageError
from ...handoff import Rejection
from ...store import StoredMessage, Template, Thread, Threads, load_settings, price_usage
from ..command import warn
from ..output.thread_tables import open_threads
from ..start import NO_MODEL, default_model, resolve_start

_LIKELY_ID = re.compile(r"(?=.*\d)[0-9a-z]{6}")
_POSSIBLE_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{6}")  # as store/rows.py makes them
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?=.*\d)[\w.:@/-]+")  # a word with a number: a model's name, perhaps
_LAST = "last"
_LEAST = 4  # letters of an id that are enough to tell it from a word of the question


class AskStart(Struct, frozen=True):
    """What a question starts from: a model, a level, and the thread it continues."""

    model: str
    thinking: Json = None
    system: str = ""
    thread: Thread | None = None
    messages: tuple[Message, ...] = ()
    last_prompt: int | None = None

    @property
    def name(self) -> str:
        """Return the model with its level."""
        return self.model if self.thinking is None else f"{self.model}/{self.thinking}"

    def chat(self, client: Client, **options: Any) -> Chat:
        """Return the conversation, ready to continue."""
        chat = Chat(self.model, self.thinking, client=client, **self._chat_options(options))
        chat.refusals = self.thread.refusals if self.thread else ()
        chat.last_prompt = self.last_prompt
        return chat

    def async_chat(self, client: AsyncClient, **options: Any) -> AsyncChat:
        """Return the same for asyncio."""
        chat = AsyncChat(self.model, self.thinking, client=client, **self._chat_options(options))
        chat.refusals = self.thread.refusals if self.thread else ()
        chat.last_prompt = self.last_prompt
        return chat

    def _chat_options(self, options: dict[str, Any]) -> dict[str, Any]:
        ours = {"messages": self.messages, "system": self.system or None}
        return {**ours, "cache": bool(self.messages), **options}  # most threads have one question

    def price(self, usage: Usage) -> str | None:
        """Return the cost of these tokens in dollars; None if unknown."""
        entry = load_catalog().entry(self.model)
        price = price_usage(entry.provider.name, entry.model, usage)
        return None if price is None else f"{price.normalize():f}"


def start_thread(
    words: tuple[str, ...], named: str | None, *, template: Template | None = None
) -> tuple[AskStart, tuple[str, ...]]:
    """Return the start of a new thread, and the words of the question.

    The model is ``named``, a known first word, the template's, the user's default, or the first
    word, known or not.
    """
    settings = load_settings()
    usual = default_model(template, settings)
    model, rest = named, words
    if model is None and words and is_model(words[0]):
        model, rest = words[0], words[1:]
    if model is None and usual is not None:
        model = usual
        _warn_of_model_name(words)
    if model is None:
        if not words or len(words[0].split()) > 1:
            raise click.UsageError(NO_MODEL)
        model, rest = words[0], words[1:]
    start = resolve_start(model, template=template, settings=settings)
    return AskStart(start.model, start.thinking), rest


def _warn_of_model_name(words: tuple[str, ...]) -> None:
    if words and _NAME.fullmatch(words[0]) and (close := load_catalog().close(words[0])):
        guess = " or ".join(map(repr, close))
        warn(f"{words[0]!r} is no known model, so it is part of the question; for {guess} use -m")


def continue_thread(words: tuple[str, ...], named: str | None) -> tuple[AskStart, tuple[str, ...]]:
    """Return the start from an existing thread, and the words that name neither it nor a model."""
    with open_threads() as threads:
        thread, rest = _thread(threads, words)
        kept = threads.load_messages(thread.id)
    model, thinking = _split_level(thread.model)
    if thread.thinking is not None:
        thinking = thread.thinking
    if named is None and rest and is_model(rest[0]):
        named, rest = rest[0], rest[1:]
    if named is not None:
        model, wish = _split_level(named)
        thinking = thinking if wish is None else wish
    messages = tuple(each.message for each in kept)
    usages = [each.usage for each in kept if each.usage is not None]
    last_prompt = count_prompt_tokens(usages[-1]) if usages else None
    return AskStart(model, thinking, thread.system, thread, messages, last_prompt), rest


def _split_level(model: str) -> tuple[str, Json]:
    return load_catalog().apart(model)


def _thread(threads: Threads, words: tuple[str, ...]) -> tuple[Thread, tuple[str, ...]]:
    first, others = words[0] if words else "", words[1:]
    alone = len(others) == 1 or (others and is_model(others[0]))
    if first == _LAST:
        return threads.get(first), others if alone or not others else words
    if len(first) >= _LEAST and first.isalnum():
        try:
            return threads.get(first), others
        except UnknownThread as error:
            if _LIKELY_ID.fullmatch(first) or (alone and _POSSIBLE_ID.fullmatch(first)):
                whole = " ".join(words)
                error.add_note(f'if it is the question, quote all of it: pondero ask -c "{whole}"')
                raise
    return threads.get(_LAST), words


def is_model(word: str) -> bool:
    """Return whether a word names a model; raise BadThinking if only its level is wrong."""
    if not word or word.split() != [word]:
        return False
    try:
        new = ":" in word or _DIGIT.search(load_catalog().split(word).model)
        load_catalog().entry(word, unknown="family" if new else "error")
    except BadThinking:
        raise
    except UsageError:
        return False
    return True


class ThreadRef:
    """The thread a turn is saved in; ``id`` is None until it is written."""

    id: str | None = None


@contextmanager
def save_turn(
    start: AskStart,
    chat: Chat | AsyncChat,
    stream: Turn | AsyncTurn,
    recorder: TurnRecorder,
    *,
    save: bool,
    fork: bool = False,
) -> Iterator[ThreadRef]:
    """Save the turn when it ends; with ``fork``, continue the thread in a copy of it."""
    save, place = save and load_settings().save, ThreadRef()
    try:
        yield place
    finally:
        added = chat.messages[len(start.messages) :]
        if save and added:
            try:
                kept = recorder.stored_messages(added, stream.replies)
                place.id = _write(start, kept, chat.refusals, fork=fork)
            except Exception as problem:  # noqa: BLE001 - the answer was given, whatever this is
                warn(f"this was not saved: {problem}")


def _write(
    start: AskStart, turn: Sequence[StoredMessage], refusals: tuple[Rejection, ...], *, fork: bool
) -> str:
    said = {
        "model": start.model,
        "thinking": start.thinking,
        "system": start.system,
        "refusals": refusals,
    }
    with open_threads() as threads:
        if start.thread is None:
            id = threads.start(**said).id
        else:
            id = threads.fork(start.thread.id).id if fork else start.thread.id
            threads.set(id, **said)
        threads.add(id, turn)
    return id

"""The thread of an ``ask``: the question is kept before it is sent, the turn when it ends.

Saving never makes ``ask`` fail.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from ...canon import Blob, Image, Json, Message, Text, Usage
from ...client import (
    AsyncChat,
    AsyncClient,
    AsyncTurn,
    Chat,
    Client,
    Turn,
    TurnRecorder,
    UsualModel,
    count_prompt_tokens,
    load_catalog,
)
from ...errors import BadThinking, UnknownThread, UsageError
from ...store import (
    StoredMessage,
    Template,
    Thread,
    Threads,
    TurnJournal,
    UnfinishedTurn,
    load_settings,
    mark_partial,
    media_caption,
    price_usage,
)
from ...thinking import LEVELS
from ..command import warn
from ..output.echo import say
from ..output.thread_tables import open_threads
from ..start import choose_by_key, default_model, resolve_start, resolve_usual

_LIKELY_ID = re.compile(r"(?=.*\d)[0-9a-z]{6}")
_POSSIBLE_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{6}")  # as store/rows.py makes them
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?=.*\d)[\w.:@/-]+|[\w.-]+:[^\s/]\S*")  # a word with a number or a provider
_LAST = "last"
_QUOTED = 2  # arguments: a model, and a question in quotes
_LEAST = 4  # letters of an id that are enough to tell it from a word of the question


class AskStart(Struct, frozen=True):
    """What a question starts from: a model, a level, and the thread it continues.

    The model is an empty text in an error from before it was known.
    """

    model: str
    thinking: Json = None
    system: str = ""
    thread: Thread | None = None
    messages: tuple[Message, ...] = ()
    last_prompt: int | None = None
    chosen: UsualModel | None = None  # if none was named; said once there is a question

    @property
    def name(self) -> str:
        """Return the model with its level."""
        return self.model if self.thinking is None else f"{self.model}/{self.thinking}"

    @property
    def full_name(self) -> str:
        """Return the model as provider:model; as it was typed if the catalog has none like it."""
        if not self.model:
            return ""
        try:
            return load_catalog().entry(self.model).id
        except UsageError:
            return self.model

    @property
    def has_media(self) -> bool:
        """Return whether earlier messages have pictures or files."""
        parts = (part for message in self.messages for part in message.parts)
        return any(isinstance(part, Image | Blob) for part in parts)

    def without_media(self) -> "AskStart":
        """Return it with a line about each earlier picture or file; the thread keeps them."""
        return replace(self, messages=tuple(map(_tell_media, self.messages)))

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


def _tell_media(message: Message) -> Message:
    parts = (
        Text(f"[{media_caption(part)}, not sent]") if isinstance(part, Image | Blob) else part
        for part in message.parts
    )
    return replace(message, parts=tuple(parts))


def start_thread(
    words: tuple[str, ...],
    named: str | None,
    *,
    template: Template | None = None,
    offline: bool = False,
) -> tuple[AskStart, tuple[str, ...]]:
    """Return the start of a new thread, and the words of the question.

    The model is ``named``, a known first word, the template's, the user's default, a first word
    that is nearly a model's name, or the one for the key that is present.
    """
    settings = load_settings()
    usual = default_model(template, settings)
    model, rest = named, words
    if model is None and names_model(words, has_other=usual is not None):
        model, rest = words[0], words[1:]
    if model is None and usual is not None:
        model = usual
        _check_for_misspelt_model(words)
    if model is None and (_seems_model(words) or _begins_with_level(words)):
        model, rest = words[0], words[1:]
    _check_for_level(rest, model or "MODEL")
    if named is None and rest == words:
        _say_if_odd(words)
    if model is None:
        chosen = choose_by_key(offline=offline)
        start = resolve_usual(chosen, template=template, settings=settings)
        return AskStart(start.model, start.thinking, chosen=chosen), rest
    start = resolve_start(model, template=template, settings=settings)
    return AskStart(start.model, start.thinking), rest


def _seems_model(words: tuple[str, ...]) -> bool:
    """Return whether the first word looks like a model's name, or is nearly a short one."""
    if not words or len(words[0].split()) != 1:
        return False
    return bool(_NAME.fullmatch(words[0])) or load_catalog().is_misspelt_short(words[0])


def _begins_with_misspelt(words: tuple[str, ...]) -> bool:
    """Return whether a misspelt short name comes before what may be the whole question."""
    return _is_apart(words) and load_catalog().is_misspelt_short(words[0])


def _is_apart(words: tuple[str, ...]) -> bool:
    """Return whether what follows the first word may be the whole question."""
    return len(words) == _QUOTED or any(" " in each for each in words[1:])


def _check_for_level(words: tuple[str, ...], model: str) -> None:
    """Raise UsageError for a level before the question: it would become a part of that."""
    if words and words[0] in LEVELS and _is_apart(words):
        level = words[0]
        quoted = f'if it is part of the question, quote all of it: "{" ".join(words)}"'
        raise click.UsageError(
            f"{level!r} is a level; write it after a slash: {model}/{level}; {quoted}"
        )


def _say_if_odd(words: tuple[str, ...]) -> None:
    """Say that a word before a question in quotes is no model: it may have been meant as one."""
    if len(words) == _QUOTED and len(words[0].split()) == 1 and len(words[1].split()) > 1:
        say(f"{words[0]!r} is no model here, so it is part of the question; -m MODEL names one")


def _check_for_misspelt_model(words: tuple[str, ...]) -> None:
    """Raise UsageError rather than pay another model for a question that begins with a name."""
    named = len(words) > 1 and _NAME.fullmatch(words[0]) and load_catalog().close(words[0])
    if named or _begins_with_misspelt(words) or _begins_with_level(words):
        try:
            load_catalog().entry(words[0], unknown="error")
        except UsageError as error:
            whole = " ".join(words)
            error.add_note(f'if it is part of the question, quote all of it: pondero ask "{whole}"')
            raise


def _begins_with_level(words: tuple[str, ...]) -> bool:
    """Return whether a question in quotes comes after something like MODEL/LEVEL."""
    if len(words) != _QUOTED or len(words[0].split()) != 1 or len(words[1].split()) == 1:
        return False
    level = load_catalog().split(words[0]).level
    return level is not None and not level.isdecimal()  # 24/7 is a word


def continue_thread(words: tuple[str, ...], named: str | None) -> tuple[AskStart, tuple[str, ...]]:
    """Return the start from an existing thread, and the words that name neither it nor a model."""
    with open_threads() as threads:
        thread, rest = _thread(threads, words)
        kept = threads.load_messages(thread.id)
    model, thinking = _split_level(thread.model)
    if thread.thinking is not None:
        thinking = thread.thinking
    if named is None and names_model(rest, has_other=True):
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


def names_model(words: tuple[str, ...], *, has_other: bool) -> bool:
    """Return whether the first word is the model, and the others are the question.

    A short name is also a word: if there is another model, it begins a question that is not quoted.
    """
    if not words or not is_model(words[0]):
        return False
    entry, level = load_catalog().entry(words[0]), load_catalog().split(words[0]).level
    return not (has_other and entry.short and level is None and len(words) > _QUOTED)


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
    journal: TurnJournal | None = None

    def note(self, stream: Turn | AsyncTurn, recorder: TurnRecorder) -> None:
        """Keep what has arrived so far, so that not even a kill loses it."""
        if self.journal is not None:
            self.journal.note(lambda: recorder.stored_messages(stream.so_far, stream.replies))


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
    """Keep the question before it is sent, and the turn when it ends, also if it is cut off.

    With ``fork``, the turn continues the thread in a copy of it.
    """
    place = ThreadRef()
    if not (save and load_settings().save):
        yield place
        return
    turn = UnfinishedTurn(
        load_catalog().pin(start.model),
        tuple(map(StoredMessage, stream.so_far)),
        thinking=start.thinking,
        system=start.system,
        thread=None if start.thread is None else start.thread.id,
        after=len(start.messages),
        copy=fork and start.thread is not None,
    )
    interrupted = False
    with ExitStack() as stack:
        place.journal = TurnJournal(_open_early(stack), turn)
        try:
            yield place
        except BaseException as error:
            interrupted = not isinstance(error, Exception)
            raise
        finally:
            place.journal.close()
            added = chat.messages[len(start.messages) :]
            kept = recorder.stored_messages(added, stream.replies, stream.used_so_far)
            turn = replace(turn, messages=kept or turn.messages, refusals=chat.refusals)
            if kept or interrupted:
                _save(turn if kept else mark_partial(turn), place)
            else:
                place.journal.discard()


def _open_early(stack: ExitStack) -> Threads | None:
    """Open the threads for the time of a turn; what is wrong with them is said at its end."""
    try:
        threads = stack.enter_context(open_threads())
        if not threads.is_alone:
            return threads
        stack.close()  # it would lock out the end of the turn
        return None
    except Exception:  # noqa: BLE001 - a question is asked, whatever this is
        return None


def _save(turn: UnfinishedTurn, place: ThreadRef) -> None:
    try:
        with open_threads() as threads:
            if threads.is_read_only:  # its notice says that nothing is saved
                return
            number = place.journal.number if place.journal is not None else None
            saved = threads.save_turn(turn, number=number)
    except Exception as problem:  # noqa: BLE001 - the answer was given, whatever this is
        warn(f"this was not saved: {problem}")
        return
    place.id = saved.thread.id
    if saved.grown:
        warn(f"thread {turn.thread} has grown meanwhile; this turn is in a copy of it, {place.id}")

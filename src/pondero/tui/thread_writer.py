"""The thread of a chat, in memory and on disk; what cannot be written is tried again and again."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..canon import Message, Usage
from ..errors import StoreError
from ..handoff import Rejection
from ..store import (
    Drafts,
    RescuedTurn,
    StoredMessage,
    Thread,
    Threads,
    TurnJournal,
    UnfinishedTurn,
    is_busy,
)
from . import thread_rows
from .state import PAGE, Choice, SavedThread, ThreadMessage, UsageTally, actions, place_value
from .unsent_words import MOMENT, SET_ASIDE
from .waiting_turns import WaitingTurn, drop_numbers
from .writer_family import WriterFamily

_LISTED = 30
_PANE = 200


class SavedTurn(Struct, frozen=True):
    """The thread that turns were written to, and why the last of them were not.

    ``grown``: the thread had grown elsewhere, and this is a copy without that.
    """

    thread: SavedThread | None = None
    unsaved: str | None = None
    grown: bool = False


class LeftThread(Struct, frozen=True):
    """A thread that a program left; ``cut``: in the middle of an answer, else with words alone."""

    id: str
    title: str
    cut: bool


class ThreadWriter:
    """One conversation; without ``threads`` nothing is written, and ``why_unsaved`` may say why."""

    def __init__(
        self,
        threads: Threads | None = None,
        *,
        unsaved: str | None = None,
        find: Callable[[float], Threads] | None = None,
        family: WriterFamily | None = None,
    ) -> None:
        self.refusals: tuple[Rejection, ...] = ()
        self.is_left: bool = False  # no conversation has it any more
        self._unsaved = unsaved
        self._is_busy = False
        self._id: str | None = None
        self._before: tuple[str, int] | None = None  # a thread, and how many messages stay of it
        self._written = 0  # messages of this conversation that are in its thread
        self._messages: tuple[Message, ...] | None = ()
        self._waiting: tuple[WaitingTurn, ...] = ()
        self._family = family or WriterFamily(threads, find)
        # where its drafts are until it is a thread
        self._draft = f"+{self._family.count}" if family else ""
        self._drafted: tuple[str, Drafts | None] = (self._draft, Drafts())

    @property
    def why_unsaved(self) -> str | None:
        """Return why nothing is written; None if it is."""
        return self._unsaved

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the whole conversation, read from disk when it is first needed."""
        if self._messages is None:
            stored = self._on_disk().load_messages(self._id or "", before=self._written)
            self._messages = tuple(each.message for each in stored)
        return self._messages

    @property
    def thread_id(self) -> str | None:
        """Return the id of its thread; None before it is written, or if a copy is to begin."""
        return self._id

    def sibling(self) -> "ThreadWriter":
        """Return a writer of another conversation, in the same file."""
        self._family.count += 1
        return ThreadWriter(unsaved=self._unsaved, family=self._family)

    @property
    def _threads(self) -> Threads | None:
        return self._family.threads

    def close(self) -> tuple[str, ...]:
        """Save what waits and what was cut off, and close the file.

        What still cannot be saved is written to another file; the lines that it returns name it.
        """
        return self._family.close(self._unsaved)

    @property
    def lost(self) -> tuple[str, ...]:
        """Return the texts that no disk took at the end; they are to be printed."""
        return self._family.lost

    @property
    def waiting(self) -> tuple[WaitingTurn, ...]:
        """Return the turns that could not be written yet."""
        return self._waiting

    @property
    def unwritten(self) -> RescuedTurn | None:
        """Return the turns that wait as one, as they go into the file; None if there are none."""
        if not self._waiting:
            return None
        last = self._waiting[-1]
        stored = tuple(each for waiting in self._waiting for each in waiting.stored)
        turn = self._make_turn(
            stored, model=last.model, level_text=last.level_text, system=last.system
        )
        rows = tuple(each.number for each in self._waiting if each.number is not None)
        return RescuedTurn(replace(turn, name=last.name), rows)

    @property
    def is_busy(self) -> bool:
        """Return whether another program kept a turn from being written."""
        return bool(self._waiting) and self._is_busy

    def write_rescue(self) -> None:
        """Write what is not in the file of this chat to another one, in case of a kill."""
        self._family.write_rescue()

    def recover(self) -> tuple[LeftThread, ...]:
        """Save the turns that killed programs left; return the threads to be continued."""
        if self._threads is None:
            return ()
        with suppress(StoreError):
            cut = (*self._threads.recover_turns(), *self._threads.list_drafts(cut=True))
            ids = {each.id for each in cut}
            found = {each.id: each for each in (*cut, *self._threads.list_drafts())}
            return tuple(LeftThread(id, each.title, id in ids) for id, each in found.items())
        return ()

    # -- a turn -----------------------------------------------------------------------------------

    def begin_turn(
        self,
        question: Iterable[Message],
        *,
        model: str,
        level_text: str | None,
        system: str,
        number: int | None = None,
        name: str = "",
    ) -> TurnJournal:
        """Keep a turn on disk from now on; with ``number``, one of a copy that begins there."""
        if self._waiting:
            self.write_waiting()
        stored = tuple(map(StoredMessage, question))
        turn = self._make_turn(stored, model=model, level_text=level_text, system=system)
        if number is not None:
            turn = replace(turn, thread=self._home, after=number, copy=True, name=name)
            journal = TurnJournal(self._threads, turn)
            self._family.add_journal(journal, None)
            return journal
        # What could not be written yet is one turn with it, in place of rows of its own.
        before = tuple(each for waiting in self._waiting for each in waiting.stored)
        rows = tuple(each.number for each in self._waiting if each.number is not None)
        journal = TurnJournal(self._threads, turn, before, rows)
        self._family.add_journal(journal, self)
        return journal

    def _make_turn(
        self,
        stored: tuple[StoredMessage, ...],
        *,
        model: str,
        level_text: str | None,
        system: str,
    ) -> UnfinishedTurn:
        thread, after, copy = self._id, self._written, False
        if self._before is not None:
            (thread, after), copy = self._before, True
        return UnfinishedTurn(
            model,
            stored,
            thinking=level_text,
            system=system,
            thread=thread,
            after=after,
            copy=copy,
            refusals=self.refusals,
            draft=self._draft,
        )

    def add(
        self,
        turn: Sequence[StoredMessage],
        *,
        model: str,
        level_text: str | None,
        system: str,
        journal: TurnJournal | None = None,
        name: str = "",
    ) -> SavedTurn:
        """Add a turn to the conversation and write it; an empty turn changes nothing."""
        self._family.remove_journal(journal)
        if not turn:
            if journal is not None:
                self._drop(journal)
            return SavedTurn(unsaved=self._unsaved if self._waiting else None)
        self._messages = (*self.messages, *(stored.message for stored in turn))
        number = None if journal is None else journal.number
        waiting = WaitingTurn(tuple(turn), model, level_text, system, number, name)
        self._waiting = (*self._waiting, waiting)
        saved = self.write_waiting()
        if saved.unsaved is None:
            self._write_late()
        return saved

    def _drop(self, journal: TurnJournal) -> None:
        """Forget a turn of which nothing came; what waits may be nowhere else on disk."""
        if journal.number is None or not self._waiting:
            journal.discard()
        else:
            *before, last = self._waiting
            self._waiting = (*before, last._replace(number=journal.number))

    def try_again(self) -> SavedTurn:
        """Write what waits here and in conversations that were left, without a long wait.

        ``unsaved``: something waits still, here or in another conversation of this file.
        """
        self._family.open_again()
        saved, threads = SavedTurn(), self._threads
        if threads is None:
            return SavedTurn(unsaved=self._unsaved)
        if self._family.late:
            with suppress(StoreError), threads.patience(MOMENT):
                saved = self.write_waiting(quiet=True)
                for each in tuple(self._family.late):
                    if each.is_left:  # the others may be in a turn, and are asked themselves
                        each.write_waiting(quiet=True)
        return replace(saved, unsaved=self.why_late)

    @property
    def why_late(self) -> str | None:
        """Return why something waits, here or in another conversation of this file."""
        return self._family.why_late

    def _write_late(self) -> None:
        for each in tuple(self._family.late):
            each.write_waiting()

    def write_waiting(self, *, quiet: bool = False) -> SavedTurn:
        """Write the turns that wait, as far as possible; ``quiet``: an earlier reason stays."""
        grown, thread = False, None
        try:
            while self._waiting:
                waiting = self._waiting[0]
                made = self._make_turn(
                    waiting.stored,
                    model=waiting.model,
                    level_text=waiting.level_text,
                    system=waiting.system,
                )
                made = replace(made, name=waiting.name)
                place = self._on_disk().save_turn(made, number=waiting.number)
                self._id, self._before = place.thread.id, None
                self._written = made.after + len(waiting.stored)
                grown, thread = grown or place.grown, thread_rows.make_saved(place.thread)
                self._waiting = self._waiting[1:]
        except Exception as error:  # noqa: BLE001 - the answer was given, whatever this is
            if self._threads is not None and not (quiet and self._unsaved):
                self._unsaved = str(error)
            self._is_busy = is_busy(error.__cause__)
            self._note_late()
            return SavedTurn(thread, self._unsaved, grown)
        self._note_late()
        if self._threads is not None:
            self._unsaved = None
        return SavedTurn(thread, grown=grown)

    def branch(
        self,
        turn: Sequence[StoredMessage],
        number: int,
        *,
        model: str,
        level_text: str | None,
        system: str,
        name: str,
        journal: TurnJournal | None = None,
    ) -> bool:
        """Keep a turn in a copy of the thread up to this message; return whether that was done."""
        self._family.remove_journal(journal)
        if not turn:
            if journal is not None:
                journal.discard()
            return False
        if self._waiting:
            self.write_waiting()
        made = self._leave_copy()
        made.fork_at(number)
        saved = made.add(
            turn, model=model, level_text=level_text, system=system, journal=journal, name=name
        )
        return saved.unsaved is None

    def fork_at(self, count: int) -> None:
        """Continue after ``count`` messages, in a copy of the thread in any case."""
        self._waiting = drop_numbers(self._waiting)
        self._cut(count)
        if (home := self._home) is not None:
            self._id, self._before = None, (home, self._written)

    def _hand_over(self) -> None:
        """Let another writer write what waits, before this one forgets it."""
        if self._waiting and self.write_waiting().unsaved:
            self._family.late.append(self._leave_copy())
            self._waiting = drop_numbers(self._waiting)

    def _leave_copy(self) -> "ThreadWriter":
        """Return a copy of this writer that keeps the turns which wait."""
        made = copy(self)
        made.is_left = True
        return made

    def _note_late(self) -> None:
        late = [each for each in self._family.late if each is not self]
        self._family.late = [*late, self] if self._waiting else late

    # -- what waits to be sent --------------------------------------------------------------------

    def save_drafts(self, drafts: Drafts, *, patient: bool = True) -> None:
        """Keep the prompts that wait, and the words in the input line; perhaps without a wait."""
        place = self._home or self._draft
        if (place, drafts) == self._drafted:
            self._family.drafts.note_saved(place)
            return
        before, _ = self._drafted
        save = partial(self._family.drafts.save, self._threads, patient=patient)
        if save(place, drafts) and (before == place or save(before, Drafts())):
            self._drafted = (place, drafts)

    def save_set_aside(self, words: tuple[str, ...], *, patient: bool = True) -> None:
        """Keep the words that were set aside, which belong to no thread."""
        self._family.drafts.save_set_aside(self._threads, words, patient=patient)

    def take_drafts(self) -> Drafts:
        """Return what waited for this thread when its program ended; it stays on disk.

        Words that were set aside belong to no thread, and come along.
        """
        if self._threads is not None:
            with suppress(StoreError):
                place = self._home or self._draft
                found = self._threads.take_drafts(self._home, place)
                if found != Drafts() and self._drafted[0] == place:
                    self._drafted = (place, None)  # the row has these now
                aside = self._threads.take_drafts(SET_ASIDE, SET_ASIDE).set_aside
                return replace(found, set_aside=(*found.set_aside, *aside))
        return Drafts()

    def rewind(self, count: int) -> None:
        """Continue after ``count`` messages; the next turn begins a copy that ends there."""
        if count < len(self.messages):
            self._hand_over()
        self._cut(count)
        self._note_late()

    def _cut(self, count: int) -> None:
        waiting = sum(len(each.stored) for each in self._waiting)
        written = len(self.messages) - waiting
        self._messages = self.messages[:count]
        while self._waiting and written + waiting > count:
            waiting -= len(self._waiting[-1].stored)
            self._waiting = self._waiting[:-1]
        if count < written and (home := self._home) is not None:
            self._id, self._before, self._written = None, (home, count), count

    @property
    def _home(self) -> str | None:
        return self._id or (self._before[0] if self._before else None)

    def note(self, *, model: str, level_text: str | None, system: str) -> None:
        """Write the model, level and system prompt of the next turns."""
        if self._threads is not None and self._id is not None:
            self._threads.set(self._id, model=model, thinking=level_text, system=system)

    # -- other threads ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin another conversation; its first turn makes it a thread on disk."""
        self._hand_over()
        self._id, self._messages, self._waiting, self.refusals = None, (), (), ()
        self._before, self._written = None, 0
        self._note_late()

    def exact(self, id: str) -> str:
        """Return the whole id of a thread: of the beginning of one, or "last"."""
        return self._on_disk().get(id).id

    def open(self, id: str) -> actions.ThreadOpened:
        """Open a thread and return its last page."""
        return self._load_opened(self._on_disk().get(id))

    def copy(self, *, model: str, level_text: str | None) -> str:
        """Make a copy of the thread, and return its id."""
        if self._id is None or self._waiting:
            raise StoreError(
                f"only what is saved can be copied; {self._unsaved or 'say something'}"
            )
        return self._on_disk().fork(self._id, self._written, model=model, thinking=level_text).id

    def rename(self, title: str) -> SavedThread:
        """Give the thread a title."""
        threads = self._on_disk()
        threads.rename(self._id or "", title)
        return thread_rows.make_saved(threads.get(self._id or ""))

    def list(self, words: str = "") -> tuple[Choice, ...]:
        """Return the threads, or those that contain these words, the latest first."""
        threads = self._on_disk()
        if words:
            found = [each.thread for each in threads.find(words, limit=_LISTED)]
        else:
            found = list(threads.list(limit=_LISTED))
        ends = threads.find_ends(found)
        return tuple(
            thread_rows.describe_thread(thread, ends.get(thread.id))
            for thread in thread_rows.order_copies(found)
            if thread.id != self._id
        )

    def pane(self, words: str, busy: Iterable[str]) -> tuple[Choice, ...]:
        """Return a new thread, then the threads, or those that contain these words, with marks."""
        threads, running = self._on_disk(), set(busy)
        if words.strip():
            found = [each.thread for each in threads.find(words, limit=_PANE)]
        else:
            found = list(threads.list(limit=_PANE))
        marks = dict.fromkeys(running, thread_rows.RUNNING)
        marks |= {self._id: thread_rows.SHOWN} if self._id else {}
        ends = threads.find_ends(found)
        rows = [
            thread_rows.describe_in_pane(thread, ends.get(thread.id), marks.get(thread.id, ""))
            for thread in thread_rows.order_copies(found)
        ]
        return (Choice("", "+ new thread"), *rows)

    def page(self, first: int, last: int) -> tuple[ThreadMessage, ...]:
        """Return some messages of the thread, ``last`` not included."""
        if self._home is None or self._waiting or self._threads is None:
            return tuple(
                ThreadMessage(n, message)
                for n, message in enumerate(self.messages[first:last], first)
            )
        stored = self._threads.load_messages(self._home, last=last - first, before=last)
        return tuple(thread_rows.make_message(first + n, each) for n, each in enumerate(stored))

    def last_turn(self, count: int) -> tuple[ThreadMessage, ...]:
        """Return the last turn of ``count`` messages, from its question on."""
        turn: tuple[ThreadMessage, ...] = ()
        while count > 0:
            first = max(0, count - PAGE)
            turn = (*self.page(first, count), *turn)
            for at in range(len(turn) - 1, -1, -1):
                if thread_rows.is_question(turn[at].message):
                    return turn[at:]
            count = first
        return ()

    def find(self, words: str) -> tuple[Choice, ...]:
        """Return the messages that contain these words: of this thread, then of all others."""
        terms = words.lower().split()
        if self._id is None or self._waiting or self._threads is None:
            here = [
                Choice(
                    place_value(number, None), "here", thread_rows.shorten(message.text, terms[0])
                )
                for number, message in enumerate(self.messages)
                if all(word in message.text.lower() for word in terms)
            ][-_LISTED:]
            others = () if self._threads is None else self._threads.find(words, limit=_LISTED)
        else:
            here = [
                Choice(place_value(each.number or 0, None), "here", each.snippet)
                for each in self._threads.find(words, limit=_LISTED, thread=self._id)
            ]
            others = self._threads.find(words, limit=2 * _LISTED)
        return (
            *here,
            *(thread_rows.make_hit(each) for each in others if each.thread.id != self._id),
        )

    def require_saved(self) -> tuple[Threads, str]:
        """Return the thread's store and id; raise StoreError if it is in memory only."""
        if self._id is None or self._waiting:
            raise StoreError(f"the thread is not saved; {self._unsaved or 'say something first'}")
        return self._on_disk(), self._id

    def _load_opened(self, thread: Thread) -> actions.ThreadOpened:
        self.begin()
        self._id, self._messages, self.refusals = thread.id, None, thread.refusals
        self._written = thread.messages
        level_text = thread.thinking
        return actions.ThreadOpened(
            model=thread.model,
            level_text=str(level_text) if isinstance(level_text, str | int) else None,
            system=thread.system,
            thread=thread_rows.make_saved(thread),
            past=self.page(max(0, thread.messages - PAGE), thread.messages),
            count=thread.messages,
            tally=self.count_usage(),
        )

    def count_usage(self) -> UsageTally:
        """Return what the answers of this conversation used, also those that a copy began with."""
        tally = UsageTally()
        if self._home is not None and self._threads is not None:
            found = self._threads.count_replies(self._home, upto=self._written)
            if found.usage != Usage() or found.at_least:
                at_least = found.at_least and found.cost is not None
                tally = tally.plus(found.usage, found.cost, at_least=at_least)
        for stored in (each for waiting in self._waiting for each in waiting.stored):
            is_cut = stored.partial and not stored.offline
            if stored.usage is not None or is_cut:
                cost = thread_rows.price_stored(stored)
                tally = tally.plus(stored.usage or Usage(), cost, at_least=is_cut)
        return tally

    def _on_disk(self) -> Threads:
        if self._threads is None:
            raise StoreError(self._unsaved or "this chat is not saved")
        return self._threads

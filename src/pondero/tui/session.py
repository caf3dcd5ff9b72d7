"""Talks to the model for the chat: asks, records the turn, and reports a handoff's losses."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..canon import Json, Message, Reply, Usage
from ..client import (
    RETRY_WATCHER,
    AsyncChat,
    AsyncClient,
    AsyncTurn,
    Tools,
    TurnRecorder,
    UsageSoFar,
    describe_lost_cache,
    preview_change,
)
from ..errors import MissingKey, PonderoError, ServiceError
from ..store import (
    NO_PRICES,
    NOTHING_PAID,
    StoredMessage,
    TurnJournal,
    has_prices,
    price_usage,
)
from .state import Choice, DialView, Word, actions, effects
from .thread_writer import SavedTurn, ThreadWriter

_MODELS = 60
"""Models that are listed at once."""
_FEW = 1_000
_MILLION = 1_000_000
_PATIENCE = 2.0
"""Seconds to wait for another program that writes to the file, while the screen is drawn."""
_PAUSE = 0.05
ALL = "all"
"""Stands for every tool among those that are approved."""

Propose = Callable[[str, str, dict[str, Json], str], Awaitable[Word]]
"""Asks the user about a call: its name, where the tool is from, the arguments, and who asks."""


Feed = Callable[[actions.Arrival], None]
"""Takes what comes while a model is asked."""


class _Asking(NamedTuple):
    """The turn that calls a tool."""

    session: "Session"
    recorder: TurnRecorder
    label: str


_ASKING: ContextVar[_Asking | None] = ContextVar("asking", default=None)


async def approve(name: str, arguments: dict[str, Json]) -> bool:
    """Return whether a call of the turn under way may run; ``Tools`` ask it."""
    if (asking := _ASKING.get()) is None:
        return False
    with asking.recorder.approval():  # the time in which the user decides is not the model's
        return await asking.session.approval(name, arguments, asking.label)


class Candidate(Struct, frozen=True):
    """An answer that may become the thread's."""

    ask: effects.AskModel
    stored: tuple[StoredMessage, ...]
    ended: actions.TurnEnded
    journal: TurnJournal | None = None

    @property
    def is_written(self) -> bool:
        """Return whether it is on disk."""
        return self.journal is not None and self.journal.is_written

    def try_again(self) -> None:
        """Write it, if that was not possible before."""
        if self.journal is not None:
            self.journal.try_again()


class Session:
    """A client, a thread, a clock and tools. ``paid``: a service answers, not the emulator.

    ``approved`` tools need no approval: a name, "all", or ``SOURCE/NAME`` as in the config.
    """

    def __init__(
        self,
        client: AsyncClient,
        writer: ThreadWriter,
        dial: DialView,
        *,
        clock: Callable[[], float],
        paid: bool = True,
        tools: Tools | None = None,
        sources: Mapping[str, str] | None = None,
        approved: set[str] | None = None,
    ) -> None:
        self.writer = writer
        self._client = client
        self._dial = dial
        self._clock = clock
        self.paid = paid
        self.tools: Tools = tools or Tools()
        self.approved: set[str] = set() if approved is None else approved
        self.propose: Propose | None = None
        self._sources = dict(sources or {})

    def sibling(self) -> "Session":
        """Return a session for another thread, with the same client."""
        return Session(
            self._client,
            self.writer.sibling(),
            self._dial,
            clock=self._clock,
            paid=self.paid,
            tools=self.tools,
            sources=self._sources,
            approved=self.approved,
        )

    @property
    def why_unpriced(self) -> str:
        """Return why the price of an answer may not be known."""
        if not self.paid:
            return NOTHING_PAID
        if not has_prices():
            return NO_PRICES
        return "genai-prices lacks a model, or the emulator answered"

    def warm_up(self) -> None:
        """Load the prices in advance: the import takes a third of a second."""
        if self.paid:
            price_usage("", "", Usage(input=1, output=1))

    def find_models(self, words: str) -> tuple[Choice, ...]:
        """Return the models that fit these words, with their levels and prices."""
        found: Iterable[str] = self._dial.search(words, most=_MODELS)
        if not words:  # the best known ones: those that can be asked now are the first
            found = sorted(found, key=self._lacks_key)
        return tuple(Choice(name, name, self._describe_model(name)) for name in found)

    def _lacks_key(self, name: str) -> bool:
        return bool(self.find_missing_key(name))

    def _describe_model(self, name: str) -> str:
        entry = self._dial.entry(name)
        levels = self._dial.levels(entry.id)
        said = (
            f"{levels[0]}…{levels[-1]}"
            if len(levels) > 1
            else "".join(levels) or "level cannot be set"
        )
        # Few tokens: a long prompt would have another price at some providers.
        tokens = (Usage(input=_FEW, output=0), Usage(input=0, output=_FEW))
        prices = [price_usage(entry.provider.name, entry.model, each) for each in tokens]
        known = [price * (_MILLION // _FEW) for price in prices if price is not None]
        if len(known) < len(prices):
            return said
        return f"{said}  ${known[0]:.2f} in, ${known[1]:.2f} out per M"

    def find_missing_key(self, model: str) -> str:
        """Return which key this model needs and how to set it; empty if it has all it needs."""
        try:
            self._client.prepare(model, "?")
        except MissingKey as error:
            return str(error)
        except PonderoError:
            return ""  # an error of the model or address: the first question reports it
        return ""

    async def aclose(self) -> None:
        """Close every connection."""
        await self.tools.aclose()
        await self._client.aclose()

    async def approval(self, name: str, arguments: dict[str, Json], label: str = "") -> bool:
        """Return whether a call may run; ask the user unless it is approved."""
        if self.is_approved(name):
            return True
        source = self._source(name)
        word: Word = "no"
        if self.propose is not None:
            word = await self.propose(name, source, arguments, label)
        if word == "always":
            self.approved.add(f"{source}/{name}")
        return word != "no"

    def is_approved(self, name: str) -> bool:
        """Return whether a tool needs no approval: by its name, its source and name, or all."""
        return not self.approved.isdisjoint((ALL, name, f"{self._source(name)}/{name}"))

    def _source(self, name: str) -> str:
        return self.sources().get(name, "this chat")

    def sources(self) -> dict[str, str]:
        """Return where every tool is from, by its name."""
        here, listed = self._sources, self.tools.list_tools()
        return {
            each.tool.name: each.server or here.get(each.tool.name, "this chat") for each in listed
        }

    async def turn(self, ask: effects.AskModel, feed: Feed) -> actions.TurnEnded:
        """Run one turn and record it. When it is cancelled, what has arrived is recorded."""
        stored, ended, journal = await self._run_turn(ask, None, feed)
        saved = self.writer.add(
            stored,
            model=ask.model,
            level_text=ask.level_text,
            system=ask.system,
            journal=journal,
        )
        if not ended.stopped:
            saved = await self._wait_until_saved(saved)
        self.writer.write_rescue()
        return replace(ended, thread=saved.thread, unsaved=saved.unsaved, grown=saved.grown)

    async def _wait_until_saved(self, saved: SavedTurn) -> SavedTurn:
        """Try again for a while if another program is writing; a stop ends the wait."""
        end = monotonic() + _PATIENCE
        with suppress(asyncio.CancelledError):
            while saved.unsaved and self.writer.is_busy and monotonic() < end:
                await asyncio.sleep(_PAUSE)
                saved = self.writer.write_waiting(quiet=True)
        return saved

    async def _store_question(self, journal: TurnJournal) -> None:
        """Wait a while if another program is writing, then write the question to a rescue file."""
        end = monotonic() + _PATIENCE
        while journal.is_busy and monotonic() < end:
            await asyncio.sleep(_PAUSE)
            journal.try_again()
        self.writer.write_rescue()

    async def candidate(self, ask: effects.AskModel, number: int, feed: Feed) -> Candidate:
        """Run a turn after ``number`` messages; until one is chosen, only its journal has it."""
        stored, ended, journal = await self._run_turn(ask, number, feed)
        if stored and journal is not None:
            journal.finish(stored)
            self.writer.write_rescue()
        return Candidate(ask, stored, ended, journal)

    def close_comparison(
        self,
        effect: effects.CloseComparison,
        candidates: Mapping[int, Candidate],
        *,
        model: str,
        level_text: str | None,
        system: str,
    ) -> actions.ComparisonClosed:
        """Keep the answer that was chosen, if any, and the others in copies of the thread."""
        copies = [
            effect.names[column]
            for column, each in candidates.items()
            if column != effect.chosen
            and self.writer.branch(
                each.stored,
                effect.number,
                model=each.ask.model,
                level_text=each.ask.level_text,
                system=each.ask.system,
                name=effect.names[column],
                journal=each.journal,
            )
        ]
        lines = (f"kept in copies of this thread: {', '.join(copies)}",) if copies else ()
        if effect.chosen is None:
            return actions.ComparisonClosed(lines=lines)
        chosen = candidates[effect.chosen]
        before = self.writer.thread_id
        self.writer.rewind(effect.number)
        saved = self.writer.add(
            chosen.stored,
            model=model,
            level_text=level_text,
            system=system,
            journal=chosen.journal,
        )
        past = self.writer.page(effect.number, effect.number + len(chosen.stored))
        if before and saved.thread is not None and saved.thread.id != before:
            lines = (f"this chat continues in a copy; {before} keeps its answer", *lines)
        return actions.ComparisonClosed(past, saved.thread, saved.unsaved, lines)

    def leave_comparison(self, number: int, candidates: Iterable[Candidate]) -> None:
        """Keep the answers of a comparison that ends with the chat, before one was chosen.

        Those on disk become copies of the thread when its file is closed; the others wait.
        """
        for each in candidates:
            each.try_again()
            if each.stored and not each.is_written:
                self.writer.branch(
                    each.stored,
                    number,
                    model=each.ask.model,
                    level_text=each.ask.level_text,
                    system=each.ask.system,
                    name=each.ask.label,
                    journal=each.journal,
                )

    async def _run_turn(
        self, ask: effects.AskModel, number: int | None, feed: Feed
    ) -> tuple[tuple[StoredMessage, ...], actions.TurnEnded, TurnJournal | None]:
        recorder = TurnRecorder(self._clock, paid=self.paid)
        _ASKING.set(_Asking(self, recorder, ask.label))
        RETRY_WATCHER.set(lambda error, seconds: feed(self._make_wait(error, seconds)))
        journal: TurnJournal | None = None
        error: PonderoError | None = None
        stopped = False
        replies: tuple[Reply, ...] = ()
        added: tuple[Message, ...] = ()
        used: UsageSoFar | None = None
        try:
            before = self.writer.messages[:number]
            chat = self._chat(ask.model, ask.level_text, before)
            chat.last_prompt = ask.last_prompt
            system = ask.system or None
            stream = chat.stream(
                ask.words,
                keep=True,
                system=system,
                context=ask.context,
                attachments=ask.parts,
            )
            journal = self.writer.begin_turn(
                stream.so_far,
                model=ask.model,
                level_text=ask.level_text,
                system=ask.system,
                number=number,
                name=ask.label,
            )
            so_far = partial(_stored_so_far, recorder, stream)
            try:
                await self._store_question(journal)
                async with stream:
                    async for event in stream:
                        recorder.feed(event)
                        feed(event)
                        journal.note(so_far)
            finally:
                journal.close()
                replies, added = stream.replies, chat.messages[len(before) :]
                used = stream.used_so_far
                self.writer.refusals = chat.refusals
        except asyncio.CancelledError:
            stopped = True
        except PonderoError as broken:
            error = broken
        except Exception as broken:  # noqa: BLE001 - whatever happens, the chat continues
            error = PonderoError(describe_unexpected(broken))
        stored = recorder.stored_messages(added, replies, used)
        ended = actions.TurnEnded(
            at=self._clock(),
            stored=added,
            exchanges=(*map(self._summarize_exchange, replies), *self._summarize_cut(used)),
            stopped=stopped,
            error=error,
            waited=recorder.waited,
        )
        return stored, ended, journal

    def _make_wait(self, error: PonderoError, seconds: float) -> actions.RetryWait:
        status = error.status if isinstance(error, ServiceError) else None
        return actions.RetryWait(str(status or "no answer"), seconds, self._clock())

    def handoff(self, move: effects.Handoff) -> actions.HandedOff:
        """Return which parts of the past the other model will not see, and what the move costs."""
        lines = self._losses(move) if move.is_elsewhere else []
        cache = self.describe_cache(move)
        if cache:
            lines.append(f"  Cache: {cache.removeprefix('cache ')}")
        return actions.HandedOff(tuple(lines), cache)

    def describe_cache(self, move: effects.Handoff) -> str:
        """Return what a move does to the prompt cache, in a few words; empty if nothing."""
        entry = self._dial.entry(move.model)
        made = (
            None
            if not move.same
            else preview_change(
                entry,
                self._dial.plan(move.model, move.level_text),
                self.writer.messages,
                policy=self._dial.policy,
                last_prompt=move.last_prompt,
                paid=self.paid,
            )
        )
        if made is None and move.is_cache_lost:  # another model, or another number of tokens
            return describe_lost_cache(entry, move.last_prompt or 0, paid=self.paid)
        return made or ""

    def _losses(self, move: effects.Handoff) -> list[str]:
        manifest = self._chat(move.model, move.level_text, self.writer.messages).handoff
        if not manifest.changes:
            return []
        first, *rest = str(manifest).splitlines()
        return [f"  Handoff: {first}", *(f"  {line}" for line in rest)]

    def _chat(self, model: str, level_text: str | None, messages: Sequence[Message]) -> AsyncChat:
        chat = AsyncChat(
            model,
            level_text,
            tools=self.tools,
            messages=messages,
            client=self._client,
            policy=self._dial.policy,
        )
        chat.refusals = self.writer.refusals
        return chat

    def _summarize_exchange(self, reply: Reply) -> actions.ExchangeEnded:
        return actions.ExchangeEnded(
            reply.usage,
            reply.finish,
            reply.verdict,
            self._cost(reply),
            notes=tuple(note.why for note in reply.adjustments if note.code in _REPAIRS),
        )

    def _summarize_cut(self, used: UsageSoFar | None) -> Iterator[actions.ExchangeEnded]:
        """Yield the exchange that was cut off; it may have used more than was reported."""
        if used is not None:
            cost = self._cost(used)
            yield actions.ExchangeEnded(used.usage, "", "", cost, at_least=self.paid)

    def _cost(self, answer: Reply | UsageSoFar) -> Decimal | None:
        if not self.paid:
            return Decimal(0)
        return None if answer.cost is None else answer.cost.usd


def _stored_so_far(recorder: TurnRecorder, turn: AsyncTurn) -> tuple[StoredMessage, ...]:
    return recorder.stored_messages(turn.so_far, turn.replies, turn.used_so_far)


def describe_unexpected(error: BaseException | None) -> str:
    """Return an unexpected error in one line, with the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__ if error else None)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"unexpected error{where}: {type(error).__name__}: {error}"


_REPAIRS = frozenset(
    {
        *("summary_refused", "seal_refused", "open_tool_loop", "route_changed", "medium_unseen"),
        "emulated_thread",
    }
)
"""Adjustments that arise while a request is sent, so that no plan showed them before."""

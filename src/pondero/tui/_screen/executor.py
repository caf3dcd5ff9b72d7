"""Runs the reducer's effects for a ``Host``, one method for each; results go back as actions."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec

from ...canon import Json
from ...cassettes import AsyncTap
from ...client import attachment
from ...errors import PonderoError, StoreError, UnknownThread
from ...store import set_config
from .. import file_mentions
from ..clipboard import copy, picture
from ..reports import describe_error, export_thread, redact_ended, run_doctor, tools, wire
from ..state import (
    PAGE,
    Action,
    DraftQuestion,
    Effect,
    Proposal,
    Word,
    actions,
    effects,
)
from .conversation import ConversationTab, Running, Tabs
from .editor import edit_text, find_editor
from .thread_lists import ThreadLists

_PATIENCE = 5.0
"""Seconds for the answers that are stopped when the chat is left."""


class CannotSuspend(Exception):
    """The terminal cannot be given to another program."""


class Host(Protocol):
    """The program around the executor: it reduces actions, runs workers and owns the screen.

    ``worker_errors``: how waiting for a worker fails that was cancelled or has failed.
    """

    worker_errors: ClassVar[tuple[type[Exception], ...]]

    def dispatch(self, action: Action, tab: ConversationTab | None = None) -> None:
        """Reduce an action on a tab; None is the tab on the screen."""

    def run_worker(
        self,
        work: Coroutine[None, None, None],
        *,
        group: str = "default",
        exclusive: bool = False,
        exit_on_error: bool = True,
    ) -> Running:
        """Run a coroutine in the background; ``exclusive`` cancels the others of its group."""

    def show_tab(self, tab: ConversationTab) -> None:
        """Put a tab on the screen."""

    def scroll_to(self, number: int) -> None:
        """Scroll the transcript to a message."""

    def restore_input(self, words: str, *, selected: bool, is_taken_back: bool = False) -> bool:
        """Put words into the input line; False if it has others, and only ↑ recalls them."""

    def set_aside(self, words: tuple[str, ...]) -> None:
        """Keep words that the input line does not have; ↑ recalls them, also in the next chat."""

    def paste_text(self) -> None:
        """Paste the clipboard's text into the input line."""

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text with the terminal's own escape sequence."""

    def suspend(self) -> AbstractContextManager[None]:
        """Give the terminal to another program for a while; raises CannotSuspend."""

    def change_theme(self, theme: str) -> None:
        """Draw in other colours."""

    def leave(self) -> None:
        """Stop what runs, save it, and leave the chat."""


class Executor:
    """Runs effects; each belongs to the tab whose state asked for it."""

    def __init__(
        self, host: Host, tabs: Tabs, tap: AsyncTap | None, clock: Callable[[], float]
    ) -> None:
        self._host = host
        self._dispatch = host.dispatch
        self._tabs = tabs
        self._lists = ThreadLists(tabs)
        self._tap = tap
        self._clock = clock
        self._calls = 0
        self.runners: dict[type, Callable[[Any, ConversationTab], None]] = {
            effects.AskModel: self._ask,
            effects.Compare: self._compare,
            effects.CloseComparison: self._close_comparison,
            effects.Stop: self._stop,
            effects.Handoff: self._handoff,
            effects.NoteModel: self._note,
            effects.CheckKey: self._check_key,
            effects.Begin: self._begin,
            effects.Open: self._open,
            effects.Fork: self._fork,
            effects.Rename: self._rename,
            effects.Export: self._export,
            effects.ListThreads: self._list,
            effects.Recall: self._recall,
            effects.Rewind: self._rewind,
            effects.Edit: self._edit,
            effects.Copy: self._copy,
            effects.Search: self._search,
            effects.ShowMessage: self._show_message,
            effects.AnswerApproval: self._answer_approval,
            effects.ListTools: self._list_tools,
            effects.Forget: self._forget_approval,
            effects.Attach: self._attach,
            effects.ReadMentions: self._read_mentions,
            effects.ListForPane: self._list_for_pane,
            effects.Fetch: self._fetch,
            effects.ShowWire: self._show_wire,
            effects.RunDoctor: self._run_doctor,
            effects.RestoreInput: self._restore,
            effects.SetAside: self._set_aside,
            effects.ChangeTheme: self._change_theme,
            effects.Quit: self._quit,
        }

    def do(self, effect: Effect, tab: ConversationTab) -> None:
        """Do what an effect asks for."""
        self.runners[type(effect)](effect, tab)

    def _draw_arrivals(self, tab: ConversationTab) -> None:
        for action in tab.take_arrivals(self._clock):
            self._dispatch(action, tab)

    # -- a turn -----------------------------------------------------------------------------------

    async def _request_approval(
        self,
        tab: ConversationTab,
        name: str,
        source: str,
        arguments: dict[str, Json],
        column: str,
    ) -> Word:
        self._calls += 1
        id = self._calls
        decision: asyncio.Future[Word] = asyncio.get_running_loop().create_future()
        tab.proposed[id] = decision
        shown = msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()
        self._draw_arrivals(tab)
        proposal = Proposal(id, name, source, shown, column)
        self._dispatch(actions.ApprovalRequested(proposal), tab)
        if tab is not self._tabs.active:
            self._dispatch(actions.ApprovalWaiting(tab.state.thread))
        try:
            return await decision
        finally:
            del tab.proposed[id]
            self._dispatch(actions.ApprovalWithdrawn(id), tab)

    def _answer_approval(self, effect: effects.AnswerApproval, tab: ConversationTab) -> None:
        waiting = tab.proposed.get(effect.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(effect.word)
        if effect.word == "always":
            # the session, woken by the result, adds the tool first
            asyncio.get_running_loop().call_soon(self._save_approved, tab)

    def _save_approved(self, tab: ConversationTab) -> None:
        stored = sorted(each for each in tab.session.approved if "/" in each)
        try:
            set_config("tools.approved", msgspec.json.encode(stored).decode())
        except PonderoError as error:
            said = f"⚠ approved in this chat only: {error}"
            self._dispatch(actions.LinesReported((said,), "warning"), tab)

    def _list_tools(self, _effect: effects.ListTools, tab: ConversationTab) -> None:
        self._host.run_worker(self._open_tools(tab), exit_on_error=True)

    async def _open_tools(self, tab: ConversationTab) -> None:
        try:
            await tab.session.tools.aopen()
        except PonderoError as error:
            self._dispatch(describe_error(error))
        self._dispatch(actions.LinesReported(tools(tab.session)), tab)

    def _forget_approval(self, effect: effects.Forget, tab: ConversationTab) -> None:
        approved = tab.session.approved
        found = {
            each for each in approved if each == effect.name or each.endswith(f"/{effect.name}")
        }
        approved -= found
        if found:
            self._save_approved(tab)
        nothing = f"no approved tool is called {effect.name!r}"
        said = f"✓ {effect.name} needs approval again" if found else nothing
        self._dispatch(actions.LinesReported((said,), "good" if found else "plain"), tab)

    def _ask(self, effect: effects.AskModel, tab: ConversationTab) -> None:
        tab.session.propose = partial(self._request_approval, tab)
        tab.turn = self._host.run_worker(self._run_turn(effect, tab), exit_on_error=True)
        self.refresh_pane()  # a first question is in no thread, but in the list

    async def _run_turn(self, effect: effects.AskModel, tab: ConversationTab) -> None:
        ended = await tab.session.turn(effect, tab.feed)
        self._draw_arrivals(tab)
        self._dispatch(redact_ended(ended), tab)
        self.refresh_pane()
        if tab is not self._tabs.active and not tab.state.busy:
            self._tabs.release(tab)
            whole = ended.error is None
            self._dispatch(actions.BackgroundTurnEnded(tab.state.thread, whole=whole))

    def _stop(self, _effect: effects.Stop, tab: ConversationTab) -> None:
        for worker in tab.running:
            worker.cancel()

    def _compare(self, effect: effects.Compare, tab: ConversationTab) -> None:
        tab.columns, tab.candidates, tab.asking = {}, {}, []
        tab.session.propose = partial(self._request_approval, tab)
        for column, ask in enumerate(effect.asks, effect.first):
            tab.columns[column] = []
            answer = self._run_column(column, ask, effect.number, tab)
            tab.asking.append(self._host.run_worker(answer, exit_on_error=True))

    async def _run_column(
        self, column: int, ask: effects.AskModel, number: int, tab: ConversationTab
    ) -> None:
        feed = tab.columns[column].append
        candidate = await tab.session.candidate(ask, number, feed)
        tab.candidates[column] = candidate
        self._draw_arrivals(tab)
        self._dispatch(actions.ColumnEnded(column, redact_ended(candidate.ended)), tab)

    def _close_comparison(self, effect: effects.CloseComparison, tab: ConversationTab) -> None:
        candidates, tab.candidates = tab.candidates, {}
        state = tab.state
        closed = tab.session.close_comparison(
            effect, candidates, model=state.model, level_text=state.level_text, system=state.system
        )
        self._dispatch(closed, tab)
        if effect.chosen is not None:
            self._count_usage(tab)

    def _handoff(self, effect: effects.Handoff, tab: ConversationTab) -> None:
        self._dispatch(tab.session.handoff(effect), tab)

    def _note(self, effect: effects.NoteModel, tab: ConversationTab) -> None:
        tab.session.writer.note(
            model=effect.model, level_text=effect.level_text, system=effect.system
        )

    def _check_key(self, effect: effects.CheckKey, tab: ConversationTab) -> None:
        if said := tab.session.find_missing_key(effect.model):
            self._dispatch(actions.LinesReported((f"⚠ {said}",), "warning"), tab)

    # -- threads ----------------------------------------------------------------------------------

    def _begin(self, _effect: effects.Begin, tab: ConversationTab) -> None:
        if tab.state.occupied:
            self._host.show_tab(self._tabs.find_empty() or self._tabs.make(tab))
        else:
            tab.session.writer.begin()

    def _open(self, effect: effects.Open, tab: ConversationTab) -> None:
        try:
            self._show_thread(effect.id, tab)
        except UnknownThread:
            choices = self._lists.find(effect.id, tab) if effect.or_find else ()
            if not choices:
                raise
            self._dispatch(actions.ThreadsOffered(choices), tab)

    def _show_thread(self, id: str, tab: ConversationTab) -> ConversationTab:
        if (unlisted := self._tabs.find_unlisted(id)) is not None:
            if unlisted is not tab:
                self._host.show_tab(unlisted)
            return unlisted
        exact = tab.session.writer.exact(self._tabs.find_id(id))
        if (shown := self._tabs.find(exact)) is not None and shown is not tab:
            self._host.show_tab(shown)
            return shown
        if tab.state.occupied:
            tab = self._tabs.make(tab)
            self._host.show_tab(tab)
        self._dispatch(tab.session.writer.open(exact), tab)
        self.restore_drafts(tab)
        return tab

    # -- what waits to be sent --------------------------------------------------------------------

    def keep(self, tab: ConversationTab, typed: str, *, ahead: Iterable[str] = ()) -> bool:
        """Write what waits to be sent and what could not be written, without a long wait.

        Return whether something is saved that was not.
        """
        saved = tab.try_again()
        tab.save_drafts(typed, ahead=ahead, patient=False)
        tab.session.writer.write_rescue()
        if saved is None:
            return False
        self._dispatch(saved, tab)
        self._tabs.release(tab)
        self.refresh_pane()
        return saved.unsaved is None

    def restore_drafts(self, tab: ConversationTab) -> None:
        """Put back what waited for this thread when its program ended."""
        restored, aside = tab.take_drafts()
        self._host.set_aside(aside)
        self._dispatch(restored, tab)

    async def stop_all(self) -> set[ConversationTab]:
        """Stop every answer, wait until what came is written, and return the tabs that had one."""
        active = {tab for tab in self._tabs if tab.state.active}
        running = [worker for tab in self._tabs for worker in tab.running]
        for worker in running:
            worker.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                for worker in running:
                    with suppress(*self._host.worker_errors):
                        await worker.wait()
        for tab in self._tabs:
            if tab.state.comparing is not None:
                candidates, tab.candidates = tab.candidates, {}
                tab.session.leave_comparison(tab.state.comparing.number, candidates.values())
        return active

    # -- the list of threads ----------------------------------------------------------------------

    def _fork(self, effect: effects.Fork, tab: ConversationTab) -> None:
        copy = tab.session.writer.copy(model=effect.model, level_text=effect.level_text)
        tab = self._show_thread(copy, tab)
        said = "✓ This is a copy; the first one stays as it was"
        self._dispatch(actions.LinesReported((said,), "good"), tab)
        if effect.to:
            self._dispatch(actions.Submitted(f"/model {effect.to}"), tab)

    def _rename(self, effect: effects.Rename, tab: ConversationTab) -> None:
        self._dispatch(actions.ThreadRenamed(tab.session.writer.rename(effect.title)), tab)

    def _export(self, effect: effects.Export, tab: ConversationTab) -> None:
        said = export_thread(*tab.session.writer.require_saved(), effect.path)
        self._dispatch(actions.LinesReported((said,), "good"), tab)

    def _list(self, effect: effects.ListThreads, tab: ConversationTab) -> None:
        self._dispatch(actions.ThreadsOffered(self._lists.find(effect.words, tab)), tab)

    def _fetch(self, effect: effects.Fetch, tab: ConversationTab) -> None:
        past = tab.session.writer.page(effect.first, effect.last)
        self._dispatch(actions.PageLoaded(past, effect.first), tab)

    def _search(self, effect: effects.Search, tab: ConversationTab) -> None:
        choices = self._lists.search(effect.words, tab)
        self._dispatch(actions.SearchFinished(effect.words, choices), tab)

    def _list_for_pane(self, effect: effects.ListForPane, tab: ConversationTab) -> None:
        work = self._list_pane_threads(effect.words, tab)
        self._host.run_worker(work, group="look", exclusive=True, exit_on_error=False)

    async def _list_pane_threads(self, words: str, tab: ConversationTab) -> None:
        choices = await self._lists.list_for_pane(words, tab)
        self._dispatch(actions.ThreadsListed(words, choices), tab)

    def refresh_pane(self) -> None:
        """List the threads again if the pane is open."""
        tab = self._tabs.active
        if tab.state.listing is not None:
            self._list_for_pane(effects.ListForPane(tab.state.listing.words), tab)

    def _show_message(self, effect: effects.ShowMessage, tab: ConversationTab) -> None:
        if effect.thread is not None:
            tab = self._show_thread(effect.thread, tab)
        state = tab.state
        if not state.first <= effect.number < state.last:
            first = max(0, min(effect.number - PAGE // 2, state.count - PAGE))
            self._fetch(effects.Fetch(first, min(state.count, first + PAGE)), tab)
        self._host.scroll_to(effect.number)

    # -- the last turn ----------------------------------------------------------------------------

    def _recall(self, effect: effects.Recall, tab: ConversationTab) -> None:
        turn = tab.session.writer.last_turn(tab.state.count)
        recalled = actions.LastTurnLoaded(
            effect.purpose, effect.level_texts, effect.words, turn, self._clock()
        )
        self._dispatch(recalled, tab)

    def _rewind(self, effect: effects.Rewind, tab: ConversationTab) -> None:
        tab.session.writer.rewind(effect.count)
        self._count_usage(tab)

    def _count_usage(self, tab: ConversationTab) -> None:
        with suppress(StoreError):  # the next thread that is opened says so
            self._dispatch(actions.UsageCount(tab.session.writer.count_usage()), tab)

    def _edit(self, effect: effects.Edit, tab: ConversationTab) -> None:
        editor = find_editor()
        if editor is None:
            self._end_edit(effect, None, tab)
        else:
            tab.editing = self._host.run_worker(self._run_editor(effect, editor, tab))

    async def _run_editor(self, effect: effects.Edit, editor: str, tab: ConversationTab) -> None:
        before = effect.asked.words
        try:
            with self._host.suspend():
                edited = await edit_text(editor, before)
        except CannotSuspend:
            self._end_edit(effect, None, tab)
            return
        if not edited.problem:
            self._end_edit(effect, edited.text, tab)
            return
        said = f"the editor {editor!r} {edited.problem}; nothing was asked"
        if edited.text.strip() not in ("", before.strip()):
            self._host.set_aside((edited.text.strip(),))
            said += ", and ↑ recalls what it saved"
        self._dispatch(describe_error(PonderoError(said)), tab)

    def _end_edit(self, effect: effects.Edit, words: str | None, tab: ConversationTab) -> None:
        at = self._clock()
        self._dispatch(actions.QuestionEdited(words, effect.number, effect.asked, at), tab)

    # -- files ------------------------------------------------------------------------------------

    def _attach(self, effect: effects.Attach, tab: ConversationTab) -> None:
        self.attach((Path(effect.path.strip("\"'")).expanduser(),), tab)

    def attach(self, paths: Iterable[Path], tab: ConversationTab) -> None:
        """Read files off the loop, and attach them to the next question."""
        self._host.run_worker(self._read_files(tuple(paths), tab), exit_on_error=True)

    async def _read_files(self, paths: tuple[Path, ...], tab: ConversationTab) -> None:
        for path in paths:
            try:
                part = await asyncio.to_thread(file_mentions.read_mention, path)
            except PonderoError as error:
                self._dispatch(describe_error(error))
            else:
                self._dispatch(actions.FilesAttached((part,)), tab)

    def _read_mentions(self, effect: effects.ReadMentions, tab: ConversationTab) -> None:
        self._host.run_worker(self._read_mentioned(effect.asked, tab), exit_on_error=True)

    async def _read_mentioned(self, asked: DraftQuestion, tab: ConversationTab) -> None:
        error = ""
        try:
            paths = await asyncio.to_thread(file_mentions.find_mentions, asked.words)
            parts = [await asyncio.to_thread(file_mentions.read_mention, path) for path in paths]
            asked = DraftQuestion(asked.words, (*asked.parts, *parts))
        except PonderoError as unread:
            error = str(unread)
        self._dispatch(actions.MentionsRead(asked, self._clock(), error), tab)

    def paste(self, tab: ConversationTab) -> None:
        """Attach the picture on the user's clipboard; without one, paste its text."""
        self._host.run_worker(self._paste_picture(tab), exit_on_error=True)

    async def _paste_picture(self, tab: ConversationTab) -> None:
        data = await asyncio.to_thread(picture)
        if data is None:
            self._host.paste_text()
            return
        try:
            part = attachment(data, name="clipboard.png")
        except PonderoError as error:
            self._dispatch(describe_error(error))
        else:
            self._dispatch(actions.FilesAttached((part,)), tab)

    def _copy(self, effect: effects.Copy, tab: ConversationTab) -> None:
        did, said = copy(effect.text, effect.what, self._host.copy_to_clipboard)
        self._dispatch(actions.LinesReported((said,), "good" if did else "warning"), tab)

    # -- the rest ---------------------------------------------------------------------------------

    def _show_wire(self, _effect: effects.ShowWire, tab: ConversationTab) -> None:
        self._dispatch(actions.LinesReported(wire(self._tap)), tab)

    def _run_doctor(self, _effect: effects.RunDoctor, tab: ConversationTab) -> None:
        self._dispatch(actions.LinesReported(run_doctor()), tab)

    def _restore(self, effect: effects.RestoreInput, tab: ConversationTab) -> None:
        if tab is not self._tabs.active:
            self._dispatch(actions.WordsReturned(effect.words), tab)
        elif not self._host.restore_input(
            effect.words, selected=effect.selected, is_taken_back=effect.is_taken_back
        ):
            said = "↑ recalls your words: the input line has others"
            self._dispatch(actions.LinesReported((said,)), tab)

    def _set_aside(self, effect: effects.SetAside, _tab: ConversationTab) -> None:
        self._host.set_aside((effect.words,))

    def _change_theme(self, effect: effects.ChangeTheme, tab: ConversationTab) -> None:
        self._host.change_theme(effect.theme)
        try:
            set_config("theme", effect.theme)
        except PonderoError as error:
            said = f"⚠ the theme is not saved: {error}"
            self._dispatch(actions.LinesReported((said,), "warning"), tab)

    def _quit(self, _effect: effects.Quit, _tab: ConversationTab) -> None:
        self._host.leave()

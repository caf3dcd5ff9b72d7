"""Does what the reducer asks for, one function for each effect; outcomes go back as actions."""

import asyncio
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from textual.app import SuspendNotSupported

from ..canon import Json
from ..cassettes import AsyncTap
from ..client import attachment
from ..errors import PonderoError, UnknownThread
from ..store import set_config
from . import file_mentions
from .clipboard import copy, picture
from .conversation import ConversationTab
from .reports import export_thread, redact_ended, run_doctor, tools, wire
from .state import PAGE, Choice, DialView, DraftQuestion, Effect, Proposal, Word, actions, effects

if TYPE_CHECKING:
    from .app import ChatApp


class Executor:
    """The hands of a ``ChatApp``; each effect belongs to the desk it was asked for on."""

    def __init__(
        self, app: "ChatApp", dial: DialView, tap: AsyncTap | None, clock: Callable[[], float]
    ) -> None:
        self._app = app
        self._dial = dial
        self._tap = tap
        self._clock = clock
        self._calls = 0
        self.doers: dict[type, Callable[[Any, ConversationTab], None]] = {
            effects.AskModel: self._ask,
            effects.Compare: self._compare,
            effects.CloseComparison: self._settle,
            effects.Stop: self._stop,
            effects.Handoff: self._handoff,
            effects.NoteModel: self._note,
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
            effects.ShowMessage: self._visit,
            effects.AnswerApproval: self._answer,
            effects.ListTools: self._list_tools,
            effects.Forget: self._forget,
            effects.Attach: self._attach,
            effects.ReadMentions: self._gather,
            effects.ListForPane: self._look,
            effects.Fetch: self._fetch,
            effects.ShowWire: self._wire,
            effects.RunDoctor: self._examine,
            effects.RestoreInput: self._restore,
            effects.ChangeTheme: self._dress,
            effects.Quit: self._quit,
        }

    def do(self, effect: Effect, desk: ConversationTab) -> None:
        """Do what an effect asks for."""
        self.doers[type(effect)](effect, desk)

    # -- a turn -----------------------------------------------------------------------------------

    async def _propose(
        self, desk: ConversationTab, name: str, source: str, arguments: dict[str, Json]
    ) -> Word:
        """Ask the user about a call, and wait for the decision."""
        self._calls += 1
        id = self._calls
        decision: asyncio.Future[Word] = asyncio.get_running_loop().create_future()
        desk.proposed[id] = decision
        shown = msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()
        self._app.frame()
        self._app.dispatch(actions.ApprovalRequested(Proposal(id, name, source, shown)), desk)
        if desk is not self._app.desk:
            self._app.dispatch(actions.ApprovalWaiting(desk.state.thread))
        try:
            return await decision
        finally:
            del desk.proposed[id]
            self._app.dispatch(actions.ApprovalWithdrawn(id), desk)

    def _answer(self, effect: effects.AnswerApproval, desk: ConversationTab) -> None:
        waiting = desk.proposed.get(effect.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(effect.word)
        if effect.word == "always":
            self._app.call_later(self._keep_approved, desk)  # after the session noted which

    def _keep_approved(self, desk: ConversationTab) -> None:
        kept = sorted(each for each in desk.session.approved if "/" in each)
        try:
            set_config("tools.approved", msgspec.json.encode(kept).decode())
        except PonderoError as error:
            said = f"⚠ it runs unasked in this chat only: {error}"
            self._app.dispatch(actions.LinesReported((said,), "warning"), desk)

    def _list_tools(self, _effect: effects.ListTools, desk: ConversationTab) -> None:
        self._app.run_worker(self._listed_tools(desk), exit_on_error=True)

    async def _listed_tools(self, desk: ConversationTab) -> None:
        try:
            await desk.session.tools.aopen()
        except PonderoError as error:
            self._app.trouble(error)
        self._app.dispatch(actions.LinesReported(tools(desk.session)), desk)

    def _forget(self, effect: effects.Forget, desk: ConversationTab) -> None:
        approved = desk.session.approved
        found = {
            each for each in approved if each == effect.name or each.endswith(f"/{effect.name}")
        }
        approved -= found
        if found:
            self._keep_approved(desk)
        nothing = f"no tool called {effect.name!r} runs unasked"
        said = f"✓ {effect.name} is asked about again" if found else nothing
        self._app.dispatch(actions.LinesReported((said,), "good" if found else "plain"), desk)

    def _ask(self, effect: effects.AskModel, desk: ConversationTab) -> None:
        self._app.wake()
        desk.session.propose = partial(self._propose, desk)
        desk.turn = self._app.run_worker(self._have_turn(effect, desk), exit_on_error=True)

    async def _have_turn(self, effect: effects.AskModel, desk: ConversationTab) -> None:
        ended = await desk.session.turn(effect, desk.feed)
        self._app.frame()
        self._app.dispatch(redact_ended(ended), desk)
        self._app.wake()
        self.refresh_pane()
        if desk is not self._app.desk and not desk.state.busy:
            self._app.clear(desk)
            whole = ended.error is None
            self._app.dispatch(actions.BackgroundTurnEnded(desk.state.thread, whole=whole))

    def _stop(self, _effect: effects.Stop, desk: ConversationTab) -> None:
        for worker in (*desk.asking, *((desk.turn,) if desk.turn is not None else ())):
            worker.cancel()

    def _compare(self, effect: effects.Compare, desk: ConversationTab) -> None:
        desk.columns, desk.candidates, desk.asking = {}, {}, []
        desk.session.propose = partial(self._propose, desk)
        for column, ask in enumerate(effect.asks, effect.first):
            desk.columns[column] = []
            answer = self._have_column(column, ask, effect.number, desk)
            desk.asking.append(self._app.run_worker(answer, exit_on_error=True))
        self._app.wake()

    async def _have_column(
        self, column: int, ask: effects.AskModel, number: int, desk: ConversationTab
    ) -> None:
        feed = desk.columns[column].append
        candidate = await desk.session.candidate(ask, number, feed)
        desk.candidates[column] = candidate
        self._app.frame()
        self._app.dispatch(actions.ColumnEnded(column, redact_ended(candidate.ended)), desk)
        self._app.wake()

    def _settle(self, effect: effects.CloseComparison, desk: ConversationTab) -> None:
        """Keep the chosen answer in the thread, and every other one in a copy of it."""
        keeper, state = desk.session.keeper, desk.state
        copies = [
            effect.names[column]
            for column, each in desk.candidates.items()
            if column != effect.chosen
            and keeper.branch(
                each.kept,
                effect.number,
                model=each.ask.model,
                wish=each.ask.wish,
                name=effect.names[column],
            )
        ]
        lines = [f"kept in copies of this thread: {', '.join(copies)}"] if copies else []
        if effect.chosen is None:
            self._app.dispatch(actions.ComparisonClosed(lines=tuple(lines)), desk)
            return
        kept = desk.candidates[effect.chosen].kept
        keeper.rewind(effect.number)
        saved = keeper.add(kept, model=state.model, wish=state.wish, system=state.system)
        past = keeper.page(effect.number, effect.number + len(kept))
        settled = actions.ComparisonClosed(past, saved.thread, saved.unsaved, tuple(lines))
        self._app.dispatch(settled, desk)

    def _handoff(self, effect: effects.Handoff, desk: ConversationTab) -> None:
        self._app.dispatch(desk.session.handoff(effect), desk)

    def _note(self, effect: effects.NoteModel, desk: ConversationTab) -> None:
        desk.session.keeper.note(model=effect.model, wish=effect.wish, system=effect.system)

    # -- threads ----------------------------------------------------------------------------------

    def _begin(self, _effect: effects.Begin, desk: ConversationTab) -> None:
        if desk.state.busy:
            self._app.new_tab(desk)
        else:
            desk.session.keeper.begin()

    def _open(self, effect: effects.Open, desk: ConversationTab) -> None:
        try:
            self._show(effect.id, desk)
        except UnknownThread:
            choices = desk.session.keeper.list(effect.id) if effect.or_find else ()
            if not choices:
                raise
            self._app.dispatch(actions.ThreadsOffered(choices), desk)

    def _show(self, id: str, desk: ConversationTab) -> ConversationTab:
        """Show a thread: on the desk where it lies, else on this one, else on a new one."""
        exact = desk.session.keeper.exact(id)
        if (other := self._app.desk_of(exact)) is not None and other is not desk:
            self._app.sit(other)
            return other
        if desk.state.busy:
            desk = self._app.new_tab(desk)
        self.show_opened(desk.session.keeper.open(exact), desk)
        return desk

    def _fork(self, effect: effects.Fork, desk: ConversationTab) -> None:
        self.show_opened(desk.session.keeper.fork(model=effect.model, wish=effect.wish), desk)
        said = "✓ This is a copy; the first one stays as it was"
        self._app.dispatch(actions.LinesReported((said,), "good"), desk)
        if effect.to:
            self._app.dispatch(actions.Submitted(f"/model {effect.to}"), desk)

    def show_opened(self, opened: actions.ThreadOpened, desk: ConversationTab) -> None:
        """Show a thread from its end; what was asked in it can be called back with the arrows."""
        self._app.page.to_end()
        self._app.dispatch(opened, desk)
        for past in opened.past:
            if past.message.role == "user":
                self._app.prompt.remember(past.message.text)

    def _rename(self, effect: effects.Rename, desk: ConversationTab) -> None:
        self._app.dispatch(actions.ThreadRenamed(desk.session.keeper.rename(effect.title)), desk)

    def _export(self, effect: effects.Export, desk: ConversationTab) -> None:
        said = export_thread(*desk.session.keeper.require_saved(), effect.path)
        self._app.dispatch(actions.LinesReported((said,), "good"), desk)

    def _list(self, effect: effects.ListThreads, desk: ConversationTab) -> None:
        self._app.dispatch(actions.ThreadsOffered(desk.session.keeper.list(effect.words)), desk)

    def _fetch(self, effect: effects.Fetch, desk: ConversationTab) -> None:
        past = desk.session.keeper.page(effect.first, effect.last)
        self._app.dispatch(actions.PageLoaded(past, effect.first), desk)

    def _search(self, effect: effects.Search, desk: ConversationTab) -> None:
        choices = desk.session.keeper.find(effect.words)
        self._app.dispatch(actions.SearchFinished(effect.words, choices), desk)

    def _look(self, effect: effects.ListForPane, desk: ConversationTab) -> None:
        busy = self._app.busy_threads()
        work = self._looked(effect.words, busy, desk)
        self._app.run_worker(work, group="look", exclusive=True, exit_on_error=False)

    async def _looked(self, words: str, busy: tuple[str, ...], desk: ConversationTab) -> None:
        try:
            choices = await asyncio.to_thread(desk.session.keeper.pane, words, busy)
        except PonderoError as error:
            choices = (Choice("", f"({error})"),)
        self._app.dispatch(actions.ThreadsListed(words, choices), desk)

    def refresh_pane(self) -> None:
        """List the threads again where the pane is open: one began, ended or was shown."""
        desk = self._app.desk
        if desk.state.listing is not None:
            self._look(effects.ListForPane(desk.state.listing.words), desk)

    def _visit(self, effect: effects.ShowMessage, desk: ConversationTab) -> None:
        if effect.thread is not None:
            desk = self._show(effect.thread, desk)
        state = desk.state
        if not state.first <= effect.number < state.last:
            first = max(0, min(effect.number - PAGE // 2, state.count - PAGE))
            self._fetch(effects.Fetch(first, min(state.count, first + PAGE)), desk)
        self._app.page.visit(effect.number)

    # -- the last turn ----------------------------------------------------------------------------

    def _recall(self, effect: effects.Recall, desk: ConversationTab) -> None:
        turn = desk.session.keeper.last_turn(desk.state.count)
        recalled = actions.LastTurnLoaded(
            effect.purpose, effect.wishes, effect.words, turn, self._clock()
        )
        self._app.dispatch(recalled, desk)

    def _rewind(self, effect: effects.Rewind, desk: ConversationTab) -> None:
        desk.session.keeper.rewind(effect.count)

    def _edit(self, effect: effects.Edit, desk: ConversationTab) -> None:
        words = self._edited(effect.asked.words)
        at = self._clock()
        self._app.dispatch(actions.QuestionEdited(words, effect.number, effect.asked, at), desk)

    def _edited(self, words: str) -> str | None:
        """Return the words as they were saved in the user's editor; None where that cannot be."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            return None
        with tempfile.TemporaryDirectory(prefix="pondero-") as folder:
            file = Path(folder) / "question.md"
            file.write_text(words, "utf-8")
            try:
                with self._app.suspend():
                    # the user's own choice of a program, as every other tool runs it
                    subprocess.run([*shlex.split(editor), str(file)], check=True)  # noqa: S603
            except SuspendNotSupported:
                return None
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                message = f"the editor {editor!r} did not end well: {error}"
                raise PonderoError(message) from None
            return file.read_text("utf-8", errors="replace")

    # -- files ------------------------------------------------------------------------------------

    def _attach(self, effect: effects.Attach, desk: ConversationTab) -> None:
        self.attach((Path(effect.path.strip("\"'")).expanduser(),), desk)

    def attach(self, paths: Iterable[Path], desk: ConversationTab) -> None:
        """Read files off the loop, and attach them to the next question."""
        self._app.run_worker(self._attached(tuple(paths), desk), exit_on_error=True)

    async def _attached(self, paths: tuple[Path, ...], desk: ConversationTab) -> None:
        for path in paths:
            try:
                part = await asyncio.to_thread(file_mentions.read_mention, path)
            except PonderoError as error:
                self._app.trouble(error)
            else:
                self._app.dispatch(actions.FilesAttached((part,)), desk)

    def _gather(self, effect: effects.ReadMentions, desk: ConversationTab) -> None:
        self._app.run_worker(self._gathered(effect.asked, desk), exit_on_error=True)

    async def _gathered(self, asked: DraftQuestion, desk: ConversationTab) -> None:
        error = ""
        try:
            paths = await asyncio.to_thread(file_mentions.find_mentions, asked.words)
            parts = [await asyncio.to_thread(file_mentions.read_mention, path) for path in paths]
            asked = DraftQuestion(asked.words, (*asked.parts, *parts))
        except PonderoError as unread:
            error = str(unread)
        self._app.dispatch(actions.MentionsRead(asked, self._clock(), error), desk)

    def paste(self, desk: ConversationTab) -> None:
        """Attach the picture on the user's clipboard; where there is none, paste as ever."""
        self._app.run_worker(self._pasted(desk), exit_on_error=True)

    async def _pasted(self, desk: ConversationTab) -> None:
        data = await asyncio.to_thread(picture)
        if data is None:
            self._app.prompt.action_paste()
            return
        try:
            part = attachment(data, name="clipboard.png")
        except PonderoError as error:
            self._app.trouble(error)
        else:
            self._app.dispatch(actions.FilesAttached((part,)), desk)

    def _copy(self, effect: effects.Copy, desk: ConversationTab) -> None:
        did, said = copy(effect.text, effect.what, self._app.copy_to_clipboard)
        self._app.dispatch(actions.LinesReported((said,), "good" if did else "warning"), desk)

    # -- the rest ---------------------------------------------------------------------------------

    def _wire(self, _effect: effects.ShowWire, desk: ConversationTab) -> None:
        self._app.dispatch(actions.LinesReported(wire(self._tap)), desk)

    def _examine(self, _effect: effects.RunDoctor, desk: ConversationTab) -> None:
        self._app.dispatch(actions.LinesReported(run_doctor()), desk)

    def _restore(self, effect: effects.RestoreInput, desk: ConversationTab) -> None:
        prompt = self._app.prompt
        if desk is not self._app.desk:
            self._app.dispatch(actions.WordsReturned(effect.words), desk)
        elif not prompt.text:
            prompt.put(effect.words)
        else:
            prompt.remember(effect.words)
            said = "↑ has them: other words stand in the input line"
            self._app.dispatch(actions.LinesReported((said,)), desk)

    def _dress(self, effect: effects.ChangeTheme, desk: ConversationTab) -> None:
        self._app.theme = effect.theme
        try:
            set_config("theme", effect.theme)
        except PonderoError as error:
            said = f"⚠ the theme is not kept: {error}"
            self._app.dispatch(actions.LinesReported((said,), "warning"), desk)

    def _quit(self, _effect: effects.Quit, _desk: ConversationTab) -> None:
        self._app.exit()

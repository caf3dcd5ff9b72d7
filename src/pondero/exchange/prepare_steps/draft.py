"""The value that the steps of ``prepare`` pass on: each takes a draft and returns the next one."""

from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ...canon import EarlierTurns, HttpRequest, Message, ReplayRules, Request, Target
from ...catalog import ModelEntry
from ...dialects import Caller
from ...handoff import KnownViews, Manifest, Rejection, View
from ...thinking import Adjustment, Plan, Policy, RequestParameters
from ..output.calls import NO_RESTORE, CallRestore
from ..output.restore import OutputRestore

_DEFAULT_POLICY, _NO_PARAMETERS, _NO_RULES = Policy(), RequestParameters(), ReplayRules()
_NO_VIEW, _NOT_ENCODED = View((), Manifest()), HttpRequest("POST", "", {}, b"")


class LevelWindow(Struct, frozen=True):
    """The unbroken run of one model's answers that a conversation ends with.

    ``base``: the level of its first answer, which every request of the window states. ``level``:
    the level in effect for the next answer. ``start``: the index of the first answer.
    """

    base: str | None
    level: str | None
    start: int


class EarlierRequests(KnownViews, EarlierTurns, Protocol):
    """What is known of one conversation since its earlier requests to one model."""

    def find_simple(self, messages: tuple[Message, ...]) -> tuple[int, tuple[str, ...]]:
        """Return how many first messages of a view are known to be simple, and their tools."""
        ...


class RequestDraft(Struct, frozen=True, kw_only=True, gc=False):
    """A request on its way to the wire, with its plan.

    ``rejections`` are earlier ones of this model; ``allowed``: adjustments that a strict policy
    accepted; ``retells``: an open tool loop may be told in words; ``emulator``: as in a
    destination; ``window``: the run of this model's answers so far; ``last_prompt``: its tokens, as
    the service counted them; ``views``: what earlier requests were sent as; ``text_tools`` take a
    text and are offered as functions; ``restore``: how a JSON answer will differ from the output;
    ``calls``: how calls will differ from the tools.
    """

    entry: ModelEntry
    request: Request
    plan: Plan
    caller: Caller
    target: Target
    unsupported: frozenset[str] = frozenset()
    parameters: RequestParameters = _NO_PARAMETERS
    policy: Policy = _DEFAULT_POLICY
    rejections: tuple[Rejection, ...] = ()
    allowed: tuple[Adjustment, ...] = ()
    retells: bool = False
    emulator: str | None = None
    window: LevelWindow | None = None
    last_prompt: int | None = None
    views: EarlierRequests | None = None
    view: View = _NO_VIEW
    replay_rules: ReplayRules = _NO_RULES
    text_tools: frozenset[str] = frozenset()
    restore: OutputRestore | None = None
    calls: CallRestore = NO_RESTORE
    http: HttpRequest = _NOT_ENCODED

    def find_rest(self) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        """Return the messages after those that are known to be simple, and the tools of these."""
        messages = self.request.messages
        if self.views is None:
            return messages, ()
        count, tools = self.views.find_simple(messages)
        return messages[count:], tools

    def but(self, **changes: Any) -> "RequestDraft":
        """Return the draft with some fields changed."""
        return replace(self, **changes)

    def note(self, *notes: Adjustment) -> "RequestDraft":
        """Return the draft with adjustments added to its plan."""
        if not notes:
            return self
        adjustments = (*self.plan.adjustments, *notes)
        return replace(self, plan=replace(self.plan, adjustments=adjustments))

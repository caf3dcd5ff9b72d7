"""Prepares plain questions, which differ from an earlier one in nothing but their text.

What was found out about the earlier one holds for them, so the text is put in its place. That this
is the same as preparing the whole request is tried with another text before it is relied on.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..canon import HttpRequest, Message, Request, Text
from ..catalog import ModelEntry
from ..errors import PonderoError
from ..handoff import Manifest
from ..thinking import Plan, Policy, RequestParameters
from .request import Exchange, Prepared, prepare

_MOST = 256  # of those that are kept
_TRIED = "Why is the sky blue at 4 o\u2019clock, and not green?"
_NO_PARAMETERS = RequestParameters()


class QuestionNeeds(Struct, frozen=True):
    """What a question depends on besides its text, its model's entry and its plan."""

    url: str
    key: str | None
    emulator: str | None
    policy: Policy
    system: str
    stream: bool

    def __repr__(self) -> str:
        """Omit the key."""
        return f"QuestionNeeds({self.url!r}, stream={self.stream})"

    def prepare(self, entry: ModelEntry, text: str, plan: Plan, at: float | None) -> Prepared:
        """Return a request ready for this model; raises as ``prepare`` does."""
        request = Request(
            model="",
            messages=(Message("user", (Text(text),)),),
            system=(Text(self.system),) if self.system else (),
            stream=self.stream,
        )
        return prepare(
            entry,
            request,
            plan,
            asked=_NO_PARAMETERS,
            policy=self.policy,
            url=self.url,
            key=self.key,
            at=at,
            emulator=self.emulator,
        )


class _KnownQuestion(Struct, frozen=True):
    """A prepared question without its text; ``entry`` and ``plan`` are what it was made for.

    ``around``: its body before and after the text; None if the text matters elsewhere.
    """

    entry: ModelEntry
    plan: Plan
    exchange: Exchange
    manifest: Manifest
    policy: Policy
    around: tuple[bytes, bytes] | None

    def ask(self, text: str, plan: Plan, at: float | None) -> Prepared | None:
        """Return the question with another text; None if it must be prepared itself."""
        if self.around is None or text.isspace():  # services reject blank texts
            return None
        try:
            words = msgspec.json.encode(text)
        except UnicodeEncodeError:  # a lone surrogate, which is replaced
            return None
        before, after = self.around
        exchange = self.exchange
        http = exchange.http
        # A caller may change the headers of its request; these must not change.
        request = HttpRequest(
            http.method, http.url, {**http.headers}, b"%b%b%b" % (before, words, after)
        )
        origin = replace(exchange.origin, at=at)
        return Prepared(
            replace(exchange, http=request, plan=plan, origin=origin), self.manifest, self.policy
        )


class KnownQuestions:
    """The questions that one client has asked; their headers have its keys."""

    def __init__(self) -> None:
        # None: only one of this kind came, which may be the only one.
        self._known: dict[tuple[object, ...], _KnownQuestion | None] = {}

    def prepare(
        self, entry: ModelEntry, text: str, plan: Plan, *, needs: QuestionNeeds, at: float | None
    ) -> Prepared:
        """Return a request ready for this model; raises as ``prepare`` does."""
        try:  # the plan's fields as bytes: as values, 1 and 1.0 would be the same
            key = (entry.model, plan.asked, msgspec.json.encode(plan.fields), needs)
        except (TypeError, ValueError, RecursionError):
            return needs.prepare(entry, text, plan, at)  # it says what is wrong
        known = self._known.get(key)
        if known is not None and known.entry is entry and known.plan == plan:
            return known.ask(text, plan, at) or needs.prepare(entry, text, plan, at)
        prepared = needs.prepare(entry, text, plan, at)
        if key in self._known:
            self._known[key] = _learn(entry, text, plan, needs=needs, prepared=prepared)
        else:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = None
        return prepared


def _learn(
    entry: ModelEntry, text: str, plan: Plan, *, needs: QuestionNeeds, prepared: Prepared
) -> _KnownQuestion:
    """Return a prepared question without its text."""
    exchange, at = prepared.exchange, prepared.exchange.origin.at
    http = replace(exchange.http, headers={**exchange.http.headers})
    unknown = _KnownQuestion(
        entry=entry,
        plan=plan,
        exchange=replace(exchange, http=http),
        manifest=prepared.manifest,
        policy=prepared.policy,
        around=None,
    )
    try:
        tried = needs.prepare(entry, _TRIED, plan, at).request.body
    except PonderoError:
        return unknown
    around = tried.split(msgspec.json.encode(_TRIED))
    if len(around) != 2:
        return unknown
    known = replace(unknown, around=(around[0], around[1]))
    return known if known.ask(text, plan, at) == prepared else unknown

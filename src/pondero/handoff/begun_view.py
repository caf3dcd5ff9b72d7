"""The view of a conversation of which the beginning was handed over before: only the rest is.

A beginning ends before an answer, and every call in it has its result. The rest then depends on it
in few ways; where it may, the whole conversation is handed over as ever.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ..canon import Message, ToolCall, ToolResult, is_simple
from .call_ids import answers
from .destination import Destination
from .manifest import Change, Manifest
from .view import View, handoff

_BOUND = frozenset({"id", "place"})
"""Changes that depend on other messages: on all ids, and on where a call is."""


class BegunView(Struct, frozen=True):
    """The view of the beginning of a conversation; ``calls``: the ids of all calls in it.

    ``made``: the messages of the view that are not the conversation's own, since the last one that
    was kept. ``tools``: the names of tools in it. ``is_simple``: so are all messages of the
    beginning and of its view.
    """

    target: Destination
    view: View
    calls: frozenset[str]
    made: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    is_simple: bool = False


class KnownViews(Protocol):
    """What is known of one conversation since its earlier requests."""

    def find(self, messages: Sequence[Message]) -> tuple[int, BegunView] | None:
        """Return how many first messages were handed over, and their view; None if none were."""

    def keep(self, messages: tuple[Message, ...], begun: BegunView) -> None:
        """Keep the view of these messages, with which the conversation begins."""


def continue_handoff(messages: tuple[Message, ...], target: Destination, known: KnownViews) -> View:
    """Return what ``handoff`` returns; messages that were handed over before are not again."""
    plain = replace(target, updates_from=None)  # a view that is kept has no updates
    count, begun = known.find(messages) or (0, None)
    if begun is not None and begun.target != plain:
        count, begun = 0, None
    end = _find_end(messages)
    if count < end:
        begun = _begin(messages[:end], plain, count, begun)
        count = end
        if begun is not None:
            known.keep(messages[:end], begun)
    view = None if begun is None else _join(begun, messages[count:], count)
    return handoff(messages, target) if view is None else view


def _find_end(messages: Sequence[Message]) -> int:
    """Return where the last answer but one begins: what follows it may still get cache marks."""
    at = len(messages)
    for _ in range(2):
        while at and messages[at - 1].role != "assistant":
            at -= 1
        while at and messages[at - 1].role == "assistant":
            at -= 1
    return at


def _begin(
    messages: tuple[Message, ...], target: Destination, count: int, begun: BegunView | None
) -> BegunView | None:
    """Return the view of a beginning, of which that of the first ``count`` messages is known."""
    new = messages[count:]
    calls = _list_closed(new)
    if calls is None:
        return None
    if begun is None:
        lead = next((at for at, each in enumerate(new) if each.role != "system"), len(new))
        if any(each.role == "system" for each in new[lead:]):
            return None
        view: View | None = handoff(new, target)
    else:
        view = _join(begun, new, count)
    if view is None or not view.messages or view.messages[-1].role != "user":
        return None
    if any(change.what in _BOUND for change in view.manifest.changes):
        return None
    before = 0 if begun is None else len(begun.view.messages)
    own = set(map(id, new))
    made = tuple([each for each in view.messages[before:] if id(each) not in own])
    ids = calls if begun is None else begun.calls | calls
    more = view.messages[before:]
    tools = list_tools(more) if begun is None else (*begun.tools, *list_tools(more))
    simple = (begun is None or begun.is_simple) and all(map(is_simple, (*new, *made)))
    return BegunView(target, view, ids, made, tuple(dict.fromkeys(tools)), simple)


def list_tools(messages: Sequence[Message]) -> list[str]:
    """Return the names of the tools that are called in messages, or whose results name them."""
    return [
        part.name or ""
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall) or (isinstance(part, ToolResult) and part.name)
    ]


def _list_closed(messages: Sequence[Message]) -> frozenset[str] | None:
    """Return the ids of all calls as ``_list_calls`` does; None if one has no result."""
    if not messages or messages[-1].role != "user":
        return None
    calls = _list_calls(messages)
    return calls if calls is not None and len(answers(messages)) == len(calls) else None


def _list_calls(messages: Sequence[Message]) -> frozenset[str] | None:
    """Return the ids of all calls; None if one is twice, not an answer's, or a level changes."""
    calls: list[str] = []
    for message in messages:
        if message.level_update is not None:
            return None
        for part in message.parts:
            if isinstance(part, ToolCall):
                if message.role != "assistant":
                    return None
                calls.append(part.id)
    found = frozenset(calls)
    return found if len(found) == len(calls) else None


def _join(begun: BegunView, new: Sequence[Message], count: int) -> View | None:
    """Return the view of a beginning and more messages; None if they depend on each other."""
    if not new or new[0].role != "assistant" or any(each.role == "system" for each in new):
        return None
    calls = _list_calls(new)
    if calls is None or not calls.isdisjoint(begun.calls):
        return None
    takes = begun.target.takes
    target = begun.target
    if takes.begins_with_user:  # it has begun
        target = replace(target, takes=replace(takes, begins_with_user=False))
    view = handoff(new, target)
    if not view.messages or view.messages[0].role != "assistant":
        return None  # it would be one with the message before it
    if any(change.what in _BOUND for change in view.manifest.changes):
        return None
    manifest = _add(begun.view.manifest, view.manifest, count)
    return View((*begun.view.messages, *view.messages), manifest, begun.view.lead)


def _add(begun: Manifest, more: Manifest, count: int) -> Manifest:
    """Return one manifest of two, of which the second begins after ``count`` messages."""
    changes = [
        Change(
            each.action,
            each.what,
            each.why,
            each.message + count,
            each.part,
            each.before,
            each.after,
        )
        for each in more.changes
    ]
    return Manifest(
        begun.kept + more.kept,
        begun.withheld + more.withheld,
        begun.rewritten + more.rewritten,
        begun.added + more.added,
        (*begun.changes, *changes),
    )

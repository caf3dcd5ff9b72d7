"""A thread as one destination may see it; the thread itself does not change."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from ..canon import (
    Message,
    Origin,
    Part,
    ReplayRules,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from .adapt_parts import (
    INTERRUPTED,
    OPENING,
    PartAdapter,
    are_same,
    is_plain,
    is_sendable,
    make_interrupted_result,
)
from .call_ids import CallIds, answers
from .destination import Destination, OwnershipRules
from .manifest import ChangeLog, Manifest, Place
from .system_turns import FOLDED, MOVED, count_lead, place, texts_of

BEGINNING = "the first message must be the user's here"
OTHER_WINDOW = "it set the level of earlier answers; a request to this model states its own level"
UNASKED = "no call before it asked for it"


class ViewBuilder:
    """The messages of a view; ``add`` them in order, then take ``messages``."""

    def __init__(self, destination: Destination, changes: ChangeLog) -> None:
        self._merges = destination.takes.merges
        self._waits_for_user = destination.takes.begins_with_user
        self._makers = OwnershipRules(destination)
        self._changes = changes
        self._done: list[Message] = []
        self._last: Message | None = None  # the latest; the next may be merged into it
        self._more: list[Part] = []  # parts of the messages merged into the latest

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the messages of the view."""
        self._close()
        return tuple(self._done)

    def add_parts(self, role: Role, parts: Iterable[Part], number: int) -> None:
        """Add parts of a message that is not in the thread."""
        self.add(Message(role, tuple(parts)), number, added=True)

    def add(self, message: Message, number: int, *, added: bool = False) -> None:
        """Add a message; ``number`` is its place in the thread, or of the one it goes with."""
        if self._waits_for_user and message.role != "system":
            self._waits_for_user = False
            if message.role == "assistant":
                self._changes.add(number, "text", BEGINNING)
                self.add_parts("user", (OPENING,), number)
        last = self._last
        if last is None or not self._merges or last.role != message.role or last.role == "system":
            self._close()
            self._last = message
            return
        self._more += message.parts
        if not added:
            self._changes.merge(number)
        if (origin := self._origin(last.origin, message.origin)) is not last.origin:
            self._last = Message(last.role, last.parts, origin)

    def _origin(self, earlier: Origin | None, later: Origin | None) -> Origin | None:
        for origin in (earlier, later):
            if self._makers.is_own(origin):
                return origin
        return earlier if earlier == later else None

    def _close(self) -> None:
        last = self._last
        if last is None:
            return
        if self._more:
            last = Message(last.role, (*last.parts, *self._more), last.origin)
            self._more = []
        self._done.append(last)
        self._last = None


class View(Struct, frozen=True):
    """What may be sent, and how it differs; ``lead``: system turns that it begins with."""

    messages: tuple[Message, ...]
    manifest: Manifest
    lead: tuple[Text, ...] = ()

    @property
    def open_loop_without_thinking(self) -> bool:
        """Return whether the view ends in an open tool loop without thinking, as some reject."""
        first: Message | None = None
        answered, after = False, "user"
        for message in reversed(self.messages):
            if message.role == "system":
                continue
            if message.role == "user":
                answered = answered or any(isinstance(p, ToolResult) for p in message.parts)
            elif answered or (first is not None and after == "assistant"):
                first, answered = message, False
            else:
                break
            after = message.role
        return first is not None and not isinstance(first.parts[0], Thinking)


def handoff(messages: Sequence[Message], target: Destination) -> View:
    """Return the thread as the target may see it, and what is different in it.

    Every call gets an id that the target accepts, and exactly one result right after its turn. A
    second handoff of the view changes nothing.
    """
    if _is_plain(messages, target):
        return View(tuple(messages), Manifest(kept=_count(messages)))
    changes = ChangeLog()
    turns = ViewBuilder(target, changes)
    weaver = _Weaver(messages, target, changes)
    for number, message in enumerate(messages):
        weaver.turn(number, message, turns)
    weaver.end(turns)
    built = turns.messages
    lead = count_lead(built)
    placed = place(built[lead:], target.takes.system_turns)
    rest = placed.messages
    said = sum(message.level_update is None for message in built[:lead])
    if placed.moved or placed.folded:
        rest = _join_neighbours(rest, target)
        for why, which in ((MOVED, placed.moved), (FOLDED, placed.folded)):
            for number in which:
                changes.rewrite((weaver.system_turns[said + number], 0), "system", why)
    return View(rest, changes.manifest(_count(messages)), texts_of(built[:lead]))


def _join_neighbours(messages: Iterable[Message], target: Destination) -> tuple[Message, ...]:
    joined = ViewBuilder(target, ChangeLog())
    for number, message in enumerate(messages):
        joined.add(message, number)
    return joined.messages


def _count(messages: Sequence[Message]) -> int:
    return sum([len(message.parts) for message in messages])


def _is_plain(messages: Sequence[Message], target: Destination) -> bool:
    before = "assistant" if target.takes.begins_with_user else ""
    for message in messages:
        role = message.role
        if role == "system" or (role == before and (target.takes.merges or role == "assistant")):
            return False
        before = role
        if not _is_words(message, target.takes):
            return False
    return True


def _is_words(message: Message, takes: ReplayRules) -> bool:
    for part in message.parts:
        if not isinstance(part, Text) or not is_sendable(part, takes) or not is_plain(part):
            return False
    return bool(message.parts)


class _Weaver:
    """Walks through a thread once and puts every result right after its call."""

    def __init__(
        self, messages: Sequence[Message], target: Destination, changes: ChangeLog
    ) -> None:
        self._messages = messages
        self._changes = changes
        self._fitting = PartAdapter(target, changes)
        self._answers = answers(messages)
        self._wanted = set(self._answers.values())
        self._takes = target.takes
        self._updates_from = target.updates_from
        self._unpaired = target.takes.unpaired
        self._open = None if target.takes.answers_calls else _last_answer(messages)
        calls = [p.id for message in messages for p in message.parts if isinstance(p, ToolCall)]
        self._ids = CallIds(target.takes.id_pattern, target.takes.id_length, calls)
        self._owed: list[Part] = []  # results of the turn before
        self.system_turns: list[int] = []  # where those of the view are in the thread

    def turn(self, number: int, message: Message, turns: ViewBuilder) -> None:
        """Take the next message."""
        if message.role == "system":
            if message.level_update is not None:
                self._update_level(number, message, turns)
                return
            self.system_turns.append(number)
        is_whole = self._unpaired is None or message.role != "assistant"
        if not self._owed and is_whole and _is_words(message, self._takes):
            turns.add(message, number)
            return
        owed, self._owed = self._owed, []
        if owed and message.role != "user":
            turns.add_parts("user", owed, number - 1)
            owed = []
        if owed and are_same(owed, message.parts):  # the results, and nothing else
            turns.add(message, number)
            return
        parts, calls = self._parts(number, message)
        if self._fitting.notes:
            turns.add_parts("user", self._fitting.notes, number)
            self._fitting.notes = []
        if parts or owed:
            turns.add(_same_or_new(message, [*owed, *parts] if owed else parts), number)
        else:
            self._changes.leave_out(number)
            if message.role == "system":
                self.system_turns.pop()
        if calls:
            self._owed = self._results(number, calls)

    def _update_level(self, number: int, message: Message, turns: ViewBuilder) -> None:
        if self._updates_from is None or number < self._updates_from:
            self._changes.withhold((number, 0), "level_update", OTHER_WINDOW)
            return
        if self._owed:  # results stay right after their calls
            turns.add_parts("user", self._owed, number - 1)
            self._owed = []
        turns.add(message, number)

    def end(self, turns: ViewBuilder) -> None:
        """Add the results of the last turn."""
        if self._owed:
            turns.add_parts("user", self._owed, len(self._messages) - 1)

    def _parts(self, number: int, message: Message) -> tuple[list[Part], list[tuple[Place, str]]]:
        parts: list[Part] = []
        places: list[Place] = []
        calls: list[tuple[Place, str]] = []
        for index, part in enumerate(message.parts):
            at = (number, index)
            if isinstance(part, ToolResult):
                if at not in self._wanted:
                    self._changes.withhold(at, "result", UNASKED)
            elif message.role == "system" and not isinstance(part, Text):
                kind = str(part.__struct_config__.tag)
                self._changes.withhold(at, kind, "a system turn has text alone")
            elif isinstance(part, UnknownPart):
                fits = self._fitting.other(part, at, message)
                parts += fits
                places += [at] * len(fits)
            elif not isinstance(part, ToolCall):
                if (fit := self._fitting.part(part, at, message)) is not None:
                    parts.append(fit)
                    places.append(at)
            elif message.role == "assistant":
                id = self._ids.take(part.id)
                parts.append(self._fitting.call(part, id, at, message))
                places.append(at)
                calls.append((at, id))
            else:
                self._changes.withhold(at, "call", "only the assistant calls tools")
        if self._unpaired is not None and message.role == "assistant":
            parts = self._drop_unpaired(parts, places, self._unpaired(parts))
        return parts, calls

    def _drop_unpaired(
        self, parts: list[Part], places: list[Place], unpaired: Mapping[int, str]
    ) -> list[Part]:
        for index, why in unpaired.items():
            kind = str(parts[index].__struct_config__.tag)
            self._changes.withhold(places[index], kind, why)
        return [part for index, part in enumerate(parts) if index not in unpaired]

    def _results(self, number: int, calls: list[tuple[Place, str]]) -> list[Part]:
        results: list[Part] = []
        media: list[Part] = []
        came = 0
        if number == self._open and not any(at in self._answers for at, _ in calls):
            return results
        for call, id in calls:
            at = self._answers.get(call)
            if at is None:
                self._changes.add(number, "result", INTERRUPTED)
                results.append(make_interrupted_result(id))
                continue
            message = self._messages[at[0]]
            result = cast("ToolResult", message.parts[at[1]])  # answers() finds no other kind
            fitted = self._fitting.result(result, id, at)
            fitted, moved = self._fitting.move_media_out(fitted, at)
            results.append(fitted)
            media += moved
            if at != (number + 1, came) or message.role != "user":
                self._note_move(at, number)
            came += 1
        return [*results, *media]

    def _note_move(self, at: Place, number: int) -> None:
        why = "results follow their calls, in the same order"
        before, after = f"{at[0]}.{at[1]}", f"after {number}"
        self._changes.rewrite(at, "place", why, before=before, after=after)


def _last_answer(messages: Sequence[Message]) -> int | None:
    turns = reversed(range(len(messages)))
    return next((number for number in turns if messages[number].role == "assistant"), None)


def _same_or_new(message: Message, parts: list[Part]) -> Message:
    if are_same(parts, message.parts):
        return message
    return Message(message.role, tuple(parts), message.origin)

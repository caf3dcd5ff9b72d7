"""Counts the answers and transcriptions of one socket, from the messages that pass.

Under a quota, one that a client asks for begins if there is room; one that the service begins by
itself is reserved when it begins, and cancelled if there is no room.
"""

from asyncio import Event
from secrets import token_hex

from msgspec import Struct

from ...canon import Json, Usage
from ...dialects import (
    AnswerUsage,
    Endpoint,
    SocketTurns,
    TurnEvent,
    asks_for_answer,
    has_setting,
    parse_message,
    read_event_usage,
    read_setting,
    read_turn_event,
    restore_failed_id,
    set_request_id,
    write_cancel,
)
from ..quotas.endpoint_use import EndpointCall
from ..quotas.socket_answers import SocketAnswers, SocketCall
from ..quotas.socket_quota import SocketQuota
from ..quotas.usage_meter import Figures
from .endpoint_content import check_once


class SocketRequest(Struct, frozen=True):
    """A client's message that asks for an answer or a transcription; ``waits``: for one's end."""

    raw: Json
    answers: SocketAnswers
    turns: SocketTurns
    waits: bool


class CountedMessage(Struct, frozen=True):
    """A message of the service as the client gets it; ``is_notable``: the counts have changed."""

    message: str | bytes
    has_room: bool = True
    is_notable: bool = False


class SocketCount:
    """Counts one socket; ``idle``: nothing is being made."""

    def __init__(self, endpoint: Endpoint, used: SocketCall, quota: SocketQuota) -> None:
        self._endpoint = endpoint
        self._used = used
        self._quota = quota
        self._requests: dict[str, tuple[Json, SocketAnswers]] = {}  # our id of each: the client's
        self._has_reported = False  # something, since the latest end of an answer
        self.is_cancelled: bool = False
        self.idle: Event = Event()
        self.idle.set()
        self._once = tuple(
            step
            for each in used.tracks
            if each.turns is not None and each.turns.request_id
            for name in ("type", each.turns.request_id, *each.turns.on_at)
            for step in name.split(".")
        )

    # -- messages of the client --------------------------------------------------------------------

    def find_request(self, message: str | bytes) -> SocketRequest | None:
        """Return a client's message that asks for something; None if it does not.

        Raises BadParameter under a quota if services may read it in two ways.
        """
        if self._quota.counts and self._once:
            check_once(message.encode() if isinstance(message, str) else message, self._once)
        raw = parse_message(message)
        found: SocketRequest | None = None
        for answers in self._used.tracks:
            turns = answers.turns
            if turns is None:
                continue
            if read_setting(raw, turns):  # that they are off, the service says
                answers.is_on = True
            if found is None and answers.is_on and asks_for_answer(raw, turns):
                waits = self._quota.counts and turns.is_parallel
                found = SocketRequest(raw, answers, turns, waits)
        return found

    async def ask(self, request: SocketRequest, message: str | bytes) -> tuple[str | bytes, bool]:
        """Take a request; return it as it is sent, and whether there is room for it."""
        answers, turns = request.answers, request.turns
        id = f"evt_{token_hex(12)}"
        if self._quota.counts:
            most = self._make_figures(self._used.assume_spoken(answers.find_most()))
            # Where answers are not parallel, one is for all that was asked before its end.
            if not answers.open and not await self._quota.begin(most, _name(answers)):
                return message, False
            if turns.request_id:  # else an error could be taken for one of another message
                message, had = set_request_id(request.raw, turns, id)
                self._requests[id] = had, answers
        answers.ask(id)
        self.idle.clear()
        return message, True

    # -- messages of the service -------------------------------------------------------------------

    async def count(self, message: str | bytes) -> CountedMessage:
        """Count what a message of the service reports."""
        used = self._used
        used.note_message(message)
        found = read_event_usage(message, self._endpoint)
        self._has_reported = self._has_reported or bool(found)
        has_room = True
        is_notable = bool(found)
        is_error = has_ended = False
        for answers in used.tracks:
            turns = answers.turns
            if turns is None:
                continue
            self._note_setting(answers, turns, message)
            event = read_turn_event(message, turns)
            if event.begins or (event.may_begin and answers.is_on):
                has_room = await self._begin(answers, event) and has_room
                is_notable = True
            elif event.may_begin:
                await self._drop(answers)
            if event.ends:
                has_room = await self._end(answers, turns, event, found) and has_room
                has_ended = is_notable = True
            if event.is_error:
                message = message if is_error else await self._fail(message, event, turns)
                is_error = is_notable = True
        if found and not has_ended:
            used.add(found)
            has_room = await self._quota.add(self._make_figures(found.usage)) and has_room
        if not used.open:
            self.idle.set()
        return CountedMessage(message, has_room, is_notable)

    def _note_setting(
        self, answers: SocketAnswers, turns: SocketTurns, message: str | bytes
    ) -> None:
        if turns.on_at and has_setting(message, turns):
            is_on = read_setting(parse_message(message), turns)
            answers.is_on = answers.is_on if is_on is None else is_on

    async def _begin(self, answers: SocketAnswers, event: TurnEvent) -> bool:
        """Take the beginning of an answer; return whether there is room for it."""
        was_open = bool(answers.open)
        is_own = answers.begin(event.answer)
        self.idle.clear()
        if not is_own or (was_open and answers.turns is not None and not answers.turns.is_parallel):
            return True
        most = self._make_figures(self._used.assume_spoken(answers.find_most()))
        return await self._quota.begin(most, _name(answers), shares=True)

    async def _drop(self, answers: SocketAnswers) -> None:
        """Forget a request for a transcription of a session that makes none."""
        if answers.fail(None):
            await self._quota.release(_name(answers))

    async def _end(
        self, answers: SocketAnswers, turns: SocketTurns, event: TurnEvent, found: AnswerUsage
    ) -> bool:
        most = self._used.assume_spoken(answers.end(event.answer))
        is_known = bool(found) or (self._has_reported and not turns.is_parallel)
        self._has_reported = False
        if not is_known:
            found = AnswerUsage(most)
        self._used.add(found, is_estimated=not is_known)
        return await self._quota.end(self._make_figures(found.usage), _name(answers))

    async def _fail(
        self, message: str | bytes, event: TurnEvent, turns: SocketTurns
    ) -> str | bytes:
        """Forget a request that the service rejects; return the error for the client."""
        if not self._quota.counts:
            for answers in self._used.tracks:
                answers.fail(None)
            return message
        if event.failed is None or event.failed not in self._requests:
            return message
        had, answers = self._requests.pop(event.failed)
        if answers.fail(event.failed):
            await self._quota.release(_name(answers))
        return restore_failed_id(message, turns, had)

    def list_cancels(self) -> list[str]:
        """Return the messages that end the answers under way."""
        found = [
            cancel
            for answers in self._used.tracks
            for id in answers.running
            if answers.turns is not None and (cancel := write_cancel(answers.turns, id)) is not None
        ]
        self.is_cancelled = self.is_cancelled or bool(found)
        return found

    def _make_figures(self, usage: Usage | None) -> Figures:
        if usage is None:
            return Figures()
        one = EndpointCall(self._used.provider, self._used.model, None, AnswerUsage(usage))
        return Figures(usage=usage, cost=one.find_price())


def _name(answers: SocketAnswers) -> str:
    """Return the kind of a reservation: a transcription is no answer."""
    return "transcription" if answers.turns is not None and answers.turns.on_at else "answer"

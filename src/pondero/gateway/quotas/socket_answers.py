"""The answers of one socket, and its transcriptions: which are not complete, and their most.

The prompt of an answer is the conversation so far. A token has a byte or more, so all messages
together limit it, unless one of them names something that the gateway does not see.
"""

from fnmatch import fnmatchcase

from msgspec import field
from msgspec.structs import replace

from ...canon import MEDIA, Usage
from ...dialects import AnswerUsage, SocketLimit, SocketTurns, add_answer_usages, may_escape_names
from .endpoint_use import EndpointCall

_NO_LIMIT = SocketLimit((), 0, 0)


class SocketAnswers:
    """The answers that a client asked for, or that the service began by itself; or transcriptions.

    ``is_on``: whether the session makes them.
    """

    def __init__(self, turns: SocketTurns | None, model: str | None) -> None:
        self.turns = turns
        self.is_on: bool = turns is not None and not turns.on_at
        limits = turns.limits if turns is not None else ()
        self._limit = next(
            (
                each
                for each in limits
                if any(fnmatchcase(model or "", name) for name in each.models)
            ),
            _NO_LIMIT,
        )
        self._bytes = 0
        self._bytes_at_end = 0  # of the latest answer
        self._is_unseen = False
        self._asked: dict[str, None] = {}
        self._running: set[str] = set()

    @property
    def open(self) -> int:
        """Return how many answers are not complete."""
        return len(self._asked) + len(self._running)

    @property
    def running(self) -> tuple[str, ...]:
        """Return the ids of the answers that are being made."""
        return tuple(self._running)

    def note_data(self, data: bytes) -> None:
        """Take a message that passes, in either direction."""
        self._bytes += len(data)
        if self.turns is not None and self.turns.unseen and not self._is_unseen:
            self._is_unseen = any(each.encode() in data for each in self.turns.unseen)
            self._is_unseen = self._is_unseen or may_escape_names(data.__contains__)

    def ask(self, request: str) -> None:
        """Take a request for an answer."""
        self._asked[request] = None

    def begin(self, answer: str) -> bool:
        """Take the beginning of an answer: of the first that was asked for, or of none.

        Returns whether the service began it by itself.
        """
        if answer in self._running:
            return False
        is_asked = bool(self._asked)
        self._drop_asked()
        self._running.add(answer)
        return not is_asked

    def end(self, answer: str) -> Usage:
        """Take the end of an answer; return the most that it can have used."""
        if answer in self._running:
            self._running.discard(answer)
        else:
            self._drop_asked()
        if self.turns is not None and not self.turns.is_parallel:
            self._asked.clear()  # one answer was for all of them
            self._running.clear()
        written = self._bytes - self._bytes_at_end
        self._bytes_at_end = self._bytes
        return Usage(self._find_prompt(), output=min(written, self._limit.output))

    def fail(self, request: str | None) -> bool:
        """Take the rejection of a request; None: of the first one. Return whether there was it."""
        count = len(self._asked)
        if request is None:
            self._drop_asked()
        else:
            self._asked.pop(request, None)
        return len(self._asked) < count

    def find_most(self) -> Usage:
        """Return the most that one answer can use that begins now, or is not complete."""
        return Usage(self._find_prompt(), output=self._limit.output)

    def _find_prompt(self) -> int:
        return self._limit.prompt if self._is_unseen else min(self._bytes, self._limit.prompt)

    def _drop_asked(self) -> None:
        first = next(iter(self._asked), None)
        if first is not None:
            del self._asked[first]


class SocketCall(EndpointCall):
    """A socket at a service: what its answers reported, and the most of those that are open.

    Its transcriptions are of the client's speech.
    """

    answers: SocketAnswers = field(default_factory=lambda: SocketAnswers(None, None))
    transcriptions: SocketAnswers = field(default_factory=lambda: SocketAnswers(None, None))
    is_estimated: bool = False

    @property
    def tracks(self) -> tuple[SocketAnswers, ...]:
        """Return the answers and the transcriptions, if its service makes any."""
        return tuple(each for each in (self.answers, self.transcriptions) if each.turns is not None)

    @property
    def open(self) -> int:
        """Return how many answers and transcriptions are not complete."""
        return self.answers.open + self.transcriptions.open

    def note_message(self, message: str | bytes) -> None:
        """Take a message that passes, in either direction."""
        data = message.encode() if isinstance(message, str) else message
        for each in self.tracks:
            each.note_data(data)

    def assume_spoken(self, most: Usage) -> Usage:
        """Return the most of an answer, in which all may be of the medium that costs most."""
        return self.assume_media(most, MEDIA)

    def add(self, found: AnswerUsage, *, is_estimated: bool = False) -> None:
        """Count an answer."""
        self.found: AnswerUsage = add_answer_usages(self.found, found)
        self.is_estimated = self.is_estimated or is_estimated

    def find_usage(self) -> tuple[Usage, bool]:
        """Return the tokens, and whether some of them are estimated."""
        usage = self.found.usage
        if self.is_free or not self.open:
            return usage or Usage(), self.is_estimated and not self.is_free
        for each in self.tracks:
            if count := each.open:
                most = each.find_most()
                pending = self.assume_spoken(
                    replace(
                        most, input=(most.input or 0) * count, output=(most.output or 0) * count
                    )
                )
                usage = pending if usage is None else usage + pending
        return usage or Usage(), True

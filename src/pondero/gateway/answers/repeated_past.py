"""Says in an answer that passes what it continues: its service was sent the history instead."""

from msgspec import Struct

from ...dialects import Continuation, KeptResponses
from ..requests.routed_request import RoutedRequest


class PastRepeater(Struct, frozen=True):
    """Writes what a request ``said`` of its past into the answer to it; all other bytes stay."""

    _rules: KeptResponses
    _said: Continuation

    def whole(self, body: bytes) -> bytes:
        """Return an answer in one piece."""
        return self._rules.repeat(body, self._said)

    def lines(self, data: bytes) -> bytes:
        """Return some whole lines of a stream."""
        return b"\n".join(map(self._line, data.split(b"\n")))

    def _line(self, line: bytes) -> bytes:
        if not line.startswith(b"data:"):
            return line
        data = line[5:].strip()
        new = self._rules.repeat(data, self._said)
        return line if new is data else line.replace(data, new, 1)


def make_repeater(routed: RoutedRequest) -> PastRepeater | None:
    """Return what writes the past into an answer; None if its service knows of it, or has none."""
    stored, rules = routed.stored, routed.service.kept_responses
    if stored.homes is None or routed.call.http is not stored.http:
        return None
    said = stored.said
    if rules is None or said is None or (said.previous is None and said.conversation is None):
        return None
    return PastRepeater(rules, said)

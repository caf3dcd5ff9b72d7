"""What this process knows of an account: requests on their way, and what its service has left.

What a service reports is kept for each model: Anthropic, OpenAI, Azure and Groq count their models
apart (their pages on rate limits, read 2026-11-18), and of others it is not known. Models of which
the catalog says that they share their limits are one: ``model`` is the name of these limits.
"""

from collections.abc import Callable, Collection, Iterable

from msgspec import Struct

from ...dialects import LimitUnit, RateLimit

NEARLY_FULL = 0.75
"""The share of a limit from which on new conversations go elsewhere, if they can."""
LONGEST_WAIT = 3600.0
"""Seconds that an account is left alone at most: one that names a day may have room before."""
_MARGIN = 0.01  # seconds: services round the time until a reset
_JUST_SENT = 1.0  # seconds in which a request may not have reached its service
_LOOK = 1.0  # seconds until more may be sent, if nothing is known of the limit after a reset
_MODELS = 64  # whose limits are kept: clients may name any
MANY = 1024.0
"""Placed conversations after which earlier ones count half."""


class _SentRequest(Struct, frozen=True):
    """A request without an answer yet."""

    model: str
    tokens: int
    at: float


class _SeenLimit(Struct):
    """A limit as an answer reported it, less what was sent since; ``number``: of its request.

    ``renewed`` is left after ``until``, as far as is known, for the next ``span`` seconds;
    ``is_old``: that span has begun.
    """

    unit: LimitUnit
    left: int
    most: int | None
    until: float
    number: int
    renewed: int
    span: float
    is_old: bool = False

    def find_need(self, tokens: int) -> int:
        """Return what must be left for a request to be sent."""
        need = max(1, tokens) if self.unit == "tokens" else 1
        return need if self.most is None else min(need, self.most)

    def find_cost(self, tokens: int) -> int:
        """Return how much a request takes, as far as is known when it is sent."""
        return {"requests": 1, "tokens": tokens, "output_tokens": 0}[self.unit]


class AccountLoad:
    """The load of one account; times are in seconds of ``clock``."""

    __slots__ = (
        "_begun",
        "_clock",
        "_full_until",
        "_limits",
        "_sent",
        "in_flight",
        "largest",
        "placed",
    )

    def __init__(self, clock: Callable[[], float], placed: float = 0.0) -> None:
        self._clock = clock
        self._limits: dict[str, dict[str, _SeenLimit]] = {}  # by model
        self._sent: dict[int, _SentRequest] = {}
        self._begun = 0
        self._full_until = 0.0
        self.in_flight: int = 0
        self.largest: dict[str, int] = {}  # tokens of one request, by model, if its answer tells
        self.placed: float = placed

    def begin(self, model: str, tokens: int) -> int:
        """Count a request that is sent now, with about this number of tokens; return its number.

        The reported limits shrink at once: others that are about to be sent must not count on it.
        """
        self.in_flight += 1
        self._begun += 1
        self._sent[self._begun] = _SentRequest(model, tokens, self._clock())
        for seen in self._list_limits(model):
            seen.left -= seen.find_cost(tokens)
        return self._begun

    def end(self, number: int) -> None:
        """Count the end of a request; what it did not use may be free again."""
        self.in_flight -= 1
        self._sent.pop(number, None)
        self._full_until = 0.0

    def cancel(self, number: int) -> None:
        """Take back a request that was not sent."""
        self.in_flight -= 1
        if (sent := self._sent.pop(number, None)) is not None:
            for seen in self._list_limits(sent.model):
                if seen.number < number:  # else an answer told its own number since
                    seen.left += seen.find_cost(sent.tokens)

    def note_limits(
        self, model: str, number: int, limits: Iterable[RateLimit], *, is_served: bool = True
    ) -> list[RateLimit]:
        """Take over what the answer to a request says; others on their way may not be in it yet.

        ``is_served``: the request was not rejected, so the answer has every limit of the model.
        Returns the limits that are new.
        """
        taken: list[RateLimit] = []
        now = self._clock()
        said: set[str] = set()
        asked = self._sent.pop(number, None)
        since = (now if asked is None else asked.at) - _JUST_SENT
        others = [e for e in self._sent.values() if e.at >= since and e.model == model]
        of_model = self._limits.get(model, {})
        for each in limits:
            said.add(each.name)
            known = of_model.get(each.name)
            if known is not None and known.number > number and now < known.until:
                continue  # a later request was answered before, and tells more
            seen = _note_limit(each, known, number, now)
            seen.left -= sum(seen.find_cost(other.tokens) for other in others)
            of_model[each.name] = seen
            taken.append(each)
        for name in [name for name, seen in of_model.items() if seen.is_old]:
            if is_served and name not in said:
                del of_model[name]  # the service reports it no more
        self._keep(model, of_model)
        return taken

    def _keep(self, model: str, limits: dict[str, _SeenLimit]) -> None:
        self._limits.pop(model, None)
        if limits:
            self._limits[model] = limits
        while len(self._limits) > _MODELS:
            del self._limits[next(iter(self._limits))]

    def _list_limits(self, model: str) -> Collection[_SeenLimit]:
        return self._limits[model].values() if model in self._limits else ()

    def note_largest(self, model: str, tokens: int) -> None:
        """Remember the most tokens of one request, for those of which only the answer tells."""
        self.largest[model] = max(tokens, self.largest.pop(model, 0))
        if len(self.largest) > _MODELS:
            del self.largest[next(iter(self.largest))]

    def note_full(self, seconds: float) -> None:
        """Remember that our own count has no room, for at most a second: others may end."""
        self._full_until = self._clock() + min(seconds, 1.0)

    def find_rest(self) -> float:
        """Return the seconds for which our own count has no room, as it seems; 0: it has."""
        return max(0.0, self._full_until - self._clock())

    def find_wait(self, model: str, tokens: int = 0) -> float:
        """Return the seconds until a request fits, as far as the service said; 0: now."""
        if not (limits := self._list_limits(model)):
            return 0.0
        now = self._renew(model)
        waits = (seen.until - now for seen in limits if seen.left < seen.find_need(tokens))
        return max(waits, default=0.0)

    def find_use(self, model: str) -> float:
        """Return the used share of the service's limits of a model, from 0 to 1."""
        if not (limits := self._list_limits(model)):
            return 0.0
        self._renew(model)
        return max((1 - seen.left / seen.most for seen in limits if seen.most), default=0.0)

    def _renew(self, model: str) -> float:
        """Begin the next span of limits whose reset has passed; return the time.

        Their next answer tells what is left then. Until it comes, no more than a whole limit is
        sent: without that, every request of a burst would go at once.
        """
        now = self._clock()
        for seen in self._list_limits(model):
            if now >= seen.until:
                late = (
                    each.tokens
                    for each in self._sent.values()
                    if each.at > now - _JUST_SENT and each.model == model
                )
                seen.left = seen.renewed - sum(map(seen.find_cost, late))
                seen.until = now + seen.span
                seen.is_old = True
        return now


def _note_limit(said: RateLimit, known: _SeenLimit | None, number: int, now: float) -> _SeenLimit:
    wait = min(said.wait, LONGEST_WAIT) + _MARGIN
    if said.most is not None and said.wait <= LONGEST_WAIT:
        span = max(wait, known.span if known is not None and known.most == said.most else 0.0)
        return _SeenLimit(said.unit, said.left, said.most, now + wait, number, said.most, span)
    # Without a limit, or after a wait that was cut short, the largest rest that was seen is sent.
    before = known.renewed if known is not None and said.most is None else 0
    renewed = max(1, said.left, before)
    return _SeenLimit(said.unit, said.left, said.most, now + wait, number, renewed, _LOOK)

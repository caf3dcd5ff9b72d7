"""The exchanges of a cassette, handed out to the requests they were recorded for."""

from threading import Lock

from ..canon import HttpRequest
from ..errors import CassetteError
from .cassette import Recorded
from .matching import differences, report
from .redact import Redactor
from .secret import of_exchange


class Player:
    """Each exchange is played once; of those that fit a request, the first that is left."""

    def __init__(
        self,
        exchanges: tuple[Recorded, ...],
        *,
        name: str,
        match: tuple[str, ...],
        redactor: Redactor,
    ) -> None:
        self._exchanges = exchanges
        self._name = name
        self._match = match
        self._redactor = redactor
        self._left = dict(enumerate(exchanges, 1))
        self._lock = Lock()

    @property
    def left(self) -> tuple[Recorded, ...]:
        """Return the exchanges that no request has had yet."""
        return tuple(self._left.values())

    def take(self, request: HttpRequest) -> Recorded:
        """Return the exchange recorded for this request, or raise with what is different."""
        sent = self._redactor.request(request)
        with self._lock:
            for number, exchange in self._left.items():
                if not differences(exchange.request, sent, self._match):
                    return self._left.pop(number)
            raise self._unlike(request)

    def check(self) -> None:
        """Raise where an exchange was not played."""
        if not self._left:
            return
        lines = [
            f"{len(self._left)} of {len(self._exchanges)} exchanges in {self._name} not played"
        ]
        lines += [f"  {_where(number, each)}" for number, each in self._left.items()]
        raise CassetteError("\n".join(lines))

    def _unlike(self, request: HttpRequest) -> CassetteError:
        learned = of_exchange(Recorded(request))  # what is shown has no more in it than a file
        sent = Redactor(self._redactor.secrets.union(learned)).request(request)
        what, total = f"{sent.method} {sent.url}", len(self._exchanges)
        again = "If the request is right, record again with VCR_RECORD=1."
        if not self._left:
            played = {0: "it is empty", 1: "its one exchange was played"}
            why = played.get(total, f"all its {total} exchanges were played")
            return CassetteError(f"{self._name} has nothing for {what}: {why}. {again}")
        found = {
            number: differences(exchange.request, sent, self._match)
            for number, exchange in self._left.items()
        }
        nearest = min(found, key=lambda number: sum(each.weight for each in found[number]))
        lines = [
            f"{self._name} has no exchange for {what}",
            f"the nearest of {len(found)} left is {_where(nearest, self._left[nearest])}",
            report(found[nearest]),
            again,
        ]
        return CassetteError("\n".join(lines))


def _where(number: int, exchange: Recorded) -> str:
    line = f", line {exchange.line}" if exchange.line else ""
    return f"exchange {number}{line}: {exchange.request.method} {exchange.request.url}"

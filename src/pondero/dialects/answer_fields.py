"""Several answers to one request, and the log probabilities of their tokens: who asks how."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ..canon import Json, get_path

Path = tuple[str, ...]
AnswerOption = Literal["count", "logprobs", "top"]
"""The number of answers, whether log probabilities are wanted, and of how many alternatives."""


class AnswerOptions(Struct, frozen=True, kw_only=True):
    """What a request asks of its answers; ``top`` None: no log probabilities."""

    count: int = 1
    top: int | None = None


class AnswerFields(Struct, frozen=True, kw_only=True):
    """Where the requests of an API say it; an API without a path cannot say it.

    ``places`` has the paths of each option, the first as we write it. ``asks`` is the value that
    asks for log probabilities; where it is a text, it is one of a list. ``most`` has the largest
    number of an option that the API takes.
    """

    places: dict[AnswerOption, tuple[Path, ...]] = {}
    asks: bool | str = True
    most: dict[AnswerOption, int] = {}

    def read(self, fields: Json) -> AnswerOptions:
        """Return what a request asks for.

        Alternatives alone ask for log probabilities only where no switch says whether.
        """
        count = _find_number(fields, self.places.get("count", ()))
        top = _find_number(fields, self.places.get("top", ())) or 0
        wanted = self.asks is not True and top > 0
        for path in self.places.get("logprobs", ()):
            wanted = wanted or self._is_asked(get_path(fields, path))
        return AnswerOptions(count=max(count or 1, 1), top=top if wanted else None)

    def write(self, options: AnswerOptions) -> dict[Path, Json]:
        """Return the fields of a request that asks for this, by their paths."""
        values: dict[AnswerOption, Json] = {}
        if options.count > 1:
            values["count"] = options.count
        if options.top is not None:
            values["logprobs"] = self.asks if self.asks is True else [self.asks]
            values["top"] = options.top or None
        return {
            self.places[option][0]: value
            for option, value in values.items()
            if option in self.places and value is not None
        }

    def _is_asked(self, value: Json) -> bool:
        if isinstance(self.asks, str):
            return isinstance(value, list) and self.asks in value
        return bool(value)


def _find_number(fields: Json, paths: Iterable[Path]) -> int | None:
    found = (get_path(fields, path) for path in paths)
    return next((each for each in found if isinstance(each, int) and each is not True), None)

"""The service's own rules, model by model, and its own words for no."""

import re
import tomllib
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from pondero.canon import HttpResponse, Json
from pondero.dialects.dialect import Rejected

JSON = "application/json; charset=UTF-8"
_STATUS_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """What one line of models takes; models.toml says what each field means."""

    max_output: int
    match: tuple[str, ...] = ()
    like: str | None = None
    only: str | None = None
    levels: tuple[str, ...] = ()
    budget: tuple[int, int] | None = None
    zero: bool = False
    thinks: bool = True
    signs: bool = False
    settled: bool = False

    @property
    def can_think(self) -> bool:
        """Return whether it ever thinks."""
        return self.thinks or bool(self.levels) or self.budget is not None


class Surface(Struct, frozen=True, forbid_unknown_fields=True):
    """What one deployment says in its own way: a sentence, and the status it comes with."""

    words: dict[str, str]
    statuses: dict[str, int] = {}

    def refused(
        self, name: str, /, *, details: list[Json] | None = None, **facts: Json
    ) -> Rejected:
        """Return the refusal of this name, to be raised."""
        status = self.statuses.get(name, 400)
        return Rejected(error(status, self.words[name].format(**facts), details=details))


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    surfaces: dict[str, Surface]
    models: tuple[Model, ...]

    def surface(self, service: str) -> Surface:
        """Return how a deployment speaks; one nobody knows speaks like the first."""
        first = next(iter(self.surfaces.values()))
        own = self.surfaces.get(service, first)
        return Surface(first.words | own.words, first.statuses | own.statuses)

    def model(self, name: str, *, service: str) -> Model | None:
        """Return the row of a model, by the longest beginning of its name."""
        here = sorted(
            (row for row in self.models if row.only in (None, service)),
            key=lambda row: row.only is not None,  # a deployment's own row wins
        )
        rows = {beginning: row for row in here for beginning in row.match}
        fitting = [each for each in rows if name == each or name.startswith(f"{each}-")]
        if fitting:
            return rows[max(fitting, key=len)]
        unheard = (row for row in self.models if row.like and re.fullmatch(row.like, name))
        return next(unheard, None)


@cache
def rules() -> Rules:
    """Return the rules, read once."""
    text = Path(__file__).with_name("models.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Rules)


def error(
    status: int, message: str, *, word: str | None = None, details: list[Json] | None = None
) -> HttpResponse:
    """Return an error in the service's shape."""
    fault: dict[str, Json] = {
        "code": status,
        "message": message,
        "status": word or _STATUS_WORDS.get(status, "UNKNOWN"),
    }
    if details:
        fault["details"] = details
    return HttpResponse(status, {"content-type": JSON}, pretty({"error": fault}))


def is_status_word(word: str | None) -> bool:
    """Return whether a code is one of the words that go with a status."""
    return word == "FAILED_PRECONDITION" or word in _STATUS_WORDS.values()


def pretty(value: Json) -> bytes:
    """Return JSON as the service writes it outside of server-sent events."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2)

"""The service's own rules, model by model, and how it says no."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NoReturn

import msgspec
from msgspec import Struct

from pondero.canon import HttpResponse
from pondero.dialects.dialect import Rejected

_ID = "00000000-0000-4000-8000-000000000000"  # of every request that failed


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """What one line of models takes; models.toml says what each field means."""

    match: tuple[str, ...]
    thinks: bool = False
    images: bool = False


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in models.toml."""

    models: tuple[Model, ...]

    def model(self, name: str) -> Model | None:
        """Return the row of a model, by the longest beginning of its name."""
        rows = {beginning: row for row in self.models for beginning in row.match}
        fitting = [each for each in rows if f"{name}-".startswith(f"{each}-")]
        return rows[max(fitting, key=len)] if fitting else None


@cache
def rules() -> Rules:
    """Return the rules, read once."""
    text = Path(__file__).with_name("models.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Rules)


def error(status: int, message: str, *, retry_after: float | None = None) -> HttpResponse:
    """Return an error in the service's shape."""
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = f"{retry_after:g}"
    return HttpResponse(status, headers, msgspec.json.encode({"id": _ID, "message": message}))


def refuse(message: str, *, status: int = 400) -> NoReturn:
    """Raise the refusal."""
    raise Rejected(error(status, message))


def invalid(why: str) -> NoReturn:
    """Raise the refusal of a request that could be read and not be taken."""
    refuse(f"invalid request: {why}")

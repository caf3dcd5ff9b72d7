"""The questions of a sweep: read from JSONL or CSV, with the fields of inspect_ai.

Other columns become metadata. The order is drawn by a seed, and is the same for every arm.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from string import ascii_uppercase

from msgspec import Struct

from ..canon import Json, dump_json
from ..client import parse_prompt
from ..errors import BadParameter, UsageError

_FIELDS = ("id", "input", "target", "choices", "metadata")
_LETTERED = "\n\nAnswer with the letter of one choice."


class Question(Struct, frozen=True):
    """One question. ``target`` has the right answers."""

    id: str
    input: Json
    target: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    metadata: dict[str, Json] = {}

    @property
    def prompt(self) -> Json:
        """Return the prompt: the input, and the choices with their letters."""
        if not self.choices:
            return self.input
        lines = [f"{letter}) {each}" for letter, each in zip(ascii_uppercase, self.choices)]  # noqa: B905 - 26 at most, see _choices
        listed = "\n\n" + "\n".join(lines) + _LETTERED
        if isinstance(self.input, str):
            return self.input + listed
        *before, last = self.input
        return [*before, {**last, "content": last["content"] + listed}]

    @property
    def words(self) -> str:
        """Return the question as a text, for judges and reports."""
        prompt = self.prompt
        return prompt if isinstance(prompt, str) else dump_json(prompt)


Data = str | Path | Iterable[Mapping[str, Json]]
"""Where questions come from: a file, or mappings with the same fields."""


def questions_of(data: Data) -> tuple[Question, ...]:
    """Return the questions; raise BadParameter with the place of an invalid one."""
    if isinstance(data, str | Path):
        path = Path(data)
        rows = list(_rows(path, _text(path)))
    else:
        rows = [(f"question {n}", dict(row)) for n, row in enumerate(data, 1)]
    found = tuple(_question(place, row, n) for n, (place, row) in enumerate(rows, 1))
    if not found:
        message = f"there are no questions in {data}" if rows == [] else "there are no questions"
        raise BadParameter(message)
    seen: dict[str, str] = {}
    for (place, _), question in zip(rows, found, strict=True):
        if question.id in seen:
            message = f"{place}: the id {question.id!r} is used by {seen[question.id]} too"
            raise BadParameter(message)
        seen[question.id] = place
    return found


def shuffle(questions: Sequence[Question], seed: int) -> tuple[Question, ...]:
    """Return the questions in the order of the trials."""
    return tuple(Random(seed).sample(questions, len(questions)))  # noqa: S311 - the same every time


def digest(questions: Iterable[Question]) -> str:
    """Return a hash of the questions that does not depend on their order."""
    whole = dump_json(sorted(questions, key=lambda each: each.id))
    return blake2b(whole.encode(), digest_size=16).hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        message = f"{path} is not UTF-8 text; use JSONL or CSV"
        raise BadParameter(message) from None
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise BadParameter(message) from None


def _rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Json]]]:
    if path.suffix.lower() == ".csv":
        yield from _table(path, text)
        return
    for number, line in enumerate(
        text.split("\n"), 1
    ):  # not splitlines(): a JSON string may contain U+2028
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            message = f"{path}:{number}: invalid JSON: {error}"
            raise BadParameter(message) from None
        if not isinstance(row, dict):
            message = f"{path}:{number}: a question is a JSON object, not {row!r}"
            raise BadParameter(message)
        yield f"{path}:{number}", row


def _table(path: Path, text: str) -> list[tuple[str, dict[str, Json]]]:
    usual = csv.field_size_limit(max(len(text), 131_072))
    reader = csv.DictReader(io.StringIO(text), strict=True)
    rows: list[tuple[str, dict[str, Json]]] = []
    try:
        for row in reader:
            place = f"{path}:{reader.line_num}"
            if None in row:
                message = f"{place}: this row has more fields than the first; quote its commas"
                raise BadParameter(message)
            rows.append((place, {key: value for key, value in row.items() if value}))
    except csv.Error as error:
        message = f"{path}:{reader.line_num}: invalid CSV: {error}"
        raise BadParameter(message) from None
    finally:
        csv.field_size_limit(usual)
    return rows


def _question(place: str, row: dict[str, Json], number: int) -> Question:
    given: Json = row.get("input", "")
    if not _is_prompt(given):
        message = f"{place}: 'input' is a text or a list of messages, not {given!r}"
        raise BadParameter(message)
    choices = _choices(place, row.get("choices"))
    if choices and not isinstance(given, str) and not isinstance(given[-1].get("content"), str):
        message = f"{place}: choices are added to the last message, whose content must be a text"
        raise BadParameter(message)
    if not isinstance(given, str):
        try:
            parse_prompt(given)
        except UsageError as error:
            message = f"{place}: {error}"
            raise BadParameter(message) from None
    others = {key: value for key, value in row.items() if key not in _FIELDS}
    return Question(
        _id(place, row.get("id"), number),
        given,
        _texts(row.get("target")),
        choices,
        {**others, **_metadata(place, row.get("metadata"))},
    )


def _id(place: str, given: Json, number: int) -> str:
    id = str(number) if given is None or given == "" else str(given)
    if not id.isascii() and any("\ud800" <= each <= "\udfff" for each in id):
        message = f"{place}: the id {id!r} has half of a character, a lone surrogate"
        raise BadParameter(message)
    return id


def _is_prompt(given: Json) -> bool:
    if isinstance(given, str):
        return bool(given.strip())
    return bool(given) and isinstance(given, list) and all(isinstance(m, dict) for m in given)


def _texts(given: Json) -> tuple[str, ...]:
    if given is None:
        return ()
    listed = given if isinstance(given, list) else [given]
    return tuple(each if isinstance(each, str) else json.dumps(each) for each in listed)


def _choices(place: str, given: Json) -> tuple[str, ...]:
    if isinstance(given, str):
        given = _parse_list(given) if given.lstrip().startswith("[") else given.split("|")
    if given is not None and not isinstance(given, list | tuple):
        message = f"{place}: 'choices' is a list of texts, not {given!r}"
        raise BadParameter(message)
    if given and len(given) > len(ascii_uppercase):
        message = f"{place}: {len(given)} choices; there are letters for {len(ascii_uppercase)}"
        raise BadParameter(message)
    return tuple(str(each).strip() for each in given or ())


def _parse_list(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _metadata(place: str, given: Json) -> dict[str, Json]:
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        given = [given]
    if given is not None and not isinstance(given, dict):
        message = f"{place}: 'metadata' is a JSON object"
        raise BadParameter(message)
    return given or {}

"""The questions of a sweep: read from JSONL, JSON, CSV or TSV, with the fields of inspect_ai.

Other tools' names for them are in ``question_fields``. Other columns become metadata. The order is
drawn by a seed, and is the same for every arm.
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
from .question_fields import (
    convert_choices,
    convert_target,
    find_fields,
    index_targets,
    rename_fields,
    unfold_test,
)

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


class QuestionSet(Struct, frozen=True):
    """Questions, and ``notes``: how their fields were read if they have other names."""

    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()
    numbered: frozenset[str] = frozenset()
    """The ids that are numbers of rows, since the data has none for them."""
    places: tuple[str, ...] = ()
    """File and line of each question; empty if they come from no file."""


def questions_of(data: Data) -> tuple[Question, ...]:
    """Return the questions; raise BadParameter with the place of an invalid one."""
    return read_questions(data).questions


def read_questions(data: Data) -> QuestionSet:
    """Return the questions and how their fields were read; raise BadParameter with the place."""
    where = str(data) if isinstance(data, str | Path) else "the questions"
    if isinstance(data, str | Path):
        given = read_rows(Path(data))
    else:
        given = [(f"question {n}", dict(row)) for n, row in enumerate(data, 1)]
    if not given:
        message = f"there are no questions in {where}"
        raise BadParameter(message)
    places = [place for place, _ in given]
    flat = [unfold_test(place, row) for place, row in given]
    try:
        fields = find_fields(flat)
    except BadParameter as error:
        message = f"{places[0]}: {error}"
        raise BadParameter(message) from None
    rows = [_convert(rename_fields(row, fields)) for row in flat]
    _check_inputs(places, flat, rows, fields.names.get("input", "input"))
    notes = (fields.describe(), index_targets(rows))
    found = tuple(map(_question, places, rows, range(1, len(rows) + 1)))
    _check_ids(places, found)
    numbered = (each.id for each, row in zip(found, rows, strict=True) if not _has_id(row))
    named = tuple(places) if isinstance(data, str | Path) else ()
    return QuestionSet(found, tuple(filter(None, notes)), frozenset(numbered), named)


def read_rows(path: Path) -> list[tuple[str, dict[str, Json]]]:
    """Return the rows of a JSONL, JSON, CSV or TSV file with their places; raise BadParameter."""
    return list(_rows(path, _text(path)))


def _convert(row: dict[str, Json]) -> dict[str, Json]:
    for key, unify in (("choices", convert_choices), ("target", convert_target)):
        if key in row:
            row[key] = unify(row[key])
    return row


def _check_inputs(
    places: Sequence[str],
    given: Sequence[Mapping[str, Json]],
    rows: Sequence[Mapping[str, Json]],
    name: str,
) -> None:
    """Raise BadParameter for a row without a question, with the user's own names of the fields."""
    for place, theirs, row in zip(places, given, rows, strict=True):
        if _is_prompt(asked := row.get("input", "")):
            continue
        if name not in theirs:
            found = ", ".join(map(repr, theirs)) or "no field"
            why = f"this row has no {name!r}, which is the question in others; found {found}"
        elif isinstance(asked, str):
            why = f"{name!r} is empty"
        else:
            why = f"{name!r} is a text or a list of messages, not {asked!r}"
        message = f"{place}: {why}"
        raise BadParameter(message)


def _check_ids(places: Sequence[str], questions: Sequence[Question]) -> None:
    seen: dict[str, str] = {}
    for place, question in zip(places, questions, strict=True):
        if question.id in seen:
            message = f"{place}: the id {question.id!r} is used by {seen[question.id]} too"
            raise BadParameter(message)
        seen[question.id] = place


def cluster_name(question: Question, field: str | None) -> str | None:
    """Return the cluster of a question, or None if it is one by itself."""
    value = question.metadata.get(field) if field else None
    return None if value is None else f"={value}"


def shuffle(
    questions: Sequence[Question], seed: int, *, cluster: str | None = None
) -> tuple[Question, ...]:
    """Return the questions in the order of the trials; whole clusters are drawn, large or small."""
    draw = Random(seed)  # noqa: S311 - the same every time
    if cluster is None:
        return tuple(draw.sample(questions, len(questions)))
    groups: dict[object, list[Question]] = {}
    for number, question in enumerate(questions):
        groups.setdefault(cluster_name(question, cluster) or number, []).append(question)
    order = draw.sample(list(groups), len(groups))
    return tuple(question for name in order for question in groups[name])


def digest(questions: Iterable[Question]) -> str:
    """Return a hash of the questions that does not depend on their order."""
    whole = dump_json(sorted(questions, key=lambda each: each.id))
    return blake2b(whole.encode(), digest_size=16).hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        message = f"{path} is not UTF-8 text; save it as UTF-8: JSONL, JSON, CSV or TSV"
        raise BadParameter(message) from None
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise BadParameter(message) from None


_TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_LISTS = ("data", "questions", "examples", "samples", "tests", "rows", "items", "train", "test")


def _rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Json]]]:
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        message = f"{path} is YAML; convert it to JSON, JSONL or CSV"
        raise BadParameter(message)
    if suffix in _TABLES:
        yield from _table(path, text, _TABLES[suffix])
        return
    whole = _parse_whole(text) if suffix == ".json" or text.lstrip()[:1] == "[" else None
    if isinstance(whole, list):
        for number, row in enumerate(whole, 1):
            yield f"{path}[{number}]", _check_row(f"{path}[{number}]", row)
        return
    yield from _lines(path, text)


def _parse_whole(text: str) -> list[Json] | None:
    """Return the rows of a JSON file: a list, or the list in an object; None for JSON Lines."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(whole, dict):
        lists = [whole[name] for name in _LISTS if isinstance(whole.get(name), list)]
        return lists[0] if len(lists) == 1 else None
    return whole if isinstance(whole, list) and all(isinstance(e, dict) for e in whole) else None


def _lines(path: Path, text: str) -> Iterator[tuple[str, dict[str, Json]]]:
    lines = text.split("\n")  # not splitlines(): a JSON string may contain U+2028
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = f"invalid JSON: {error}"
            if line.lstrip()[:1] not in ("{", "["):
                why = "this is not JSON; use JSONL, JSON, CSV or TSV"
            message = f"{path}:{number}: {why}"
            raise BadParameter(message) from None
        yield f"{path}:{number}", _check_row(f"{path}:{number}", row)


def _check_row(place: str, row: Json) -> dict[str, Json]:
    if not isinstance(row, dict):
        message = f"{place}: a question is a JSON object, not {row!r}"
        raise BadParameter(message)
    return row


def _table(path: Path, text: str, delimiter: str) -> list[tuple[str, dict[str, Json]]]:
    head = text.partition("\n")[0]
    if delimiter not in head:  # spreadsheets of many countries write semicolons
        delimiter = next((each for each in (";", "\t", ",") if each in head), delimiter)
    usual = csv.field_size_limit(max(len(text), 131_072))
    reader = csv.DictReader(io.StringIO(text), strict=True, delimiter=delimiter)
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
    given: Json = row["input"]
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


def _has_id(row: Mapping[str, Json]) -> bool:
    return row.get("id") not in (None, "")


def _id(place: str, given: Json, number: int) -> str:
    id = str(number) if given in (None, "") else str(given)
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

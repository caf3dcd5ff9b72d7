"""Which field of a user's data is the question, and which the right answer: other tools' names.

The name of ours wins, then the order of the table. Every other field is metadata.
"""

import json
import re
from collections.abc import Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase

from msgspec import Struct

from ..canon import Json
from ..errors import BadParameter

FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "sample_id", "task_id", "uid"),
    "input": (
        "input", "question", "prompt", "query", "problem", "instruction", "messages", "inputs",
        "user", "text", "q",
    ),
    "target": (
        "target", "answer", "expected", "ideal", "expected_output", "expected_answer",
        "correct_answer", "reference_answer", "answer_key", "answerkey", "gold", "ground_truth",
        "label", "reference", "references", "solution", "output", "completion", "response",
        "targets", "answers", "__expected", "a",
    ),
    "choices": ("choices", "options", "candidates"),
    "metadata": ("metadata",),
}  # fmt: skip
"""Our fields, and the names that other tools and datasets give them."""

_LETTERED = re.compile(r"(?:option|choice)?_?([a-z])")
_ASSERTS = {
    "equals": "exact", "contains": "includes", "icontains": "includes", "regex": "regex",
    "is-json": "json_schema", "contains-json": "json_schema", "llm-rubric": "rubric",
    "model-graded-closedqa": "rubric", "factuality": "model",
}  # fmt: skip
_ASSERTED = re.compile(rf"\A(?:{'|'.join(_ASSERTS)}):\s*")


class FieldMap(Struct, frozen=True):
    """The name of each of our fields in the data; ``letters`` are columns that are choices."""

    names: Mapping[str, str]
    letters: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return how the fields are read, in one line; empty if all have our names."""
        read = [f"{name!r} as {ours}" for ours, name in self.names.items() if name != ours]
        if self.letters:
            read.append(f"{', '.join(map(repr, self.letters))} as choices")
        if not read:
            return ""
        kept = f"; kept as metadata: {', '.join(self.others)}" if self.others else ""
        return f"read {', '.join(read)}{kept}"


def find_fields(rows: Iterable[Mapping[str, Json]]) -> FieldMap:
    """Return which fields of the rows are ours; raise BadParameter with those that were found."""
    found = dict.fromkeys(key for row in rows for key in row)
    folded = {_fold(key): key for key in reversed(found)}
    letters = _find_letters(folded) if "choices" not in folded else ()
    taken = {_fold(each) for each in letters}
    names = {
        ours: folded[name]
        for ours, candidates in FIELDS.items()
        if (name := next((c for c in candidates if c in folded and c not in taken), None))
    }
    if found and "input" not in names:
        message = (
            f"no field is the question; found {', '.join(map(repr, found))}; "
            f"name one of them input (or {' '.join(FIELDS['input'][1:4])})"
        )
        raise BadParameter(message)
    used = {*names.values(), *letters}
    return FieldMap(names, letters, tuple(key for key in found if key not in used))


def rename_fields(row: Mapping[str, Json], fields: FieldMap) -> dict[str, Json]:
    """Return a row with our names for its fields."""
    ours = {theirs: name for name, theirs in fields.names.items()}
    renamed = {ours.get(key, key): row[key] for key in row if key not in fields.letters}
    if fields.names.get("target") == "__expected" and isinstance(renamed.get("target"), str):
        renamed["target"] = _ASSERTED.sub("", renamed["target"], count=1)  # "contains: Paris"
    if fields.letters:
        listed = [row[each] for each in fields.letters if row.get(each) not in (None, "")]
        renamed["choices"] = listed
    if isinstance(task := renamed.get("instruction"), str):  # Alpaca: a task and its text
        del renamed["instruction"]
        about = renamed.get("input")
        renamed["input"] = f"{task}\n\n{about}" if about else task
    return renamed


def _fold(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _find_letters(folded: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns A, B, C ... of a table of choices, if there are two or more."""
    found = {match[1]: key for name, key in folded.items() if (match := _LETTERED.fullmatch(name))}
    letters = []
    for letter in ascii_lowercase:
        if letter not in found:
            break
        letters.append(found[letter])
    return tuple(letters) if len(letters) > 1 else ()


# -- other tools' shapes ---------------------------------------------------------------------------


def unfold_test(place: str, row: Mapping[str, Json]) -> dict[str, Json]:
    """Return a promptfoo test, ``vars`` and ``assert``, as a flat row; others unchanged."""
    variables, asserted = row.get("vars"), row.get("assert")
    if not isinstance(variables, dict):
        return dict(row)
    flat = {key: value for key, value in row.items() if key not in ("vars", "assert", "options")}
    flat = {**flat, **variables}
    if len(variables) == 1 and not any(_fold(key) in FIELDS["input"] for key in variables):
        flat["input"] = next(iter(flat.pop(key) for key in variables))
    if isinstance(asserted, list) and asserted:
        flat["target"] = [_parse_assert(place, each) for each in asserted]
    return flat


def _parse_assert(place: str, given: Json) -> Json:
    kind = given.get("type") if isinstance(given, dict) else None
    if kind not in _ASSERTS:
        message = f"{place}: unknown assert {kind or given!r}; use {' '.join(_ASSERTS)}"
        raise BadParameter(message)
    return given.get("value", "")


def convert_choices(given: Json) -> Json:
    """Return choices as a list, from a mapping of letters, or of ``text`` and ``label``."""
    if not isinstance(given, dict):
        return given
    if isinstance(given.get("text"), list):
        return given["text"]
    return list(given.values())


def convert_target(given: Json) -> Json:
    """Return a target as a value or a list, from SQuAD's mapping with ``text``."""
    if isinstance(given, dict) and isinstance(given.get("text"), list):
        return given["text"]
    return given


def index_targets(rows: list[dict[str, Json]]) -> str:
    """Write places of choices, counted from 0, as letters; return what was done, or nothing.

    Only if every target is a whole number that is a place, one of them is 0, and none is a choice.
    """
    places = [row.get("target") for row in rows]
    counts = [len(row["choices"]) if isinstance(row.get("choices"), list) else 0 for row in rows]
    fits = all(
        isinstance(place, int) and not isinstance(place, bool) and 0 <= place < count
        for place, count in zip(places, counts, strict=True)
    )
    named = (
        any(json.dumps(p) in map(str, r["choices"]) for p, r in zip(places, rows, strict=True))
        if fits
        else True
    )
    if not fits or named or 0 not in places:
        return ""
    for row in rows:
        row["target"] = ascii_uppercase[row["target"]]
    return "targets are places of choices, counted from 0"

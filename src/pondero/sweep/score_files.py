"""Scores of other tools: CSV, JSONL, the logs of inspect_ai and the results of promptfoo.

Every format becomes the same rows: a question, an arm, and a score, or none if the answer is
missing.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ..canon import Json
from ..errors import BadParameter
from .eval_archive import read_eval_archive

_FIELDS = ("question", "arm", "score")
_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_ERROR = 2  # promptfoo's failureReason of a test that did not run


class ScoreRow(Struct, frozen=True):
    """One answer. Several of the same question and arm are repeats."""

    question: str
    arm: str
    score: float | None
    cost: float | None = None
    kind: str | None = None
    cluster: str | None = None
    label: float | None = None
    """People's score of the answer."""


def read_scores(paths: Sequence[Path]) -> list[ScoreRow]:
    """Return the rows of all files, in their order; raise BadParameter with an invalid place."""
    found = [row for path in paths for row in _rows(path)]
    if not found:
        message = f"there are no scores in {', '.join(map(str, paths))}"
        raise BadParameter(message)
    return found


def _rows(path: Path) -> Iterator[ScoreRow]:
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise BadParameter(message) from None
    if data[:2] == b"PK":
        return _inspect(path, *read_eval_archive(path, data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        message = f"{path} is not UTF-8 text; use CSV, JSONL, an inspect log or promptfoo results"
        raise BadParameter(message) from None
    if path.suffix.lower() == ".csv":
        return _table(path, text)
    whole = _parse(text)
    if isinstance(whole, dict):
        for key, read in _WHOLE.items():
            if key in whole:
                return read(path, whole)
    if isinstance(whole, list):
        return (_row(f"{path}: row {n}", row) for n, row in enumerate(whole, 1))
    return _lines(path, text)


def _parse(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# -- our own columns -------------------------------------------------------------------------------


def _lines(path: Path, text: str) -> Iterator[ScoreRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _row(f"{path}:{number}", _parse(line))


def _table(path: Path, text: str) -> Iterator[ScoreRow]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        for row in reader:
            yield _row(f"{path}:{reader.line_num}", row)
    except csv.Error as error:
        message = f"{path}:{reader.line_num}: invalid CSV: {error}"
        raise BadParameter(message) from None


def _row(place: str, row: Json) -> ScoreRow:
    names = ", ".join(map(repr, row)) if isinstance(row, dict) else repr(row)
    if not isinstance(row, dict) or not all(name in row for name in _FIELDS):
        message = f"{place}: a score has the fields question, arm and score; found {names}"
        raise BadParameter(message)
    for name in ("question", "arm"):
        if row[name] is None or str(row[name]).strip() == "":
            message = f"{place}: {name!r} is empty"
            raise BadParameter(message)
    return ScoreRow(
        str(row["question"]).strip(),
        str(row["arm"]).strip(),
        _score(place, row["score"]),
        _cost(place, row.get("cost")),
        _text(row.get("kind")),
        _text(row.get("cluster")),
        _score(place, row.get("label")),
    )


def _text(given: Json) -> str | None:
    return None if given is None or str(given).strip() == "" else str(given).strip()


def _score(place: str, given: Json) -> float | None:
    """Return a score from 0 to 1; an empty one is a missing answer."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    score = _number(given)
    if score is None or not 0 <= score <= 1:
        message = f"{place}: the score {given!r} is not from 0 to 1; leave a missing one empty"
        raise BadParameter(message)
    return score


def _cost(place: str, given: Json) -> float | None:
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    cost = _number(given)
    if cost is None or not 0 <= cost < 1e9:
        message = f"{place}: the cost {given!r} is not a number of dollars"
        raise BadParameter(message)
    return cost


def _number(given: Json) -> float | None:
    if isinstance(given, int | float):
        return float(given)
    word = str(given).strip().lower()
    try:
        return _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        return None


# -- inspect_ai ------------------------------------------------------------------------------------


def _inspect_json(path: Path, log: dict[str, Json]) -> Iterator[ScoreRow]:
    return _inspect(path, log, log.get("samples") or ())


def _inspect(path: Path, log: Json, samples: Iterable[Json]) -> Iterator[ScoreRow]:
    arm = _inspect_arm(log.get("eval") or {}, log.get("plan") or {})
    for sample in samples:
        place = f"{path}: sample {sample.get('id')!r}"
        scores = sample.get("scores") or {}
        first: Json = next(iter(scores.values()), {})
        value = None if sample.get("error") else first.get("value")
        usages = (sample.get("model_usage") or {}).values()
        costs = [cost for each in usages if (cost := each.get("total_cost")) is not None]
        kind = (sample.get("metadata") or {}).get("kind")
        yield ScoreRow(
            str(sample.get("id")),
            arm,
            _score(place, value),
            sum(costs) if costs else None,
            _text(kind),
        )


def _inspect_arm(made: dict[str, Json], plan: dict[str, Json]) -> str:
    model = str(made.get("model", "model"))
    for config in (made.get("model_generate_config") or {}, plan.get("config") or {}):
        for name in ("reasoning_effort", "reasoning_tokens", "effort"):
            if config.get(name) is not None:
                return f"{model}/{config[name]}"
    return model


# -- promptfoo -------------------------------------------------------------------------------------


def _promptfoo(path: Path, whole: dict[str, Json]) -> Iterator[ScoreRow]:
    results = whole["results"]
    rows = results.get("results") if isinstance(results, dict) else results
    if not isinstance(rows, list):
        message = f"{path} has no results of promptfoo"
        raise BadParameter(message)
    prompts = {row.get("promptIdx") for row in rows}
    for number, row in enumerate(rows, 1):
        place = f"{path}: result {number}"
        failed = row.get("failureReason") == _ERROR or (row.get("error") and "score" not in row)
        variables = row.get("vars") or (row.get("testCase") or {}).get("vars")
        question = row.get("testIdx")
        arm = _promptfoo_arm(row)
        if len(prompts) > 1:
            arm += f" prompt {row.get('promptIdx')}"
        yield ScoreRow(
            json.dumps(variables, sort_keys=True) if question is None else str(question),
            arm,
            None if failed else _score(place, row.get("score", row.get("success"))),
            _cost(place, row.get("cost")),
            _text(((row.get("testCase") or {}).get("metadata") or {}).get("kind")),
        )


def _promptfoo_arm(row: dict[str, Json]) -> str:
    provider = row.get("provider")
    if isinstance(provider, dict):
        return str(provider.get("label") or provider.get("id"))
    return str(provider)


_WHOLE: dict[str, Callable[[Path, dict[str, Json]], Iterator[ScoreRow]]] = {
    "eval": _inspect_json,
    "results": _promptfoo,
}

"""Finds where Gemini rejects a replayed conversation or loses thinking; reads both spellings."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from pondero.canon import Json, LevelUpdate, ToolResult
from pondero.dialects.dialect import EarlierAnswer, ReplayChecks, ReplayIssue, SentRequest

_SIGNATURE = ("thoughtSignature", "thought_signature")
_CALL = ("functionCall", "function_call")
_RESULT = ("functionResponse", "function_response")
_NO_DATA = {*_SIGNATURE, "thought", "partMetadata", "part_metadata", "videoMetadata"}
_PLACEHOLDERS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_ALPHABET = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


class _PlacedPart(NamedTuple):
    path: str
    part: Mapping[str, Json]

    @property
    def call(self) -> Mapping[str, Json] | None:
        return _object(self.part, _CALL)

    @property
    def result(self) -> Mapping[str, Json] | None:
        return _object(self.part, _RESULT)

    @property
    def signature(self) -> str:
        value = _either(self.part, _SIGNATURE)
        return value if isinstance(value, str) else ""


class _Content(NamedTuple):
    path: str
    is_model: bool
    parts: list[_PlacedPart]

    @property
    def calls(self) -> list[_PlacedPart]:
        return [placed for placed in self.parts if placed.call is not None]

    @property
    def results(self) -> list[_PlacedPart]:
        return [placed for placed in self.parts if placed.result is not None]

    @property
    def begins_turn(self) -> bool:
        """Return whether the user speaks here, instead of sending the results of calls."""
        return not self.is_model and not self.results


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the places in this request's history that are rejected, or lose thinking."""
    contents = _contents(sent.body)
    return [
        *_find_misplaced(contents),
        *_find_unsigned(sent, contents),
        *_find_alone(contents),
        *_find_empty(contents),
        *_find_unpaired(contents),
        *_find_bad_signatures(sent, contents),
    ]


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request has earlier answers of a model."""
    return any(content.is_model for content in _contents(body))


def _get_contents(body: Json) -> list[Json]:
    inner = body.get("request")  # Cloud Code Assist wraps the whole
    given = (inner if isinstance(inner, dict) else body).get("contents")
    given = [given] if isinstance(given, dict) else given
    return given if isinstance(given, list) else []


def _contents(body: Mapping[str, Json]) -> list[_Content]:
    found = []
    for number, content in enumerate(_get_contents(body)):
        if not isinstance(content, dict):
            continue
        path, parts = f"contents[{number}]", content.get("parts")
        parts = [parts] if isinstance(parts, dict) else parts
        placed = [
            _PlacedPart(f"{path}.parts[{n}]", part)
            for n, part in enumerate(parts if isinstance(parts, list) else [])
            if isinstance(part, dict)
        ]
        found.append(_Content(path, content.get("role") == "model", placed))
    return found


def _find_misplaced(contents: list[_Content]) -> Iterator[ReplayIssue]:
    for placed in (placed for content in contents for placed in content.calls):
        call = placed.call or {}
        if field := next((name for name in _SIGNATURE if name in call), None):
            yield ReplayIssue(
                code="seal_misplaced",
                path=f"{placed.path}.functionCall.{field}",
                what="the signature is inside the function call",
                then=f"400 Unknown name {field!r} at 'function_call': Cannot find field",
                cure="put thoughtSignature next to functionCall, in the same part",
            )


def _find_unsigned(sent: SentRequest, contents: list[_Content]) -> Iterator[ReplayIssue]:
    if sent.facts.replay not in ("tools", "required"):
        yield from _find_lost(sent, contents)
        return
    turn = max((n for n, content in enumerate(contents) if content.begins_turn), default=-1)
    for number in range(turn + 1, len(contents)):
        first = next(iter(contents[number].calls), None)
        if first is None or first.signature:
            continue
        split = contents[number - 1].is_model and bool(contents[number - 1].calls)
        name = (first.call or {}).get("name")
        given = _find_answer(sent, first)
        yield ReplayIssue(
            code="calls_split" if split else "call_unsealed",
            path=first.path,
            what=(
                "calls made side by side are sent as steps of their own"
                if split
                else f"the first call of a step, {name}, has no signature{_describe_origin(given)}"
            ),
            then=f"400 Function call is missing a thought_signature in functionCall parts: {name}",
            cure=(
                "send all calls of one answer in one content"
                if split
                else "send thoughtSignature back on the call it came on or right before; where "
                f'there is none, "{_PLACEHOLDERS[0]}"'
            ),
        )


def _find_lost(sent: SentRequest, contents: list[_Content]) -> Iterator[ReplayIssue]:
    for content in contents:
        first = next(iter(content.calls), None)
        given = _find_answer(sent, first) if first and not first.signature else None
        if (
            first
            and given
            and _had_signature(given)
            and not any(p.signature for p in content.parts)
        ):
            yield ReplayIssue(
                code="thinking_lost",
                path=first.path,
                what=f"the signature that exchange {given.number} gave is not sent back",
                then="it is accepted; the model continues without its earlier thinking",
                cure="send thoughtSignature back on the part it came on",
                refused=False,
            )


def _find_answer(sent: SentRequest, placed: _PlacedPart) -> EarlierAnswer | None:
    call = placed.call or {}
    if isinstance(id := call.get("id"), str) and (given := sent.past.by_call_id(id)):
        return given
    before = _get_contents(sent.body)[: int(placed.path.partition("[")[2].partition("]")[0])]
    made = sent.past.by_call(str(call.get("name")), call.get("args"))
    return next(
        (given for given in made if _is_like(_get_contents(given.request_body), before)), None
    )


def _is_like(asked: list[Json], before: list[Json]) -> bool:
    return len(asked) == len(before) and asked[:1] == before[:1]


def _had_signature(given: EarlierAnswer) -> bool:
    parts = given.message.parts
    return any(not isinstance(part, ToolResult | LevelUpdate) and part.signature for part in parts)


def _describe_origin(given: EarlierAnswer | None) -> str:
    if given is None or not _had_signature(given):
        return ""
    return f"; exchange {given.number} gave one"


def _find_alone(contents: list[_Content]) -> Iterator[ReplayIssue]:
    for placed in (placed for content in contents for placed in content.parts):
        if placed.signature and not set(placed.part) - _NO_DATA:
            yield ReplayIssue(
                code="seal_alone",
                path=placed.path,
                what="a part that holds a signature and nothing else",
                then="400 required oneof field 'data' must have one initialized field",
                cure='send it on the part it came on, or with "text": ""',
            )


def _find_empty(contents: list[_Content]) -> Iterator[ReplayIssue]:
    for content in contents:
        if not content.parts:
            yield ReplayIssue(
                code="message_empty",
                path=content.path,
                what="a content without parts, perhaps because its thoughts were taken out",
                then="400 contents.parts must not be empty",
                cure="leave the content out, or keep its parts",
            )


def _find_unpaired(contents: list[_Content]) -> Iterator[ReplayIssue]:
    owed = 0
    for is_model, turn in groupby(contents, key=lambda content: content.is_model):
        turns = list(turn)
        if is_model:
            owed = sum(len(content.calls) for content in turns)
            continue
        results = [placed for content in turns for placed in content.results]
        if results and len(results) != owed:
            yield ReplayIssue(
                code="result_uncalled" if len(results) > owed else "call_unanswered",
                path=results[0].path,
                what=f"{len(results)} results after {owed} calls",
                then="400 Please ensure that the number of function response parts is equal to "
                "the number of function call parts of the function call turn",
                cure="put one functionResponse for every call into the content right after",
            )


def _find_bad_signatures(sent: SentRequest, contents: list[_Content]) -> Iterator[ReplayIssue]:
    for placed in (placed for content in contents for placed in content.parts if placed.signature):
        given = sent.past.by_signature(placed.signature)
        if given is not None and given.provider != sent.provider:
            yield ReplayIssue(
                code="seal_foreign",
                path=placed.path,
                what=f"this signature was made by {given.provider} (exchange {given.number})",
                then="400 Corrupted thought signature",
                cure=f'send "{_PLACEHOLDERS[0]}" on the first call of a step instead',
            )
        elif given is None and not _is_base64(placed.signature):
            yield ReplayIssue(
                code="seal_broken",
                path=placed.path,
                what="the signature is not base64: it was cut or rewritten",
                then="400 Base64 decoding failed for the field thought_signature (TYPE_BYTES)",
                cure="send the signature back byte for byte",
            )


def _is_base64(text: str) -> bool:
    if text in _PLACEHOLDERS:
        return True
    if not _ALPHABET.fullmatch(text):
        return False
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _either(part: Mapping[str, Json], names: tuple[str, ...]) -> Json:
    return next((part[name] for name in names if part.get(name) is not None), None)


def _object(part: Mapping[str, Json], names: tuple[str, ...]) -> Mapping[str, Json] | None:
    value = _either(part, names)
    return value if isinstance(value, dict) else None


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)

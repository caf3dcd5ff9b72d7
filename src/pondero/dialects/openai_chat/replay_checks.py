"""Finds history that the service rejects or that loses thinking, independently of the service."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from pondero.canon import Json, Thinking, convert_json
from pondero.dialects.dialect import ReplayChecks, ReplayIssue, SentRequest

_OPENING = "{}"
_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details")
_NINE = re.compile(r"[A-Za-z0-9]{9}")


class _Quirks(msgspec.Struct, frozen=True):
    """The quirks of a deployment about replay; the catalog checks their values."""

    replay_field: str = "same"
    replay_missing: str | None = None
    replay_missing_of: tuple[str, ...] = ("",)
    refused_fields: tuple[str, ...] = ()
    results_by_place: bool = False
    tool_call_ids: str = "any"


class _HistoryMessage(NamedTuple):
    path: str
    message: Mapping[str, Json]

    @property
    def role(self) -> str:
        return str(self.message.get("role"))

    @property
    def calls(self) -> list[tuple[str, Mapping[str, Json]]]:
        given = self.message.get("tool_calls")
        return [
            (f"{self.path}.tool_calls[{number}]", call)
            for number, call in enumerate(given if isinstance(given, list) else [])
            if isinstance(call, dict)
        ]


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the replay issues of this request's history."""
    quirks, messages = convert_json(sent.quirks, _Quirks), _messages(sent.body)
    return [
        *(_find_bad_calls(messages, quirks) if sent.known else ()),
        *(_find_unpaired(messages, quirks) if sent.known else ()),
        *_find_missing_thinking(sent, messages, quirks),
        *_find_rejected_fields(messages, quirks),
        *_find_bad_details(sent, messages),
    ]


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request sends earlier answers back."""
    return any(placed.role == "assistant" for placed in _messages(body))


def _messages(body: Mapping[str, Json]) -> list[_HistoryMessage]:
    given = body.get("messages")
    return [
        _HistoryMessage(f"messages[{number}]", message)
        for number, message in enumerate(given if isinstance(given, list) else [])
        if isinstance(message, dict)
    ]


def _find_bad_calls(messages: list[_HistoryMessage], quirks: _Quirks) -> Iterator[ReplayIssue]:
    for path, call in (each for placed in messages for each in placed.calls):
        yield from _find_bad_arguments(path, call)
        id = call.get("id")
        if quirks.tool_call_ids == "9 alphanumerics" and not _NINE.fullmatch(str(id)):
            yield ReplayIssue(
                code="bad_id",
                path=f"{path}.id",
                what=f"the call's id {id!r} is not nine letters and digits",
                then="400 Tool call id must be a-z, A-Z, 0-9, with a length of 9",
                cure="give call and result the same new id of nine letters and digits",
            )


def _find_bad_arguments(path: str, call: Mapping[str, Json]) -> Iterator[ReplayIssue]:
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else ""
    if isinstance(arguments, dict):
        yield ReplayIssue(
            code="arguments_not_text",
            path=f"{path}.function.arguments",
            what="the arguments of a call are an object, not JSON text",
            then="400 Invalid type: expected a string, but got an object (1210 Invalid API "
            "parameter); some deployments take it",
            cure="send the original text of the arguments",
        )
    elif (
        isinstance(arguments, str)
        and arguments.startswith(_OPENING)
        and arguments.rstrip(" \t\r\n") != _OPENING
    ):
        yield ReplayIssue(
            code="arguments_broken",
            path=f"{path}.function.arguments",
            what="the arguments of a call have more text after {}: deltas joined wrongly",
            then="the model reads a call it did not make",
            cure="leave out the empty object that a streamed call may begin with",
            refused=False,
        )


def _find_unpaired(messages: list[_HistoryMessage], quirks: _Quirks) -> Iterator[ReplayIssue]:
    open_: list[tuple[str, str]] = []
    for placed in messages:
        if placed.role != "tool":
            yield from _find_unanswered(open_)
            open_ = [(str(call.get("id")), path) for path, call in placed.calls]
            continue
        id = str(placed.message.get("tool_call_id"))
        by_place = quirks.results_by_place and "tool_call_id" not in placed.message
        answered = next((each for each in open_ if by_place or each[0] == id), None)
        if answered is not None:
            open_.remove(answered)
        else:
            yield ReplayIssue(
                code="result_uncalled",
                path=placed.path,
                what=f"the result {id!r} answers no call of the message before it",
                then="400 messages with role 'tool' must be a response to a preceding message "
                "with 'tool_calls'",
                cure="keep the call, or leave out its result too",
            )
    yield from _find_unanswered(open_)


def _find_unanswered(open_: list[tuple[str, str]]) -> Iterator[ReplayIssue]:
    for id, path in open_:
        yield ReplayIssue(
            code="call_unanswered",
            path=path,
            what=f"the call {id!r} has no message that answers it",
            then="400 An assistant message with 'tool_calls' must be followed by tool messages "
            "responding to each 'tool_call_id'",
            cure="add a tool message for every call right after it",
        )


def _find_missing_thinking(
    sent: SentRequest, messages: list[_HistoryMessage], quirks: _Quirks
) -> Iterator[ReplayIssue]:
    field = quirks.replay_field
    wants = str(sent.body.get("model")).startswith(quirks.replay_missing_of)
    if quirks.replay_missing is None or field not in _FIELDS or not wants or not _thinks(sent):
        return
    fields = {field, "reasoning"} if field == "reasoning_details" else {field}
    for placed in messages:
        if placed.role == "assistant" and placed.calls and not fields & placed.message.keys():
            yield ReplayIssue(
                code="thinking_missing",
                path=placed.path,
                what=f"a message with calls has no {field}, while the model thinks",
                then=f"400 The `{field}` in the thinking mode must be passed back to the API",
                cure=f"send {field} back unchanged; an empty one if there was none",
            )


def _thinks(sent: SentRequest) -> bool:
    thinking = sent.body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") in ("enabled", "disabled"):
        return bool(thinking["type"] == "enabled")
    return sent.facts.thinks_unasked is True


def _find_rejected_fields(
    messages: list[_HistoryMessage], quirks: _Quirks
) -> Iterator[ReplayIssue]:
    for placed in messages:
        for field in quirks.refused_fields:
            if placed.role == "assistant" and field in placed.message:
                yield ReplayIssue(
                    code="field_refused",
                    path=f"{placed.path}.{field}",
                    what=f"thinking is sent back as {field}, which this service does not know",
                    then=f"400 property '{field}' is unsupported",
                    cure=(
                        "leave it out"
                        if quirks.replay_field in ("none", "same")
                        else f"send it back as {quirks.replay_field}"
                    ),
                )


def _find_bad_details(sent: SentRequest, messages: list[_HistoryMessage]) -> Iterator[ReplayIssue]:
    for placed in messages:
        given = _find_signatures(sent, placed)
        for path, detail in _iter_signed(placed):
            signature = detail.get("signature")
            if not signature:
                yield ReplayIssue(
                    code="seal_missing",
                    path=path,
                    what="a detail of thinking without its signature",
                    then="400 from the model's maker: Invalid `signature` in `thinking` block",
                    cure="leave this detail out, or merge the deltas by type and index",
                )
            elif given and detail.get("text") != given.get(str(signature)):
                yield ReplayIssue(
                    code="seal_changed",
                    path=path,
                    what="text and signature of this detail did not come together in the answer",
                    then="400 from the model's maker: Invalid `signature` in `thinking` block",
                    cure="send reasoning_details back unchanged",
                )


def _iter_signed(placed: _HistoryMessage) -> Iterator[tuple[str, Mapping[str, Json]]]:
    details = placed.message.get("reasoning_details")
    for number, detail in enumerate(details if isinstance(details, list) else []):
        if (
            isinstance(detail, dict)
            and detail.get("format") == "anthropic-claude-v1"
            and detail.get("type") == "reasoning.text"
        ):
            yield f"{placed.path}.reasoning_details[{number}]", detail


def _find_signatures(sent: SentRequest, placed: _HistoryMessage) -> dict[str, Json]:
    answers = (sent.past.by_call_id(str(call.get("id"))) for _, call in placed.calls)
    given = next((each for each in answers if each is not None), None)
    parts = given.message.parts if given else ()
    values = [
        part.signature.value for part in parts if isinstance(part, Thinking) and part.signature
    ]
    details = [d for v in values if isinstance(v, dict) for d in v.get("reasoning_details") or ()]
    return {str(d["signature"]): d.get("text") for d in details if d.get("signature")}


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)

"""Finds history that the service rejects or that loses thinking, independently of the service."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pondero.canon import Json, Signature, Text, Thinking, ToolCall, UnknownPart
from pondero.dialects.dialect import EarlierAnswer, ReplayChecks, ReplayIssue, SentRequest

_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CALLER_TYPES = (*_RESULTS, "configuration_update", "additional_tools", "compaction_trigger")
_BEGINNINGS = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
_OPENING = "{}"


class _InputItem(NamedTuple):
    path: str
    item: Mapping[str, Json]

    @property
    def kind(self) -> str:
        return str(self.item.get("type") or "message")

    @property
    def is_ours(self) -> bool:
        """Return whether the caller wrote it: a user's message, or a result."""
        return self.kind in _CALLER_TYPES or (
            self.kind == "message" and self.item.get("role") != "assistant"
        )

    def text(self, key: str) -> str:
        value = self.item.get(key)
        return value if isinstance(value, str) else ""


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the replay issues of this request's history."""
    items = _items(sent.body)
    return [
        *_find_bad_shapes(items),
        *_find_unpaired(sent, items),
        *_find_unfollowed(sent, items),
        *_find_orphans(sent, items),
        *_find_unstored(sent, items),
        *_find_foreign(sent, items),
    ]


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request sends back output of a model."""
    return any(not placed.is_ours for placed in _items(body))


def _items(body: Mapping[str, Json]) -> list[_InputItem]:
    given = body.get("input")
    return [
        _InputItem(f"input[{number}]", item)
        for number, item in enumerate(given if isinstance(given, list) else [])
        if isinstance(item, dict)
    ]


# -- one item by itself --------------------------------------------------------------------------


def _find_bad_shapes(items: list[_InputItem]) -> Iterator[ReplayIssue]:
    for placed in items:
        if placed.kind == "reasoning" and not isinstance(placed.item.get("summary"), list):
            yield ReplayIssue(
                code="summary_missing",
                path=f"{placed.path}.summary",
                what="an item of thinking without its summary, which is required even if empty",
                then=f"400 Missing required parameter: '{placed.path}.summary'",
                cure="send summary back unchanged; [] if there was none",
            )
        if placed.kind == "function_call":
            yield from _find_bad_arguments(placed)


def _find_bad_arguments(placed: _InputItem) -> Iterator[ReplayIssue]:
    arguments, path = placed.item.get("arguments"), f"{placed.path}.arguments"
    if not isinstance(arguments, str):
        kind = "an object" if isinstance(arguments, dict) else f"{arguments!r}"
        yield ReplayIssue(
            code="arguments_not_text",
            path=path,
            what=f"the arguments of a call are {kind}, not JSON text",
            then=f"400 Invalid type for '{path}': expected a string, but got {kind} instead",
            cure="send the original text of the arguments",
        )
    elif arguments.startswith(_OPENING) and arguments.rstrip(" \t\r\n") != _OPENING:
        yield ReplayIssue(
            code="arguments_broken",
            path=path,
            what="the arguments of a call have more text after {}: deltas joined wrongly",
            then="the model reads a call it did not make",
            cure="leave out the empty object that a streamed call may begin with",
            refused=False,
        )


# -- calls and results ---------------------------------------------------------------------------


def _is_hosted(sent: SentRequest, placed: _InputItem) -> bool:
    custom = placed.kind == "custom_tool_call"
    return custom and _runs_at_service(placed.text("name"), sent.body.get("tools"))


def _find_unpaired(sent: SentRequest, items: list[_InputItem]) -> Iterator[ReplayIssue]:
    called = {placed.text("call_id") for placed in items if placed.kind.endswith("_call")}
    answered = {placed.text("call_id") for placed in items if placed.kind in _RESULTS}
    for placed in items:
        id = placed.text("call_id")
        if placed.kind in _CALLS and id not in answered and not _is_hosted(sent, placed):
            yield ReplayIssue(
                code="call_unanswered",
                path=placed.path,
                what=f"the call {id!r} has no output",
                then=f"400 No tool output found for function call {id}",
                cure="add an output for every call, an error text if there is none",
            )
        if placed.kind in _RESULTS and id not in called and not _is_stored(sent.body):
            yield ReplayIssue(
                code="result_uncalled",
                path=placed.path,
                what=f"the output {id!r} answers no call of this input",
                then=f"400 No tool call found for function call output with call_id {id}",
                cure="keep the call, or leave out its output too",
            )


def _is_stored(body: Mapping[str, Json]) -> bool:
    kept = ("previous_response_id", "conversation", "prompt")
    items = body.get("input")
    refers = isinstance(items, list) and any(
        isinstance(item, dict) and item.get("type") in ("item_reference", "compaction")
        for item in items
    )
    return refers or any(body.get(key) is not None for key in kept)


# -- thinking and what follows it ----------------------------------------------------------------


def _find_unfollowed(sent: SentRequest, items: list[_InputItem]) -> Iterator[ReplayIssue]:
    for number, placed in enumerate(items):
        id = placed.text("id")
        if placed.kind != "reasoning" or not id or _is_open(placed):
            continue
        after = next((each for each in items[number + 1 :] if each.kind != "reasoning"), None)
        if after is not None and not after.is_ours and _may_follow(sent, id, after):
            continue
        follower = "nothing follows it" if after is None else f"{after.path} is not its own"
        yield ReplayIssue(
            code="thinking_unfollowed",
            path=placed.path,
            what=f"the thinking {_short(id)} is here without the item it led to; {follower}",
            then=f"400 Item '{_short(id)}' of type 'reasoning' was provided without its required "
            "following item",
            cure="send the item that followed it with its id, or leave the thinking out too",
        )


def _is_open(placed: _InputItem) -> bool:
    return bool(placed.item.get("content")) and not placed.text("encrypted_content")


def _may_follow(sent: SentRequest, thought: str, after: _InputItem) -> bool:
    """Return whether this item may follow, by its id; ``store: false`` accepts one without."""
    given = sent.past.by_signature(thought)
    names = _find_names(given) if given else set()
    said = {after.text("id"), after.text("call_id")} - {""}
    if said:
        return not names or not names.isdisjoint(said)
    return sent.body.get("store") is False


def _find_names(given: EarlierAnswer) -> set[str]:
    names = {part.id for part in given.message.parts if isinstance(part, ToolCall)}
    for part in given.message.parts:
        value = _open_signature(part.signature) if isinstance(part, Text | ToolCall) else None
        item = part.raw if isinstance(part, UnknownPart) else value.get("item") if value else None
        if isinstance(item, dict) and isinstance(item.get("id"), str):
            names.add(item["id"])
    return names


def _find_orphans(sent: SentRequest, items: list[_InputItem]) -> Iterator[ReplayIssue]:
    if _is_stored(sent.body):
        return
    here = {id for placed in items if placed.kind == "reasoning" for id in _find_ids(sent, placed)}
    for placed in items:
        id = placed.text("id")
        given = sent.past.by_signature(id) if id and placed.kind in ("message", *_CALLS) else None
        thought = _find_thinking_before(given, id) if given else None
        if given and thought and thought not in here:
            yield ReplayIssue(
                code="follower_alone",
                path=placed.path,
                what=f"{_short(id)} is here without the thinking that led to it in exchange "
                f"{given.number}",
                then=f"400 Item '{_short(id)}' of type '{placed.kind}' was provided without its "
                f"required 'reasoning' item: '{_short(thought)}'",
                cure="send the thinking back before it, or leave out the id of this item",
            )


def _find_ids(sent: SentRequest, placed: _InputItem) -> set[str]:
    encrypted = placed.text("encrypted_content")
    given = sent.past.by_signature(encrypted) if encrypted else None
    return {placed.text("id"), *(_find_signed_ids(given, encrypted) if given else ())}


def _find_signed_ids(given: EarlierAnswer, encrypted: str) -> set[str]:
    values = [
        _open_signature(part.signature)
        for part in given.message.parts
        if isinstance(part, Thinking)
    ]
    return {
        str(value.get("id"))
        for value in values
        if value and value.get("encrypted_content") == encrypted
    }


def _find_thinking_before(given: EarlierAnswer, id: str) -> str | None:
    for part in given.message.parts:
        value = _open_signature(part.signature) if isinstance(part, Text | ToolCall) else None
        if value and value.get("item", {}).get("id") == id:
            after = value.get("after")
            return after if isinstance(after, str) else None
    return None


def _find_unstored(sent: SentRequest, items: list[_InputItem]) -> Iterator[ReplayIssue]:
    for placed in items:
        id = placed.text("id")
        encrypted = placed.text("encrypted_content") or placed.item.get("content")
        if placed.kind != "reasoning" or not id or encrypted:
            continue
        given = sent.past.by_signature(id)
        asked = given.request_body if given else sent.body
        if isinstance(asked, dict) and asked.get("store") is False:
            yield ReplayIssue(
                code="thinking_not_kept",
                path=placed.path,
                what=f"the thinking {_short(id)} is sent by its id, and nothing of it is stored",
                then=f"404 Item with id '{_short(id)}' not found. Items are not persisted when "
                "`store` is set to false",
                cure='ask with include ["reasoning.encrypted_content"], and send that back',
            )


def _find_foreign(sent: SentRequest, items: list[_InputItem]) -> Iterator[ReplayIssue]:
    for placed in items:
        encrypted = placed.text("encrypted_content")
        given = sent.past.by_signature(encrypted) if encrypted else None
        if given is None:
            continue
        if given.provider != sent.provider:
            yield _unreadable_issue(
                placed,
                "seal_foreign",
                f"this thinking was encrypted by {given.provider} (exchange {given.number})",
                "leave out thinking that another service encrypted",
            )
        elif placed.text("id") not in {"", *_find_signed_ids(given, encrypted)}:
            yield _unreadable_issue(
                placed,
                "seal_changed",
                f"this encrypted thinking had another id in exchange {given.number}",
                "send id and encrypted_content back together, unchanged",
            )


def _unreadable_issue(placed: _InputItem, code: str, problem: str, cure: str) -> ReplayIssue:
    return ReplayIssue(
        code=code,
        path=f"{placed.path}.encrypted_content",
        what=problem,
        then="400 invalid_encrypted_content: The encrypted content could not be verified",
        cure=cure,
    )


def _short(id: str) -> str:
    return id if len(id) <= 24 else f"{id[:12]}...{id[-4:]}"


def _runs_at_service(name: str, tools: Json) -> bool:
    """Return whether the service ran this custom call itself, as xAI's search of X does.

    A call of a declared tool is the client's. A list without hosted tools, or with one that loads
    more tools, says nothing.
    """
    listed = [each for each in tools if isinstance(each, dict)] if isinstance(tools, list) else []
    kinds = {str(each.get("type")) for each in listed}
    if kinds <= {"function", "custom"} or kinds & {"namespace", "tool_search"}:
        return False
    return all(each.get("name") != name for each in listed)


def _open_signature(signature: Signature | None) -> dict[str, Json] | None:
    if signature is None or signature.dialect != "openai_responses":
        return None
    return signature.value if isinstance(signature.value, dict) else None


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)

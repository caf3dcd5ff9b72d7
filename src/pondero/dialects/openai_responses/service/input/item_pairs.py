"""Checks of what must stand together in an input: calls and results, thinking and its follower."""

from typing import NoReturn

from pondero.canon import Json

from ..errors import refuse
from ..signatures import Mark, issue, recognise, unseal

_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_CALLS = ("function_call", "custom_tool_call")
_NEVER_FOLLOW = (*_ANSWERS, "configuration_update", "additional_tools", "compaction_trigger")


def check(items: list[Json], *, store: bool, done: frozenset[str] = frozenset()) -> None:
    """Refuse an input with ids, calls or thinking that lack their counterpart.

    ``done`` are the ids of calls that the service ran itself: they have no output.
    """
    _check_ids(items)
    _check_calls(items, done)
    _check_thinking(items, store=store)


def _check_ids(items: list[Json]) -> None:
    for number, item in enumerate(items):
        prefix, id = _PREFIXES.get(_type(item), ""), item.get("id")
        if _is_given(item):
            continue
        if isinstance(id, str) and not id.startswith(prefix):
            param = f"input[{number}].id"
            message = f"Invalid '{param}': '{id}'. Expected an ID that begins with '{prefix}'."
            refuse(message, param=param, code="invalid_value")


def run_here(items: list[Json], tools: list[Json]) -> frozenset[str]:
    """Return the ids of the custom calls that are of no tool of the caller's, and are done."""
    theirs = {tool.get("name") for tool in tools if tool.get("type") == "custom"}
    return frozenset(
        item["call_id"]
        for item in items
        if _type(item) == "custom_tool_call"
        and item.get("status") == "completed"
        and item["name"] not in theirs
    )


def _check_calls(items: list[Json], done: frozenset[str]) -> None:
    called = [item["call_id"] for item in items if _type(item) in _CALLS]
    known = {str(item.get("call_id")) for item in items if _type(item).endswith("_call")}
    answered = {item["call_id"] for item in items if _type(item) in _ANSWERS}
    for item in items:
        if _type(item) in _ANSWERS and item["call_id"] not in known:
            call_id = item["call_id"]
            message = f"No tool call found for function call output with call_id {call_id}."
            refuse(message, param="input")
    for call_id in called:
        if call_id not in answered and call_id not in done:
            refuse(f"No tool output found for function call {call_id}.", param="input")


def _check_thinking(items: list[Json], *, store: bool) -> None:
    present: set[tuple[str, int]] = set()
    for number, item in enumerate(items):
        if _type(item) == "reasoning":
            id = _known(item, number, store=store)
            mark = recognise(id) if id else None
            if mark is not None:
                present.add((mark.stem, mark.place))
            if item.get("id") is not None:
                _check_follower(items, number, store=store)
        elif (mark := _mark(item)) is not None and mark.thought is not None:
            _check_thought(item, mark, present)


def _known(item: Json, number: int, *, store: bool) -> str | None:
    """Return the id of thinking that is sealed by us, stored, or plain; refuse any other."""
    id: str | None = item.get("id")
    text: str | None = item.get("encrypted_content")
    if text is not None:
        sealed = unseal(text)
        if sealed is None or (id is not None and sealed.id != id):
            _refuse_seal(text)
        return sealed.id
    if item.get("content"):
        return id
    if id is None:
        param = f"input[{number}].id"
        message = f"Missing required parameter: '{param}'."
        refuse(message, param=param, code="missing_required_parameter")
    mark = recognise(id)
    if mark is None or not mark.stored:
        hint = (
            " Items are not persisted when `store` is set to false. Try again with `store` set to "
            "true, or remove this item from your input."
        )
        message = f"Item with id '{id}' not found.{'' if store else hint}"
        refuse(message, param="input", status=404)
    return id


def _refuse_seal(text: str) -> NoReturn:
    short = f"{text[:4]}...{text[-4:]}"
    message = (
        f"The encrypted content {short} could not be verified. "
        "Reason: Encrypted content could not be decrypted or parsed."
    )
    refuse(message, param=None, code="invalid_encrypted_content")


def _check_follower(items: list[Json], number: int, *, store: bool) -> None:
    """Refuse thinking that the item it led to does not follow, by the id it came with.

    Where nothing is stored, sealed thinking carries its own state, and a follower without an id
    will do: recorded for a message (gpt-5.6-luna) and a call (gpt-5.6-terra).
    """
    thought = items[number]
    follower = next((item for item in items[number + 1 :] if _type(item) != "reasoning"), None)
    if follower is not None and not _is_given(follower):
        if follower.get("id") is None and not store and thought.get("encrypted_content"):
            return
        if isinstance(follower.get("id"), str):
            ours, mark = recognise(thought["id"]), recognise(follower["id"])
            if ours is None or mark is None or mark.stem == ours.stem:
                return
    message = (
        f"Item '{thought['id']}' of type 'reasoning' was provided without its required "
        "following item."
    )
    refuse(message, param="input")


def _check_thought(item: Json, mark: Mark, present: set[tuple[str, int]]) -> None:
    if (mark.stem, mark.thought) in present:
        return
    thinking = issue("rs", Mark(mark.stem, mark.thought or 0, None, mark.stored))
    message = (
        f"Item '{item['id']}' of type '{_type(item)}' was provided without its required "
        f"'reasoning' item: '{thinking}'."
    )
    refuse(message, param="input")


def _mark(item: Json) -> Mark | None:
    id = item.get("id")
    return recognise(id) if isinstance(id, str) and not _is_given(item) else None


def _is_given(item: Json) -> bool:
    kind = _type(item)
    return kind in _NEVER_FOLLOW or (kind == "message" and item.get("role") != "assistant")


def _type(item: Json) -> str:
    kind = item.get("type") or "message"
    return kind if isinstance(kind, str) else ""

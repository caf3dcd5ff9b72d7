"""Checks that an input keeps its pairs: call and result, thinking and the item after it."""

import re
from typing import NoReturn

from pondero.canon import Json

from ..errors import reject
from ..signatures import ItemId, decrypt, parse_id, write_id

_NAME = re.compile("[a-zA-Z0-9_-]+")
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_CALLS = ("function_call", "custom_tool_call")
_CLIENT_ANSWERS = ("apply_patch_call_output", "computer_call_output", "shell_call_output")
_NEVER_FOLLOW = (*_ANSWERS, "configuration_update", "additional_tools", "compaction_trigger")


def check_pairs(items: list[Json], *, store: bool, done: frozenset[str] = frozenset()) -> None:
    """Reject ids, calls or thinking without a counterpart; ``done``: calls the service ran."""
    _check_ids(items)
    _check_duplicates(items)
    _check_calls(items, done)
    _check_thinking(items, store=store)


def _check_ids(items: list[Json]) -> None:
    for number, item in enumerate(items):
        prefix, id = _PREFIXES.get(_type(item), ""), item.get("id")
        if _is_given(item):
            continue
        if isinstance(id, str) and not id.startswith(prefix):
            reject("id_prefix", param=f"input[{number}].id", id=id, prefix=prefix)


def _check_duplicates(items: list[Json]) -> None:
    seen: set[str] = set()
    for item in items:
        if isinstance(id := item.get("id"), str):
            if id in seen:
                reject("duplicate_item", param="input", id=id)
            seen.add(id)


def check_adjacent(items: list[Json]) -> None:
    """Reject anything between a call and its result but other calls and results."""
    open_calls: list[str] = []
    for item in items:
        kind = _type(item)
        if kind in _CALLS:
            open_calls.append(item["call_id"])
        elif kind in _ANSWERS:
            open_calls = [each for each in open_calls if each != item["call_id"]]
        elif open_calls:
            reject("deepseek_adjacent", param="input", id=open_calls[0])


def check_names(items: list[Json]) -> None:
    """Reject calls whose name no function can have."""
    for number, item in enumerate(items):
        if _type(item) != "function_call":
            continue
        param, name = f"input[{number}].name", item["name"]
        if not name:
            reject("string_empty", param=param, bound=1)
        if not _NAME.fullmatch(name):
            reject("string_pattern", param=param, bound=f"^{_NAME.pattern}$")


def check_nulls(items: list[Json]) -> None:
    """Reject thinking whose content is null, and not left out."""
    for item in items:
        if _type(item) == "reasoning" and item.get("content", ()) is None:
            reject("xai_null", param="input")


def find_hosted_calls(items: list[Json], tools: list[Json]) -> frozenset[str]:
    """Return the ids of completed custom calls to tools that the caller did not offer."""
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
            reject("output_without_call", param="input", id=item["call_id"])
        if _type(item) in _CLIENT_ANSWERS and str(item.get("call_id")) not in known:
            what = _type(item).removesuffix("_output").replace("_", " ")
            reject("client_output", param="input", what=what, id=item.get("call_id"))
    for call_id in called:
        if call_id not in answered and call_id not in done:
            reject("call_without_output", param="input", id=call_id)


def _check_thinking(items: list[Json], *, store: bool) -> None:
    present: set[tuple[str, int]] = set()
    for number, item in enumerate(items):
        if _type(item) == "reasoning":
            id = _check_source(item, number, store=store)
            item_id = parse_id(id) if id else None
            if item_id is not None:
                present.add((item_id.stem, item_id.place))
            if item.get("id") is not None:
                _check_follower(items, number, store=store)
        elif (item_id := _parse_own_id(item)) is not None and item_id.thought is not None:
            _check_thought(item, item_id, present)


def _check_source(item: Json, number: int, *, store: bool) -> str | None:
    id: str | None = item.get("id")
    text: str | None = item.get("encrypted_content")
    if text is not None:
        content = decrypt(text)
        if content is None or (id is not None and content.id != id):
            _reject_signature(text)
        return content.id
    if item.get("content"):
        return id
    if id is None:
        reject("missing", param=f"input[{number}].id")
    item_id = parse_id(id)
    if item_id is None or not item_id.stored:
        reject("unknown_item" if store else "unstored_item", param="input", id=id)
    return id


def _reject_signature(text: str) -> NoReturn:
    reject("encrypted_content", short=f"{text[:4]}...{text[-4:]}")


def _check_follower(items: list[Json], number: int, *, store: bool) -> None:
    """Reject thinking that is not followed by the item it led to.

    With ``store: false`` the follower needs no id: recorded for gpt-5.6-luna and gpt-5.6-terra. A
    call never needs one, as it has a ``call_id``: the AI SDK leaves it out (vercel/ai#15795).
    """
    thought = items[number]
    follower = next((item for item in items[number + 1 :] if _type(item) != "reasoning"), None)
    if follower is not None and not _is_given(follower):
        if follower.get("id") is None and (
            _type(follower) in _CALLS or (not store and thought.get("encrypted_content"))
        ):
            return
        if isinstance(follower.get("id"), str):
            ours, item_id = parse_id(thought["id"]), parse_id(follower["id"])
            if ours is None or item_id is None or item_id.stem == ours.stem:
                return
    reject("thinking_without_follower", param="input", id=thought["id"])


def _check_thought(item: Json, item_id: ItemId, present: set[tuple[str, int]]) -> None:
    if (item_id.stem, item_id.thought) in present:
        return
    thinking = write_id("rs", ItemId(item_id.stem, item_id.thought or 0, None, item_id.stored))
    rule = "follower_without_thinking"
    reject(rule, param="input", id=item["id"], kind=_type(item), thinking=thinking)


def _parse_own_id(item: Json) -> ItemId | None:
    id = item.get("id")
    return parse_id(id) if isinstance(id, str) and not _is_given(item) else None


def _is_given(item: Json) -> bool:
    kind = _type(item)
    return kind in _NEVER_FOLLOW or (kind == "message" and item.get("role") != "assistant")


def _type(item: Json) -> str:
    kind = item.get("type") or "message"
    return kind if isinstance(kind, str) else ""

"""Context edits, marks of the prompt cache, and files by id."""

from collections.abc import Iterator

from msgspec.json import decode

from pondero.canon import Json

from .. import types
from ..errors import reject
from .facts import RequestFacts

_EDITS = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
_CLEARS_THINKING, _COMPACTS = _EDITS[0], _EDITS[2]
_MARKS = 4


def check_edits(asked: RequestFacts, *, thinks: bool) -> None:
    """Reject context edits that do not go with the rest of the request."""
    given = asked.body.context_management
    edits = given.get("edits") if isinstance(given, dict) else None
    listed = edits if isinstance(edits, list) else []
    kinds = [each.get("type") for each in listed if isinstance(each, dict)]
    for at, kind in enumerate(kinds):
        if kind not in _EDITS:
            reject("edit_type", at=at, kind=kind, tags=", ".join(f"'{tag}'" for tag in _EDITS))
    if _CLEARS_THINKING in kinds[1:]:
        reject("edit_order")
    if _CLEARS_THINKING in kinds and (asked.off or not (thinks or asked.body.thinking)):
        reject("edit_thinking")
    if _COMPACTS in kinds:
        if not asked.has_beta("compact-"):
            reject("edit_beta", at=kinds.index(_COMPACTS))
        budget = asked.body.output_config.task_budget if asked.body.output_config else None
        if budget is not None and budget.remaining is not None:
            reject("edit_budget")


def check_marks(asked: RequestFacts) -> None:
    """Reject too many marks of the prompt cache, and a longer life after a shorter one."""
    marks = list(_marks(asked.raw))
    found = len(marks) + (asked.body.cache_control is not None)
    if found > _MARKS:
        reject("cache_marks", most=_MARKS, found=found)
    short = False
    for path, mark in marks:
        if mark.get("ttl") != "1h":
            short = True
        elif short:
            reject("cache_order", path=path)


def _marks(raw: Json) -> Iterator[tuple[str, Json]]:
    """Yield the marks in the order in which the service reads them, each with its path."""
    for name in ("tools", "system"):
        given = raw.get(name)
        yield from _marks_in(given if isinstance(given, list) else [], name)
    for at, message in enumerate(raw.get("messages") or ()):
        content = message.get("content")
        yield from _marks_in(content if isinstance(content, list) else [], f"messages.{at}.content")


def _marks_in(blocks: list[Json], at: str) -> Iterator[tuple[str, Json]]:
    for number, block in enumerate(blocks):
        inner = block.get("content")
        if block.get("type") == "tool_result" and isinstance(inner, list):
            yield from _marks_in(inner, f"{at}.{number}.content")
        if isinstance(mark := block.get("cache_control"), dict):
            yield f"{at}.{number}.cache_control.ttl", mark


def check_files(body: types.Body) -> None:
    """Reject files by id: the emulated service stores none."""
    for message in body.messages:
        for raw in message.content if isinstance(message.content, list) else ():
            for id in _files(decode(raw)):
                reject("file", id=id)


def _files(block: Json) -> Iterator[Json]:
    if not isinstance(block, dict):
        return
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "file":
        yield source.get("file_id")
    if block.get("type") == "container_upload":
        yield block.get("file_id")
    inner = block.get("content")
    for each in inner if isinstance(inner, list) else ():
        yield from _files(each)

"""Checks what a request says about things that the service stores.

The emulator has already resolved the ids that it knows, so any id that is left is unknown.
"""

import re
from collections.abc import Iterator

from pondero.canon import Json

from ..errors import reject
from ..types import Create

# The account's prompts are not known here, so every id that is formed as one is taken for one.
_PROMPT = re.compile(r"pmpt_[0-9a-f]{24,}")


def check_state(create: Create) -> None:
    """Reject ids that stand for nothing, then an empty input."""
    if create.conversation is not None and create.previous_response_id is not None:
        reject("exclusive")
    if create.conversation is not None:
        id = _id_of(create.conversation)
        reject("unknown_stored", what="Conversation", id=id)
    if create.prompt is not None:
        _check_prompt(create.prompt)
    if create.previous_response_id is not None:
        id = create.previous_response_id
        reject("unknown_previous", param="previous_response_id", id=id)
    if not create.input and create.prompt is None:
        reject("no_input")
    for number, item in enumerate(create.input if isinstance(create.input, list) else ()):
        if item.get("type") == "item_reference":
            rule = "unstored_item" if create.store is False else "unknown_item"
            reject(rule, param="input", id=item.get("id"))
        for place, id in _iter_files(item):
            if not id.startswith("file"):
                reject("id_prefix", param=f"input[{number}].{place}", id=id, prefix="file")


def check_background(create: Create) -> None:
    """Reject an answer in the background that is not stored."""
    if create.background and create.store is False:
        reject("background_unstored", param="background")


def _check_prompt(prompt: dict[str, Json]) -> None:
    id = prompt.get("id")
    if id is None:
        reject("missing", param="prompt.id")
    if not _PROMPT.fullmatch(str(id)):
        reject("unknown_stored", what="Prompt", id=id)


def _id_of(held: Json) -> Json:
    return held.get("id") if isinstance(held, dict) else held


def _iter_files(item: Json) -> Iterator[tuple[str, str]]:
    for field in ("content", "output"):
        content = item.get(field)
        for number, part in enumerate(content if isinstance(content, list) else ()):
            id = part.get("file_id") if isinstance(part, dict) else None
            if isinstance(id, str):
                yield f"{field}[{number}].file_id", id

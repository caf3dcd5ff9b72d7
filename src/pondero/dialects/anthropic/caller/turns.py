"""A conversation as a request sends it back: turns of blocks, each with its place."""

from collections.abc import Mapping
from typing import NamedTuple

from pondero.canon import Json

THOUGHTS = ("thinking", "redacted_thinking")
SEALS = {"thinking": "signature", "redacted_thinking": "data"}


class Placed(NamedTuple):
    """A block and its place; ``seal`` is empty where it has none."""

    path: str
    block: Mapping[str, Json]

    @property
    def kind(self) -> str:
        """Return the type it says it is."""
        return str(self.block.get("type"))

    @property
    def seal(self) -> str:
        """Return its signature, or the data nobody may read."""
        value = self.block.get(SEALS.get(self.kind, ""))
        return value if isinstance(value, str) else ""


class Turn(NamedTuple):
    """Neighbouring messages of one role, which the service reads as one."""

    role: str
    path: str
    blocks: list[Placed]

    def of(self, *kinds: str) -> list[Placed]:
        """Return its blocks of these types."""
        return [placed for placed in self.blocks if placed.kind in kinds]


def turns(body: Mapping[str, Json]) -> list[Turn]:
    """Return the conversation; neighbours of one role are one turn, as the service reads them."""
    found: list[Turn] = []
    messages = body.get("messages")
    for number, message in enumerate(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict) or message.get("role") == "system":
            continue
        path, role, content = f"messages[{number}]", message.get("role"), message.get("content")
        placed = [
            Placed(f"{path}.content[{n}]", block)
            for n, block in enumerate(content if isinstance(content, list) else [])
            if isinstance(block, dict)
        ]
        if isinstance(content, str):
            placed = [Placed(f"{path}.content", {"type": "text", "text": content})]
        if found and found[-1].role == role:
            found[-1].blocks.extend(placed)
        else:
            found.append(Turn(str(role), path, placed))
    return found

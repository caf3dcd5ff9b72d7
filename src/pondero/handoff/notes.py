"""What we say in our own words, always as the user's and always in brackets.

Never in an assistant's turn: a model takes what it reads there for its own, and imitates it.
"""

from ..canon import Blob, Image, Text, ToolResult

INTERRUPTED = "the call was interrupted"
OPENING = Text("[The conversation begins with the answer that follows.]")


def thought(text: str, name: str) -> Text:
    """Return another model's thinking as a note before its answer."""
    return Text(f"[A note: what {name} thought before it gave the answer that follows]\n{text}")


def unseen(medium: Image | Blob) -> Text:
    """Return words in the place of a medium that cannot be shown."""
    return Text(f"[{_described(medium)}, which this model cannot be shown]")


def unseen_in_answer(medium: Image | Blob) -> Text:
    """Return words before an answer that held a medium which cannot be shown."""
    return Text(f"[The answer that follows held {_described(medium)}, which is not shown here]")


def from_answer(medium: Image | Blob) -> Text:
    """Return words that go before a medium taken out of the answer after it."""
    return Text(f"[{_described(medium)}, from the answer that follows:]")


def unread() -> Text:
    """Return words in the place of what only another service can read."""
    return Text("[a part that only another service can read]")


def interrupted(call_id: str) -> ToolResult:
    """Return the result of a call that never came back."""
    return ToolResult(call_id, (Text(INTERRUPTED),), error=True)


def _described(medium: Image | Blob) -> str:
    kind = medium.media_type or "image"
    return kind if medium.data is None else f"{kind}, {len(medium.data):,} bytes"

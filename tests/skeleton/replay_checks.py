"""Where a request of this wire is refused for its past, or loses thinking: for the guard."""

from collections.abc import Mapping

from pondero.canon import Json
from pondero.dialects.dialect import ReplayChecks, ReplayIssue, SentRequest


def find_issues(_sent: SentRequest) -> list[ReplayIssue]:
    """Return nothing: no trap of this wire is known yet."""
    return []


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request sends back what a model said."""
    messages = body.get("messages")
    return isinstance(messages, list) and any(
        isinstance(each, dict) and each.get("role") == "assistant" for each in messages
    )


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)

"""Finds what Ollama rejects in a replayed conversation. Nothing is signed here."""

from collections.abc import Iterator, Mapping

from pondero.canon import Json
from pondero.dialects.dialect import ReplayChecks, ReplayIssue, SentRequest


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the places of this request that Ollama rejects."""
    found = []
    for path, message in _messages(sent.body):
        calls = message.get("tool_calls")
        for number, call in enumerate(calls if isinstance(calls, list) else []):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                found.append(_text(f"{path}.tool_calls[{number}].function.arguments"))
    return found


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request replays an answer."""
    return any(message.get("role") == "assistant" for _, message in _messages(body))


def _messages(body: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    given = body.get("messages")
    for number, message in enumerate(given if isinstance(given, list) else []):
        if isinstance(message, dict):
            yield f"messages[{number}]", message


def _text(path: str) -> ReplayIssue:
    return ReplayIssue(
        code="arguments_not_object",
        path=path,
        what="the arguments of a call are text; here they are an object",
        then="400 json: cannot unmarshal string into Go struct field of type map[string]any",
        cure="send the arguments as the object they came as",
    )


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)

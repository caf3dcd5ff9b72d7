"""Finds what Cohere rejects in a replayed conversation. Nothing is signed here."""

from collections.abc import Iterator, Mapping

from pondero.canon import Json
from pondero.dialects.dialect import ReplayChecks, ReplayIssue, SentRequest

_Placed = tuple[str, Mapping[str, Json]]


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the places in this request's history that Cohere rejects."""
    messages = list(_objects(sent.body.get("messages"), "messages"))
    return [*_shapes(messages), *_pairs(messages)]


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request has earlier answers of a model."""
    given = _objects(body.get("messages"), "messages")
    return any(message.get("role") == "assistant" for _, message in given)


def _objects(given: Json, path: str) -> Iterator[_Placed]:
    for number, each in enumerate(given if isinstance(given, list) else []):
        if isinstance(each, dict):
            yield f"{path}[{number}]", each


def _calls(placed: _Placed) -> list[_Placed]:
    path, message = placed
    return list(_objects(message.get("tool_calls"), f"{path}.tool_calls"))


def _shapes(messages: list[_Placed]) -> Iterator[ReplayIssue]:
    for path, message in messages:
        if message.get("role") != "assistant":
            continue
        if not message.get("content") and not message.get("tool_calls"):
            yield ReplayIssue(
                code="message_empty",
                path=path,
                what="a message of the assistant's that says nothing and calls nothing",
                then="400 an assistant message must have content or tool_calls",
                cure="leave it out",
            )
        for at, call in _calls((path, message)):
            function = call.get("function")
            if isinstance(function, dict) and isinstance(function.get("arguments"), dict):
                yield ReplayIssue(
                    code="arguments_not_text",
                    path=f"{at}.function.arguments",
                    what="the arguments of a call are an object, not JSON text",
                    then="400 invalid request: cannot unmarshal object into a string",
                    cure="send the arguments as the text they came as",
                )


def _pairs(messages: list[_Placed]) -> Iterator[ReplayIssue]:
    called: set[str] = set()
    for placed in messages:
        path, message = placed
        called |= {str(call.get("id")) for _, call in _calls(placed)}
        id = str(message.get("tool_call_id"))
        if message.get("role") == "tool" and id not in called:
            yield ReplayIssue(
                code="result_uncalled",
                path=path,
                what=f"the result {id!r} answers no call before it",
                then=f"400 tool call id not found in previous tool calls: {id}",
                cure="keep the call, or leave out its result too",
            )


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)

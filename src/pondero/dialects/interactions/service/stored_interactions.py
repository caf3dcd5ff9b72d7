"""Stored interactions: continued by id, fetched, streamed again, cancelled and deleted.

Inputs and outputs are carried over, settings are not (google-gemini/gemini-skills, 2026-11-16).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NoReturn
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json, read_count
from pondero.dialects.dialect import Rejected, ReplyContext, StoredAnswer, StoredCall

from .address import check_key
from .errors import JSON, reject
from .input import list_steps
from .parse import PREVIOUS_HEADER, Context
from .parts import Step, interaction_id
from .stream import write_event

_FIELD = "previous_interaction_id"
_PATH = re.compile(r".*/interactions/([^/]+?)([/:]cancel)?")
_Verb = Literal["create", "fetch", "delete", "cancel", "items"]
_VERBS: dict[tuple[str, bool], _Verb] = {
    ("GET", False): "fetch",
    ("DELETE", False): "delete",
    ("POST", True): "cancel",
}


def previous_id(http: HttpRequest) -> str | None:
    """Return the id of the interaction that a request continues."""
    if _FIELD.encode() not in http.body:
        return None
    id = _parse(http.body).get(_FIELD)
    return id if isinstance(id, str) else None


def stored_id(answering: ReplyContext[Context]) -> str | None:
    """Return the id under which an answer is stored; None with ``store: false``."""
    return interaction_id(answering)


def is_background(answering: ReplyContext[Context]) -> bool:
    """Return whether an answer is fetched later."""
    return answering.context.background


def is_stored(context: Context) -> bool:
    """Return whether the answer to a request is stored."""
    return context.stored


def resume(http: HttpRequest, before: HttpRequest, answer: HttpResponse) -> HttpRequest:
    """Return the request with the stored steps before its own input."""
    body = _parse(http.body)
    id = body.pop(_FIELD)
    own = body.get("input")
    if own:
        steps = _parse(answer.body).get("steps") or []
        earlier = _list_steps(_parse(before.body).get("input"))
        body["input"] = [*earlier, *steps, *_list_steps(own)]
    headers = {**http.headers, PREVIOUS_HEADER: id}
    return msgspec.structs.replace(http, headers=headers, body=msgspec.json.encode(body))


def classify(http: HttpRequest) -> StoredCall | None:
    """Return what a request asks about a stored interaction; None for any other."""
    found = _PATH.fullmatch(urlsplit(http.url).path)
    if found is None:
        return None
    verb = _VERBS.get((http.method, bool(found[2])))
    return None if verb is None else StoredCall("response", unquote(found[1]), verb)


def write(http: HttpRequest, call: StoredCall, stored: StoredAnswer | None) -> HttpResponse:
    """Answer a request about an interaction, or raise Rejected."""
    check_key(http)
    if stored is None:
        reject("no_interaction", id=call.id)
    if call.verb == "delete":
        return _respond({})
    said = _in_state(stored)
    query = parse_qs(urlsplit(http.url).query)
    if call.verb == "fetch" and query.get("stream", [""])[-1].lower() == "true":
        return _stream(said, query.get("last_event_id", [""])[-1])
    if call.verb == "fetch" and http.method == "GET" and said["status"] != "requires_action":
        # googleapis/python-genai#2823: what was asked is left out if an action is required
        said["steps"] = [*_list_steps(_parse(stored.request.body).get("input")), *said["steps"]]
    return _respond(said)


def _in_state(stored: StoredAnswer) -> Step:
    body = _parse(stored.answer.body)
    if stored.status in ("foreground", "finished"):
        return body
    body.pop("usage", None)
    status = "cancelled" if stored.status == "cancelled" else "in_progress"
    return {**body, "status": status, "steps": []}


def _stream(said: Step, after: str) -> HttpResponse:
    """Return an interaction as a stream, from the event after the one that was seen last."""
    skipped = read_count(after) or 0
    events = [
        write_event(kind, event_id=str(number), **fields)
        for number, (kind, fields) in enumerate(_iter_events(said), 1)
        if number > skipped
    ]
    data = b"".join(events) + b"event: done\ndata: [DONE]\n\n"
    return HttpResponse(200, {"content-type": "text/event-stream"}, data)


def _iter_events(said: Step) -> Iterator[tuple[str, Step]]:
    head = {key: said[key] for key in ("id", "object", "model")} | {"status": "in_progress"}
    yield "interaction.created", {"interaction": head}
    yield "interaction.status_update", {"interaction_id": said["id"], "status": said["status"]}
    for index, step in enumerate(said["steps"]):
        whole = step["type"] not in _PIECES
        start = step if whole else {key: step[key] for key in step if key in _HEAD}
        if step["type"] == "function_call":
            start["arguments"] = {}
        yield "step.start", {"index": index, "step": start}
        for delta in () if whole else _iter_deltas(step):
            yield "step.delta", {"index": index, "delta": delta}
        yield "step.stop", {"index": index}
    end = {key: value for key, value in said.items() if key != "steps"}
    yield "interaction.completed", {"interaction": end}


_PIECES = ("thought", "model_output", "function_call")
_HEAD = ("type", "id", "name")


def _iter_deltas(step: Step) -> Iterator[Step]:
    for content in step.get("summary") or ():
        yield {"type": "thought_summary", "content": content}
    if step["type"] == "thought" and step.get("signature"):
        yield {"type": "thought_signature", "signature": step["signature"]}
    yield from step.get("content") or ()
    if step["type"] == "function_call":
        written = msgspec.json.encode(step["arguments"]).decode()
        yield {"type": "arguments_delta", "arguments": written}


# -- what this API has not: conversations, and items with ids of their own -------------------------


def conversation_id(_http: HttpRequest) -> str | None:
    """Return None: interactions are the only conversations here."""
    return None


def resume_conversation(http: HttpRequest, _id: str, _items: Sequence[Json]) -> HttpRequest:
    """Return the request as it is."""
    return http


def references(_http: HttpRequest) -> tuple[str, ...]:
    """Return nothing: steps have no ids to be named by."""
    return ()


def put_items(http: HttpRequest, _known: Mapping[str, Json]) -> HttpRequest:
    """Return the request as it is."""
    return http


def list_items(_http: HttpRequest, _answer: HttpResponse | None) -> tuple[Json, ...]:
    """Return nothing: steps have no ids to be named by."""
    return ()


def write_conversation(
    _http: HttpRequest, call: StoredCall, _items: Sequence[Json] | None
) -> NoReturn:
    """Reject a request about a conversation; ``classify`` recognises none."""
    reject("no_interaction", id=call.id)


def _list_steps(given: Json) -> list[Json]:
    try:
        return list_steps(given)
    except Rejected:  # ``accept`` says why
        return given if isinstance(given, list) else []


def _parse(data: bytes) -> dict[str, Json]:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _respond(value: Json) -> HttpResponse:
    return HttpResponse(200, {"content-type": JSON}, msgspec.json.encode(value))

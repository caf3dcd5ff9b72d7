"""What only some providers or some of their models reject, by the columns of their tables.

The body is checked as it was sent: a lenient reading would have replaced what some providers do not
know. Each check is a function of one body; the first fault is the one reported.
"""

from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import urlsplit

from pondero.canon import Json, get_path

from ..models import Model, Order, Provider

_NOT_MEDIA = ("text", "refusal", "thinking", "reference")
_SUBTYPES = {"quicktime": "mov", "x-msvideo": "avi", "x-ms-wmv": "wmv"}
_LOGPROBS = ("logprobs", "top_logprobs")
# A lower bound: no usual text has more characters for a token.
_CHARACTERS_PER_TOKEN = 6


def check_provider(body: dict[str, Json], provider: Provider, model: Model) -> None:
    """Raise Rejected for the first thing that this provider or model does not take."""
    request = _Request(body, provider, model)
    _check_served(request)
    _check_tools(request)
    _check_format(request)
    _check_roles(request)
    _check_media(request)
    _check_order(request)
    _check_sizes(request)
    if request.lacks("logprobs") and any(body.get(field) for field in _LOGPROBS):
        request.reject("no_logprobs", param="logprobs")


class _Request:
    """A body as it was sent, and the tables that judge it."""

    def __init__(self, body: dict[str, Json], provider: Provider, model: Model) -> None:
        self.body = body
        self.provider = provider
        self.model = model
        self.name = str(body.get("model") or "")
        self.messages: list[dict[str, Json]] = [
            message for message in body["messages"] if isinstance(message, dict)
        ]

    def lacks(self, capability: str) -> bool:
        """Return whether the model is known not to have a capability."""
        return self.provider.lists(self.provider.lacks.get(capability, ()), self.name)

    def reject(self, rule: str, *, param: str | None = None, **facts: Json) -> None:
        """Raise the rejection of a rule; every text may name the model."""
        self.provider.rejecter.reject(rule, param=param, model=self.name, **facts)


def _check_served(request: _Request) -> None:
    if request.lacks("availability"):
        request.reject("ended")
    if request.lacks("chat"):
        request.reject("other_endpoint", param="model")


def _check_tools(request: _Request) -> None:
    body = request.body
    if not body.get("tools"):
        return
    if request.lacks("tools"):
        request.reject("no_tools", param="tool calling")
    if request.lacks("named_tools") and isinstance(body.get("tool_choice"), dict):
        request.reject("named_tool", param="tool_choice")
    kind = get_path(body, ("response_format", "type"))
    if request.lacks("json_with_tools") and kind == "json_object":
        request.reject("json_with_tools", param="response_format")


def _check_format(request: _Request) -> None:
    format_ = request.body.get("response_format")
    if not isinstance(format_, dict) or format_.get("type") != "json_schema":
        return
    if request.lacks("schemas"):
        request.reject("schema", param="response_format")
    for path in request.provider.format_needs:
        if not get_path(format_, tuple(path.split("."))):
            request.reject("format_part", param="response_format", part=path)


def _check_roles(request: _Request) -> None:
    known, updates = request.provider.roles, request.provider.updates
    for index, message in enumerate(request.messages):
        role = message.get("role")
        if known and role not in known:
            request.reject("role", param=f"messages[{index}].role", index=index, role=role)
        if role in ("system", "developer") and request.lacks("system"):
            request.reject("no_system", param="messages", slug=request.name.split("/")[-1])
        if (
            updates
            and "configuration_update" in message
            and not request.provider.lists(updates, request.name)
        ):
            request.reject("no_updates", param=f"messages[{index}].configuration_update")
        empty = not message.get("content") and not message.get("tool_calls")
        if role == "assistant" and empty and request.lacks("empty_assistant"):
            request.reject("empty_assistant", param=f"messages[{index}].content")


def _check_media(request: _Request) -> None:
    for index, part in _parts(request):
        where, kind = f"messages[{index}].content", str(part.get("type"))
        if kind in _NOT_MEDIA:
            continue
        if request.lacks("media"):
            request.reject("no_media", param=where, index=index, kind=kind)
        if kind == "image_url" and request.lacks("images"):
            request.reject("no_images", param=where, index=index, kind=kind)
        if kind == "input_audio" and request.lacks("audio"):
            request.reject("no_audio", param=where, index=index, kind=kind)
        formats = request.provider.videos
        if kind == "video_url" and formats and _format_of(part) not in (None, *formats):
            request.reject("video_format", param=where, formats="/".join(formats))


def _parts(request: _Request) -> Iterator[tuple[int, dict[str, Json]]]:
    for index, message in enumerate(request.messages):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict):
                yield index, part


def _format_of(part: dict[str, Json]) -> str | None:
    """Return the format that a video's address or data URL names, if it names one."""
    video = part.get("video_url")
    url = str(video.get("url") if isinstance(video, dict) else video)
    if url.startswith("data:"):
        named = url.removeprefix("data:").partition(";")[0].rpartition("/")[2]
        return _SUBTYPES.get(named, named) or None
    _, dot, ending = urlsplit(url).path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot else None


def _check_order(request: _Request) -> None:
    order = _find_order(request)
    if order is None or not request.messages:
        return
    roles = [str(message.get("role")) for message in request.messages]
    for before, role in pairwise(roles):
        if before in order.after and role not in order.after[before]:
            request.reject("order", param="messages", role=role, before=before)
    last = request.messages[-1]
    if order.last and roles[-1] not in order.last and last.get("prefix") is not True:
        request.reject("last_role", param="messages", role=roles[-1])


def _find_order(request: _Request) -> Order | None:
    rows = request.provider.order
    return next((row for row in rows if request.provider.lists(row.match, request.name)), None)


def _check_sizes(request: _Request) -> None:
    caps = [request.body.get(name) for name in ("max_tokens", "max_completion_tokens")]
    least = request.model.min_output
    for cap in caps:
        if isinstance(cap, int) and least is not None and cap < least:
            request.reject("least_output", param="max_output_tokens", least=least, cap=cap)
    limits = request.provider.context.items()
    limit = next((n for each, n in limits if request.provider.lists((each,), request.name)), None)
    length = sum(len(text) for text in _texts(request))
    if limit is not None and length > limit * _CHARACTERS_PER_TOKEN:
        request.reject("too_long", param="messages", limit=limit, tokens=length // 4)


def _texts(request: _Request) -> Iterator[str]:
    for message in request.messages:
        if isinstance(content := message.get("content"), str):
            yield content
    for _, part in _parts(request):
        if isinstance(text := part.get("text"), str):
            yield text

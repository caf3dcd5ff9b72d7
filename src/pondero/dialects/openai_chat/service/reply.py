"""Writes a whole answer in the provider's exact shape, and errors in the shape of one provider."""

from collections.abc import Sequence

import msgspec

from pondero.canon import (
    Finish,
    HttpResponse,
    Image,
    Json,
    Part,
    Reply,
    Text,
    Thinking,
    TokenLogprob,
    ToolCall,
)
from pondero.dialects.dialect import ReplyContext

from .errors import write_error
from .input.older_functions import older_finish, write_older_call
from .models import provider_of
from .parse import Context
from .parts import (
    Calls,
    CarriedDetail,
    annotations,
    base_of,
    ending,
    finish_reason,
    headers_of,
    is_refusal,
    picture,
    thinking_writer,
    usage_of,
    weigh,
    write_json,
)


def reply(answering: ReplyContext[Context], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    return reply_several(answering, (reply,))


def reply_several(answering: ReplyContext[Context], replies: Sequence[Reply]) -> HttpResponse:
    """Return several answers to one request; the first has the counts of all."""
    choices = [_write_choice(answering, each, number) for number, each in enumerate(replies)]
    body = base_of(answering, "chat.completion", replies[0].model)
    body["choices"] = choices
    body["usage"] = usage_of(replies[0].usage, answering.context.provider)
    head = headers_of("application/json", body)
    return HttpResponse(200, head, write_json(body))


def _write_choice(answering: ReplyContext[Context], reply: Reply, number: int) -> dict[str, Json]:
    context, parts = answering.context, reply.message.parts
    message, logprobs = _write_text(parts, reply.finish), None
    if message is None or answering.top_logprobs is not None:
        message, logprobs = _write_message(answering, reply)
    if context.provider.carries:
        _carry(answering, parts, message)
    finish = finish_reason(reply.finish, reply.raw_finish, said_no=bool(message["refusal"]))
    if context.older:
        message, finish = write_older_call(message), older_finish(finish)
    choice = {"index": number, "message": message, "logprobs": logprobs}
    return choice | ending(finish, context.provider)


def _write_text(parts: Sequence[Part], finish: Finish) -> dict[str, Json] | None:
    """Return a message that is a text and no more, as most are; None for any other."""
    if len(parts) != 1 or finish == "refusal":
        return None
    (part,) = parts
    if not isinstance(part, Text) or part.citations or part.signature is not None:
        return None
    return _lay_out(part.text, "", [])


def _lay_out(text: str, refusal: str, noted: list[Json]) -> dict[str, Json]:
    return {
        "role": "assistant",
        "content": text or None,
        "refusal": refusal or None,
        "annotations": noted,
    }


def _write_message(
    answering: ReplyContext[Context], reply: Reply
) -> tuple[dict[str, Json], Json | None]:
    """Return a message of any parts, and the log probabilities of its tokens."""
    texts: list[Text] = []
    refusals: list[Text] = []
    thoughts: list[Thinking] = []
    pictures: list[Json] = []
    noted: list[Json] = []
    for part in reply.message.parts:
        if isinstance(part, Text):
            is_no = reply.finish == "refusal" or is_refusal(part)
            (refusals if is_no else texts).append(part)
            noted += annotations(part)
        elif isinstance(part, Thinking):
            thoughts.append(part)
        elif isinstance(part, Image):
            pictures.append(picture(part))
    text = "".join([text.text for text in texts])
    message = _lay_out(text, "".join([text.text for text in refusals]), noted)
    if pictures:
        message["images"] = pictures
    if asked := reply.message.tool_calls:
        calls = Calls(answering)
        message["tool_calls"] = [calls.whole(call) for call in asked]
    if thoughts:
        thinking_writer(answering).whole(thoughts, message)
    if answering.top_logprobs is None:
        return message, None
    return message, weigh(answering, _list_tokens(texts), _list_tokens(refusals))


def _list_tokens(texts: Sequence[Text]) -> list[TokenLogprob]:
    return [token for text in texts for token in text.logprobs]


def _carry(
    answering: ReplyContext[Context], parts: Sequence[Part], message: dict[str, Json]
) -> None:
    carried = CarriedDetail(answering)
    details: list[Json] = []
    for part in parts:
        if isinstance(part, (Text, Thinking, ToolCall)):
            details += carried.write(part)
    if details:
        message["reasoning_details"] = [*message.get("reasoning_details", ()), *details]


def restate_error(error: HttpResponse, provider: str) -> HttpResponse:
    """Return an error in the shape of one provider; what is not an error of ours stays as it is."""
    shape = provider_of(provider).error
    if shape == "nested" or not error.body.startswith(b'{"error":{"message"'):
        return error
    said = msgspec.json.decode(error.body)["error"]
    told = write_error(error.status, said["message"], code=said["code"], shape=shape)
    return HttpResponse(error.status, error.headers, told.body)


def call_id(digest: str) -> str:
    """Return the id of a call as the service makes them."""
    return f"call_{digest[:24]}"

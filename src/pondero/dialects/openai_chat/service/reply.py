"""Writes a whole answer in the provider's exact shape, and errors in the shape of one provider."""

from collections.abc import Sequence

import msgspec

from pondero.canon import HttpResponse, Image, Json, Part, Reply, Text, Thinking, ToolCall
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
    usage = usage_of(replies[0].usage, answering.context.provider)
    body |= {"choices": choices, "usage": usage}
    head = headers_of("application/json", body)
    return HttpResponse(200, head, write_json(body))


def _write_choice(answering: ReplyContext[Context], reply: Reply, number: int) -> dict[str, Json]:
    provider, parts = answering.context.provider, reply.message.parts
    texts = [part for part in parts if isinstance(part, Text)]
    refusals = [text for text in texts if is_refusal(text) or reply.finish == "refusal"]
    message: dict[str, Json] = {
        "role": "assistant",
        "content": "".join(text.text for text in texts if text not in refusals) or None,
        "refusal": "".join(text.text for text in refusals) or None,
        "annotations": [each for text in texts for each in annotations(text)],
    }
    if pictures := [picture(part) for part in parts if isinstance(part, Image)]:
        message["images"] = pictures
    if reply.message.tool_calls:
        calls = Calls(answering)
        message["tool_calls"] = [calls.whole(call) for call in reply.message.tool_calls]
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    thinking_writer(answering).whole(thoughts, message)
    _carry(answering, parts, message)
    logprobs = weigh(
        answering,
        [token for text in texts if text not in refusals for token in text.logprobs],
        [token for text in refusals for token in text.logprobs],
    )
    choice = {"index": number, "message": message, "logprobs": logprobs}
    finish = finish_reason(reply.finish, reply.raw_finish, said_no=bool(message["refusal"]))
    if answering.context.older:
        choice["message"], finish = write_older_call(message), older_finish(finish)
    return choice | ending(finish, provider)


def _carry(
    answering: ReplyContext[Context], parts: Sequence[Part], message: dict[str, Json]
) -> None:
    carried = CarriedDetail(answering)
    signed = (carried.write(part) for part in parts if isinstance(part, Text | Thinking | ToolCall))
    if details := [detail for each in signed for detail in each]:
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

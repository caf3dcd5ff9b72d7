"""Requests over a socket whose answers are not stored: the socket itself continues them."""

from collections.abc import Mapping

from msgspec import DecodeError, Raw

from ...canon import Json, get_decoder
from .routed_request import ModelTarget, RoutedRequest

_LIST = get_decoder(list[Json] | None)


def find_signed_fields(
    routed: RoutedRequest, target: ModelTarget, sent: Mapping[str, Raw], own: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the fields that let thinking be sent back with the next request of a socket.

    ``own``: the fields of the shortest request to the model. A service that stores nothing knows
    thinking by its signature alone, and signs it if it is asked to.
    """
    said, rules = routed.stored.said, routed.service.kept_responses
    if routed.call.local is None or said is None or said.is_stored or rules is None:
        return {}
    name, word = rules.signed_by
    thinks = target.plan.will_think and target.entry.quirks.get("encrypted") is not False
    if name not in own and not thinks:
        return {}  # only models that think accept it
    try:
        given = _LIST.decode(sent.get(name, Raw(b"null"))) or []
    except DecodeError:
        return {}  # the service says what is wrong with it
    return {} if word in given else {name: [*given, word]}

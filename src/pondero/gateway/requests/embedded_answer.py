"""The signatures in an answer to a client of another API, as envelopes."""

from ...canon import Message, Reply
from ...dialects import get_dialect
from ...exchange import Exchange
from ..answers.thinking_filter import ThinkingFilter
from ..signatures.embedder import SignatureEmbedder, embed_nothing
from ..state.answer_cache import CachedAnswer
from .routed_request import RoutedRequest


def embed_whole(
    routed: RoutedRequest, exchange: Exchange, number: int, reply: Reply
) -> tuple[Message, CachedAnswer]:
    """Return an answer in one piece as the client is to see it, and what is cached of it."""
    if not routed.hides_thinking:
        seed = _make_seed(routed, number)
        if (plain := embed_nothing(reply.message, exchange.origin, seed)) is not None:
            return plain
    embedder = make_embedder(routed, exchange, number)
    return embedder.whole(reply.message, reply.finish), embedder.record


def make_embedder(routed: RoutedRequest, exchange: Exchange, number: int) -> SignatureEmbedder:
    """Return the embedder of one of several answers, with ids of its own."""
    service = routed.service
    return SignatureEmbedder(
        service.slots,
        exchange.origin,
        pack=routed.envelopes.pack,
        seed=_make_seed(routed, number),
        call_id=service.call_id,
        # Else the client may not have it to send back.
        text_inside=routed.parsed.show is not True or routed.hides_thinking,
        hide=_make_filter(exchange).feed if routed.hides_thinking else None,
    )


def _make_filter(exchange: Exchange) -> ThinkingFilter:
    """Return the filter for thinking that this deployment puts into its text."""
    caller = get_dialect(exchange.dialect).caller()
    rule = caller.tags_left(exchange.quirks) if caller.tags_left is not None else "no"
    may_think = exchange.plan.will_think is not False
    return ThinkingFilter(rule, may_think=may_think, is_plan=caller.is_plan)


def _make_seed(routed: RoutedRequest, number: int) -> bytes:
    id = routed.call.id
    return f"{id} {number}".encode() if number else id.encode()

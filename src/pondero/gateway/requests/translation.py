"""The road between two wires: canon events in, the front's bytes out.

``answers`` takes it for every model that does not speak the client's own wire. Seals of the back
travel in the front's own slots (``carrier``); the answer has the name the client asked for, and no
word that only the back has.
"""

from msgspec.structs import replace

from ...canon import Event, Finished, HttpResponse, Json, Message, Origin, Reply, Started
from ...dialects import ParsedRequest, ReplyContext, Service
from ..signatures.embedder import SignatureEmbedder, embedded_signature
from ..signatures.part_order import WORDS


def is_shown(service: Service[Json], parsed: ParsedRequest[Json]) -> bool:
    """Return whether the client sees thinking."""
    return service.shows_thinking if parsed.show is None else parsed.show


def make_reply_context(
    service: Service[Json], parsed: ParsedRequest[Json], *, id: str, place: str | None = None
) -> ReplyContext[Json]:
    """Return how an answer of the gateway's is to be written."""
    return ReplyContext(
        request=parsed.request,
        context=parsed.context,
        sign=embedded_signature,
        seed=id.encode(),
        shown=is_shown(service, parsed),
        place=place,
    )


class Translation:
    """One answer: ``feed`` and ``end`` for a stream, or ``whole``."""

    def __init__(
        self,
        service: Service[Json],
        parsed: ParsedRequest[Json],
        origin: Origin,
        *,
        id: str,
        place: str | None = None,
    ) -> None:
        self._service = service
        self._model = parsed.request.model
        self._answering = make_reply_context(service, parsed, id=id, place=place)
        self.carrier: SignatureEmbedder = SignatureEmbedder(
            service.slots,
            origin,
            seed=self._answering.seed,
            call_id=service.call_id,
            text_inside=parsed.show is not True,  # else the client may not have it to give back
        )
        self._writer = service.stream(self._answering) if parsed.request.stream else None

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers the stream begins with."""
        return dict(self._writer.headers) if self._writer else {}

    def feed(self, events: list[Event]) -> bytes:
        """Return the front's bytes for these events."""
        if self._writer is None:
            return b""
        write, own = self._writer.feed, self._own
        told = self.carrier.feed(events)
        frames = [write(e if isinstance(e, WORDS) else own(e)) for e in told]
        return b"".join(frames)

    async def end(self) -> bytes:
        """Return the bytes that end the stream."""
        return self._writer.eof() if self._writer else b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the bytes that report an error in mid-stream."""
        return self._writer.fail(error) if self._writer else b""

    def whole(self, reply: Reply) -> HttpResponse:
        """Return an answer in one piece."""
        message: Message = self.carrier.whole(reply.message)
        own = replace(
            reply,
            message=message,
            model=self._model,
            request_id=None,
            raw_finish=None,
            grounding=None,
            safety=None,
            extras=None,
        )
        return self._service.reply(self._answering, own)

    def _own(self, event: Event) -> Event:
        """Return an event as the client is to know it: of the model that it asked for."""
        if isinstance(event, Started):
            return Started(self._model)
        if isinstance(event, Finished):
            return Finished(event.finish, event.usage, model=self._model, verdict=event.verdict)
        return event

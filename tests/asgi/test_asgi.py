"""Any asyncio transport as an ASGI application."""

import asyncio

from pondero.asgi import make_asgi_app
from pondero.canon import ResponseHead
from pondero.errors import Timeout, Unreachable


class Answer:
    def __init__(self, pieces, end=None):
        self.head = ResponseHead(207, {"content-type": "text/plain", "x-note": "é"})
        self.closed = False
        self._pieces = pieces
        self._end = end

    async def __aiter__(self):
        for piece in self._pieces:
            yield piece
            await asyncio.sleep(0)
        if self._end == "forever":
            await asyncio.Event().wait()
        elif self._end:
            raise self._end

    async def aclose(self):
        self.closed = True


class Fixed:
    """A transport with one answer, or one error."""

    needs_key = False

    def __init__(self, answer):
        self.answer = answer
        self.request = None

    async def send(self, request, timeouts):
        self.request = request
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def aclose(self):
        pass


SCOPE = {
    "type": "http",
    "method": "POST",
    "scheme": "https",
    "path": "/v1/a b",
    "raw_path": b"/v1/a%20b",
    "query_string": b"alt=sse",
    "headers": [(b"Host", b"example.com"), (b"X-Key", b"k")],
}


def served(transport, scope=SCOPE, *, body=(b"he", b"llo"), leaves=False, **options):
    """Return what a server would have been told to send."""
    sent = []

    async def main():
        waiting = [
            {"type": "http.request", "body": piece, "more_body": piece is not body[-1]}
            for piece in body
        ]
        gone = asyncio.Event()

        async def receive():
            if waiting:
                return waiting.pop(0)
            if not leaves:
                await gone.wait()
            await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await make_asgi_app(transport, **options)(scope, receive, send)

    asyncio.run(main())
    return sent


def test_a_request_arrives_as_it_was_sent():
    transport = Fixed(Answer([b"x"]))
    served(transport)
    request = transport.request
    assert (request.method, request.url) == ("POST", "https://example.com/v1/a%20b?alt=sse")
    assert request.headers == {"host": "example.com", "x-key": "k"}
    assert request.body == b"hello"


def test_another_origin_can_stand_in_the_address():
    transport = Fixed(Answer([b"x"]))
    served(transport, origin="http://emulator")
    assert transport.request.url == "http://emulator/v1/a%20b?alt=sse"


def test_an_answer_is_sent_piece_by_piece_and_ended():
    answer = Answer([b"one", b"", b"two"])
    start, *rest = served(Fixed(answer))
    assert start["status"] == 207
    assert (b"x-note", "é".encode("latin-1")) in start["headers"]
    assert [message["body"] for message in rest] == [b"one", b"two", b""]
    assert [message["more_body"] for message in rest] == [True, True, False]
    assert answer.closed


def test_an_answer_that_breaks_off_is_not_ended():
    for error in (Unreachable("broken"), Timeout("silent")):
        *_, last = served(Fixed(Answer([b"one"], error)))
        assert last["more_body"] is True


def test_a_transport_that_reaches_nobody_begins_and_ends_nothing():
    (start,) = served(Fixed(Unreachable("nobody")))
    assert start["type"] == "http.response.start"


def test_a_client_that_leaves_ends_the_answer_at_once():
    answer = Answer([b"one"], "forever")
    served(Fixed(answer), leaves=True)
    assert answer.closed


def test_what_is_not_http_is_left_alone():
    assert served(Fixed(Answer([])), {"type": "lifespan"}) == []


def test_a_body_without_end_is_refused():
    start, _ = served(Fixed(Answer([])), biggest=4)
    assert start["status"] == 413

"""A client API as its SDK uses it: the same requests, sent by our own HTTP client.

A history is a list in the API's own format. What an answer leaves in ``keep`` goes into it as users
of the vendor's SDK put it there. The tests compare each request with the one of the SDK.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from ....canon import HttpRequest, Json
from ....errors import TransportError
from ....exchange import Response, Timeouts
from ....framing import SseReader, parse_json_or_none
from ....transport import HttpTransport

KEY = "any-key-at-all-0123456789"
NAME = "get_weather"
DESCRIPTION = "Tells the weather of a city."
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
MAX_TOKENS = 64_000  # less would make low and high alike on models with token budgets
_TIMEOUTS = Timeouts(connect=10, first_byte=60, between_bytes=60)


class Call(NamedTuple):
    """A tool call of an answer."""

    id: str
    name: str
    arguments: Json


class Answer(NamedTuple):
    """An answer as the SDK's user sees it; ``keep`` is what goes into the history."""

    text: str
    thinking: str
    calls: list[Call]
    keep: list[Any]
    usage: dict[str, int | None]
    model: str | None = None


class Failure(NamedTuple):
    """An error as the SDK's user sees it."""

    status: int | None
    words: str
    retry_after: str | None


class FrontError(Exception):
    """The gateway answered with an error, or with something that the SDK could not read."""

    def __init__(self, status: int | None, words: str, retry_after: str | None = None) -> None:
        super().__init__(f"{status}: {words}" if status else words)
        self.failure: Failure = Failure(status, words, retry_after)


class FrontOptions(NamedTuple):
    """What a request asks for besides its history."""

    level: str | None = None
    tools: bool = False
    system: tuple[str, ...] = ()
    schema: Json = None
    headers: Mapping[str, str] = {}


_PLAIN = FrontOptions()


class Front:
    """One client API. ``errors`` are what ``ask`` raises if the answer is an error.

    ``states_levels``: a level is a word of this API, and if it ``has_off``, so is off;
    ``has_retry_after``: its errors have that. One that is not ``is_usual`` runs only if named.
    """

    name: ClassVar[str] = ""
    errors: tuple[type[Exception], ...] = (FrontError,)
    states_levels: ClassVar[bool] = True
    has_off: ClassVar[bool] = True
    has_retry_after: ClassVar[bool] = True
    is_usual: ClassVar[bool] = True

    def __init__(
        self,
        url: str,
        *,
        key: str = KEY,
        headers: Mapping[str, str] = {},
        streams: bool = True,
    ) -> None:
        self.url: str = url.rstrip("/")
        self.streams: bool = streams
        self.key: str = key
        self.sent: list[HttpRequest] = []
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._http = HttpTransport()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # -- what the checks use -------------------------------------------------------------------

    def user(self, text: str) -> list[Any]:
        """Return a user's turn."""
        return [{"role": "user", "content": text}]

    def results(self, calls: list[Call], texts: list[str]) -> list[Any]:
        """Return the results of tool calls."""
        raise NotImplementedError

    def ask(
        self,
        model: str,
        history: list[Any],
        level: str | None,
        *,
        tools: bool = False,
        stream: bool = True,
        options: FrontOptions = _PLAIN,
    ) -> Answer:
        """Ask and return the answer; raise one of ``errors``."""
        options = options._replace(level=level, tools=tools)
        stream = stream and self.streams
        response = self._send(model, history, options, stream=stream)
        try:
            pieces = list(response)
        except TransportError as error:
            raise FrontError(None, f"the answer broke off: {error}") from None
        finally:
            response.close()
        body = b"".join(pieces)
        self._raise_error(response, body)
        try:
            return self.read_stream(_payloads(body)) if stream else self.read(_json(body))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            shown = body[:2_000].decode("utf-8", "replace")
            message = f"the SDK cannot read this answer ({type(error).__name__}: {error}): {shown}"
            raise FrontError(None, message) from None

    def begin(self, model: str, history: list[Any]) -> Callable[[], object]:
        """Read the first piece of a stream, and return how to hang up."""
        response = self._send(model, history, _PLAIN, stream=True)
        if response.head.status >= 400:
            body = b"".join(response)
            response.close()
            self._raise_error(response, body)
        pieces = iter(response)
        next(pieces, b"")

        def hang_up() -> None:
            getattr(pieces, "close", response.close)()
            response.close()

        return hang_up

    def trouble(self, error: Any) -> Failure:
        """Return what an error says."""
        failure: Failure = error.failure
        return failure

    def image(self, text: str, data: str) -> list[Any]:
        """Return a user's turn with a PNG, in base64."""
        raise NotImplementedError

    def system_turns(self, lead: Sequence[str], later: str) -> tuple[FrontOptions, list[Any]]:
        """Return options and a history with system texts in every place that this API has."""
        raise NotImplementedError

    def in_band(self, level: str) -> tuple[FrontOptions, list[Any]] | None:  # noqa: ARG002
        """Return a history that sets this level inside the conversation; None: no such form."""
        return None

    # -- what an API says ----------------------------------------------------------------------

    def path(self, model: str, *, stream: bool) -> str:
        """Return the path and query."""
        raise NotImplementedError

    def auth(self) -> dict[str, str]:
        """Return the headers with the key."""
        return {"authorization": f"Bearer {self.key}"}

    def body(self, model: str, history: list[Any], options: FrontOptions, *, stream: bool) -> Json:
        """Return the body of a request."""
        raise NotImplementedError

    def read(self, answer: Json) -> Answer:
        """Read an answer in one piece."""
        raise NotImplementedError

    def read_stream(self, events: list[Json]) -> Answer:
        """Read a streamed answer."""
        raise NotImplementedError

    def retry_delay(self, response: Response, body: bytes) -> str | None:  # noqa: ARG002
        """Return the seconds to wait that an error names."""
        return response.head.headers.get("retry-after")

    # -- moving bytes --------------------------------------------------------------------------

    def _send(
        self, model: str, history: list[Any], options: FrontOptions, *, stream: bool
    ) -> Response:
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": "pondero-contract",
            **self.auth(),
            **options.headers,
            **self._headers,
        }
        body = msgspec.json.encode(self.body(model, history, options, stream=stream))
        url = f"{self.url}{self.path(model, stream=stream)}"
        request = HttpRequest("POST", url, headers, body)
        self.sent.append(request)
        try:
            return self._http.send(request, _TIMEOUTS)
        except TransportError as error:
            raise FrontError(None, f"no answer: {error}") from None

    def _raise_error(self, response: Response, body: bytes) -> None:
        if response.head.status >= 400:
            words = body.decode("utf-8", "replace")
            raise FrontError(response.head.status, words, self.retry_delay(response, body))


def function_tool() -> Json:
    """Return the tool as Chat Completions and its relatives declare it."""
    function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}
    return {"type": "function", "function": function}


def join_texts(texts: Iterable[Any]) -> str:
    """Join texts; what is missing is empty."""
    return "".join(text or "" for text in texts)


def _json(body: bytes) -> Json:
    return msgspec.json.decode(body)


def _payloads(body: bytes) -> list[Json]:
    reader = SseReader()
    payloads = [*reader.feed(body), *reader.eof()]
    return [parse_json_or_none(each) for each in payloads if each.strip() not in (b"", b"[DONE]")]

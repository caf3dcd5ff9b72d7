"""A request whose head has arrived, and whose body is read only if its head allows it."""

from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ...asgi import Message, Receive
from ...canon import HttpRequest, HttpResponse
from ..answers.response_writer import ResponseWriter
from ..requests.read_request import (
    HEAD,
    LONGEST_NAME,
    PROBLEM,
    WHOLE,
    BodyProblem,
    announces_body,
    read_body,
    skip_body,
)
from ..requests.requester import AccessDenied
from .limits import HEAD_BYTES, HEAD_LINES


class Arrival(Struct, eq=False):
    """A request whose head has arrived."""

    id: str
    scope: Message
    head: HttpRequest
    receive: Receive
    writer: ResponseWriter
    is_read: bool = False

    @property
    def address(self) -> str:
        """Return the address of the client, or of the proxy before it."""
        client = self.scope.get("client")
        return str(client[0]) if client else ""

    async def read_body(self, limit: int) -> HttpRequest:
        """Return the request with its body; raises BodyProblem and ClientLeft."""
        whole: HttpRequest | None = self.scope.get(WHOLE)
        if whole is None or len(whole.body) > limit:
            whole = await read_body(self.head, self.receive_body, limit)
        self.is_read = True
        return whole

    async def receive_body(self) -> Message:
        """Return the next message; raises BodyProblem if the server could not read the body."""
        message = await self.receive()
        if (problem := self.scope.get(PROBLEM)) is not None:
            raise BodyProblem(*problem)
        return message

    async def close_with(self, response: HttpResponse) -> None:
        """Answer without the rest of the body; if there is one, the connection ends with it."""
        if self.is_read or not announces_body(self.head):
            await self.writer.whole(response)
            return
        closing = {**response.headers, "connection": "close"}
        await self.writer.whole(replace(response, headers=closing), linger=self.skip_body)

    async def skip_body(self) -> None:
        """Read on for a moment: closing a connection with unread bytes destroys the answer."""
        await skip_body(self.receive)


def find_head_problem(scope: Message) -> AccessDenied | None:
    """Return why a head is rejected before any other code looks at it; None if it is not."""
    if HEAD in scope:
        return None
    headers = scope["headers"]
    size = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    size += sum(map(len, chain.from_iterable(headers))) + 4 * len(headers)
    if size > HEAD_BYTES or len(headers) > HEAD_LINES:
        message = f"the head of a request may have {HEAD_BYTES:,} bytes and {HEAD_LINES} lines"
        return AccessDenied(431, message)
    path = scope["path"]
    if len(path) > LONGEST_NAME and max(map(len, path.split("/"))) > LONGEST_NAME:
        return AccessDenied(404, f"a name in a path may have {LONGEST_NAME} characters")
    return None

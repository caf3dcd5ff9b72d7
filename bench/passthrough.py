"""A bare pass-through on aiohttp, the least that a gateway in Python can cost: UPSTREAM PORT."""

import sys
from collections.abc import AsyncIterator

from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

_SENT_ON = ("content-type", "x-api-key", "authorization", "anthropic-version")


class Passthrough:
    """Sends each request to the same path of the upstream, and the answer back as it comes."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream

    async def open(self, _: web.Application) -> AsyncIterator[None]:
        """Keep a session open while the server runs."""
        connector, forever = TCPConnector(limit=0), ClientTimeout(total=None)
        async with ClientSession(connector=connector, timeout=forever) as self._session:
            yield

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        headers = {name: request.headers[name] for name in _SENT_ON if name in request.headers}
        url = self._upstream + request.path
        async with self._session.post(url, data=await request.read(), headers=headers) as came:
            kind = {"content-type": came.headers["content-type"]}
            if "content-length" in came.headers:
                return web.Response(status=came.status, body=await came.read(), headers=kind)
            response = web.StreamResponse(status=came.status, headers=kind)
            await response.prepare(request)
            async for piece in came.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response


def main(upstream: str, port: int) -> None:
    """Serve until ended, on the same event loop as our gateway."""
    import uvloop

    passthrough, app = Passthrough(upstream), web.Application()
    app.cleanup_ctx.append(passthrough.open)
    app.router.add_post("/{path:.*}", passthrough.answer)
    loop = uvloop.new_event_loop()
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None, loop=loop)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""How much a connection may send before it is known, and how long that and reading may take."""

HEAD_BYTES = 64 * 1024
"""Maximum bytes of a head, the request line included, and of the trailers of a body."""
HEAD_LINES = 128
"""Maximum header lines of a request."""
HEAD_SECONDS = 10.0
"""How long a head may take, from the connection or its first byte on."""
KEEP_ALIVE = 120
"""Seconds until an idle connection is closed after an answer.

Clients and proxies keep them for 5 (httpx), 15 (aiohttp), 60 (nginx, AWS) or 90 seconds (Go,
reqwest). A client that keeps them longer loses a request that it sends just as they are closed."""
PIPELINED = 16
"""Maximum requests that wait on one connection for the answer before them."""
READ_SECONDS = 30.0
"""How long the answers of a connection may wait for a client that reads too little of them."""
READ_RATE = 1024
"""Bytes per second that a client must read of answers that wait for it."""

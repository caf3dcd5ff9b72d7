"""How much a connection may send before it is known, and how long that and reading may take."""

HEAD_BYTES = 64 * 1024
"""Maximum bytes of a head, the request line included, and of the trailers of a body."""
HEAD_LINES = 128
"""Maximum header lines of a request."""
HEAD_SECONDS = 10.0
"""How long a head may take, from the connection or its first byte on."""
KEEP_ALIVE = 5
"""Seconds until an idle connection is closed after an answer."""
PIPELINED = 16
"""Maximum requests that wait on one connection for the answer before them."""
READ_SECONDS = 30.0
"""How long the answers of a connection may wait for a client that reads too little of them."""
READ_RATE = 1024
"""Bytes per second that a client must read of answers that wait for it."""

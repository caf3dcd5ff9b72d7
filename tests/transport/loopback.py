"""A server on this machine that says exactly what it is told, and counts its connections."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Peer:
    """One connection, as a script sees it."""

    def __init__(self, server: "Loopback", connection: socket.socket) -> None:
        self._server, self._connection = server, connection

    def read(self) -> bytes:
        """Return the next request, head and body; nothing where the caller went away."""
        data = b""
        while b"\r\n\r\n" not in data:
            if not (more := self._connection.recv(65536)):
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [
            line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        ]
        length = int(lengths[0].partition(b":")[2]) if lengths else 0
        while len(body) < length:
            body += self._connection.recv(65536)
        self._server.requests.append(head + b"\r\n\r\n" + body)
        return head + b"\r\n\r\n" + body

    @property
    def protocol(self) -> str | None:
        """Return what TLS agreed to speak; None without it."""
        named = getattr(self._connection, "selected_alpn_protocol", None)
        return named() if named is not None else None

    def hear(self) -> bytes:
        """Return the bytes that come next, as they are."""
        return self._connection.recv(65536)

    def say(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._connection.sendall(data)

    def gone(self) -> bool:
        """Wait until the caller hangs up, and return whether it did."""
        self._connection.settimeout(20)
        try:
            return self._connection.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False


class Loopback:
    """Every connection is served by the script, in a thread of its own."""

    def __init__(self, script: Callable[[Peer], None], tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._script, self._tls = script, tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._socket.getsockname()[1]}"
        self._threads: list[threading.Thread] = []

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._play, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _play(self, connection: socket.socket) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self._script(Peer(self, connection))
        except (ConnectionError, ssl.SSLError):
            return

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def serving(
    script: Callable[[Peer], None], tls: ssl.SSLContext | None = None
) -> Iterator[Loopback]:
    """Serve while the block runs."""
    server = Loopback(script, tls)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def chunked(*pieces: bytes) -> bytes:
    """Return a response whose body comes in these chunks."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: r1\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def answering(data: bytes) -> Callable[[Peer], None]:
    """Return a script that says the same to every request of a connection."""

    def script(peer: Peer) -> None:
        while peer.read():
            peer.say(data)

    return script

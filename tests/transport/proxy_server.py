"""A proxy on this machine: HTTP (with CONNECT) and SOCKS5, which leads every host to one server."""

import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ProxyServer:
    """Takes connections and passes them on; ``asked`` has the hosts that were requested."""

    def __init__(
        self, kind: str, to: tuple[str, int], *, login: str = "", tls: ssl.SSLContext | None = None
    ) -> None:
        self.asked: list[str] = []
        self._kind, self._to, self._login, self._tls = kind, to, login, tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        user = f"{login}@" if login else ""
        self.url = f"{kind}://{user}127.0.0.1:{self.port}"

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _take(self, connection: socket.socket) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                accepted = (
                    self._socks(connection) if self._kind == "socks5" else self._http(connection)
                )
                if accepted is not None:
                    self._pass_on(connection, accepted)
        except (OSError, EOFError):
            return

    def _http(self, connection: socket.socket) -> bytes | None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (more := connection.recv(65536)):
                return None
            head += more
        method, target, _ = head.split(b" ", 2)
        self.asked.append(target.decode())
        allowed = base64.b64encode(self._login.encode())
        if self._login and b"basic " + allowed.lower() not in head.lower():
            connection.sendall(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
            return None
        if method == b"CONNECT":
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            return b""
        return head

    def _socks(self, connection: socket.socket) -> bytes | None:
        """Speak RFC 1928, and RFC 1929 for the login."""
        _, count = _exactly(connection, 2)
        methods = _exactly(connection, count)
        chosen = 2 if self._login else 0
        if chosen not in methods:
            connection.sendall(b"\x05\xff")
            return None
        connection.sendall(bytes([5, chosen]))
        if self._login:
            _exactly(connection, 1)
            user = _exactly(connection, _exactly(connection, 1)[0]).decode()
            password = _exactly(connection, _exactly(connection, 1)[0]).decode()
            good = f"{user}:{password}" == self._login
            connection.sendall(b"\x01\x00" if good else b"\x01\x01")
            if not good:
                return None
        kind = _exactly(connection, 4)[3]
        host = (
            _exactly(connection, _exactly(connection, 1)[0]).decode()
            if kind == 3
            else socket.inet_ntoa(_exactly(connection, 4))
        )
        port = int.from_bytes(_exactly(connection, 2))
        self.asked.append(f"{host}:{port}")
        connection.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        return b""

    def _pass_on(self, connection: socket.socket, first: bytes) -> None:
        with socket.create_connection(self._to) as server:
            server.sendall(first)
            back = threading.Thread(target=_copy, args=(server, connection), daemon=True)
            back.start()
            _copy(connection, server)
            back.join(10)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        if not (more := connection.recv(count - len(data))):
            raise EOFError
        data += more
    return data


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def proxying(
    kind: str, to_url: str, *, login: str = "", tls: ssl.SSLContext | None = None
) -> Iterator[ProxyServer]:
    """Serve a proxy while the block runs."""
    host, _, port = to_url.partition("://")[2].partition(":")
    proxy = ProxyServer(kind, (host, int(port)), login=login, tls=tls)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()

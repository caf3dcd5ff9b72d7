"""A web server for the program that answers over HTTP."""

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from tests.examples.loading import load

import pondero
from pondero.emulator import Emulator


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Run the program that answers over HTTP; with arguments of a client, not on the emulator."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def run(**arguments: Any) -> str:
        options: dict[str, Any] = arguments or {"transport": Emulator()}
        app = load("serve_sse").make_app(pondero.AsyncClient(**options))
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield run
    for server, thread in servers:
        server.should_exit = True
        thread.join(20)

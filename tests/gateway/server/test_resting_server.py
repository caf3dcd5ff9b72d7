"""The server's own clock: it rests while nothing happens, and ends without waiting for it."""

from threading import Thread

import pytest
import uvicorn

from pondero.gateway.server import _resting_server as resting_server
from pondero.gateway.server._resting_server import RestingServer


async def _answer(scope, receive, send):
    assert scope["type"] == "lifespan"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(resting_server, "_TICK", 3_600.0)
    settings = uvicorn.Config(_answer, port=0, lifespan="off", log_level="critical")
    server = RestingServer(settings)
    monkeypatch.setattr(server, "install_signal_handlers", lambda: None, raising=False)
    return server


def test_a_server_ends_at_once_though_its_next_tick_is_an_hour_away(server):
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def test_a_server_that_was_told_to_end_before_it_started_ends(server):
    server.should_exit = True
    server.run()
    assert server.should_exit
    server.should_exit = True  # again, after its loop has ended

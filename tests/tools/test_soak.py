"""The soak tells requests that a killed worker took along from those that the gateway lost."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads /proc")


@pytest.fixture
def soak(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import soak as module

    yield module
    sys.modules.pop("soak", None)


def test_the_connections_of_a_process_are_known_by_the_clients_ports(soak):
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            here = client.getsockname()[1]
            assert here not in soak.find_client_ports(os.getpid(), port)  # nobody has accepted it
            accepted, _ = bound.accept()
            with accepted:
                assert soak.find_client_ports(os.getpid(), port) == {here}
            assert here not in soak.find_client_ports(os.getpid(), port)


@pytest.mark.parametrize(("dies", "end"), [(True, "killed"), (False, "lost")])
def test_a_request_is_cut_by_a_kill_only_on_a_connection_of_the_killed_worker(soak, dies, end):
    """Both break off at the same moment; only one of them because of the kill."""

    async def ask() -> Any:
        connector = soak.Connector()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            ports = soak.find_client_ports(os.getpid(), port)
            connector.note_killed(ports if dies else {each + 1 for each in ports})
            writer.transport.abort()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        async with server, aiohttp.ClientSession(url, connector=connector) as session:
            return await soak.ask(session, soak.draw(Random(3), 1))

    outcome = asyncio.run(ask())
    assert outcome.end == "lost"
    soak.mark_killed(SimpleNamespace(outcomes=[outcome]))
    assert outcome.end == end

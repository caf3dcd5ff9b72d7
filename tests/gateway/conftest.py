"""What the tests of the gateway share: real servers, started once and stopped at the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gateway.postgres import Postgres
from tests.gateway.redis_server import RedisServer, redis_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(scope="session")
def _redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis(_redis: RedisServer, data_dir: Path) -> RedisServer:
    """Return a Redis with nothing in it; gateways have no copies of its keys either."""
    _redis.start_if_gone()
    _redis.empty()
    return _redis

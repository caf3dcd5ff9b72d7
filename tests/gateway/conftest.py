"""What the tests of the gateway share: real servers, started once and stopped at the end."""

from collections.abc import Iterator

import pytest
from tests.gateway.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.close()

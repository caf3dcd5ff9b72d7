"""Fixtures of the tests of deployments."""

import pytest


@pytest.fixture(params=["here", "redis"])
def address(request) -> str | None:
    """Return the address of an empty Redis; None for the state of one process."""
    if request.param == "here":
        return None
    redis = request.getfixturevalue("redis")
    redis.empty()
    return redis.url

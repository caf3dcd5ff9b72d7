"""A chat to try things on."""

import pytest

from pondero.chat import Dial, State, begin
from pondero.client import lookup
from pondero.thinking import Policy


@pytest.fixture(scope="session")
def dial() -> Dial:
    return Dial(lookup(), Policy())


@pytest.fixture
def chat(dial: Dial) -> State:
    return begin(dial, "claude-sonnet-4-5/medium")

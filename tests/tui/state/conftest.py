"""A chat to try things on."""

import pytest

from pondero.client import load_catalog
from pondero.thinking import Policy
from pondero.tui.state import Dial, State, begin


@pytest.fixture(scope="session")
def dial() -> Dial:
    return Dial(load_catalog(), Policy())


@pytest.fixture
def chat(dial: Dial) -> State:
    return begin(dial, "claude-sonnet-4-5/medium")

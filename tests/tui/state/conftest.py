"""A chat to try things on."""

import pytest

from pondero.client import load_catalog
from pondero.thinking import Policy
from pondero.tui.state import ChatState, DialView, initial_state


@pytest.fixture(scope="session")
def dial() -> DialView:
    return DialView(load_catalog(), Policy())


@pytest.fixture
def chat(dial: DialView) -> ChatState:
    return initial_state(dial, "claude-sonnet-4-5/medium")

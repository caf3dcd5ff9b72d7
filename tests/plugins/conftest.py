"""An emulator whose log can be read, in the place of the one that a plugin makes for itself."""

import pytest

from pondero.emulator import Emulator


@pytest.fixture(autouse=True)
def _leaves_open(leaves_open):
    """Their clients close nothing."""


@pytest.fixture
def emulator(monkeypatch):
    made = Emulator(any_model=True)
    monkeypatch.setattr("pondero.emulator.Emulator", lambda **_: made)
    return made

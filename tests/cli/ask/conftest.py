"""A service on this machine, for ``ask`` on a terminal."""

import pytest

from pondero.emulator import Emulator, run_emulator_in_thread


@pytest.fixture
def service(environment):
    """An emulator over HTTP, where a service would be."""
    with run_emulator_in_thread(emulator := Emulator()) as url:
        environment |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "any"}
        yield emulator

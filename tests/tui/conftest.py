"""Screens are looked at without colours of whoever runs the tests."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLORFGBG", "TEXTUAL", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)

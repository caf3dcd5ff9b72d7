"""Screens are looked at without colours of whoever runs the tests."""

import pytest

KEY = "sk-" + "ant-planted-0123456789-abcdefghij"  # in two: nothing key-shaped stands in a file


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLORFGBG", "TEXTUAL", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def environment(tmp_path):
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PONDERO_CONFIG_DIR": str(tmp_path / "config"),
        "PONDERO_DATA_DIR": str(tmp_path / "data"),
        "ANTHROPIC_API_KEY": KEY,
    }

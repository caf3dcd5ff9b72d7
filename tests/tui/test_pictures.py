"""The pictures in the documentation are screens of the tests."""

import re
from pathlib import Path

import pytest
from tests.tui.stage import REWRITE, SCREENS

ROOT = Path(__file__).parents[2]
SHOWN = re.findall(r"pictures/(\S+?\.svg)\)", (ROOT / "docs" / "chat.md").read_text("utf-8"))
PICTURES = sorted(ROOT / "docs" / "pictures" / name for name in {*SHOWN, "thinking.svg"})


def test_there_are_pictures():
    assert len(PICTURES) > 5


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_what_the_chat_looks_like(picture):
    screen = (SCREENS / picture.name).read_text("utf-8")
    if REWRITE:
        picture.write_text(screen, "utf-8")
    assert picture.read_text("utf-8") == screen


@pytest.mark.parametrize("page", ["README.md", "docs/chat.md"])
def test_every_picture_a_page_shows_is_there(page):
    folder = (ROOT / page).parent
    shown = re.findall(r"\]\((\S+?\.svg)\)", (ROOT / page).read_text("utf-8"))
    assert shown
    assert all((folder / name).is_file() for name in shown)

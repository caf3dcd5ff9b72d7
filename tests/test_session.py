"""The animation of the README is the program's own output."""

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "session.svg"
TEXT = "{http://www.w3.org/2000/svg}text"


def _timeless(svg):
    """The picture without the seconds that answers took, and without the width of their text."""
    return re.sub(r' textLength="[\d.]+"([^>]*>time +)\d+\.\d s', r"\1 0.0 s", svg)


def test_the_session_of_the_readme_is_recorded_from_this_program():
    session = runpy.run_path(str(ROOT / "docs" / "session.py"))
    again = session["draw"](session["record"]())
    assert _timeless(again) == _timeless(PICTURE.read_text("utf-8")), "run make session"


def test_the_animation_is_small_and_loads_nothing():
    svg = PICTURE.read_text("utf-8")
    assert len(svg.encode()) < 1_000_000
    assert not re.search(r"<script|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", svg)


def test_it_shows_a_plan_an_answer_and_its_reason():
    shown = [each.text for each in ET.parse(PICTURE).iter(TEXT)]
    for said in ("asked", "sent", "why", "answer (answer_room)", "17 * 23 = 391", "391 * 2 = 782"):
        assert said in shown

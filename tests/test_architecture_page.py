"""The page about the architecture names files and names that exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pondero"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
STEPS = sorted(set(re.findall(r"`([\w/]+\.py):([\w.]+)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:src/pondero|tests|docs|tools|plugins)/[\w./-]+\.\w+)`", PAGE)))
WALKS = re.findall(
    r"^### (.+)", PAGE.partition("## Five walks")[2].partition("\n## ")[0], re.MULTILINE
)


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_every_step_of_a_walk_exists(file, name):
    value = import_module("pondero." + file.removesuffix(".py").replace("/", "."))
    for part in name.split("."):
        value = getattr(value, part)


@pytest.mark.parametrize("file", FILES)
def test_every_file_is_there(file):
    assert (ROOT / file).exists()


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE))))
def test_every_file_of_a_room_is_there(file):
    if (SOURCE / file.partition("/")[0]).is_dir():  # others are named from the folder at hand
        assert (SOURCE / file).exists()


@pytest.mark.parametrize(
    ("name", "file"), sorted(set(re.findall(r"`(\w+)`\s+in\s+`((?:src|tests)/[\w/]+\.py)`", PAGE)))
)
def test_every_name_in_a_file_is_there(name, file):
    assert re.search(rf"\b{name}\b", (ROOT / file).read_text("utf-8"))


def test_there_are_five_walks_of_several_steps():
    assert len(WALKS) == 5
    steps = PAGE.partition("## Five walks")[2].partition("\n## ")[0]
    assert all(
        len(re.findall(r"^\d+\. ", walk, re.MULTILINE)) >= 5 for walk in steps.split("\n### ")[1:]
    )


def test_every_room_is_in_the_table():
    rooms = {path.stem for path in SOURCE.iterdir() if path.stem not in ("__init__", "__main__")}
    rooms -= {"__pycache__", "py"}
    assert rooms <= set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))

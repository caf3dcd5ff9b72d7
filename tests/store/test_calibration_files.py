"""Calibrations on disk: read once, refused in a sentence where they are none, written whole."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from tests.calibrations import adopt, calibration

from pondero.errors import BadConfig, BadParameter
from pondero.store import (
    calibration_file,
    load_calibrations,
    load_catalog,
    resolve_auto,
    save_calibration,
)
from pondero.thinking import Policy, parse_intent

OPUS = load_catalog().entry("claude-opus-5")


@pytest.fixture
def folder(config_dir):
    path = config_dir / "calibrations"
    path.mkdir()
    return path


def text(**changes):
    return msgspec.json.encode({**msgspec.to_builtins(calibration()), **changes})


def test_what_was_kept_is_read_back_and_read_once(config_dir):
    made = adopt()
    found = load_calibrations()
    assert found.known == {"sums": made}
    assert load_calibrations() is found
    adopt(level="high")
    assert load_calibrations().known["sums"].level == "high"
    calibration_file("sums").unlink()
    assert not load_calibrations().known


def test_a_file_that_is_edited_in_place_is_read_again(folder):
    (folder / "sums.json").write_bytes(text())
    assert load_calibrations().known["sums"].level == "low"
    (folder / "sums.json").write_bytes(text(level="medium"))
    assert load_calibrations().known["sums"].level == "medium"


def test_no_folder_is_no_calibration_and_a_hidden_file_is_none(config_dir, folder):
    (folder / ".sums.json.7").write_text("half a fi")
    (folder / "notes.txt").write_text("mine")
    assert not load_calibrations().known
    assert not load_calibrations().broken


HOSTILE = {
    "nothing": b"",
    "half": text()[:-9],
    "another value": b"[1, 2]",
    "a wrong type": text(n="many"),
    "a missing key": b'{"name": "sums"}',
    "no UTF-8": b'{"name": "\xff\xfe"}',
    "a deep nest": b"[" * 100_000,
    "a huge file": b" " * (2 << 20),
    "a huge text": text(judge="x" * 2_000),
    "a control character": text(judge="numeric\x1b[2J"),
    "a line's end in a kind": text(kinds={"a\nb": {"level": "low", "fields": "x", "n": 1}}),
    "an infinite number": text().replace(b'"margin":0.05', b'"margin":1e999'),
    "less than none": text(n=-1),
    "no date": text(date="soon"),
    "no model": text(model=" "),
    "itself as a model": text(model="auto:sums"),
    "another name": text(name="other"),
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_is_no_calibration_is_refused_in_one_line(folder, raw):
    (folder / "sums.json").write_bytes(raw)
    (folder / "good.json").write_bytes(text(name="good"))
    found = load_calibrations()
    assert list(found.known) == ["good"]
    with pytest.raises(
        BadConfig, match=r"sums\.json is not a calibration: .*; adopt it again"
    ) as told:
        resolve_auto(OPUS, parse_intent("auto:sums"), policy=Policy())
    assert str(told.value).isprintable()
    assert len(str(told.value)) < 500
    assert resolve_auto(OPUS, parse_intent("auto"), policy=Policy()).level == "low"


@pytest.mark.parametrize(
    "name", ["UPPER.json", "a b.json", "a\x1b[2J.json", "a\nb.json", "#x.json"]
)
def test_a_file_that_can_have_no_such_name_is_told_and_not_read(folder, name):
    (folder / name).write_bytes(text())
    found = load_calibrations()
    assert not found.known
    assert all(why.isprintable() for why in found.broken.values())


def test_a_pipe_a_folder_and_a_link_to_nowhere_keep_nobody_waiting(folder):
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    (folder / "link.json").symlink_to(folder / "gone")
    assert sorted(load_calibrations().broken) == ["folder", "link", "pipe"]


@pytest.mark.parametrize(
    "name", ["", "../x", "a/b", "a\\b", ".x", "a\x00b", "a\x1b[2J", "a b", "a#b", "é", "x" * 65]
)
def test_a_name_that_cannot_be_a_files_is_refused(config_dir, name):
    with pytest.raises(BadParameter, match="invalid calibration name"):
        calibration_file(name)
    with pytest.raises(BadParameter, match="invalid calibration name"):
        save_calibration(calibration(name=name))
    assert not list(config_dir.rglob("*.json"))


def test_one_that_is_there_is_replaced_only_with_force(config_dir):
    adopt()
    with pytest.raises(BadParameter, match=r"is called 'sums' already; .*--force"):
        save_calibration(calibration(level="high"))
    assert load_calibrations().known["sums"].level == "low"
    save_calibration(calibration(level="high"), force=True)
    assert load_calibrations().known["sums"].level == "high"


def test_many_who_adopt_at_once_leave_one_whole_file(config_dir):
    levels = ["off", "low", "medium", "high", "max"] * 20

    def kept(level):
        save_calibration(calibration(level=level, judge=level * 150), force=True)
        return load_calibrations().known["sums"].level

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(kept, levels)) <= set(levels)
    (file,) = (config_dir / "calibrations").iterdir()
    told = json.loads(file.read_text())
    assert told["judge"] == told["level"] * 150


def test_nothing_is_read_where_nobody_says_auto(config_dir):
    code = (
        "import os, sys\n"
        "seen = []\n"
        "sys.addaudithook(lambda name, args: seen.append(str(args[0])) "
        "if name in ('open', 'os.listdir', 'os.scandir') else None)\n"
        "import pondero\n"
        "pondero.plan('claude-opus-5', 'high'); pondero.plan('openrouter/auto')\n"
        "assert not any('calibrations' in each for each in seen), seen\n"
        "assert 'pondero.exchange.calibration' not in sys.modules\n"
        "pondero.plan('claude-opus-5/auto')\n"
        "assert any('calibrations' in each for each in seen)\n"
    )
    (config_dir / "calibrations").mkdir()
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"date": "2099-01-01"}, "it is dated 2099-01-01, in the future"),
        ({"adopted": "2099-01-01T00:00:00.000000Z"}, "it is dated 2099-01-01, in the future"),
        ({"version": 2}, "it has version 2, and this pondero reads version 1"),
    ],
)
def test_a_calibration_of_the_future_or_of_another_version_is_refused(folder, changes, says):
    (folder / "sums.json").write_bytes(text(**changes))
    adopt("other", "high")
    found = load_calibrations()
    assert says in found.broken["sums"]
    assert found.newest(OPUS.id).name == "other"


def test_a_file_without_a_version_or_with_more_fields_is_read(folder):
    kept = msgspec.to_builtins(calibration())
    del kept["version"]
    (folder / "sums.json").write_bytes(msgspec.json.encode({**kept, "served": "claude-x"}))
    assert load_calibrations().known["sums"].version == 1

"""The part of the lock that the program needs is all of that part, and no more."""

import re
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.core_lock import blocks, needed, wanted


@pytest.fixture
def lock(request):
    return blocks((request.config.rootpath / "requirements.lock").read_text("utf-8"))


@pytest.fixture
def core(request, lock):
    return needed(lock, wanted(request.config.rootpath / "pyproject.toml"))


def _closure(names):
    """What the installed packages say that they need here, without any extra."""
    found, waiting = set(), list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        found.add(name)
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def test_all_that_the_installed_packages_need_is_in_it(request, core):
    assert _closure(wanted(request.config.rootpath / "pyproject.toml")) <= set(core)


def test_it_is_a_small_part_and_has_no_extra_in_it(lock, core):
    assert len(core) < len(lock) / 4
    assert not {"textual", "aiohttp", "uvicorn", "pytest", "openai", "ray"} & set(core)


def test_every_pin_keeps_its_hashes(lock, core):
    for name in core:
        pin, *rest = lock[name]
        assert re.match(r"\S+==\S+", pin)
        assert any("--hash=sha256:" in line for line in rest)


def test_a_dependency_that_is_not_locked_is_named(lock):
    with pytest.raises(SystemExit, match="has no nonsense; run make lock"):
        needed(lock, ["nonsense"])

"""Threads that begin at once do not crash the process: msgspec 0.22 dies of two first decodes."""

import os
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from pondero.dialects import NAMES
from pondero.store import load_catalog

ROOT = Path(__file__).parents[2]
RUNS = 5

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each run is a forked child")


def failures(job: str, model: str = "-") -> list[str]:
    command = [sys.executable, "-m", "tests.hazards.first_use", job, model, str(RUNS)]
    ran = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def model_of(dialect: str) -> str:
    """Return the first catalogued model of a provider that speaks a dialect."""
    catalog = load_catalog().catalog
    return next(
        f"{provider.name}:{family.match[0].rstrip('*')}"
        for provider in catalog.providers.values()
        if provider.dialect == dialect
        for group in provider.families
        for family in catalog.groups[group].family
        if "*" not in family.match[0][:-1]
        and not any(fnmatchcase(family.match[0], absent) for absent in provider.absent)
    )


def test_types_that_nobody_has_seen_can_be_decoded_into_by_threads():
    assert failures("decode") == []


def test_the_first_plan_may_be_made_by_threads():
    assert failures("plan", "claude-sonnet-4-5") == []


@pytest.mark.parametrize("dialect", NAMES)
def test_the_first_request_may_be_made_and_answered_by_threads(dialect):
    assert failures("ask", model_of(dialect)) == []

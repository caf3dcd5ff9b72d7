"""A law: killed at any point, or with any write failed, nothing is lost and nothing is sent twice."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.batch.services import SERVICES

from pondero.batch import Ending

CASES = [
    *((name, "submit", how) for name in SERVICES for how in ("killed", "full", "busy")),
    *((name, op, "killed") for name in ("anthropic", "openai", "xai") for op in ("collect", "cancel")),
]  # fmt: skip

if not hasattr(os, "fork"):
    pytest.skip("processes are killed by a parent that forks them", allow_module_level=True)


@pytest.mark.parametrize(("name", "op", "how"), CASES)
def test_killed_at_any_point_nothing_is_lost_and_nothing_is_sent_twice(name, op, how, tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.batch.kills", name, op, how, str(tmp_path)],
        env=env, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    points = [json.loads(line) for line in done.stdout.splitlines()]
    assert points[-1]["status"] == 0  # the last point was behind the last effect
    stopped = [each for each in points if each["status"]]
    assert len(stopped) >= (2 if op == "collect" else 3)
    if how == "killed":
        assert {os.waitstatus_to_exitcode(each["status"]) for each in stopped} == {-signal.SIGKILL}
    for each in points:
        check(each, op)


def check(point, op):
    """The service's count decides: no request twice unless the user asked for it."""
    assert set(point["got"].values()) <= {1}, point
    if not point["batches"]:  # nothing was written down, so nothing may have been sent
        assert not point["got"], point
        return
    assert len(point["endings"]) == 5
    expected: set[Ending] = {"answered"} if op != "cancel" else {"answered", "cancelled"}
    assert set(point["endings"]) <= expected, point
    if not point["asked"]:
        return
    assert op == "submit", point  # only what was being sent can be unsure
    assert len(point["got"]) < 5, point  # and only if the service does not have it

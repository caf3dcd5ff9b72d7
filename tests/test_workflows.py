"""The workflows cannot run here; what can be known of them without that is tested."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PARSED = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FILES}
JOBS = [
    pytest.param(job, id=f"{name}-{job_name}")
    for name, workflow in PARSED.items()
    for job_name, job in workflow["jobs"].items()
]
STEPS = [
    pytest.param(step, id=f"{name}-{job_name}-{number}")
    for name, workflow in PARSED.items()
    for job_name, job in workflow["jobs"].items()
    for number, step in enumerate(job.get("steps", ()))
]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
PYTHONS = sorted(
    found[1]
    for each in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "classifiers"
    ]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each))
)


def test_there_is_one_for_tests_docs_release_and_the_catalog():
    assert set(PARSED) == {"catalog", "docs", "release", "test"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit_and_says_its_version(path):
    lines = [line for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        local = re.search(r"uses: \./(\S+)$", line)
        if local:
            assert (ROOT / local[1]).exists()
        else:
            assert re.search(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_an_action_has_the_same_pin_everywhere():
    text = "\n".join(path.read_text("utf-8") for path in FILES)
    pins = set(re.findall(r"uses: ([\w./-]+)@([0-9a-f]{40})", text))
    assert len({name for name, _ in pins}) == len(pins)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_runs_what_there_is(step):
    script = step.get("run", "")
    assert bool(script) is not ("uses" in step)
    for target in re.findall(r"\bmake (?:--\S+ )*([a-z-]+)", script):
        assert target in TARGETS, target
    if script and (bash := shutil.which("bash")):
        subprocess.run([bash, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("step", STEPS)
def test_nothing_from_outside_is_pasted_into_a_script(step):
    """An expression in a script is code for whoever names the branch; it comes by the environment."""
    assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_some_time(job):
    assert "uses" in job or job["timeout-minutes"] <= 60


@pytest.mark.parametrize("name", PARSED)
def test_what_a_workflow_may_do_is_said_and_is_little(name):
    writes = {"catalog": {"contents", "pull-requests"}}.get(name, set())
    allowed = PARSED[name]["permissions"]
    assert {scope for scope, may in allowed.items() if may != "read"} == writes


def test_all_pythons_are_tried_on_all_systems():
    jobs = PARSED["test"]["jobs"]
    assert len(PYTHONS) == 4
    for job in ("linux", "elsewhere"):
        assert jobs[job]["strategy"]["matrix"]["python"] == PYTHONS
    systems = {jobs["linux"]["runs-on"], *jobs["elsewhere"]["strategy"]["matrix"]["system"]}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}


def test_only_the_publishing_job_can_prove_who_it_is_and_it_builds_nothing():
    jobs = PARSED["release"]["jobs"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    publish = jobs["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
    assert not any("run" in step for step in publish["steps"])
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_nothing_is_published_that_was_not_checked_tested_and_built():
    jobs = PARSED["release"]["jobs"]
    order, job = [], "publish"
    while job:
        order.append(job)
        job = jobs[job].get("needs")
    assert order == ["publish", "build", "test", "check"]

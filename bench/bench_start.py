"""Start: CPU time of whole processes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from lab import Lab, Row, over, ratio

PLAN = 'import pondero; pondero.plan("claude-sonnet-4-5", "high")'
CALL = """
import time, pondero
begun = time.process_time()
pondero.plan("claude-sonnet-4-5", "high")
print(time.process_time() - begun)
"""


def measure(lab: Lab) -> Iterator[Row]:
    """Compare our starts with the bare interpreter's and with the peers' imports."""
    peers: dict[str, Sequence[str | Path]] = {
        name: [lab.peers[name], "-c", f"import {name}"]
        for name in ("litellm",)
        if name in lab.peers
    }
    spent = lab.cpu(
        {
            "bare": [lab.python, "-c", "pass"],
            "import": [lab.python, "-c", "import pondero"],
            "plan": [lab.python, "-c", PLAN],
            "command": [lab.command, "plan", "claude-sonnet-4-5/high", "--json"],
            **peers,
        }
    )

    def milliseconds(name: str) -> float | None:
        return 1000 * sorted(spent[name])[lab.rounds // 2] if name in spent else None

    def against(name: str, peer: str) -> float | None:
        return ratio(spent[name], spent[peer]) if peer in spent else None

    yield Row("bare interpreter", milliseconds("bare"), "ms")
    yield Row("import pondero", milliseconds("import"), "ms")
    yield Row("import litellm", milliseconds("litellm"), "ms")
    yield Row("import pondero / bare interpreter", against("import", "bare"), "x", 3)
    yield Row("import pondero / import litellm", against("import", "litellm"), "x", 1 / 20)
    calls = sorted(float(lab.json([lab.python, "-c", CALL])) for _ in range(lab.rounds))
    yield Row("first plan() of a process, the call", 1000 * calls[lab.rounds // 2], "ms", 40)
    whole = 1000 * over(spent["plan"], spent["bare"])
    yield Row("import and first plan(), over the bare interpreter", whole, "ms")
    yield Row("pondero plan MODEL --json, the whole process", milliseconds("command"), "ms")
    command = against("command", "litellm")
    yield Row("pondero plan MODEL --json / import litellm", command, "x", 1 / 10)

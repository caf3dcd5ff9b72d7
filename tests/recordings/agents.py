"""Requests of real agent programs, from the folder that PONDERO_AGENTS names.

Without the variable they are looked for beside the recordings; where they are not, tests skip.
"""

import json
import os
from pathlib import Path
from typing import Any


def load_agent_requests() -> list[dict[str, Any]]:
    """Return the requests, in order; none where they are not."""
    recordings = os.environ.get("PONDERO_RECORDINGS")
    beside = str(Path(recordings).parent / "agents") if recordings else "/nowhere"
    file = Path(os.environ.get("PONDERO_AGENTS", beside)) / "requests.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]

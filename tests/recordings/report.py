"""Print what the recordings prove, file by file: python -m tests.recordings.report FOLDER."""

import sys
from pathlib import Path

from pondero.dialects import NAMES, get_dialect

from .corpus import FILES, exchanges
from .judge import Judge, wire


def main(folder: Path) -> None:
    """Print the table."""
    columns = ("file", "exchanges", "answers", "errors", "left out", "replays", "turns", "left out")
    sys.stdout.write("".join(f"{column:>17}" for column in columns) + "\n")
    for name in NAMES:
        judge = Judge(get_dialect(name), wire(name))
        for file in FILES[name]:
            figures = _figures(judge, folder, file)
            sys.stdout.write(f"{file:>17}" + "".join(f"{n:>17,}" for n in figures) + "\n")


def _figures(judge: Judge, folder: Path, file: str) -> tuple[int, ...]:
    found = exchanges(folder, file)
    wrong = {each.id for each in found if judge.decoded(each)}
    good = [each for each in found if each.id not in wrong]
    failed = sum(each.failed for each in good)
    replays = [each for each in found if "replay" in each.kind]
    unmade = 0
    turns = 0
    for each in replays:
        earlier = [e for e in found if e.conversation == each.conversation and e is not each]
        sent = judge.wire.turns(each.asked)
        turns += sum(any(unit.kind == "thinking" for unit in turn) for turn in sent)
        unmade += judge.replayed(each, earlier) is not None
    return len(found), len(good) - failed, failed, len(wrong), len(replays), turns, unmade


if __name__ == "__main__":
    main(Path(sys.argv[1]))

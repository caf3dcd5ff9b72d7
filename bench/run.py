"""Run every bench in this folder and print each figure with its goal and whether it is met."""

import argparse
import importlib
import json
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import cast

import peers
from lab import SCRATCH, Bench, Lab, Row

HERE = Path(__file__).parent


def main() -> None:
    """Measure what the command line asks for."""
    options = _options()
    (SCRATCH / "no-config").mkdir(parents=True, exist_ok=True)
    nouns = options.nouns or _nouns()
    lab = Lab(
        python=Path(sys.executable),
        peers={} if options.no_peers else peers.build(_wanted(nouns, options.peers)),
        rounds=options.rounds,
        parts=options.only,
        rows=options.rows,
    )
    results: dict[str, list[Row]] = {}
    for noun in nouns:
        bench = importlib.import_module(f"bench_{noun}")
        print(f"\n{(bench.__doc__ or noun).splitlines()[0]}", flush=True)
        results[noun] = list(cast("Bench", bench).measure(lab))
        _print(results[noun])
    if options.json:
        options.json.write_text(json.dumps(_report(results, lab), indent=2) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nouns", nargs="*", help=f"which benches to run: {', '.join(_nouns())}")
    parser.add_argument("--no-peers", action="store_true", help="measure nobody but ourselves")
    parser.add_argument("--peers", nargs="+", metavar="PEER", help="measure only these others")
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="PART", help="only these parts of the gateway's"
    )
    parser.add_argument(
        "--rows", default="", metavar="REGEX", help="only the gateway's contenders of such names"
    )
    parser.add_argument("--rounds", type=int, default=15, help="figures are medians of so many")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    return parser.parse_args()


def _nouns() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def _wanted(nouns: Iterable[str], named: Iterable[str] | None) -> list[str]:
    """Return the peers to install: all that the benches name, or those of the command line."""
    if named is not None:
        return list(named)
    benches = [importlib.import_module(f"bench_{noun}") for noun in nouns]
    used = {name for bench in benches for name in getattr(bench, "PEERS", peers.PEERS)}
    return [name for name in peers.PEERS if name in used]


def _print(rows: Iterable[Row]) -> None:
    for row in rows:
        goal = "" if row.limit is None else f"goal {_figure(row.limit, row.unit)}"
        print(f"  {row.what:<64}{_figure(row.value, row.unit):>12}  {goal:<16}{row.verdict}")


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "x":
        return f"1/{1 / value:,.0f}" if 0 < value < 0.5 else f"{value:,.2f}x"
    return f"{value:,.1f} {unit}"


def _report(results: dict[str, list[Row]], lab: Lab) -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "peers": {name: peers.PEERS[name] for name in lab.peers},
        "rounds": lab.rounds,
        "benches": {
            noun: [{**asdict(row), "verdict": row.verdict} for row in rows]
            for noun, rows in results.items()
        },
    }


if __name__ == "__main__":
    main()

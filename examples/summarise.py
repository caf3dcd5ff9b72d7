"""Summarise a text and show the thinking while it happens.

    python examples/summarise.py README.md
    python examples/summarise.py README.md --model gpt-5.5/high
    python examples/summarise.py README.md --offline          (no key, no network)

The summary goes to stdout, everything else to stderr, so ``> summary.txt`` holds the summary alone.
The emulator of ``--offline`` does sums and cannot summarise: it shows where thinking and text go.
"""

import argparse
import sys
from pathlib import Path

import pondero
from pondero.emulator import Emulator

PROMPT = "Summarise this text in three sentences:\n\n"


def summarise(client: pondero.Client, model: str, text: str) -> pondero.Reply:
    """Print thinking and summary as they arrive, and return the whole answer."""
    with client.stream(model, PROMPT + text) as stream:
        for event in stream:
            match event:
                case pondero.ThinkingDelta():
                    print(event.text, end="", file=sys.stderr, flush=True)
                case pondero.PartEnd(part=pondero.Thinking()):
                    print("\n", file=sys.stderr)
                case pondero.TextDelta():
                    print(event.text, end="", flush=True)
                case _:
                    pass
    print()
    return stream.reply


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Summarise a text and show the thinking.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="claude-opus-5/medium")
    parser.add_argument("--offline", action="store_true", help="ask the emulator")
    chosen = parser.parse_args(arguments)
    with pondero.Client(transport=Emulator() if chosen.offline else None) as client:
        reply = summarise(client, chosen.model, chosen.file.read_text("utf-8"))
    for adjustment in reply.adjustments:  # what was asked for and sent differently
        print(f"note: {adjustment.why}", file=sys.stderr)
    print(f"\n{reply.usage.thinking} tokens of thinking, {reply.verdict}", file=sys.stderr)


if __name__ == "__main__":
    main()

"""Decode and encode: bytes to events against the floor, and a long thread to a body."""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from lab import Lab, Row, ratio

Json = Any
SIZES = (600, 6_000, 60_000)
FEEDS = ("whole", "64 KiB", "one event", "100 bytes")
PASSES = {"size 600": 20, "encode 1000": 8, "encode 4000": 2}  # what is short is taken often
TARGETS = {
    "anthropic": ("https://api.anthropic.com", "x-api-key"),
    "openai_responses": ("https://api.openai.com/v1", "authorization"),
    "openai_chat": ("https://api.deepseek.com", "authorization"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta", "x-goog-api-key"),
    "cohere": ("https://api.cohere.com", "authorization"),
    "ollama": ("http://localhost:11434", "authorization"),
    "bedrock": ("https://bedrock-runtime.us-east-1.amazonaws.com", "authorization"),
    "interactions": ("https://generativelanguage.googleapis.com/v1beta", "x-goog-api-key"),
}


def measure(lab: Lab) -> Iterator[Row]:
    """Compare each dialect with its floor, however the bytes come; then encode a long thread."""
    found = lab.json([lab.python, __file__, str(lab.rounds)])
    others = _others(lab)
    for name, figures in found.items():
        yield Row(f"{name}: the floor, an event", figures["floor"]["whole"], "us")
        yield Row(f"{name}: ours, an event", figures["ours"]["whole"], "us")
        for library, theirs in others.items():
            yield Row(f"{name}: {library}, an event", theirs.get(name), "us")
        for feed in FEEDS:
            over = figures["ratio"][feed]
            yield Row(f"{name}: bytes to events, fed {feed} / floor fed so", over, "x", 2.5)
        for size in SIZES[1:]:
            grown = figures["growth"][str(size)]
            yield Row(f"{name}: an event of {size:,} / of {SIZES[0]:,}", grown, "x", 1.3)
        yield Row(f"{name}: encode 1,000 messages", figures["encode"]["1000"], "ms", 6)
        grown = figures["encode"]["growth"]
        yield Row(f"{name}: encode 4,000 messages / 1,000", grown, "x", 5)


def _others(lab: Lab) -> dict[str, Json]:
    """Return what the vendors' SDKs and litellm take for an event of the same bytes."""
    if not lab.peers:
        return {}
    parsers = Path(__file__).with_name("parsers.py")
    others = {"the vendor's SDK": lab.json([lab.python, parsers, "sdks", "2000", "2"])}
    if "litellm" in lab.peers:
        others["litellm"] = lab.json([lab.peers["litellm"], parsers, "litellm", "600", "1"])
    return others


# -- what runs in a process of its own -------------------------------------------------------


def main(rounds: int) -> None:
    """Print the figures of every dialect that is there."""
    from pondero.dialects import NAMES

    print(json.dumps({name: _figures(name, rounds) for name in NAMES if name in TARGETS}))


def _figures(name: str, rounds: int) -> Json:
    from floors import floor
    from streams import STREAMS

    frames = {size: STREAMS[name](size) for size in SIZES}
    pieces = {feed: _pieces(frames[6_000], feed) for feed in FEEDS}
    ways: dict[str, Callable[[], object]] = {}
    for feed, cut in pieces.items():
        ways[f"floor {feed}"] = partial(floor, name, cut)
        ways[f"ours {feed}"] = partial(decode_pieces, name, cut)
    for size in SIZES:
        cut = _pieces(frames[size], "64 KiB")
        ways[f"size {size}"] = partial(decode_pieces, name, cut)
    for size in (1000, 4000):
        ways[f"encode {size}"] = _encoder(name, size)
    spent = _spent(ways, rounds)
    per = {size: median(spent[f"size {size}"]) / len(frames[size]) for size in SIZES}
    return {
        "floor": {f: 1e6 * median(spent[f"floor {f}"]) / len(frames[6_000]) for f in FEEDS},
        "ours": {f: 1e6 * median(spent[f"ours {f}"]) / len(frames[6_000]) for f in FEEDS},
        "ratio": {f: ratio(spent[f"ours {f}"], spent[f"floor {f}"]) for f in FEEDS},
        "growth": {size: per[size] / per[SIZES[0]] for size in SIZES},
        "encode": {
            "1000": 1e3 * median(spent["encode 1000"]),
            "growth": ratio(spent["encode 4000"], spent["encode 1000"]),
        },
    }


def _pieces(frames: list[bytes], feed: str) -> list[bytes]:
    whole = b"".join(frames)
    if feed == "one event":
        return frames
    step = {"whole": len(whole), "64 KiB": 65_536, "100 bytes": 100}[feed]
    return [whole[at : at + step] for at in range(0, len(whole), step)]


def decode_pieces(name: str, pieces: list[bytes]) -> int:
    """Return how many events a dialect's decoder makes of these bytes."""
    from pondero.canon import ResponseHead
    from pondero.dialects import AnswerContext, get_dialect

    stream = get_dialect(name).caller().stream(ResponseHead(200), AnswerContext("m", "r"))
    seen = 0
    for piece in pieces:
        seen += len(stream.feed(piece))
    return seen + len(stream.eof())


def _encoder(name: str, messages: int) -> Callable[[], object]:
    from threads import bare_plan, thread

    from pondero.canon import Target
    from pondero.dialects import get_dialect

    url, header = TARGETS[name]
    request, plan = thread(name, messages), bare_plan(name)
    target = Target(name, url, {header: "key"})
    return lambda: get_dialect(name).caller().encode(request, plan, target)


def _spent(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each way, one figure a round, taken in turns."""
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for run in ways.values():
        run()
    for _ in range(rounds):
        for way, run in ways.items():
            passes = PASSES.get(way, 1)
            start = time.process_time()
            for _ in range(passes):
                run()
            spent[way].append((time.process_time() - start) / passes)
    return spent


if __name__ == "__main__":
    import sys

    main(int(sys.argv[1]))

"""Transports: a client against bare HTTP libraries and against other clients, on one loopback."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from subprocess import CalledProcessError
from typing import Any

from lab import Lab, Row, over, ratio
from loopback import EVENTS, serving

Json = Any
CROWD = 1_000
# Ours, what it is built on, and the goals: for the stream, a short request alone and among 64.
PAIRS = (
    ("Client", "bare httpx2, waiting", 1.3, 1.25),
    ("AsyncClient", "bare httpx2", 1.3, 1.25),
    ("fast", "bare aiohttp", 1.6, 1.0),
)
# Others, and how many times less than they the fast client must cost: a stream, and 64 at once.
PEERS = {
    "anthropic": (8, 4),
    "openai": (None, 4),
    "google-genai": (None, 4),
    "pydantic-ai": (20, None),
    "litellm": (100, 8),
}


# The first request of a process, from its import on.
FIRST = {
    "pondero": """
import pondero
client = pondero.Client(keys={{"anthropic": "k"}}, urls={{"anthropic": "{base}/short"}})
client.ask("claude-opus-5", "Hello", "low", stream=False)
""",
    "anthropic": """
import anthropic
client = anthropic.Anthropic(api_key="k", base_url="{base}/short")
asked = [{{"role": "user", "content": "Hello"}}]
client.messages.create(model="claude-opus-5", max_tokens=4096, messages=asked)
""",
    "openai": """
import openai
client = openai.OpenAI(api_key="k", base_url="{base}/short")
client.responses.create(model="gpt-5.4", input="Hello")
""",
    "google-genai": """
from google import genai
client = genai.Client(api_key="k", http_options={{"base_url": "{base}/short"}})
client.models.generate_content(model="gemini-3-flash-preview", contents="Hello")
""",
}


def measure(lab: Lab) -> Iterator[Row]:
    """Put all clients to the same works against one server; then a crowd of streams at once."""
    here = Path(__file__).parent
    with serving() as base:
        found = lab.json([lab.python, here / "callers.py", "compared", base, str(lab.rounds)])
        crowd = lab.json([lab.python, here / "callers.py", "crowd", base, str(CROWD)])
        others = _others(lab, here, base)
        first = _first(lab, base)
    yield from _floors(found)
    for name, bare, streamed, asked in PAIRS:
        yield from _pair(name, found[name], bare, found[bare], streamed=streamed, asked=asked)
    many = 1 / median(found["fast"]["wall"])
    yield Row("fast: requests in a second, 64 at once", many, "")
    yield from _rivals(others)
    yield from _starts(first)
    yield Row(f"{CROWD:,} streams at once: streams not as sent", crowd["wrong"], "", 0)
    yield Row(f"{CROWD:,} streams at once: peak memory of one", crowd["KiB"], "KiB", 256)
    yield Row(f"{CROWD:,} streams at once: an event", crowd["us"], "us")


def _others(lab: Lab, here: Path, base: str) -> dict[str, Json]:
    """Return ours and theirs.

    They cannot all be in one process: ours is measured before and after each of theirs, because
    how fast a busy machine is changes from one minute to the next.
    """
    if not lab.peers:
        return {}
    ours: tuple[str | Path, ...] = (lab.python, here / "callers.py", "fast", base, "5")
    figures = {}
    for name in PEERS:
        try:
            before = lab.json(ours)
            theirs = lab.json([lab.peers[name], here / "clients.py", name, base, "3"])
            figures[name] = {
                work: (before[work] + after, theirs[work])
                for work, after in lab.json(ours).items()
                if work in theirs
            }
        except (KeyError, CalledProcessError):  # not installed, or it has said why
            print(f"  without {name}", flush=True)
    return figures


def _first(lab: Lab, base: str) -> dict[str, list[float]]:
    pythons = {"pondero": lab.python, **lab.peers}
    return lab.cpu(
        {
            name: [pythons[name], "-c", code.format(base=base)]
            for name, code in FIRST.items()
            if name in pythons
        }
    )


def _starts(spent: Mapping[str, list[float]]) -> Iterator[Row]:
    for name, seconds in spent.items():
        yield Row(f"{name}: first request of a process", 1e3 * median(seconds), "ms")
    theirs = [median(spent[name]) for name in spent if name != "pondero"]
    value = median(spent["pondero"]) / min(theirs) if theirs else None
    yield Row("pondero: first request of a process / the best SDK", value, "x", 1 / 5)


def _floors(found: Mapping[str, Json]) -> Iterator[Row]:
    for name, figures in found.items():
        spent = 1e3 * median(figures["stream"])
        yield Row(f"{name}: a stream of {EVENTS:,} events", spent, "ms")


def _pair(
    name: str, ours: Json, bare: str, theirs: Json, *, streamed: float, asked: float
) -> Iterator[Row]:
    goals = {
        "stream": (f"a stream of {EVENTS:,}", streamed),
        "short": ("a short request", asked),
        "many": ("a short request, 64 at once", asked),
        "first": ("the first thinking delta", 1.5),
    }
    for work, (what, goal) in goals.items():
        if work in ours:
            yield Row(f"{name}: {what} / {bare}", ratio(ours[work], theirs[work]), "x", goal)
    if "long" in ours:
        more = 1e3 * over(ours["long"], theirs["long"])
        yield Row(f"{name}: 1,000 messages sent, over {bare}", more, "ms", 6)


def _rivals(others: Mapping[str, Json]) -> Iterator[Row]:
    """Compare the fast client; a limit of 1/8 is eight times less than theirs.

    The time of a request is what it takes on the wall, so its inverse is requests in a second.
    """
    for name, (streamed, asked) in PEERS.items():
        both = others.get(name)
        for work, what, less in (
            ("stream", f"CPU of a stream of {EVENTS:,}", streamed),
            ("wall", "time of a request, 64 at once", asked),
        ):
            value = median(both[work][0]) / median(both[work][1]) if both else None
            yield Row(f"fast: {what} / {name}", value, "x", less and 1 / less)

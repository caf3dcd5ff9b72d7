"""The rows of the gateways' figures: what each costs, and the goals, all of which are ratios."""

from collections.abc import Iterator, Mapping

from gate_works import Figures, crowd_of
from lab import Row, low
from loopback import EVENTS, SLOW
from roads import (
    AGENT,
    LITELLM,
    OURS,
    PASSED,
    PORTKEY,
    ROADS,
    SMALL,
    SMG,
    STATE,
    STREAM,
    TENSORZERO,
    TRANSLATED,
)


def request_rows(figures: Figures, work: str, what: str) -> Iterator[Row]:
    """Return what a request costs, and how that compares."""
    for name, found in figures.items():
        if work in found:
            yield Row(f"{name}: {what} in CPU", low(found[work]), "us")
    goals = SMALL if work == "small" else AGENT
    for name in (*PASSED, *TRANSLATED):
        bare = "bare Chat" if ROADS[name].front == "chat" else "bare Messages"
        yield from _compared(figures, work, what, {name: bare}, {})
    yield from _compared(figures, work, what, SMG, goals)
    yield from _compared(figures, work, what, TENSORZERO, goals)
    # Of an agent's requests most is work that nobody avoids: smg takes a tenth of LiteLLM's time.
    goal = dict.fromkeys(LITELLM, 1 / 25) if work == "small" else {}
    yield from _compared(figures, work, what, LITELLM, goal)
    yield from _compared(figures, work, what, PORTKEY, {})


def _compared(
    figures: Figures, work: str, what: str, with_whom: Mapping[str, str], goals: Mapping[str, float]
) -> Iterator[Row]:
    for ours, theirs in with_whom.items():
        if work in figures.get(ours, {}):
            said = f"{ours}: {what} / {theirs}"
            if work in figures.get(theirs, {}):
                value = low(figures[ours][work]) / low(figures[theirs][work])
                yield Row(said, value, "x", goals.get(ours))
            elif ours in goals:
                yield Row(said, None, "x", goals[ours])


def agent_rows(figures: Figures) -> Iterator[Row]:
    """Return what an agent's requests cost, and what their history adds to their bytes."""
    yield from request_rows(figures, "agent", "an agent's request")
    for name in OURS:
        found = figures.get(name, {})
        if "agent" in found:
            whole = low(found["long"])
            yield Row(f"{name}: one message as long, in CPU", whole, "us")
            yield Row(
                f"{name}: an agent's request, none of it seen, in CPU", low(found["unseen"]), "us"
            )
            yield Row(
                f"{name}: an agent's request / one message as long",
                low(found["agent"]) / whole,
                "x",
            )


def talk_rows(figures: Figures) -> Iterator[Row]:
    """Return what the first turns and the last of a conversation cost, and how that grows."""
    growth = {}
    for name, found in figures.items():
        if "late" not in found:
            continue
        early, late = low(found["early"]), low(found["late"])
        more = low(found["late, KiB"]) - low(found["early, KiB"])
        growth[name] = (late - early) / more
        yield Row(f"{name}: a turn, 2 to 4, in CPU", early, "us")
        yield Row(f"{name}: a turn, 38 to 40, in CPU", late, "us")
        yield Row(f"{name}: growth of a turn per KiB", growth[name], "us")
    for name in (*PASSED, *TRANSLATED):
        for theirs, goal in (("bare Messages", None), (SMG.get(name, "smg Messages"), 1.5)):
            if name in growth:
                said = f"{name}: growth of a turn per KiB / {theirs}"
                value = growth[name] / growth[theirs] if theirs in growth else None
                yield Row(said, value, "x", goal)


def stream_rows(figures: Figures) -> Iterator[Row]:
    """Return what a stream costs."""
    what = f"a stream of {EVENTS:,}"
    for name, found in figures.items():
        if "stream" in found:
            yield Row(f"{name}: {what} in CPU", low(found["stream"]), "ms")
    bare = dict.fromkeys(OURS, "bare Messages")
    goals = {**dict.fromkeys(OURS, 4.0), **STREAM}
    yield from _compared(figures, "stream", what, bare, goals)
    smg = {name: SMG[name] for name in PASSED[:3]}
    yield from _compared(figures, "stream", what, smg, dict.fromkeys(smg, 1.0))


def first_rows(figures: Figures) -> Iterator[Row]:
    """Return how long the first event takes.

    A service that answers in no time is a tenth of a millisecond away, which every hop doubles:
    the goal is for one that takes a moment, and what the hop itself adds is beside it.
    """
    slow = f"{1e3 * SLOW:.0f} ms"
    for name, found in figures.items():
        if "slow" in found:
            value = low(found["slow"]) / low(found["slow, direct"])
            goal = 1.5 if name in OURS else None
            yield Row(f"{name}: first event / direct, of a service of {slow}", value, "x", goal)
            added = low(found["first"]) - low(found["first, direct"])
            yield Row(f"{name}: first event, over direct", added, "ms")


def state_rows(figures: Figures) -> Iterator[Row]:
    """Return what a key, its quotas and a Redis cost."""
    for name in dict.fromkeys(name for row in STATE for name in row[:2]):
        if name in figures:
            yield Row(f"{name}: a request in CPU", low(figures[name]["small"]), "us")
    for name, without, goal in STATE:
        if name in figures and without in figures:
            value = low(figures[name]["small"]) - low(figures[without]["small"])
            yield Row(f"{name}: over {without.partition(', ')[2]}", value, "us", goal)


def wrong_rows(figures: Figures) -> Iterator[Row]:
    """Return how many answers were not as sent."""
    for name in OURS:
        if "wrong" in figures.get(name, {}):
            yield Row(f"{name}: answers not as sent", sum(figures[name]["wrong"]), "", 0)


def crowd_rows(crowds: Mapping[str, tuple[float, int]]) -> Iterator[Row]:
    """Return what each of many streams at once needs."""
    for name, (each, lost) in crowds.items():
        count = crowd_of(ROADS[name])
        goal = 100 if name in OURS else None
        yield Row(f"{name}: {count:,} streams at once: memory of one", each, "KiB", goal)
        yield Row(f"{name}: {count:,} streams at once: lost", lost, "", None if goal is None else 0)

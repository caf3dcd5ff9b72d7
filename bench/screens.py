"""A chat on a screen that is not there: opened on a long thread, or under a fast stream.

Run as a program it prints its figures as JSON.
"""

import asyncio
import json
import resource
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from pondero.canon import (
    Event,
    Finished,
    Message,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Usage,
)
from pondero.client import AsyncClient, load_catalog
from pondero.emulator import Emulator
from pondero.store import StoredMessage, Threads
from pondero.thinking import Policy
from pondero.tui import Session, ThreadWriter
from pondero.tui._screen.app import ChatApp
from pondero.tui.state import DialView, actions, initial_state, reduce

ANSWER = """\
Here is **an answer** with `code` in it, and a list:

- one
- two

```python
print("three")
```

and the rest of it, which is a paragraph of some length, as answers have them.

"""
ANSWER += "It goes on for a while without any list or heading, one sentence after another. " * 8
DIAL = DialView(load_catalog(), Policy())


def app_on(threads: Threads) -> ChatApp:
    """Return a chat that nobody answers."""
    client = AsyncClient(transport=Emulator())
    conversation = Session(client, ThreadWriter(threads), DIAL, clock=perf_counter, paid=False)
    return ChatApp(initial_state(DIAL, "claude-opus-5/low"), DIAL, conversation, clock=perf_counter)


def written(threads: Threads, messages: int) -> str:
    """Write a thread of so many messages and return its id."""
    id = threads.start(model="claude-opus-5", thinking="low").id
    question = Message("user", (Text("And what about the next one?"),))
    answer = Message("assistant", (Thinking("Let me see. " * 40), Text(ANSWER)))
    threads.add(id, [StoredMessage((question, answer)[number % 2]) for number in range(messages)])
    return id


async def opened(threads: Threads, id: str) -> dict[str, float]:
    """Return how long it takes until the end of a thread is on the screen, and the widgets."""
    app = app_on(threads)
    async with app.run_test(size=(100, 40)) as pilot:
        began, spent = perf_counter(), process_time()
        app.dispatch(app.tab.session.writer.open(id))  # what /resume does
        await pilot.pause()
        return {
            "wall": perf_counter() - began,
            "cpu": process_time() - spent,
            "widgets": len(list(app.screen.walk_children())),
        }


async def scrolled(threads: Threads, id: str, pages: int) -> dict[str, float]:
    """Return the widgets there are at most while older pages are scrolled to."""
    app = app_on(threads)
    async with app.run_test(size=(100, 40)) as pilot:
        app.dispatch(app.tab.session.writer.open(id))  # what /resume does
        most = 0
        for _ in range(pages):
            app.dispatch(actions.Scrolled("older"))
            await pilot.pause()
            most = max(most, len(list(app.screen.walk_children())))
        return {"widgets": most, "first": app.state.first}


def stream(seconds: int) -> list[Event]:
    """Return 1,000 deltas for each second: half of them thinking, half of them answer."""
    words = ANSWER.split(" ")
    half = 500 * seconds
    thinking = [ThinkingDelta(0, f"{words[n % len(words)]} ") for n in range(half)]
    text = [TextDelta(1, f"{words[n % len(words)]} ") for n in range(half)]
    thought = Thinking("".join(delta.text for delta in thinking))
    said = Text("".join(delta.text for delta in text))
    events: list[Event] = [Started("m"), PartStart(0, "thinking"), *thinking, PartEnd(0, thought)]
    return [*events, PartStart(1, "text"), *text, PartEnd(1, said), Finished("stop", Usage())]


async def streamed(threads: Threads, seconds: int) -> dict[str, float]:
    """Return how much CPU it takes to draw such a stream as it comes, and how far it lags behind.

    ``frame`` is the longest that reducing and drawing held up whatever else the program does.
    """
    app = app_on(threads)
    async with app.run_test(size=(100, 40)) as pilot:
        app.state, _ = reduce(app.state, actions.Submitted("go on", perf_counter()), DIAL)
        app._frames.resume()  # type: ignore[union-attr]  # noqa: SLF001 - what asking does
        events = stream(seconds)
        began, spent = perf_counter(), process_time()
        fed, longest, before = 0, 0.0, began
        while fed < len(events):
            await asyncio.sleep(0.01)
            now = perf_counter()
            longest, before = max(longest, now - before), now
            due = int((now - began) * 1_000)
            app.tab.events += events[fed:due]  # what a conversation does
            fed = max(fed, due)
        ended = perf_counter()
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        last = perf_counter() - ended
        return {"share": (process_time() - spent) / seconds, "lag": last, "frame": longest}


async def main(what: str) -> dict[str, float]:
    """Return the figures of one work."""
    with tempfile.TemporaryDirectory() as folder, Threads.open(Path(folder) / "t.db") as threads:
        if what == "stream":
            found = await streamed(threads, 4)
        else:
            id = written(threads, 10_000 if what != "short" else 20)
            found = await (scrolled(threads, id, 12) if what == "scroll" else opened(threads, id))
    return {**found, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1]))))

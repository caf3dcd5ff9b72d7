"""A program that begins a chat again and again and kills it each time at another moment.

Everything is imported once; each chat is a fork of that. Prints what it found as JSON.
"""

import asyncio
import json
import os
import random
import select
import signal
import sys
from pathlib import Path
from time import monotonic

from pondero.client import AsyncClient, Chat, Client, load_catalog
from pondero.emulator import Emulator
from pondero.store import Threads
from pondero.thinking import Policy
from pondero.tui import Session, ThreadWriter
from pondero.tui._screen.app import ChatApp
from pondero.tui._screen.conversation import ConversationTab
from pondero.tui.state import Action, DialView, actions, initial_state

MODELS = (
    "claude-opus-5/high",
    "gpt-5/low",
    "gemini-3-flash-preview/medium",
    "claude-sonnet-4-5/2k",
)
LONGEST = 0.5
"""Seconds after a chat's first sign of life within which it is killed."""


class Chatterbox(ChatApp):
    """A chat that says the next thing as soon as it has its answer, and a dot for each turn."""

    said = 0

    def on_ready(self) -> None:
        """Begin."""
        os.write(1, b"!")
        self.go_on()

    def dispatch(self, action: Action, tab: ConversationTab | None = None) -> None:
        """Let it happen; after a turn, say so, and say more."""
        super().dispatch(action, tab)
        if isinstance(action, actions.TurnEnded):
            os.write(1, b".")
            self.call_later(self.go_on)

    def go_on(self) -> None:
        """Say the next thing; at the second the model is changed."""
        self.said += 1
        if self.said == 2:
            self.dispatch(actions.Submitted(f"/model {MODELS[1]}"))
        self.dispatch(actions.Submitted(f"What is {self.said} * 17?", monotonic()))


def live(path: Path, model: str) -> None:
    """Be a chat until killed."""
    dial = DialView(load_catalog(), Policy())
    client = AsyncClient(transport=Emulator(asleep=lambda _: asyncio.sleep(0)))
    threads = Threads.open(path)
    session = Session(client, ThreadWriter(threads), dial, clock=monotonic, paid=False)
    Chatterbox(initial_state(dial, model), dial, session, clock=monotonic).run(headless=True)


def kill(path: Path, model: str, after: float) -> tuple[int, bool]:
    """Let a chat live so long; return how many turns it had, and whether it died by our hand."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            live(path, model)
        finally:
            os._exit(1)
    os.close(writing)
    os.read(reading, 1)
    end, turns = monotonic() + after, 0
    while (left := end - monotonic()) > 0:
        ready, _, _ = select.select([reading], [], [], left)
        if ready and not (said := os.read(reading, 1)):
            break
        turns += bool(ready) and said == b"."
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while said := os.read(reading, 4096):
        turns += said.count(b".")
    os.close(reading)
    return turns, os.WIFSIGNALED(status)


def look(path: Path, before: set[str], model: str) -> dict[str, object]:
    """Return what is there after a kill: of the file, and of the thread that was being written."""
    with Threads.open(path) as threads:
        new = [thread for thread in threads.list(limit=None) if thread.id not in before]
        messages = threads.messages(new[0].id) if new else ()
        found = {"check": threads.check(), "notice": threads.notice, "threads": len(new)}
    with Client(transport=Emulator()) as client:
        chat = Chat(model, messages=messages, client=client)
        reply = chat.send("What is 2 * 3?")
    return {**found, "messages": len(messages), "answer": reply.text, "ids": [t.id for t in new]}


def main(path: Path, kills: int, seed: int) -> None:
    """Kill so many chats."""
    chance = random.Random(seed)
    known: set[str] = set()
    results = []
    for number in range(kills):
        model = MODELS[number % len(MODELS)]
        turns, killed = kill(path, model, chance.uniform(0, LONGEST))
        found = look(path, known, model)
        known.update(found.pop("ids"))  # type: ignore[arg-type]  # a list of ids
        results.append({**found, "turns": turns, "killed": killed})
    print(json.dumps(results))  # noqa: T201 - its answer


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

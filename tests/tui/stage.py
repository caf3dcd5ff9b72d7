"""A chat on a small screen: an emulator behind it, a clock in front, and both can be held."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.events import Paste
from textual.pilot import Pilot

from pondero.cassettes import AsyncTap
from pondero.client import AsyncClient, Tools, load_catalog
from pondero.emulator import Emulator
from pondero.exchange import Retry
from pondero.store import Threads
from pondero.thinking import Policy
from pondero.tui import Session, ThreadWriter
from pondero.tui._screen.app import ChatApp
from pondero.tui.state import Action, DialView, initial_state

SCREENS = Path(__file__).parent / "screens"
REWRITE = bool(os.environ.get("REWRITE_SCREENS"))
_CLIP = re.compile(r'(id="terminal-clip-terminal">\s*<rect [^>]*height=")([\d.]+)')
_DESCENT = 4  # pixels of the last line's letters that Rich would cut off below

DIAL = DialView(load_catalog(), Policy())
SOURCES = {"get_weather": "weather.py:get_weather"}


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """How an emulator waits between pieces: not at all, or from one piece on until it may go on."""

    def __init__(self) -> None:
        self.hold_at: int | None = None
        self.held = asyncio.Event()
        self._open = asyncio.Event()
        self._pieces = 0

    async def __call__(self, seconds: float) -> None:
        self._pieces += 1
        if self.hold_at is not None and self._pieces >= self.hold_at:
            self.held.set()
            await self._open.wait()
        await asyncio.sleep(0)

    def open(self) -> None:
        """Let it go on."""
        self._open.set()


class Stage:
    """An app that runs, and the ways to press its keys and to look at it."""

    def __init__(self, app: ChatApp, pilot: Pilot[None], gate: Gate, clock: Clock) -> None:
        self.app = app
        self.pilot = pilot
        self.gate = gate
        self.clock = clock

    async def type(self, text: str) -> None:
        """Type words, key by key."""
        keys = {" ": "space", "/": "slash", "\n": "ctrl+j"}
        await self.pilot.press(*(keys.get(letter, letter) for letter in text))

    async def paste(self, text: str) -> None:
        """Paste words into the input line."""
        self.app.post_message(Paste(text))
        await self.pilot.pause()

    async def say(self, text: str) -> None:
        """Paste a line, send it, and wait until all is quiet."""
        await self.paste(text)
        await self.pilot.press("enter")
        await self.quiet()

    async def say_until_held(self, text: str, *, pieces: int) -> None:
        """Send a line and wait until so many pieces of the answer came; the rest is held back."""
        self.gate.hold_at = pieces
        await self.paste(text)
        await self.pilot.press("enter")
        while not self.gate.held.is_set():
            await self.pilot.pause()
            assert self.app.state.busy, f"the answer had fewer than {pieces} pieces"
        self.app.frame()
        await self.drawn()

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until all is quiet."""
        await self.pilot.press(*keys)
        await self.quiet()

    async def press_without_waiting(self, *keys: str) -> None:
        """Press keys while an answer is held."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def quiet(self) -> None:
        """Wait until no turn is under way and all is drawn."""
        await self.pilot.pause()
        await self.app.workers.wait_for_complete()
        await self.drawn()

    async def drawn(self) -> None:
        """Wait until what is to be drawn is drawn."""
        drawing = [worker for worker in self.app.workers if worker.name == "_draw"]
        if drawing:
            await self.app.workers.wait_for_complete(drawing)
        await self.pilot.pause()
        await self.pilot.pause()

    @property
    def text(self) -> str:
        """What stands on the screen, as text."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in lines)

    def picture(self) -> str:
        """The screen as SVG, the same on every machine."""
        svg = self.app.export_screenshot(title="pondero", simplify=True)
        svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # nothing is fetched
        svg = re.sub(r"terminal-\d+", "terminal", svg)
        return _CLIP.sub(lambda clip: f"{clip[1]}{float(clip[2]) + _DESCENT:.1f}", svg)

    def matches(self, name: str) -> bool:
        """Compare the screen with the picture of this name; REWRITE_SCREENS=1 writes it."""
        path = SCREENS / f"{name}.svg"
        picture = self.picture()
        if REWRITE:
            SCREENS.mkdir(exist_ok=True)
            path.write_text(picture, "utf-8")
        return path.exists() and path.read_text("utf-8") == picture


def _tools(given: Iterable[Callable[..., object]] | Tools) -> Tools:
    return given if isinstance(given, Tools) else Tools(given)


@asynccontextmanager
async def stage(
    model: str = "claude-opus-5/medium",
    *,
    size: tuple[int, int] = (80, 24),
    emulator: Callable[..., Emulator] = Emulator,
    client: AsyncClient | None = None,
    threads: Threads | None = None,
    tools: Iterable[Callable[..., object]] | Tools = (),
    first: tuple[Action, ...] = (),
    theme: str = "dark",
    writer: ThreadWriter | None = None,
    paid: bool = False,
    dial: DialView = DIAL,
) -> AsyncIterator[Stage]:
    """Raise the curtain."""
    gate, clock = Gate(), Clock()
    service = emulator(asleep=gate)
    service.needs_key = paid  # as a service that is paid does
    tap = AsyncTap(service)
    keys = {"anthropic": "sk-planted"} if paid else {}
    once = Retry(attempts=1)
    client = client or AsyncClient(transport=tap, policy=dial.policy, retry=once, keys=keys)
    writer = writer or ThreadWriter(threads)
    app = ChatApp(
        initial_state(dial, model),
        dial,
        Session(client, writer, dial, clock=clock, tools=_tools(tools), sources=SOURCES, paid=paid),
        tap=tap,
        clock=clock,
        first=first,
        theme=theme,
    )
    async with app.run_test(size=size) as pilot:
        app.prompt.cursor_blink = False
        await pilot.pause()
        yield Stage(app, pilot, gate, clock)

"""Slash commands: a table of them, how one is read, and what completes it."""

from collections.abc import Callable

from msgspec import Struct

from ...errors import PonderoError
from . import keeping, looking, switching
from .dial import Dial
from .effects import Effects, Quit, Restore
from .state import WAIT, State

Run = Callable[[State, str, Dial], tuple[State, Effects]]
Complete = Callable[[State, str, Dial], tuple[str, ...]]

_MOST = 8


class Command(Struct, frozen=True):
    """One command. ``usage`` is its argument; ``anytime`` ones work while an answer comes."""

    run: Run
    what: str
    usage: str = ""
    complete: Complete | None = None
    anytime: bool = False


def _help(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    del argument, dial
    width = max(len(f"/{name} {each.usage}") for name, each in COMMANDS.items())
    lines = [f"{f'/{name} {each.usage}':<{width}}  {each.what}" for name, each in COMMANDS.items()]
    return state.tell(*lines, "", *_KEYS), ()


def _quit(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    del argument, dial
    return state, (Quit(),)


_KEYS = (
    "Enter sends · Ctrl+J or \\ at the end of a line begins a new one · ↑ ↓ earlier words",
    "Ctrl+T levels · Ctrl+O opens the last thought · Ctrl+G all · Esc stops · Ctrl+D leaves",
)

COMMANDS: dict[str, Command] = {
    "model": Command(
        switching.model, "go on with another model", "NAME[/LEVEL]", switching.complete_model
    ),
    "thinking": Command(
        switching.thinking, "how hard it thinks", "LEVEL", switching.complete_level
    ),
    "plan": Command(
        looking.plan, "what would be sent, and why", "[LEVEL]", switching.complete_level
    ),
    "cost": Command(looking.cost, "tokens and money so far"),
    "show": Command(
        looking.show, "thoughts folded, open or hidden", "[auto|open|hidden]", looking.complete_show
    ),
    "system": Command(looking.system, "the system prompt; - takes it away", "[TEXT]"),
    "new": Command(keeping.new, "a new thread"),
    "fork": Command(
        keeping.fork, "go on in a copy of this thread", "[NAME/LEVEL]", switching.complete_model
    ),
    "resume": Command(keeping.resume, "go on with an earlier thread", "[ID|WORDS]"),
    "rename": Command(keeping.rename, "give this thread a title", "TITLE"),
    "export": Command(keeping.export, "write it: .md, .jsonl or .html", "FILE"),
    "raw": Command(looking.raw, "the last exchange on the wire, without keys"),
    "doctor": Command(looking.doctor, "check keys, folders, versions"),
    "theme": Command(looking.theme, "colours", "dark|light", looking.complete_theme),
    "help": Command(_help, "this", anytime=True),
    "quit": Command(_quit, "leave", anytime=True),
}


def is_command(text: str) -> bool:
    """Return whether a line is a command: not where it begins with two slashes, or with a path."""
    return text.startswith("/") and "/" not in text[1:].partition(" ")[0]


def run(state: State, text: str, dial: Dial) -> tuple[State, Effects]:
    """Return what comes of a line that begins with a slash."""
    name, _, argument = text[1:].strip().partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        return state.tell(_unknown(name), tone="error"), ()
    if state.busy and not command.anytime:
        return state.but(hint=WAIT), (Restore(text),)
    try:
        return command.run(state, argument.strip(), dial)
    except PonderoError as error:
        return state.tell(f"✗ {error}", tone="error"), ()


def completions(state: State, text: str, dial: Dial) -> tuple[str, ...]:
    """Return whole lines that this one could become; none where nothing can be added."""
    if not text.startswith("/") or "\n" in text:
        return ()
    name, space, argument = text[1:].partition(" ")
    if not space:
        found = [f"/{each}" for each in COMMANDS if each.startswith(name.lower())]
        return () if found == [text] else tuple(found)
    command = COMMANDS.get(name.lower())
    if command is None or command.complete is None:
        return ()
    made = command.complete(state, argument.lstrip(), dial)
    return tuple(f"/{name} {word}" for word in made if word != argument)[:_MOST]


def _unknown(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, needed only for an error

    close = get_close_matches(name.lower(), COMMANDS, n=1)
    guess = f"did you mean /{close[0]}? " if close else ""
    return f"✗ there is no /{name}; {guess}/help shows what there is"

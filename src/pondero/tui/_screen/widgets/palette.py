"""The command palette (Ctrl+P): every slash command, found by any of its letters."""

from collections.abc import Callable, Iterator

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.markup import escape
from textual.message import Message

from ...state import COMMANDS
from .visible import content


class CommandChosen(Message):
    """A command was chosen; one that needs an argument is completed in the input line."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.line: str = f"/{name}"
        usage = COMMANDS[name].usage
        self.needs_more: bool = bool(usage) and not usage.startswith("[")


class Commands(Provider):
    """Offers the commands of the chat."""

    async def discover(self) -> Hits:
        """Yield all commands, before anything is typed."""
        for name, line, what in self._all():
            yield DiscoveryHit(content(line), self._choose(name), text=line, help=escape(what))

    async def search(self, query: str) -> Hits:
        """Yield the commands whose name, argument or meaning has these letters."""
        matcher = self.matcher(query)
        for name, line, what in self._all():
            if score := max(matcher.match(line), matcher.match(what)):
                yield Hit(score, content(line), self._choose(name), text=line, help=escape(what))

    def _all(self) -> Iterator[tuple[str, str, str]]:
        for name, command in COMMANDS.items():
            yield name, f"/{name} {command.usage}".rstrip(), command.what

    def _choose(self, name: str) -> Callable[[], bool]:
        return lambda: self.app.post_message(CommandChosen(name))

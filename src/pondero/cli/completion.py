"""``completion``: the script for a shell, and what it offers while a command is typed.

The commands name the functions here as the ``shell_complete`` of their parameters.
"""

from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

from .command import examples
from .output import echo


def model(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the model strings that begin with this; for a whole name, its levels too."""
    from ..client import complete, levels_of

    found = complete(typed)
    if found == (typed,) and "/" not in typed.rpartition(":")[2]:
        found = (typed, *(f"{typed}/{level}" for level in levels_of(typed)))
    return [CompletionItem(each) for each in found]


def first_model(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Return model strings for the first of several words; the others are the user's."""
    said: Any = context.params.get(parameter.name or "") or context.params.get("named")
    return [] if said else model(context, parameter, typed)


def thread(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Return the ids of threads that begin with this, each with its title."""
    from ..canon import visible
    from ..errors import PonderoError
    from ..store import Threads

    try:
        with Threads.open() as threads:
            found = threads.list(limit=200)
    except PonderoError:
        return []
    items = [CompletionItem(each.id, help=visible(each.title)) for each in found]
    return [
        each
        for each in (CompletionItem("last", help="the last used"), *items)
        if each.value.startswith(typed)
    ]


def provider(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Return the providers that begin with this."""
    from ..client import lookup

    providers = lookup().catalog.providers.values()
    return [
        CompletionItem(each.name, help=each.label)
        for each in providers
        if each.name.startswith(typed)
    ]


def setting(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Return the settings that begin with this."""
    from ..store import SETTINGS

    return [CompletionItem(each) for each in SETTINGS if each.startswith(typed)]


_SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
# bash would take provider:model for three words.
_FIRST = {"bash": 'COMP_WORDBREAKS="${COMP_WORDBREAKS//:/}"\n'}


@click.command(
    epilog=examples(
        'bash:  eval "$(pondero completion bash)"            in ~/.bashrc',
        'zsh:   eval "$(pondero completion zsh)"             in ~/.zshrc',
        "fish:  pondero completion fish > ~/.config/fish/completions/pondero.fish",
    )
)
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    made = _SHELLS[shell](context.find_root().command, {}, "pondero", "_PONDERO_COMPLETE")
    echo(f"{_FIRST.get(shell, '')}{made.source()}")

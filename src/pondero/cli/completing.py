"""What a shell may offer while a command is typed: models with their levels, threads, providers."""

from typing import Any

import click
from click.shell_completion import CompletionItem


def model(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the model strings that begin so, with the levels of a model that is complete."""
    del context, parameter
    from ..client import complete, levels_of

    found = complete(typed)
    if found == (typed,) and "/" not in typed.rpartition(":")[2]:
        found = (typed, *(f"{typed}/{level}" for level in levels_of(typed)))
    return [CompletionItem(each) for each in found]


def first_model(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Return model strings for the first of several words; the others are the user's."""
    said: Any = context.params.get(parameter.name or "")
    return [] if said else model(context, parameter, typed)


def thread(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the ids of threads that begin so, each with its title."""
    del context, parameter
    from ..errors import PonderoError
    from ..store import Threads

    try:
        with Threads.open() as threads:
            found = threads.list(limit=200)
    except PonderoError:
        return []
    items = [CompletionItem(each.id, help=each.title) for each in found]
    return [
        each
        for each in (CompletionItem("last", help="the last used"), *items)
        if each.value.startswith(typed)
    ]


def provider(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Return the providers that begin so."""
    del context, parameter
    from ..client import lookup

    providers = lookup().catalog.providers.values()
    return [
        CompletionItem(each.name, help=each.label)
        for each in providers
        if each.name.startswith(typed)
    ]


def setting(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the settings that begin so."""
    del context, parameter
    from ..store import SETTINGS

    return [CompletionItem(each) for each in SETTINGS if each.startswith(typed)]

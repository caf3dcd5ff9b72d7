"""``pondero.ask`` and ``aask``, and the clients they share with every ``Chat``."""

import atexit
from typing import LiteralString, Unpack, overload

from ..canon import Reply, V
from ..thinking import MYPY, KnownThinking, ThinkingLike, unknown_level
from .client import AsyncClient, Client
from .fallbacks import Models
from .prompts.messages import Prompt
from .prompts.options import Options

if not MYPY:

    @overload
    def ask(
        model: Models, prompt: Prompt, thinking: KnownThinking = None, **options: Unpack[Options[V]]
    ) -> Reply[V]: ...
    @overload
    @unknown_level
    def ask(
        model: Models, prompt: Prompt, thinking: LiteralString, **options: Unpack[Options[V]]
    ) -> Reply[V]: ...
    @overload
    def ask(
        model: Models, prompt: Prompt, thinking: ThinkingLike, **options: Unpack[Options[V]]
    ) -> Reply[V]: ...


def ask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options[V]]
) -> Reply[V]:
    """Return a model's whole answer, through a shared client.

    Of a list of models, the next is asked if one fails before anything was shown;
    ``reply.adjustments`` say why.

    >>> pondero.ask("claude-opus-5/high", "What is 17 * 23?").text
    '17 * 23 = 391'
    """
    return default_client().ask(model, prompt, thinking, **options)


if not MYPY:

    @overload
    async def aask(
        model: Models, prompt: Prompt, thinking: KnownThinking = None, **options: Unpack[Options[V]]
    ) -> Reply[V]: ...
    @overload
    @unknown_level
    async def aask(
        model: Models, prompt: Prompt, thinking: LiteralString, **options: Unpack[Options[V]]
    ) -> Reply[V]: ...
    @overload
    async def aask(
        model: Models, prompt: Prompt, thinking: ThinkingLike, **options: Unpack[Options[V]]
    ) -> Reply[V]: ...


async def aask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options[V]]
) -> Reply[V]:
    """Return a model's whole answer, through a shared async client.

    >>> (await pondero.aask("claude-opus-5/high", "What is 17 * 23?")).text
    '17 * 23 = 391'
    """
    return await default_async_client().ask(model, prompt, thinking, **options)


def default_client() -> Client:
    """Return the shared client, which closes when the process ends."""
    return _SHARED.get("waits") or _close_at_exit(_SHARED.setdefault("waits", Client()))


def default_async_client() -> AsyncClient:
    """Return the shared async client; each event loop closes its own connections."""
    return _ASHARED.get("awaits") or _ASHARED.setdefault("awaits", AsyncClient())


# setdefault fills them, so that threads arriving together share one client.
_SHARED: dict[str, Client] = {}
_ASHARED: dict[str, AsyncClient] = {}


def _close_at_exit(client: Client) -> Client:
    atexit.register(client.close)
    return client

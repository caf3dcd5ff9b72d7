"""``pondero.ask`` and ``aask``, and the clients that they and every ``Chat`` share."""

import atexit
from typing import TypeVar, Unpack, overload

from ..canon import Reply
from ..thinking import ThinkingLike
from .client import AsyncClient, Client
from .fallbacks import Models
from .prompts.messages import Prompt
from .prompts.options import Options, QuestionOptions

V = TypeVar("V")


@overload
def ask(
    model: Models,
    prompt: Prompt,
    thinking: ThinkingLike = None,
    *,
    output: type[V],
    **options: Unpack[QuestionOptions],
) -> Reply[V]: ...
@overload
def ask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply: ...
def ask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply:
    """Return a model's whole answer, through a client that all such calls share.

    Of a list of models the first answers that can: the next is asked where one fails before
    anything was shown, and ``reply.adjustments`` say why.

    >>> pondero.ask("claude-opus-5/high", "What is 17 * 23?").text
    '17 * 23 = 391'
    """
    return default_client().ask(model, prompt, thinking, **options)


@overload
async def aask(
    model: Models,
    prompt: Prompt,
    thinking: ThinkingLike = None,
    *,
    output: type[V],
    **options: Unpack[QuestionOptions],
) -> Reply[V]: ...
@overload
async def aask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply: ...
async def aask(
    model: Models, prompt: Prompt, thinking: ThinkingLike = None, **options: Unpack[Options]
) -> Reply:
    """Return a model's whole answer, through an async client that all such calls share.

    >>> (await pondero.aask("claude-opus-5/high", "What is 17 * 23?")).text
    '17 * 23 = 391'
    """
    return await default_async_client().ask(model, prompt, thinking, **options)


def default_client() -> Client:
    """Return the client that is used where none is given; closed when the process ends."""
    return _SHARED.get("waits") or _kept(_SHARED.setdefault("waits", Client()))


def default_async_client() -> AsyncClient:
    """Return the async client that is used where none is given; each loop closes what it opened."""
    return _ASHARED.get("awaits") or _ASHARED.setdefault("awaits", AsyncClient())


# Filled by setdefault, so that threads that come together get the same client.
_SHARED: dict[str, Client] = {}
_ASHARED: dict[str, AsyncClient] = {}


def _kept(client: Client) -> Client:
    atexit.register(client.close)
    return client

"""Ask a model: once, or as a stream; waiting or awaiting."""

import atexit
from collections.abc import Mapping
from functools import cache
from types import TracebackType
from typing import Self, Unpack

from ..canon import Reply
from ..errors import UsageError
from ..exchange import AsyncTransport, Retry, Timeouts, Transport
from ..handoff import Refusal
from ..thinking import Policy
from .asking import Question, Settings, question
from .dial import PolicyLike, policy_of
from .options import Options, Prompt
from .refusals import Learn, Thread
from .stream import AsyncStream, Stream


class _Asker:
    """What both clients are: settings, and a transport made when it is first needed."""

    def __init__(
        self,
        *,
        policy: PolicyLike = None,
        retry: Retry | None = None,
        timeouts: Timeouts | None = None,
        keys: Mapping[str, str] | None = None,
        urls: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = Settings(
            policy_of(policy), retry or Retry(), timeouts or Timeouts(), keys or {}, urls or {}
        )
        self._refusals: tuple[Refusal, ...] = ()

    @property
    def policy(self) -> Policy:
        """Return the policy of every question that brings none."""
        return policy_of(self._settings.policy)

    def __repr__(self) -> str:
        return f"<pondero.{type(self).__name__} {self._settings.policy!r}>"

    def _question(
        self,
        model: str,
        prompt: Prompt,
        thinking: object,
        options: Options,
        *,
        online: bool,
    ) -> Question:
        of_thread = prompt.refusals if isinstance(prompt, Thread) else ()
        return question(
            model,
            prompt,
            thinking,
            self._settings,
            options,
            online=online,
            refusals=(*self._refusals, *of_thread),
        )

    def _learners(self, prompt: Prompt) -> dict[str, Learn]:
        """Return who is told what will be refused again: a thread of its own, we of the rest."""
        if isinstance(prompt, Thread):
            return {"model": self._learn, "thread": prompt.learn}
        return {"model": self._learn}

    def _learn(self, refusal: Refusal) -> None:
        if refusal not in self._refusals:
            self._refusals = (*self._refusals, refusal)


class Client(_Asker):
    """Asks models and waits for them; may be shared between threads.

    ``transport`` is how bytes move: over the network, or an emulator, or a cassette. ``keys``
    and ``urls`` are by provider; what is not there comes from each provider's own variables.
    """

    def __init__(
        self,
        *,
        policy: PolicyLike = None,
        transport: Transport | None = None,
        retry: Retry | None = None,
        timeouts: Timeouts | None = None,
        keys: Mapping[str, str] | None = None,
        urls: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(policy=policy, retry=retry, timeouts=timeouts, keys=keys, urls=urls)
        self._transport = transport

    def ask(
        self, model: str, prompt: Prompt, thinking: object = None, **options: Unpack[Options]
    ) -> Reply:
        """Return a model's whole answer; its tool calls, if any, are for the caller to run."""
        with self.stream(model, prompt, thinking, **options) as stream:
            for _ in stream:
                pass
        return stream.reply

    def stream(
        self, model: str, prompt: Prompt, thinking: object = None, **options: Unpack[Options]
    ) -> Stream:
        """Return a model's answer as it comes; nothing is sent before the first event is read."""
        transport = self._way()
        asked = self._question(model, prompt, thinking, options, online=transport.needs_key)
        return Stream(asked, transport, self._settings.retry, self._learners(prompt))

    def close(self) -> None:
        """Close every connection; may be called twice."""
        if self._transport is not None:
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _way(self) -> Transport:
        if self._transport is None:
            from ..transport import HttpTransport  # noqa: PLC0415 - an emulator needs none

            self._transport = HttpTransport()
        return self._transport


class AsyncClient(_Asker):
    """Asks models and awaits them; the async twin of Client."""

    def __init__(
        self,
        *,
        policy: PolicyLike = None,
        transport: AsyncTransport | None = None,
        retry: Retry | None = None,
        timeouts: Timeouts | None = None,
        keys: Mapping[str, str] | None = None,
        urls: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(policy=policy, retry=retry, timeouts=timeouts, keys=keys, urls=urls)
        if transport is not None and not hasattr(transport, "aclose"):
            name = type(transport).__name__
            message = f"{name} waits, and an AsyncClient awaits; use Async{name}"
            raise UsageError(message)
        self._transport = transport

    async def ask(
        self, model: str, prompt: Prompt, thinking: object = None, **options: Unpack[Options]
    ) -> Reply:
        """Return a model's whole answer; its tool calls, if any, are for the caller to run."""
        async with self.stream(model, prompt, thinking, **options) as stream:
            async for _ in stream:
                pass
        return stream.reply

    def stream(
        self, model: str, prompt: Prompt, thinking: object = None, **options: Unpack[Options]
    ) -> AsyncStream:
        """Return a model's answer as it comes; nothing is sent before the first event is read."""
        transport = self._way()
        asked = self._question(model, prompt, thinking, options, online=transport.needs_key)
        return AsyncStream(asked, transport, self._settings.retry, self._learners(prompt))

    async def aclose(self) -> None:
        """Close every connection of this event loop; may be called twice."""
        if self._transport is not None:
            await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _way(self) -> AsyncTransport:
        if self._transport is None:
            from ..transport import AsyncHttpTransport  # noqa: PLC0415 - an emulator needs none

            self._transport = AsyncHttpTransport()
        return self._transport


def ask(model: str, prompt: Prompt, thinking: object = None, **options: Unpack[Options]) -> Reply:
    """Return a model's whole answer, through a client that all such calls share."""
    return shared().ask(model, prompt, thinking, **options)


async def aask(
    model: str, prompt: Prompt, thinking: object = None, **options: Unpack[Options]
) -> Reply:
    """Return a model's whole answer, through an async client that all such calls share."""
    return await ashared().ask(model, prompt, thinking, **options)


@cache
def shared() -> Client:
    """Return the client of those who bring none."""
    client = Client()
    atexit.register(client.close)
    return client


@cache
def ashared() -> AsyncClient:
    """Return the async client of those who bring none; each event loop closes what it opened."""
    return AsyncClient()

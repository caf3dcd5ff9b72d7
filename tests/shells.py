"""The ways to talk, waiting and awaiting, behind one face: a test says what, and not how."""

import asyncio
from typing import Any

import pytest

import pondero
from pondero.canon import Event, Reply
from pondero.exchange import Retry


class Waiting:
    """``Client`` and ``Chat``; who kills a turn closes its stream."""

    def client(self, transport: Any, *, retry: Retry | None = None) -> Any:
        return pondero.Client(transport=transport, retry=retry)

    def chat(self, model: str, client: Any, **options: Any) -> Any:
        return pondero.Chat(model, client=client, **options)

    def restored(self, text: str, client: Any, **options: Any) -> Any:
        return pondero.Chat.from_json(text, client=client, **options)

    def ask(self, client: Any, model: str, prompt: Any, **options: Any) -> Reply:
        reply: Reply = client.ask(model, prompt, **options)
        return reply

    def send(self, chat: Any, prompt: Any, **options: Any) -> Reply:
        reply: Reply = chat.send(prompt, **options)
        return reply

    def read(self, chat: Any, prompt: Any, into: list[Event]) -> None:
        """Read a turn to its end; ``into`` has what came, whatever is raised."""
        into.extend(chat.stream(prompt))

    def read_rest(self, client: Any, model: str, prompt: Any) -> Reply:
        """Read an event of an answer, then the rest of it at once."""
        stream = client.stream(model, prompt)
        next(iter(stream))
        reply: Reply = stream.read_all()
        return reply

    def kill(self, chat: Any, prompt: Any, after: int) -> None:
        """Let go of a turn after so many events, keeping what came."""
        with chat.stream(prompt, keep=True) as stream:
            for _ in zip(range(after), stream, strict=False):
                pass


class Awaiting(Waiting):
    """``AsyncClient`` and ``AsyncChat``, each call in a loop of its own."""

    def client(self, transport: Any, *, retry: Retry | None = None) -> Any:
        return pondero.AsyncClient(transport=transport, retry=retry)

    def chat(self, model: str, client: Any, **options: Any) -> Any:
        return pondero.AsyncChat(model, client=client, **options)

    def restored(self, text: str, client: Any, **options: Any) -> Any:
        return pondero.AsyncChat.from_json(text, client=client, **options)

    def ask(self, client: Any, model: str, prompt: Any, **options: Any) -> Reply:
        return asyncio.run(client.ask(model, prompt, **options))

    def send(self, chat: Any, prompt: Any, **options: Any) -> Reply:
        return asyncio.run(chat.send(prompt, **options))

    def read(self, chat: Any, prompt: Any, into: list[Event]) -> None:
        async def reading() -> None:
            async for event in chat.stream(prompt):
                into.append(event)  # noqa: PERF401 - what came before an error counts

        asyncio.run(reading())

    def read_rest(self, client: Any, model: str, prompt: Any) -> Reply:
        async def reading() -> Reply:
            stream = client.stream(model, prompt)
            await anext(aiter(stream))
            reply: Reply = await stream.read_all()
            return reply

        return asyncio.run(reading())

    def kill(self, chat: Any, prompt: Any, after: int) -> None:
        async def killing() -> None:
            left = after
            async with chat.stream(prompt, keep=True) as stream:
                while left:
                    left -= 1
                    if await anext(aiter(stream), None) is None:
                        return

        asyncio.run(killing())


class Cancelling(Awaiting):
    """The same; who kills a turn cancels the task that reads it."""

    def kill(self, chat: Any, prompt: Any, after: int) -> None:
        async def reading() -> None:
            left = after
            async with chat.stream(prompt, keep=True) as stream:
                async for _ in stream:
                    left -= 1
                    if left <= 0:
                        _cancel()
                        await asyncio.sleep(0)  # where it is noticed

        async def killing() -> None:
            task = asyncio.create_task(reading())
            if not after:
                task.cancel()
            await asyncio.wait([task])

        asyncio.run(killing())


def _cancel() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


each_shell = pytest.mark.parametrize("shell", [Waiting(), Awaiting()], ids=["sync", "async"])
each_killer = pytest.mark.parametrize(
    "shell", [Waiting(), Awaiting(), Cancelling()], ids=["closed", "aclosed", "cancelled"]
)

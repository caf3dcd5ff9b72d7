"""Answer over HTTP as server-sent events; a reader who leaves stops the model.

    pip install fastapi uvicorn
    uvicorn --app-dir examples serve_sse:app
    PONDERO_OFFLINE=1 uvicorn --app-dir examples serve_sse:app       (no key, no network)
    curl -N 'http://127.0.0.1:8000/ask?prompt=What+is+17+*+23?'

FastAPI cancels the generator when the reader disconnects. Leaving ``async with client.stream``
closes the connection to the service, which then stops thinking and stops charging.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

import pondero
from pondero.emulator import Emulator

KINDS = {pondero.ThinkingDelta: "thinking", pondero.TextDelta: "text"}


def make_app(client: pondero.AsyncClient | None = None) -> FastAPI:
    """Return the application; its client lives as long as it does."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        transport = Emulator() if os.environ.get("PONDERO_OFFLINE") else None
        async with client or pondero.AsyncClient(transport=transport) as app.state.client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/ask")
    async def ask(
        request: Request, prompt: str, model: str = "claude-opus-5/low"
    ) -> StreamingResponse:
        shared = cast("pondero.AsyncClient", request.app.state.client)
        return StreamingResponse(answer(shared, model, prompt), media_type="text/event-stream")

    return app


async def answer(client: pondero.AsyncClient, model: str, prompt: str) -> AsyncIterator[str]:
    """Yield an event for each piece of thinking and text, then one that ends the stream."""
    try:
        async with client.stream(model, prompt) as stream:
            async for event in stream:
                if isinstance(event, pondero.ThinkingDelta | pondero.TextDelta):
                    yield write_event(KINDS[type(event)], event.text)
        yield write_event("end", stream.reply.verdict)
    except pondero.PonderoError as error:  # the status is sent already: the stream must say it
        yield write_event("error", str(error))


def write_event(kind: str, text: str) -> str:
    return f"event: {kind}\ndata: {json.dumps(text)}\n\n"


app = make_app()

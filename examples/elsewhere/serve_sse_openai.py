"""examples/serve_sse.py with the openai SDK; it asks OpenAI's models alone."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import openai
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

KINDS = {
    "response.reasoning_summary_text.delta": "thinking",
    "response.output_text.delta": "text",
}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with openai.AsyncOpenAI() as app.state.client:
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/ask")
async def ask(
    request: Request, prompt: str, model: str = "gpt-5.5", effort: str = "low"
) -> StreamingResponse:
    client = cast("openai.AsyncOpenAI", request.app.state.client)
    return StreamingResponse(answer(client, model, effort, prompt), media_type="text/event-stream")


async def answer(
    client: openai.AsyncOpenAI, model: str, effort: str, prompt: str
) -> AsyncIterator[str]:
    try:
        async with await client.responses.create(
            model=model,
            input=prompt,
            reasoning={"effort": effort, "summary": "auto"},
            stream=True,
        ) as stream:
            async for event in stream:
                if event.type in KINDS:
                    yield write_event(KINDS[event.type], event.delta)
                elif event.type in ("response.failed", "response.incomplete"):
                    yield write_event("error", event.type)
                    return
        yield write_event("end", "completed")
    except openai.OpenAIError as error:
        yield write_event("error", str(error))


def write_event(kind: str, text: str) -> str:
    return f"event: {kind}\ndata: {json.dumps(text)}\n\n"

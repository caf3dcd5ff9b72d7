"""Other people's stream parsers on our bytes: the vendors' SDKs, and litellm in its own place.

Run as a program it prints the CPU microseconds of an event: parsers.py LIBRARY EVENTS ROUNDS.
The bytes come from a transport in memory, so that no socket is measured.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any

from streams import STREAMS

Json = Any
ASKED: Json = [{"role": "user", "content": "hi"}]


def _whole(name: str, events: int) -> bytes:
    return b"".join(STREAMS[name](events))


def _transport(http: Any, data: bytes) -> Any:
    """Return a transport of the HTTP library that always answers with this stream."""
    headers = {"content-type": "text/event-stream"}
    return http.MockTransport(lambda _: http.Response(200, headers=headers, content=data))


def sdks(events: int) -> dict[str, Callable[[], int]]:
    """Return a run through each vendor's SDK."""
    import anthropic
    import httpx2
    import openai
    from google import genai
    from google.genai import types

    def client(name: str) -> Any:
        return httpx2.Client(transport=_transport(httpx2, _whole(name, events)))

    claude = anthropic.Anthropic(api_key="k", http_client=client("anthropic"))
    responses = openai.OpenAI(api_key="k", http_client=client("openai_responses"))
    chat = openai.OpenAI(api_key="k", http_client=client("openai_chat"))
    options = types.HttpOptions(httpx_client=client("gemini"))
    google = genai.Client(api_key="k", http_options=options)
    return {
        "anthropic": lambda: _count(
            claude.messages.create(model="m", max_tokens=9, messages=ASKED, stream=True)
        ),
        "openai_responses": lambda: _count(
            responses.responses.create(model="m", input="hi", stream=True)
        ),
        "openai_chat": lambda: _count(
            chat.chat.completions.create(model="m", messages=ASKED, stream=True)
        ),
        "gemini": lambda: _count(
            google.models.generate_content_stream(model="gemini-3-flash-preview", contents="hi")
        ),
    }


def litellm(events: int) -> dict[str, Callable[[], int]]:
    """Return a run through litellm for each wire it streams itself."""
    import openai

    httpx, completion = import_module("httpx"), import_module("litellm").completion
    handlers = import_module("litellm.llms.custom_httpx.http_handler")

    def handler(name: str) -> Any:
        made = handlers.HTTPHandler()
        made.client = httpx.Client(transport=_transport(httpx, _whole(name, events)))
        return made

    session = httpx.Client(transport=_transport(httpx, _whole("openai_chat", events)))
    asked = {
        "anthropic": ("anthropic/claude-opus-4-5", handler("anthropic")),
        "openai_chat": ("openai/gpt-5", openai.OpenAI(api_key="k", http_client=session)),
        "gemini": ("gemini/gemini-3-flash-preview", handler("gemini")),
    }

    def run(model: str, client: Any) -> int:
        stream = completion(
            model=model, messages=ASKED, stream=True, client=client, api_key="k", max_tokens=9
        )
        return _count(stream)

    return {name: partial(run, model, client) for name, (model, client) in asked.items()}


def _count(events: Any) -> int:
    return sum(1 for _ in events)


LIBRARIES = {"sdks": sdks, "litellm": litellm}


def main(library: str, events: int, rounds: int) -> None:
    """Print the microseconds of an event, for each wire the library reads."""
    figures = {}
    for name, run in LIBRARIES[library](events).items():
        spent = []
        for _ in range(rounds + 1):
            start = time.process_time()
            seen = run()
            spent.append((time.process_time() - start) / events)
            if seen < events // 2:
                sys.exit(f"{library} read {seen} of {events} events of {name}")
        figures[name] = 1e6 * median(spent[1:])  # the first run builds what later ones use
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

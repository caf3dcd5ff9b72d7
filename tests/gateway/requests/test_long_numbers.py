"""Numbers in addresses and schemas with more digits than Python reads."""

import asyncio
import json
from typing import Any

import pytest
from tests.gateway.asgi import came
from tests.gateway.stored_world import World

from pondero.canon import HttpRequest

LONG = "9" * 5000
SCHEMA = {"type": "ARRAY", "items": {"type": "STRING"}, "maxItems": LONG}
SHAPED = {
    "contents": [{"role": "user", "parts": [{"text": "Hello?"}]}],
    "generationConfig": {"responseMimeType": "application/json", "responseSchema": SCHEMA},
}
ANTHROPIC = {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/responses/ID/input_items?limit=", None, {}, 400),
        ("/v1/responses/ID?starting_after=", None, {}, 200),
        ("/v1/models?limit=", None, ANTHROPIC, 400),
        ("/v1beta/models?pageSize=", None, {}, 200),
        ("/v1beta/models?pageToken=", None, {}, 200),
        ("/v1beta/models/gemini:generateContent?x=", SHAPED, {}, 400),
    ],
)
def test_a_number_of_many_digits_is_answered_as_any_other(path, body, headers, status):
    async def main() -> None:
        world = World()
        answer = await world.ask("claude", "Hello?")
        url = f"http://127.0.0.1{path.replace('ID', answer['id'])}{LONG}"
        data = b"" if body is None else json.dumps(body).encode()
        head: dict[str, Any] = {"authorization": "Bearer any", **headers}
        method = "GET" if body is None else "POST"
        found = await came(world.app, HttpRequest(method, url, head, data))
        assert found.status == status, found.body
        await world.aclose()

    asyncio.run(main())

"""Which keys may keep conversations here, and what no key can do with them."""

import asyncio

import httpx
import pytest
from tests.gateway.endpoint_gateway import make_gateway_key, secret, serving
from tests.gateway.endpoint_service import serving_endpoints
from tests.gateway.stored_world import World


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_key_without_models_has_no_conversations(method):
    keys = (make_gateway_key("meter", models=(), endpoints=(), metrics=True),)
    with serving_endpoints() as service, serving(service, keys=keys) as gateway:
        headers = {"authorization": f"Bearer {secret('meter')}"}
        path = "/v1/conversations" if method == "POST" else "/v1/conversations/conv_1"
        answer = httpx.request(method, f"{gateway.url}{path}", headers=headers)
        assert answer.status_code == 403, answer.text
        assert "models" in answer.json()["error"]["message"]


def test_a_key_with_models_has_conversations():
    with serving_endpoints() as service, serving(service) as gateway:
        headers = {"authorization": f"Bearer {secret('models')}"}
        answer = httpx.post(f"{gateway.url}/v1/conversations", headers=headers, json={})
        assert answer.status_code == 200, answer.text


def test_writing_to_conversations_counts_as_requests_and_reading_does_not():
    with serving_endpoints() as service, serving(service) as gateway:
        headers = {"authorization": f"Bearer {secret('limited')}"}
        url = f"{gateway.url}/v1/conversations"
        wrong = httpx.post(url, headers=headers, json={"items": 1})
        assert wrong.status_code == 400, wrong.text
        made = httpx.post(url, headers=headers, json={})
        assert made.status_code == 200, made.text
        item = {"type": "message", "role": "user", "content": "Hello."}
        own = f"{url}/{made.json()['id']}"
        added = httpx.post(f"{own}/items", headers=headers, json={"items": [item]})
        assert added.status_code == 200, added.text
        more = {
            url: {"metadata": {}},
            own: {"metadata": {"a": "b"}},
            f"{own}/items": {"items": [item]},
        }
        for address, body in more.items():
            full = httpx.post(address, headers=headers, json=body)
            assert full.status_code == 429, (address, full.text)
            assert "2 requests per hour" in full.json()["error"]["message"]
        listed = httpx.get(f"{own}/items", headers=headers)
        assert len(listed.json()["data"]) == 1
        assert httpx.delete(own, headers=headers).status_code == 200


def test_no_conversation_is_compacted_on_any_upstream():
    async def body() -> None:
        world = World()
        for back in ("claude", "openai"):
            first = await world.ask(back, "My name is Ann.")
            asked = {"model": back, "previous_response_id": first["id"]}
            before = len(world.service.log.entries)
            status, error = await world.call("POST", "/responses/compact", asked)
            assert status == 501
            assert "does not compact" in error["error"]["message"]
            assert len(world.service.log.entries) == before
        await world.aclose()

    asyncio.run(body())

"""Which keys may keep conversations here."""

import httpx
import pytest
from tests.gateway.endpoint_gateway import make_gateway_key, secret, serving
from tests.gateway.endpoint_service import serving_endpoints


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

"""A client of a gateway's sockets, and what the gateway recorded of them."""

import json
from typing import Any

from tests.gateway.endpoint_gateway import secret
from tests.gateway.endpoint_service import WAIT, until
from websockets.sync.client import connect

REALTIME = "/v1/realtime?model=gpt-realtime"
LIVE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


def opened(gateway: Any, key: str, path: str = REALTIME) -> Any:
    headers = {"authorization": f"Bearer {secret(key)}"}
    url = f"ws{gateway.url.removeprefix('http')}{path}"
    return connect(url, proxy=None, open_timeout=WAIT, additional_headers=headers)


def receive_until(client: Any, kind: str) -> Any:
    while True:
        event = json.loads(client.recv(WAIT))
        if event["type"] == kind:
            return event


def rows(gateway: Any, number: int) -> list[Any]:
    until(lambda: len(gateway.seen) >= number)
    return list(gateway.seen)


def count(gateway: Any, number: int) -> int:
    return sum(each.usage.known_total for each in rows(gateway, number))

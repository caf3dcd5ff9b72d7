"""Sends alarms to the operator's address, in a thread: no request waits for it.

They go by the proxy of the environment, as requests to models do (HTTPS_PROXY, NO_PROXY).

With a secret each is signed as Standard Webhooks says (standardwebhooks.com, version 1.0.0): by an
id, which stays the same if it is sent again, a time, and the body.
"""

import hmac
import logging
from base64 import b64encode
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from secrets import token_hex
from time import monotonic, time

import msgspec

from ...canon import HttpRequest
from ...errors import PonderoError
from ...exchange import Timeouts
from ...store import redact_secrets, register_secret
from ...transport import ConnectionLimits, HttpTransport
from .background_work import BackgroundWork
from .dial_watch import Alarm

LOG = logging.getLogger("pondero.gateway")

KEPT = 1_000
"""Alarms that wait; then the oldest is dropped, and the log says so."""
TRIES = 5
"""How often an alarm is sent before it is dropped."""
TIMEOUT = 5.0
"""Seconds for a connection, and for an answer."""
PAUSE = 1.0
"""Seconds after the first failure; they double with each further one."""

_TIMEOUTS = Timeouts(connect=TIMEOUT, first_byte=TIMEOUT, between_bytes=TIMEOUT)


class Webhook:
    """Posts alarms as JSON, in order; ``lost`` counts those that were not taken."""

    def __init__(self, url: str, *, pause: float = PAUSE, secret: bytes | None = None) -> None:
        register_secret(url)  # knowing it is enough to post, as with a chat's webhooks
        self._url = url
        self._pause = pause
        self._secret = secret
        # No idle connections: the next alarm may be tomorrow.
        self._transport = HttpTransport(limits=ConnectionLimits(max_keepalive_connections=0))
        self._waiting: deque[tuple[str, bytes, Callable[[], None]]] = deque()
        self._failures = 0
        self._again = 0.0
        self._is_full = False
        self.lost: int = 0
        self._work = BackgroundWork("the webhook", self._send_all)

    def send(self, alarm: Alarm, taken: Callable[[], None] = lambda: None) -> None:
        """Queue an alarm; never waits. ``taken`` is called from a thread when it was taken."""
        state = "over" if alarm.is_over else "raised"
        fields = msgspec.structs.asdict(alarm)
        del fields["is_over"]
        for name in ("key", "group"):
            if not fields[name]:
                del fields[name]
        body = {**fields, "state": state, "text": f"pondero: {alarm.kind} {state}: {alarm.text}"}
        data = redact_secrets(msgspec.json.encode(body).decode()).encode()
        self._waiting.append((f"msg_{token_hex(12)}", data, taken))
        if len(self._waiting) <= KEPT:
            return
        with suppress(IndexError):  # it was sent meanwhile
            self._waiting.popleft()
            self.lost += 1
        if not self._is_full:
            LOG.error("more than %s alerts wait for the webhook; the oldest are dropped", KEPT)
            self._is_full = True

    def close(self) -> None:
        """Try once more to send what waits, unless that takes too long."""
        self._again = 0.0
        self._work.close(TIMEOUT)

    def _send_all(self) -> None:
        while self._waiting and monotonic() >= self._again:
            id, body, taken = alarm = self._waiting.popleft()
            problem = self._post(id, body)
            if problem is None:
                self._failures = 0
                taken()
                continue
            self._failures += 1
            self._again = monotonic() + self._pause * 2 ** (self._failures - 1)
            if self._failures < TRIES:
                self._waiting.appendleft(alarm)
                continue
            LOG.error("the webhook took no alarm in %s tries: %s", TRIES, problem)
            self.lost += 1
            self._failures = 0
        self._is_full = self._is_full and len(self._waiting) >= KEPT

    def _make_headers(self, id: str, body: bytes) -> dict[str, str]:
        headers = {"content-type": "application/json", "webhook-id": id}
        if self._secret is None:
            return headers
        now = str(int(time()))
        signed = hmac.digest(self._secret, f"{id}.{now}.".encode() + body, "sha256")
        signature = f"v1,{b64encode(signed).decode()}"
        return {**headers, "webhook-timestamp": now, "webhook-signature": signature}

    def _post(self, id: str, body: bytes) -> str | None:
        """Post a body; return why it was not taken, None if it was."""
        request = HttpRequest("POST", self._url, self._make_headers(id, body), body)
        try:
            answer = self._transport.send(request, _TIMEOUTS)
            answer.close()
        except (OSError, PonderoError) as error:
            return type(error).__name__
        status = answer.head.status
        return None if status < 300 else f"status {status}"

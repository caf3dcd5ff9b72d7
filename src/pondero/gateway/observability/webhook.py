"""Sends alarms to the operator's address, in a thread: no request waits for it."""

import logging
from collections import deque
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from time import monotonic
from urllib.parse import urlsplit

import msgspec

from ...store import redact_secrets, register_secret
from .background_work import BackgroundWork
from .dial_watch import Alarm

LOG = logging.getLogger("pondero.gateway")

KEPT = 100
"""Alarms that wait; then the oldest is dropped."""
TRIES = 5
"""How often an alarm is sent before it is dropped."""
TIMEOUT = 5.0
"""Seconds for a connection, and for an answer."""
PAUSE = 1.0
"""Seconds after the first failure; they double with each further one."""


class Webhook:
    """Posts alarms as JSON, in order; ``lost`` counts those that were not taken."""

    def __init__(self, url: str, *, pause: float = PAUSE) -> None:
        register_secret(url)  # knowing it is enough to post, as with a chat's webhooks
        self._parts = urlsplit(url)
        self._pause = pause
        self._waiting: deque[bytes] = deque()
        self._failures = 0
        self._again = 0.0
        self.lost: int = 0
        self._work = BackgroundWork("the webhook", self._send_all)

    def send(self, alarm: Alarm) -> None:
        """Queue an alarm; never waits."""
        state = "over" if alarm.is_over else "raised"
        fields = msgspec.structs.asdict(alarm)
        del fields["is_over"]
        body = {**fields, "state": state, "text": f"pondero: {alarm.kind} {state}: {alarm.text}"}
        self._waiting.append(redact_secrets(msgspec.json.encode(body).decode()).encode())
        while len(self._waiting) > KEPT:
            self._waiting.popleft()
            self.lost += 1

    def close(self) -> None:
        """Try once more to send what waits, unless that takes too long."""
        self._again = 0.0
        self._work.close(TIMEOUT)

    def _send_all(self) -> None:
        while self._waiting and monotonic() >= self._again:
            problem = self._post(self._waiting[0])
            if problem is None:
                self._failures = 0
            else:
                self._failures += 1
                self._again = monotonic() + self._pause * 2 ** (self._failures - 1)
                if self._failures < TRIES:
                    continue
                LOG.error("the webhook took no alarm in %s tries: %s", TRIES, problem)
                self.lost += 1
                self._failures = 0
            self._waiting.popleft()

    def _post(self, body: bytes) -> str | None:
        """Post a body; return why it was not taken, None if it was."""
        parts = self._parts
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        try:
            connection.request("POST", path, body, {"content-type": "application/json"})
            status = connection.getresponse().status
        except (OSError, HTTPException) as error:
            return type(error).__name__
        finally:
            connection.close()
        return None if status < 300 else f"status {status}"

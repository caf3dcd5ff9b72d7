"""A service that thinks for a minute, and notices when its reader leaves."""

import json
import socket
import threading
from collections.abc import Mapping
from typing import Self

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    },
}
BLOCK = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "thinking", "thinking": "", "signature": ""},
}
DELTA = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "thinking_delta", "thinking": "Hm. "},
}


def write_event(event: Mapping[str, object]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


class SlowService:
    """Serves one request; ``left`` is set when its reader is gone."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.left = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(10)
        self._listening.close()

    def _serve(self) -> None:
        reader, _ = self._listening.accept()
        with reader:
            reader.recv(65_536)
            try:
                reader.sendall(HEAD + write_event(START) + write_event(BLOCK))
                for _ in range(600):
                    reader.sendall(write_event(DELTA))
                    if self._ended.wait(0.1):
                        return
            except OSError:
                self.left.set()

"""Which framing a stream's first bytes are."""

from typing import Literal

from .aws_events import begins_aws_events

Framing = Literal["sse", "json_array", "ndjson", "aws_events"]


def sniff(data: bytes) -> Framing:
    """Return the framing these bytes begin; an object over several lines is an array of one."""
    if begins_aws_events(data):
        return "aws_events"
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        return "json_array"
    if not start.startswith(b"{"):
        return "sse"
    return "json_array" if start[1:].lstrip(b" \t\r").startswith(b"\n") else "ndjson"

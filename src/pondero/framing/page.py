"""What a person can read in a body without a message: a gateway's page, or nothing at all."""

import re

# A style or script that is never closed goes on to the end, so that nothing is scanned twice.
_TAGS = re.compile(r"<(style|script)\b.*?(?:</\1>|$)|<[^>]{0,1000}>", re.DOTALL | re.IGNORECASE)
_LOOKED_AT = 20_000
_SHOWN = 300


def readable(body: bytes, *, status: int | None) -> str:
    """Return the status and the words of a body; ``status`` is None inside a stream."""
    text = _TAGS.sub(" ", body[:_LOOKED_AT].decode("utf-8", "replace"))
    words = " ".join(text.split())[:_SHOWN]
    said = f"HTTP {status}" if status else "an error without a message"
    return f"{said}: {words}" if words else f"{said}, and nothing more"
